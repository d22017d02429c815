import pytest

from adnominal.conf import JobFailed
from adnominal.etl.amod import novel
from adnominal.etl.lake import arrow
from tests.rows import rows, write

# Two adjectives and two nouns of each order of magnitude; "rare" has too few pairs.
COUNTS = {
    ("big", "dog"): 5000,
    ("big", "cat"): 5000,
    ("old", "dog"): 400,
    ("old", "emu"): 100,
    ("new", "cat"): 300,
    ("rare", "dog"): 5,
}
COLUMNS = "list adjective noun amod"


def write_pairs(root, pairs):
    write(root, "amod_pairs", rows("corpus adjective noun count", *pairs))
    return str(root)


@pytest.fixture
def lake(tmp_path):
    pairs = [("uk", *pair, count) for pair, count in COUNTS.items()]
    return write_pairs(tmp_path, [*pairs, ("us", "new", "dog", 100)])


def test_proposed_pairs_never_occur_and_have_frequent_words(lake):
    proposals = novel.propose(lake, "uk", 9, 100, seed=1)
    assert proposals == [("big", "emu"), ("new", "dog"), ("new", "emu"), ("old", "cat")]


def test_pairs_are_drawn_from_all_strata_by_the_seed(lake):
    three_pairs = novel.propose(lake, "uk", 3, 100, seed=1)
    assert three_pairs == novel.propose(lake, "uk", 3, 100, seed=1)
    # One stratum has two such pairs, two strata have one, and one has none.
    assert {("big", "emu"), ("new", "emu")} < set(three_pairs)
    further_pairs = {
        pair for seed in range(20) for pair in novel.propose(lake, "uk", 3, 100, seed=seed)
    } - set(three_pairs)
    assert len(further_pairs) == 1


@pytest.mark.parametrize("count", [400, 1000, 2652])
def test_large_strata_make_up_for_small_ones(tmp_path, count):
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


def test_the_list_is_replaced_and_other_lists_stay(lake):
    write(lake, "listed_counts", rows(COLUMNS, ("mine", "a", "b", 3), corpus="uk"))
    for pairs in ([("x", "y"), ("v", "w")], [("new", "emu")]):
        novel.write(lake, "uk", pairs, "test")
    listed = arrow.read(lake, "listed_counts").to_pylist()
    assert [(r["list"], r["adjective"], r["amod"], r["adjacent"]) for r in listed] == [
        ("mine", "a", 3, None),
        ("novel", "new", 0, None),
    ]


def test_the_counts_of_the_list_are_renewed_and_can_be_removed(lake, caplog):
    def listed():
        table = arrow.read(lake, "listed_counts", where=[("corpus", "=", "uk")])
        names = ("list", "adjective", "noun", "amod", "adjacent")
        return [tuple(row[name] for name in names) for row in table.to_pylist()]

    novel.renew(lake, "uk", "test")
    novel.forget(lake, "uk", "test")
    assert arrow.version(lake, "listed_counts") is None
    counts = (("mine", "big", "dog", 3, None), ("novel", "old", "emu", 0, 7))
    write(lake, "listed_counts", rows(f"{COLUMNS} adjacent", *counts, corpus="uk"))
    with caplog.at_level("INFO", logger="adnominal"):
        novel.renew(lake, "uk", "test")
    assert "1 of its 1 pairs occur now" in caplog.text
    assert listed() == [("mine", "big", "dog", 3, None), ("novel", "old", "emu", 100, 7)]
    version = arrow.version(lake, "listed_counts")
    novel.renew(lake, "uk", "test")
    assert arrow.version(lake, "listed_counts") == version
    novel.forget(lake, "uk", "test")
    assert listed() == [("mine", "big", "dog", 3, None)]
