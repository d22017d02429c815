"""Scores of models beside the distribution of people's labels, on literal distributions."""

import math

import numpy as np
import pytest

from adnominal.analysis import uncertainty

PEOPLE = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.75, 0.25]])


def test_distances_are_zero_for_equal_and_one_for_disjoint_distributions():
    assert uncertainty.distances(PEOPLE, PEOPLE).tolist() == [0, 0, 0, 0]
    assert uncertainty.distances(PEOPLE[:1], PEOPLE[2:3]).tolist() == [1.0]
    # By hand: the mixture of (1, 0) and (1/2, 1/2) is (3/4, 1/4).
    divergence = (math.log2(4 / 3) + 0.5 * math.log2(2 / 3) + 0.5 * math.log2(2)) / 2
    (distance,) = uncertainty.distances(PEOPLE[:1], PEOPLE[1:2])
    assert distance == pytest.approx(math.sqrt(divergence))


def test_calibration_compares_confidence_with_the_share_of_votes_for_the_answer():
    scores = np.array([[0.95, 0.05], [0.91, 0.09], [0.4, 0.6], [1.0, 0.0]])
    bins = list(uncertainty.calibration(scores, PEOPLE))
    assert [(b.low, b.items) for b in bins] == [(0.6, 1), (0.9, 3)]
    assert bins[0].confidence == pytest.approx(0.6)
    assert bins[0].share == 1.0
    # The highest bin includes a confidence of 1.
    assert bins[1].share == pytest.approx((1 + 0.5 + 0.75) / 3)
    confidence = (0.95 + 0.91 + 1) / 3
    expected = (1 * 0.4 + 3 * abs(confidence - 0.75)) / 4
    assert uncertainty.calibration_error(scores, PEOPLE) == pytest.approx(expected)


def test_people_are_perfectly_calibrated_and_as_uncertain_as_people():
    assert uncertainty.calibration_error(PEOPLE, PEOPLE) == 0
    interval = uncertainty.entropy_correlation(PEOPLE, PEOPLE, seed=0)
    assert interval.estimate == pytest.approx(1)
    assert interval.n == 4
    certain = np.array([[1.0, 0.0]] * 4)
    assert math.isnan(uncertainty.entropy_correlation(certain, PEOPLE, seed=0).estimate)


def test_a_model_is_within_disagreement_where_another_group_of_people_might_be():
    votes = np.array([[5.0, 5.0], [9.0, 1.0], [10.0, 0.0]])
    # Of ten people drawn from five and five, three or seven are usual, none is not.
    scores = np.array([[0.4, 0.6], [0.1, 0.9], [0.5, 0.5]])
    within = uncertainty.within_disagreement(scores, votes, seed=0)
    assert within is not None
    # The last item has no disagreement and does not count.
    assert (within.estimate, within.n) == (0.5, 2)
    assert uncertainty.within_disagreement(scores[2:], votes[2:], seed=0) is None


def test_the_interval_of_a_mean_surrounds_it():
    interval = uncertainty.mean_interval(np.array([0.0, 1.0, 0.0, 1.0]), seed=0)
    assert interval.low < 0.5 == interval.estimate < interval.high
    assert interval.n == 4
