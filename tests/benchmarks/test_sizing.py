"""Cluster sizes: arithmetic on round figures, and the page with the sizes."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from adnominal.conf import ROOT, UserError
from benchmarks import reproducing, sizing
from benchmarks.sizing import BEGIN, END, Settings, depcc, hours, number, size, write

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
    "stages": {name: {"cpu": 2.0} for name in sizing.TABLES},
    "tables": dict.fromkeys(sizing.TABLES, 6_000_000),
}
FIGURES: dict[str, Any] = {
    "extract": EXTRACT,
    "engines": {
        "many-sail": {"cpu_a_gb": 3.0},
        "wikipedia-sail": {"words": 1_000_000, "one_core_cpu": 100.0},
    },
    "fast": {
        "wikipedia": {"words": 1_000_000, "fast": {"cpu": 6.0, "start_cpu": 4.0}},
        "cores": {"words": 10_000_000, "cpu": 10.0},
        "speed": {"words_per_second": 2_000_000.0},
    },
    "scale": {"extraction-1": SCALED | {"rows": 10}, "extraction-10": SCALED, "adept-1": {}},
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
    lines = sizing.section(FIGURES).splitlines()
    assert "| English Wikipedia: words/s of one core, from the bz2 dump | 500,000 |" in lines
    assert "| English Wikipedia: core-hours | 2.7 |" in lines
    assert "| a trillion words: core-hours, counting alone | 139 |" in lines
    assert "| a trillion words: core-hours, the job on plain text | 278 |" in lines


def test_a_wave_has_four_parts_per_core_and_at_most_all_parts():
    corpus = depcc(FIGURES)
    assert corpus.wave_parts(16) == 64
    assert corpus.wave_parts(1024) == corpus.parts


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (size(2.37e12), "2.37 TB"),
        (size(26.5e6), "26.5 MB"),
        (size(12), "12 bytes"),
        (hours(30), "1 min"),
        (hours(3_000), "50 min"),
        (hours(7_200), "2 h"),
        (number(252e9), "252 G"),
        (number(7), "7"),
    ],
)
def test_figures_are_rounded_and_have_units(words, expected):
    assert words == expected


def test_text_around_the_tables_is_kept(tmp_path):
    figures, page = tmp_path / "figures.json", tmp_path / "page.md"
    figures.write_text(json.dumps(FIGURES))
    page.write_text(f"before\n\n{BEGIN}\nold\n{END}\n\nafter\n")
    write(Settings(page=str(page), figures=str(figures)))
    once = page.read_text()
    assert once.startswith(f"before\n\n{BEGIN}\n\n| DepCC as a whole")
    assert once.endswith(f"\n\n{END}\n\nafter\n")
    assert "old" not in once and "| core-hours | 136 |" in once
    write(Settings(page=str(page), figures=str(figures)))
    assert page.read_text() == once


def test_missing_figures_and_missing_markers_are_reported(tmp_path):
    figures, page = tmp_path / "figures.json", tmp_path / "page.md"
    page.write_text("nothing")
    with pytest.raises(UserError, match=r"no part_distinct_pairs of extract; run `python"):
        write(Settings(page=str(page), figures=str(figures)))
    figures.write_text(json.dumps(FIGURES))
    for document in (page, tmp_path / "no such page.md"):
        with pytest.raises(UserError, match="expected the lines"):
            write(Settings(page=str(document), figures=str(figures)))


def test_the_cluster_guide_has_the_markers():
    page = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    assert page.count(sizing.BEGIN) == page.count(sizing.END) == 1


@pytest.mark.parametrize("case", [sizing, reproducing])
def test_the_guides_have_the_recorded_figures(case, tmp_path):
    guide, page = Path(case.Settings().page), tmp_path / "page.md"
    shutil.copy(guide, page)
    case.write(case.Settings(page=str(page)))
    command = f"python -m {case.__name__.replace('.', ' ')}"
    assert page.read_text() == guide.read_text(), f"run `{command}`"
