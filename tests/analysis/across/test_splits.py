from typing import Any

import pyarrow as pa
import pytest

from adnominal.analysis.across import splits
from adnominal.analysis.estimates import difference, wilson
from adnominal.analysis.slices import by_training_word, words
from adnominal.conf import UserError
from tests.rows import rows, write

RIGHT = pa.table({"gold": list("aabb"), "predicted": list("aaba"), "group": list("wxyz")})
WRONG = pa.table({"gold": list("ab"), "predicted": list("bb"), "group": list("wx")})


def compared(leaking: pa.Table, leak_free: pa.Table) -> tuple[dict[str, Any], dict[str, Any]]:
    """The accuracies and the numbers of rows, by column."""
    sides = (("random", leaking), ("noun_disjoint", leak_free))
    accuracies, sizes = splits.compare_splits("Accuracy", "ADEPT", "ours", *sides)
    name = "ADEPT, ours: random less noun_disjoint"
    assert {row for row, _ in (*accuracies.values, *sizes.values)} == {name}
    return (
        {column: value for (_, column), value in accuracies.values.items()},
        {column: value for (_, column), value in sizes.values.items()},
    )


def test_a_leaking_split_is_compared_with_a_leak_free_one():
    accuracies, sizes = compared(RIGHT, WRONG)
    assert (sizes["rows, leaking"], accuracies["leaking"]) == (4, 0.75)
    assert (accuracies["majority, leak-free"], accuracies["leak-free"]) == (0.5, 0.5)
    without_groups = difference(wilson(3, 4), wilson(1, 2))
    # The interval is wider because it is corrected for the small number of groups.
    interval = accuracies["difference"]
    assert interval.estimate == 0.25 and interval.low < without_groups.low
    assert interval.low < 0 < interval.high and interval.n == 6


def test_answers_of_several_runs_to_an_item_are_one_group():
    accuracies, sizes = compared(pa.concat_tables([RIGHT] * 3), WRONG)
    once, _ = compared(RIGHT, WRONG)
    assert accuracies["difference"].low == pytest.approx(once["difference"].low)
    assert sizes["rows, leaking"] == 12


def test_rows_are_compared_by_words_seen_in_training():
    sides: list[str | None] = ["seen", "seen", "unseen", None]
    accuracies, sizes = splits.seen_and_unseen("PLANE", "ours", RIGHT, "noun", sides)
    name = "PLANE, ours: seen noun less unseen noun"
    assert accuracies.values[name, "leaking"] == 1
    assert sizes.values == {(name, "rows, leaking"): 2, (name, "rows, leak-free"): 1}
    assert not list(splits.seen_and_unseen("PLANE", "ours", RIGHT, "adjective", ["unseen"] * 4))


def test_words_of_the_training_part_are_collected(tmp_path):
    lake = str(tmp_path)
    items = rows(
        "item_id modifier noun split_random",
        ("1", "Red", "car", "train"),
        ("2", "fake", "gun", "train"),
        ("3", "red", "gun", "val"),
        edition="mine",
    )
    write(lake, "adept", items)
    trained = splits.trained_words(lake, "adept", "mine", "random")
    assert trained == {
        "adjective": {"red", "fake"},
        "noun": {"car", "gun"},
        "pair": {"red car", "fake gun"},
    }
    word_lists = splits.word_columns(words(lake, "adept", "mine", ["3"]))
    assert {
        name: by_training_word(column, trained[name]) for name, column in word_lists.items()
    } == {
        "adjective": ["seen"],
        "noun": ["seen"],
        "pair": ["unseen"],
    }
    with pytest.raises(UserError, match="split_noun_disjoint=train: no rows in the table adept"):
        splits.trained_words(lake, "adept", "mine", "noun_disjoint")


def test_plane_also_has_hypernyms_of_a_fold(tmp_path):
    lake = str(tmp_path)
    item: Any = {"adjective": "red", "class": "I", "noun": "car", "edition": "mine"}
    write(lake, "plane_items", rows("item_id hypernym", ("1", "a"), ("2", "b"), **item))
    split: Any = {"scheme": "strict", "fold": "2", "edition": "mine"}
    parts = rows("item_id part", ("1", "train"), ("2", "test"), **split)
    write(lake, "plane_splits", parts)
    fold_words = splits.trained_words(lake, "plane_items", "mine", "strict", "2")
    assert fold_words["hypernym"] == {"a"} and fold_words["pair"] == {"red car"}
    with pytest.raises(UserError, match=r"fold=3 part=train: no rows in .* plane_splits"):
        splits.trained_words(lake, "plane_items", "mine", "strict", "3")
    write(lake, "plane_splits", [{**split, "part": "test", "item_id": "gone"}])
    with pytest.raises(UserError, match="plane_items: 2 of the 3 items of plane_splits"):
        splits.trained_words(lake, "plane_items", "mine", "strict", "2")
