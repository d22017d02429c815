"""The files for annotators: pages in HTML, and the formats of each platform.

========= ============================================ ==========================================
platform  the batch                                    beside it
========= ============================================ ==========================================
mturk     CSV, a line a page                           NAME.html: the project's layout, whose
                                                       ``${sentence1_1}`` … the CSV fills
label_    JSON, a task a page                          NAME.xml: the labelling configuration
studio
csv       CSV, a line a question, with ``annotator``,
          ``label`` and ``seconds`` to be filled in
========= ============================================ ==========================================

Each also has NAME.preview.html: the first page as annotators see it, for any browser. No file
reveals which items are gold or which label a check expects.
"""

import csv
import html
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from adnominal.conf import ROOT, UserError
from adnominal.etl.adept import LABELS
from adnominal.etl.annotation.batches import Question, options

_TEMPLATES = ROOT / "conf" / "adept"
_SCRIPT = '<script src="https://assets.crowd.aws/crowd-html-elements.js"></script>\n'
_LABEL_LINE = '<p class="statement"><span>Label</span> <b>{}</b></p>\n'
CSV_COLUMNS = (
    "batch",
    "page",
    "question_id",
    "sentence1",
    "sentence2",
    "annotator",
    "label",
    "seconds",
)


def check_path(path: Path, platform: str) -> None:
    """Check that the platform accepts the file's name.

    Raises:
        UserError: the suffix is not .csv or, for Label Studio, .json.
    """
    suffix = ".json" if platform == "label_studio" else ".csv"
    if path.suffix != suffix:
        raise UserError(
            f"batch={path}: expected a name that ends in {suffix} for format={platform}"
        )


def batch_files(path: Path, questions: Sequence[Question]) -> dict[Path, str]:
    """Return the files of a batch for `path`, by their paths."""
    first = questions[0]
    pages = [list(group) for _, group in groupby(questions, key=lambda q: q.page)]
    files = {path.with_suffix(".preview.html"): page_html(pages[0])}
    if first.platform == "mturk":
        files[path] = _mturk(pages)
        files[path.with_suffix(".html")] = page_html(pages[0], layout=True)
    elif first.platform == "label_studio":
        tasks = [{"data": _page_fields(page)} for page in pages]
        # One task per line, so that a message about the answers can name it.
        lines = ",\n".join(json.dumps(task, ensure_ascii=False) for task in tasks)
        files[path] = f"[\n{lines}\n]\n"
        files[path.with_suffix(".xml")] = _label_studio(pages[0])
    else:
        files[path] = csv_text(CSV_COLUMNS, (_row(question) for question in questions))
    return files


def page_html(page: Sequence[Question], *, layout: bool = False) -> str:
    """Return a page in HTML: with its statements, or as Mechanical Turk's layout with variables."""
    first = page[0]
    title = "What explains the label?" if first.round == "audit" else "How plausible is it now?"
    instructions = "audit" if first.round == "audit" else first.condition
    block = _template("question")
    blocks = [
        _filled_template(
            block,
            number=str(at),
            count=str(len(page)),
            sentence1=f"${{sentence1_{at}}}" if layout else html.escape(question.sentence1),
            sentence2=f"${{sentence2_{at}}}" if layout else html.escape(question.sentence2),
            given=_LABEL_LINE.format(f"${{given_{at}}}" if layout else _label(question))
            if first.round == "audit"
            else "",
            options="".join(
                f'<label><input type="radio" name="label_{at}" value="{code}" required>'
                f"{html.escape(name)}</label>\n"
                for code, name in enumerate(options(first.round))
            ),
        )
        for at, question in enumerate(page, 1)
    ]
    return _filled_template(
        _template("page"),
        title=title,
        script=_SCRIPT if layout else "",
        instructions=_template(instructions),
        # Mechanical Turk's own element has the button and sends the answers.
        form='crowd-form answer-format="flatten-objects"' if layout else 'form id="preview"',
        form_name="crowd-form" if layout else "form",
        submit="" if layout else '<button type="button">Submit</button>\n',
        questions="".join(blocks),
    )


def _template(name: str) -> str:
    return (_TEMPLATES / f"{name}.html").read_text(encoding="utf-8")


def _filled_template(template: str, **values: str) -> str:
    """Fill a template's ``{{names}}`` in one pass, so that values are never expanded."""
    parts = template.split("{{")
    filled = [parts[0]]
    for part in parts[1:]:
        name, rest = part.split("}}", 1)
        filled += [values[name], rest]
    return "".join(filled)


def _label(question: Question) -> str:
    """Return the name of the label of an audit item; empty for a check."""
    if question.kind != "item" or question.expected is None:
        return ""
    return LABELS[question.expected]


def _page_fields(page: Sequence[Question]) -> dict[str, str]:
    """Return the fields of a page in a file: its name, and each question with its statements."""
    fields = {"batch": page[0].batch, "page": page[0].page}
    for at, question in enumerate(page, 1):
        fields[f"question_{at}"] = question.question_id
        fields[f"sentence1_{at}"] = question.sentence1
        fields[f"sentence2_{at}"] = question.sentence2
        if question.round == "audit":
            fields[f"given_{at}"] = _label(question)
    return fields


def _row(question: Question) -> dict[str, str]:
    """Return a line of the plain CSV; an audited label is shown with the statement."""
    given_label = _label(question) if question.round == "audit" else ""
    return {
        "batch": question.batch,
        "page": question.page,
        "question_id": question.question_id,
        "sentence1": _no_formula(question.sentence1),
        "sentence2": _no_formula(question.sentence2)
        + (f" [label: {given_label}]" if given_label else ""),
        **dict.fromkeys(("annotator", "label", "seconds"), ""),
    }


def _no_formula(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would take for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _mturk(pages: Sequence[Sequence[Question]]) -> str:
    # The platform inserts values into the page unescaped.
    rows = [
        {key: html.escape(value, quote=False) for key, value in _page_fields(page).items()}
        for page in pages
    ]
    return csv_text(list(rows[0]), rows)


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as CSV with a header."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _label_studio(page: Sequence[Question]) -> str:
    """Return the labelling configuration: the page's statements with a choice under each pair."""
    view = ET.Element("View")
    for number, question in enumerate(page, 1):
        ET.SubElement(view, "Header", value=f"Question {number} of {len(page)}")
        ET.SubElement(view, "Text", name=f"original_{number}", value=f"$sentence1_{number}")
        ET.SubElement(view, "Text", name=f"modified_{number}", value=f"$sentence2_{number}")
        if question.round == "audit":
            ET.SubElement(view, "Text", name=f"given_{number}", value=f"$given_{number}")
        choices = ET.SubElement(
            view,
            "Choices",
            name=f"label_{number}",
            toName=f"modified_{number}",
            choice="single-radio",
            required="true",
            showInline="true",
        )
        for code, name in enumerate(options(question.round)):
            ET.SubElement(choices, "Choice", value=name, alias=str(code))
    ET.indent(view)
    return ET.tostring(view, encoding="unicode") + "\n"
