"""Files of answers, as the platforms return them: the pages that annotators answered.

Mechanical Turk's results and filled-in copies of a batch's CSV have a line for each page of an
annotator, with the same columns under other names; Label Studio's JSON is read as such lines.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from adnominal.conf import UserError
from adnominal.conf.delimited import rows_of, text_of
from adnominal.conf.texts import json_value


class Columns(NamedTuple):
    """The names of the columns in a file; those of questions and labels end in a number."""

    question: str
    label: str
    annotator: str
    seconds: str


_CSV = Columns("question_", "label_", "annotator", "seconds")
_MTURK = Columns("Input.question_", "Answer.label_", "WorkerId", "WorkTimeInSeconds")


@dataclass(frozen=True)
class AnsweredPage:
    """An annotator's answers to a page.

    Attributes:
        place: the file, and where the page is in it (``line 3``, ``task 2``).
        annotator: the annotator's id on the platform.
        labels: label of each question, by its id, as it is in the file; empty if not answered.
        seconds: time for each question (the platforms know that for the page), if known.
        rejected: whether the requester rejected it, or the annotator cancelled it.
    """

    place: str
    annotator: str
    labels: Mapping[str, str]
    seconds: float | None
    rejected: bool


def read_answers(path: Path, annotator: str | None = None) -> list[AnsweredPage]:
    """The pages in a file of answers.

    `annotator` is who answered the pages for which the file does not say it.

    Raises:
        UserError: the file does not exist, has another format, no answers, or answers of nobody.
    """
    name = f"batch={path}"
    text = text_of(path, name)
    if text.lstrip()[:1] in ("[", "{"):
        pages = [_page(place, row, _CSV, annotator) for place, row in _label_studio(text, name)]
    else:
        lines = list(rows_of(text, name))
        columns = _columns(lines[0][1], name) if lines else _CSV
        pages = [_page(f"{name}: line {line}", row, columns, annotator) for line, row in lines]
    answered = [page for page in pages if any(page.labels.values())]
    for page in answered:
        if not page.annotator:
            raise UserError(
                f"{page.place}: no annotator; fill in the column, or give annotator=NAME"
            )
    if not answered and not any(page.rejected for page in pages):
        raise UserError(f"{name}: no answers in it; expected a file that annotators filled in")
    return pages


def _columns(row: Mapping[str, str], name: str) -> Columns:
    """The columns of a CSV with such rows."""
    if {"Input.question_1", "WorkerId", "AssignmentStatus"} <= row.keys():
        return _MTURK
    if {"question_1", "label_1", "annotator"} <= row.keys():
        return _CSV
    raise UserError(
        f"{name}: unknown format; expected Mechanical Turk's results (columns WorkerId, "
        "AssignmentStatus, Input.question_1, …), Label Studio's JSON, or a batch of format=csv "
        f"with annotator and label_1, … filled in; got columns {', '.join(sorted(row))}"
    )


def _page(
    place: str, row: Mapping[str, str], columns: Columns, annotator: str | None
) -> AnsweredPage:
    labels = {}
    for column, question_id in row.items():
        if column.startswith(columns.question) and question_id:
            number = column.removeprefix(columns.question)
            labels[question_id.strip()] = _label(row, f"{columns.label}{number}")
    status = row.get("AssignmentStatus", "").strip().lower()
    # The column Reject has the reasons of a review that is about to be uploaded.
    is_being_rejected = status == "submitted" and row.get("Reject", "").strip() != ""
    return AnsweredPage(
        place=place,
        annotator=row.get(columns.annotator, "").strip() or annotator or "",
        labels=labels,
        seconds=_seconds_of_question(row.get(columns.seconds, ""), len(labels)),
        rejected=status == "rejected" or is_being_rejected,
    )


def _label(row: Mapping[str, str], column: str) -> str:
    """The label in a column, or in columns of true and false, one for each option."""
    if row.get(column):
        return row[column].strip()
    prefix = f"{column}."
    options = [
        name.removeprefix(prefix)
        for name, value in row.items()
        if name.startswith(prefix) and value.strip().lower() == "true"
    ]
    return ", ".join(options)


def _seconds_of_question(seconds_of_page: str, questions: int) -> float | None:
    """The mean time for a question; None if the page's is missing or not readable."""
    try:
        seconds = float(seconds_of_page)
    except ValueError:
        return None
    is_time = math.isfinite(seconds) and seconds >= 0
    return seconds / questions if is_time and questions else None


def _label_studio(text: str, name: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Label Studio's JSON as rows of the CSV, one for each annotation of each task."""
    try:
        tasks = json_value(text)
    except ValueError as error:
        raise UserError(f"{name}: no JSON ({error}); expected Label Studio's export") from error
    for number, task in enumerate(tasks, 1):
        place = f"{name}: task {number}"
        try:
            for annotation in task["annotations"]:
                yield place, _label_studio_row(task["data"], annotation)
        except (AttributeError, KeyError, TypeError) as error:
            raise UserError(
                f"{place}: no data with annotations and their choices; expected Label Studio's "
                "export of a batch as JSON (not JSON-MIN)"
            ) from error


def _label_studio_row(data: Mapping[str, Any], annotation: Mapping[str, Any]) -> dict[str, str]:
    """The task's data and an annotation, under the names of the CSV's columns."""
    row = {column: str(value) for column, value in data.items()}
    for result in annotation["result"]:
        # Other controls (such as a comment) have no choices.
        row[result["from_name"]] = ", ".join(result["value"].get("choices", []))
    annotator = annotation["completed_by"]
    if isinstance(annotator, dict):
        # Some versions have an object for the person, not only the number.
        annotator = annotator.get("id", annotator.get("email"))
    row["annotator"] = "" if annotator is None else str(annotator)
    row["seconds"] = str(annotation.get("lead_time"))
    row["AssignmentStatus"] = "rejected" if annotation.get("was_cancelled") else ""
    return row
