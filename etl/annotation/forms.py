"""The files of a batch: one CSV for every platform, with a line a page, and the page's form.

Mechanical Turk and Label Studio read the CSV, annotators with a spreadsheet fill it in. The form is
NAME.html, a layout whose ``${sentence1_1}`` … Mechanical Turk fills, or NAME.xml, Label Studio's
labelling configuration. NAME.preview.html is the first page as annotators see it, for any browser.
Instructions, consent and contact stand on every page, and the word that the second statement adds
to the first is marked. No file reveals which items are gold or which label a check expects.
"""

import csv
import html
import io
import tempfile
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from adnominal.conf import ROOT, UserError
from adnominal.conf.files import check_local, replace_text
from adnominal.etl.annotation.batches import Question, pages_of
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


class Notes(NamedTuple):
    """Texts of the researchers on every page; paragraphs are separated by empty lines.

    Attributes:
        consent: what annotators agree to by answering, before the questions.
        contact: whom to ask, after the questions.
    """

    consent: str = ""
    contact: str = ""


_NO_NOTES = Notes()


def batch_files(
    task: AnnotationTask, path: Path, questions: Sequence[Question], notes: Notes = _NO_NOTES
) -> dict[Path, str]:
    """The files of a batch, by their paths; `path` is that of its CSV."""
    platform = questions[0].platform
    pages = pages_of(questions)
    rows = [page_fields(task, page, as_html=platform != "csv") for page in pages]
    files = {
        path: csv_text(rows),
        path.with_suffix(".preview.html"): preview_html(task, pages[0], notes),
    }
    if platform == "mturk":
        files[path.with_suffix(".html")] = form_text(task, pages[0], "html", notes)
    elif platform == "label_studio":
        files[path.with_suffix(".xml")] = form_text(task, pages[0], "xml", notes)
    return files


def page_fields(task: AnnotationTask, page: Sequence[Question], as_html: bool) -> dict[str, str]:
    """The columns of a page: its name, its questions, and empty ones that people fill in.

    The platforms insert HTML into their pages; spreadsheets show plain text.
    """
    fields = {"batch": page[0].batch, "page": page[0].page}
    for number, question in enumerate(page, 1):
        first = question.sentence1
        second = question.sentence2
        fields[f"question_{number}"] = question.question_id
        if as_html:
            fields[f"sentence1_{number}"] = _escape(first)
            fields[f"sentence2_{number}"] = mark_added_words(first, second)
        else:
            fields[f"sentence1_{number}"] = _escape_formula(first)
            fields[f"sentence2_{number}"] = _escape_formula(second)
        if question.round == "audit":
            fields[f"given_{number}"] = _audited_label(task, question)
        if question.platform == "csv":
            fields[f"label_{number}"] = ""
    if page[0].platform == "csv":
        fields["annotator"] = ""
        fields["seconds"] = ""
    return fields


def _escape(text: str) -> str:
    return html.escape(text, quote=False)


def _escape_formula(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would take for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def mark_added_words(original: str, modified: str) -> str:
    """The second statement in HTML, with the words that it adds to the first in ``<mark>``.

    Nothing is marked if it differs from the first by more than words at one place.
    """
    original_words = original.split(" ")
    modified_words = modified.split(" ")
    marked = [_escape(word) for word in modified_words]
    before = [_comparison_key(word) for word in original_words]
    after = [_comparison_key(word) for word in modified_words]
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    changes = [operation for operation in matcher.get_opcodes() if operation[0] != "equal"]
    if len(changes) == 1:
        kind, _, _, start, end = changes[0]
        last = end - 1
        if kind == "insert":
            marked[start] = f"<mark>{marked[start]}"
            marked[last] = f"{marked[last]}</mark>"
    return " ".join(marked)


def _comparison_key(word: str) -> str:
    """A word as two statements are compared: an added word turns *a* into *an*."""
    lower = word.lower()
    return "a" if lower == "an" else lower


def _audited_label(task: AnnotationTask, question: Question) -> str:
    """The name of the label of an audited item; empty for a check."""
    if question.kind != "item" or question.expected is None:
        return ""
    return task.labels[question.expected]


def preview_html(task: AnnotationTask, page: Sequence[Question], notes: Notes = _NO_NOTES) -> str:
    """A page in HTML with its statements, for any browser."""
    fields = page_fields(task, page, as_html=True)
    layout = form_text(task, page, "html", notes, _BROWSER_FORM)
    return Template(layout).safe_substitute(fields)


def form_text(
    task: AnnotationTask,
    page: Sequence[Question],
    suffix: str,
    notes: Notes = _NO_NOTES,
    form: Mapping[str, str] = _MTURK_FORM,
) -> str:
    """The form of a page, with variables in place of its statements.

    It is Mechanical Turk's layout (`suffix` html), whose variables are ``${sentence1_1}`` …, or
    Label Studio's labelling configuration (xml), with ``$sentence1_1`` …
    """
    is_audit = page[0].round == "audit"
    instructions = "audit" if is_audit else page[0].condition
    return _fill(
        _template(task, f"page.{suffix}"),
        title=task.audit_title if is_audit else task.title,
        instructions=_template(task, f"{instructions}.html"),
        questions=_questions(task, page, suffix),
        **form,
        consent=_note(task, "consent", notes.consent, suffix),
        contact=_note(task, "contact", notes.contact, suffix),
    )


def _questions(task: AnnotationTask, page: Sequence[Question], suffix: str) -> str:
    """The questions of a page, with variables in place of their statements."""
    option_template = _template(task, f"option.{suffix}")
    options = ""
    for code, name in enumerate(task.options(page[0].round)):
        options += _fill(option_template, code=str(code), option=html.escape(name))
    given = ""
    if page[0].round == "audit":
        given = _template(task, f"given.{suffix}")
    template = _template(task, f"question.{suffix}")
    question = _fill(template, given=given, options=options, count=str(len(page)))
    questions = ""
    for number in range(1, len(page) + 1):
        questions += _fill(question, number=str(number))
    return questions


def _note(task: AnnotationTask, name: str, text: str, suffix: str) -> str:
    """A text of the researchers under its heading; empty without a text."""
    if not text.strip():
        return ""
    template = _template(task, f"note.{suffix}")
    return _fill(template, name=name, heading=name.capitalize(), paragraphs=_paragraphs(text))


def _paragraphs(text: str) -> str:
    """A text as paragraphs in HTML, in which neither template nor platform finds a variable.

    Label Studio takes a dollar sign before a letter or digit for a variable of the task; an
    invisible character separates them.
    """
    paragraphs = [part.strip() for part in text.split("\n\n") if part.strip()]
    markup = "".join(f"<p>{html.escape(part)}</p>\n" for part in paragraphs)
    return markup.replace("$", "&#36;&#8288;").replace("{", "&#123;")


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


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows with the same columns as CSV with a header."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def make_folder(setting: str, path: Path) -> None:
    """Make the folder of the file that `setting` names, before the work whose result it gets.

    Raises:
        UserError: that is not possible, no file can be written there, or the path is a folder.
    """
    check_local(setting, path)
    if path.is_dir():
        raise UserError(f"{setting}={path}: a folder; expected the name of a file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise UserError(
            f"{setting}={path}: {error.strerror}; expected a file in a folder that is writable"
        ) from error


def write_files(files: Mapping[Path, str]) -> None:
    """Write the files, each whole or not at all, in a folder that is made if necessary.

    Raises:
        UserError: a file cannot be written.
    """
    for path, text in files.items():
        try:
            replace_text(path, text)
        except OSError as error:
            raise UserError(f"{path}: {error.strerror}") from error
