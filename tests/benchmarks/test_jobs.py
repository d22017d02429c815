from typing import Any

import pyarrow as pa

from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table
from benchmarks import jobs

ROWS: dict[str, list[Any]] = {
    "corpus": ["c", "c"],
    "adjective": ["old", "new"],
    "noun": ["car", "car"],
    "count": [2, 1],
}


def lake_of(folder, rows, name="amod_pairs"):
    data = pa.Table.from_pydict(rows, schema=table(name).schema)
    arrow.append(str(folder), name, data, job="test")
    return folder


def test_the_digest_depends_neither_on_row_order_nor_on_files(tmp_path):
    one_file = lake_of(tmp_path / "one", ROWS)
    two_files = lake_of(tmp_path / "two", {name: values[1:] for name, values in ROWS.items()})
    assert jobs.table_digest(one_file, "amod_pairs") != jobs.table_digest(two_files, "amod_pairs")
    lake_of(two_files, {name: values[:1] for name, values in ROWS.items()})
    assert jobs.table_digest(one_file, "amod_pairs") == jobs.table_digest(two_files, "amod_pairs")
    assert jobs.table_digest(one_file, "dropped") is None


def test_counts_are_read_from_the_table(tmp_path):
    pairs = jobs.pairs_in(lake_of(tmp_path / "lake", ROWS))
    assert pairs == {("old", "car"): 2, ("new", "car"): 1}
