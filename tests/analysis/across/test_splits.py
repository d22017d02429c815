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


def test_a_leaking_split_is_compared_with_a_leak_free_one():
    row = splits.split_rows("adept", "ours", ("random", RIGHT), ("noun_disjoint", WRONG))
    assert (row["leaking"], row["leaking_rows"], row["leaking_accuracy"]) == ("random", 4, 0.75)
    assert (row["leak_free_majority"], row["leak_free_accuracy"]) == (0.5, 0.5)
    without_groups = difference(wilson(3, 4), wilson(1, 2))
    # The interval is wider because it is corrected for the small number of groups.
    assert row["difference"] == 0.25 and row["low"] < without_groups.low
    assert row["low"] < 0 < row["high"]


def test_answers_of_several_runs_to_an_item_are_one_group():
    def row(answers):
        return splits.split_rows("adept", "ours", ("random", answers), ("noun_disjoint", WRONG))

    thrice = pa.concat_tables([RIGHT] * 3)
    assert row(thrice)["low"] == pytest.approx(row(RIGHT)["low"])
    assert row(thrice)["leaking_rows"] == 12


def test_rows_are_compared_by_words_seen_in_training():
    sides: dict[str, list[str | None]] = {
        "noun": ["seen", "seen", "unseen", None],
        "adjective": ["unseen"] * 4,
    }
    (row,) = splits.seen_rows("plane", "ours", RIGHT, sides)
    assert (row["leaking"], row["leaking_rows"], row["leaking_accuracy"]) == ("seen noun", 2, 1)
    assert (row["leak_free"], row["leak_free_rows"]) == ("unseen noun", 1)


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
    findings = splits.split_words(lake, "plane_items", "mine", "strict", "2")
    assert findings.known_rows["train", "test", "hypernym"] == 0
    assert findings.known_rows["train", "test", "pair"] == 1
    with pytest.raises(UserError, match=r"fold=3 part=train: no rows in .* plane_splits"):
        splits.trained_words(lake, "plane_items", "mine", "strict", "3")
    write(lake, "plane_splits", [{**split, "part": "test", "item_id": "gone"}])
    with pytest.raises(UserError, match="plane_items: 2 of the 3 items of plane_splits"):
        splits.trained_words(lake, "plane_items", "mine", "strict", "2")
