"""Simulated annotators (careful, noisy and spamming), for tests and for planning a round.

Every item has a true label, drawn by its id with the shares of the published labels. A careful
annotator finds it nine times in ten and mostly misses by one degree, as people do; a noisy one is
right two times in three. Spammers do not read: half of them always answer "equally likely", the
most frequent label, and the other half answer at random. The numbers are assumptions, not
measurements. Their ids begin with `etl.annotation.keys.SIMULATED`, in the files and in the lake.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from adnominal.conf import UserError
from adnominal.etl.annotation.batches import Question
from adnominal.etl.annotation.forms import page_fields
from adnominal.etl.annotation.keys import SIMULATED
from adnominal.etl.annotation.task import AnnotationTask
from adnominal.etl.draws import fraction, rank


@dataclass(frozen=True)
class Annotator:
    """A simulated annotator.

    accuracy   share of items with the true label
    near       share of the other answers that are one degree off
    attention  share of attention checks that are read
    always     the only label given, for one kind of spammer
    """

    name: str
    accuracy: float
    near: float
    attention: float
    always: int | None = None


def annotators(careful: int, noisy: int, spammers: int) -> list[Annotator]:
    """Return annotators of each kind; every second spammer always gives the same answer."""
    people = [Annotator(f"careful{number}", 0.90, 0.9, 0.995) for number in range(careful)]
    people += [Annotator(f"noisy{number}", 0.65, 0.7, 0.97) for number in range(noisy)]
    for number in range(spammers):
        always = 2 if number % 2 == 0 else None
        people.append(Annotator(f"spammer{number}", 0.2, 0.4, 0.2, always))
    return people


def true_label(task: AnnotationTask, seed: int, item_id: str) -> int:
    """The true label of an item in the simulation."""
    remaining = fraction(seed, "truth", item_id)
    for label, share in enumerate(task.label_shares):
        remaining -= share
        if remaining < 0:
            return label
    return len(task.label_shares) - 1


def answer(task: AnnotationTask, seed: int, person: Annotator, question: Question) -> int:
    """The person's answer; the finding on an audited item is drawn, as none is true."""
    labels = len(task.labels)
    if person.always is not None:
        return min(person.always, labels - 1)
    key = (person.name, question.question_id)
    if question.kind == "attention":
        expected = question.expected or 0
        if fraction(seed, "reads", *key) < person.attention:
            return expected
        return _other_label(seed, key, expected, labels)
    truth = true_label(task, seed, question.item_id)
    if question.kind == "gold" and question.expected is not None:
        truth = question.expected
    if fraction(seed, "right", *key) < person.accuracy:
        return truth
    if fraction(seed, "near", *key) < person.near:
        near = [label for label in (truth - 1, truth + 1) if 0 <= label < labels]
        place = rank(seed, "which", *key) % len(near)
        return near[place]
    return _other_label(seed, key, truth, labels)


def _other_label(seed: int, key: tuple[str, str], label: int, labels: int) -> int:
    """Draw one of the other labels."""
    others = labels - 1
    step = 1 + rank(seed, "other", *key) % others
    return (label + step) % labels


def simulated_rows(
    task: AnnotationTask,
    pages: Iterable[Sequence[Question]],
    people: Sequence[Annotator],
    answers: int,
    seed: int,
) -> list[dict[str, Any]]:
    """The lines of a filled-in CSV, in which `answers` people, drawn by the seed, answer each page.

    Raises:
        UserError: there are fewer people than answers per page.
    """
    if len(people) < answers:
        raise UserError(
            f"answers={answers}: {len(people)} annotators; expected at least one for each answer "
            "to a page"
        )
    rows = []
    for page in pages:
        name = page[0].page
        order = sorted(people, key=lambda p: (rank(seed, "takes", name, p.name), p.name))
        for person in order[:answers]:
            row: dict[str, Any] = {**page_fields(task, page, as_html=False)}
            for number, question in enumerate(page, 1):
                row[f"label_{number}"] = answer(task, seed, person, question)
            row["annotator"] = f"{SIMULATED}{person.name}"
            row["seconds"] = 15 * len(page)
            rows.append(row)
    return rows
