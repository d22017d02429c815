"""Questions and answers in the lake, and the answers of a file that are to be added to them."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from adnominal.conf import UserError
from adnominal.etl.annotation.batches import Question
from adnominal.etl.annotation.keys import SIMULATED, hashed_annotator
from adnominal.etl.annotation.quality import Answer
from adnominal.etl.annotation.returned import AnsweredPage
from adnominal.etl.annotation.task import AnnotationTask
from adnominal.etl.lake import arrow

_OF_QUESTION = ("item_id", "expected", "kind", "round", "condition", "platform", "batch", "page")


class AnswerKey(NamedTuple):
    """What identifies an annotator's answer in the table, which has no ids of questions."""

    annotator: str
    round: str
    batch: str
    page: str
    item_id: str
    kind: str


def key_of(row: Mapping[str, Any]) -> AnswerKey:
    """The key of a row of the table."""
    return AnswerKey(*(row[name] for name in AnswerKey._fields))


def stored_questions(lake: str, table: str = "adept_batches") -> list[Question]:
    """Every question asked so far, page by page."""
    if arrow.version(lake, table) is None:
        return []
    columns = [field.name for field in dataclasses.fields(Question)]
    rows = arrow.read(lake, table, columns=columns)
    questions = [Question(**row) for row in rows.to_pylist()]
    return sorted(questions, key=lambda q: (q.batch, q.page, q.place))


def stored_answers(lake: str, table: str = "adept_annotations") -> list[Answer]:
    """Every stored answer, in an order independent of the files."""
    if arrow.version(lake, table) is None:
        return []
    rows = arrow.read(lake, table, columns=list(Answer._fields))
    answers = [Answer(**row) for row in rows.to_pylist()]
    return sorted(answers, key=lambda a: (a.item_id, a.annotator, a.batch, a.page))


def counted_annotators(answers: Iterable[Answer]) -> str:
    """The number of annotators: ``3 annotators``, ``25 simulated annotators``, or both."""
    names = {answer.annotator for answer in answers}
    simulated = sum(name.startswith(SIMULATED) for name in names)
    counts = ((len(names) - simulated, ""), (simulated, "simulated "))
    return " and ".join(
        f"{number:,} {kind}annotator{'s' * (number != 1)}" for number, kind in counts if number
    )


@dataclasses.dataclass
class Changes:
    """What a file of answers changes in the table.

    Attributes:
        rows: new rows, by their keys.
        withdrawn: stored answers on pages that have been rejected or cancelled since.
        already_stored: number of answers that the table has.
        unanswered: number of questions without an answer.
    """

    rows: dict[AnswerKey, dict[str, Any]]
    withdrawn: set[AnswerKey]
    already_stored: int
    unanswered: int


def compare(
    task: AnnotationTask,
    pages: Sequence[AnsweredPage],
    questions: Iterable[Question],
    stored: Mapping[AnswerKey, Mapping[str, Any]],
    secret: bytes,
) -> Changes:
    """Compare a file's pages with the questions that were asked and the stored answers.

    Raises:
        UserError: a question was not asked, a label is invalid, an annotator answers a question
            twice, or an answer differs from the stored one; the message has the place in the file.
    """
    by_id = {question.question_id: question for question in questions}
    rows: dict[AnswerKey, dict[str, Any]] = {}
    rejected = set()
    unanswered = 0
    for page in pages:
        for question_id, text in page.labels.items():
            if question_id not in by_id:
                raise UserError(
                    f"{page.place}: question {question_id!r} is in no batch that was exported from "
                    "this lake"
                )
            question = by_id[question_id]
            annotator = hashed_annotator(secret, question.platform, page.annotator)
            row = {name: getattr(question, name) for name in _OF_QUESTION}
            row |= {"annotator": annotator, "seconds": page.seconds}
            key = key_of(row)
            if page.rejected:
                rejected.add(key)
                continue
            if not text:
                unanswered += 1
                continue
            where = f"{page.place}: question {question_id}"
            row["label"] = _code(text, task.options(question.round), where)
            if key in rows:
                raise UserError(f"{where}: a second answer by the same annotator")
            if key in stored and stored[key]["label"] != row["label"]:
                raise UserError(
                    f"{where} was answered {stored[key]['label']} by the same annotator in an "
                    f"earlier import, {row['label']} here"
                )
            rows[key] = row
    new = {key: row for key, row in rows.items() if key not in stored}
    withdrawn = (rejected - rows.keys()) & stored.keys()
    return Changes(new, withdrawn, len(rows) - len(new), unanswered)


def _code(text: str, options: Sequence[str], where: str) -> int:
    """The code of a label given as a code or a name.

    Raises:
        UserError: it is neither.
    """
    name = text.lower().removesuffix(".0")  # pandas writes 2.0 if a label is missing
    if name in options:
        return options.index(name)
    codes = [str(code) for code in range(len(options))]
    if name not in codes:
        raise UserError(
            f"{where}: label {text!r}; expected 0 to {codes[-1]} or one of {', '.join(options)}"
        )
    return codes.index(name)
