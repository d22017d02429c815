"""A model's scores beside the distribution of people's labels (table label_votes).

Where people disagree, one label per item hides what a model should be uncertain about (Pavlick and
Kwiatkowski 2019; Nie et al. 2020). All functions take distributions [items, labels], rows that sum
to 1: the model's scores, and the shares of people's votes.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.spatial.distance import jensenshannon

from adnominal.analysis.estimates import Floats, Interval, percentile_interval, wilson
from adnominal.analysis.graded import correlation

BINS = 10
RESAMPLES = 1000


class Bin(NamedTuple):
    """Items whose answer has a confidence in a tenth: mean confidence, mean share of votes."""

    low: float
    high: float
    items: int
    confidence: float
    share: float


def distances(scores: Floats, people: Floats) -> Floats:
    """The Jensen–Shannon distance of each item, from 0 (equal) to 1 (nothing in common).

    It is the square root of the divergence with logarithms to base 2, as in ChaosNLI.
    """
    result: Floats = jensenshannon(scores, people, base=2, axis=1)
    # Rounding may leave equal distributions a negative divergence, whose root is NaN.
    return np.nan_to_num(result)


def mean_interval(values: Floats, seed: int) -> Interval:
    """The mean with a bootstrap interval over items."""
    generator = np.random.default_rng(seed)
    drawn = generator.integers(0, len(values), size=(RESAMPLES, len(values)))
    return percentile_interval(float(values.mean()), values[drawn].mean(axis=1), len(values))


def calibration(scores: Floats, people: Floats) -> Iterator[Bin]:
    """The items by the confidence in the model's answer, in ten bins of equal width.

    A bin's `share` is the mean share of people who give the model's answer: with one vote an item,
    the usual accuracy. Empty bins are omitted.

    Args:
        scores: the model's distributions, [items, labels].
        people: the distributions of people's votes, [items, labels].
    """
    answers = scores.argmax(axis=1)
    rows = np.arange(len(scores))
    confidence = scores[rows, answers]
    share = people[rows, answers]
    bin_numbers = (confidence * BINS).astype(np.int64)
    # A confidence of exactly 1 belongs to the last bin.
    bin_numbers = np.minimum(bin_numbers, BINS - 1)
    for number in range(BINS):
        members = bin_numbers == number
        if not members.any():
            continue
        yield Bin(
            low=number / BINS,
            high=(number + 1) / BINS,
            items=int(members.sum()),
            confidence=float(confidence[members].mean()),
            share=float(share[members].mean()),
        )


def calibration_error(scores: Floats, people: Floats) -> float:
    """The expected calibration error (Guo et al. 2017): the mean distance of confidence and share
    over bins, weighted by items."""
    total = 0.0
    for entry in calibration(scores, people):
        total += entry.items * abs(entry.confidence - entry.share)
    return total / len(scores)


def entropy_correlation(scores: Floats, people: Floats, seed: int) -> Interval:
    """Spearman's rank correlation of the entropies of model and people, with a bootstrap interval;
    NaN where one of them is as uncertain about every item."""
    of_people = stats.entropy(people, axis=1).tolist()
    of_model = stats.entropy(scores, axis=1).tolist()
    return correlation("entropy", of_people, of_model, seed).spearman


def within_disagreement(scores: Floats, votes: Floats, seed: int) -> Interval | None:
    """The share of items on which the model is as close to people as another group of people is.

    For each item, groups of as many annotators are drawn from its own with replacement, and the
    model counts as within if its distance to the votes is at most that of 95 % of the groups.
    `votes` [items, labels] are counts. Items whose annotators all agree are left out, because any
    group of them gives the same votes; None if there are no others.
    """
    disputed = (votes > 0).sum(axis=1) > 1
    scores, votes = scores[disputed], votes[disputed]
    if not len(votes):
        return None
    shares = votes / votes.sum(axis=1, keepdims=True)
    # Few combinations of votes occur; each has one limit.
    patterns, pattern_of = np.unique(votes, axis=0, return_inverse=True)
    limits = np.array([_limit(pattern, seed) for pattern in patterns])
    within = distances(scores, shares) <= limits[pattern_of.ravel()]
    return wilson(int(within.sum()), len(within))


def _limit(votes: Floats, seed: int) -> float:
    """The distance to these votes that 95 % of groups drawn from their annotators do not exceed."""
    generator = np.random.default_rng([seed, *votes.astype(np.int64)])
    number = int(votes.sum())
    groups = generator.multinomial(number, votes / number, size=RESAMPLES) / number
    people = np.broadcast_to(votes / number, groups.shape)
    return float(np.quantile(distances(groups, people), 0.95))
