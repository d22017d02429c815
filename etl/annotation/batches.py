"""Batches: the questions of each page, with checks mixed in among the items.

A page has four questions (section 4.1, table 3). Gold items are those on which the four annotators
of a pilot agreed; attention checks name the label to choose. A share of the pages has one of each,
at a position drawn by the seed, so that neither position nor number reveals a check. Exported files
identify questions by hashes; their meaning stays in the table adept_batches.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle, groupby
from typing import NamedTuple

from adnominal.conf import UserError
from adnominal.etl.annotation.quality import Answer, Rules, failed_attention, labels_of_items
from adnominal.etl.annotation.settings import ExportSettings
from adnominal.etl.annotation.task import AnnotationTask
from adnominal.etl.draws import content_hash, fraction, rank

_GOLD_ANSWERS = 4  # annotators of a pilot (section 4.1)


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


def gold_labels(answers: Sequence[Answer]) -> dict[str, int]:
    """Pilot items to which all annotators, four or more, gave the same label.

    Annotators who failed an attention check do not count.
    """
    excluded = failed_attention(answers, Rules())
    pilot = [answer for answer in answers if answer.round == "pilot" and answer.kind == "item"]
    counting = [answer for answer in pilot if answer.annotator not in excluded]
    labels = {}
    for item_id, codes in labels_of_items(counting).items():
        if len(codes) >= _GOLD_ANSWERS and len(set(codes)) == 1:
            labels[item_id] = codes[0]
    return labels


def pages_of(questions: Iterable[Question]) -> list[list[Question]]:
    """The questions of each page; they are given page by page."""
    return [list(page) for _, page in groupby(questions, key=lambda question: question.page)]


def compose(
    task: AnnotationTask,
    batch: ExportSettings,
    items: Iterable[ShownItem],
    gold: Iterable[ShownItem] = (),
) -> list[Question]:
    """Compose the questions of a batch, page by page: every item once, `gold` items in turn.

    The last page is filled up with attention checks. The result depends only on the seed and the
    items, not on their order.

    Raises:
        UserError: there are no gold items outside of the batch, but pages that have one.
    """
    unplaced = sorted(items, key=lambda i: (rank(batch.seed, "order", i.item_id), i))
    item_ids = {item.item_id for item in unplaced}  # nobody is asked about one item twice
    pool = sorted(
        (item for item in gold if item.item_id not in item_ids),
        key=lambda i: (rank(batch.seed, "gold", batch.name, i.item_id), i),
    )
    if batch.gold_share and not pool:
        raise UserError(
            f"gold={batch.gold_share:g}: no gold items outside of the batch; expected answers of a "
            "pilot that four annotators agree on (export round=pilot, then import), or gold=0"
        )
    options = task.options(batch.round)
    next_gold = cycle(pool)
    questions: list[Question] = []
    number = 0
    checks_due = 0
    while unplaced:
        golds = _checks_on_page(batch, "gold", batch.gold_share, number)
        # A page of one question has no room for a check beside a gold item: the next page has it.
        checks_due += _checks_on_page(batch, "attention", batch.attention_share, number)
        checks = min(checks_due, batch.per_page - golds)
        checks_due -= checks
        page = [("gold", next(next_gold)) for _ in range(golds)]
        page += [("attention", _attention(batch, options, number, at)) for at in range(checks)]
        room = batch.per_page - len(page)
        page += [("item", item) for item in unplaced[:room]]
        unplaced = unplaced[room:]
        missing = range(len(page), batch.per_page)
        page += [("attention", _attention(batch, options, number, at)) for at in missing]
        number += 1
        questions += _questions_of_page(batch, f"{batch.name}-{number:05d}", page)
    return questions


def _checks_on_page(batch: ExportSettings, kind: str, share: float, page: int) -> int:
    """The number of checks on page `page`: the first n pages have n times `share`."""
    start = fraction(batch.seed, "start", batch.name, kind)
    checks_before = math.floor(start + page * share)
    checks_after = math.floor(start + (page + 1) * share)
    return checks_after - checks_before


def _attention(batch: ExportSettings, options: Sequence[str], page: int, number: int) -> ShownItem:
    expected = rank(batch.seed, "attention", batch.name, page, number) % len(options)
    return ShownItem(
        content_hash("attention", batch.name, page, number),
        "This question checks that the statements are read.",
        f"Please choose “{options[expected]}” here.",
        expected,
    )


def _questions_of_page(
    batch: ExportSettings, name: str, page: Iterable[tuple[str, ShownItem]]
) -> list[Question]:
    """The questions of a page, each of a kind and an item, in an order drawn by the seed."""
    ordered = sorted(
        page, key=lambda placed: (rank(batch.seed, "place", name, placed[1].item_id), placed)
    )
    questions = []
    for place, (kind, item) in enumerate(ordered, 1):
        digest = content_hash("question", batch.name, batch.seed, name, place, item.item_id)
        question = Question(
            question_id=f"q{digest[:15]}",  # spreadsheets would rewrite 85677167023656e9
            batch=batch.name,
            page=name,
            place=place,
            kind=kind,
            item_id=item.item_id,
            expected=item.expected,
            sentence1=item.sentence1,
            sentence2=item.sentence2,
            round=batch.round,
            condition=batch.condition,
            platform=batch.format,
            edition=batch.edition,
        )
        questions.append(question)
    return questions
