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
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from adnominal.conf import ROOT, UserError
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
    pages = [list(page) for _, page in groupby(questions, key=lambda question: question.page)]
    rows = [page_fields(task, page, _STATEMENTS[platform]) for page in pages]
    files = {
        path: csv_text(list(rows[0]), rows),
        path.with_suffix(".preview.html"): preview_html(task, pages[0], notes),
    }
    if platform == "mturk":
        files[path.with_suffix(".html")] = layout_html(task, pages[0], notes=notes)
    elif platform == "label_studio":
        files[path.with_suffix(".xml")] = configuration_xml(task, pages[0], notes)
    return files


def _escape_for_layout(text: str) -> str:
    """Escape HTML, since Mechanical Turk inserts texts into the page as they are."""
    return html.escape(text, quote=False)


def _escape_formula(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would take for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _comparison_key(word: str) -> str:
    """A word as two statements are compared: an added word turns *a* into *an*."""
    lower = word.lower()
    return "a" if lower == "an" else lower


def mark_added_words(original: str, modified: str) -> str:
    """The second statement in HTML, with the words that it adds to the first in ``<mark>``.

    Nothing is marked if it differs from the first by more than words at one place.
    """
    words = modified.split(" ")
    before = [_comparison_key(word) for word in original.split(" ")]
    after = [_comparison_key(word) for word in words]
    added = len(after) - len(before)
    if added < 1:
        return _escape_for_layout(modified)
    start = next((i for i, word in enumerate(before) if after[i] != word), len(before))
    end = start + added
    if after[end:] != before[start:]:
        return _escape_for_layout(modified)
    escaped = [_escape_for_layout(word) for word in words]
    marked = " ".join(escaped[start:end])
    return " ".join([*escaped[:start], f"<mark>{marked}</mark>", *escaped[end:]])


class Statements(NamedTuple):
    """How a file writes the two statements of a question; `second` takes both of them."""

    first: Callable[[str], str]
    second: Callable[[str, str], str]


_PLAIN = Statements(str, lambda _, modified: modified)
_STATEMENTS = {
    "mturk": Statements(_escape_for_layout, mark_added_words),
    "label_studio": Statements(str, mark_added_words),
    "csv": Statements(_escape_formula, lambda _, modified: _escape_formula(modified)),
    "preview": Statements(html.escape, mark_added_words),
}


def page_fields(
    task: AnnotationTask, page: Sequence[Question], statements: Statements = _PLAIN
) -> dict[str, str]:
    """The columns of a page: its name, its questions, and empty ones that people fill in."""
    fields = {"batch": page[0].batch, "page": page[0].page}
    for number, question in enumerate(page, 1):
        fields[f"question_{number}"] = question.question_id
        first, second = question.sentence1, question.sentence2
        fields[f"sentence1_{number}"] = statements.first(first)
        fields[f"sentence2_{number}"] = statements.second(first, second)
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


def preview_html(task: AnnotationTask, page: Sequence[Question], notes: Notes = _NO_NOTES) -> str:
    """A page in HTML with its statements, for any browser."""
    fields = page_fields(task, page, _STATEMENTS["preview"])
    return Template(layout_html(task, page, _BROWSER_FORM, notes)).safe_substitute(fields)


def layout_html(
    task: AnnotationTask,
    page: Sequence[Question],
    form: Mapping[str, str] = _MTURK_FORM,
    notes: Notes = _NO_NOTES,
) -> str:
    """A page in HTML with ``${sentence1_1}`` … in place of its statements."""
    return _fill(
        _template(task, "page.html"),
        title=_title(task, page),
        instructions=_instructions(task, page),
        questions=_questions(task, page, _HTML),
        **form,
        consent=_note_html("Consent", notes.consent),
        contact=_note_html("Contact", notes.contact),
    )


def configuration_xml(
    task: AnnotationTask, page: Sequence[Question], notes: Notes = _NO_NOTES
) -> str:
    """Label Studio's labelling configuration, with ``$sentence1_1`` … in place of statements."""
    return _fill(
        _template(task, "label_studio_page.xml"),
        title=_title(task, page),
        instructions=_instructions(task, page),
        questions=_questions(task, page, _LABEL_STUDIO),
        consent=_note_xml("consent", notes.consent),
        contact=_note_xml("contact", notes.contact),
    )


def _title(task: AnnotationTask, page: Sequence[Question]) -> str:
    return task.audit_title if page[0].round == "audit" else task.title


def _instructions(task: AnnotationTask, page: Sequence[Question]) -> str:
    """The instructions of a page, in HTML that is well-formed XML."""
    name = "audit" if page[0].round == "audit" else page[0].condition
    return _template(task, f"{name}.html")


def _paragraphs(text: str) -> str:
    """A text as paragraphs in HTML, in which neither template nor platform finds a variable."""
    paragraphs = [part.strip() for part in text.split("\n\n") if part.strip()]
    markup = "".join(f"<p>{html.escape(part)}</p>\n" for part in paragraphs)
    return markup.replace("$", "&#36;").replace("{", "&#123;")


def _note_html(heading: str, text: str) -> str:
    """A section of a page, empty without a text."""
    if not text.strip():
        return ""
    return f'<section class="note">\n<h2>{heading}</h2>\n{_paragraphs(text)}</section>\n'


def _note_xml(name: str, text: str) -> str:
    """A text of Label Studio's configuration with its heading, empty without a text."""
    if not text.strip():
        return ""
    header = f'<Header value="{name.capitalize()}"/>\n'
    # Label Studio takes a dollar sign before a letter or digit for a variable of the task.
    markup = _paragraphs(text).replace("&#36;", "&#36;&#8288;")
    return f'{header}<HyperText name="{name}" inline="true">\n{markup}</HyperText>\n'


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


def make_folder(path: Path) -> None:
    """Make the folder of a file.

    Raises:
        UserError: that is not possible.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error


def write_files(files: Mapping[Path, str]) -> None:
    """Write the files, in a folder that is made if necessary.

    Raises:
        UserError: a file cannot be written.
    """
    for path, text in files.items():
        make_folder(path)
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UserError(f"{path}: {error.strerror}") from error
