"""Accuracy against the frequency of the item's pair in a corpus and the association of its words.

None of the four papers asks whether a model answers correctly because it has seen the phrase. The
tables amod_pairs and amod_association hold the count of each adjective-noun pair in a corpus and
its pointwise mutual information (PMI, bits); `analysis.slices` looks them up. A corpus serves as a
proxy for the model's pretraining data, which is not known.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np
import pyarrow as pa

from adnominal.analysis import slices
from adnominal.analysis.across.fine_tuned import Across, Experiment
from adnominal.analysis.estimates import Interval, clustered_interval
from adnominal.analysis.papers.exhibits import Chart, Finding, Note, exhibit
from adnominal.analysis.regression import slope
from adnominal.analysis.report_numbers import Cells, Key, Value
from adnominal.analysis.rows import distinct_values, lists, schema, where_equal, with_column
from adnominal.analysis.slices import ABSENT, tenths
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
    fills=_EXTRACT,
    reads=("amod_pairs", "amod_association", "predictions", *_ITEM_TABLES),
)
def against_corpora(page: Across) -> Iterator[Finding]:
    """Do models answer items correctly because they have seen the phrase?

    The corpus is a proxy for their pretraining data.
    """
    lake = page.lake
    if not lake.has("amod_pairs") or not lake.has("amod_association"):
        raise UserError(f"no tables amod_pairs and amod_association in {lake.root}")
    experiments = page.experiments
    yield Note(
        "Tenths cover the items whose pair is in the corpus; nouns are looked up as they are, then "
        "in the singular. A slope is the change in the odds of a correct answer when the count "
        "doubles, or per bit of PMI (logistic regression, standard errors clustered by pair), over "
        "all items and within strata; at an odds ratio of 1 frequency makes no difference."
    )
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
            yield Note(f"{text}: {', '.join(poorly_covered)}.")
        if well_covered:
            yield from _of_corpus(corpus, well_covered)


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


def _of_corpus(corpus: str, experiments: Sequence[_Items]) -> Iterator[Finding]:
    for name, unit in (("count", "count"), ("PMI", "PMI (bits)")):
        table = f"Accuracy by {name} of the pair in {corpus}"
        for items in experiments:
            values = items.counts if name == "count" else items.pmi
            tenths_of_items = by_tenth(values, items.correct, items.pairs).to_pylist()
            accuracies = _accuracies(items, tenths_of_items)
            yield Cells(table, accuracies, unit="share", decimals=3)
            ranges = f"{unit} of the pair in each tenth, corpus {corpus}"
            yield Cells(ranges, _values(items, tenths_of_items), decimals=1)
        x = f"tenth of the items by {unit} of the pair in the corpus {corpus}"
        yield Chart("intervals", table, (table,), x, "accuracy (share of items)")
    for items in experiments:
        caption = f"Odds ratios, corpus {corpus}"
        yield Cells(caption, _slopes(items), interval="logistic regression, clustered by pair")


def _accuracies(items: _Items, rows: Sequence[Mapping[str, Any]]) -> dict[Key, Value]:
    """The accuracies of `by_tenth`; tenth 0 is named none."""
    cells: dict[Key, Value] = {}
    for row in rows:
        place = "none" if row["tenth"] == ABSENT else str(row["tenth"])
        bounds = (row["low"], row["high"])
        accuracy = Interval(row["accuracy"], *bounds, row["items"], kind="Wilson, clustered")
        cells[place, items.name] = accuracy
    return cells


def _values(items: _Items, rows: Sequence[Mapping[str, Any]]) -> dict[Key, Value]:
    """The range of the corpus's values in each tenth."""
    cells: dict[Key, Value] = {}
    for row in rows:
        for column in ("least", "median", "greatest"):
            if row[column] is not None:
                cells[f"{items.name}, tenth {row['tenth']}", column] = row[column]
    return cells


def _slopes(items: _Items) -> dict[Key, Value]:
    """The odds ratio of a right answer for a doubling of the count and for a bit of PMI."""
    logs = [None if count is None else log2(count) for count in items.counts]
    cells: dict[Key, Value] = {}
    for name, values in (("a doubling of the count", logs), ("a bit of PMI", items.pmi)):
        for strata in (None, items.strata):
            effect = slope(values, items.correct, items.pairs, strata)
            if effect is not None:
                scope = "all items" if strata is None else f"within {items.stratified_by}"
                row = f"{items.name}, {name}, {scope}"
                cells[row, "odds ratio"] = effect.odds_ratio
                cells[row, "p"] = effect.p
    return cells
