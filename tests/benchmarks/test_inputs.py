"""Parts, slices, dumps and texts have the sizes and the layouts that are asked for."""

import bz2
import gzip
import re

import pyarrow.parquet as pq
import pytest

from adnominal.conf import UserError
from benchmarks.inputs import copy_dump, documents_of, make_parts, make_slice, write_texts
from benchmarks.sources import Settings

PAGE = "<page><title>A &amp; B</title><ns>0</ns><revision><text>Old cars.</text></revision></page>"


def test_parts_are_written_once(tmp_path):
    parts = make_parts(tmp_path, 0.2, 2)
    written = [part.stat().st_mtime_ns for part in parts]
    assert make_parts(tmp_path, 0.2, 2) == parts
    assert [part.stat().st_mtime_ns for part in parts] == written
    assert sorted(tmp_path.iterdir()) == parts


def test_a_slice_ends_at_a_sentence_boundary(tmp_path):
    (part,) = make_parts(tmp_path, 0.2, 1)
    content = gzip.decompress(make_slice(part, 0.05).read_bytes())
    assert gzip.decompress(part.read_bytes()).startswith(content)
    assert 40_000 < len(content) <= 50_000 and content.endswith(b"\n\n")


def test_a_dump_is_copied_under_other_titles_in_independent_streams(tmp_path):
    source = tmp_path / "one.xml"
    source.write_text(f"<mediawiki>{PAGE}</mediawiki>")
    dump = copy_dump(str(source), tmp_path / "copies.xml.bz2", 7)
    assert (dump.articles, dump.repeated, dump.words) == (7, 6, 14)
    titles = [document.id for document in documents_of(str(dump.path))]
    assert titles == ["A & B", *(f"A & B ({number})" for number in range(1, 7))]
    content = dump.path.read_bytes()
    assert len(re.findall(rb"BZh9", content)) == 2 + 2
    assert bz2.decompress(content).endswith(b"</mediawiki>\n")


def test_the_demo_has_articles_to_copy(tmp_path):
    dump = copy_dump(Settings().input, tmp_path / "copies.xml.bz2", 2)
    assert dump.articles == 212 == len(documents_of(str(dump.path)))


def test_a_dump_without_articles_is_refused(tmp_path):
    source = tmp_path / "none.xml"
    source.write_text("<page><title>T</title><ns>1</ns></page>")
    with pytest.raises(UserError, match="no article"):
        copy_dump(str(source), tmp_path / "copies.xml.bz2", 2)


def test_texts_have_the_requested_size(tmp_path):
    write_texts(tmp_path / "texts.parquet", 0.2)
    table = pq.read_table(tmp_path / "texts.parquet")
    assert table.column_names == ["text", "id", "url", "token_count"]
    assert sum(len(text.encode()) for text in table["text"].to_pylist()) >= 200_000
    assert len(set(table["id"].to_pylist())) == table.num_rows > 50
