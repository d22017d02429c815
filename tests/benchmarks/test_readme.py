"""The README's figures: from what was recorded, and nothing for what was not."""

from __future__ import annotations

import json

import pytest

from benchmarks.readme import BEGIN, END, LINES, Settings, main, section
from conf import ROOT, UserError

FOUND = {
    "sygns": {
        "generation": {"sentences": 50_000, "seconds": 16.4},
        "provers": {"provers": {"eprover": {"0": {"per_second": 237.2}, "4": {"per_second": 241}}}},
    }
}


def test_what_was_not_measured_is_left_out():
    assert section(FOUND).splitlines()[2:] == [
        "| SyGNS with all meanings, two cores | 50,000 sentences in 16 s |",
        "| entailments decided by E, one core | 237/s at depth 0 and 241/s at depth 4 |",
    ]


def test_the_recorded_figures_have_every_key():
    recorded = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    names = {"_wikipedia": "parse", "_predicting": "predict"}
    for _, said in LINES:
        if names.get(said.__name__, "train") in recorded:
            assert said(recorded)


def test_the_page_is_written(tmp_path):
    page, figures = tmp_path / "README.md", tmp_path / "results.json"
    page.write_text(f"before\n{BEGIN}\nstale\n{END}\nafter\n")
    figures.write_text(json.dumps(FOUND))
    main(Settings(page=str(page), figures=str(figures)))
    text = page.read_text()
    assert "50,000 sentences" in text and "stale" not in text and text.endswith("\nafter\n")


def test_missing_figures_are_told(tmp_path):
    with pytest.raises(UserError, match="make bench"):
        main(Settings(figures=str(tmp_path / "none.json")))
