"""The kernel and its peers count the same."""

import gzip
from collections import Counter
from dataclasses import replace
from functools import partial

import pytest

from adnominal.etl.amod.kernel import available_implementations
from benchmarks import synthetic_depcc
from benchmarks.peers import SIDES, read, read_part
from benchmarks.processes import Usage
from benchmarks.sides import (
    Reading,
    check_identical,
    medians,
    rates_of_further_rows,
    spread,
    take_turns,
    totals,
)


@pytest.fixture(scope="module")
def part(tmp_path_factory):
    path = tmp_path_factory.mktemp("part") / "part.gz"
    (size,) = synthetic_depcc.write_parts([path], 0.2)
    return path, size


def test_all_sides_count_the_same(part):
    path, size = part
    sides = [
        side for side in SIDES if side != "compiled" or "compiled" in available_implementations()
    ]
    readings = {side: Reading(**read(side, str(path))) for side in sides}
    check_identical({side: [reading] for side, reading in readings.items()})
    assert {reading.bytes for reading in readings.values()} == {size}
    assert (readings["reference"].pairs or 0) > 100
    assert (readings["reference"].tokens or 0) > 1000
    assert all(readings[side].digest for side in sides if side != "isal")


def test_heads_are_looked_up_by_id_and_words_are_lower_cased(tmp_path):
    rows = [
        ("0", "Red", "red", "JJ", "3", "amod"),
        ("3", "Cars", "Car", "NNS", "3", "ROOT"),  # the second row, although its id is 3
        ("4", "Old", "old", "JJ", "5", "amod"),
        ("5", "Rome", "Rome", "NNP", "3", "dep"),
        ("6", "given", "give", "VBN", "3", "amod"),
    ]
    text = "# sent_id = a#1\n# text = x\n" + "".join(
        f"{i}\t{form}\t{lemma}\t{tag}\t{tag}\t\t{head}\t{rel}\t_\tO\n"
        for i, form, lemma, tag, head, rel in rows
    )
    path = tmp_path / "part.gz"
    path.write_bytes(gzip.compress((text + "\n").encode()))
    expected = totals(Counter({("red", "car"): 1}))["digest"]
    for side in ("reference", "polars", "duckdb", "line_loop", "conllu"):
        assert read(side, str(path))["digest"] == expected, side


def test_sides_that_differ_are_named():
    reading = Reading(1.0, pairs=5, distinct=4, digest="aa", tokens=9)
    check_identical({"a": [reading, reading], "floor": [Reading(1.0)]})
    for other in (replace(reading, pairs=6, digest="bb"), replace(reading, pairs=6, tokens=8)):
        with pytest.raises(AssertionError, match="b: 6 pairs"):
            check_identical({"a": [reading], "b": [other]})


def test_the_digest_does_not_depend_on_order():
    counts = Counter({("a", "b"): 1, ("c", "d"): 2})
    assert totals(counts) == totals(Counter(dict(reversed(counts.items()))))
    assert totals(counts) != totals(counts + Counter({("a", "b"): 1}))


def test_a_side_is_measured_in_a_separate_process(part):
    path, size = part
    reading = read_part("line_loop", path)
    assert reading.bytes == size and reading.seconds > 0 and reading.memory_mb > 1
    with pytest.raises(RuntimeError, match=r"absent\.gz"):
        read_part("line_loop", path.with_name("absent.gz"))


def test_sides_take_turns_and_each_begins_a_round():
    order: list[str] = []

    def take_turn(side: str) -> int:
        order.append(side)
        return len(order)

    results = take_turns({side: partial(take_turn, side) for side in "abc"}, 2)
    assert results == {"a": [1, 6], "b": [2, 4], "c": [3, 5]}
    assert "".join(order) == "abcbca"


def test_start_and_loading_are_subtracted():
    usages = {64: Usage(10.0, 5.0, 1.0, []), 1064: Usage(30.0, 15.0, 1.0, [])}
    rates = rates_of_further_rows(usages.__getitem__, 1064, 64)
    assert rates == {"rows_per_second": 50.0, "rows_per_cpu_second": 100.0}


def test_rounds_are_summed_up():
    readings = [Reading(seconds, memory_mb=seconds) for seconds in (3.0, 1.0, 2.0)]
    assert spread(readings) == {"median": 2.0, "least": 1.0, "most": 3.0, "memory_mb": 3.0}
    assert medians([{"x": 3, "y": 1}, {"x": 1, "y": 5}, {"x": 2, "y": 9}]) == {"x": 2, "y": 5}
