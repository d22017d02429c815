import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adnominal.etl.lake.tables import table
from adnominal.etl.plane import CLASSES, TYPES, blocks
from adnominal.etl.plane.blocks import PHRASES, WORDS, Vocabulary, items, split_items
from adnominal.etl.plane.rules import conclusion, group_id, item_id, label, sentence, spelling
from adnominal.etl.plane.splits import GROUPS

HYPERNYMS = {
    "dog": [("canine", 1), ("carnivore", 2), ("beast", 3)],
    "hour": [("unit", 1), ("oddity", 2)],
    "cow": [],
    "apéritif": [("drink", 1)],
}
KNOWN = pa.table({"noun": list(HYPERNYMS), "hypernyms": list(HYPERNYMS.values())}, schema=WORDS)
ADJECTIVES = ("red", "russian", "honest", "useful", "fake", "œcuménical")


def phrases(rows) -> pa.Table:
    return pa.Table.from_pylist(
        [dict(zip(PHRASES.names, (*row, None, None)[:5], strict=True)) for row in rows], PHRASES
    )


def one_by_one(rows, vocabulary):
    """The items that the rules give for each phrase, the reference."""
    text, edition = vocabulary.text, vocabulary.edition
    for adjective, kind, noun, *chain in rows:
        limit = vocabulary.intensional_distance if kind == "O" else vocabulary.distance
        near = [(word, distance) for word, distance in HYPERNYMS[noun] if distance <= limit]
        for hypernym, distance in [tuple(chain)] if chain else near:
            for inference in (3,) if chain else TYPES:
                words = (adjective, noun, hypernym)
                written = spelling(adjective) if text == "clean" else adjective
                yield (
                    item_id(edition, inference, *words),
                    group_id(*words),
                    adjective,
                    kind,
                    noun,
                    hypernym,
                    distance,
                    inference,
                    f"{written} {noun}",
                    conclusion(inference, written, noun, hypernym),
                    label(kind, inference),
                    sentence(text, inference, *words),
                    edition,
                )


def rows_of(item_table: pa.Table) -> list[tuple[object, ...]]:
    return sorted(tuple(row.values()) for row in item_table.to_pylist())


PAIRS = st.tuples(*map(st.sampled_from, (ADJECTIVES, CLASSES, list(HYPERNYMS))))
CHAINS = st.tuples(PAIRS, st.sampled_from([("thing", 2), ("unit", 1)])).map(
    lambda x: (*x[0], *x[1])
)


@settings(max_examples=60)
@given(
    rows=st.lists(PAIRS | CHAINS, min_size=1, max_size=40),
    text=st.sampled_from(["clean", "paper"]),
    edition=st.sampled_from(["mine", "another"]),
    direct=st.integers(1, 3),
    size=st.integers(1, 9),
)
def test_blocks_give_the_items_of_the_rules_for_any_batches(rows, text, edition, direct, size):
    vocabulary = Vocabulary(KNOWN, 3, direct, text, edition)
    expected = sorted(one_by_one(rows, vocabulary))
    phrase_rows = phrases(rows)
    assert rows_of(items(phrase_rows, vocabulary)) == expected
    make = blocks.maker(lambda: vocabulary)
    parts = list(make(iter(phrase_rows.to_batches(max_chunksize=size))))
    assert sorted(row for part in parts for row in rows_of(part)) == expected
    for part in parts:
        assert part.schema.names == table("plane_items").schema.names
        assert len(set(part.column("class").to_pylist())) == 1


def test_large_batches_are_split_into_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "_GROUPS", 4)
    rows = [("red", "I", "dog")] * 5 + [("red", "I", "cow"), ("red", "I", "hour")]
    vocabulary = Vocabulary(KNOWN, 3, 1, "clean", "mine")
    parts = list(blocks.maker(lambda: vocabulary)(iter(phrases(rows).to_batches())))
    assert len(parts) > 3
    assert sorted(r for part in parts for r in rows_of(part)) == sorted(
        one_by_one(rows, vocabulary)
    )


def test_a_noun_outside_the_vocabulary_is_refused():
    with pytest.raises(ValueError, match="'cat' is not in the vocabulary"):
        items(phrases([("red", "I", "cat")]), Vocabulary(KNOWN, 3, 1, "clean", "mine"))


def test_split_rows_have_the_ids_of_the_items():
    groups = pa.Table.from_pylist(
        [
            {"scheme": "strict", "fold": "2", "part": part, "adjective": "red", "class": "I"}
            | {"noun": "dog", "hypernym": hypernym, "distance": 1}
            for part, hypernym in (("train", "canine"), ("test", "beast"))
        ],
        GROUPS,
    )
    rows = split_items(groups, "mine", (1, 3)).to_pylist()
    assert [(row["part"], row["item_id"]) for row in rows] == [
        (part, item_id("mine", inference, "red", "dog", hypernym))
        for part, hypernym in (("train", "canine"), ("test", "beast"))
        for inference in (1, 3)
    ]
    assert {row["edition"] for row in rows} == {"mine"}
    assert rows[0].keys() == set(table("plane_splits").schema.names)
