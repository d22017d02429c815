"""Simulated annotators (careful, noisy and spamming), for tests and for planning a round.

Every item has a true label, drawn by its id with the shares of the published labels. A careful
annotator finds it nine times in ten and mostly misses by one degree, as people do; a noisy one is
right two times in three. Spammers do not read: half of them always answer "equally likely", the
most frequent label, and the other half answer at random. The numbers are assumptions, not
measurements. Their ids begin with `etl.annotation.answers.SIMULATED`, in the files and in the lake.
"""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adnominal.conf import UserError
from adnominal.etl.adept import LABELS
from adnominal.etl.annotation.answers import SIMULATED
from adnominal.etl.annotation.batches import Question
from adnominal.etl.annotation.forms import CSV_COLUMNS, csv_text
from adnominal.etl.draws import fraction, rank

# Shares of the published labels, 0 to 4 (table 4).
_SHARES = (0.14, 0.12, 0.67, 0.06, 0.01)


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
    return [
        *(Annotator(f"careful{number}", 0.90, 0.9, 0.995) for number in range(careful)),
        *(Annotator(f"noisy{number}", 0.65, 0.7, 0.97) for number in range(noisy)),
        *(
            Annotator(f"spammer{number}", 0.2, 0.4, 0.2, None if number % 2 else 2)
            for number in range(spammers)
        ),
    ]


def true_label(seed: int, item_id: str) -> int:
    """Return the true label of an item in the simulation."""
    remaining = fraction(seed, "truth", item_id)
    for label, share in enumerate(_SHARES):
        remaining -= share
        if remaining < 0:
            return label
    return len(_SHARES) - 1


def answer(seed: int, person: Annotator, question: Question) -> int:
    """Return the person's answer; the finding on an audited item is drawn, as none is true."""
    if person.always is not None:
        return person.always
    key = (person.name, question.question_id)
    if question.kind == "attention":
        right = fraction(seed, "reads", *key) < person.attention
        expected = question.expected or 0
        return expected if right else _other_label(seed, key, expected)
    truth = true_label(seed, question.item_id)
    if question.kind == "gold" and question.expected is not None:
        truth = question.expected
    if fraction(seed, "right", *key) < person.accuracy:
        return truth
    near = [label for label in (truth - 1, truth + 1) if 0 <= label < len(LABELS)]
    if fraction(seed, "near", *key) < person.near:
        return near[rank(seed, "which", *key) % len(near)]
    return _other_label(seed, key, truth)


def _other_label(seed: int, key: tuple[str, str], label: int) -> int:
    """Draw one of the four other labels."""
    return (label + 1 + rank(seed, "other", *key) % (len(LABELS) - 1)) % len(LABELS)


def simulated(
    pages: Sequence[Sequence[Question]], people: Sequence[Annotator], answers: int, seed: int
) -> dict[str, list[tuple[Annotator, list[int]]]]:
    """For each page, draw `answers` people by the seed and return their answers.

    Raises:
        UserError: there are fewer people than answers per page.
    """
    if len(people) < answers or answers < 1:
        raise UserError(
            f"answers={answers}: {len(people)} annotators; expected at least one for each answer "
            "to a page"
        )
    answers_of_page: dict[str, list[tuple[Annotator, list[int]]]] = {}
    for page in pages:
        name = page[0].page
        order = sorted(people, key=lambda p: (rank(seed, "takes", name, p.name), p.name))
        answers_of_page[name] = [(p, [answer(seed, p, q) for q in page]) for p in order[:answers]]
    return answers_of_page


_Simulated = Mapping[str, Sequence[tuple[Annotator, Sequence[int]]]]


def page_names(platform: str, text: str) -> list[str]:
    """Return the pages in a batch's file, in its order."""
    if platform == "label_studio":
        return [task["data"]["page"] for task in json.loads(text)]
    rows = csv.DictReader(io.StringIO(text, newline=""))
    return list(dict.fromkeys(row["page"] for row in rows))


def filled_file(platform: str, text: str, answers: _Simulated) -> str:
    """Return the text of a batch's file with the answers, as the platform would return it."""
    writers = {"mturk": _mturk, "label_studio": _label_studio, "csv": _plain_csv}
    return writers[platform](text, answers)


def _mturk(text: str, answers: _Simulated) -> str:
    rows = []
    for inputs in csv.DictReader(io.StringIO(text, newline="")):
        for person, labels in answers[inputs["page"]]:
            row: dict[str, Any] = {
                "HITId": f"hit-{inputs['page']}",
                "AssignmentId": f"{inputs['page']}-{person.name}",
                "WorkerId": f"{SIMULATED}{person.name}",
                "AssignmentStatus": "Approved",
                "WorkTimeInSeconds": 15 * len(labels),
            }
            row |= {f"Input.{key}": value for key, value in inputs.items()}
            for at, label in enumerate(labels, 1):
                # As Mechanical Turk's own form elements do: one column for each option.
                row |= {
                    f"Answer.label_{at}.{code}": str(code == label).lower()
                    for code in range(len(LABELS))
                }
            rows.append(row)
    return csv_text(list(rows[0]), rows)


def _label_studio(text: str, answers: _Simulated) -> str:
    tasks = []
    for number, task in enumerate(json.loads(text), 1):
        results = [
            {
                "completed_by": {"email": f"{SIMULATED}{person.name}@example.org"},
                "was_cancelled": False,
                "lead_time": 15.0 * len(labels),
                "result": [
                    {
                        "from_name": f"label_{at}",
                        "to_name": f"modified_{at}",
                        "type": "choices",
                        "value": {"choices": [str(label)]},
                    }
                    for at, label in enumerate(labels, 1)
                ],
            }
            for person, labels in answers[task["data"]["page"]]
        ]
        tasks.append({"id": number, "data": task["data"], "annotations": results})
    return json.dumps(tasks, ensure_ascii=False, indent=1) + "\n"


def _plain_csv(text: str, answers: _Simulated) -> str:
    rows = []
    places: dict[str, int] = {}
    for row in csv.DictReader(io.StringIO(text, newline="")):
        at = places.get(row["page"], 0)
        places[row["page"]] = at + 1
        for person, labels in answers[row["page"]]:
            name, label = f"{SIMULATED}{person.name}", str(labels[at])
            rows.append({**row, "annotator": name, "label": label, "seconds": "15"})
    return csv_text(CSV_COLUMNS, rows)
