import numpy as np
import pytest

from adnominal.etl.plane.units import TooFewUnits, draw_adjectives, pair_weights, rank_in_group
from tests.etl.plane.pools import pool


def weights(shape: dict[int, float], max_weights: list[int], target: int) -> list[int]:
    result: list[int] = pair_weights(shape, np.array(max_weights), target, "train").tolist()
    return result


def test_weights_have_the_proportions_of_the_shape():
    assert weights({1: 2, 2: 1}, [5, 5, 5], 4) == [2, 1, 1]
    assert weights({1: 2, 2: 1}, [1, 2, 1, 2, 1, 1], 8) == [1, 2, 1, 2, 1, 1]


def test_units_that_no_heavy_pair_takes_go_to_lighter_ones():
    assert weights({1: 1, 4: 1}, [1, 1, 1, 3], 6) == [1, 1, 1, 3]
    assert weights({1: 2, 2: 1}, [5, 5], 9) == [5, 4]


def test_a_target_beyond_the_maxima_is_refused():
    with pytest.raises(TooFewUnits) as error:
        weights({1: 1}, [2, 3], 6)
    assert (error.value.part, error.value.available) == ("train", 5)


def test_ranks_follow_the_keys_within_a_group():
    keys = np.array([5, 1, 4, 2, 9], np.uint64)
    assert rank_in_group(np.array([7, 3, 7, 3, 7]), keys).tolist() == [1, 0, 0, 1, 2]


def test_a_unit_has_its_number_of_allowed_adjectives_of_each_class():
    classes = [("i0", "I"), ("i1", "I"), ("o0", "O"), ("o1", "O"), ("o2", "O"), ("s0", "S")]
    words = [word for word, _ in classes]
    drawn_pool = pool({"n": words, "m": words}, {"n": ["x"], "m": ["x"]}, classes)
    allowed = np.array([word != "i0" for word in words])
    salt = np.uint64(1)
    nouns = np.array([0, 1])
    draws = draw_adjectives(drawn_pool, allowed, nouns, np.array([1, 0]), (1, 1, 2), salt)
    adjectives = [words[number] for number in draws.adjective]
    assert set(draws.place) == {0} and len(set(adjectives)) == len(adjectives) == 4
    assert sorted(word[0] for word in adjectives) == ["i", "o", "o", "s"]
    assert "i0" not in adjectives
