"""Input files: finding, opening, cutting."""

from __future__ import annotations

import bz2
import gzip
import itertools
import os
import pickle
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fsspec
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from conf import UserError
from etl.corpora.decompression import compression_of
from etl.corpora.files import (
    InputFile,
    Unit,
    UnitStream,
    Unreadable,
    _remote_file,
    list_inputs,
    open_input,
    units,
)

TEXT = b"".join(b"line %d of the text\n" % n for n in range(20_000))
NOISE = random.Random(1).randbytes(300_000)


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


COMPRESS: dict[str, Any] = {"gzip": gzip.compress, "bz2": bz2.compress, "zstd": zstd}


def put(path: Path, data: bytes = b"text\n") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return str(path)


def paths(*patterns: str) -> list[str]:
    return [file.path for file in list_inputs(patterns)]


class TestListInputs:
    def test_size_and_time_of_a_path(self, tmp_path):
        path = put(tmp_path / "a.txt", b"12345")
        os.utime(path, (1_600_000_000, 1_600_000_000))
        when = datetime.fromtimestamp(1_600_000_000, UTC)
        assert list_inputs([path]) == [InputFile(path, 5, when)]

    def test_relative_paths_become_absolute(self, tmp_path, monkeypatch):
        path = put(tmp_path / "a.txt")
        monkeypatch.chdir(tmp_path)
        assert paths("a.txt", "./a.txt", "*.txt") == [path]

    def test_globs(self, tmp_path):
        a, b = put(tmp_path / "a1.gz"), put(tmp_path / "deep" / "er" / "a2.gz")
        put(tmp_path / "b.txt")
        assert paths(f"{tmp_path}/**/*.gz") == [a, b]
        assert paths(f"{tmp_path}/a?.gz") == [a]
        assert paths(f"{tmp_path}/[ax]1.gz") == [a]

    def test_a_folder_gives_all_files_below_but_hidden_ones(self, tmp_path):
        a, b = put(tmp_path / "a"), put(tmp_path / "sub" / "b")
        for name in ("_SUCCESS", ".a.crc", "_temporary/x", ".git/x"):
            put(tmp_path / name)
        assert paths(str(tmp_path)) == [a, b]
        assert paths(f"{tmp_path}/**") == [a, b]

    def test_hidden_names_can_be_selected(self, tmp_path):
        path = put(tmp_path / "_odd.txt")
        assert paths(path) == paths(f"{tmp_path}/_*.txt") == [path]

    def test_a_hidden_folder_above_a_glob_hides_nothing(self, tmp_path):
        path = put(tmp_path / ".cache" / "a.txt")
        assert paths(f"{tmp_path}/.cache/*.txt") == [path]

    def test_an_existing_name_is_no_glob(self, tmp_path):
        path = put(tmp_path / "part[1].gz")
        put(tmp_path / "part1.gz")
        assert paths(path) == [path]

    def test_each_file_once_and_sorted(self, tmp_path):
        b, a = put(tmp_path / "b"), put(tmp_path / "a")
        assert paths(b, str(tmp_path), a, f"file://{a}") == [a, b]

    def test_the_index_of_a_dump_is_left_out(self, tmp_path):
        dump = put(tmp_path / "enwiki-pages-articles-multistream1.xml-p1p2.bz2")
        index = put(tmp_path / "enwiki-pages-articles-multistream-index1.txt-p1p2.bz2")
        assert paths(str(tmp_path)) == [dump]
        with pytest.raises(UserError, match="only the index"):
            list_inputs([index])

    @pytest.mark.parametrize("pattern", ["none.gz", "*.gz", "sub"])
    def test_a_pattern_without_files(self, tmp_path, pattern):
        (tmp_path / "sub").mkdir()
        with pytest.raises(UserError, match=pattern.replace("*", r"\*")):
            list_inputs([f"{tmp_path}/{pattern}"])

    def test_no_input(self):
        with pytest.raises(UserError, match="no input"):
            list_inputs([])

    def test_empty_file(self, tmp_path):
        path = put(tmp_path / "a", b"")
        with pytest.raises(UserError, match="is empty"):
            list_inputs([path])

    def test_broken_link(self, tmp_path):
        (tmp_path / "a").symlink_to(tmp_path / "gone")
        with pytest.raises(UserError, match=r"cannot be read|no such file"):
            list_inputs([str(tmp_path)])

    def test_uris(self):
        store = fsspec.filesystem("memory")
        store.pipe({"/corpus/a.txt": b"123", "/corpus/sub/b.txt": b"1", "/corpus/_c": b"1"})
        try:
            both = ["memory:///corpus/a.txt", "memory:///corpus/sub/b.txt"]
            assert paths("memory:///corpus") == both
            assert paths("memory:///corpus/*.txt") == both[:1]
            assert paths("memory:///corpus/**/*.txt") == both
            first = list_inputs([both[0]])[0]
            assert first.bytes == 3
            assert first.modified.tzinfo == UTC
            assert open_input(both[0]).read() == b"123"
            with pytest.raises(UserError, match="no such file"):
                list_inputs(["memory:///none"])
            with pytest.raises(UserError, match="no file found"):
                list_inputs(["memory:///corpus/*.gz"])
            with pytest.raises(Unreadable, match="cannot be opened"):
                open_input("memory:///none")
        finally:
            store.rm("/corpus", recursive=True)

    @pytest.mark.parametrize(
        "when",
        [
            {"LastModified": datetime(2020, 1, 2, 3, tzinfo=UTC)},
            {"mtime": datetime(2020, 1, 2, 3)},
            {"mtime": 1577934000.0},
            {"updated": "2020-01-02T03:00:00.000Z"},
        ],
    )
    def test_the_time_of_a_file_in_each_store(self, when):
        expected = InputFile("s3://b/x", 5, datetime(2020, 1, 2, 3, tzinfo=UTC))
        assert _remote_file("s3://b/x", {"size": 5, **when}) == expected

    def test_a_store_without_time_or_size(self):
        assert _remote_file("http://x", {"size": 5}).modified == datetime(1970, 1, 1, tzinfo=UTC)
        with pytest.raises(UserError, match="does not tell its size"):
            _remote_file("http://x", {"size": None})

    def test_a_missing_backend_is_named(self, monkeypatch):
        def missing(*args, **keywords):
            raise ImportError("Install s3fs to access S3")

        monkeypatch.setattr(fsspec.core, "url_to_fs", missing)
        with pytest.raises(UserError, match=r"s3:// needs a package: .*s3fs"):
            list_inputs(["s3a://bucket/x"])

    def test_unknown_protocol(self):
        with pytest.raises(UserError, match="nonsense"):
            list_inputs(["nonsense://x/y"])


class TestOpenInput:
    @pytest.mark.parametrize(
        ("first", "expected"),
        [
            (gzip.compress(b"a", mtime=0), "gzip"),
            (bz2.compress(b"a"), "bz2"),
            (zstd(b"a"), "zstd"),
            (b"\x50\x2a\x4d\x18....", "zstd"),
            (b"BZhello", "plain"),
            (b"BZh", "plain"),
            (b"", "plain"),
            (b"text", "plain"),
        ],
    )
    def test_compression(self, first, expected):
        assert compression_of(first) == expected

    @pytest.mark.parametrize("kind", COMPRESS)
    def test_all_members_and_padding(self, tmp_path, kind):
        pack = COMPRESS[kind]
        path = put(tmp_path / "misnamed.txt", pack(TEXT) + pack(b"") + pack(NOISE) + b"\0" * 600)
        with open_input(path) as stream:
            assert stream.read() == TEXT + NOISE

    @pytest.mark.parametrize("kind", COMPRESS)
    def test_reading_by_lines_and_into_buffers(self, tmp_path, kind):
        path = put(tmp_path / "a", COMPRESS[kind](TEXT))
        assert b"".join(open_input(path)) == TEXT
        buffer = bytearray(70_001)
        parts = []
        with open_input(path) as stream:
            while count := stream.readinto(buffer):  # type: ignore[attr-defined]
                parts.append(bytes(buffer[:count]))
        assert b"".join(parts) == TEXT

    def test_start(self, tmp_path):
        first = bz2.compress(b"one")
        assert open_input(put(tmp_path / "a", b"0123456"), 3).read() == b"3456"
        both = put(tmp_path / "b", first + bz2.compress(b"2"))
        assert open_input(both, len(first)).read() == b"2"

    @pytest.mark.parametrize("kind", COMPRESS)
    @pytest.mark.parametrize("length", [6, 0.5, -1, -5])
    def test_truncated(self, tmp_path, kind, length):
        complete = COMPRESS[kind](NOISE)
        end = len(complete) // 2 if length == 0.5 else int(length)
        path = put(tmp_path / "a", complete[:end])
        with pytest.raises(Unreadable, match=f"truncated: .* {kind}") as caught:
            open_input(path).read()
        assert caught.value.path == path

    @pytest.mark.parametrize("kind", COMPRESS)
    def test_damaged(self, tmp_path, kind):
        data = bytearray(COMPRESS[kind](NOISE))
        data[len(data) // 2] ^= 0xFF
        with pytest.raises(Unreadable, match=f"damaged {kind} data"):
            open_input(put(tmp_path / "a", bytes(data))).read()

    @pytest.mark.parametrize("kind", COMPRESS)
    def test_only_members_may_follow_a_member(self, tmp_path, kind):
        path = put(tmp_path / "a", COMPRESS[kind](b"text") + b"some trailing words")
        with pytest.raises(Unreadable, match=f"damaged {kind} data"):
            open_input(path).read()

    def test_no_such_file(self, tmp_path):
        with pytest.raises(Unreadable, match="No such file"):
            open_input(str(tmp_path / "none"))

    def test_unreadable_travels_between_processes(self):
        error = pickle.loads(pickle.dumps(Unreadable("a.gz", "truncated")))  # noqa: S301
        assert (error.path, error.reason, str(error)) == ("a.gz", "truncated", "a.gz: truncated")


def input_file(path: str) -> InputFile:
    return list_inputs([path])[0]


STREAMS = [b"<page>%d</page>" % n * 50 for n in range(30)]


class TestUnits:
    def test_small_files_and_archives_are_one_unit(self, tmp_path):
        for name, data in (
            ("plain", b"text"),
            ("a.gz", gzip.compress(NOISE, mtime=0)),
            ("a.zst", zstd(NOISE)),
            ("one-stream.bz2", bz2.compress(NOISE)),
        ):
            file = input_file(put(tmp_path / name, data))
            target = 1000 if name != "plain" else 1 << 20
            assert units(file, "xml", target) == [Unit(file.path, file.bytes, 0, file.bytes)]

    def test_whole_is_never_cut(self, tmp_path):
        file = input_file(put(tmp_path / "a", TEXT))
        assert len(units(file, "whole", 1000)) == 1

    def test_plain_and_multistream_files_are_cut(self, tmp_path):
        plain = input_file(put(tmp_path / "a", TEXT))
        cut = units(plain, "lines", 100_000)
        assert [unit.start for unit in cut] == [0, *[unit.end for unit in cut[:-1]]]
        assert cut[-1].end == plain.bytes
        assert len(cut) == round(plain.bytes / 100_000)
        many = input_file(put(tmp_path / "b", b"".join(map(bz2.compress, STREAMS))))
        assert len(units(many, "xml", 200)) > 5
        assert len(units(many, "lines", 200)) == 1

    def test_unreadable(self, tmp_path):
        with pytest.raises(Unreadable, match="cannot be opened"):
            units(InputFile(str(tmp_path / "none"), 10**9, datetime.now(UTC)), "xml")


class TestUnitStream:
    def test_a_plain_range(self, tmp_path):
        path = put(tmp_path / "a", b"0123456789")
        with UnitStream(Unit(path, 10, 3, 6)) as stream:
            assert (stream.limit, stream.from_start) == (3, False)
            assert stream.read(100) == b"3456789"
        with UnitStream(Unit(path, 10, 6, 10)) as stream:
            assert stream.limit is None

    @given(st.lists(st.integers(0, 5000), max_size=6))
    def test_ranges_of_bz2_streams_cover_each_stream_once(self, tmp_path, borders):
        data = b"".join(map(bz2.compress, STREAMS))
        path = put(tmp_path / "a", data)
        ends = sorted({0, len(data), *(border % len(data) for border in borders)})
        covered = b""
        for start, end in itertools.pairwise(ends):
            with UnitStream(Unit(path, len(data), start, end)) as stream:
                read = stream.read(10**6)
                assert b"".join(STREAMS).endswith(read)
                covered += read if stream.limit is None else read[: stream.limit]
        assert covered == b"".join(STREAMS)

    def test_a_range_without_a_beginning_is_empty(self, tmp_path):
        data = bz2.compress(NOISE)
        path = put(tmp_path / "a", data)
        with UnitStream(Unit(path, len(data), 50, 60)) as stream:
            assert stream.limit == 0
            assert stream.read(10) == b""

    def test_gzip_has_no_ranges(self, tmp_path):
        data = gzip.compress(NOISE, mtime=0)
        with pytest.raises(ValueError, match="no ranges"):
            UnitStream(Unit(put(tmp_path / "a", data), len(data), 5, 10))

    def test_truncated_stream_in_a_range(self, tmp_path):
        data = bz2.compress(b"one") + bz2.compress(NOISE)[:-100]
        path = put(tmp_path / "a", data)
        unit = Unit(path, len(data), 10, len(data))
        with UnitStream(unit) as stream, pytest.raises(Unreadable, match="truncated"):
            stream.read(10**6)
