"""Tables that were made before a later column was declared."""

from dataclasses import replace

import pyarrow as pa
import pytest

from adnominal.etl.lake import arrow, upkeep, verify
from adnominal.etl.lake.errors import LakeError
from adnominal.etl.lake.tables import TABLES
from tests.rows import write

PREDICTIONS = TABLES["predictions"]
WITHOUT_STATE = pa.schema([f for f in PREDICTIONS.schema if f.name != "state"])


@pytest.fixture
def old_lake(tmp_path, monkeypatch):
    """A lake whose table predictions has no column state, with two files."""
    root = str(tmp_path / "lake")
    old_tables = {**TABLES, "predictions": replace(PREDICTIONS, schema=WITHOUT_STATE)}
    with monkeypatch.context() as patch:
        for name in old_tables:
            patch.setitem(TABLES, name, old_tables[name])
        for run in ("a", "b"):
            write(root, "predictions", [{"run_id": run, "task": "plane"}])
    assert "state" in TABLES["predictions"].schema.names
    return root


def states(root):
    rows = arrow.read(root, "predictions").to_pylist()
    return sorted((row["run_id"], row["state"]) for row in rows)


def test_the_column_is_null_until_the_next_write_adds_it(old_lake):
    assert states(old_lake) == [("a", None), ("b", None)]
    write(old_lake, "predictions", [{"run_id": "c", "task": "plane", "state": "parsed"}])
    assert states(old_lake) == [("a", None), ("b", None), ("c", "parsed")]
    only_parsed = arrow.read(old_lake, "predictions", where=[("state", "=", "parsed")])
    assert only_parsed["run_id"].to_pylist() == ["c"]
    assert [record.operation for record in arrow.history(old_lake, "predictions", 2)] == [
        *("WRITE", "ADD COLUMN")
    ]
    write(old_lake, "predictions", [{"run_id": "d", "task": "plane"}])
    assert arrow.version(old_lake, "predictions") == 4


def test_old_files_are_verified_and_compacted(old_lake):
    write(old_lake, "predictions", [{"run_id": "c", "task": "plane", "state": "parsed"}])
    assert not verify.verify(old_lake, PREDICTIONS).faults
    upkeep.compact(old_lake, PREDICTIONS)
    assert not verify.verify(old_lake, PREDICTIONS).faults
    assert len(arrow.files(old_lake, "predictions")) == 1
    assert states(old_lake) == [("a", None), ("b", None), ("c", "parsed")]


def test_other_columns_must_be_there(old_lake, monkeypatch):
    fields = [f for f in PREDICTIONS.schema if f.name != "state"]
    more = pa.schema([*fields, pa.field("another", pa.string())])
    monkeypatch.setitem(TABLES, "predictions", replace(PREDICTIONS, schema=more))
    with pytest.raises(LakeError, match=r"missing: another \(string\)"):
        arrow.read(old_lake, "predictions")
