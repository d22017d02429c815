"""Small inputs after the shape of public bug reports give the right pairs."""

import pytest

from adnominal.etl.amod import reading
from adnominal.etl.amod.columns import occurrences, pairs
from adnominal.etl.amod.kernel import PairCounter
from adnominal.etl.amod.rules import CLEAN
from adnominal.etl.amod.settings import Settings
from adnominal.etl.amod.tasks import parsed_blocks
from adnominal.etl.corpora.documents import Document
from adnominal.etl.corpora.files import Unit
from adnominal.etl.parsing import load_parser


@pytest.fixture
def cases(shared_data):
    folder = shared_data.parent / "cases"
    if not folder.is_dir():
        pytest.skip("no cases")
    return folder


def whole(path):
    size = path.stat().st_size
    return Unit(str(path), size, 0, size)


def parsed_pairs(path):
    with parsed_blocks(whole(path), "conllu") as (dialect, stored_blocks):
        counter = PairCounter(dialect.name, CLEAN)
        for block in stored_blocks:
            counter.feed(block)
    return {(row["adjective"], row["noun"]) for row in counter.drain().to_pylist()}


def text_pairs(path, parser, source="text"):
    settings = Settings(source=source, input=[str(path)], parser=parser)
    events = reading.events(whole(path), settings)
    texts = [event.text.replace("\n", "\n\n") for event in events if isinstance(event, Document)]
    found = set()
    for parsed in load_parser(parser).parse(texts):
        rows = pairs(occurrences(parsed.tokens, CLEAN)).to_pylist()
        found |= {(row["adjective"], row["noun"]) for row in rows}
    return found


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("lines_tags.conllu", "wooden gate, larger field, painted boat, new sail"),
        ("tab_in_blank_line.conllu", "old dog, red fox, shy owl"),
        ("global_columns.conllup", "older dog"),
        ("withheld_text.conllu", ""),
    ],
)
def test_parsed_corpora(cases, name, expected):
    expected_pairs = {tuple(pair.split()) for pair in expected.split(", ") if pair}
    assert parsed_pairs(cases / name) == expected_pairs


@pytest.mark.parametrize("parser", ["fast", "spacy"])
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("softhyphen.txt", "beautiful garden"),
        ("men.txt", "fine specimen, large lumen, strict regimen, old specimen"),
        ("line_end_hyphen.txt", "economic policy, important minister, short statement, great hall"),
        ("wiki_json/AA/wiki_00", "old tree, red fox, warm soup, new boat, tall sailor"),
    ],
)
def test_texts(cases, parser, name, expected):
    expected_pairs = {tuple(pair.split()) for pair in expected.split(", ")}
    assert expected_pairs <= text_pairs(cases / name, parser)


def test_the_fast_tokeniser(cases):
    assert text_pairs(cases / "tokeniser.txt", "fast") == {
        ("beautiful", "garden"),
        ("strange", "story"),
        ("general", "thing"),
        ("earthy", "life"),
        ("strange", "place"),
        ("great", "wall"),
        ("recent", "study"),
        ("young", "people"),
    }
    assert ("great", "wall") in text_pairs(cases / "markdown.txt", "fast")
    assert not text_pairs(cases / "lowercase.txt", "fast")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("formatnum.xml", "white church, young clerk, green hill, narrow lane, neat list"),
        ("content_slots.xml", "old potter, brown jug, quiet neighbour, tall tree, narrow lane"),
        ("apostrophes.xml", "large hatch, small hatch, small window"),
    ],
)
def test_wikipedia(cases, name, expected):
    expected_pairs = {tuple(pair.split()) for pair in expected.split(", ")}
    assert expected_pairs <= text_pairs(cases / name, "fast", "wikipedia")
