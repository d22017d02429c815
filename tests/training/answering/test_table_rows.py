import os

import pyarrow as pa
import pytest

from adnominal.conf import UserError
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table
from adnominal.training.answering import table_rows as rows
from adnominal.training.answering.table_rows import Columns, Query, read, stage

COLUMNS = Columns("item_id", "edition", "sentence", "modified_sentence")


def items(edition: str, count: int, start: int = 0) -> pa.Table:
    rows = [
        {
            "item_id": f"{at:04}",
            "adjective": "old" if at % 2 else "fake",
            # One row in a hundred has no second text.
            "sentence": f"Thing {at}.",
            "modified_sentence": f"Old thing {at}." if at % 100 != 7 else None,
            "edition": edition,
        }
        for at in range(start, start + count)
    ]
    return pa.Table.from_pylist(rows, schema=table("adept_items").schema)


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    root = os.fspath(tmp_path_factory.mktemp("lake"))
    arrow.append(root, "adept_items", items("clean", 300), job="test")
    arrow.append(root, "adept_items", items("paper", 200), job="test")
    return root


def query(lake: str, version: int = 1, where: str | None = None) -> Query:
    return Query(lake, "adept_items", version, COLUMNS, where)


def staged_chunks(folder, staged) -> list[list[tuple[str, str, str, str]]]:
    parts = [read(folder, at) for at, size in enumerate(staged.sizes) if size]
    return [[tuple(row.values()) for row in part.to_pylist()] for part in parts]


def test_every_row_is_staged_in_one_chunk(lake, tmp_path):
    staged = stage(query(lake), tmp_path / "rows", chunk=100)
    assert sum(staged.sizes) == 495
    assert len(staged.sizes) == 5
    assert staged.left_out == {"no id or no text": 5}
    assert staged.editions == ["clean", "paper"]
    chunk_rows = [row for part in staged_chunks(tmp_path / "rows", staged) for row in part]
    expected = {
        (f"{at:04}", edition, f"Thing {at}.", f"Old thing {at}.")
        for edition, count in (("clean", 300), ("paper", 200))
        for at in range(count)
        if at % 100 != 7
    }
    assert len(chunk_rows) == 495
    assert set(chunk_rows) == expected


def test_chunks_depend_neither_on_row_order_nor_on_files(lake, tmp_path):
    all_staged = stage(query(lake), tmp_path / "a", chunk=100)
    other_lake = os.fspath(tmp_path / "lake")
    both = pa.concat_tables([items("paper", 200), items("clean", 300)])
    shuffled = both.sort_by([("adjective", "descending"), ("item_id", "descending")])
    arrow.append(other_lake, "adept_items", shuffled, job="test")
    other_staged = stage(query(other_lake, version=0), tmp_path / "b", chunk=100)
    assert other_staged.sizes == all_staged.sizes
    assert staged_chunks(tmp_path / "b", other_staged) == staged_chunks(tmp_path / "a", all_staged)


def test_rows_are_filtered_by_condition_and_version(lake, tmp_path):
    filtered = stage(query(lake, where="adjective = 'old' -- odd ones"), tmp_path / "a", chunk=100)
    assert (sum(filtered.sizes), filtered.left_out) == (245, {"no id or no text": 5})
    first_version = stage(query(lake, version=0), tmp_path / "b", chunk=1000)
    assert (first_version.sizes, first_version.editions) == ([297], ["clean"])


def test_a_limited_sample_follows_the_seed(lake, tmp_path):
    samples = []
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        staged = stage(query(lake), tmp_path / name, chunk=1000, seed=seed, limit=60)
        assert staged.left_out["not drawn (limit)"] == 435
        samples.append(staged_chunks(tmp_path / name, staged)[0])
    assert [len(sample) for sample in samples] == [60, 60, 60]
    assert samples[0] == samples[1] != samples[2]
    # A larger sample contains the smaller one.
    more = stage(query(lake), tmp_path / "d", chunk=1000, limit=90)
    assert set(samples[0]) < set(staged_chunks(tmp_path / "d", more)[0])
    assert (
        "not drawn (limit)" not in stage(query(lake), tmp_path / "e", chunk=99, limit=495).left_out
    )


def test_files_of_an_interrupted_start_are_replaced(lake, tmp_path):
    for folder in ("rows", "rows.new"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "000000.arrow").write_text("half")
    staged = stage(query(lake), tmp_path / "rows", chunk=1000)
    assert len(read(tmp_path / "rows", 0)) == staged.sizes[0] == 495
    assert [path.name for path in tmp_path.iterdir()] == ["rows"]


@pytest.mark.parametrize(
    ("version", "where", "message"),
    [
        (1, "adjektive = 'old'", "No field named adjektive"),
        (1, "adjective =", "the query failed"),
        (1, "adjective = 'new'", "no row of version 1 has item_id and sentence"),
        (9, None, "no version 9"),
    ],
)
def test_mistakes_are_reported_before_anything_is_staged(lake, version, where, message):
    with pytest.raises(UserError, match=message):
        rows.check(query(lake, version, where))


def test_a_missing_table_is_reported(tmp_path):
    with pytest.raises(UserError, match="no table adept_items"):
        rows.check(query(os.fspath(tmp_path), 0))
