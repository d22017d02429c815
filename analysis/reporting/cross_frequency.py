"""Accuracy against how often a corpus has the item's pair, and against its PMI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import log2

import pyarrow as pa
import pyarrow.compute as pc

from analysis import frequency, slices
from analysis.reporting.cross_runs import Standing, standing
from analysis.reporting.lake import Lake
from analysis.reporting.page import Block, FigureBlock, Section, Table, Text, section_of
from analysis.reporting.printed import p_value
from analysis.reporting.runs import Runs
from conf import UserError
from etl.knowledge.english import singular
from etl.lake import arrow

_EXTRACT = "spark-submit etl/extract_amod.py source=wikipedia input=DUMP lake=LAKE"
# What an item's answers are compared within: adjectives of a class are more frequent, and easier.
_WITHIN = {"adept": "gold label", "plane": "class and inference type", "asp": "test"}


# Answers to items whose pair a corpus has, below which tenths and slopes say nothing.
_LEAST = 30


@dataclass(frozen=True)
class _Items:
    """A run's answers with their pairs, one value a row."""

    dataset: str
    name: str
    right: Sequence[bool]
    pairs: Sequence[str]
    strata: Sequence[str]
    counts: Sequence[int | None]
    pmi: Sequence[float | None]

    @property
    def met(self) -> int:
        """How many answers are to items whose pair the corpus has."""
        return sum(count is not None for count in self.counts)


def sections(lake: Lake, runs: Runs) -> list[Section]:
    """A section for each corpus of the lake."""
    title = "accuracy against the corpus"
    return [section_of("cross", "", title, _EXTRACT, partial(_corpora, lake, runs))]


def _corpora(lake: Lake, runs: Runs) -> list[Block]:
    if not lake.has("amod_pairs") or not lake.has("amod_association"):
        raise UserError(f"no tables amod_pairs and amod_association in {lake.root}")
    there = standing(lake, runs)
    blocks: list[Block] = [
        Text(
            "Is a phrase answered rightly because models have met it? The corpus stands in for "
            "what they were pretrained on. Tenths are of the items whose pair the corpus has; "
            "nouns are looked up as they stand, else in the singular. "
            "A slope is the change in the odds of a right answer when the count doubles, or with a "
            "bit of PMI (logistic regression, robust to clusters by pair), over all items and "
            "within what they are like; at an odds ratio of 1 frequency makes no difference."
        )
    ]
    pairs = arrow.read(lake.root, "amod_pairs", columns=["corpus"])
    for corpus in sorted(pc.unique(pairs.column("corpus")).to_pylist()):
        found = [_items(lake, corpus, own) for own in there]
        enough = [own for own in found if own.met >= _LEAST]
        few = [f"{own.met} of {own.name}" for own in found if own.met < _LEAST]
        if few:
            told = f"Too few items whose pair {corpus} has (fewer than {_LEAST}): {', '.join(few)}."
            blocks.append(Text(told))
        if enough:
            blocks += _shown(corpus, enough)
    return blocks


def _items(lake: Lake, corpus: str, own: Standing) -> _Items:
    rows = own.rows
    adjectives, nouns = (rows.column(name).to_pylist() for name in ("adjective", "noun"))
    alone = [None if noun is None else singular(noun) for noun in nouns]
    counts, pmi = (
        # Corpora have lemmas; the published nouns of PLANE are as their text had them.
        [one or other for one, other in zip(find(nouns), find(alone), strict=True)]
        for find in (
            partial(slices.pair_counts, lake.root, corpus, adjectives),
            partial(slices.pair_pmi, lake.root, corpus, adjectives),
        )
    )
    return _Items(
        dataset=own.dataset,
        name=f"{own.title}, {own.runs[0].model}",
        right=own.right,
        pairs=[f"{a} {n}" for a, n in zip(adjectives, nouns, strict=True)],
        strata=own.strata,
        counts=[int(count) if count else None for count in counts],
        pmi=pmi,
    )


def _shown(corpus: str, found: Sequence[_Items]) -> list[Block]:
    blocks: list[Block] = []
    for name, unit in (("count", "count"), ("PMI", "PMI (bits)")):
        tables = []
        for own in found:
            values = own.counts if name == "count" else own.pmi
            table = frequency.by_tenth(values, own.right, own.pairs)
            tables.append(
                table.add_column(0, "run", pa.array([own.name] * table.num_rows, pa.string()))
            )
        data = pa.concat_tables(tables)
        figure, plotted = frequency.tenths_figure(
            data,
            series="run",
            xlabel=f"tenth of the items by {unit} of the pair in the corpus {corpus}",
        )
        runs = "; ".join(own.name for own in found)
        caption = f"Accuracy by {name} of the pair in {corpus}, whiskers 95 % ({runs})"
        blocks.append(FigureBlock(caption, figure, plotted))
    blocks.append(Table(f"Odds ratios, corpus {corpus}", _slopes(found)))
    return blocks


def _slopes(found: Sequence[_Items]) -> pa.Table:
    rows = []
    for own in found:
        logs = [None if count is None else log2(count) for count in own.counts]
        for name, values in (("a doubling of the count", logs), ("a bit of PMI", own.pmi)):
            for within, strata in (("all items", None), ("within", own.strata)):
                slope = frequency.slope(values, own.right, own.pairs, strata)
                what = within if strata is None else f"within {_WITHIN[own.dataset]}"
                rows.append(
                    {
                        "run": own.name,
                        "for": name,
                        "over": what,
                        "items": None if slope is None else slope.items,
                        "odds ratio": None if slope is None else slope.text(),
                        "p": None if slope is None else p_value(slope.p),
                    }
                )
    schema = pa.schema(
        [
            *((name, pa.string()) for name in ("run", "for", "over")),
            ("items", pa.int64()),
            ("odds ratio", pa.string()),
            ("p", pa.string()),
        ]
    )
    return pa.Table.from_pylist(rows, schema)
