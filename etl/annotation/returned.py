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


# Mechanical Turk writes true and false; spreadsheets rewrite them in the language of their user.
_TRUE_WORDS = (
    "true wahr vrai verdadero verdadeiro vero waar sant sann sand tosi prawda pravda igaz adevărat "
    "doğru истина правда yes on checked x 1 1.0"
)
_FALSE_WORDS = (
    "false falsch faux falso onwaar falskt usann falsk epätosi fałsz nepravda hamis fals yanlış "
    "ложь хибність no off unchecked none 0 0.0"
)
_TRUE = frozenset(_TRUE_WORDS.split())
_FALSE = frozenset(["", *_FALSE_WORDS.split()])
_TASK_ANSWERS = "Answer.taskAnswers"
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
    others: list[str] = []
    columns = _CSV
    if text.lstrip()[:1] in ("[", "{"):
        pages = [_page(place, row, _CSV, annotator) for place, row in _label_studio(text, name)]
    else:
        lines = list(rows_of(text, name))
        columns = _columns(lines[0][1], name) if lines else _CSV
        pages = [_page(f"{name}: line {line}", row, columns, annotator) for line, row in lines]
        others = [column for column, value in lines[0][1].items() if value] if lines else []
    answered = [page for page in pages if any(page.labels.values())]
    for page in answered:
        if not page.annotator:
            raise UserError(
                f"{page.place}: no annotator; fill in the column, or give annotator=NAME"
            )
    if not answered and not any(page.rejected for page in pages):
        there = f"; filled in are {', '.join(others)}" if others else ""
        raise UserError(
            f"{name}: no answers in it; expected a file that annotators filled in, with labels in "
            f"{columns.label}1, …{there}"
        )
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
    row = _with_task_answers(row, place)
    labels = {}
    for column, question_id in row.items():
        if column.startswith(columns.question) and question_id:
            number = column.removeprefix(columns.question)
            labels[question_id.strip()] = _label(row, f"{columns.label}{number}", place)
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


def _label(row: Mapping[str, str], column: str, place: str) -> str:
    """The label in a column, or in columns of true and false, one for each option."""
    if row.get(column, "").strip():
        return row[column].strip()
    prefix = f"{column}."
    options = []
    for name, value in row.items():
        word = value.strip().casefold()
        if not name.startswith(prefix) or word in _FALSE:
            continue
        if word not in _TRUE:
            raise UserError(f"{place}: column {name} has {value!r}; expected true or false")
        options.append(name.removeprefix(prefix))
    return ", ".join(options)


def _with_task_answers(row: Mapping[str, str], place: str) -> Mapping[str, str]:
    """A row with the answers that Mechanical Turk's newer forms return in one column as JSON.

    It is ``[{"label_1": "2", …}]``; radio buttons give ``{"label_1": {"0": false, "2": true}}``.
    """
    text = row.get(_TASK_ANSWERS, "").strip()
    if not text:
        return row
    try:
        value = json_value(text)
        answers = value[0] if isinstance(value, list) else value
        columns = {f"Answer.{name}": answer for name, answer in answers.items()}
    except (ValueError, AttributeError, IndexError) as error:
        raise UserError(
            f"{place}: column {_TASK_ANSWERS} has {text[:40]!r}; expected a JSON array with an "
            "object of answers"
        ) from error
    answered = dict(row)
    for name, answer in columns.items():
        if isinstance(answer, dict):
            answered |= {f"{name}.{option}": str(chosen) for option, chosen in answer.items()}
        elif answer is not None:
            answered[name] = str(answer)
    return answered


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
            # Versions before 1.0 call the annotations completions.
            annotations = task["annotations"] if "annotations" in task else task["completions"]
            for annotation in annotations:
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
