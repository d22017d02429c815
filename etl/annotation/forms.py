"""The files of a batch: one CSV for every platform, with a line a page, and the page's form.

Mechanical Turk and Label Studio read the CSV, annotators with a spreadsheet fill it in. The form is
NAME.html, a layout whose ``${sentence1_1}`` … Mechanical Turk fills, or NAME.xml, Label Studio's
labelling configuration. NAME.preview.html is the first page as annotators see it, for any browser.
No file reveals which items are gold or which label a check expects.
"""

import csv
import html
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from adnominal.conf import ROOT
from adnominal.etl.annotation.batches import Question
from adnominal.etl.annotation.task import AnnotationTask

_SHARED_TEXTS = ROOT / "conf" / "annotation"
# Mechanical Turk's own element has the button and sends the answers.
_MTURK_FORM = {
    "script": '<script src="https://assets.crowd.aws/crowd-html-elements.js"></script>\n',
    "form": 'crowd-form answer-format="flatten-objects"',
    "form_name": "crowd-form",
    "submit": "",
}
_BROWSER_FORM = {
    "script": "",
    "form": 'form id="preview"',
    "form_name": "form",
    "submit": '<button type="button">Submit</button>\n',
}


class Dialect(NamedTuple):
    """How a kind of form writes a page's questions; the snippets are filled by ``str.format``."""

    template: str
    audited_label: str
    option: str


_HTML = Dialect(
    "question.html",
    '<p class="statement"><span>Label</span> <b>${{given_{number}}}</b></p>\n',
    '<label><input type="radio" name="label_{number}" value="{code}" required>{option}</label>\n',
)
_LABEL_STUDIO = Dialect(
    "label_studio.xml",
    '<Text name="given_{number}" value="$given_{number}"/>\n',
    '<Choice value="{option}" alias="{code}"/>\n',
)


def batch_files(task: AnnotationTask, path: Path, questions: Sequence[Question]) -> dict[Path, str]:
    """The files of a batch, by their paths; `path` is that of its CSV."""
    platform = questions[0].platform
    escapes: dict[str, Callable[[str], str]] = {
        "mturk": _escape_for_layout,
        "label_studio": str,
        "csv": _escape_formula,
    }
    pages = [list(page) for _, page in groupby(questions, key=lambda question: question.page)]
    rows = [page_fields(task, page, escapes[platform]) for page in pages]
    files = {
        path: csv_text(list(rows[0]), rows),
        path.with_suffix(".preview.html"): preview_html(task, pages[0]),
    }
    if platform == "mturk":
        files[path.with_suffix(".html")] = layout_html(task, pages[0])
    elif platform == "label_studio":
        view = _questions(task, pages[0], _LABEL_STUDIO)
        files[path.with_suffix(".xml")] = f"<View>\n{view}</View>\n"
    return files


def page_fields(
    task: AnnotationTask, page: Sequence[Question], escape: Callable[[str], str] = str
) -> dict[str, str]:
    """The columns of a page: its name, its questions, and empty ones that people fill in."""
    fields = {"batch": page[0].batch, "page": page[0].page}
    for number, question in enumerate(page, 1):
        fields[f"question_{number}"] = question.question_id
        fields[f"sentence1_{number}"] = escape(question.sentence1)
        fields[f"sentence2_{number}"] = escape(question.sentence2)
        if question.round == "audit":
            fields[f"given_{number}"] = _audited_label(task, question)
        if question.platform == "csv":
            fields[f"label_{number}"] = ""
    if page[0].platform == "csv":
        fields |= {"annotator": "", "seconds": ""}
    return fields


def _audited_label(task: AnnotationTask, question: Question) -> str:
    """The name of the label of an audited item; empty for a check."""
    if question.kind != "item" or question.expected is None:
        return ""
    return task.labels[question.expected]


def _escape_for_layout(text: str) -> str:
    """Escape HTML, since Mechanical Turk inserts texts into the page as they are."""
    return html.escape(text, quote=False)


def _escape_formula(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would take for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def preview_html(task: AnnotationTask, page: Sequence[Question]) -> str:
    """A page in HTML with its statements, for any browser."""
    fields = page_fields(task, page, html.escape)
    return Template(layout_html(task, page, _BROWSER_FORM)).safe_substitute(fields)


def layout_html(
    task: AnnotationTask, page: Sequence[Question], form: Mapping[str, str] = _MTURK_FORM
) -> str:
    """A page in HTML with ``${sentence1_1}`` … in place of its statements."""
    is_audit = page[0].round == "audit"
    return _fill(
        _template(task, "page.html"),
        title=task.audit_title if is_audit else task.title,
        instructions=_template(task, f"{'audit' if is_audit else page[0].condition}.html"),
        questions=_questions(task, page, _HTML),
        **form,
    )


def _questions(task: AnnotationTask, page: Sequence[Question], dialect: Dialect) -> str:
    """The questions of a page, with variables in place of their statements."""
    round = page[0].round
    template = _template(task, dialect.template)
    questions = []
    for number in range(1, len(page) + 1):
        options = []
        for code, name in enumerate(task.options(round)):
            option = dialect.option.format(number=number, code=code, option=html.escape(name))
            options.append(option)
        question = _fill(
            template,
            number=str(number),
            count=str(len(page)),
            given=dialect.audited_label.format(number=number) if round == "audit" else "",
            options="".join(options),
        )
        questions.append(question)
    return "".join(questions)


def _template(task: AnnotationTask, name: str) -> str:
    path = task.texts / name
    if not path.is_file():
        path = _SHARED_TEXTS / name
    return path.read_text(encoding="utf-8")


def _fill(template: str, **values: str) -> str:
    """Fill a template's ``{{names}}``."""
    for name, value in values.items():
        template = template.replace(f"{{{{{name}}}}}", value)
    return template


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as CSV with a header."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
