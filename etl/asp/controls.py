"""Control rows: without something that their labels rest on (paper, appendix D).

If a model answers them as well as intact rows, or learns from them what it learns from intact rows,
it uses superficial heuristics. The paper names control experiments but its appendix is not
published with it; these are ours:

- ``numbers``: the numbers of the hypotheses of a group are shuffled against their labels;
- ``premise``: the premise is empty;
- ``words``: each adjective is exchanged for another one, the same one in all rows.

Everything else is as in the intact rows: the label, the columns for words and numbers, the splits.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, TypeVar

from adnominal.etl.asp import DISCARD
from adnominal.etl.asp.degree import Degree, DegreeRow, Group
from adnominal.etl.asp.entailment import Entailment, Row
from adnominal.etl.asp.lexicon import Lexicon
from adnominal.etl.draws import content_hash, draw

CONTROLS = {
    "numbers": "numbers shuffled against the labels",
    "premise": "without the premise",
    "words": "adjectives exchanged for others",
}
_EDITION = re.compile(r"(?P<base>.+)_control_(?P<control>numbers|premise|words)(_tuning)?")

AnyRow = TypeVar("AnyRow", Row, DegreeRow)


def control_edition(base: str, control: str) -> str:
    """The name of the edition of control rows that belongs to an edition."""
    return f"{base}_control_{control}"


def control_of(edition: str) -> str | None:
    """The control that an edition is of, by its name; None for intact rows."""
    match = _EDITION.fullmatch(edition)
    return match["control"] if match else None


@dataclass(frozen=True)
class Control:
    """Makes control rows of intact ones.

    Attributes:
        kind: one of `CONTROLS`.
        lexicon: the whole lexicon, from which adjectives are exchanged.
        seed: seed of the exchange and of the shuffle.
    """

    kind: str
    lexicon: Lexicon
    seed: int

    def entailment(self, row: Row) -> Row:
        """The control row of entailment inference."""
        return self._change_row(row)

    def degree(self, rows: Iterable[DegreeRow]) -> Iterator[DegreeRow]:
        """The control rows of degree estimation; the rows of a group follow each other."""
        for _, members in groupby(rows, key=lambda row: (row.variant, row.premise)):
            group = list(members)
            if self.kind == "numbers":
                group = self._shuffle_labels(group)
            yield from (self._change_row(row) for row in group)

    def _change_row(self, row: AnyRow) -> AnyRow:
        """The row as the control has it, under an id of its own."""
        item_id = content_hash("asp", self.kind, row.item_id, size=8)
        if self.kind == "premise":
            return row._replace(item_id=item_id, premise="")
        if self.kind == "words":
            premise = self._exchange(row.premise)
            hypothesis = self._exchange(row.hypothesis)
            return row._replace(item_id=item_id, premise=premise, hypothesis=hypothesis)
        return row._replace(item_id=item_id)

    def _shuffle_labels(self, group: list[DegreeRow]) -> list[DegreeRow]:
        """The rows of a group with each other's labels; discarded rows stay."""
        labelled = [row for row in group if row.label != DISCARD]
        sources = sorted(labelled, key=lambda row: draw(self.seed, "numbers", row.item_id))
        label_of = {
            row.item_id: (source.label, source.label3)
            for row, source in zip(labelled, sources, strict=True)
        }
        rows = []
        for row in group:
            label, label3 = label_of.get(row.item_id, (row.label, row.label3))
            rows.append(row._replace(label=label, label3=label3))
        return rows

    def _exchange(self, text: str) -> str:
        """The text with every form of an adjective exchanged."""
        return self._pattern.sub(lambda match: self._forms[match[0]], text)

    @cached_property
    def _forms(self) -> Mapping[str, str]:
        """The exchanged form of each adjective, comparative and superlative."""
        measured = {word for m in self.lexicon.measures for word in (m.positive, m.negative)}
        words = sorted(self.lexicon.words | measured)
        words.sort(key=lambda word: draw(self.seed, "words", word))
        # Each word is followed by another one, and no word follows two.
        pairs = list(zip(words, [*words[1:], words[0]], strict=True))
        forms = dict(pairs)
        for form in (self.lexicon.comparative_of, self.lexicon.superlative_of):
            for word, other in pairs:
                forms[form(word)] = form(other)
        return forms

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        # The longest form first: "more expensive" before "expensive".
        forms = sorted(self._forms, key=len, reverse=True)
        alternatives = "|".join(map(re.escape, forms))
        return re.compile(rf"(?<![\w-])(?:{alternatives})(?![\w-])")


class ControlEntailment(Entailment):
    """Control rows of entailment inference."""

    def __init__(self, control: Control, lexicon: Lexicon, seed: int, **options: Any) -> None:
        super().__init__(lexicon, seed, **options)
        self.control = control

    def rows(self, test: str, start: int, stop: int) -> Iterator[Row]:
        """Rows `start` to `stop` (exclusive) of a test."""
        for row in super().rows(test, start, stop):
            yield self.control.entailment(row)


class ControlDegree(Degree):
    """Control rows of degree estimation."""

    def __init__(self, control: Control, lexicon: Lexicon, seed: int, **options: Any) -> None:
        super().__init__(lexicon, seed, **options)
        self.control = control

    def rows(self, group: Group, variants: Sequence[str] = ("base",)) -> Iterator[DegreeRow]:
        """The rows of a group, one for each number in each variant."""
        return self.control.degree(super().rows(group, variants))
