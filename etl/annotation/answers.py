"""Answers as the platforms return them, matched with the questions that were asked.

A file is imported whole or refused; faults are reported by line. Annotators are stored as keyed
hashes (HMAC-SHA-256 of platform and id): the same person is the same annotator in every batch, and
nobody can find the person without the key, not even by hashing every id of the platform. The key
file must be outside the lake, because whoever has both can tell who answered what. It must not be
lost, because with another key the same people would count as new ones.
"""

import csv
import hashlib
import hmac
import json
import math
import os
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from adnominal.conf import UserError
from adnominal.conf.delimited import delimiter_of, rows_of, text_of
from adnominal.etl.annotation.batches import PLATFORMS, Question, options
from adnominal.etl.annotation.quality import Answer
from adnominal.etl.lake import arrow
from adnominal.etl.lake.storage import local_path

_OF_QUESTION = ("item_id", "expected", "kind", "round", "condition", "batch", "page")
_HEADER = 100_000  # a CSV header must end within so many characters; fewer than a field may have
_FAULTS_NAMED = 3  # maximum number of faults in a message
# Prefix of the ids of simulated annotators (`etl.annotation.simulate`), in files and table.
SIMULATED = "simulated-"


STORED_ANSWER = ("annotator", "batch", "page", "item_id", "kind")  # identify an answer in the table
StoredAnswer = tuple[str, ...]  # their values


class Sent(NamedTuple):
    """One answer in a file, with its line."""

    question_id: str
    annotator: str
    label: str
    seconds: float | None
    line: int


@dataclass
class Read:
    """A file's answers, `unanswered` questions, and pages `rejected` by the requester.

    `withdrawn` are the annotators and questions of rejected pages; `faults` are the lines that
    cannot be understood.
    """

    platform: str
    answers: list[Sent] = field(default_factory=list)
    unanswered: int = 0
    rejected: int = 0
    withdrawn: set[tuple[str, str]] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)

    def add_page(
        self,
        line: int,
        annotator: str,
        questions: Sequence[tuple[str, Sequence[str], str]],
        seconds: float | None,
    ) -> None:
        """Add an annotator's page: the id, chosen labels and name of each question."""
        for question_id, labels, name in questions:
            if len(labels) > 1:
                self.faults.append(f"line {line}: {len(labels)} answers to {name}")
            elif not labels:
                self.unanswered += 1
            else:
                share = None if seconds is None else seconds / len(questions)
                self.answers.append(Sent(question_id, annotator, labels[0], share, line))

    def reject_page(self, annotator: str, question_ids: Iterable[str]) -> None:
        """Count an annotator's page that is rejected, whatever the labels on it."""
        self.rejected += 1
        self.withdrawn.update((annotator, question_id) for question_id in question_ids)


class Key:
    """The secret with which annotators' ids are hashed."""

    def __init__(self, path: Path, lake: str) -> None:
        """Set where the key is or will be created; nothing is read yet.

        Raises:
            UserError: the file is in the lake, where every reader of the answers would find it.
        """
        root = local_path(lake)
        if root is not None and path.resolve().is_relative_to(root.resolve()):
            raise UserError(f"key={path} is in lake={lake}; expected a file outside of it")
        self.path = path

    def secret(self, *, make: bool) -> bytes:
        """Return the key; create one if there is none and `make` is true.

        Raises:
            UserError: the file does not exist, or has less than 16 bytes and could be guessed.
        """
        if make and not self.path.exists():
            self._make()
        try:
            secret = self.path.read_bytes()
        except OSError as error:
            raise UserError(
                f"key={self.path}: {error.strerror}; expected the key file of the earlier imports, "
                "without which the same annotators would count as new ones"
            ) from error
        if len(secret) < 16:
            raise UserError(f"key={self.path}: {len(secret)} bytes; expected 16 or more")
        return secret

    def _make(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=self.path.parent)  # readable only by its owner
        with os.fdopen(handle, "wb") as stream:
            stream.write(secrets.token_hex(32).encode())
        try:
            os.link(name, self.path)  # fails if another process was first
        except FileExistsError:
            pass
        finally:
            os.unlink(name)


def fingerprint(secret: bytes) -> str:
    """Return a fingerprint that distinguishes keys without revealing them (table history)."""
    return hmac.new(secret, b"fingerprint", hashlib.sha256).hexdigest()[:16]


def hashed_annotator(secret: bytes, platform: str, annotator: str) -> str:
    """Return the stored name of an annotator: 24 hex digits, after `SIMULATED` if simulated."""
    text = f"{platform}:{annotator}".encode(errors="surrogatepass")
    digest = hmac.new(secret, text, hashlib.sha256).hexdigest()[:24]
    return SIMULATED + digest if annotator.startswith(SIMULATED) else digest


def counted_annotators(answers: Iterable[Answer]) -> str:
    """The number of annotators: ``3 annotators``, ``25 simulated annotators``, or both."""
    names = {answer.annotator for answer in answers}
    simulated = sum(name.startswith(SIMULATED) for name in names)
    counts = ((len(names) - simulated, ""), (simulated, "simulated "))
    return " and ".join(
        f"{number:,} {kind}annotator{'s' * (number != 1)}" for number, kind in counts if number
    )


def stored_answers(lake: str) -> list[Answer]:
    """Return every answer in ``adept_annotations``, in an order independent of the files."""
    if arrow.version(lake, "adept_annotations") is None:
        return []
    columns = [name for name in Answer._fields if name != "export"]
    rows = arrow.read(lake, "adept_annotations", columns=columns)
    exports = _exports(lake)
    answers = [Answer(**row, export=exports.get(row["batch"], 0)) for row in rows.to_pylist()]
    return sorted(answers, key=lambda a: (a.item_id, a.annotator, a.batch, a.page))


def stored_labels(lake: str) -> dict[StoredAnswer, int]:
    """Return the label of each stored answer."""
    return {stored_key(answer.annotator, answer): answer.label for answer in stored_answers(lake)}


def stored_key(annotator: str, question: Question | Answer) -> StoredAnswer:
    """Return what identifies an annotator's answer to a question in the table."""
    return (annotator, *(getattr(question, name) for name in STORED_ANSWER[1:]))


def _exports(lake: str) -> dict[str, int]:
    """The position of each batch in the order of exports.

    A file is named by the time of its writing, and compaction keeps the order of a round's rows.
    Pilots take items that are in no batch, so they come before any other batch of their items.
    """
    if arrow.version(lake, "adept_batches") is None:
        return {}
    fragments = arrow.dataset(lake, "adept_batches").get_fragments()
    positions: dict[str, int] = {}
    for file in sorted(fragments, key=lambda f: ("/round=pilot/" not in f.path, f.path)):
        for batch in file.to_table(columns=["batch"])["batch"].to_pylist():
            positions.setdefault(batch, len(positions))
    return positions


def detect(path: Path) -> str:
    """Detect the platform of a file of answers or of a batch from its content.

    Raises:
        UserError: the file does not exist or has none of the three formats.
    """
    text = text_of(path, f"batch={path}")
    if text.lstrip()[:1] in ("[", "{"):
        return "label_studio"
    lines = csv.reader(StringIO(text[:_HEADER], newline=""), delimiter=delimiter_of(text))
    header = set(next(lines, []))
    if {"question_id", "label"} <= header:
        return "csv"
    if {"WorkerId", "Input.question_1"} <= header or "question_1" in header:
        return "mturk"
    raise UserError(
        f"batch={path}: unknown format; expected Mechanical Turk's results (columns WorkerId, "
        "Input.question_1, …), Label Studio's JSON, or the CSV of format=csv with annotator and "
        f"label filled in; got columns {', '.join(sorted(header)) or 'none'}"
    )


def read_sent(path: Path, platform: str | None = None, annotator: str | None = None) -> Read:
    """Read the answers in a file. `annotator` names who gave them if the file does not.

    Raises:
        UserError: the file does not exist, has another format, or has lines that cannot be read.
    """
    if platform is not None and platform not in PLATFORMS:
        raise UserError(f"format={platform}: expected one of {', '.join(PLATFORMS)}")
    read = Read(platform or detect(path))
    text = text_of(path, f"batch={path}")
    if read.platform == "label_studio":
        _label_studio(read, path, text)
    elif read.platform == "mturk":
        _mturk(read, path, text)
    else:
        _plain_csv(read, path, text, annotator)
    _refuse(path, read.faults)
    if not read.answers and not read.withdrawn:
        raise UserError(f"batch={path}: no answers in it; expected a file that annotators filled")
    return read


def match(
    path: Path,
    read_answers: Read,
    questions: Mapping[str, Question],
    known_labels: Mapping[StoredAnswer, int],
    secret: bytes,
) -> tuple[list[dict[str, Any]], int]:
    """Return new answers as rows of ``adept_annotations``, and the number of those already stored.

    `questions` are those of the lake, by id; `known_labels` the table's.

    Raises:
        UserError: there are unknown questions, invalid labels, second answers of an annotator to a
            question, or answers that differ from the stored ones; reported by line.
    """
    faults: list[str] = []
    rows: list[dict[str, Any]] = []
    first_sent: dict[tuple[str, str], Sent] = {}
    known_answers = 0
    for sent in read_answers.answers:
        question = questions.get(sent.question_id)
        if question is None:
            faults.append(
                f"line {sent.line}: question {sent.question_id!r} is in no batch that was exported "
                "from this lake"
            )
            continue
        label = _code(sent.label, options(question.round))
        if label is None:
            faults.append(
                f"line {sent.line}: label {sent.label!r}; expected 0 to 4 or one of "
                f"{', '.join(options(question.round))}"
            )
            continue
        annotator = hashed_annotator(secret, read_answers.platform, sent.annotator)
        first = first_sent.setdefault((annotator, sent.question_id), sent)
        if first is not sent:
            faults.append(
                f"line {sent.line}: a second answer to question {sent.question_id}, by the same "
                f"annotator as on line {first.line}"
            )
            continue
        earlier_label = known_labels.get(stored_key(annotator, question))
        if earlier_label is not None:
            known_answers += 1
            if earlier_label != label:
                faults.append(
                    f"line {sent.line}: question {sent.question_id} was answered "
                    f"{earlier_label} by the same annotator in an earlier import, {label} here"
                )
            continue
        answer = {"annotator": annotator, "label": label, "seconds": sent.seconds}
        of_question = {name: getattr(question, name) for name in _OF_QUESTION}
        rows.append({**answer, "platform": read_answers.platform, **of_question})
    _refuse(path, faults)
    return rows, known_answers


def withdrawn_answers(
    read_answers: Read,
    questions: Mapping[str, Question],
    known_labels: Mapping[StoredAnswer, int],
    secret: bytes,
) -> dict[StoredAnswer, str]:
    """Return the stored answers on pages that have been rejected since, each with its round.

    An annotator's question that the file also has an answer to is not withdrawn.
    """
    answered = {(sent.annotator, sent.question_id) for sent in read_answers.answers}
    rounds = {}
    for annotator, question_id in read_answers.withdrawn - answered:
        if question := questions.get(question_id):
            name = hashed_annotator(secret, read_answers.platform, annotator)
            rounds[stored_key(name, question)] = question.round
    return {answer: round for answer, round in rounds.items() if answer in known_labels}


def _refuse(path: Path, faults: Sequence[str]) -> None:
    if faults:
        more = f"; and {len(faults) - _FAULTS_NAMED} more" if len(faults) > _FAULTS_NAMED else ""
        raise UserError(f"{path}: {'; '.join(faults[:_FAULTS_NAMED])}{more}; nothing was imported")


def _code(text: str, names: Sequence[str]) -> int | None:
    """Return the code of a label given as a code or a name."""
    text = text.strip().lower().removesuffix(".0")  # pandas writes 2.0 if a label is missing
    if text.isascii() and text.isdigit() and int(text) < len(names):
        return int(text)
    return names.index(text) if text in names else None


def _seconds(text: str | None) -> float | None:
    """Parse a time in seconds; None if it is missing or not readable."""
    try:
        seconds = float(text or "")
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _mturk(read: Read, path: Path, text: str) -> None:
    """Read Mechanical Turk's results: one line per assignment, inputs and answers side by side."""
    for line, row in rows_of(
        text, f"batch={path}", ("WorkerId", "Input.question_1", "AssignmentStatus")
    ):
        numbers = [
            key.rsplit("_", 1)[1]
            for key, question_id in row.items()
            if key.startswith("Input.question_") and question_id
        ]
        status, worker = row["AssignmentStatus"].strip().lower(), row["WorkerId"].strip()
        # The column Reject has the reasons of a review that is about to be uploaded.
        if status == "rejected" or (status == "submitted" and row.get("Reject", "").strip()):
            read.reject_page(worker, [row[f"Input.question_{n}"] for n in numbers])
            continue
        if not worker:
            read.faults.append(f"line {line}: no WorkerId")
            continue
        questions = [
            (row[f"Input.question_{n}"], _mturk_label(row, f"Answer.label_{n}"), f"question {n}")
            for n in numbers
        ]
        seconds = _seconds(row.get("WorkTimeInSeconds"))
        read.add_page(line, worker, questions, seconds)


def _mturk_label(row: Mapping[str, str], column: str) -> list[str]:
    """Return the chosen options, from a column of values or one true/false column per option."""
    if row.get(column):
        return [row[column]]
    prefix = f"{column}."
    return [
        key.removeprefix(prefix)
        for key, value in row.items()
        if key.startswith(prefix) and value.strip().lower() == "true"
    ]


def _plain_csv(read: Read, path: Path, text: str, annotator: str | None) -> None:
    """Read a filled-in CSV of `etl.annotation.forms`."""
    for line, row in rows_of(text, f"batch={path}", ("question_id", "annotator", "label")):
        if not row["label"].strip():
            read.unanswered += 1
            continue
        who = row["annotator"].strip() or annotator
        if not who:
            read.faults.append(
                f"line {line}: no annotator; fill in the column, or give annotator=NAME"
            )
            continue
        seconds = _seconds(row.get("seconds"))
        read.answers.append(Sent(row["question_id"].strip(), who, row["label"], seconds, line))


def _label_studio(read: Read, path: Path, text: str) -> None:
    """Read Label Studio's JSON: a list of tasks, each with its annotations."""
    for line, task in _tasks(path, text):
        data = task.get("data") if isinstance(task, dict) else None
        if not isinstance(data, dict) or "question_1" not in data:
            read.faults.append(f"line {line}: not a task of a batch")
            continue
        for annotation in task.get("annotations") or []:
            if not isinstance(annotation, dict):
                read.faults.append(f"line {line}: annotations are numbers; export with annotations")
                continue
            annotator = annotation.get("completed_by")
            if isinstance(annotator, dict):
                # Some versions have an object for the person, not only the number.
                identifier = annotator.get("id")
                annotator = annotator.get("email") if identifier is None else identifier
            keys = [key for key in data if key.startswith("question_")]
            if annotation.get("was_cancelled"):
                read.reject_page(str(annotator), [str(data[key]) for key in keys])
                continue
            if annotator is None:
                read.faults.append(f"line {line}: an annotation without completed_by")
                continue
            labels_by_field: dict[str, list[str]] = {}
            for result in annotation.get("result") or []:
                value = result.get("value") if isinstance(result, dict) else None
                # Other controls (such as a comment) have no choices.
                choices = value.get("choices", []) if isinstance(value, dict) else None
                if not isinstance(choices, list):
                    read.faults.append(f"line {line}: not a result of Label Studio")
                    continue
                labels_by_field.setdefault(str(result.get("from_name")), []).extend(
                    str(choice) for choice in choices
                )
            questions = [
                (str(data[key]), labels_by_field.get(f"label_{key.rsplit('_', 1)[1]}", []), key)
                for key in keys
            ]
            seconds = _seconds(str(annotation.get("lead_time")))
            read.add_page(line, str(annotator), questions, seconds)


def _tasks(path: Path, text: str) -> Iterator[tuple[int, Any]]:
    """Yield the members of a JSON list, each with its first line."""
    decoder = json.JSONDecoder()
    position = text.find("[") + 1
    if not position or text[: position - 1].strip():
        raise UserError(f"batch={path}: expected a JSON list of tasks, as Label Studio exports it")
    line, line_position = 1, 0
    while True:
        while position < len(text) and text[position] in " \t\r\n,":
            position += 1
        if text[position : position + 1] == "]":
            return
        line += text.count("\n", line_position, position)
        line_position = position
        try:
            task, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            raise UserError(f"batch={path}: line {error.lineno}: no JSON ({error.msg})") from error
        except (ValueError, RecursionError) as error:
            message = f"batch={path}: line {line}: not a task of a batch ({error})"
            raise UserError(message) from error
        yield line, task
