import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adnominal.analysis import slices
from adnominal.conf import UserError
from adnominal.etl.lake.tables import table
from adnominal.etl.registry import ITEM_TABLES
from tests.rows import rows, write

NAYAK = {"fake", "alleged"}


def test_slices_follow_from_words():
    adjectives = ["Fake", "red", None]
    assert slices.subsectivity(adjectives, NAYAK) == ["non-subsective", "subsective", None]
    assert slices.identity(["Old", "green"], {"old": "age"}) == ["age", "other"]
    assert slices.adjective_class(["fake", "red", "odd"], {"fake": "O", "red": "I"}) == [
        "O",
        "I",
        None,
    ]
    assert slices.by_training_word(["gun", "car", None], ["Gun", None]) == ["seen", "unseen", None]


def test_deciles_of_literal_counts():
    assert slices.frequency_decile([*range(1, 21), 0, None])[:4] == ["1", "1", "2", "2"]
    assert slices.frequency_decile([*range(1, 21), 0, None])[18:] == ["10", "10", "0", "0"]
    assert slices.frequency_decile([0, None]) == ["0", "0"]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=200))
def test_deciles_never_fall_with_counts(counts):
    deciles = [int(str(value)) for value in slices.frequency_decile(counts)]
    for count, value in zip(counts, deciles, strict=True):
        assert (value == 0) == (count == 0) and value <= 10
    pairs = sorted(zip(counts, deciles, strict=True))
    for (a, x), (b, y) in itertools.pairwise(pairs):
        assert x <= y and (a != b or x == y)


@pytest.fixture
def lake(tmp_path):
    pairs = [("web", "red", "car", 7), ("web", "fake", "gun", 2), ("wiki", "red", "car", 1)]
    write(tmp_path, "amod_pairs", rows("corpus adjective noun count", *pairs))
    items = [("1", "car", "mine"), ("2", "gun", "mine"), ("3", "key", "other")]
    write(tmp_path, "adept", rows("item_id noun edition", *items, modifier="red"))
    return str(tmp_path)


def test_counts_of_pairs_are_read_in_any_case(lake):
    counts = slices.pair_counts(
        lake, "web", ["Red", "fake", "red", None], ["car", "gun", "gun", "car"]
    )
    assert counts == [7, 2, 0, None]
    with pytest.raises(UserError, match="corpus=news: no pairs"):
        slices.pair_counts(lake, "news", ["red"], ["car"])


def test_words_of_items_are_in_the_requested_order(lake):
    items = slices.words(lake, "adept", "mine", ["2", "1", "2"])
    assert items.to_pydict() == {"adjective": ["red"] * 3, "noun": ["gun", "car", "gun"]}
    with pytest.raises(UserError, match="1 of 2 items, such as 3, are not in the table adept"):
        slices.words(lake, "adept", "mine", ["1", "3"])
    with pytest.raises(UserError, match="1 of 1 items, such as 1"):
        slices.words(lake, "adept", "nowhere", ["1"])
    with pytest.raises(UserError, match="table=nli: expected one of adept"):
        slices.words(lake, "nli", "mine", ["1"])


def test_every_item_table_has_its_declared_columns():
    for name, items in ITEM_TABLES.items():
        key, columns = items.item, items.words
        assert {key, "edition", *columns.values()} <= set(table(name).schema.names)
