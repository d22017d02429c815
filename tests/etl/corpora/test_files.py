"""Input files are opened, decompressed and divided into units."""

import bz2
import gzip
import itertools
import lzma
import pickle
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from adnominal.etl.corpora.decompression import compression_of
from adnominal.etl.corpora.files import Unit, UnitStream, Unreadable, open_input, units
from adnominal.etl.corpora.inputs import InputFile, list_inputs

TEXT = b"".join(b"line %d of the text\n" % n for n in range(20_000))
NOISE = random.Random(1).randbytes(300_000)


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


COMPRESS: dict[str, Any] = {"gzip": gzip.compress, "bz2": bz2.compress, "zstd": zstd}


def put(path: Path, data: bytes = b"text\n") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return str(path)


class TestOpenInput:
    @pytest.mark.parametrize(
        ("first", "expected"),
        [
            (gzip.compress(b"a", mtime=0), "gzip"),
            (bz2.compress(b"a"), "bz2"),
            (zstd(b"a"), "zstd"),
            (b"\x50\x2a\x4d\x18....", "zstd"),
            (lzma.compress(b"a"), "xz"),
            (b"PK\x03\x04\x14", "zip"),
            (b"\x04\x22\x4d\x18\x64", "lz4"),
            (b"BZhello", "plain"),
            (b"BZh", "plain"),
            (b"", "plain"),
            (b"text", "plain"),
        ],
    )
    def test_the_compression_is_recognised_by_the_first_bytes(self, first, expected):
        assert compression_of(first) == expected

    @pytest.mark.parametrize("kind", COMPRESS)
    def test_all_members_are_read_and_padding_is_skipped(self, tmp_path, kind):
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
            while count := stream.readinto(buffer):
                parts.append(bytes(buffer[:count]))
        assert b"".join(parts) == TEXT

    @pytest.mark.parametrize("kind", COMPRESS)
    @pytest.mark.parametrize("length", [6, 0.5, -1, -5])
    def test_truncated_files_are_unreadable(self, tmp_path, kind, length):
        complete = COMPRESS[kind](NOISE)
        end = len(complete) // 2 if length == 0.5 else int(length)
        path = put(tmp_path / "a", complete[:end])
        with pytest.raises(Unreadable, match=f"truncated: .* {kind}") as error:
            open_input(path).read()
        assert error.value.path == path

    @pytest.mark.parametrize("kind", COMPRESS)
    def test_damaged_files_are_unreadable(self, tmp_path, kind):
        data = bytearray(COMPRESS[kind](NOISE))
        data[len(data) // 2] ^= 0xFF
        with pytest.raises(Unreadable, match=f"damaged {kind} data"):
            open_input(put(tmp_path / "a", bytes(data))).read()

    @pytest.mark.parametrize("kind", COMPRESS)
    def test_only_members_may_follow_a_member(self, tmp_path, kind):
        path = put(tmp_path / "a", COMPRESS[kind](b"text") + b"some trailing words")
        with pytest.raises(Unreadable, match=f"damaged {kind} data"):
            open_input(path).read()

    @pytest.mark.parametrize("kind", COMPRESS)
    def test_files_that_were_compressed_twice_are_unreadable(self, tmp_path, kind):
        path = put(tmp_path / "a", COMPRESS[kind](gzip.compress(TEXT)))
        with pytest.raises(Unreadable, match="compressed twice"):
            open_input(path)

    def test_other_compressions_are_refused(self, tmp_path):
        path = put(tmp_path / "a.txt.xz", lzma.compress(NOISE))
        with pytest.raises(Unreadable, match="xz data; expected gz, bz2, zst"):
            open_input(path)
        assert len(units(input_file(path), "lines", 1000)) == 1

    def test_a_missing_file_is_unreadable(self, tmp_path):
        with pytest.raises(Unreadable, match="No such file"):
            open_input(str(tmp_path / "none"))

    def test_the_error_can_be_pickled(self):
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

    def test_files_to_be_read_whole_are_one_unit(self, tmp_path):
        file = input_file(put(tmp_path / "a", TEXT))
        assert len(units(file, "whole", 1000)) == 1

    def test_plain_and_multistream_files_have_several_units(self, tmp_path):
        plain = input_file(put(tmp_path / "a", TEXT))
        parts = units(plain, "lines", 100_000)
        assert [unit.start for unit in parts] == [0, *[unit.end for unit in parts[:-1]]]
        assert parts[-1].end == plain.bytes
        assert len(parts) == round(plain.bytes / 100_000)
        multistream = input_file(put(tmp_path / "b", b"".join(map(bz2.compress, STREAMS))))
        assert len(units(multistream, "xml", 200)) > 5
        assert len(units(multistream, "lines", 200)) == 1

    def test_a_file_that_is_gone_is_unreadable(self, tmp_path):
        with pytest.raises(Unreadable, match="cannot be opened"):
            units(InputFile(str(tmp_path / "none"), 10**9, datetime.now(UTC)), "xml")


class TestUnitStream:
    def test_a_range_of_a_plain_file(self, tmp_path):
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
                data_of_range = stream.read(10**6)
                assert b"".join(STREAMS).endswith(data_of_range)
                covered += data_of_range if stream.limit is None else data_of_range[: stream.limit]
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

    def test_a_truncated_stream_in_a_range_is_unreadable(self, tmp_path):
        data = bz2.compress(b"one") + bz2.compress(NOISE)[:-100]
        path = put(tmp_path / "a", data)
        unit = Unit(path, len(data), 10, len(data))
        with UnitStream(unit) as stream, pytest.raises(Unreadable, match="truncated"):
            stream.read(10**6)
