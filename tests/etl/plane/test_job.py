from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pytest

import conf
from conf import UserError
from etl.building import begin_build
from etl.lake import arrow
from etl.lake.spark import Lake
from etl.lake.tables import table
from etl.plane import blocks, items, job
from etl.plane.job import build, classes_of
from etl.plane.rules import conclusion, group_id, item_id, label, sentence
from etl.plane.settings import Settings
from etl.plane.splits import GROUPS

SMALL = Settings(edition="small", schemes=["two_shot"], two_shot=1, every_class=True)
PAIRS = """
red dog 5 | red dogs 1 | russian dog 1 | electric dog 1 | famous dog 3 | fake dog 2 | shiny dog 9
red load 2 | famous load 2 | fake knife 1 | red xyzzy 1 | famous trousers 1 | red man 1
famous man 1 | fake men 1 | famous load's 1
"""
# noun, sense, distance, hypernym, whether the first lemma
ABOVE = """
dog 1 1 canine 1 | dog 1 1 canid 0 | dog 1 2 carnivore 1 | dog 1 3 beast 1 | dog 2 1 chap 1
load 1 1 weight 1 | load 1 2 physical_object 1 | knife 1 1 cutting_tool 1 | trousers 1 1 garment 1
man 1 1 adult 1 | man 1 1 people 1 | man 1 1 man 1 | canine 1 1 carnivore 1
carnivore 1 1 beast 1
"""


def rows_of(text: str) -> list[list[str]]:
    return [part.split() for line in text.strip().splitlines() for part in line.split("|")]


def put(root: str, name: str, rows: list[dict[str, object]]) -> None:
    arrow.append(root, name, pa.Table.from_pylist(rows, table(name).schema), job="test")


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> str:
    """A lake with a few pairs and a WordNet of a few words."""
    root = str(tmp_path_factory.mktemp("lake"))
    pairs = [
        {"corpus": "mine", "adjective": a, "noun": n, "count": int(c)} for a, n, c in rows_of(PAIRS)
    ]
    put(root, "amod_pairs", pairs)
    put(root, "amod_association", [{**pair, "pmi": 1.5} for pair in pairs])
    above = [
        {
            "noun": noun,
            "sense": int(sense),
            "distance": int(distance),
            "hypernym": hypernym.replace("_", " "),
            "noun_synset": f"{noun}.n.{sense}",
            "hypernym_synset": f"{hypernym.lower()}.n.1",
            "first_lemma": first == "1",
        }
        for noun, sense, distance, hypernym, first in rows_of(ABOVE)
    ]
    put(root, "wordnet_hypernyms", above)
    lemmas = [{"lemma": noun, "pos": "n"} for noun in dict.fromkeys(row["noun"] for row in above)]
    put(root, "wordnet_lemmas", [*lemmas, {"lemma": "xyzzy", "pos": "v"}])
    put(root, "wordnet_exceptions", [{"form": "men", "lemma": "man", "pos": "n", "place": 0}])
    return root


@pytest.fixture(scope="module")
def built(spark, root) -> Lake:
    build(replace(SMALL, lake=root))
    return Lake(spark, root)


def test_items_are_those_of_the_rules(built):
    rows = [row.asDict() for row in built.read("plane_items").collect()]
    groups = {(r["adjective"], r["noun"], r["hypernym"], r["distance"]) for r in rows}
    animal = [("canine", 1), ("carnivore", 2), ("beast", 3)]
    assert groups == {
        *((a, "dog", *up) for a in ("red", "russian", "electric", "famous") for up in animal),
        ("fake", "dog", "canine", 1),
        *((a, "man", "adult", 1) for a in ("red", "famous", "fake")),
    }
    assert len(rows) == 3 * len(groups)
    classes = classes_of(None)
    for row in rows:
        words = (row["adjective"], row["noun"], row["hypernym"])
        inference = row["inference_type"]
        assert row["class"] == classes[row["adjective"]]
        assert row["label"] == label(row["class"], inference)
        assert row["sentence"] == sentence("clean", inference, *words)
        assert row["item_id"] == item_id("small", inference, *words)
        assert row["group_id"] == group_id(*words)
        expected = conclusion(inference, *words)
        assert row["conclusion"] == expected.replace("russian", "Russian")
        assert row["sentence"].lower().split(maxsplit=1)[1].startswith(row["premise"].lower())


def test_what_is_left_out_is_counted(built):
    dropped = {
        row["reason"]: (row["count"], row["sample"])
        for row in built.read("dropped", where={"job": "build_plane/small"}).collect()
    }
    assert dropped == {
        "adjective without a class": (1, "shiny dog"),
        "noun not in WordNet": (2, "famous load's"),
        "plural noun": (1, "famous trousers"),
        "no one-word hypernym within reach": (1, "fake knife"),
        "noun not with every class": (2, "famous load"),
    }


def test_splits_name_items_and_phrases_have_their_pmi(built):
    split = built.read("plane_splits").collect()
    parts = Counter((row["scheme"], row["fold"], row["part"]) for row in split)
    assert parts == {("two_shot", "1", "test"): 9}
    items_by_id = {row["item_id"]: row for row in built.read("plane_items").collect()}
    classes = Counter(items_by_id[row["item_id"]]["class"] for row in split)
    assert classes == dict.fromkeys("ISO", 3)
    measured = built.read("plane_association").collect()
    phrases = {(row["adjective"], row["noun"], row["class"], row["pmi"]) for row in measured}
    assert ("red", "dogs", "I", 1.5) in phrases and ("fake", "men", "O", 1.5) in phrases
    assert len(phrases) == 9 and {row["edition"] for row in measured} == {"small"}


@pytest.mark.slow
def test_rows_do_not_depend_on_the_partitioning(built, root, tmp_path):
    """Nor on how many tasks make them."""
    rows = [sorted(map(tuple, built.read("plane_items").collect()))]
    for size in (1, 30):
        build(replace(SMALL, lake=root, edition="other", task_size=size, association=False))
        other = built.read("plane_items", where={"edition": "other"})
        rows.append(sorted(map(tuple, other.drop("edition", "item_id").collect())))
    assert rows[1] == rows[2] and len(rows[1]) == len(rows[0])
    small = built.read("plane_items", where={"edition": "small"})
    assert sorted(map(tuple, small.drop("edition", "item_id").collect())) == rows[1]


def test_chains_bring_their_own_items(spark, root):
    """Adjectives of a noun stand before its hypernyms too, as in the published One-IT files."""
    settings = Settings(text="paper", chains=True, edition="mine")
    lake = Lake(spark, root)
    above = lake.read("wordnet_hypernyms")
    # Of the noun's first sense.
    (chain,) = items.chains_of(above).where("base = 'dog'").collect()
    assert chain["chain"] == ["canine", "carnivore", "beast"]
    steps = [("dog", "canine", 1), ("dog", "carnivore", 2), ("canine", "carnivore", 1)]
    names = ["noun", "hypernym", "distance"]
    groups = pa.Table.from_pylist(
        [
            {"scheme": scheme, "fold": "1", "part": "test", "adjective": "fake", "class": "O"}
            | dict(zip(names, step, strict=True))
            for scheme in ("one_it", "strict")
            for step in steps
        ],
        GROUPS,
    )
    met = spark.createDataFrame(pa.table({"adjective": ["fake"], "class": ["O"], "noun": ["dog"]}))
    up = [{"hypernym": "canine", "distance": 1}, {"hypernym": "carnivore", "distance": 2}]
    known = pa.Table.from_pylist([{"noun": "dog", "hypernyms": up}], blocks.WORDS)
    words = spark.createDataFrame(known)
    missing = job.chains_missing(spark, groups, met, words, settings).toArrow()
    rows = blocks.items(missing, blocks.Vocabulary(known, 3, 1, "paper", "mine")).to_pylist()
    # The phrase goes up to canine itself: of intensional adjectives only direct hypernyms.
    assert {row["sentence"]: row["label"] for row in rows} == {
        "A fake dog is a fake carnivore": 1,
        "A fake canine is a fake carnivore": 1,
    }
    assert {row["inference_type"] for row in rows} == {3}
    split = job.split_rows(groups, settings).to_pylist()
    ids = {row["item_id"] for row in split if row["scheme"] == "one_it"}
    assert ids == {item_id("mine", 3, "fake", *step[:2]) for step in steps}
    assert len(split) == 3 + 9


def test_a_file_of_classes_adds_to_the_lexicon(tmp_path):
    file = tmp_path / "mine.tsv"
    file.write_text("# version: 1\nadjective\tclass\nshiny\tI\nred\tI\n", encoding="utf-8")
    classes = classes_of(str(file))
    assert classes["shiny"] == "I" and classes["famous"] == "S"
    file.write_text("# version: 1\nadjective\tclass\nred\tO\n", encoding="utf-8")
    with pytest.raises(UserError, match="red is of class O there and I in the lexicon"):
        classes_of(str(file))


def test_nothing_is_written_where_something_lacks(spark, built, root):
    old_version = built.version("plane_items")
    for changes, message in (
        ({"corpus": ["other"]}, "corpus=other: not in amod_pairs, which has mine"),
        ({"min_count": 9}, r"no item to build from the pairs of all corpora .*min_count="),
        (
            {"schemes": ["strict"]},
            "scheme strict, fold 1: its test part needs 112 .* the pairs give 0",
        ),
    ):
        with pytest.raises(UserError, match=message):
            build(replace(SMALL, lake=root, **changes))
    assert built.version("plane_items") == old_version


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("distance=4", "expected 1, 2 or 3"),
        ("intensional_distance=4", "expected 1, 2 or 3"),
        ("min_count=0", "1 or more"),
        ("train_rows=10", "a multiple of 18"),
        ("schemes=random", "expected one of published, strict"),
    ],
)
def test_mistakes_of_the_user(argument, message):
    with pytest.raises(UserError, match=message):
        conf.load(Settings, [argument])
    with pytest.raises(UserError, match="at most distance=1"):
        conf.load(Settings, ["distance=1", "intensional_distance=2"])
    with pytest.raises(UserError, match="chains=true distance=2"):
        conf.load(Settings, ["distance=2", "preset=paper"])


@pytest.mark.parametrize(
    ("edition", "message"),
    [
        ("published", "is the authors' release"),
        ("published_tuning", "is the authors' release"),
        ("published_wider", "is the authors' release"),
        ("my ed/1", "edition=my ed/1: expected letters, digits"),
        ("../x", "expected letters"),
    ],
)
def test_an_edition_has_a_name_of_its_own_that_fits_files(edition, message):
    with pytest.raises(UserError, match=message):
        begin_build("build_plane", conf.load(Settings, [f"edition={edition}"]))


def test_presets():
    paper = conf.load(Settings, ["preset=paper"])
    assert (paper.name, paper.text, paper.sizes.chains) == ("paper", "paper", True)
    assert not conf.load(Settings, ["preset=demo"]).every_class


def test_a_build_of_the_paper_is_set_beside_it(root, caplog):
    paper = Settings(preset="paper", text="paper", every_class=False, edition="beside", schemes=[])
    with caplog.at_level("INFO", "adnominal"):
        build(replace(paper, lake=root))
    (beside,) = [m for m in map(logging.LogRecord.getMessage, caplog.records) if "the paper" in m]
    # dog, dogs, load, man, men and trousers: nouns as the pairs have them.
    assert "items of 6 nouns, 33 % of them inflected; the paper has 1900000 items" in beside
    assert "noun_by=form" not in caplog.text


def test_a_corpus_of_lemmas_is_told_from_the_papers(root, caplog):
    paper = Settings(preset="paper", text="paper", edition="beside", schemes=[])
    with caplog.at_level("INFO", "adnominal"):
        build(replace(paper, lake=root))
    # Of these dog alone is there with every class.
    assert "items of 1 nouns, 0 % of them inflected" in caplog.text
    assert "no noun is inflected" in caplog.text and "noun_by=form" in caplog.text


def test_chains_without_the_scheme_that_they_are_for(root):
    build(replace(SMALL, lake=root, chains=True, edition="unchained"))
    editions = arrow.read(root, "plane_items", columns=["edition", "adjective", "noun", "hypernym"])
    rows = editions.to_pylist()
    unchained, plain = (
        {tuple(row.values())[1:] for row in rows if row["edition"] == edition}
        for edition in ("unchained", SMALL.edition)
    )
    assert unchained == plain
