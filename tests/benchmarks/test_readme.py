"""The README shows the recorded figures, and no row where a figure is missing."""

import json

import pytest
import yaml

from adnominal.conf import ROOT, UserError
from benchmarks.readme import BEGIN, END, Documented, section, write
from benchmarks.results import headlines

FIGURES = {
    "engines": {
        "sygns-1-sail": {"rows": 20_000, "wall": 6.2},
        "sygns-10-sail": {"rows": 200_000, "wall": 36.4},
        "sygns-10-spark": {"rows": 200_000, "wall": 50.0},
        "sygns-50-sail": {"failed": "no memory left"},
    },
    "sygns": {
        "provers": {"provers": {"eprover": {"0": {"per_second": 237.2}, "4": {"per_second": 241}}}},
    },
}


def test_figures_that_were_not_measured_are_omitted():
    assert section(FIGURES).splitlines()[2:] == [
        "| SyGNS with all meanings built | 200,000 sentences in 36 s; on Spark 50 s |",
        "| entailments decided by E, one core | 237/s at depth 0 and 241/s at depth 4 |",
    ]


def test_every_headline_has_a_recorded_figure():
    recorded = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    rows = list(headlines(recorded))
    assert len(rows) == len(yaml.safe_load((ROOT / "benchmarks" / "headlines.yaml").read_text()))
    assert all(all(row) for row in rows)


def test_the_section_between_the_markers_is_replaced(tmp_path):
    page, figures = tmp_path / "README.md", tmp_path / "results.json"
    page.write_text(f"before\n{BEGIN}\nstale\n{END}\nafter\n")
    figures.write_text(json.dumps(FIGURES))
    write(Documented(page=str(page), figures=str(figures)))
    text = page.read_text()
    assert "200,000 sentences" in text and "stale" not in text and text.endswith("\nafter\n")


def test_missing_figures_name_the_command_that_measures_them(tmp_path):
    with pytest.raises(UserError, match="make bench"):
        write(Documented(figures=str(tmp_path / "none.json")))
