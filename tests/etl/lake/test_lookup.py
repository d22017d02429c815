"""The rows of a word are read from the row groups that may have it."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adnominal.etl.lake.lookup import SortedFiles
from adnominal.etl.lake.tables import table

NOUNS = ["ash", "ash", "bee", "bee", "bee", "cat", "été"]


@pytest.fixture
def files(tmp_path: Path) -> SortedFiles:
    """One file with row groups of two rows, so that words extend over several groups."""
    schema = table("amod_association").schema
    names = ["adjective", "noun", "count", "noun_count"]
    rows = pa.table(
        [[f"a{n}" for n in range(len(NOUNS))], NOUNS, range(len(NOUNS)), [7] * len(NOUNS)],
        schema=pa.schema([schema.field(name) for name in names]),
    )
    (tmp_path / "amod_association").mkdir()
    pq.write_table(rows, tmp_path / "amod_association" / "f.parquet", row_group_size=2)
    return SortedFiles(str(tmp_path), "amod_association", "noun", ["adjective", "count"])


@pytest.mark.parametrize("noun", [*sorted(set(NOUNS)), "aaa", "bat", "zoo", ""])
def test_all_rows_of_a_word_are_found(files, noun):
    expected = [place for place, row_noun in enumerate(NOUNS) if row_noun == noun]
    assert files.rows("f.parquet", noun, ["count"]).column("count").to_pylist() == expected


def test_only_groups_that_may_have_the_word_are_read(files, monkeypatch):
    groups = []
    original = pq.ParquetFile.read_row_group

    def count_reads(self: pq.ParquetFile, group: int, *args: object, **options: object) -> pa.Table:
        groups.append(group)
        return original(self, group, *args, **options)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", count_reads)
    files.rows("f.parquet", "bee", ["adjective"])
    assert set(groups) == {1, 2}


def test_distinct_words_are_listed_by_row_group(files):
    word_lists = [words.to_pylist() for words, _ in files.words("f.parquet", "noun_count")]
    assert word_lists == [["ash"], ["bee"], ["bee", "cat"], ["été"]]
