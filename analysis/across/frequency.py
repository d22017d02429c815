"""Accuracy against the frequency of the item's pair in a corpus and the association of its words.

None of the four papers asks whether a model answers correctly because it has seen the phrase. The
tables amod_pairs and amod_association hold the count of each adjective-noun pair in a corpus and
its pointwise mutual information (PMI, bits); `analysis.slices` looks them up. A corpus serves as a
proxy for the model's pretraining data, which is not known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

import numpy as np
import pyarrow as pa

from adnominal.analysis import slices
from adnominal.analysis.across.fine_tuned import Across, Experiment
from adnominal.analysis.papers.page import exhibit
from adnominal.analysis.regression import slope
from adnominal.analysis.rendering import figures
from adnominal.analysis.rendering.blocks import Block, FigureBlock, Table, Text
from adnominal.analysis.rendering.figures import Channels, Plot
from adnominal.analysis.rendering.numbers import p_value
from adnominal.analysis.rows import distinct_values, lists, schema, where_equal, with_column
from adnominal.analysis.slices import ABSENT, tenths
from adnominal.analysis.statistics import clustered_interval
from adnominal.conf import UserError
from adnominal.etl.knowledge.english import singular
from adnominal.etl.lake import arrow

_EXTRACT = "python etl/extract_amod.py source=wikipedia input=DUMP lake=LAKE"
# The strata within which answers are compared: some adjective classes are more frequent and easier.
_STRATA = {
    ("gold",): "gold label",
    ("class", "inference_type"): "class and inference type",
    ("test",): "test",
}
# Tenths and slopes need at least this many answers to items whose pair is in the corpus.
_LEAST = 30
_ITEM_TABLES = ("adept", "plane_items", "asp_entailment")
_TENTHS = schema(
    "tenth:int32 least:float median:float greatest:float items:int accuracy:float low:float "
    "high:float"
)


def by_tenth(
    values: Sequence[float | None], right: Sequence[float], groups: Sequence[object] | None = None
) -> pa.Table:
    """Accuracy by tenth of `values`; items without a value come first (tenth 0).

    Columns: tenth; least, median and greatest value; items; accuracy with its interval low to high,
    `clustered` by `groups` (usually the pair, because its items share their value).

    Raises:
        ValueError: no items, or lengths that differ.
    """
    if not len(values) == len(right) or not len(values):
        raise ValueError(f"{len(values)} values for {len(right)} items")
    items = pa.table({"value": values, "right": right, "tenth": tenths(values)})
    items = with_column(items, "group", list(map(str, groups or range(len(values)))))
    rows = []
    for tenth in distinct_values(items, "tenth"):
        present, correct, groups_of_tenth = lists(
            where_equal(items, "tenth", tenth), "value", "right", "group"
        )
        present_values = [value for value in present if value is not None]
        rows.append(
            {
                "tenth": tenth,
                "least": min(present_values, default=None),
                "median": float(np.median(present_values)) if present_values else None,
                "greatest": max(present_values, default=None),
                "items": len(present),
                **clustered_interval(correct, groups_of_tenth).columns("accuracy"),
            }
        )
    return pa.Table.from_pylist(rows, _TENTHS)


def tenths_figure(data: pa.Table, xlabel: str) -> Plot:
    """Plot `by_tenth` as points with whiskers, one line for each value of the column `run`.

    `xlabel` names the quantity that is divided into tenths, with its unit.
    """
    rows = sorted(data.to_pylist(), key=lambda row: row["tenth"])
    places = ["none" if row["tenth"] == ABSENT else str(row["tenth"]) for row in rows]
    plotted = with_column(pa.Table.from_pylist(rows, data.schema), "place", places)
    ylabel = "accuracy (share of items)"
    channels = Channels("place", "accuracy", xlabel, ylabel, "run", low="low", high="high")
    return figures.intervals(plotted, channels)


@dataclass(frozen=True)
class _Items:
    """An experiment's answers with the corpus statistics of their pairs, one value per row."""

    name: str
    stratified_by: str
    correct: Sequence[bool]
    pairs: Sequence[str]
    strata: Sequence[str]
    counts: Sequence[int | None]
    pmi: Sequence[float | None]

    @property
    def present(self) -> int:
        """The number of answers to items whose pair is in the corpus."""
        return sum(count is not None for count in self.counts)


@exhibit(
    "",
    "accuracy against the corpus",
    command=_EXTRACT,
    tables=("amod_pairs", "amod_association", "predictions", *_ITEM_TABLES),
)
def against_corpora(page: Across) -> list[Block]:
    """Tenths and slopes by count and by PMI, for each corpus in the lake."""
    lake = page.lake
    if not lake.has("amod_pairs") or not lake.has("amod_association"):
        raise UserError(f"no tables amod_pairs and amod_association in {lake.root}")
    experiments = page.experiments
    blocks: list[Block] = [
        Text(
            "Do models answer items correctly because they have seen the phrase? The corpus is a "
            "proxy for their pretraining data. Tenths cover the items whose pair is in the corpus; "
            "nouns are looked up as they are, then in the singular. "
            "A slope is the change in the odds of a correct answer when the count doubles, or per "
            "bit of PMI (logistic regression, standard errors clustered by pair), over all items "
            "and within strata; at an odds ratio of 1 frequency makes no difference."
        )
    ]
    for corpus in distinct_values(
        arrow.read(lake.root, "amod_pairs", columns=["corpus"]), "corpus"
    ):
        looked_up = [_looked_up(page, corpus, experiment) for experiment in experiments]
        well_covered = [items for items in looked_up if items.present >= _LEAST]
        poorly_covered = [
            f"{items.present} of {items.name}" for items in looked_up if items.present < _LEAST
        ]
        if poorly_covered:
            text = f"Too few items whose pair {corpus} has (fewer than {_LEAST})"
            blocks.append(Text(f"{text}: {', '.join(poorly_covered)}."))
        if well_covered:
            blocks += _of_corpus(corpus, well_covered)
    return blocks


def _looked_up(page: Across, corpus: str, experiment: Experiment) -> _Items:
    root = page.lake.root
    adjectives, nouns = lists(experiment.rows, "adjective", "noun")
    # Corpora hold lemmas; PLANE's published nouns are inflected as in their text.
    singulars = [None if noun is None else singular(noun) for noun in nouns]
    counts = slices.pair_counts(root, corpus, adjectives, nouns)
    counts_of_singulars = slices.pair_counts(root, corpus, adjectives, singulars)
    pmi = slices.pair_pmi(root, corpus, adjectives, nouns)
    pmi_of_singulars = slices.pair_pmi(root, corpus, adjectives, singulars)
    report = experiment.dataset.report
    return _Items(
        name=f"{experiment.title}, {experiment.runs[0].model}",
        stratified_by=_STRATA[report.strata] if report else "",
        correct=experiment.correct,
        pairs=[f"{a} {n}" for a, n in zip(adjectives, nouns, strict=True)],
        strata=experiment.strata,
        counts=[
            one or other or None for one, other in zip(counts, counts_of_singulars, strict=True)
        ],
        pmi=[one or other for one, other in zip(pmi, pmi_of_singulars, strict=True)],
    )


def _of_corpus(corpus: str, experiments: Sequence[_Items]) -> list[Block]:
    blocks: list[Block] = []
    names = [items.name for items in experiments]
    for name, unit in (("count", "count"), ("PMI", "PMI (bits)")):
        tables = []
        for items in experiments:
            values = items.counts if name == "count" else items.pmi
            table = by_tenth(values, items.correct, items.pairs)
            runs = pa.array([items.name] * table.num_rows, pa.string())
            tables.append(table.add_column(0, "run", runs))
        xlabel = f"tenth of the items by {unit} of the pair in the corpus {corpus}"
        plot = tenths_figure(pa.concat_tables(tables), xlabel)
        caption = f"Accuracy by {name} of the pair in {corpus}, 95 % whiskers ({'; '.join(names)})"
        blocks.append(FigureBlock(caption, *plot))
    blocks.append(Table(f"Odds ratios, corpus {corpus}", _slopes(experiments)))
    return blocks


def _slopes(experiments: Sequence[_Items]) -> pa.Table:
    rows = []
    for items in experiments:
        logs = [None if count is None else log2(count) for count in items.counts]
        for name, values in (("a doubling of the count", logs), ("a bit of PMI", items.pmi)):
            for strata in (None, items.strata):
                effect = slope(values, items.correct, items.pairs, strata)
                scope = "all items" if strata is None else f"within {items.stratified_by}"
                rows.append(
                    {
                        "run": items.name,
                        "for": name,
                        "over": scope,
                        "items": None if effect is None else effect.items,
                        "odds_ratio": None if effect is None else effect.text(),
                        "p": None if effect is None else p_value(effect.p),
                    }
                )
    table = pa.Table.from_pylist(rows, schema("run for over items:int odds_ratio p"))
    return table.rename_columns({"odds_ratio": "odds ratio"})
