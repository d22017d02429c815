import copy
from typing import Any

import pytest
import yaml

from adnominal.conf import UserError
from adnominal.etl.asp.labels import entails, origin
from adnominal.etl.asp.lexicon import PATH, load_lexicon, parse_lexicon, plural
from adnominal.etl.asp.templates import Pair
from adnominal.etl.knowledge import english

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


def change(*path, value):
    """`SMALL` with another value at a path of keys."""
    data: dict[str, Any] = copy.deepcopy(SMALL)
    parent = data
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    return data


def test_a_lexicon_declares_order_standards_opposites_and_forms():
    lexicon = parse_lexicon(SMALL)
    assert lexicon.weaker == {("long", "endless")}
    assert lexicon.standards["dirty"] == "minimum" and lexicon.standards["long"] == "relative"
    assert lexicon.complementary["clean", "dirty"]
    assert not lexicon.complementary["long", "short"]
    assert {a.word: a.nouns for a in lexicon.adjectives}["endless"] == ("rod",)
    assert lexicon.comparative_of("long") == "longer"
    assert lexicon.superlative_of("dirty") == "most dirty"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "got list, expected a mapping"),
        (change("colour", value=1), "the field 'colour'"),
        (change("scales", "length", "nouns", value=["sky"]), "the noun 'sky'"),
        (change("scales", "length", "standards", value=["total", "relative"]), "standards"),
        (change("scales", "length", "negative", value=[["long"]]), "long twice"),
        (change("scales", "length", "opposites", value=[["long", "endless"]]), "opposites long"),
        (change("scales", "length", "ungraded", value=["tall"]), "tall in ungraded"),
        (change("scales", "length", "except", value={"short": ["things"]}), "no noun for short"),
        (change("scales", "cleanliness", "positive", value=[["dirty"], ["long"]]), "long as min"),
        (change("measures", 0, "nouns", value={"rod": [5, 1]}), r"expected \[least, greatest\]"),
        (change("measures", 0, "dimension", value="time"), "one of length, mass"),
        (change("forms", value={"tall": ["taller", "tallest"]}), "forms: got tall"),
        (change("forms", value={"long": "longer"}), "forms, long: got 'longer', expected a list"),
        (change("forms", value={"long": ["longer"]}), "expected a list of 2"),
        (change("nouns", value=["rod"]), "nouns: got list, expected a mapping"),
        (change("nouns", "people", value=None), "nouns, people: got None, expected a list"),
        (change("nouns", "people", value=["boy", "rod"]), "rod 2 times, expected each noun once"),
        (change("nouns", "people", value=[True]), "got True, expected text"),
        (change("boosters", value=[]), "boosters: got an empty list"),
        (change("boosters", value=None), "the file: got no boosters"),
        (change("scales", value=[1]), "scales: got list, expected a mapping"),
        (change("scales", "length", value=None), "scales, length: got NoneType"),
        (change("scales", "length", "positive", value=["long"]), "positive, 1: got 'long'"),
        (change("scales", "length", "opposites", value=[["long"]]), "opposites, 1: got .'long'."),
        (change("scales", "length", "opposites", value=["long"]), "expected a list of 2"),
        (change("scales", "length", "family", value=None), "scale length: got no family"),
        (change("measures", 0, "nouns", value={"rod": 5}), "nouns, rod: got 5, expected a list"),
        (change("measures", 0, "nouns", value={"rod": [1, "b"]}), "got 'b', expected a whole"),
        (change("measures", 0, "adjectives", value=["long"]), "adjectives: got .'long'."),
        (change("measures", 0, "unit", value=None), "measure 1: got no unit"),
        (change("attested", value={"ordering": [["x"]]}), "attested, ordering, 1: got .'x'."),
        (change("sourced", value={"ordering": ["x"]}), "sourced, ordering, 1: got str"),
        (
            change("attested", value={"ordering": [["endless", "long"]]}),
            "endless and long each weaker",
        ),
    ],
)
def test_errors_say_where_a_lexicon_is_wrong(data, message):
    with pytest.raises(UserError, match=message):
        parse_lexicon(data)


def test_the_lexicon_is_as_large_as_documented():
    lexicon = load_lexicon()
    assert len(lexicon.words) >= 120 and len(lexicon.nouns) >= 150
    assert len({a.scale for a in lexicon.adjectives}) >= 40


def test_a_corpus_restricts_the_combinations():
    lexicon = parse_lexicon(
        change("measures", 0, "nouns", value={"rod": [1, 500], "pole": [1, 500]})
    )
    restricted, dropped, measured = lexicon.restrict_to_pairs(
        {("dirty", "boy"), ("long", "rod"), ("green", "rod")}
    )
    nouns = {a.word: a.nouns for a in restricted.adjectives}
    assert (nouns["dirty"], nouns["long"]) == (("boy",), ("rod",))
    # An adjective that the corpus lacks keeps all its nouns.
    assert nouns["short"] == ("rod", "pole")
    assert dropped == [("long", "pole"), ("dirty", "rod"), ("dirty", "pole")]
    assert [list(measure.nouns) for measure in restricted.measures] == [["rod"]]
    assert measured == [("long/short", "pole")]


def test_a_corpus_restricts_an_adjective_on_all_its_scales():
    age = {"family": "age", "positive": [["long"]], "nouns": ["people"]}
    lexicon = parse_lexicon(change("scales", "age", value=age))
    restricted, dropped, _ = lexicon.restrict_to_pairs({("long", "rod")})
    nouns = {a.scale: a.nouns for a in restricted.adjectives if a.word == "long"}
    assert nouns == {"length": ("rod",), "age": ()}
    assert dropped == [("long", "pole"), ("long", "boy")]


@pytest.mark.parametrize(
    ("noun", "expected"),
    [("box", "boxes"), ("city", "cities"), ("boy", "boys"), ("man", "men"), ("bench", "benches")],
)
def test_plurals(noun, expected):
    assert plural(noun, {"man": "men"}) == expected


def test_the_plurals_of_the_shipped_nouns_are_those_of_the_dictionary():
    lexicon = load_lexicon()
    nouns = {noun for measure in lexicon.measures for noun in measure.nouns} - lexicon.mass
    plurals = {noun: plural(noun, lexicon.plurals) for noun in nouns}
    assert plurals == {noun: english.plural(noun) for noun in nouns}


def test_a_missing_lexicon_is_reported(tmp_path):
    with pytest.raises(UserError, match="no lexicon at"):
        load_lexicon(tmp_path / "none.yaml")


def test_relations_outside_the_scales_have_an_origin():
    lexicon = load_lexicon()
    assert lexicon.origins["cool", "cold"] == "sourced"
    assert ("dumb", "stupid") not in lexicon.origins  # no reference decides it
    assert ("big", "huge") in lexicon.weaker and ("big", "huge") not in lexicon.origins
    cool = Pair("ordering", "day", "cool", None, "cold")
    assert (origin(cool, lexicon), entails(cool, lexicon)) == ("sourced", False)
    assert origin(Pair("ordering", "day", "cold", None, "cool"), lexicon) == "sourced"
    assert origin(Pair("ordering", "bag", "big", None, "huge"), lexicon) == "lexicon"


def test_a_sourced_entry_needs_its_source():
    data = yaml.safe_load(PATH.read_text(encoding="utf-8"))
    data["sourced"]["ordering"] = [{"weak": "cool", "strong": "cold"}]
    with pytest.raises(UserError, match="expected weak, strong and source"):
        parse_lexicon(data)
