import gzip

import pytest

from adnominal.etl.corpora import wet
from adnominal.etl.corpora.documents import Document, DocumentFilter, LeftOut, Rejected
from adnominal.etl.corpora.files import Unreadable, units
from adnominal.etl.corpora.inputs import list_inputs
from adnominal.etl.corpora.text import is_wet, text_events
from tests.etl.corpora.warc import record

INFO = record("", "software: x", kind="warcinfo")
ONE, TWO = record("http://a/", "A red apple.\nAn old tree."), record("http://b/", "A small key.")


@pytest.fixture
def read(tmp_path):
    def read(data, language=None, name="part.warc.wet.gz", compressed=True):
        path = tmp_path / name
        path.write_bytes(gzip.compress(data) if compressed else data)
        [file] = list_inputs([str(path)])
        [unit] = units(file, "lines")
        return list(wet.read_unit(unit, DocumentFilter(language)))

    return read


def test_a_record_is_a_document_named_by_its_url(read):
    assert read(INFO + ONE + TWO) == [
        Document("http://a/", "A red apple.\nAn old tree."),
        Document("http://b/", "A small key."),
    ]


def test_records_are_the_same_in_one_member_in_many_and_uncompressed(read):
    expected = read(INFO + ONE + TWO)
    members = gzip.compress(INFO) + gzip.compress(ONE) + gzip.compress(TWO)
    assert read(members, compressed=False) == expected
    assert read(INFO + ONE + TWO, name="part.warc", compressed=False) == expected


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (record("http://x/", "A bad key.", length=5), "bad_length"),
        (record("http://x/", "A bad key.", length="ten"), "bad_header"),
        (record("http://x/", "A bad key.", length="9" * 5000), "bad_header"),
        (record("", "A bad key."), "bad_header"),
        (record("http://x/", b"A bad \xff key."), "invalid_utf8"),
        (record("http://x/", "A bad\0key."), "nul"),
        (record("http://x/", "A bad key. " * 6_500_000), "line_too_long"),
    ],
)
def test_a_bad_record_is_rejected_and_the_others_are_read(read, bad, reason, capsys):
    events = read(ONE + bad + TWO)
    assert [event.reason for event in events if isinstance(event, Rejected)] == [reason]
    ids = [event.id for event in events if isinstance(event, Document)]
    assert ids == ["http://a/", "http://b/"]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("length", [None, 1000, 50_000_000, 10**12, 10**30])
def test_a_length_that_covers_the_next_records_fails_the_file(read, length):
    bad = record("http://x/", "A bad key.", length=length or 10)
    if length is None:
        bad = bad.replace(b"Content-Length: 10\r\n", b"")
    with pytest.raises(Unreadable, match=r"http://x/ has no length or a wrong one"):
        read(ONE + bad + TWO)


def test_a_truncated_last_record_is_rejected(read):
    events = read(ONE + TWO[:-10])
    assert events[1] == Rejected("truncated_record", "6 of 12 bytes: http://b/")


def test_pages_truncated_by_the_crawler_and_empty_pages_are_skipped(read):
    truncated = record("http://c/", "A fake gu", more="WARC-Truncated: length")
    empty = record("http://e/", " \n ")
    assert read(ONE + truncated + empty)[1:] == [
        LeftOut("cut_by_crawler", "http://c/"),
        LeftOut("empty", "http://e/"),
    ]


def test_the_language_is_that_of_the_header_or_else_of_the_text(read):
    header = "WARC-Identified-Content-Language: "
    german = "Der rote Apfel fiel vom alten Baum und niemand hat ihn gesehen."
    stated = record("http://s/", german, more=f"{header}eng,deu")
    other = record("http://o/", "A red apple.", more=f"{header}deu,eng")
    silent = record("http://t/", german)
    events = read(stated + other + silent, "en")
    assert events[0].id == "http://s/"
    assert events[1:] == [LeftOut("language", "http://o/"), LeftOut("language", "http://t/")]


def test_the_language_is_identified_as_in_other_formats(read):
    german = "Der rote Apfel fiel vom alten Baum, und niemand hat ihn jemals gesehen."
    text = "The red car stopped near the old bridge." + "\n" * 2000 + german + " Ein schöner Tag."
    assert read(record("http://a/", text) + record("http://e/", " \n "), "en") == [
        *text_events("http://a/", text, "", DocumentFilter("en")),
        LeftOut("empty", "http://e/"),
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"PAR1 not a warc file\n" * 9, "not a WARC file, whatever its name"),
        (gzip.compress(ONE), "compressed twice"),
        (INFO + record("http://a/", "<html>", kind="response"), "no record of the kind conversion"),
        (record("http://x/", "A bad key.", length=15) + TWO, "damaged WARC data"),
    ],
)
def test_other_files_are_refused_with_the_reason(read, data, message):
    with pytest.raises(Unreadable, match=message):
        read(data)


def test_a_truncated_archive_is_reported_as_in_other_formats(read, tmp_path):
    with pytest.raises(Unreadable, match="truncated: the file ends in the middle of its gzip"):
        read(gzip.compress(ONE + TWO * 50)[:-20], compressed=False)


def test_warc_files_are_recognised_by_their_names():
    names = {"a.warc.wet.gz": True, "a.warc.gz": True, "a.warc": True, "a.wet.zst": True}
    assert {name: is_wet(name) for name in names} == names
    assert not any(map(is_wet, ("a.gz", "wet.txt", "a.warc.txt", "a.parquet")))
