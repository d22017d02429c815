"""Rows that tasks compute and write themselves."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adnominal.etl.lake import arrow, blocks, staging
from adnominal.etl.lake.blocks import Blocks, frame_of
from adnominal.etl.lake.errors import LakeFailed
from adnominal.etl.lake.tables import TABLES
from tests.etl.lake.compare import assert_same_rows

SCHEMA = TABLES["amod_pairs"].schema


def rows(batches):
    """A pair of each number for each of two corpora, with words as dictionaries."""
    for batch in batches:
        numbers = batch.column(0).to_pylist()
        for corpus in ("de", "u k"):
            yield pa.table(
                {
                    "corpus": pa.array([corpus] * len(numbers)).dictionary_encode(),
                    "adjective": pa.array([f"a{n % 3}" for n in numbers]).dictionary_encode(),
                    "noun": [f"n{n}" for n in numbers],
                    "count": numbers,
                }
            )


def expected_rows(numbers):
    return pa.Table.from_pylist(
        [
            {"corpus": corpus, "adjective": f"a{n % 3}", "noun": f"n{n}", "count": n}
            for corpus in ("de", "u k")
            for n in numbers
        ],
        SCHEMA,
    )


@pytest.mark.parametrize("parts", [1, 3])
def test_tasks_write_the_rows_they_compute(lake, spark, parts):
    commit = lake.append("amod_pairs", Blocks(spark.range(0, 50, 1, parts), rows), job="test")
    assert commit.rows == 100
    assert_same_rows(arrow.read(lake.root, "amod_pairs"), expected_rows(range(50)))
    assert_same_rows(lake.read("amod_pairs").toArrow(), expected_rows(range(50)))


def test_an_engine_that_writes_frames_gets_the_same_rows(spark):
    frame = frame_of(Blocks(spark.range(0, 50, 1, 3), rows), TABLES["amod_pairs"])
    assert_same_rows(frame.toArrow(), expected_rows(range(50)))


def test_tasks_can_replace_a_partition(lake, spark):
    def german_rows(batches):
        for table in rows(batches):
            if table["corpus"][0].as_py() == "de":
                yield table

    lake.append("amod_pairs", Blocks(spark.range(9), rows), job="test")
    lake.replace("amod_pairs", Blocks(spark.range(3), german_rows), {"corpus": "de"}, job="test")
    german = arrow.read(lake.root, "amod_pairs", where=[("corpus", "=", "de")])
    assert sorted(german["count"].to_pylist()) == [0, 1, 2]
    assert arrow.read(lake.root, "amod_pairs").num_rows == 12


def test_words_are_dictionaries_in_the_file_and_text_in_the_table(plain_lake, spark):
    plain_lake.append("amod_pairs", Blocks(spark.range(20).coalesce(1), rows), job="test")
    (path, *_) = [
        Path(plain_lake.root, "amod_pairs", file.path)
        for file in arrow.files(plain_lake.root, "amod_pairs")
    ]
    group = pq.read_metadata(path).row_group(0)
    encodings = {
        group.column(at).path_in_schema: group.column(at).encodings
        for at in range(group.num_columns)
    }
    assert "RLE_DICTIONARY" in encodings["adjective"]
    assert "RLE_DICTIONARY" not in encodings["noun"]
    assert pq.read_schema(path).field("adjective").type == pa.string()


@pytest.mark.parametrize(
    ("words", "has_range"), [(["a", "a", "b"], True), (["b", "a", "b"], False), ([], True)]
)
def test_only_sorted_dictionaries_have_a_range(words, has_range):
    coded = pa.DictionaryArray.from_arrays(
        pa.array([["a", "b"].index(word) for word in words], pa.int32()), pa.array(["a", "b"])
    )
    assert blocks.says_a_range(pa.chunked_array([coded])) == has_range
    assert blocks.says_a_range(pa.chunked_array([coded.cast(pa.string())]))


def test_a_slice_keeps_only_its_own_words_in_order():
    words = pa.array(["a", "b", "c", "d"])
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 3, 1, 1, 2], pa.int32()), words)
    rows = pa.table({"word": coded, "count": [1, 2, 3, 4, 5]}).slice(1, 3)
    sliced = blocks.needed_words(rows)
    assert sliced["word"].chunk(0).dictionary.to_pylist() == ["b", "d"]
    assert sliced.to_pylist() == rows.to_pylist()


def test_files_of_a_failed_attempt_are_not_in_the_table(plain_lake, spark, monkeypatch):
    """An attempt that fails after it has written leaves a file that Spark does not name."""
    collect = staging.collect

    def with_a_stray_file(filesystem, declared, staged):
        (file_path, *_) = staged.paths
        folder = file_path.rpartition("/")[0]
        with filesystem.open_output_stream(f"{folder}/part-of-another-attempt.parquet") as stream:
            pq.write_table(pa.table({"adjective": ["x"], "noun": ["y"], "count": [1]}), stream)
        return collect(filesystem, declared, staged)

    monkeypatch.setattr(staging, "collect", with_a_stray_file)
    plain_lake.append("amod_pairs", Blocks(spark.range(5), rows), job="test")
    assert_same_rows(arrow.read(plain_lake.root, "amod_pairs"), expected_rows(range(5)))
    assert not list(Path(plain_lake.root).rglob("part-of-another-attempt.parquet"))


def test_a_missing_file_fails_the_write(plain_lake, spark, monkeypatch):
    collect = staging.collect

    def without_a_file(filesystem, declared, staged):
        filesystem.delete_file(sorted(staged.paths)[0])
        return collect(filesystem, declared, staged)

    monkeypatch.setattr(staging, "collect", without_a_file)
    with pytest.raises(LakeFailed, match="files are missing"):
        plain_lake.append("amod_pairs", Blocks(spark.range(5), rows), job="test")
    assert not plain_lake.exists("amod_pairs")


def test_rows_of_another_schema_are_refused(lake, spark):
    def wrong(batches):
        for table in rows(batches):
            yield table.set_column(3, "count", table["count"].cast(pa.float64()))

    with pytest.raises(Exception, match="count is double, declared int64"):
        lake.append("amod_pairs", Blocks(spark.range(5), wrong), job="test")
    assert not lake.exists("amod_pairs")


def test_replacing_by_no_rows_is_refused(lake, spark):
    with pytest.raises(LakeFailed, match="no rows"):
        lake.replace("amod_pairs", Blocks(spark.range(0), rows), {"corpus": "de"}, job="test")


def test_batches_for_spark_are_bounded_in_rows_and_bytes():
    small = pa.table({"word": ["a"] * 25_000})
    assert [piece.num_rows for piece in blocks._pieces(small)] == [10_000, 10_000, 5_000]
    large = pa.table({"word": ["a" * (5 << 20)] * 7})
    assert [piece.num_rows for piece in blocks._pieces(large)] == [3, 3, 1]
    assert blocks._pieces(small.slice(0, 0)) == []
