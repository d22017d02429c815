"""Rows of a word by row groups: every place in a file, and no other group is read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from etl.lake.lookup import SortedFiles
from etl.lake.tables import table

NOUNS = ["ash", "ash", "bee", "bee", "bee", "cat", "été"]


@pytest.fixture
def files(tmp_path: Path) -> SortedFiles:
    """One file of row groups of two rows, so that a word goes on from one to the next."""
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
def test_rows_of_a_word(files: SortedFiles, noun: str) -> None:
    expected = [place for place, row_noun in enumerate(NOUNS) if row_noun == noun]
    assert files.rows("f.parquet", noun, ["count"]).column("count").to_pylist() == expected


def test_only_groups_that_may_have_the_word_are_read(
    files: SortedFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []
    original = pq.ParquetFile.read_row_group

    def counted(self: pq.ParquetFile, group: int, *args: object, **options: object) -> pa.Table:
        read.append(group)
        return original(self, group, *args, **options)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", counted)
    files.rows("f.parquet", "bee", ["adjective"])
    assert set(read) == {1, 2}


def test_different_words_with_their_counts(files: SortedFiles) -> None:
    word_lists = [words.to_pylist() for words, _ in files.words("f.parquet", "noun_count")]
    assert word_lists == [["ash"], ["bee"], ["bee", "cat"], ["été"]]
