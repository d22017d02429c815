"""Cluster sizes: arithmetic on round figures, and the tables."""

from typing import Any

import pytest

from benchmarks import cluster_sizes
from benchmarks.cluster_sizes import depcc, hours, number
from benchmarks.scale import STAGES

# A part of 100 MB, 10 MB compressed, with 2 million tokens and 100,000 pairs.
EXTRACT = {
    "part_bytes": 100_000_000,
    "part_stored_bytes": 10_000_000,
    "part_tokens": 2_000_000,
    "part_pairs": 100_000,
    "part_distinct_pairs": 50_000,
}
# A million pairs in 1.5 million counted rows of waves, and 6 CPU seconds after the waves.
SCALED = {
    "pairs": 2_000_000,
    "rows": 1_000_000,
    "counted": 1_500_000,
    "cores": 2,
    "wall": 600.0,
    "cpu": 900.0,
    "memory": 4000.0,
    "disk": 8e9,
    "stages": {name: {"cpu": 2.0} for name in STAGES},
    "tables": dict.fromkeys(STAGES, 6_000_000),
}
FIGURES: dict[str, Any] = {
    "extract": {"kernel": EXTRACT},
    "engines": {
        "many-sail": {"cpu_a_gb": 3.0},
        "wikipedia-sail": {"words": 1_000_000, "one_core_cpu": 100.0},
    },
    "fast": {
        "wikipedia": {"words": 1_000_000, "fast": {"cpu": 6.0, "start_cpu": 4.0}},
        "cores": {"words": 10_000_000, "one_cpu": 10.0},
        "speed": {"words_per_second": 2_000_000.0},
    },
    "scale": {"extraction-100": SCALED},
    "sources": {"parquet": {"mb_per_second": {"ours": 600.0}}},
}


def test_depcc_is_extrapolated_from_one_part_and_the_scale_runs():
    corpus = depcc(FIGURES)
    assert corpus.plain == pytest.approx(252e9 * 50)
    assert corpus.parts == 1260
    assert corpus.pairs == pytest.approx(12.6e9)
    assert corpus.counting == pytest.approx(12_600 * 3.0)
    assert corpus.staged_part == pytest.approx(50_000 * 100 * 11.4)
    assert corpus.distinct == pytest.approx(50_000 * 126_000**0.7)
    assert corpus.deriving == pytest.approx(corpus.distinct * 6e-6)
    assert corpus.tables["amod_pairs"] == pytest.approx(6 * corpus.distinct)
    assert corpus.tables["amod_counts"] == pytest.approx(4 * corpus.distinct)


def test_raw_text_is_extrapolated_from_one_core():
    lines = cluster_sizes.section(FIGURES).splitlines()
    assert lines[0] == "| DepCC as a whole | figure |"
    assert "| core-hours | 136 |" in lines
    assert "| English Wikipedia: words/s of one core, from the bz2 dump | 500,000 |" in lines
    assert "| English Wikipedia: core-hours | 2.7 |" in lines
    assert "| a trillion words: core-hours, counting alone | 139 |" in lines
    assert "| a trillion words: core-hours, the job on plain text | 278 |" in lines


def test_fineweb_is_extrapolated_from_one_core():
    lines = cluster_sizes.fineweb(FIGURES).splitlines()
    assert "| text that one core reads from Parquet | 0.60 GB/s |" in lines
    # 200 of 44,000 GB with 11.25 T words; a word takes 1 microsecond and 0.01 for Parquet.
    assert "| words in 200 GB of its files | 51.1 G |" in lines
    assert "| core-hours | 14.3 |" in lines
    assert "| on ten such machines | 5 min |" in lines


def test_a_wave_has_four_parts_per_core_and_at_most_all_parts():
    corpus = depcc(FIGURES)
    assert corpus.wave_parts(16) == 64
    assert corpus.wave_parts(1024) == corpus.parts


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (number(2.37e12, "B"), "2.37 TB"),
        (number(26.5e6, "B"), "26.5 MB"),
        (hours(30), "1 min"),
        (hours(3_000), "50 min"),
        (hours(7_200), "2 h"),
        (number(252e9), "252 G"),
        (number(7), "7"),
    ],
)
def test_figures_are_rounded_and_have_units(words, expected):
    assert words == expected
