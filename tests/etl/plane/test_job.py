import logging
from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pytest

from adnominal import conf
from adnominal.conf import UserError
from adnominal.etl.building import begin_build
from adnominal.etl.lake import arrow
from adnominal.etl.lake.spark import Lake
from adnominal.etl.plane import blocks, items, job
from adnominal.etl.plane.job import build, classes_of
from adnominal.etl.plane.rules import conclusion, group_id, item_id, label, sentence
from adnominal.etl.plane.settings import Settings
from adnominal.etl.plane.splits import GROUPS
from tests.rows import rows, write

SMALL = Settings(edition="small", schemes=["two_shot"], two_shot=1, every_class=True)
PAIRS = """
red dog 5 | red dogs 1 | russian dog 1 | electric dog 1 | famous dog 3 | fake dog 2 | shiny dog 9
red load 2 | famous load 2 | fake knife 1 | red xyzzy 1 | famous trousers 1 | red man 1
famous man 1 | fake men 1 | famous load's 1
"""
# Noun, sense, distance, hypernym, whether it is the first lemma of its synset.
HYPERNYMS = """
dog 1 1 canine 1 | dog 1 1 canid 0 | dog 1 2 carnivore 1 | dog 1 3 beast 1 | dog 2 1 chap 1
load 1 1 weight 1 | load 1 2 physical_object 1 | knife 1 1 cutting_tool 1 | trousers 1 1 garment 1
man 1 1 adult 1 | man 1 1 people 1 | man 1 1 man 1 | canine 1 1 carnivore 1
carnivore 1 1 beast 1
"""


def cells(text: str) -> list[list[str]]:
    return [part.split() for line in text.strip().splitlines() for part in line.split("|")]


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> str:
    """A lake with a few pairs and a WordNet of a few words."""
    root = str(tmp_path_factory.mktemp("lake"))
    pairs = [(adjective, noun, int(count)) for adjective, noun, count in cells(PAIRS)]
    names = "adjective noun count"
    write(root, "amod_pairs", rows(names, *pairs, corpus="mine"))
    write(root, "amod_association", rows(names, *pairs, corpus="mine", pmi=1.5))
    hypernyms = [
        {
            "noun": noun,
            "sense": int(sense),
            "distance": int(distance),
            "hypernym": hypernym.replace("_", " "),
            "noun_synset": f"{noun}.n.{sense}",
            "hypernym_synset": f"{hypernym.lower()}.n.1",
            "first_lemma": first == "1",
        }
        for noun, sense, distance, hypernym, first in cells(HYPERNYMS)
    ]
    write(root, "wordnet_hypernyms", hypernyms)
    lemmas = [(noun, "n") for noun in dict.fromkeys(row["noun"] for row in hypernyms)]
    write(root, "wordnet_lemmas", rows("lemma pos", *lemmas, ("xyzzy", "v")))
    write(root, "wordnet_exceptions", rows("form lemma pos place", ("men", "man", "n", 0)))
    return root


@pytest.fixture(scope="module")
def built_lake(spark, root) -> Lake:
    build(replace(SMALL, lake=root))
    return Lake(spark, root)


def test_a_build_writes_the_items_that_the_rules_give(built_lake):
    item_rows = [row.asDict() for row in built_lake.read("plane_items").collect()]
    groups = {(r["adjective"], r["noun"], r["hypernym"], r["distance"]) for r in item_rows}
    hypernyms = [("canine", 1), ("carnivore", 2), ("beast", 3)]
    assert groups == {
        *((a, "dog", *up) for a in ("red", "russian", "electric", "famous") for up in hypernyms),
        ("fake", "dog", "canine", 1),
        *((a, "man", "adult", 1) for a in ("red", "famous", "fake")),
    }
    assert len(item_rows) == 3 * len(groups)
    classes = classes_of(None)
    for row in item_rows:
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


def test_dropped_pairs_are_counted_by_reason(built_lake):
    dropped = {
        row["reason"]: (row["count"], row["sample"])
        for row in built_lake.read("dropped", where={"job": "build_plane/small"}).collect()
    }
    assert dropped == {
        "adjective without a class": (1, "shiny dog"),
        "noun not in WordNet": (2, "famous load's"),
        "plural noun": (1, "famous trousers"),
        "no one-word hypernym within reach": (1, "fake knife"),
        "noun not with every class": (2, "famous load"),
    }


def test_splits_refer_to_items_and_phrases_have_their_pmi(built_lake):
    split = built_lake.read("plane_splits").collect()
    parts = Counter((row["scheme"], row["fold"], row["part"]) for row in split)
    assert parts == {("two_shot", "1", "test"): 9}
    items_by_id = {row["item_id"]: row for row in built_lake.read("plane_items").collect()}
    classes = Counter(items_by_id[row["item_id"]]["class"] for row in split)
    assert classes == dict.fromkeys("ISO", 3)
    measured = built_lake.read("plane_association").collect()
    phrases = {(row["adjective"], row["noun"], row["class"], row["pmi"]) for row in measured}
    assert ("red", "dogs", "I", 1.5) in phrases and ("fake", "men", "O", 1.5) in phrases
    assert len(phrases) == 9 and {row["edition"] for row in measured} == {"small"}


@pytest.mark.slow
def test_rows_do_not_depend_on_the_partitioning(built_lake, root, tmp_path):
    item_rows = [sorted(map(tuple, built_lake.read("plane_items").collect()))]
    for size in (1, 30):
        build(replace(SMALL, lake=root, edition="other", task_size=size, association=False))
        other = built_lake.read("plane_items", where={"edition": "other"})
        item_rows.append(sorted(map(tuple, other.drop("edition", "item_id").collect())))
    assert item_rows[1] == item_rows[2] and len(item_rows[1]) == len(item_rows[0])
    small = built_lake.read("plane_items", where={"edition": "small"})
    assert sorted(map(tuple, small.drop("edition", "item_id").collect())) == item_rows[1]


def test_chains_give_further_items(spark, root):
    """Adjectives of a noun also modify its hypernyms, as in the published One-IT files."""
    settings = Settings(text="paper", chains=True, edition="mine")
    lake = Lake(spark, root)
    # Chains follow the first sense of a noun.
    (chain,) = items.chains_of(lake.read("wordnet_hypernyms")).where("base = 'dog'").collect()
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
    phrases = spark.createDataFrame(
        pa.table({"adjective": ["fake"], "class": ["O"], "noun": ["dog"]})
    )
    hypernyms = rows("hypernym distance", ("canine", 1), ("carnivore", 2))
    known = pa.Table.from_pylist([{"noun": "dog", "hypernyms": hypernyms}], blocks.WORDS)
    words = spark.createDataFrame(known)
    missing = job.missing_chains(spark, groups, phrases, words, settings).toArrow()
    further_items = blocks.items(
        missing, blocks.Vocabulary(known, 3, 1, "paper", "mine")
    ).to_pylist()
    # Canine, the direct hypernym, is in the items of the phrase already.
    assert {row["sentence"]: row["label"] for row in further_items} == {
        "A fake dog is a fake carnivore": 1,
        "A fake canine is a fake carnivore": 1,
    }
    assert {row["inference_type"] for row in further_items} == {3}
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


def test_adjectives_tagged_as_context_dependent_are_dropped(spark, built_lake, root, tmp_path):
    file = tmp_path / "mine.tsv"
    header = "# version: 1\nadjective\tclass\ttags\n"
    file.write_text(f"{header}shiny\tI\tcontext-dependent\nred\tI\t\n", encoding="utf-8")
    tagged = replace(SMALL, lake=root, edition="tagged", classes=str(file), association=False)
    build(tagged)
    lake = Lake(spark, root)
    rows = lake.read("plane_items", where={"edition": "tagged"}).select("adjective").collect()
    assert "shiny" not in {row["adjective"] for row in rows}
    dropped = lake.read("dropped", where={"job": "build_plane/tagged"}).collect()
    assert ("adjective with a tag of drop_tags", 1, "shiny dog") in {
        (row["reason"], row["count"], row["sample"]) for row in dropped
    }
    build(replace(tagged, edition="untagged", drop_tags=[]))
    rows = lake.read("plane_items", where={"edition": "untagged"}).select("adjective").collect()
    assert "shiny" in {row["adjective"] for row in rows}


def test_a_build_that_fails_writes_nothing(spark, built_lake, root):
    old_version = built_lake.version("plane_items")
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
    assert built_lake.version("plane_items") == old_version


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
def test_wrong_settings_are_refused(argument, message):
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
def test_names_of_editions_are_new_and_valid_in_paths(edition, message):
    with pytest.raises(UserError, match=message):
        begin_build("build_plane", conf.load(Settings, [f"edition={edition}"]))


def test_presets_set_text_chains_and_classes():
    paper = conf.load(Settings, ["preset=paper"])
    assert (paper.name, paper.text, paper.sizes.chains) == ("paper", "paper", True)
    assert not conf.load(Settings, ["preset=demo"]).every_class


def test_a_build_of_the_paper_is_compared_with_its_figures(root, caplog):
    paper = Settings(preset="paper", text="paper", every_class=False, edition="beside", schemes=[])
    with caplog.at_level("INFO", "adnominal"):
        build(replace(paper, lake=root))
    (comparison,) = [
        m for m in map(logging.LogRecord.getMessage, caplog.records) if "the paper" in m
    ]
    # The pairs have dog, dogs, load, man, men and trousers.
    assert "items of 6 nouns, 33 % of them inflected; the paper has 1900000 items" in comparison
    assert "noun_by=form" not in caplog.text


def test_a_corpus_of_lemmas_is_reported(root, caplog):
    paper = Settings(preset="paper", text="paper", edition="beside", schemes=[])
    with caplog.at_level("INFO", "adnominal"):
        build(replace(paper, lake=root))
    # Only dog has adjectives of every class.
    assert "items of 1 nouns, 0 % of them inflected" in caplog.text
    assert "no noun is inflected" in caplog.text and "noun_by=form" in caplog.text


def test_chains_without_the_scheme_one_it_change_nothing(root):
    build(replace(SMALL, lake=root, chains=True, edition="unchained"))
    columns = ["edition", "adjective", "noun", "hypernym"]
    item_rows = arrow.read(root, "plane_items", columns=columns).to_pylist()
    unchained, plain = (
        {tuple(row.values())[1:] for row in item_rows if row["edition"] == edition}
        for edition in ("unchained", SMALL.edition)
    )
    assert unchained == plain
