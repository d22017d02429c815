from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from conf import UserError
from etl.asp.labels import entails, origin
from etl.asp.lexicon import PATH, lexicon, parse_lexicon, plural
from etl.asp.templates import Pair

SMALL: dict[str, Any] = {
    "version": 1,
    "nouns": {"things": ["rod", "pole"], "people": ["boy"]},
    "mass": [],
    "forms": {"long": ["longer", "longest"], "clean": ["cleaner", "cleanest"]},
    "boosters": ["very"],
    "diminishers": ["relatively"],
    "scales": {
        "length": {
            "family": "extent",
            "positive": [["long"], ["endless"]],
            "negative": [["short"]],
            "opposites": [["long", "short"]],
            "nouns": ["things"],
            "except": {"endless": ["pole"]},
        },
        "cleanliness": {
            "family": "clean",
            "standards": ["minimum", "maximum"],
            "positive": [["dirty"]],
            "negative": [["clean"]],
            "opposites": [["dirty", "clean"]],
            "complementary": True,
            "nouns": ["things", "boy"],
        },
    },
    "measures": [
        {
            "dimension": "length",
            "unit": "cm",
            "adjectives": ["long", "short"],
            "related": ["extent"],
            "nouns": {"rod": [1, 500]},
        }
    ],
}


def changed(*path, value):
    data: dict[str, Any] = copy.deepcopy(SMALL)
    at = data
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return data


def test_a_small_lexicon():
    words = parse_lexicon(SMALL)
    assert words.weaker == {("long", "endless")}
    assert words.standards["dirty"] == "minimum" and words.standards["long"] == "relative"
    assert words.complementary[("clean", "dirty")] and not words.complementary[("long", "short")]
    assert {a.word: a.nouns for a in words.adjectives}["endless"] == ("rod",)
    assert (words.compared("long"), words.topmost("dirty")) == ("longer", "most dirty")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "got list, expected a mapping"),
        (changed("colour", value=1), "the field 'colour'"),
        (changed("scales", "length", "nouns", value=["sky"]), "the noun 'sky'"),
        (changed("scales", "length", "standards", value=["total", "relative"]), "standards"),
        (changed("scales", "length", "negative", value=[["long"]]), "long twice"),
        (changed("scales", "length", "opposites", value=[["long", "endless"]]), "opposites long"),
        (changed("scales", "length", "ungraded", value=["tall"]), "tall in ungraded"),
        (changed("scales", "length", "except", value={"short": ["things"]}), "no noun for short"),
        (changed("scales", "cleanliness", "positive", value=[["dirty"], ["long"]]), "long as min"),
        (changed("measures", 0, "nouns", value={"rod": [5, 1]}), r"expected \[least, greatest\]"),
        (changed("measures", 0, "dimension", value="time"), "one of length, mass"),
        (changed("forms", value={"tall": ["taller", "tallest"]}), "forms: got tall"),
        (
            changed("attested", value={"ordering": [["endless", "long"]]}),
            "endless and long each weaker",
        ),
    ],
)
def test_faults_are_named(data, message):
    with pytest.raises(UserError, match=message):
        parse_lexicon(data)


def test_the_lexicon_is_as_large_as_promised():
    words = lexicon()
    assert len(words.words) >= 120 and len(words.nouns) >= 150
    assert len({a.scale for a in words.adjectives}) >= 40


def test_combinations_that_a_corpus_backs():
    words = parse_lexicon(SMALL)
    kept, dropped = words.backed({("dirty", "boy"), ("long", "rod"), ("green", "rod")})
    nouns = {a.word: a.nouns for a in kept.adjectives}
    assert (nouns["dirty"], nouns["long"]) == (("boy",), ("rod",))
    # Of short the corpus says nothing.
    assert nouns["short"] == ("rod", "pole")
    assert dropped == [("long", "pole"), ("dirty", "rod"), ("dirty", "pole")]


@pytest.mark.parametrize(
    ("noun", "many"),
    [("box", "boxes"), ("city", "cities"), ("boy", "boys"), ("man", "men"), ("bench", "benches")],
)
def test_plurals(noun, many):
    assert plural(noun, {"man": "men"}) == many


def test_no_such_file(tmp_path):
    with pytest.raises(UserError, match="no lexicon at"):
        lexicon(tmp_path / "none.yaml")


def test_what_no_scale_decides_is_marked():
    words = lexicon()
    assert words.origins["cool", "cold"] == "sourced"
    assert ("dumb", "stupid") not in words.origins  # no reference decides it
    assert ("big", "huge") in words.weaker and ("big", "huge") not in words.origins
    cool = Pair("ordering", "day", "cool", None, "cold")
    assert (origin(cool, words), entails(cool, words)) == ("sourced", False)
    assert origin(Pair("ordering", "day", "cold", None, "cool"), words) == "sourced"
    assert origin(Pair("ordering", "bag", "big", None, "huge"), words) == "lexicon"


def test_a_sourced_entry_needs_its_source():
    data = yaml.safe_load(PATH.read_text(encoding="utf-8"))
    data["sourced"]["ordering"] = [{"weak": "cool", "strong": "cold"}]
    with pytest.raises(UserError, match="expected weak, strong and source"):
        parse_lexicon(data)
