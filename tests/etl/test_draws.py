"""Draws depend only on seed and key, and are even."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from adnominal.etl.draws import Order, choose, content_hash, draw, fraction, rank


def test_draws_depend_on_seed_and_key():
    assert rank(0, "a", "b") == rank(0, "a", "b")
    assert len({rank(0, "a"), rank(1, "a"), rank(0, "b"), rank(0, "a", "b")}) == 4
    assert content_hash("a", "b") != content_hash("ab", "")


@given(st.integers(0, 50), st.integers(0, 60), st.integers())
def test_choices_are_distinct_numbers_below_the_size(size, count, seed):
    choices = choose(seed, size, count, "key")
    assert len(choices) == min(size, count) == len(set(choices))
    assert all(0 <= number < size for number in choices)


def test_choices_are_even():
    counts = Counter(number for seed in range(3000) for number in choose(seed, 6, 3, "key"))
    assert all(1350 < counts[number] < 1650 for number in range(6))


@given(st.integers(), st.text())
def test_ranks_and_fractions_are_in_the_order_of_draws(seed, key):
    assert rank(seed, key) == draw(seed, key) >> 1 < 2**63
    assert 0 <= fraction(seed, key) <= 1
    assert fraction(seed, key) == rank(seed, key) / 2**63


@given(st.integers(1, 300), st.integers())
def test_an_order_has_every_number_once(size, seed):
    order = Order(size, seed, "key")
    assert sorted(order[k] for k in range(size)) == list(range(size))
