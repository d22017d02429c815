"""Accuracy against the frequency of the item's pair in a corpus and the association of its words.

None of the four papers asks whether a model answers correctly because it has seen the phrase. The
tables amod_pairs and amod_association hold the count of each adjective-noun pair in a corpus and
its pointwise mutual information (PMI, bits); `analysis.slices` looks them up. A corpus serves as a
proxy for the model's pretraining data, which is not known.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import log2
from typing import TypeVar

import pandas as pd

from adnominal.analysis import slices
from adnominal.analysis.across.fine_tuned import Across, Experiment
from adnominal.analysis.estimates import clustered_interval
from adnominal.analysis.papers.exhibits import Chart, Finding, Note, exhibit
from adnominal.analysis.regression import slope
from adnominal.analysis.report_numbers import Cells, CellValues
from adnominal.analysis.rows import distinct_values, lists
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
_Number = TypeVar("_Number", int, float)


@dataclass(frozen=True)
class Items:
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


def _looked_up(page: Across, corpus: str, experiment: Experiment) -> Items:
    adjectives, nouns = lists(experiment.rows, "adjective", "noun")
    report = experiment.dataset.report
    lake = page.lake.root
    counts = _values(slices.pair_counts, lake, corpus, adjectives, nouns)
    return Items(
        name=f"{experiment.title}, {experiment.runs[0].model}",
        stratified_by=_STRATA[report.strata] if report else "",
        correct=experiment.correct,
        pairs=[f"{a} {n}" for a, n in zip(adjectives, nouns, strict=True)],
        strata=experiment.strata,
        counts=[count or None for count in counts],
        pmi=_values(slices.pair_pmi, lake, corpus, adjectives, nouns),
    )


def _values(
    look_up: Callable[..., list[_Number | None]],
    lake: str,
    corpus: str,
    adjectives: slices.Words,
    nouns: slices.Words,
) -> list[_Number | None]:
    """The corpus's value of each pair. Corpora hold lemmas; PLANE's published nouns are inflected
    as in their text, so nouns are looked up as they are, then in the singular."""
    singulars = [None if noun is None else singular(noun) for noun in nouns]
    values = look_up(lake, corpus, adjectives, nouns)
    values_of_singulars = look_up(lake, corpus, adjectives, singulars)
    return [one or other for one, other in zip(values, values_of_singulars, strict=True)]


def _of_corpus(corpus: str, experiments: Sequence[Items]) -> Iterator[Finding]:
    for name, unit in (("count", "count"), ("PMI", "PMI (bits)")):
        table = f"Accuracy by {name} of the pair in {corpus}"
        for items in experiments:
            values = items.counts if name == "count" else items.pmi
            accuracies, ranges = by_tenth(items, values)
            yield Cells(table, accuracies, unit="share", decimals=3)
            caption = f"{unit} of the pair in each tenth, corpus {corpus}"
            yield Cells(caption, ranges, decimals=1)
        x = f"tenth of the items by {unit} of the pair in the corpus {corpus}"
        yield Chart("intervals", table, (table,), x, "accuracy (share of items)")
    for items in experiments:
        caption = f"Odds ratios, corpus {corpus}"
        yield Cells(caption, _slopes(items), interval="logistic regression, clustered by pair")


def by_tenth(items: Items, values: Sequence[float | None]) -> tuple[CellValues, CellValues]:
    """The accuracy by tenth of `values`, and the range of the values in each tenth.

    Items without a value come first (tenth 0, ``none``). Items of one pair share their value, so
    intervals are clustered by pair.
    """
    accuracies: CellValues = {}
    ranges: CellValues = {}
    answers = pd.DataFrame(
        {"value": values, "right": items.correct, "pair": items.pairs, "tenth": tenths(values)}
    )
    for tenth, of_tenth in answers.groupby("tenth"):
        place = "none" if tenth == ABSENT else str(tenth)
        accuracies[place, items.name] = clustered_interval(
            of_tenth["right"].to_list(), of_tenth["pair"].to_list()
        )
        present = of_tenth["value"].dropna().astype(float)
        if present.empty:
            continue
        row = f"{items.name}, tenth {tenth}"
        ranges[row, "least"] = float(present.min())
        ranges[row, "median"] = float(present.median())
        ranges[row, "greatest"] = float(present.max())
    return accuracies, ranges


def _slopes(items: Items) -> CellValues:
    """The odds ratio of a right answer for a doubling of the count and for a bit of PMI."""
    logs = [None if count is None else log2(count) for count in items.counts]
    cells: CellValues = {}
    for name, values in (("a doubling of the count", logs), ("a bit of PMI", items.pmi)):
        for strata in (None, items.strata):
            effect = slope(values, items.correct, items.pairs, strata)
            if effect is not None:
                scope = "all items" if strata is None else f"within {items.stratified_by}"
                row = f"{items.name}, {name}, {scope}"
                cells[row, "odds ratio"] = effect.odds_ratio
                cells[row, "p"] = effect.p
    return cells
