"""Sorted pairs, in batches of any size, become entries and items."""

from collections.abc import Iterator
from itertools import groupby

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from adnominal.etl.adept.blocks import (
    PREDICATE,
    PREDICATES,
    entries,
    items,
    predicates,
    whole_nouns,
)
from adnominal.etl.adept.settings import Settings
from adnominal.etl.lake.tables import table

STATEMENTS = pa.list_(
    pa.struct([(name, pa.string()) for name in ("path", "sentence", "form", "relation",
                                                "predicate", "edge")])
)  # fmt: skip
ROWS = pa.schema(
    [
        ("noun", pa.string()),
        ("adjective", pa.string()),
        ("nonsubsective", pa.bool_()),
        ("said", STATEMENTS),
    ]
)
BARKS = {
    "path": "template",
    "sentence": "A dog barks.",
    "form": "dog",
    "relation": "CapableOf",
    "predicate": "bark",
    "edge": "/a/1",
}


def batches(rows: pa.Table, sizes: list[int]) -> Iterator[pa.RecordBatch]:
    start = 0
    for size in [*sizes, rows.num_rows]:
        yield from rows.slice(start, size).combine_chunks().to_batches() or [
            pa.RecordBatch.from_pylist([], schema=rows.schema)
        ]
        start += size


@given(
    nouns=st.lists(st.sampled_from("abcd"), min_size=1, max_size=30).map(sorted),
    sizes=st.lists(st.integers(0, 5), max_size=12),
    min_rows=st.integers(1, 10),
)
def test_no_noun_is_split_and_no_row_is_lost(nouns, sizes, min_rows):
    rows = pa.table({"noun": nouns, "place": range(len(nouns))})
    parts = list(whole_nouns(batches(rows, sizes), min_rows))
    assert pa.concat_tables(parts).to_pydict() == rows.to_pydict()
    nouns_of_parts = [set(part["noun"].to_pylist()) for part in parts]
    assert sum(map(len, nouns_of_parts)) == len(set().union(*nouns_of_parts))


def test_tables_end_at_the_first_noun_after_the_minimum_size():
    rows = pa.table({"noun": sorted("abcdefgh" * 10)})
    sizes = [part.num_rows for part in whole_nouns(batches(rows, [5] * 16), 20)]
    assert sizes == [20, 20, 20, 20]


@given(
    pairs=st.lists(
        st.tuples(st.sampled_from("abc"), st.text("xyz", min_size=1, max_size=3)), unique=True,
        min_size=1, max_size=20,
    )
)  # fmt: skip
def test_an_entry_is_a_noun_with_its_adjectives_in_order(pairs):
    pairs = sorted(pairs)
    schema = ROWS.set(3, pa.field("count", pa.int64()))
    pair_rows = [
        {"noun": noun, "adjective": word, "count": place, "nonsubsective": "x" in word}
        for place, (noun, word) in enumerate(pairs)
    ]
    entry_table = entries(pa.Table.from_pylist(pair_rows, schema=schema), "mine")
    assert entry_table.schema == table("adept_entries").schema
    assert entry_table.to_pylist() == [
        {
            "noun": noun,
            "adjectives": [{k: v for k, v in row.items() if k != "noun"} for row in rows_of_noun],
            "edition": "mine",
        }
        for noun, rows_of_noun in groupby(pair_rows, lambda row: row["noun"])
    ]


def test_only_nouns_with_statements_give_items():
    def statement_row(noun: str, statements: list[dict[str, str]] | None) -> dict[str, object]:
        return {"noun": noun, "adjective": None, "nonsubsective": None, "said": statements}

    def pair_row(noun: str, word: str) -> dict[str, object]:
        flag = word in ("fake", "former", "dead")
        return {"noun": noun, "adjective": word, "nonsubsective": flag, "said": None}

    words = ("old", "fake", "big", "former", "dead", "wet", "young")
    rows = [
        pair_row("cat", "old"),
        statement_row("dog", [BARKS]),
        *(pair_row("dog", word) for word in words),
    ]
    item_table = items(pa.Table.from_pylist(rows, schema=ROWS), Settings(lake="", seed=3))
    assert item_table.schema == table("adept_items").schema
    item_rows = item_table.to_pylist()
    assert [row["variant"] for row in item_rows] == [0, 1, 2, 3]
    assert sum(row["nonsubsective"] for row in item_rows) == 2
    assert sum(row["chosen"] for row in item_rows) == 1
    for row in item_rows:
        assert (row["noun"], row["sentence"], row["edge"]) == ("dog", "A dog barks.", "/a/1")
        assert row["adjective"] in words and row["adjective"] in row["modified_sentence"]

    assert items(pa.Table.from_pylist(rows[:1], schema=ROWS), Settings(lake="")).num_rows == 0


SENTENCES = st.tuples(
    st.sampled_from("ab"),
    st.sampled_from("gh"),
    st.sampled_from(["template", "surface"]),
    st.integers(-2, 2),
    st.sampled_from(["A dog barks.", "Ä", ""]),
    st.sampled_from(["/a/1", "/a/2"]),
)


@given(rows=st.lists(SENTENCES, min_size=1, max_size=25), limit=st.integers(1, 4))
def test_a_noun_keeps_the_first_predicate_of_each_gist_in_order(rows, limit):
    statements = [
        {"noun": noun, "gist": gist, "path": path, "rank": rank, "sentence": sentence}
        | {"form": "dog", "relation": "IsA", "predicate": "bark", "edge": edge}
        for noun, gist, path, rank, sentence, edge in rows
    ]

    def order(row):
        return [row[name] for name in PREDICATE]

    statements.sort(key=lambda row: (row["noun"], row["gist"], order(row)))
    schema = pa.schema(
        [("noun", pa.string()), ("gist", pa.string()), *PREDICATES.field("said").type.value_type]
    )
    expected = []
    for noun, group in groupby(statements, key=lambda row: row["noun"]):
        members = list(group)
        firsts = [next(same) for _, same in groupby(members, key=lambda row: row["gist"])]
        listed = [{name: row[name] for name in PREDICATE} for row in sorted(firsts, key=order)]
        expected.append(
            {"noun": noun, "said": listed[:limit], "different": len(listed)}
            | {"edges": len(members)}
        )
    sorted_rows = pa.Table.from_pylist(statements, schema=schema)
    assert predicates(sorted_rows, limit).to_pylist() == expected
