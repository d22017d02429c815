"""Ratings of adjective–noun pairs, correlated with a corpus and with models.

    python -m analysis.graded lake=LAKE source=NAME corpus=NAME [runs=[ID,…]]

Prints Spearman's and Kendall's rank correlations of people's ratings (table graded_pairs) with the
pair's count, PMI, NPMI and logDice in a corpus, and with the scores of models whose predictions
have the pair ids as item ids. A pair that is not in the corpus has count 0; measures that are
undefined for it exclude it, and each correlation is printed with its number of pairs.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
from scipy import stats

from adnominal import conf
from adnominal.analysis import predictions
from adnominal.analysis.estimates import Interval
from adnominal.analysis.rows import lists, tuples
from adnominal.conf import UserError, setting
from adnominal.etl.lake import arrow

if TYPE_CHECKING:
    import numpy.typing as npt

Floats: TypeAlias = "npt.NDArray[np.float64]"

MEASURES = ("count", "pmi", "npmi", "log_dice")
RESAMPLES = 2000
BLOCK = 1_000_000  # numbers of the bootstrap that are in memory at once
LEAST_PAIRS = 3  # a rank correlation of fewer is meaningless


@dataclass(frozen=True)
class Settings:
    lake: str = setting(help="root of the lake")
    source: str = setting(help="source of the ratings, as named in import_pairs")
    corpus: str = setting(help="corpus whose counts and measures are correlated")
    runs: list[str] = setting(
        [], help="runs whose predictions are also correlated", example="runs=[1f2e]"
    )
    split: str | None = setting(None, help="train, val or test; all ratings if not given")
    seed: int = setting(0, help="seed of the bootstrap")


@dataclass(frozen=True)
class Correlation:
    """Rank correlations of ratings with `measure`, Spearman's with a 95 % bootstrap interval."""

    measure: str
    spearman: Interval
    kendall: float


def correlation(
    measure: str, ratings: Sequence[float], values: Sequence[float | None], seed: int = 0
) -> Correlation:
    """Correlate `ratings` with `values` over the pairs that have a value.

    Ties get mean ranks in Spearman's rho; Kendall's coefficient is tau-b. The interval is a
    bootstrap over pairs.

    Raises:
        ValueError: sequences of different lengths.
    """
    if len(ratings) != len(values):
        raise ValueError(f"{len(ratings)} ratings and {len(values)} values")
    pairs = [
        (rating, value) for rating, value in zip(ratings, values, strict=True) if value is not None
    ]
    rated, measured = np.array(pairs, np.float64).reshape(-1, 2).T
    if len(pairs) < LEAST_PAIRS or not np.ptp(rated) or not np.ptp(measured):
        unknown = Interval(math.nan, math.nan, math.nan, len(pairs), kind="bootstrap")
        return Correlation(measure, unknown, math.nan)
    with warnings.catch_warnings():
        # Resamples with a single distinct value have no correlation.
        warnings.simplefilter("ignore", stats.ConstantInputWarning)
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        resampled = stats.bootstrap(
            (rated, measured),
            _spearman,
            paired=True,
            vectorized=True,
            n_resamples=RESAMPLES,
            batch=max(1, BLOCK // len(pairs)),
            method="percentile",
            rng=np.random.default_rng(seed),
        )
    low, high = np.nanquantile(resampled.bootstrap_distribution, [0.025, 0.975])
    rho = float(_spearman(rated, measured))
    spearman = Interval(rho, float(low), float(high), len(pairs), kind="bootstrap")
    kendall = float(stats.kendalltau(rated, measured).statistic)
    return Correlation(measure, spearman, kendall)


def _spearman(one: Floats, two: Floats, axis: int = -1) -> Floats:
    """Spearman's rho along the axis; NaN for a single distinct value."""
    rho: Floats = stats.spearmanrho(one, two, axis=axis).statistic
    return rho


def correlations(
    ratings: pa.Table,
    association: pa.Table,
    scores: Mapping[str, Mapping[str, float]],
    seed: int = 0,
) -> list[Correlation]:
    """The correlations of ratings with each measure of a corpus and each model's scores.

    Args:
        ratings: rows of ``graded_pairs``.
        association: adjective, noun and `MEASURES` of the pairs in the corpus.
        scores: model name -> pair id -> score.
        seed: seed of the bootstrap.
    """
    rated, ids = lists(ratings, "score", "pair_id")
    pairs = tuples(ratings, "adjective", "noun")
    pairs_of_corpus = tuples(association, "adjective", "noun")
    results = []
    for measure in MEASURES:
        measured = lists(association, measure)[0]
        value_of_pair = dict(zip(pairs_of_corpus, measured, strict=True))
        absent_value = 0.0 if measure == "count" else None
        values = [value_of_pair.get(pair, absent_value) for pair in pairs]
        results.append(correlation(measure, rated, values, seed))
    for model, score_of_pair in scores.items():
        values = [score_of_pair.get(pair_id) for pair_id in ids]
        results.append(correlation(model, rated, values, seed))
    return results


def expected_score(scores: Sequence[float] | None) -> float | None:
    """A model's score of a pair: the weighted mean rank of its labels, ordered from low to high.

    Returns None without scores. Scores are the weights of the labels and need not sum to 1.
    """
    if not scores or sum(scores) <= 0:
        return None
    weights = np.asarray(scores, np.float64)
    return float(weights @ np.arange(len(weights)) / weights.sum())


def _scores_of(lake: str, run: str, ids: set[str]) -> tuple[str, dict[str, float]]:
    """The name of a run's model, and its score for each of the pairs that it has predicted."""
    rows = predictions.read(lake, [run], ["item_id", "scores", "model"])
    if not rows.num_rows:
        raise UserError(f"run={run}: no rows in the table predictions of {lake}")
    scores = {}
    for row in rows.to_pylist():
        score = expected_score(row["scores"])
        if row["item_id"] in ids and score is not None:
            scores[row["item_id"]] = score
    if not scores:
        raise UserError(
            f"run={run}: none of its {rows.num_rows} predictions scores a pair of this source; "
            "expected pair ids of graded_pairs as item ids"
        )
    return f"{rows['model'][0].as_py()} ({run})", scores


def _association(lake: str, corpus: str, ratings: pa.Table) -> pa.Table:
    nouns = sorted(set(ratings["noun"].to_pylist()))
    return arrow.read(
        lake,
        "amod_association",
        where=[("corpus", "=", corpus), ("noun", "in", nouns)],
        columns=["adjective", "noun", *MEASURES],
    )


def report(settings: Settings) -> None:
    """Rank correlations of ratings of pairs with a corpus's measures and with models' scores."""
    where = [("source", "=", settings.source)]
    if settings.split:
        where.append(("split", "=", settings.split))
    ratings = arrow.read(settings.lake, "graded_pairs", where=where)
    if not ratings.num_rows:
        raise UserError(
            f"source={settings.source}: no ratings in the table graded_pairs of "
            f"{settings.lake}; expected a source written by etl/import_pairs.py"
        )
    association = _association(settings.lake, settings.corpus, ratings)
    if not association.num_rows:
        raise UserError(
            f"corpus={settings.corpus}: it has none of the nouns of the {ratings.num_rows} rated "
            "pairs, or was not extracted into this lake"
        )
    ids = set(ratings["pair_id"].to_pylist())
    scores = dict(_scores_of(settings.lake, run, ids) for run in settings.runs)
    print(f"{ratings.num_rows} ratings of {settings.source}, corpus {settings.corpus}")
    print(f"{'measure':<40}{'pairs':>8}{'Spearman':>10}{'95 % interval':>18}{'Kendall':>9}")
    for result in correlations(ratings, association, scores, settings.seed):
        rho = result.spearman
        bounds = f"{rho.low:.3f} to {rho.high:.3f}"
        print(
            f"{result.measure:<40}{rho.n:>8}{rho.estimate:>10.3f}{bounds:>18}{result.kendall:>9.3f}"
        )


main = partial(conf.run, Settings, report)


if __name__ == "__main__":
    sys.exit(main())
