"""The corpus dense in pairs, and the stages of a job on it."""

import gzip
import os
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from adnominal.conf import UserError, load
from adnominal.etl.amod.kernel import PairCounter
from adnominal.etl.amod.rules import CLEAN
from benchmarks import pairs_generator, scale
from benchmarks.processes import Sample
from tests.benchmarks.page import page


def test_every_rank_has_its_own_word_and_frequent_words_are_short():
    words = pairs_generator.words_of(np.arange(20_000)).to_pylist()
    assert len(set(words)) == 20_000
    assert {len(word) for word in words[:100]} == {2}
    lengths = [len(word) for word in words]
    assert all(one <= two for one, two in pairwise(lengths))


def test_words_follow_a_zipf_law_with_two_regimes_and_no_end():
    ranks = pairs_generator.NOUNS.draw(np.random.default_rng(0), 400_000)
    first, tenth = ((ranks < 10).sum(), (ranks < 100).sum())
    # The integral of 1/(r + 40) to 10 and to 100: 0.22 and 1.25.
    assert tenth / first == pytest.approx(5.6, rel=0.1)
    assert len(np.unique(ranks)) > 1.5 * len(np.unique(ranks[:200_000]))


def test_parts_follow_the_seed_and_the_kernel_counts_every_pair(tmp_path):
    one, again, other = (tmp_path / name for name in ("one.gz", "again.gz", "other.gz"))
    for path, seed in ((one, 1), (again, 1), (other, 2)):
        pairs_generator.write(path, seed, 2_000)
    contents = [gzip.decompress(path.read_bytes()) for path in (one, again, other)]
    assert contents[0] == contents[1] != contents[2]
    counter = PairCounter("depcc", CLEAN)
    counter.feed(contents[0])
    assert counter.stats().pairs == 2_000
    assert not counter.stats().rejected
    assert counter.drain().num_rows > 1_900


def test_stages_of_a_job_end_with_the_commits_of_its_tables(tmp_path):
    course = [Sample(100 + t, 2 * t, 10 * t, t) for t in range(0, 51, 2)]
    for number, table in enumerate(scale.STAGES, start=1):
        log = tmp_path / table / "_delta_log"
        log.mkdir(parents=True)
        (log / "0.json").touch()
        os.utime(log / "0.json", (100 + 10 * number, 100 + 10 * number))
    stages = scale.stages_of(tmp_path, course)
    assert [stage["wall"] for stage in stages.values()] == [10, 10, 10, 10]
    assert [stage["cpu"] for stage in stages.values()] == [20, 20, 20, 20]
    assert stages["amod_pairs"]["memory"] == 220


def figures(rows: int, cpu: float) -> dict[str, Any]:
    stage = {"wall": 5.0, "cpu": cpu / 4, "memory": 100.0, "disk": 1e9}
    sizes = {"pairs": 2 * rows, "rows": rows, "waves": 10, "load": 1.0}
    return {**stage, **sizes, "cpu": cpu, "stages": dict.fromkeys(scale.STAGES, stage)}


def test_the_page_shows_all_sizes_and_the_stages_of_the_largest():
    sizes = {"extraction-100": figures(100_000_000, 30.0), "adept-1": figures(1_000_000, 4.0)}
    lines = page(scale.CASE, {**sizes, "extraction-10": figures(10_000_000, 2.0)}).splitlines()
    smaller = lines.index(
        "| extraction, 10 waves | 20.0 M | 10,000,000 | 5 | 2 | 100 | 1.00 | 1.0 |"
    )
    assert lines[smaller + 1].startswith(
        "| extraction, 10 waves | 200.0 M | 100,000,000 | 5 | 30 |"
    )
    assert (
        lines[smaller + 2] == "| of the last: waves: parts to counts |  |  | 5 | 8 | 100 | 1.00 | |"
    )
    assert (
        "| `build_adept`, a fifth as many edges | 2.0 M | 1,000,000 | 5 | 4 |" in lines[smaller + 6]
    )


def test_unknown_parts_and_shares_are_refused():
    with pytest.raises(UserError, match=r"parts=\['trees'\]: expected some of extraction"):
        scale.measurements(load(scale.Settings, ["parts=[trees]"]))
    with pytest.raises(UserError, match=r"shares=\[0\]: expected percentages"):
        load(scale.Settings, ["shares=[0]"])
