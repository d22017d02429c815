from dataclasses import replace
from typing import Any

import pytest

from adnominal import conf
from adnominal.conf import JobFailed, UserError
from adnominal.etl.adept.job import build
from adnominal.etl.adept.predicates import DEFAULT_RELATIONS
from adnominal.etl.adept.settings import Settings
from adnominal.etl.lake import arrow
from tests.rows import rows, write

POS = {
    "n": "dog cat door key tail friend gun brick ass one",
    "v": "bark use open guard bite",
    "a": "old young wet fake former big loud dirty iron heavy american such dead front",
}
# The adjectives of each noun, with their counts in corpus one.
PAIRS = {
    "dog": {"old": 30, "young": 20, "wet": 10, "fake": 12, "former": 11, "big": 15, "dead": 10,
            "american": 10, "such": 90, "xyzzy": 40, "loud": 9},
    "door": {"old": 11, "heavy": 12, "iron": 13, "front": 14, "dirty": 9},
    "gun": {"fake": 10, "former": 10, "dead": 10, "heavy": 10},
    "brick": {"old": 50, "heavy": 50, "dirty": 50},
    "dogx": {"old": 50},
    "ass": {"old": 50},
}  # fmt: skip
EDGES = [
    ("CapableOf", "a dog", "bark", "[[a dog]] can [[bark]]"),
    ("CapableOf", "dogs", "guard a door", "[[dogs]] can [[guard a door]]"),
    ("UsedFor", "a dog", "guarding a door", "[[a dog]] is for [[guarding a door]]"),
    ("HasA", "dog", "tail", None),
    ("HasA", "dog", "tail", "[[a dog]] has [[a tail]]"),
    ("HasProperty", "a dog", "big", "[[a dog]] is not [[big]]"),
    ("HasA", "a door", "a key", "[[a door]] has [[a key]]"),
    ("UsedFor", "gun", "door", None),
    ("HasA", "a cat", "a tail", "[[a cat]] has [[a tail]]"),
    ("HasA", "a wet dog", "a tail", "[[a wet dog]] has [[a tail]]"),
    ("Causes", "a dog", "friends", "Sometimes [[a dog]] causes [[friends]]"),
]


@pytest.fixture(scope="module")
def root(spark, tmp_path_factory) -> str:
    """A lake with a build; the pairs of corpus two are also in corpus one."""
    root = str(tmp_path_factory.mktemp("lake"))
    pairs = [
        ("one", adjective, noun, count)
        for noun, counts in PAIRS.items()
        for adjective, count in counts.items()
    ]
    pairs += [("two", "old", "dog", 10), ("two", "loud", "dog", 9)]
    write(root, "amod_pairs", rows("corpus adjective noun count", *pairs))
    lemmas = [(word, pos) for pos, words in POS.items() for word in words.split()]
    write(root, "wordnet_lemmas", rows("lemma pos", *lemmas))
    edges = [(*edge, f"/a/{number}") for number, edge in enumerate(EDGES)]
    names = "relation start_label end_label surface_text uri"
    write(root, "conceptnet_edges", rows(names, *edges, weight=1.0))
    build(Settings(lake=root, seed=1))
    return root


def read(root: str, name: str, edition: str = "clean") -> list[dict[str, Any]]:
    edition_rows = arrow.read(root, name, where=[("edition", "=", edition)]).to_pylist()
    return sorted(edition_rows, key=lambda row: str(list(row.values())))


def test_entries_list_the_adjectives_of_a_noun_by_frequency(root):
    adjectives = {row["noun"]: row["adjectives"] for row in read(root, "adept_entries")}
    assert set(adjectives) == {"dog", "door", "gun"}
    # Counts are added across corpora where they reach the minimum in each.
    assert adjectives["dog"][0] == {"adjective": "old", "count": 40, "nonsubsective": False}
    assert [row["adjective"] for row in adjectives["dog"]] == [
        "old", "young", "big", "fake", "former", "american", "dead", "wet"
    ]  # fmt: skip
    assert {row["adjective"] for row in adjectives["dog"] if row["nonsubsective"]} == {
        "fake", "former", "dead"
    }  # fmt: skip


def test_each_sentence_has_one_chosen_variant(root):
    items = read(root, "adept_items")
    sentences = {(row["noun"], row["sentence"], row["path"]) for row in items}
    assert len([s for s in sentences if s[0] == "dog"]) == 3
    assert ("door", "A door has a key.", "surface_text") in sentences
    assert ("gun", "A gun is used for a door.", "template") in sentences
    for sentence in {row["sentence"] for row in items}:
        variants = [row for row in items if row["sentence"] == sentence]
        assert sum(row["chosen"] for row in variants) == 1
        assert len(variants) == (3 if variants[0]["noun"] == "gun" else 4)
        assert sum(row["nonsubsective"] for row in variants) <= 2
    assert len({row["item_id"] for row in items}) == len(items)
    iron = next(row for row in items if row["adjective"] == "iron")
    assert (iron["modified_sentence"], iron["edge"]) == ("An iron door has a key.", "/a/6")


def test_every_pair_and_edge_is_kept_or_dropped_with_a_reason(root):
    dropped_rows = arrow.read(root, "dropped").to_pylist()
    assert {row["job"] for row in dropped_rows} == {"build_adept/clean"}
    drops = {(row["table"], row["reason"]): (row["count"], row["sample"]) for row in dropped_rows}
    assert drops == {
        ("adept_entries", "count below 10"): (3, "dirty door"),
        ("adept_entries", "noun is no word"): (1, "dogx"),
        ("adept_entries", "noun is offensive"): (1, "ass"),
        ("adept_entries", "adjective is no word"): (1, "xyzzy"),
        ("adept_entries", "adjective acts as a determiner"): (1, "such"),
        ("adept_entries", "noun has fewer than 4 adjectives"): (3, "brick"),
        ("adept_items", "negated"): (1, "HasProperty /a/5 [[a dog]] is not [[big]]"),
        ("adept_items", "noun has no entry"): (1, "A cat has a tail."),
        ("adept_items", "predicate said before"): (2, "A dog barks."),
        ("adept_items", "subject is not one word"): (
            1, "HasA /a/9 [[a wet dog]] has [[a tail]]"),
    }  # fmt: skip
    adjectives = sum(len(row["adjectives"]) for row in read(root, "adept_entries"))
    # The rows of both corpora for "old dog" give one adjective.
    pairs = sum(map(len, PAIRS.values())) + 2
    dropped = sum(count for (name, _), (count, _) in drops.items() if name == "adept_entries")
    assert adjectives + 1 + dropped == pairs
    sentences = {row["sentence"] for row in read(root, "adept_items")}
    dropped = sum(count for (name, _), (count, _) in drops.items() if name == "adept_items")
    assert len(sentences) + dropped == len(EDGES) - 1  # relations= does not list Causes


@pytest.mark.slow
@pytest.mark.parametrize("parts", ["1", "7"])
def test_rows_do_not_depend_on_the_partitioning(spark, root, parts):
    expected = read(root, "adept_items"), read(root, "adept_entries")
    dropped = arrow.read(root, "dropped").to_pylist()
    old_partitions = spark.conf.get("spark.sql.shuffle.partitions")
    try:
        spark.conf.set("spark.sql.shuffle.partitions", parts)
        spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
        build(Settings(lake=root, seed=1))
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", old_partitions)
        spark.conf.unset("spark.sql.adaptive.coalescePartitions.enabled")
    assert (read(root, "adept_items"), read(root, "adept_entries")) == expected
    assert arrow.read(root, "dropped").to_pylist() == dropped


def test_the_papers_rules_with_more_relations_and_without_adjectives_of_identity(root):
    relations = ",".join([*DEFAULT_RELATIONS, "Causes"])
    paper = ["preset=paper", "seed=2", "corpora=one", "predicates=9", "identity=leave_out"]
    build(conf.load(Settings, [*paper, f"relations={relations}", f"lake={root}"]))
    adjectives = {row["noun"]: row["adjectives"] for row in read(root, "adept_entries", "paper")}
    names = {row["adjective"] for row in adjectives["dog"]}
    assert "such" in names and not names & {"old", "american", "young"}
    items = read(root, "adept_items", "paper")
    assert {row["path"] for row in items} == {"surface_text"}
    sentences = {row["sentence"] for row in items if row["noun"] == "dog"}
    assert sentences == {
        "A dog barks.",
        "A dog has a tail.",
        "A dog is for guarding a door.",
        "Dogs guards a door.",
        "Sometimes a dog causes friends.",
    }
    reasons = {row["reason"] for row in arrow.read(root, "dropped").to_pylist()}
    assert {"no surface text", "adjective of identity"} <= reasons
    # The clean edition has not changed.
    assert {row["noun"] for row in read(root, "adept_items")} == {"dog", "door", "gun"}


def test_a_build_without_rows_fails(spark, root):
    with pytest.raises(UserError, match="corpora=three: not in amod_pairs, which has one, two"):
        build(Settings(lake=root, corpora=["three"]))
    with pytest.raises(JobFailed, match="no noun has 40 adjectives"):
        build(Settings(lake=root, edition="many", min_adjectives=40))
    with pytest.raises(JobFailed, match="no edge of ConceptNet gives a sentence"):
        build(Settings(lake=root, edition="none", relations=["HasSubevent"]))


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("min_count=0", "expected 1 or more"),
        ("nonsubsective=-1", "expected 0 or more"),
        ("relations=IsA", "expected one of CapableOf"),
        ("article=ear", "expected one of sound, letter"),
    ],
)
def test_wrong_settings_are_refused(argument, message):
    with pytest.raises(UserError, match=message):
        conf.load(Settings, [argument])


def test_a_preset_sets_the_edition_and_the_limits():
    demo = conf.load(Settings, ["preset=demo"])
    assert (demo.name, demo.min_count, "Causes" in demo.relations) == ("demo", 1, True)
    assert replace(demo, edition="mine").name == "mine"
