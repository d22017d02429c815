"""Batches: the questions of each page, with checks mixed in among the items.

A page has four questions (section 4.1, table 3). Gold items are those on which the four annotators
of a pilot agreed; attention checks name the label to choose. A share of the pages has one of each,
at a position drawn by the seed, so that neither position nor number reveals a check. Exported files
identify questions by hashes; their meaning stays in the table adept_batches.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import NamedTuple

from adnominal.conf import UserError
from adnominal.etl.adept import LABELS
from adnominal.etl.annotation.quality import Answer, Rules, failed_attention, majority
from adnominal.etl.draws import content_hash, fraction, rank

ROUNDS = ("pilot", "main", "expert", "human", "audit")
CONDITIONS = ("context", "no_context")
PLATFORMS = ("mturk", "label_studio", "csv")
# The findings of section 4.2 about the labels impossible and necessarily true, in that order.
AUDIT = ("clear case", "already so", "another sense", "not well formed", "not so")


class ShownItem(NamedTuple):
    """An item as annotators see it; `expected` is a gold label or the label to be audited."""

    item_id: str
    sentence1: str
    sentence2: str
    expected: int | None = None


@dataclass(frozen=True)
class Question:
    """A row of table ``adept_batches``."""

    question_id: str
    batch: str
    page: str
    place: int
    kind: str
    item_id: str
    expected: int | None
    sentence1: str
    sentence2: str
    round: str
    condition: str
    platform: str
    edition: str


@dataclass(frozen=True)
class Batch:
    """Properties shared by the questions of a batch, and the layout of its pages.

    `gold` and `attention` are the shares of pages with such a check.
    """

    name: str
    round: str
    platform: str
    edition: str
    condition: str = "context"
    per_page: int = 4
    gold: float = 0.0
    attention: float = 0.0
    seed: int = 0


def options(round: str) -> tuple[str, ...]:
    """Return the five possible answers in the order of their codes: labels or audit findings."""
    return AUDIT if round == "audit" else LABELS


def shown_item(
    item_id: str, sentence1: str, sentence2: str, modifier: str, noun: str, condition: str
) -> ShownItem:
    """Return the item with its sentences or, without context, with noun and adjective–noun pair.

    In section 5.2, the human baseline without context saw only the noun and the modifier.
    """
    if condition == "no_context":
        return ShownItem(item_id, noun, f"{modifier} {noun}")
    return ShownItem(item_id, sentence1, sentence2)


def gold_labels(answers: Sequence[Answer], min_alike: int = 4) -> dict[str, int]:
    """Return pilot items to which all annotators, `min_alike` or more, gave the same label.

    Annotators who failed an attention check do not count.
    """
    out = failed_attention(answers, Rules())
    codes: defaultdict[str, list[int]] = defaultdict(list)
    for answer in answers:
        where = (answer.round, answer.kind, answer.condition)
        if where == ("pilot", "item", "context") and answer.annotator not in out:
            codes[answer.item_id].append(answer.label)
    labels = {item: majority(codes_of_item, min_alike) for item, codes_of_item in codes.items()}
    return {
        item: decided.label for item, decided in labels.items() if decided and decided.unanimous
    }


def compose(
    batch: Batch, items: Iterable[ShownItem], gold: Iterable[ShownItem] = ()
) -> list[Question]:
    """Compose the questions of a batch, page by page: every item once, `gold` items in turn.

    The last page is filled up with attention checks. The result depends only on the seed and the
    items, not on their order.

    Raises:
        UserError: there are no items, checks leave no room for them, or gold items are missing.
    """
    unplaced = sorted(items, key=lambda i: (rank(batch.seed, "order", i.item_id), i))
    asked_ids = {item.item_id for item in unplaced}  # nobody is asked about one item twice
    pool = sorted(
        (item for item in gold if item.item_id not in asked_ids),
        key=lambda i: (rank(batch.seed, "gold", batch.name, i.item_id), i),
    )
    if not unplaced:
        raise UserError(f"batch {batch.name}: no items; expected one or more")
    if batch.gold + batch.attention >= batch.per_page:
        raise UserError(
            f"gold={batch.gold:g} attention={batch.attention:g} with per_page={batch.per_page}: no "
            "room for items; expected fewer checks or longer pages"
        )
    if batch.gold and not pool:
        raise UserError(
            f"gold={batch.gold:g}: no gold items outside of the batch; expected answers of a pilot "
            "that four annotators agree on (export round=pilot, then import), or gold=0"
        )
    questions: list[Question] = []
    next_gold = cycle(pool)
    number = 0
    while unplaced:
        golds = _on_page(batch, "gold", batch.gold, number)
        page = [("gold", next(next_gold)) for _ in range(golds)]
        page += [
            ("attention", _attention(batch, number, at))
            for at in range(_on_page(batch, "attention", batch.attention, number))
        ]
        room = batch.per_page - len(page)
        page += [("item", item) for item in unplaced[:room]]
        unplaced = unplaced[room:]
        page += [
            ("attention", _attention(batch, number, at)) for at in range(len(page), batch.per_page)
        ]
        number += 1
        name = f"{batch.name}-{number:05d}"
        page.sort(key=lambda placed: (rank(batch.seed, "place", name, placed[1].item_id), placed))
        questions += [_question(batch, name, at, *placed) for at, placed in enumerate(page, 1)]
    return questions


def _on_page(batch: Batch, kind: str, share: float, page: int) -> int:
    """Return the number of checks on page `page`: the first n pages have n times `share`."""
    start = fraction(batch.seed, "start", batch.name, kind)
    return math.floor(start + (page + 1) * share) - math.floor(start + page * share)


def _attention(batch: Batch, page: int, number: int) -> ShownItem:
    expected = rank(batch.seed, "attention", batch.name, page, number) % len(LABELS)
    return ShownItem(
        content_hash("attention", batch.name, page, number),
        "This question checks that the statements are read.",
        f"Please choose “{options(batch.round)[expected]}” here.",
        expected,
    )


def _question(batch: Batch, page: str, place: int, kind: str, item: ShownItem) -> Question:
    key = ("question", batch.name, batch.seed, page, place, item.item_id)
    shared = ("round", "condition", "platform", "edition")
    return Question(
        question_id=f"q{content_hash(*key)[:15]}",  # spreadsheets would rewrite 85677167023656e9
        batch=batch.name,
        page=page,
        place=place,
        kind=kind,
        **item._asdict(),
        **{name: getattr(batch, name) for name in shared},
    )
