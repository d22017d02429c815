"""Reading labelled predictions and the groups of their items from a lake."""

import pyarrow as pa
import pytest

from adnominal.analysis import predictions
from adnominal.conf import UserError
from adnominal.etl.lake import arrow
from tests.rows import rows as records
from tests.rows import write
from tests.training.answering.test_matrix import rows


def test_groups_are_read_from_the_table_of_items(tmp_path):
    lake = str(tmp_path / "lake")
    items = [("0", "I", "published"), ("1", "O", "published"), ("0", "S", "other")]
    write(lake, "plane_items", records("item_id class edition", *items))
    group_rows = rows([("entailed", "entailed")])
    assert predictions.groups_of(lake, group_rows, "class") == {"0": "I"}
    with pytest.raises(UserError, match="variant: not a column of the tables of plane"):
        predictions.groups_of(lake, group_rows, "variant")


def test_runs_without_labelled_rows_are_refused(tmp_path):
    lake = str(tmp_path / "lake")
    labelled = rows([("entailed", "entailed")], run="one")
    unlabelled = rows([(None, "entailed")], run="two")
    arrow.append(lake, "predictions", pa.concat_tables([labelled, unlabelled]), job="test")
    assert predictions.read_scored(lake, ["one"]).num_rows == 1
    with pytest.raises(UserError, match="runs two: no labelled rows"):
        predictions.read_scored(lake, ["one", "two"])
