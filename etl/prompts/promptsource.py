"""Templates of promptsource (Bach et al. 2022), from which P3 and the prompts of T0 were made.

A file of its repository, such as ``promptsource/templates/super_glue/rte/templates.yaml``, has the
templates of one dataset in Jinja. Those for natural-language inference have the fields of ASP,
`premise` and `hypothesis`; the first of their answers stands for entailment, the others for the
rest. The texts are read from the user's copy and are not part of this project.
"""

import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adnominal.conf import UserError
from adnominal.etl.asp import ENTAILMENT, NOT_ENTAILMENT

log = logging.getLogger("adnominal")

TASK = "asp"
# The end of what a model reads; the answer follows it.
_END_OF_INPUT = "|||"
_FIELD = re.compile(r"\{\{\s*(premise|hypothesis)\s*\}\}")
# A word that Jinja copies as it is, as in many templates of ANLI and CB: {{"true"}}.
_LITERAL = re.compile(r"""\{\{\s*(["'])(.*?)\1\s*\}\}""")
_JINJA = re.compile(r"\{\{|\{%|\{#")


def is_promptsource(document: Any) -> bool:
    """Whether a parsed file is one of promptsource."""
    return isinstance(document, dict) and {"dataset", "templates"} <= document.keys()


def convert(path: Path, document: Any, task: str) -> dict[str, Any]:
    """Return templates of promptsource as a document of `etl.prompts.files`.

    Templates keep their names. Those that need more than premise and hypothesis are skipped, with a
    line in the log.

    Raises:
        UserError: the task is not ASP, or no template can be used.
    """
    if task != TASK:
        raise UserError(f"{path}: templates of promptsource; expected them with task={TASK}")
    templates: dict[str, Any] = {}
    verbalisers: dict[str, Any] = {}
    skipped = []
    entries = document["templates"]
    for entry in entries.values() if isinstance(entries, dict) else ():
        name = _name(entry)
        text = _input_text(entry)
        choices = _choices(entry)
        if text is None or len(choices) < 2:
            skipped.append(name)
            continue
        words = "/".join(choices)
        verbalisers[words] = {ENTAILMENT: [choices[0]], NOT_ENTAILMENT: choices[1:]}
        templates[name] = {"text": f"{text} {{answer}}", "verbalisers": [words]}
    if skipped:
        log.warning("%s: skipped, not of premise and hypothesis: %s", path, ", ".join(skipped))
    if not templates:
        raise UserError(
            f"{path}: no template with premise, hypothesis and two or more answers; expected "
            "templates for natural-language inference, such as those of super_glue/rte"
        )
    names = [document["dataset"], document.get("subset")]
    return {
        "id": "_".join(["promptsource", *(str(name) for name in names if name)]),
        "version": "1",
        "task": task,
        "source": "promptsource",
        "templates": templates,
        "verbalisers": verbalisers,
        "content_free": ["N/A", ""],
    }


def _name(entry: Any) -> str:
    name = entry.get("name") if isinstance(entry, dict) else None
    return str(name or "without a name").strip()


def _input_text(entry: Any) -> str | None:
    """What a model reads, with our fields; None if it needs other parts of Jinja."""
    jinja = entry.get("jinja") if isinstance(entry, dict) else None
    if not isinstance(jinja, str) or _END_OF_INPUT not in jinja:
        return None
    text = jinja.partition(_END_OF_INPUT)[0].strip()
    fields = _FIELD.findall(text)
    text = _FIELD.sub(r"{\1}", text)
    text = _LITERAL.sub(r"\2", text)
    if sorted(fields) != ["hypothesis", "premise"] or _JINJA.search(text):
        return None
    return text


def _choices(entry: Any) -> Sequence[str]:
    """The answers, in the order of the dataset's labels; older files have them in one text."""
    choices = entry.get("answer_choices") if isinstance(entry, dict) else None
    if isinstance(choices, str):
        choices = choices.split(_END_OF_INPUT)
    if not isinstance(choices, list):
        return []
    return [str(choice).strip() for choice in choices]
