"""Splits are read from columns of the items and from tables of splits."""

import pytest

from adnominal.conf import UserError
from adnominal.etl.checks.split_rows import (
    SplitTables,
    check_complete,
    declared_tables,
    read_parts,
    with_items,
)
from adnominal.etl.registry import DATASETS
from tests.rows import rows, write


def test_the_declarations_name_the_tables_of_a_scheme():
    assert declared_tables(DATASETS["adept"], "noun_disjoint") == SplitTables("adept")
    asp = declared_tables(DATASETS["asp"], "dimension")
    assert asp == SplitTables("asp_degree", "asp_splits", "item_id", "round")
    sygns = declared_tables(DATASETS["sygns"], "productivity")
    assert sygns == SplitTables("sygns", "sygns_splits", "sentence_id", "primitive")


def test_columns_of_the_items_are_one_fold_without_the_rows_outside_the_split(tmp_path):
    lake = str(tmp_path)
    items = rows("item_id split_random", ("a", "train"), ("b", None), ("c", "test"), edition="mine")
    write(lake, "adept", [*items, {**items[0], "edition": "other"}])
    parts = read_parts(lake, SplitTables("adept"), "mine", "random")
    expected = [("a", "train", "-"), ("c", "test", "-")]
    assert sorted(map(tuple, map(dict.values, parts.to_pylist()))) == expected


@pytest.fixture
def lake(tmp_path):
    root = str(tmp_path)
    items = [("a", "red", 1), ("b", "big", 0)]
    write(root, "plane_items", rows("item_id adjective label", *items, edition="mine"))
    splits = [("1", "train", "a"), ("1", "train", "a"), ("1", "test", "b"), ("2", "train", "b")]
    constants = {"scheme": "strict", "edition": "mine"}
    write(
        root, "plane_splits", [{**row, **constants} for row in rows("fold part item_id", *splits)]
    )
    return root


TABLES = SplitTables("plane_items", "plane_splits", fold="fold")


def test_items_that_a_split_lists_twice_are_read_twice(lake):
    parts = read_parts(lake, TABLES, "mine", "strict", "1")
    read = with_items(lake, TABLES, "mine", parts, ["adjective", "label"]).to_pylist()
    found = sorted((row["part"], row["fold"], row["adjective"], row["label"]) for row in read)
    assert found == [("test", "1", "big", 0), ("train", "1", "red", 1), ("train", "1", "red", 1)]
    assert read_parts(lake, TABLES, "mine", "strict").num_rows == 4
    assert read_parts(lake, TABLES, "mine", "one_it").num_rows == 0


def test_items_that_the_lake_lacks_are_dropped_or_refused(lake):
    gone = {"scheme": "strict", "fold": "1", "part": "test", "item_id": "gone", "edition": "mine"}
    write(lake, "plane_splits", [gone])
    parts = read_parts(lake, TABLES, "mine", "strict", "1")
    found = with_items(lake, TABLES, "mine", parts, ["label"])
    assert found.num_rows == 3
    with pytest.raises(UserError, match="plane_items: 2 of the 3 items of plane_splits"):
        check_complete(TABLES, parts, found)
