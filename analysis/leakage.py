"""What a split that shares words between training and test is worth: leak-free against published.

ADEPT's published split is random over instances and shares 890 of its 1,002 test nouns with
training; PLANE's shares hypernyms, against the paper's text; most adjectives of ASP's published
entailment rows are trained on. Either the rows of one test set are parted by what training had
seen of them (`seen_rows`), or one model's accuracies on two splits are compared (`split_rows`).
These are other items, so the difference is an unpaired one (`analysis.unpaired`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from analysis.slices import seen, words
from analysis.unpaired import clustered, difference
from conf import UserError
from etl.lake import arrow

_TABLE = pa.schema(
    [
        ("dataset", pa.string()),
        ("model", pa.string()),
        ("leaking", pa.string()),
        ("leaking_rows", pa.int64()),
        ("leaking_majority", pa.float64()),
        ("leaking_accuracy", pa.float64()),
        ("leak_free", pa.string()),
        ("leak_free_rows", pa.int64()),
        ("leak_free_majority", pa.float64()),
        ("leak_free_accuracy", pa.float64()),
        ("difference", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
    ]
)


@dataclass(frozen=True)
class Answers:
    """What a model answered, one value a row; rows of several runs stand one after the other.

    `groups` names what was drawn as a whole (a noun, an adjective, a premise), whose rows are not
    independent; the rows that several runs give an item belong to one group as well.
    """

    gold: Sequence[str]
    predicted: Sequence[str]
    groups: Sequence[str]

    def __post_init__(self) -> None:
        if not len(self.gold) == len(self.predicted) == len(self.groups):
            raise ValueError(
                f"{len(self.gold)} gold labels, {len(self.predicted)} answers, "
                f"{len(self.groups)} groups"
            )

    def __len__(self) -> int:
        return len(self.gold)

    def take(self, rows: Sequence[int]) -> Answers:
        """These rows."""
        return Answers(
            [self.gold[at] for at in rows],
            [self.predicted[at] for at in rows],
            [self.groups[at] for at in rows],
        )


Row = Mapping[str, object]


def split_rows(
    dataset: str, model: str, leaking: tuple[str, Answers], leak_free: tuple[str, Answers]
) -> Row:
    """One model's accuracy on the test rows of two splits, each by its name; a row of `table`.

    Accuracies have the majority's beside them: splits differ in their labels too.

    Raises:
        ValueError: a split without answers.
    """
    found: dict[str, object] = {"dataset": dataset, "model": model}
    shares = []
    for column, (name, own) in zip(("leaking", "leak_free"), (leaking, leak_free), strict=True):
        right = [float(a == b) for a, b in zip(own.gold, own.predicted, strict=True)]
        share = clustered(right, own.groups)
        shares.append(share)
        found |= {
            column: name,
            f"{column}_rows": len(own),
            f"{column}_majority": max(Counter(own.gold).values()) / len(own),
            f"{column}_accuracy": share.estimate,
        }
    apart = difference(*shares)
    return {**found, "difference": apart.estimate, "low": apart.low, "high": apart.high}


def seen_rows(
    dataset: str,
    model: str,
    answers: Answers,
    parted: Mapping[str, Sequence[str | None]],
) -> list[Row]:
    """One model's answers to a test set, parted by what training had seen; rows of `table`.

    `parted` says of each row ``seen`` or ``unseen`` (`analysis.slices.seen`), by the name of what
    is seen. Names of which one side has no rows are left out.
    """
    found = []
    for name, sides in parted.items():
        members = {
            side: [at for at, own in enumerate(sides) if own == side] for side in ("seen", "unseen")
        }
        if all(members.values()):
            one, two = ((f"{side} {name}", answers.take(rows)) for side, rows in members.items())
            found.append(split_rows(dataset, model, one, two))
    return found


def table(rows: Sequence[Row]) -> pa.Table:
    """The rows as a table: names, rows, majority and accuracy of the leaking and of the leak-free
    side, and the difference, leaking less leak-free, with its interval (95 %)."""
    return pa.Table.from_pylist(rows, _TABLE)


def trained_words(
    lake: str, name: str, edition: str, scheme: str, fold: str = ""
) -> dict[str, set[str]]:
    """The words of a split's training rows: adjective, noun, pair (both), and PLANE's hypernym.

    `name` is ``adept`` (scheme: random, noun_disjoint, adjective_disjoint) or ``plane_items``
    (scheme and fold of plane_splits).

    Raises:
        UserError: no training rows.
    """
    if name == "adept":
        where = [("edition", "=", edition), (f"split_{scheme}", "=", "train")]
        ids = arrow.read(lake, "adept", where=where, columns=["item_id"])
    else:
        of = {"edition": edition, "scheme": scheme, "fold": fold, "part": "train"}
        where = [(column, "=", value) for column, value in of.items()]
        ids = arrow.read(lake, "plane_splits", where=where, columns=["item_id"])
    if not ids.num_rows:
        raise UserError(
            f"edition={edition} scheme={scheme} fold={fold}: no training rows of {name} in {lake}"
        )
    found = words(lake, name, edition, pc.unique(ids.column("item_id")).to_pylist())
    return {own: set(column) for own, column in word_columns(found).items()}


def word_columns(found: pa.Table) -> dict[str, list[str]]:
    """The words of items, lower-cased, as `parted` compares them: those of `trained_words`."""
    columns = {
        column: [str(word).lower() for word in found.column(column).to_pylist()]
        for column in ("adjective", "noun", "hypernym")
        if column in found.column_names
    }
    pairs = zip(columns["adjective"], columns["noun"], strict=True)
    return {**columns, "pair": [f"{adjective} {noun}" for adjective, noun in pairs]}


def parted(
    found: Mapping[str, Sequence[str]], trained: Mapping[str, set[str]]
) -> dict[str, list[str | None]]:
    """Whether each word of the items is among those of training: `seen_rows` takes it."""
    return {name: seen(column, trained[name]) for name, column in found.items()}
