"""The comparison of lakes, and the seconds of an engine's steps."""

import time

import pytest

from adnominal.etl.lake import arrow
from benchmarks.processes import Sample
from tests.cluster.compare import cells_of, step_names, steps_of
from tests.etl.lake.literals import pairs
from tests.spark.test_conformance import assert_same_lake

ROWS = [("Zürich", "old", "dog", 2), ("Zürich", "red", "ball", 1)]
LOG = """12:00:01 == step 1 of 2, extract_amod
corpus: Zürich
12:00:03 == step 1 of 2, extract_amod: done in 2 s; 1 of 2 in 2 s
12:00:03 == step 2 of 2, import_knowledge
12:01:08 == step 2 of 2, import_knowledge: done in 1 min 05 s; 2 of 2 in 1 min 07 s
"""


def write(root, *parts):
    """Write each part of the rows as a file."""
    for rows in parts:
        arrow.append(str(root), "amod_pairs", pairs(*rows), job="t")
    return root


def test_lakes_with_the_same_rows_in_other_files_are_equal(tmp_path):
    one = write(tmp_path / "one", ROWS)
    assert_same_lake(one, write(tmp_path / "same", ROWS))
    assert_same_lake(one, write(tmp_path / "parts", ROWS[:1], ROWS[1:]))


@pytest.mark.parametrize(
    "parts",
    [[ROWS[:1]], [ROWS, ROWS[:1]], [[ROWS[0], ("Zürich", "red", "ball", 3)]], [ROWS[::-1]]],
    ids=["a row less", "a row twice", "another count", "another order"],
)
def test_lakes_that_differ_are_told_apart(tmp_path, parts):
    one, other = write(tmp_path / "one", ROWS), write(tmp_path / "other", *parts)
    for lakes in ((one, other), (other, one)):
        with pytest.raises(AssertionError, match="amod_pairs"):
            assert_same_lake(*lakes)


def test_the_seconds_of_each_step_come_from_the_log_and_its_cpu_from_the_course():
    noon = time.mktime((2026, 11, 28, 12, 0, 0, 0, 0, -1))
    course = [Sample(noon + second, cpu, 0, 0) for second, cpu in ((0, 1), (2, 4), (70, 38))]
    assert cells_of(LOG, course) == ["2 (2)", "65 (32)"]


def test_the_demo_is_compared_with_a_corpus_beyond_ascii():
    assert step_names(["build_plane"]) == [
        "demo-wikipedia",
        "demo-depcc",
        "Zürich",
        "import_knowledge",
        "build_plane",
    ]
    assert len(steps_of([])) == 4
