"""Rows in a file: read in batches, in slices across batches, and all."""

import pyarrow as pa
import pytest

from adnominal.training.asking.row_file import BATCH, RowFile


@pytest.fixture
def rows():
    numbers = pa.array(range(2 * BATCH + 500))
    table = pa.table({"number": numbers, "text": numbers.cast(pa.string())})
    # In uneven chunks, as the table of an edition with several files.
    return pa.concat_tables([table.slice(0, 700), table.slice(700)])


def test_batches_are_read_in_order_with_the_requested_columns(rows):
    file = RowFile(rows)
    batches = list(file.batches(["text"]))
    assert [batch.num_rows for batch in batches] == [BATCH, BATCH, 500]
    assert pa.Table.from_batches(batches).column("text") == rows.column("text")
    assert (file.num_rows, file.schema) == (rows.num_rows, rows.schema)


@pytest.mark.parametrize(("start", "stop"), [(0, 1), (990, 2010), (BATCH, 2 * BATCH), (2499, 2500)])
def test_a_slice_has_the_rows_between_its_ends(rows, start, stop):
    file = RowFile(rows)
    # Another reading is under way: slices do not disturb it.
    batches = file.batches(["number"])
    next(batches)
    assert file.slice(start, stop) == rows.slice(start, stop - start)
    assert next(batches).column("number")[0].as_py() == BATCH


def test_all_rows_are_read(rows):
    assert RowFile(rows).read() == rows
