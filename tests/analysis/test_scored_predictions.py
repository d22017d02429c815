"""Labelled predictions, and groups of their items, from a lake."""

from __future__ import annotations

import pyarrow as pa
import pytest

from analysis import predictions
from conf import UserError
from etl.lake import arrow
from etl.lake.tables import table
from tests.training.scoring.test_matrix import rows


def test_groups_come_from_the_items_table(tmp_path):
    lake = str(tmp_path / "lake")
    items = [
        {"item_id": "0", "class": "I", "edition": "published"},
        {"item_id": "1", "class": "O", "edition": "published"},
        {"item_id": "0", "class": "S", "edition": "other"},
    ]
    schema = table("plane_items").schema
    arrow.append(lake, "plane_items", pa.Table.from_pylist(items, schema=schema), job="test")
    group_rows = rows([("entailed", "entailed")])
    assert predictions.groups_of(lake, group_rows, "class") == {"0": "I"}
    with pytest.raises(UserError, match="variant: not a column of the tables of plane"):
        predictions.groups_of(lake, group_rows, "variant")


def test_runs_are_read_by_their_ids(tmp_path):
    lake = str(tmp_path / "lake")
    labelled = rows([("entailed", "entailed")], run="one")
    unlabelled = rows([(None, "entailed")], run="two")
    arrow.append(lake, "predictions", pa.concat_tables([labelled, unlabelled]), job="test")
    assert predictions.read_scored(lake, ["one"]).num_rows == 1
    with pytest.raises(UserError, match="runs two: no labelled rows"):
        predictions.read_scored(lake, ["one", "two"])
