"""Plain text and JSON lines: documents, rejections and units."""

import bz2
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from adnominal.etl.corpora import text
from adnominal.etl.corpora.documents import Document, Event, LeftOut, Rejected
from adnominal.etl.corpora.files import Unit, Unreadable, units
from adnominal.etl.corpora.inputs import list_inputs
from adnominal.etl.corpora.text import is_json_lines, read_unit


def events(path: Path, data: bytes, **settings_: Any) -> list[Event]:
    path.write_bytes(data)
    return list(read_unit(Unit(str(path), len(data), 0, len(data)), **settings_))


@pytest.fixture
def plain_parts(tmp_path):
    return lambda data: events(tmp_path / "a.txt", data)


@pytest.fixture
def lines(tmp_path):
    return lambda data, **settings_: events(tmp_path / "a.jsonl", data, **settings_)


def texts(events: list[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Document)]


def faults(events: list[Event]) -> list[tuple[str, int | None, int | None]]:
    return [(e.reason, e.line, e.offset) for e in events if isinstance(e, Rejected)]


class TestPlainText:
    def test_a_block_is_a_document_and_a_line_a_paragraph(self, plain_parts, tmp_path):
        path = tmp_path / "a.txt"
        assert plain_parts(b"One  sea.\nTwo\tseas.\n \t\n\n Three seas.") == [
            Document(f"{path}#byte=0", "One sea.\nTwo seas."),
            Document(f"{path}#byte=24", "Three seas."),
        ]

    @pytest.mark.parametrize("blank", ["\u3000", "\u00a0 \t", "\v", "\x1c", "\u2028", "\ufeff"])
    def test_a_line_of_any_white_space_ends_a_document(self, plain_parts, lines, blank):
        assert texts(plain_parts(f"One.\n{blank}\nTwo.".encode())) == ["One.", "Two."]
        assert texts(lines(f'{{"text": "One."}}\n{blank}\n'.encode())) == ["One."]
        assert not faults(lines(f"{blank}\n".encode()))

    def test_line_ends_and_byte_order_marks_are_removed(self, plain_parts, tmp_path):
        documents = plain_parts(b"\xef\xbb\xbfOne.\r\nTwo.\r\n\r\nThree.\r\n")
        assert texts(documents) == ["One.\nTwo.", "Three."]
        assert documents[0].id == f"{tmp_path}/a.txt#byte=3"

    def test_texts_are_in_normal_form_c(self, plain_parts):
        assert texts(plain_parts("cafe\u0301\n".encode())) == ["café"]

    def test_wrapped_lines_are_joined(self, plain_parts):
        wrapped = (
            b"The old man looked at the wide sea and he saw that it was a well-\n"
            b"known sea, on which the many small boats of the people of the town\n"
            b"had gone out.\n"
        )
        assert texts(plain_parts(wrapped)) == [
            "The old man looked at the wide sea and he saw that it was a well-known sea, on which "
            "the many small boats of the people of the town had gone out."
        ]

    def test_lines_that_end_early_are_not_joined(self, plain_parts):
        sentences = (
            b"The old man looked at the wide sea and he saw it.\nIt was old.\n"
            b"The many small boats of the people of the town had gone out.\n"
        )
        assert texts(plain_parts(sentences))[0].count("\n") == 2

    def test_a_bad_line_rejects_its_block(self, plain_parts):
        documents = plain_parts(b"One.\n\nTwo\ncaf\xe9\nthree.\n\nFour\0.\n\nFive.\n")
        assert texts(documents) == ["One.", "Five."]
        assert faults(documents) == [("invalid_utf8", 4, 10), ("nul", 7, 23)]
        assert [e.sample for e in documents if isinstance(e, Rejected)] == ["caf\\xe9", "Four\\0."]

    def test_a_blank_file_has_no_documents(self, plain_parts):
        assert plain_parts(b"\n \n\r\n") == []

    def test_long_blocks_are_split_at_lines(self, plain_parts, tmp_path, monkeypatch):
        monkeypatch.setattr(text, "MAX_CHARACTERS", 20)
        documents = plain_parts(b"One sea.\nTwo seas.\nThree seas.\n")
        assert texts(documents) == ["One sea.\nTwo seas.", "Three seas."]
        assert [e.id.partition("#")[2] for e in documents] == ["byte=0", "byte=19"]

    def test_long_lines_are_split_at_sentences_or_rejected(self, plain_parts):
        documents = plain_parts(
            b"It is so. " * 150_000 + b"\n\n" + b"x" * 1_500_000 + b"\n\nEnd.\n"
        )
        assert [len(t) <= 1_000_000 for t in texts(documents)] == [True, True, True]
        assert sum(t.count("so.") for t in texts(documents)) == 150_000
        assert faults(documents) == [("too_long", 3, 1_500_002)]

    def test_very_long_lines_are_rejected_in_bounded_memory(self, plain_parts, monkeypatch):
        monkeypatch.setattr(text, "MAX_LINE_BYTES", 2000)
        monkeypatch.setattr(text, "_BLOCK", 256)
        documents = plain_parts(b"One.\n\n" + b"long " * 5000 + b"\n\nTwo.\n")
        assert texts(documents) == ["One.", "Two."]
        assert faults(documents) == [("line_too_long", 3, 6)]

    @pytest.mark.parametrize("before", range(0, 2000, 400))
    def test_a_long_line_is_rejected_wherever_it_begins(self, plain_parts, monkeypatch, before):
        monkeypatch.setattr(text, "MAX_LINE_BYTES", 1000)
        monkeypatch.setattr(text, "_BLOCK", 256)
        for end in (b"", b"\n"):
            documents = plain_parts(b"a \n" * (before // 3) + b"\n" + b"long " * 300 + end)
            assert [fault[0] for fault in faults(documents)] == ["line_too_long"]

    @pytest.mark.parametrize(
        "pack", [gzip.compress, bz2.compress, zstandard.ZstdCompressor().compress]
    )
    def test_compressed_files_are_read(self, plain_parts, pack):
        assert texts(plain_parts(pack(b"One.\n\nTwo.\n"))) == ["One.", "Two."]

    def test_a_truncated_file_is_unreadable(self, plain_parts):
        with pytest.raises(Unreadable, match="truncated"):
            plain_parts(gzip.compress(b"One.\n\nTwo.\n")[:-3])


class TestJsonLines:
    def test_json_lines_are_recognised_by_their_names(self):
        for name in ("a.jsonl", "a.ndjson.gz", "s3://b/a.JSON.zst", "a.json"):
            assert is_json_lines(name)
        for name in ("a.txt", "jsonl", "a.jsonl/b.txt", "a.json.txt.gz"):
            assert not is_json_lines(name)

    def test_documents_are_named_by_id_url_title_or_place(self, lines, tmp_path):
        rows = [
            {"text": "One.", "id": 7, "url": "u"},
            {"text": "Two.", "id": "", "url": "http://x"},
            {"text": "Three.\r\n\r\nfour.", "title": "T"},
            {"text": "Five.", "id": None},
        ]
        data = "\r\n".join(map(json.dumps, rows)).encode()
        place = data.index(b'{"text": "Five')
        assert lines(b"\xef\xbb\xbf" + data + b"\n\n") == [
            Document("7", "One."),
            Document("http://x", "Two."),
            Document("T", "Three.\nfour."),
            Document(f"{tmp_path}/a.jsonl#byte={place + 3}", "Five."),
        ]

    def test_the_field_of_the_text_can_be_set(self, lines):
        assert texts(lines(b'{"body": "One."}\n', text_field="body")) == ["One."]

    def test_bad_lines_are_rejected_with_a_reason(self, lines):
        rows = [
            (b'{"text": "Good."}', None),
            (b'{"text": "cut', "bad_json"),
            (b'["text"]', "bad_json"),
            (b'{"text": "One.", "text": "Two."}', "bad_json"),
            (b'{"Text": "x"}', "no_field"),
            (b'{"text": 5}', "not_text"),
            (b'{"text": "caf\xe9"}', "invalid_utf8"),
            (b'{"text": "a\0b"}', "nul"),
            (b'{"text": "a\\u0000b"}', "nul"),
            (b'{"text": "\\ud800"}', "invalid_unicode"),
            (b'{"text": " \\n "}', None),
            (b"[" * 100_000, "bad_json"),
            (b'{"text": "Last."}', None),
        ]
        documents = lines(b"\n".join(row for row, _ in rows))
        assert texts(documents) == ["Good.", "Last."]
        rejected = [(reason, line) for line, (_, reason) in enumerate(rows, 1) if reason]
        assert [(reason, line) for reason, line, _ in faults(documents)] == rejected
        assert [e.reason for e in documents if isinstance(e, LeftOut)] == ["empty"]
        first = next(e for e in documents if isinstance(e, Rejected))
        assert first.line == 2
        assert first.sample == '{"text": "cut'

    def test_long_texts_are_split(self, lines):
        row = {"id": "x", "text": "\n".join(["It is so. " * 1000] * 150)}
        documents = lines(json.dumps(row).encode())
        assert [e.id for e in documents] == ["x#part=1", "x#part=2"]


def read_in_units(path: Path, target: int) -> list[Event]:
    file = list_inputs([str(path)])[0]
    return [event for unit in units(file, "lines", target) for event in read_unit(unit)]


LINE = st.sampled_from(["", "", " ", "\r", "a", "One sea.", "Two wide seas.\r", "é" * 9, "x" * 40])


def without_lines(events: list[Event]) -> list[Event]:
    """The events without line numbers, which only a unit at the beginning of a file has."""
    return [
        Rejected(e.reason, e.sample, None, e.offset) if isinstance(e, Rejected) else e
        for e in events
    ]


class TestUnits:
    @settings(max_examples=75)
    @given(st.lists(LINE, min_size=1, max_size=30), st.integers(1, 60), st.booleans())
    def test_units_of_plain_text_give_each_document_once(self, tmp_path, lines, target, end):
        path = tmp_path / "a.txt"
        path.write_bytes(("\n".join(lines) + "\n" * (end or lines == [""])).encode())
        assert read_in_units(path, target) == read_in_units(path, 10**6)

    @settings(max_examples=50)
    @given(st.lists(LINE, min_size=1, max_size=30), st.integers(1, 60), st.booleans())
    def test_units_of_json_lines_give_each_document_once(self, tmp_path, lines, target, end):
        path = tmp_path / "a.jsonl"
        rows = [json.dumps({"text": line}) if n % 4 else line for n, line in enumerate(lines)]
        path.write_bytes(("\n".join(rows) + "\n" * (end or lines == [""])).encode())
        by_unit, at_once = (read_in_units(path, size) for size in (target, 10**6))
        assert without_lines(by_unit) == without_lines(at_once)

    @given(st.integers(1, 400), st.integers(0, 60))
    def test_units_of_text_without_blank_lines_end_at_lines(self, tmp_path, target, within):
        path = tmp_path / "a.txt"
        rows = [f"Line {n} of the text." for n in range(60)]
        path.write_text("\n".join(rows))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(text, "_BLANK_WITHIN", within)
            documents = read_in_units(path, target)
        assert "\n".join(texts(documents)).split("\n") == rows
