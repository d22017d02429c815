from __future__ import annotations

import pyarrow as pa
import pytest

from conf import JobFailed
from etl.amod import novel
from etl.lake import arrow
from etl.lake.tables import TABLES

# Two adjectives and two nouns of each decade; "rare" has too few pairs.
COUNTS = {
    ("big", "dog"): 5000,
    ("big", "cat"): 5000,
    ("old", "dog"): 400,
    ("old", "emu"): 100,
    ("new", "cat"): 300,
    ("rare", "dog"): 5,
}


def write_pairs(root, rows):
    schema = TABLES["amod_pairs"].schema
    table = pa.Table.from_pylist([dict(zip(schema.names, r, strict=True)) for r in rows], schema)
    arrow.append(str(root), "amod_pairs", table, job="test")
    return str(root)


@pytest.fixture
def lake(tmp_path):
    rows = [("uk", a, n, count) for (a, n), count in COUNTS.items()]
    return write_pairs(tmp_path, [*rows, ("us", "new", "dog", 100)])


def test_what_is_proposed_never_occurs_and_has_frequent_members(lake):
    proposals = novel.propose(lake, "uk", 9, 100, seed=1)
    assert proposals == [("big", "emu"), ("new", "dog"), ("new", "emu"), ("old", "cat")]


def test_strata_share_and_the_seed_decides(lake):
    three_pairs = novel.propose(lake, "uk", 3, 100, seed=1)
    assert three_pairs == novel.propose(lake, "uk", 3, 100, seed=1)
    # One of the strata has two such pairs, two have one, and one has none.
    assert {("big", "emu"), ("new", "emu")} < set(three_pairs)
    further_pairs = {
        pair for seed in range(20) for pair in novel.propose(lake, "uk", 3, 100, seed=seed)
    } - set(three_pairs)
    assert len(further_pairs) == 1


@pytest.mark.parametrize("count", [400, 1000, 2652])
def test_strata_that_have_more_give_what_others_lack(tmp_path, count):
    pairs = [(f"a{i}", f"n{i}", 150) for i in range(50)]
    pairs += [("big", "dog", 1500), ("old", "cat", 15000)]
    lake = write_pairs(tmp_path, [("uk", *pair) for pair in pairs])
    proposals = set(novel.propose(lake, "uk", count, 100, seed=1))
    assert len(proposals) == count
    assert not proposals & {pair[:2] for pair in pairs}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("count", [1, 3, 10])
def test_the_few_missing_pairs_of_a_dense_corpus_are_found(tmp_path, caplog, count, seed):
    missing = {("a1", "n2"), ("a33", "n5"), ("a50", "n50")}
    pairs = {(f"a{i}", f"n{j}") for i in range(60) for j in range(60)} - missing
    lake = write_pairs(tmp_path, [("uk", *pair, 2) for pair in sorted(pairs)])
    proposals = novel.propose(lake, "uk", count, 100, seed=seed)
    assert len(proposals) == min(count, 3) and set(proposals) <= missing
    assert ("only 3 such pairs were found" in caplog.text) == (count == 10)


def test_no_such_pair_is_an_error(lake):
    with pytest.raises(JobFailed, match="give a lower novel_least="):
        novel.propose(lake, "uk", 5, 4000, seed=1)


def test_the_list_is_written_beside_others_and_replaced(lake):
    schema = TABLES["listed_counts"].schema
    other = {"list": "mine", "corpus": "uk", "adjective": "a", "noun": "b", "amod": 3}
    row = pa.Table.from_pylist([{**other, "adjacent": None}], schema)
    arrow.append(lake, "listed_counts", row, job="test")
    for pairs in ([("x", "y"), ("v", "w")], [("new", "emu")]):
        novel.write(lake, "uk", pairs, "test")
    rows = arrow.read(lake, "listed_counts").to_pylist()
    assert [(r["list"], r["adjective"], r["amod"], r["adjacent"]) for r in rows] == [
        ("mine", "a", 3, None),
        ("novel", "new", 0, None),
    ]


def test_the_list_counts_its_pairs_anew_and_can_be_forgotten(lake, caplog):
    def listed():
        rows = arrow.read(lake, "listed_counts", where=[("corpus", "=", "uk")]).to_pylist()
        return [(r["list"], r["adjective"], r["noun"], r["amod"], r["adjacent"]) for r in rows]

    novel.renew(lake, "uk", "test")
    novel.forget(lake, "uk", "test")
    assert arrow.version(lake, "listed_counts") is None
    mine = {"list": "mine", "corpus": "uk", "adjective": "big", "noun": "dog", "amod": 3}
    old = {"list": "novel", "corpus": "uk", "adjective": "old", "noun": "emu", "amod": 0}
    schema = TABLES["listed_counts"].schema
    rows = [{**mine, "adjacent": None}, {**old, "adjacent": 7}]
    arrow.append(lake, "listed_counts", pa.Table.from_pylist(rows, schema), job="test")
    with caplog.at_level("INFO", logger="adnominal"):
        novel.renew(lake, "uk", "test")
    assert "1 of its 1 pairs occur now" in caplog.text
    assert listed() == [("mine", "big", "dog", 3, None), ("novel", "old", "emu", 100, 7)]
    version = arrow.version(lake, "listed_counts")
    novel.renew(lake, "uk", "test")
    assert arrow.version(lake, "listed_counts") == version
    novel.forget(lake, "uk", "test")
    assert listed() == [("mine", "big", "dog", 3, None)]
