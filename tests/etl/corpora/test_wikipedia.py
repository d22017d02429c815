"""MediaWiki exports: articles, skipped pages, rejections and units."""

import bz2
import gzip
import itertools
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adnominal.etl.corpora import wikipedia
from adnominal.etl.corpora.documents import Document, Event, LeftOut, Rejected
from adnominal.etl.corpora.files import Unit, Unreadable, units
from adnominal.etl.corpora.inputs import list_inputs
from adnominal.etl.corpora.wikipedia import read_unit

HEAD = b'<mediawiki xml:lang="en">\n<siteinfo><namespaces/></siteinfo>\n'
TAIL = b"</mediawiki>\n"
PROSE = "The old man saw the wide sea."


def page(title: str = "Sea", text: str = PROSE, ns: str = "<ns>0</ns>", rest: str = "") -> bytes:
    return (
        f"  <page>\n    <title>{title}</title>\n    {ns}\n    <id>1</id>{rest}\n    <revision>\n"
        f"      <model>wikitext</model>\n"
        f'      <text xml:space="preserve">{text}</text>\n    </revision>\n  </page>\n'
    ).encode()


def events(path: Path, data: bytes) -> list[Event]:
    path.write_bytes(data)
    return list(read_unit(Unit(str(path), len(data), 0, len(data))))


@pytest.fixture
def read(tmp_path):
    return lambda *pages: events(tmp_path / "dump.xml", HEAD + b"".join(pages) + TAIL)


def test_an_article_is_a_document(read):
    assert read(page()) == [Document("Sea", PROSE)]


def test_entities_are_decoded_once(read):
    text = "A &amp;amp; B &lt;b&gt;was&lt;/b&gt; &quot;big&quot; &amp;lt;x&amp;gt; &#8211;&#x2014;."
    assert read(page("AT&amp;T &quot;x&quot;", text)) == [
        Document('AT&T "x"', 'A & B was "big" <x> –—.')
    ]


def test_declared_entities_are_not_expanded(tmp_path):
    bomb = b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY f SYSTEM "file:///etc/passwd">]>' + HEAD
    page_events = events(tmp_path / "a", bomb + page(text="One &a; and &f; two words.") + TAIL)
    assert page_events == [Document("Sea", "One &a; and &f; two words.")]


def test_pages_that_are_not_articles_are_skipped(read):
    assert read(
        page("Talk:Sea", ns="<ns>1</ns>"),
        page("Ocean", rest='<redirect title="Sea" />'),
        page("Old", "#REDIRECT [[Sea]]"),
        page("List", "* one\n* two"),
        page("Data", "{}").replace(b">wikitext<", b">json<"),
        page("Deleted").replace(b">" + PROSE.encode() + b"</text>", b' deleted="deleted" />'),
    ) == [
        LeftOut("namespace", "Talk:Sea"),
        LeftOut("redirect", "Ocean"),
        LeftOut("redirect", "Old"),
        LeftOut("empty", "List"),
        LeftOut("model", "Data"),
        LeftOut("empty", "Deleted"),
    ]


def test_rejected_pages_do_not_stop_the_reading(read):
    good = page("Good")
    page_events = read(
        page("").replace(b"<title></title>", b""),
        page("No namespace", ns=""),
        page("Long number", ns=f"<ns>{'9' * 5000}</ns>"),
        page("No text").replace(b"<text", b"<test"),
        page("Open text").replace(b"</text>", b""),
        page("Bytes", "caf\xe9").replace("é".encode(), b"\xe9"),
        page("Nul", "a\0b"),
        page("Open page").replace(b"</page>", b""),
        good,
    )
    assert [(e.reason, e.sample) for e in page_events if isinstance(e, Rejected)][1:] == [
        ("no_namespace", "No namespace"),
        ("no_namespace", "Long number"),
        ("no_text", "No text"),
        ("no_text", "Open text"),
        ("invalid_utf8", "Bytes"),
        ("nul", "Nul"),
        ("unterminated", "Open page"),
    ]
    assert isinstance(page_events[0], Rejected)
    assert page_events[0].reason == "no_title"
    assert page_events[-1] == Document("Good", PROSE)


def test_a_rejected_page_is_located_by_its_byte(read):
    rejected = read(page(), page("Bad", ns=""))[1]
    assert isinstance(rejected, Rejected)
    assert rejected.offset == len(HEAD) + len(page()) + 2


def test_an_export_that_ends_within_a_page_rejects_it(tmp_path):
    page_events = events(tmp_path / "a", HEAD + page() + page("Cut")[:-30])
    assert page_events[0] == Document("Sea", PROSE)
    assert isinstance(page_events[1], Rejected)
    assert (page_events[1].reason, page_events[1].sample) == ("unterminated", "Cut")


def test_the_last_revision_counts(read):
    older = b"<revision><text>An older text that was here.</text></revision>\n    <revision>"
    assert read(page().replace(b"<revision>", older)) == [Document("Sea", PROSE)]


def test_a_page_that_is_too_long_is_rejected_in_bounded_memory(read, monkeypatch):
    monkeypatch.setattr(wikipedia, "MAX_PAGE_BYTES", 2000)
    monkeypatch.setattr(wikipedia, "_BLOCK", 512)
    page_events = read(page("Long", "word " * 5000), page("Good"))
    assert isinstance(page_events[0], Rejected)
    assert (page_events[0].reason, page_events[0].sample) == ("page_too_long", "Long")
    assert page_events[1:] == [Document("Good", PROSE)]


def test_a_long_article_is_split(read):
    paragraph = "The sea is wide. " * 20_000
    page_events = read(page("Long", "\n\n".join([paragraph] * 4)))
    assert [e.id for e in page_events if isinstance(e, Document)] == ["Long#part=1", "Long#part=2"]


def test_a_file_without_pages_is_unreadable(tmp_path):
    with pytest.raises(Unreadable, match="not a MediaWiki XML export"):
        events(tmp_path / "a", b"plain words\n")


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_compressed_exports_are_read(tmp_path, pack):
    assert events(tmp_path / "a", pack(HEAD + page() + TAIL)) == [Document("Sea", PROSE)]


PAGES = [page(f"Page {n}", f"The old man number {n} saw the sea. " * (n % 7)) for n in range(40)]
TITLES = Counter(f"Page {n}" for n in range(len(PAGES)))


def names(path: Path, target: int) -> Counter[str]:
    file = list_inputs([str(path)])[0]
    counts: Counter[str] = Counter()
    for unit in units(file, "xml", target):
        for event in read_unit(unit):
            counts[event.id if isinstance(event, Document) else event.sample] += 1
    return counts


@settings(max_examples=30)
@given(st.integers(20, 6000))
def test_units_of_a_plain_export_give_each_page_once(tmp_path, target):
    path = tmp_path / "plain.xml"
    path.write_bytes(HEAD + b"".join(PAGES) + TAIL)
    assert names(path, target) == TITLES


@settings(max_examples=40)
@given(st.integers(20, 3000), st.lists(st.integers(1, 9000), min_size=1, max_size=9))
def test_units_of_bz2_streams_give_each_page_once(tmp_path, target, borders):
    """Streams may begin at pages, as those of Wikimedia, or anywhere, as those of pbzip2."""
    data = HEAD + b"".join(PAGES) + TAIL
    ends = sorted({0, len(data), *(border % len(data) for border in borders)})
    path = tmp_path / "multistream.xml.bz2"
    path.write_bytes(
        b"".join(bz2.compress(data[a:b]) for a, b in itertools.pairwise(ends) if data[a:b])
    )
    assert names(path, target) == TITLES


def test_the_sample_of_the_english_wikipedia(shared_data):
    file = list_inputs([str(shared_data / "wikipedia" / "enwiki-sample.xml.bz2")])[0]
    page_events = [event for unit in units(file, "xml") for event in read_unit(unit)]
    counts = Counter(
        "article" if isinstance(event, Document) else event.reason for event in page_events
    )
    # One of the 106 articles has only a list of names; one has a function inside of another.
    assert counts == {
        "article": 105,
        "empty": 1,
        "redirect": 99,
        "namespace": 1,
        "parser_function": 3,
    }
    assert len(page_events) == 209


SLOT = (
    b"<content><role>mediainfo</role><model>wikibase-mediainfo</model>"
    b"<text>{&quot;labels&quot;: &quot;A blue vase stood there.&quot;}</text></content>"
)
MAIN_SLOT = rb"<content><role>main</role>\1</content>"


@pytest.mark.parametrize(
    "change",
    [
        lambda p: p.replace(b"</text>", b"</text>" + SLOT),
        lambda p: p.replace(b"</text>", b"</text>" + SLOT + SLOT.replace(b"mediainfo<", b"x<")),
        lambda p: p.replace(b"<model>wikitext", SLOT + b"<model>wikitext"),
        lambda p: p.replace(
            b"</text>", b"</text>" + SLOT.replace(b"<content>", b'<content a="b">')
        ),
        lambda p: re.sub(rb"(<model>.*</text>)", SLOT + MAIN_SLOT, p, flags=re.DOTALL),
    ],
)
def test_the_main_slot_of_a_revision_is_read(read, change):
    assert read(change(page())) == [Document("Sea", PROSE)]


def test_the_model_is_that_of_the_last_revision(read):
    older = b"<revision><model>json</model><text>{}</text></revision>\n    <revision>"
    assert read(page().replace(b">wikitext<", b"> wikitext <")) == [Document("Sea", PROSE)]
    assert read(page().replace(b"<revision>", older)) == [Document("Sea", PROSE)]


def test_constructs_that_cannot_be_read_are_left_out_and_counted(read):
    text = "The mill has {{formatnum:{{#expr:3*4}}}} old wheels.\n\nIt {{#time:Y}} is here now."
    assert read(page("Mill", text)) == [
        Document("Mill", "The mill has old wheels.\nIt is here now."),
        LeftOut("parser_function", "Mill"),
        LeftOut("parser_function", "Mill"),
    ]
