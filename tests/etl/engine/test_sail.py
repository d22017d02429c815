import gc
import threading
from itertools import groupby
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adnominal.etl.engine import group_arrow, running
from adnominal.etl.engine.groups import groups_of
from adnominal.etl.engine.sail import Sail, sail_location


@given(st.lists(st.integers(0, 4), max_size=30).map(sorted), st.integers(1, 7))
def test_groups_are_the_same_wherever_batches_end(keys, size):
    rows = pa.table({"key": pa.array(keys, pa.int64()), "at": pa.array(range(len(keys)))})
    empty = rows.schema.empty_table().to_batches() or [
        pa.RecordBatch.from_pylist([], schema=rows.schema)
    ]
    batches = [*empty, *rows.to_batches(max_chunksize=size), *empty]
    keys_of_groups = [group.column("key").to_pylist() for group in groups_of(iter(batches), "key")]
    assert keys_of_groups == [list(group) for _, group in groupby(keys)]


def test_a_function_gets_every_group_whole(spark):
    rows = pa.table({"word": [f"w{n % 50}" for n in range(20_000)], "n": list(range(20_000))})

    def total(group: pa.Table) -> pa.Table:
        assert group.column_names == ["word", "n"]
        return pa.table([group["word"][:1], [sum(group["n"].to_pylist())]], names=["word", "n"])

    frame = spark.createDataFrame(rows).repartition(5)
    totals = group_arrow(frame, "word", total, "word string, n long").collect()
    assert {row["word"]: row["n"] for row in totals} == {
        f"w{n}": sum(range(n, 20_000, 50)) for n in range(50)
    }
    assert len(totals) == 50


def test_all_cores_work_even_on_few_groups(spark):
    sail = running()
    assert isinstance(sail, Sail)
    meeting = threading.Barrier(sail.cores)
    arrived: set[int] = set()

    def meet(group: pa.Table) -> pa.Table:
        if (thread := threading.get_ident()) not in arrived:
            arrived.add(thread)
            meeting.wait(timeout=30)
        return group.select(["key"])

    rows = pa.table({"key": [f"file {number}" for number in range(16 * sail.cores)]})
    assert group_arrow(spark.createDataFrame(rows), "key", meet, "key string").count() == len(rows)


def test_groups_of_large_values_are_exchanged_in_files_that_end_with_the_frame(
    spark,
):
    engine = running()
    if not isinstance(engine, Sail):
        pytest.skip("only the embedded engine exchanges files")
    keys = [n % 7 for n in range(1000)]
    values = [bytes([n % 251]) * (n % 50) for n in range(1000)]
    rows = pa.table({"key": pa.array(keys, pa.int32()), "value": values})

    def total(group: pa.Table) -> pa.Table:
        assert group.column_names == ["key", "value"]
        joined = b"".join(sorted(group["value"].to_pylist()))
        return pa.table([group["key"][:1], [joined]], names=["key", "value"])

    frame = spark.createDataFrame(rows).repartition(5)
    grouped = group_arrow(frame, "key", total, "key int, value binary", large=True)
    value_by_key = {row["key"]: bytes(row["value"]) for row in grouped.collect()}
    assert value_by_key == {
        key: b"".join(sorted(v for k, v in zip(keys, values, strict=True) if k == key))
        for key in range(7)
    }
    # Reading the rows again writes the files again.
    assert grouped.count() == 7
    assert list(Path(engine.spill).glob("exchange-*"))
    del grouped
    gc.collect()
    assert not list(Path(engine.spill).glob("exchange-*"))


def test_sail_reads_paths_as_names_and_not_as_patterns():
    assert sail_location("/a/b [1]*") == "file:///a/b%20%5B1%5D%2A"
    assert sail_location("file:///a%20b") == "file:///a%20b"
    assert sail_location("s3a://bucket/a") == "s3://bucket/a"
