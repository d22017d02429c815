import gzip
from collections import Counter
from dataclasses import replace

import pytest

from adnominal.etl.amod.kernel import available
from benchmarks import synthetic_depcc
from benchmarks.peers import SIDES, measure_side, read
from benchmarks.sides import Reading, check_identical, digest


@pytest.fixture(scope="module")
def part(tmp_path_factory):
    path = tmp_path_factory.mktemp("part") / "part.gz"
    size = synthetic_depcc.write(path, 0.2)
    return path, size


def test_all_sides_count_the_same(part):
    path, size = part
    sides = [side for side in SIDES if side != "compiled" or "compiled" in available()]
    readings = {side: read(side, str(path)) for side in sides}
    check_identical(readings)
    assert {reading.size for reading in readings.values()} == {size}
    kernel = readings["reference"]
    assert kernel.ledger is not None and kernel.pairs == kernel.ledger["pairs"] > 100
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
    expected = digest(Counter({("red", "car"): 1}))
    for side in ("reference", "polars", "duckdb", "line_loop", "conllu"):
        assert read(side, str(path)).digest == expected, side


def test_sides_that_differ_are_named():
    reading = Reading(1.0, 1.0, 10, 1.0, 5, 4, "aa")
    check_identical({"a": reading, "b": reading, "floor": Reading(1.0, 1.0, 10, 1.0)})
    with pytest.raises(AssertionError, match="b: 6 pairs"):
        check_identical({"a": reading, "b": replace(reading, pairs=6, digest="bb")})


def test_the_digest_does_not_depend_on_order():
    counts = Counter({("a", "b"): 1, ("c", "d"): 2})
    assert digest(counts) == digest(Counter(dict(reversed(counts.items()))))
    assert digest(counts) != digest(counts + Counter({("a", "b"): 1}))


def test_a_side_is_measured_in_a_separate_process(part):
    path, size = part
    reading = measure_side("line_loop", path)
    assert reading.size == size and reading.seconds > 0 and reading.peak_mb > 1
    with pytest.raises(RuntimeError, match=r"line_loop .* failed"):
        measure_side("line_loop", path.with_name("absent.gz"))
