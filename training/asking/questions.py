"""The questions about the items: what a model is sent, and what its answer is about.

For PLANE with two examples (section 4), the three items of an adjective, noun and hypernym give six
questions per template and verbaliser: each item is presented once after either order of the other
two, which precede it with their correct words. Other examples come from the training part: as many
of each label as possible, drawn for each item by (seed, item id), the same for all its prompts.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from adnominal.etl.prompts.files import SUBJECTS, Prompts, Template, Verbaliser
from adnominal.training.asking.items import Items
from adnominal.training.asking.settings import Settings
from adnominal.training.batching import rng

# Between the examples of a group, which are sentences of one text, and between others.
_WITHIN_GROUP, _BETWEEN = " ", "\n\n"

# The fields of an item, its id, group and gold label (or target text).
Row: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Request:
    """What a model is sent; equal ones are asked once.

    `examples` are texts with their completions. The model goes on after `text`: with one of
    `words` and the `suffix`, whose probabilities are asked for, or, without words, as it likes.
    """

    text: str
    examples: tuple[tuple[str, str], ...] = ()
    words: tuple[str, ...] = ()
    suffix: str = ""

    @property
    def completions(self) -> list[str]:
        """Each word with the text after it."""
        return [word + self.suffix for word in self.words]


class Question(NamedTuple):
    """One way of asking about one item.

    `item` is its row; `order` has the numbers of the examples (inference types), such as ``1,2``;
    `content_free` are the same requests without content, by whose answers calibration divides.
    """

    item: int
    template: Template
    verbaliser: Verbaliser | None
    order: str | None
    request: Request
    content_free: tuple[Request, ...] = ()


class Questions:
    """All questions about items, in the order of items, templates and verbalisers."""

    def __init__(self, items: Items, prompts: Prompts, settings: Settings) -> None:
        self._items, self._settings = items, settings
        self._prompts = prompts
        self._fields = SUBJECTS[settings.task].fields
        self._blanks = [dict.fromkeys(self._fields, blank) for blank in prompts.content_free]
        self._pools = _pools(items, prompts)

    @property
    def delimiter(self) -> str:
        """The text between two examples."""
        return _WITHIN_GROUP if self._settings.shows_groups else _BETWEEN

    @cached_property
    def number(self) -> int:
        """The number of questions."""
        ways = sum(len(template.verbalisers) or 1 for template in self._prompts.prompts)
        if not self._settings.shows_groups:
            return ways * int(self._items.rows.num_rows)
        batches = self._items.rows.batches(["group"])
        groups = pc.value_counts(pa.chunked_array([batch["group"] for batch in batches]))
        # Each item of a group after each order of the others.
        orders: int = sum(math.factorial(size) for size in groups.field("counts").to_pylist())
        return ways * orders

    def __iter__(self) -> Iterator[Question]:
        for item, row, order, examples in self._contexts():
            for template in self._prompts.prompts:
                for verbaliser in template.verbalisers or (None,):
                    request, content_free = self._requests(row, examples, template, verbaliser)
                    yield Question(item, template, verbaliser, order, request, content_free)

    def _contexts(self) -> Iterator[tuple[int, Row, str | None, Sequence[Row]]]:
        """Yield each item with its row, and the order and rows of the examples before it."""
        if self._settings.shows_groups:
            number = str(SUBJECTS[self._settings.task].declared.number)
            yield from _group_contexts(self._rows(number), number)
            return
        for item, row in self._rows():
            yield item, row, None, self._drawn_examples(row["item_id"])

    def _rows(self, *more: str) -> Iterator[tuple[int, Row]]:
        names = [*self._fields, "item_id", "gold", "group", *more]
        batches = self._items.rows.batches(names)
        return enumerate(row for batch in batches for row in batch.to_pylist())

    def _drawn_examples(self, item_id: str) -> list[Row]:
        """Draw the examples of an item: the labels take turns in a random order."""
        if not self._pools:
            return []
        generator = rng("examples", self._settings.seed, item_id)
        order = generator.permutation(len(self._pools))
        turns = np.resize(order, self._settings.shots)
        drawn = []
        for label in order:
            pool = self._pools[label]
            count = min(int((turns == label).sum()), len(pool))
            drawn += generator.choice(pool, count, replace=False).tolist()
        shuffled = generator.permutation(drawn)
        rows: list[Row] = self._items.examples.take(shuffled).to_pylist()
        return rows

    def _requests(
        self,
        row: Row,
        examples: Sequence[Row],
        template: Template,
        verbaliser: Verbaliser | None,
    ) -> tuple[Request, tuple[Request, ...]]:
        """Return the request about an item, and those without content."""
        context = tuple(_shown_example(example, template, verbaliser) for example in examples)
        is_chosen = verbaliser is not None and template.pattern is None
        words = verbaliser.all if is_chosen and verbaliser else ()
        text, suffix = template.text_around_gap(row)
        request = Request(text, context, words, suffix)
        if self._settings.calibration == "none":
            return request, ()
        if self._settings.calibration == "domain":
            context = ()
        content_free = []
        for blank in self._blanks:
            text, suffix = template.text_around_gap(blank)
            content_free.append(Request(text, context, words, suffix))
        return request, tuple(content_free)


def _group_contexts(
    rows: Iterator[tuple[int, Row]], number: str
) -> Iterator[tuple[int, Row, str | None, Sequence[Row]]]:
    """Yield each item of a group after each order of the others; rows are sorted by group."""
    for _, group in itertools.groupby(rows, key=lambda numbered: numbered[1]["group"]):
        members = list(group)
        for item, row in members:
            others = [other for at, other in members if at != item]
            others.sort(key=lambda other: int(other[number]))
            for order in itertools.permutations(others):
                numbers = ",".join(str(other[number]) for other in order)
                yield item, row, numbers, order


def _shown_example(row: Row, template: Template, verbaliser: Verbaliser | None) -> tuple[str, str]:
    """Return the text and the completion of an example: its label's first word, or its text."""
    gold = row["gold"]
    if verbaliser is not None and gold in verbaliser.labels:
        gold = verbaliser.words[verbaliser.labels.index(gold)][0]
    return template.text_around_gap(row)[0], template.completion(row, gold)


def _pools(items: Items, prompts: Prompts) -> list[npt.NDArray[np.int64]]:
    """Return the rows of examples by label; rows whose answers are no labels are one pool."""
    gold = items.examples["gold"].to_pandas()
    if not set(gold) <= set(prompts.labels):
        return [np.arange(len(gold))]
    return [rows for _, rows in sorted(gold.groupby(gold).indices.items())]
