"""Which items a batch asks about."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from adnominal.conf import UserError
from adnominal.etl.adept.annotation_task import ADEPT
from adnominal.etl.annotation.answers import stored_answers
from adnominal.etl.annotation.batches import Question, ShownItem, gold_labels
from adnominal.etl.annotation.quality import LABELLING
from adnominal.etl.annotation.settings import ExportSettings
from adnominal.etl.annotation.task import AnnotationTask
from adnominal.etl.draws import rank
from adnominal.etl.lake import arrow

# The columns of adept_items under their names in the table adept.
_DATASET_NAMES = {
    "item_id": "item_id",
    "sentence": "sentence1",
    "modified_sentence": "sentence2",
    "adjective": "modifier",
    "noun": "noun",
}
_EXTREMES = (0, len(ADEPT.labels) - 1)  # the labels that are audited (section 4.2)
_SMALL_ROUND = 100  # items of all rounds but main (sections 4.2 and 5.2)


def select_items(settings: ExportSettings, questions: Sequence[Question]) -> list[ShownItem]:
    """The items to ask about: the requested number of those that no batch of such a round has.

    `questions` are all that were asked. Items are drawn by the seed.

    Raises:
        UserError: too few items are left.
    """
    rows = _rows_of_round(settings)
    rows.sort(key=lambda row: rank(settings.seed, "sample", settings.round, row["item_id"]))
    if settings.round == "audit":
        rows = _alternate(rows)
    left = unasked_rows(rows, settings, questions)
    default = len(left) if settings.round == "main" else _SMALL_ROUND
    return [_shown_item(row, settings) for row in left[: settings.items or default]]


def unasked_rows(
    rows: list[dict[str, Any]], settings: ExportSettings, questions: Sequence[Question]
) -> list[dict[str, Any]]:
    """The rows that no batch of such a round has.

    Raises:
        UserError: too few are left.
    """
    rounds = LABELLING if settings.round in LABELLING else (settings.round,)
    of_rounds = [question for question in questions if question.round in rounds]
    asked = {question.item_id for question in of_rounds if question.kind == "item"}
    left = [row for row in rows if row["item_id"] not in asked]
    size = len(left)
    expected = settings.items or 1
    if size < expected:
        asked_before = len(rows) - size
        raise UserError(
            f"round={settings.round} edition={settings.edition}: {size} of {len(rows)} "
            f"suitable items are left ({asked_before} are already in batches); "
            f"expected {settings.items or 'one or more'}"
        )
    return left


def _rows_of_round(settings: ExportSettings) -> list[dict[str, Any]]:
    """The rows that fit the round, with the names of the table adept."""
    if settings.round in LABELLING:
        return chosen_variants(settings.lake, settings.edition)
    columns = [*_DATASET_NAMES.values(), "label", "split_random"]
    rows = edition_rows(settings.lake, "adept", settings.edition, columns)
    if settings.round == "human":
        return [row for row in rows if row["split_random"] == "val"]
    if settings.round == "audit":
        return [row for row in rows if row["label"] in _EXTREMES]
    return rows


def chosen_variants(lake: str, edition: str) -> list[dict[str, Any]]:
    """The variants of an edition that are to be labelled, with the names of the table adept.

    Raises:
        UserError: there is no such edition.
    """
    items = edition_rows(lake, "adept_items", edition, [*_DATASET_NAMES, "chosen"])
    chosen = [item for item in items if item["chosen"]]
    return [{name: item[column] for column, name in _DATASET_NAMES.items()} for item in chosen]


def _alternate(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of both extreme labels in turn, because these are far from equally frequent."""
    lowest, highest = ([row for row in rows if row["label"] == label] for label in _EXTREMES)
    alternating = []
    for pair in zip_longest(lowest, highest):
        alternating += [row for row in pair if row is not None]
    return alternating


def _shown_item(row: dict[str, Any], settings: ExportSettings) -> ShownItem:
    """An item as annotators see it.

    In section 5.2, the human baseline without context saw only the noun and the modifier.
    """
    texts = (row["sentence1"], row["sentence2"])
    if settings.condition == "no_context":
        texts = (row["noun"], f"{row['modifier']} {row['noun']}")
    expected = row["label"] if settings.round == "audit" else None
    return ShownItem(row["item_id"], *texts, expected)


def select_gold(
    settings: ExportSettings, questions: Sequence[Question], task: AnnotationTask = ADEPT
) -> list[ShownItem]:
    """The gold items, with the sentences shown in the pilot."""
    answers = stored_answers(settings.lake, task.annotations)
    labels = gold_labels(answers)
    pilot = [q for q in questions if q.round == "pilot" and q.kind == "item"]
    return [
        ShownItem(q.item_id, q.sentence1, q.sentence2, labels[q.item_id])
        for q in pilot
        if q.item_id in labels
    ]


def edition_rows(lake: str, name: str, edition: str, columns: list[str]) -> list[dict[str, Any]]:
    """The rows of an edition in the order of their ids.

    Raises:
        UserError: the table has no such edition.
    """
    rows = arrow.read(lake, name, where=[("edition", "=", edition)], columns=columns)
    if not rows.num_rows:
        editions = arrow.partition_values(lake, name, "edition")
        raise UserError(
            f"edition={edition}: not in {name} of lake={lake}; expected one of "
            f"{', '.join(editions) or 'none'}"
        )
    members: list[dict[str, Any]] = rows.sort_by("item_id").to_pylist()
    return members
