"""Files of answers, as the platforms return them: the pages that annotators answered.

A filled-in copy of a batch's CSV has a line for each page of an annotator. Mechanical Turk's
results and Label Studio's JSON are read as such lines, by the shapes that our own forms return.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adnominal.conf import UserError
from adnominal.conf.delimited import rows_of, text_of
from adnominal.conf.numbers import finite_number
from adnominal.conf.texts import json_value
from adnominal.etl.corpora.normalisation import drop_invisible

_MTURK_COLUMNS = {"Input.question_1", "WorkerId", "AssignmentStatus", "WorkTimeInSeconds"}
_CSV_COLUMNS = {"question_1", "label_1", "annotator"}


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
    is_json = text.lstrip()[:1] in ("[", "{")
    lines = _label_studio_lines(text, name) if is_json else _csv_lines(text, name)
    pages = [_page(place, line, annotator) for place, line in lines]
    answered = [page for page in pages if any(page.labels.values())]
    for page in answered:
        if not page.annotator:
            raise UserError(
                f"{page.place}: no annotator; fill in the column, or give annotator=NAME"
            )
    if not answered and not any(page.rejected for page in pages):
        raise UserError(
            f"{name}: no answers in it; expected labels in label_1, … (Mechanical Turk: true in "
            "Answer.label_1.0, …)"
        )
    return pages


def _page(place: str, line: Mapping[str, str], annotator: str | None) -> AnsweredPage:
    """The page of a line, whose columns have the names of a batch's CSV.

    Raises:
        UserError: a label has no question, or two have the same one.
    """
    labels: dict[str, str] = {}
    for column, value in line.items():
        if not column.startswith("question_"):
            continue
        number = column.removeprefix("question_")
        question_id = value.strip()
        label = line.get(f"label_{number}", "").strip()
        if question_id in labels or (label and not question_id):
            raise UserError(
                f"{place}: {column} {question_id!r}; expected the id of a question, each once, as "
                "in the batch"
            )
        if question_id:
            labels[question_id] = label
    return AnsweredPage(
        place=place,
        annotator=drop_invisible(line["annotator"]).strip() or annotator or "",
        labels=labels,
        seconds=_seconds_of_question(line.get("seconds", ""), len(labels)),
        rejected=bool(line.get("rejected")),
    )


def _seconds_of_question(seconds_of_page: str, questions: int) -> float | None:
    """The mean time for a question; None if the page's is missing or not readable."""
    seconds = finite_number(seconds_of_page)
    if seconds is None or seconds < 0 or not questions:
        return None
    return seconds / questions


def _csv_lines(text: str, name: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The lines of a filled-in CSV or of Mechanical Turk's results."""
    for number, row in rows_of(text, name):
        place = f"{name}: line {number}"
        if row.keys() >= _MTURK_COLUMNS:
            _check_mturk_answers(place, row)
            yield place, _mturk_line(row)
        elif row.keys() >= _CSV_COLUMNS:
            yield place, row
        else:
            raise UserError(
                f"{name}: unknown format; expected Mechanical Turk's results (columns WorkerId, "
                "AssignmentStatus, Input.question_1, …), Label Studio's JSON, or a batch of "
                "format=csv with annotator and label_1, … filled in; got columns "
                f"{', '.join(sorted(row))}"
            )


def _check_mturk_answers(place: str, row: Mapping[str, str]) -> None:
    """Refuse answers in other columns, or of other values, than those that our forms return.

    Raises:
        UserError: there are some; with the column.
    """
    expected = "expected true or false in Answer.label_1.0, …, as the batch's form returns them"
    answers = {column: value for column, value in row.items() if column.startswith("Answer.")}
    labels = {column: value for column, value in answers.items() if ".label_" in column}
    if answers and not labels:
        raise UserError(f"{place}: answers in {', '.join(answers)}; {expected}")
    for column, value in labels.items():
        if value.strip().lower() not in ("true", "false", ""):
            raise UserError(f"{place}: {column} is {value!r}; {expected}")


def _mturk_line(row: Mapping[str, str]) -> dict[str, str]:
    """A row of Mechanical Turk's results under the names of the CSV's columns.

    Its forms return a column of true and false for each option: ``Answer.label_1.3`` is option 3 of
    the first question.
    """
    line = {"annotator": row["WorkerId"], "seconds": row["WorkTimeInSeconds"]}
    for column, value in row.items():
        source, _, name = column.partition(".")
        if source == "Input":
            line[name] = value
        elif source == "Answer" and value.strip().lower() == "true":
            label_column, _, option = name.partition(".")
            # Two options of a question are no label, as in the other layouts.
            earlier = line.get(label_column)
            line[label_column] = option if earlier is None else f"{earlier}, {option}"
    status = row["AssignmentStatus"].strip().capitalize()
    # The column Reject has the reasons of a review that is about to be uploaded.
    is_being_rejected = status == "Submitted" and row.get("Reject", "").strip() != ""
    if status == "Rejected" or is_being_rejected:
        line["rejected"] = "yes"
    return line


def _label_studio_lines(text: str, name: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Label Studio's JSON as lines of the CSV, one for each annotation of each task."""
    try:
        tasks = json_value(text)
    except ValueError as error:
        raise UserError(f"{name}: no JSON ({error}); expected Label Studio's export") from error
    for number, task in enumerate(tasks, 1):
        place = f"{name}: task {number}"
        try:
            for annotation in task["annotations"]:
                yield place, _label_studio_line(task["data"], annotation)
        except (AttributeError, KeyError, TypeError) as error:
            fields = ", ".join(map(str, task)) if isinstance(task, dict) else type(task).__name__
            raise UserError(
                f"{place}: no data with annotations and their choices, got {fields}; expected "
                "Label Studio's export of a batch as JSON (not JSON-MIN), of version 1.0 or later"
            ) from error


def _label_studio_line(data: Mapping[str, Any], annotation: Mapping[str, Any]) -> dict[str, str]:
    """The task's data and an annotation, under the names of the CSV's columns."""
    line = {column: str(value) for column, value in data.items()}
    for result in annotation["result"]:
        # Other controls (such as a comment) have no choices.
        line[result["from_name"]] = ", ".join(result["value"].get("choices", []))
    annotator = annotation["completed_by"]
    if isinstance(annotator, dict):
        # Label Studio Enterprise has an object for the person, not only the number.
        annotator = annotator["id"]
    line["annotator"] = "" if annotator is None else str(annotator)
    line["seconds"] = str(annotation.get("lead_time"))
    line["rejected"] = "yes" if annotation.get("was_cancelled") else ""
    return line
