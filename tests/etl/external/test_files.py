"""Answers read from real files of lm-evaluation-harness 0.4.13 and Inspect 0.3.285, and tables.

The harness ran `analysis.export`'s tasks on a tiny GPT-2 with random weights, and a task of
``output_type: generate_until`` with a filter; Inspect ran its ``mockllm/model``, whose logs here
lack their events.
"""

import json
from pathlib import Path

import pytest

from adnominal import conf
from adnominal.conf import UserError
from adnominal.conf.texts import NO_TEXT
from adnominal.etl.external.files import Answer, answers
from adnominal.etl.external.settings import Settings

HERE = Path(__file__).parent
CHOICES = [" impossible", " less likely", " equally likely", " more likely", " necessarily true"]
LIKELIHOOD = HERE / "samples_adept_mine_random_2026-11-28T08-13-18.142815.jsonl"
GENERATED = HERE / "samples_adept_mine_words_2026-11-28T08-13-18.142815.jsonl"


def read(file, *words):
    values = [f"file={file}", "run=mine", "task=adept", *words]
    return list(answers(Path(file), conf.load(Settings, values)))


def test_samples_by_likelihood_have_their_choices_and_scores():
    first, *others = read(LIKELIHOOD)
    assert (first.item, first.prompt) == ("fixed0", "adept_mine_random")
    assert first.choices == CHOICES
    assert len(first.scores) == 5 and max(first.scores) < 0
    assert [answer.item for answer in others] == ["fixed1", "fixed2"]


def test_generated_samples_have_a_prompt_for_each_filter():
    first = read(GENERATED)[0]
    assert (first.item, first.prompt) == ("fixed0", "adept_mine_words/words")
    assert first.text == "[invalid]"


def test_a_log_of_inspect_has_what_its_scorer_found():
    found = {answer.item: answer for answer in read(HERE / "inspect_generate.json")}
    assert found["c"] == Answer(
        f"file={HERE}/inspect_generate.json: sample 3",
        "c",
        text="impossible",
        prompt="adept",
        model="mockllm/model",
    )
    assert (found["a"].text, found["a"].state) == ("I cannot say", "")
    assert (found["b"].text, found["b"].state) == ("equally li", "cut off")


def test_letters_of_inspect_become_the_texts_of_their_choices():
    found = {answer.item: answer.text for answer in read(HERE / "inspect_choice.json")}
    assert found == {"a": "less likely", "b": "equally likely", "c": "impossible"}


def test_a_sample_of_inspect_may_have_failed_or_name_its_item_in_its_metadata(tmp_path):
    log = json.loads((HERE / "inspect_generate.json").read_text())
    failed, named, _ = log["samples"]
    failed["error"] = {"message": "TimeoutError()\n  in solver", "traceback": "…"}
    named["metadata"] = {"item_id": "named"}
    named["scores"] = {}
    file = tmp_path / "log.json"
    file.write_text(json.dumps(log))
    first, second, _ = read(file)
    assert (first.text, first.failure) == (None, "TimeoutError()")
    assert (second.item, second.text) == ("named", "equally li")


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": "adept"},
        {"error": "TimeoutError"},
        {"error": {"type": "TimeoutError"}},
        {"scores": [{"answer": "A"}]},
        {"scores": {"choice": 1}},
        {"output": "equally likely"},
        {"output": {"completion": "A", "choices": ["A"]}},
        {"choices": 5},
    ],
)
def test_a_sample_of_inspect_of_another_form_is_an_error_with_its_number(tmp_path, change):
    log = json.loads((HERE / "inspect_generate.json").read_text())
    log["samples"][0].update(change)
    file = tmp_path / "log.json"
    file.write_text(json.dumps(log))
    with pytest.raises(UserError, match="sample 1: not a sample as Inspect writes it"):
        read(file)


def test_tables_have_an_item_and_an_answer_in_each_row(tmp_path):
    file = tmp_path / "answers.csv"
    file.write_text('id,why,said\na,"so, so",less likely\nb,none,\n', encoding="utf-8")
    first, second = read(file, "item=id", "answer=said")
    place = f"file={file}: line 2"
    assert first == Answer(place, "a", text="less likely", is_label=True)
    assert (second.text, second.failure) == ("", "empty")
    tabs = tmp_path / "answers.tsv"
    tabs.write_text('item_id\tanswer\na\t"less" likely\n', encoding="utf-8")
    assert read(tabs)[0].text == '"less" likely'


SAMPLE = json.loads(LIKELIHOOD.read_text().splitlines()[0]) if LIKELIHOOD.exists() else {}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "a.csv: line 1 has no column answer, item_id, it has nothing"),
        ("a.csv", b"item_id,answer\n", "a.csv: no answers in it"),
        ("a.csv", b"item_id,said\na,b\n", "line 1 has no column answer, it has item_id, said"),
        ("a.csv", b"item_id,answer\na,\xe9\n", "not UTF-8 at byte 17, in line 2"),
        ("a.csv", b"item_id,answer\n,less likely\n", "line 2: no item_id; expected the id"),
        ("a.csv", b"item_id,answer\na,b,c\n", "line 2: more fields than columns"),
        ("a.jsonl", b"", "a.jsonl: no answers in it"),
        ("a.jsonl", b'{"doc": {}}\n', "line 1: expected doc and filtered_resps, got doc; is it"),
        ("a.jsonl", b'{"doc"', "line 1: not JSON"),
        ("a.jsonl", b"\xff\xfe{\x00", "UTF-16; save it as UTF-8"),
        ("a.json", b"[]", "a.json: expected an object with eval and samples"),
        ("a.json", b'{"eval": {"task": 3}, "samples": [1]}', "eval has task 3; expected a name"),
        ("a.json", b'{"eval": {"model": []}, "samples": [1]}', r"eval has model \[\]; expected"),
        ("a.json", b'{"eval": {}, "samples": [{}]}', "sample 1: expected an object with id and"),
        ("a.json", b'{"eval": {}, "samples": []}', "a.json: no answers in it"),
        ("a.json", b"{", "a.json: not JSON"),
        ("a.json", b"\xe9", "not UTF-8 at byte 0, in line 1"),
    ],
)
def test_a_faulty_file_is_an_error_of_one_line(tmp_path, name, content, message):
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(UserError, match=message) as error:
        read(file)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"doc": {"id": 1}},
            "line 1: doc has no item_id, it has id; name the item's id",
        ),
        ({"filtered_resps": [["nan", "False"]] * 5}, "line 1: got the answer"),
        ({"filtered_resps": [[10**400, False]] * 5}, "line 1: got the answer"),
        ({"filtered_resps": [["-1.0", "False"]]}, "line 1: 1 answers to 5 requests"),
        ({"arguments": {}}, "line 1: 5 answers to 0 requests"),
        ({"doc": {"item_id": "\ud800"}}, "line 1: the item, the task or the model has half a"),
        ({"filter": "\ud800"}, "line 1: the item, the task or the model has half a surrogate"),
    ],
)
def test_a_faulty_sample_is_an_error_with_its_line(tmp_path, change, message):
    file = tmp_path / "samples.jsonl"
    file.write_text(json.dumps({**SAMPLE, **change}) + "\n")
    with pytest.raises(UserError, match=message):
        read(file)


def test_half_a_surrogate_pair_is_no_answer(tmp_path):
    file = tmp_path / "samples.jsonl"
    file.write_text(json.dumps({**SAMPLE, "filtered_resps": ["likely \ud800"]}) + "\n")
    (answer,) = read(file)
    assert (answer.text, answer.failure) == (None, NO_TEXT)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["file=[]"], "expected one or more files with answers"),
        (["file=log.eval"], "inspect log convert log.eval --to json"),
        (["file=log.parquet"], "expected a name that ends in .jsonl, .json, .csv, .tsv"),
        (["file=a.csv", "run=a b"], "run=a b: expected a name of letters"),
        (["file=a.csv", "scheme=lucky"], "scheme=lucky: expected one of random, noun_disjoint"),
        (["file=a.csv", "fold=1"], "fold= without scheme="),
        (["file=a.csv", "part=val"], "part= without scheme="),
    ],
)
def test_settings_are_checked_before_any_work(words, message):
    with pytest.raises(UserError, match=message):
        conf.load(Settings, ["run=x", "task=adept", *words])
