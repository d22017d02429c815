import re
from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adnominal.conf import UserError
from adnominal.etl.plane import SCHEMES, TYPES
from adnominal.etl.plane.rules import label
from adnominal.etl.plane.sizes import Sizes
from adnominal.etl.plane.splits import GROUPS, plan
from tests.etl.plane.pools import LEXICON, pool, zipf_pool

SMALL = Sizes(
    train_rows=18 * 40,
    test_rows=18 * 5,
    one_it_train_rows=24 * 40,
    one_it_test_rows=24 * 4,
    two_shot=20,
    folds=2,
)
WORDS = ("adjective", "noun", "hypernym")


@pytest.fixture(scope="module")
def full_pool():
    """A pool of as many pairs as a large corpus gives."""
    return zipf_pool(5000, 500_000)


def folds(groups: pa.Table) -> dict[tuple[str, str], dict[str, list[dict[str, str]]]]:
    """The groups of each part, by scheme and fold."""
    parts_by_fold: dict[tuple[str, str], dict[str, list[dict[str, str]]]] = {}
    for row in groups.to_pylist():
        parts = parts_by_fold.setdefault((row["scheme"], row["fold"]), {"train": [], "test": []})
        parts[row["part"]].append(row)
    return parts_by_fold


def labels(scheme: str, groups) -> Counter[int]:
    types = (3,) if scheme == "one_it" else TYPES
    return Counter(label(row["class"], inference) for row in groups for inference in types)


def assert_disjoint(parts, columns) -> None:
    """No value of these columns is in both parts, not even in different columns."""
    train, test = ({row[c] for row in parts[p] for c in columns} for p in ("train", "test"))
    assert not train & test, sorted(train & test)[:5]


def test_assert_disjoint_fails_on_a_shared_word():
    parts = {"train": [{"noun": "a", "hypernym": "b"}], "test": [{"noun": "b", "hypernym": "c"}]}
    assert_disjoint(parts, ["noun"])
    with pytest.raises(AssertionError, match="b"):
        assert_disjoint(parts, ["noun", "hypernym"])


def test_parts_have_the_sizes_and_balance_of_the_release(full_pool):
    groups = plan(full_pool, SCHEMES, Sizes(folds=1), seed=3)
    assert groups.schema == GROUPS
    parts_by_fold = folds(groups)
    assert [scheme for scheme, _ in parts_by_fold] == list(SCHEMES)
    for (scheme, _), parts in parts_by_fold.items():
        assert_balanced(scheme, parts)
        if scheme == "two_shot":
            assert Counter(row["class"] for row in parts["test"]) == dict.fromkeys("ISO", 500)
            continue
        sizes = {part: sum(labels(scheme, rows).values()) for part, rows in parts.items()}
        train = 60_024 if scheme == "one_it" else 60_012
        assert sizes == {"train": train, "test": 2016}
        assert_separated(scheme, parts)
        keys = Counter(tuple(row[c] for c in WORDS) for rows in parts.values() for row in rows)
        assert max(keys.values()) == 1
        if scheme in ("published", "strict"):
            for part, (low, high) in {"train": (1969, 2065), "test": (91, 102)}.items():
                weights = Counter(row["noun"] for row in parts[part] if row["class"] == "I")
                assert low <= len(weights) <= high
                share_of_single_uses = Counter(weights.values())[1] / len(weights)
                assert 0.6 <= share_of_single_uses <= 0.82 and max(weights.values()) <= 7
                assert len({(row["noun"], row["hypernym"]) for row in parts[part]}) == len(weights)


def assert_balanced(scheme, parts) -> None:
    """Each label is half of a part, and each noun has the classes in the ratio of a unit."""
    unit = {"one_it": (1, 2, 1), "two_shot": (1, 1, 1)}.get(scheme, (1, 1, 4))
    for rows in parts.values():
        if rows and scheme != "two_shot":
            counts = labels(scheme, rows)
            assert counts[0] == counts[1], scheme
        nouns: dict[Any, Counter[str]] = defaultdict(Counter)
        for row in rows:
            nouns[row["noun"], row["hypernym"]][row["class"]] += 1
        for by_class in nouns.values():
            assert [by_class["S"], by_class["O"]] == [by_class["I"] * size for size in unit[1:]]


def assert_separated(scheme, parts) -> None:
    """The parts share the words that their scheme shares, and no others."""
    if scheme == "in_distribution":
        for column in WORDS:
            train, test = ({row[column] for row in parts[p]} for p in ("train", "test"))
            assert test <= train
        phrases = [
            {(row["adjective"], row[word]) for row in parts[p] for word in ("noun", "hypernym")}
            for p in ("train", "test")
        ]
        assert not phrases[0] & phrases[1]
        return
    assert_disjoint(parts, ["adjective"])
    assert_disjoint(parts, ["noun"])
    if scheme != "published":
        assert_disjoint(parts, ["noun", "hypernym"])


def test_the_other_assertions_fail_on_wrong_parts():
    row = {"adjective": "i1", "noun": "n", "hypernym": "h", "class": "I"}
    with pytest.raises(AssertionError):
        assert_balanced("published", {"train": [row]})
    with pytest.raises(AssertionError):
        assert_separated("published", {"train": [row], "test": [row]})
    with pytest.raises(AssertionError):
        assert_separated("in_distribution", {"train": [], "test": [row]})


def test_chains_repeat_rows_at_several_distances(full_pool):
    groups = plan(full_pool, ["one_it"], Sizes(folds=1, chains=True), seed=0)
    ((key, parts),) = folds(groups).items()
    assert_balanced(key[0], parts)
    assert_separated(key[0], parts)
    repeated = Counter(tuple(row[c] for c in WORDS) for row in parts["train"])
    assert sum(repeated.values()) == 60_024 > len(repeated)
    assert {str(row["distance"]) for row in parts["train"]} == {"1", "2", "3"}


@settings(max_examples=15)
@given(seed=st.integers(0, 2**40), data=st.data())
def test_any_pool_gives_balanced_parts_or_is_refused(seed, data):
    shift = data.draw(st.integers(0, 50))
    step = data.draw(st.integers(2, 5))
    words = [word for word, _ in LEXICON]
    adjectives = {f"n{n}": words[(n + shift) % step :: step] for n in range(400)}
    hypernyms = {f"n{n}": [f"x{n}", f"y{n % 90}", f"z{n % 45}"] for n in range(400)}
    drawn_pool = pool(adjectives, hypernyms)
    for scheme in SCHEMES:
        try:
            groups = plan(drawn_pool, [scheme], replace(SMALL, chains=bool(shift % 2)), seed)
        except UserError as error:
            assert scheme in str(error)
            continue
        for (name, _), parts in folds(groups).items():
            assert_balanced(name, parts)
            if name != "two_shot":
                assert_separated(name, parts)


def test_folds_depend_on_the_seed_and_not_on_the_order():
    words = [word for word, _ in LEXICON]
    adjectives = {f"n{n}": words[n % 2 :: 6] for n in range(200)}
    hypernyms = {f"n{n}": [f"x{n}", f"y{n}"] for n in range(200)}
    backwards = {noun: words[::-1] for noun, words in reversed(adjectives.items())}
    seed_5 = plan(pool(adjectives, hypernyms), SCHEMES, SMALL, seed=5)
    assert seed_5 == plan(pool(backwards, hypernyms), SCHEMES, SMALL, seed=5)
    assert seed_5 != plan(pool(adjectives, hypernyms), SCHEMES, SMALL, seed=6)
    parts = folds(seed_5)
    assert parts["strict", "1"] != parts["strict", "2"]


@pytest.mark.parametrize(
    ("scheme", "changes", "message"),
    [
        (
            "published",
            {},
            r"fold 1: its train part needs 40 draws of 1 I, 1 S .* expected train_rows=",
        ),
        ("strict", {"test_rows": 18 * 90}, "its test part needs 90"),
        ("one_it", {}, "its train part needs 240 draws of 1 I, 2 S"),
        ("in_distribution", {}, "its train part needs 40"),
        ("two_shot", {}, "needs 20 nouns .* the pairs give 9; expected two_shot=9"),
    ],
)
def test_a_pool_that_is_too_small_is_refused(scheme, changes, message):
    words = [word for word, _ in LEXICON]
    small = pool({f"n{n}": words[::3] for n in range(9)}, {f"n{n}": [f"x{n}"] for n in range(9)})
    with pytest.raises(UserError, match=message):
        plan(small, [scheme], replace(SMALL, **changes), seed=0)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("changes", [{}, {"train_rows": 18 * 200}, {"test_rows": 18 * 900}])
def test_the_size_that_an_error_suggests_works(scheme, changes):
    small = zipf_pool(300, 30_000)
    large_sizes = replace(Sizes(), **changes)
    with pytest.raises(UserError) as error:
        plan(small, [scheme], large_sizes, seed=0)
    suggestion = re.search(r"expected ((?:\w+=\d+ ?)+),", str(error.value))
    assert suggestion, str(error.value)
    named_sizes = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", suggestion[1])}
    fitting_sizes = replace(large_sizes, **dict[str, Any](named_sizes))
    assert plan(small, [scheme], fitting_sizes, seed=0).num_rows


@pytest.mark.parametrize("name", ["train_rows", "test_rows", "one_it_train_rows", "two_shot"])
def test_sizes_must_be_positive_multiples_of_a_unit(name):
    with pytest.raises(UserError, match=f"{name}=-3: expected"):
        Sizes(**dict[str, Any]({name: -3}))
    with pytest.raises(UserError, match="train_rows=100: expected a multiple of 18, as 108"):
        Sizes(train_rows=100)
