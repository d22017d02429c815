"""What a file contains is decided by its content, and what has no reader is refused by name."""

import json

import pytest

from adnominal.etl.amod.reading import ParsedAsText, events
from adnominal.etl.amod.settings import Settings
from adnominal.etl.corpora.contents import EXTRACTED, JSON_LINES, PLAIN, WARC, form_of, refusal_of
from adnominal.etl.corpora.documents import Document
from adnominal.etl.corpora.files import Unit

ARTICLES = [
    {"id": "7", "title": "Gardens", "text": "Old trees grow near the gate."},
    {"id": "8", "title": "Harbour", "text": "New boats wait at the pier."},
]
LINES = "".join(json.dumps(article) + "\n" for article in ARTICLES)
PROSE = "Old trees grow near the gate.\nRed, green and blue boats wait.\n"


def documents(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    size = path.stat().st_size
    settings = Settings(source="text", input=[str(path)])
    return [
        event
        for event in events(Unit(str(path), size, 0, size), settings)
        if isinstance(event, Document)
    ]


@pytest.mark.parametrize("name", ["wiki_00", "dump.txt", "articles.dat", "part-1.json.part"])
@pytest.mark.parametrize("prefix", ["", "\ufeff", "\n  \n"])
def test_json_lines_are_read_whatever_the_name(tmp_path, name, prefix):
    assert documents(tmp_path / name, prefix + LINES) == [
        Document("7", "Old trees grow near the gate."),
        Document("8", "New boats wait at the pier."),
    ]


def test_a_byte_order_mark_inside_of_json_lines_is_no_fault(tmp_path):
    lines = LINES.replace("\n", "\n\ufeff", 1)
    assert [document.id for document in documents(tmp_path / "a", lines)] == ["7", "8"]


def test_an_object_that_is_longer_than_the_head_is_one_of_json_lines():
    head = (b'{"text": "' + b"x" * (1 << 16))[: 1 << 16]
    assert form_of(head) == JSON_LINES
    assert form_of(b"{ not JSON\n") == form_of(b"{x}\n") == form_of(b'{"old"} x\n') == PLAIN


@pytest.mark.parametrize(
    "line", ['{"text": "a", "text": "b"}', '{"text": ' + 3000 * "[" + "]}", '{"text": ', "{}"]
)
def test_a_fault_in_the_first_line_makes_no_prose_of_json_lines(line):
    assert form_of(f"\u3000\n{line}\n".encode()) == JSON_LINES


def test_the_markup_of_extracted_articles_is_left_out(tmp_path):
    content = (
        '<doc id="7" url="u" title="Gardens">\nGardens\n\nOld trees grow.\n</doc>\n'
        '<doc id="8" url="u" title="Harbour">\nHarbour\n\nNew boats wait.\n</doc>\n'
    )
    assert form_of(content.encode()) == EXTRACTED
    texts = [document.text for document in documents(tmp_path / "wiki_00", content)]
    assert texts == ["Gardens", "Old trees grow.", "Harbour", "New boats wait."]
    assert form_of(f"A title\n{content}".encode()) == EXTRACTED


def test_warc_files_are_read_whatever_the_name(tmp_path):
    text = b"Old trees grow."
    record = b"WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: http://x.org/\r\n"
    record += b"Content-Length: %d\r\n\r\n%s\r\n\r\n" % (len(text), text)
    assert form_of(record) == WARC
    assert documents(tmp_path / "crawl", record) == [Document("http://x.org/", text.decode())]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ('<doc id="1">\nOld\tJJ\ntrees\tNNS\ngrow\tVBP\n.\t.\n</doc>\n', "a vertical file"),
        ("<?xml version='1.0'?>\n<TEI><p>Old trees grow.</p></TEI>", "XML or HTML"),
        ("<!DOCTYPE html>\n<html><body>Old trees grow.</body></html>", "XML or HTML"),
        ('<corpus name="x">\n<s>Old trees grow.</s>\n</corpus>', "XML or HTML"),
        ("<mediawiki>\n<page>", "write source=wikipedia"),
        ("id,text\n1,Old trees grow.\n2,x\n", "a table with the columns id, text"),
        ("doc_id;sentence\n1;Old trees grow.\n", "a table with the columns doc_id, sentence"),
        ("word\tcount\nold\t3\nred\t4\n", "a table with the columns word, count"),
        (",text,label\n0,Old trees grow.,1\n1,New boats.,0\n", "the columns , text, label"),
        ("id|text\n1|Old trees grow.\n", "a table with the columns id, text"),
        ("<!-- saved -->\n<html><body>Old trees grow.</body></html>", "XML or HTML"),
        (json.dumps(["Old \"trees\" grow.", "x"]), "one JSON value"),
        (json.dumps([[["Old trees grow."]]], indent=1), "one JSON value"),
        (json.dumps(ARTICLES), "one JSON value"),
        (json.dumps(ARTICLES, indent=1), "one JSON value"),
        (json.dumps(ARTICLES[0], indent=1), "one JSON value"),
        ("# global.columns = ID FORM UPOS HEAD DEPREL\n1\told\tADJ\t2\tamod\n", "layout conllu"),
        ("%PDF-1.7\n...", "PDF"),
        ("old.txt" + "\0" * 250 + "ustar\0" + "00", "a tar archive"),
        ("{\\rtf1 Old trees}", "RTF"),
        (PROSE.encode("utf-16"), "UTF-16"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["a", "a.txt"])
def test_what_has_no_reader_is_refused_by_name(tmp_path, name, content, kind):
    with pytest.raises(ParsedAsText, match=kind):
        documents(tmp_path / name, content)


@pytest.mark.parametrize(
    "text",
    [
        PROSE,
        "1\tOld trees grow.\n2\tNew boats wait.\n",
        "Dear John, how are you\nI am, as ever, fine\n",
        "Roses, violets\nSun, moon\nOld, new\n",
        "[Illustration]\n\nOld trees grow.",
        '["Old trees" grow near the gate.]',
        "<!-- a note -->\nOld trees grow.",
        "<3 you all\nOld trees grow.",
        "<b>Old</b> trees\ngrow near\nthe gate",
        "{ Old trees } grow\n",
        "1\tOld trees grow.\n2\tNew boats wait.\n",
        "",
    ],
)
def test_prose_is_read(text):
    assert refusal_of(text.encode()) is None
