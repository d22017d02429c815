"""Files of promptsource: its layout with texts of our own."""

import logging

import pytest

from adnominal.conf import UserError
from adnominal.etl.prompts.files import read

FILE = """
dataset: super_glue
subset: rte
templates:
  0a: !Template
    answer_choices: Yes ||| No
    id: 0a
    jinja: 'Premise: {{premise}} So "{{ hypothesis }}"? ||| {% if label != -1 %}{{
      answer_choices[label] }}{% endif %}'
    metadata: !TemplateMetadata
      original_task: true
    name: first name
    reference: ''
  0b: !Template
    answer_choices: [Always, Sometimes, Never]
    jinja: "{{premise}} How often is it that {{hypothesis}}\\n|||\\n{{answer_choices[label]}}"
    name: always/sometimes/never
  0c: !Template
    answer_choices: Yes ||| No
    jinja: "{{premise}} {{answer_choices[0]}}? {{hypothesis}} ||| {{answer_choices[label]}}"
    name: answers within
"""


def write_templates(tmp_path, text=FILE):
    path = tmp_path / "templates.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_templates_for_inference_are_read_by_their_names(tmp_path, caplog):
    with caplog.at_level(logging.WARNING, logger="adnominal"):
        first, second = read(write_templates(tmp_path), "asp").prompts
    assert first.name == "promptsource_super_glue_rte/first name@1"
    fields = {"premise": "A.", "hypothesis": "B."}
    assert first.text_around_gap(fields) == ('Premise: A. So "B."? ', "")
    assert first.verbalisers[0].words == (("Yes",), ("No",))
    assert second.verbalisers[0].words == (("Always",), ("Sometimes", "Never"))
    assert "skipped, not of premise and hypothesis: answers within" in caplog.text


def test_literals_of_jinja_are_read_as_their_text(tmp_path):
    text = """
dataset: anli
templates:
  0d: !Template
    answer_choices: [Sure, Open, Out]
    jinja: '{{premise}} Is "{{hypothesis}}" {{"sure"}}, {{ ''open'' }}, or {{"out"}}? ||| {{label}}'
    name: sure/open/out
"""
    (prompt,) = read(write_templates(tmp_path, text), "asp").prompts
    fields = {"premise": "A.", "hypothesis": "B."}
    assert prompt.text_around_gap(fields) == ('A. Is "B." sure, open, or out? ', "")


def test_templates_can_be_selected_by_name(tmp_path):
    (prompt,) = read(write_templates(tmp_path), "asp", templates=["first name"]).prompts
    assert prompt.name.endswith("first name@1")


@pytest.mark.parametrize(
    ("task", "text", "message"),
    [
        ("plane", FILE, "templates of promptsource; expected them with task=asp"),
        ("asp", "dataset: x\ntemplates: {a: {jinja: 1}, b: []}", "no template with premise"),
        ("asp", "dataset: x\ntemplates: []", "no template with premise"),
    ],
)
def test_files_without_a_usable_template_are_refused(tmp_path, task, text, message):
    with pytest.raises(UserError, match=message):
        read(write_templates(tmp_path, text), task)
