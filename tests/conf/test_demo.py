"""The embedded demo corpus is well-formed and long enough, and can be rebuilt from its sources."""

import gzip
import importlib
import re
import xml.etree.ElementTree as ET

import pytest

import tests.conf.demo_depcc as demo_depcc
from adnominal import conf
from adnominal.conf import ROOT, UserError
from adnominal.etl import jobs
from adnominal.etl.parsing.spacy_parser import find_model

DEMO = ROOT / "conf" / "demo"
TAG = "{http://www.mediawiki.org/xml/export-0.10/}"
MODEL_VERSION = "3.8.0"


def words(wikitext):
    """The approximate words of running text, without markup, tables, captions and headings."""
    text = re.sub(r"<!--.*?-->|<ref[^>]*/>|<(ref|gallery|math)\b.*?</\1>", "", wikitext, flags=re.S)
    text = re.sub(r"^\{\|.*?^\|\}|^=+.*?=+$", "", text, flags=re.S | re.M)
    while (shorter := re.sub(r"\{\{[^{}]*\}\}", "", text)) != text:
        text = shorter
    text = re.sub(r"\[\[(?:File|Category):(?:[^\[\]]|\[\[[^\]]*\]\])*\]\]", "", text)
    text = re.sub(r"\[\[(?:[^\]|]*\|)?([^\]]*)\]\]", r"\1", text)
    return re.findall(r"[^\W\d_][\w'-]*", re.sub(r"<[^>]*>|&\w+;|'{2,}", " ", text))


@pytest.fixture(scope="module")
def pages():
    return list(ET.parse(DEMO / "wikipedia.xml").getroot().iter(f"{TAG}page"))


@pytest.fixture(scope="module")
def articles(pages):
    return {
        page.findtext(f"{TAG}title"): page.findtext(f"{TAG}revision/{TAG}text")
        for page in pages
        if page.findtext(f"{TAG}ns") == "0" and page.find(f"{TAG}redirect") is None
    }


@pytest.fixture(scope="module")
def model():
    """spaCy's small English model; without it, the test is skipped."""
    try:
        return importlib.import_module(find_model(None))
    except UserError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def part():
    return gzip.decompress((DEMO / "depcc-part.gz").read_bytes()).decode()


def test_only_words_of_running_text_are_counted():
    wikitext = (
        "{{Infobox x\n| a = {{convert|1|m}}\n}}\n== See also ==\n{|\n| cell\n|}\n"
        "[[File:a.jpg|thumb|A [[fine|caption]]]]\n'''Two''' [[word|words]]<ref>none</ref>"
        "<!-- none -->&nbsp;here.<ref name=a />\n[[Category:None]]"
    )
    assert words(wikitext) == ["Two", "words", "here"]


def test_the_corpus_has_articles_redirects_and_other_pages(pages, articles):
    kinds = [(page.findtext(f"{TAG}ns"), page.find(f"{TAG}redirect") is None) for page in pages]
    assert len(articles) == kinds.count(("0", True)) == 106
    assert kinds.count(("0", False)) == 2
    assert kinds.count(("1", True)) == kinds.count(("10", True)) == 1
    assert len(kinds) == 110


def test_pages_are_complete_and_have_unique_ids(pages):
    for path in (f"{TAG}id", f"{TAG}revision/{TAG}id", f"{TAG}title"):
        values = [page.findtext(path) for page in pages]
        assert all(values) and len(set(values)) == len(values)
    for page in pages:
        assert page.findtext(f"{TAG}revision/{TAG}model") == "wikitext"
        assert page.findtext(f"{TAG}revision/{TAG}text")


def test_every_article_has_running_text(articles):
    assert {title: n for title, text in articles.items() if (n := len(words(text))) < 100} == {}


def test_the_markup_of_every_article_is_closed(articles):
    for title, text in articles.items():
        for opening, closing in (("{{", "}}"), ("[[", "]]"), ("{|", "|}"), ("<ref>", "</ref>")):
            assert text.count(opening) <= text.count(closing), (title, opening)
        assert "[[Category:" in text, title


def test_the_pair_false_key_occurs_in_both_corpora(articles, part):
    assert sum(len(re.findall(r"\bfalse key\b", text)) for text in articles.values()) >= 3
    assert "\tfalse\tfalse\tJJ\tJJ\t\t" in part and "A false key" in part


def test_the_depcc_part_has_the_layout_of_depcc(part):
    header, *blocks = part.rstrip("\n").split("\n\n")
    assert header.startswith("# parser = ")
    pairs = gaps = sentences = 0
    for block in blocks:
        comments = [line for line in block.split("\n") if line.startswith("#")]
        rows = [line.split("\t") for line in block.split("\n") if not line.startswith("#")]
        if not rows:
            assert re.fullmatch(r"# newdoc\turl = http://\S+\ts3 = s3://\S+", comments[0])
            continue
        sentences += 1
        assert [line.split(" = ")[0] for line in comments] == ["# sent_id", "# text"]
        assert {len(row) for row in rows} == {10}
        assert rows[0][0] == "0"
        ids = [int(row[0]) for row in rows]
        assert ids == sorted(set(ids))
        gaps += ids != list(range(len(ids)))
        roots = [row for row in rows if row[6] == row[0]]
        assert [row[7] for row in roots] == ["ROOT"]
        for row in rows:
            assert row[3] == row[4] and row[5] == "" and row[9] == "O"
            assert int(row[6]) in ids
            pairs += row[7] == "amod"
    assert sentences == 150 and gaps >= 10 and pairs >= 250


def test_the_depcc_part_is_built_from_its_sentences(part, model):
    if model.__version__ != MODEL_VERSION:
        pytest.skip(f"the part was built with model {MODEL_VERSION}, not {model.__version__}")
    lines = demo_depcc.SENTENCES.read_text(encoding="utf-8").splitlines()
    # Only the content is compared, because compressed bytes differ between builds of zlib.
    assert demo_depcc.build(lines).decode() == part


def test_sentences_are_read_by_page():
    lines = ["# a comment", "", "http://a", "One.", "Two.", "", "", "http://b", "Three."]
    expected = [("http://a", ["One.", "Two."]), ("http://b", ["Three."])]
    assert list(demo_depcc.pages(lines)) == expected


@pytest.mark.parametrize("lines", [["One.", "Two."], ["http://a"]])
def test_a_page_without_address_or_sentence_is_refused(lines):
    with pytest.raises(UserError, match="expected its http:// address"):
        list(demo_depcc.pages(lines))


def test_a_line_of_two_sentences_is_refused(model):
    with pytest.raises(UserError, match="rephrase it"):
        demo_depcc.build(["http://a", "The coat is red. My house burned down yesterday."])


def test_relations_are_collapsed_and_commas_within_sentences_dropped(model):
    sentence = "In the market he sold a coat, a hat and a glove."
    part = demo_depcc.build(["http://a", sentence]).decode()
    rows = [line.split("\t") for line in part.split(f"# text = {sentence}\n")[1].splitlines()]
    assert [(row[0], row[1], row[6], row[7], row[8]) for row in rows] == [
        ("0", "In", "4", "prep", "_"),
        ("1", "the", "2", "det", "2:det"),
        ("2", "market", "0", "pobj", "4:prep_in"),
        ("3", "he", "4", "nsubj", "4:nsubj"),
        ("4", "sold", "4", "ROOT", "4:ROOT"),
        ("5", "a", "6", "det", "6:det"),
        ("6", "coat", "4", "dobj", "4:dobj"),
        ("8", "a", "9", "det", "9:det"),
        ("9", "hat", "6", "conj", "6:conj_and"),
        ("10", "and", "9", "cc", "_"),
        ("11", "a", "12", "det", "12:det"),
        ("12", "glove", "9", "conj", "9:conj_and"),
        ("13", ".", "4", "punct", "4:punct"),
    ]


def test_the_pipeline_reads_existing_files():
    steps = jobs.planned_steps(conf.load(jobs.Settings, [str(DEMO / "pipeline.yaml")]))
    assert {step.label.split(", ")[1] for step in steps} == jobs.JOBS.keys() - {
        "import_published",
        "import_pairs",
        "import_predictions",
    }
    read = [path for step in steps for path in getattr(step.settings, "input", [])]
    assert len(read) == 2 and all((ROOT / path).is_file() for path in read)
    # The demo has the table sentences too.
    assert all(step.settings.keep_text for step in steps if hasattr(step.settings, "keep_text"))


def test_the_script_names_existing_files():
    script = (DEMO / "run.sh").read_text(encoding="utf-8")
    files = set(re.findall(r"\b(?:conf|etl|training)/[\w/]+\.(?:py|yaml)", script))
    assert len(files) >= 6
    assert sorted(name for name in files if not (ROOT / name).is_file()) == []
