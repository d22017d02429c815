"""Estimates of training time: arithmetic on round figures, and the page with the estimates."""

import json

import pytest

from adnominal.conf import UserError
from benchmarks.reproducing import (
    ADEPT_TOKENS,
    BASE,
    EXPERIMENTS,
    Experiment,
    Settings,
    core_rate,
    hours,
    write,
)
from benchmarks.sizing import BEGIN, END

MEASURED = {"samples_per_cpu_second": 50.0}


def test_training_takes_six_operations_per_weight_and_token():
    experiment = Experiment("x", runs=2, rows=100, epochs=6, tokens=10, weights=1000)
    assert experiment.samples == 600
    assert experiment.operations == 6 * 600 * 10 * 1000


def test_the_rate_follows_from_the_measured_model():
    # MiniLM: 6 layers of width 384
    assert core_rate(MEASURED) == pytest.approx(6 * 50 * ADEPT_TOKENS * 12 * 6 * 384 * 384)
    assert BASE == 84_934_656


def test_adepts_grid_has_108_runs_per_model():
    adept = EXPERIMENTS[0]
    assert adept.runs == 12 * 108
    assert adept.epochs == 12 * 27 * 20


@pytest.mark.parametrize(("seconds", "words"), [(36, "0.01"), (45_000, "12"), (5_000_000, "1,400")])
def test_hours_are_rounded(seconds, words):
    assert hours(seconds) == words


def test_the_section_between_the_markers_is_replaced(tmp_path):
    page, figures = tmp_path / "page.md", tmp_path / "results.json"
    page.write_text(f"before\n{BEGIN}\nstale\n{END}\nafter\n")
    figures.write_text(json.dumps({"train": {"cpu": {"speed": {"ours": MEASURED}}}}))
    write(Settings(page=str(page), figures=str(figures)))
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "stale" not in text
    assert all(experiment.name in text for experiment in EXPERIMENTS)


def test_missing_measurements_name_the_command_that_takes_them(tmp_path):
    with pytest.raises(UserError, match="benchmarks train"):
        write(Settings(figures=str(tmp_path / "none.json")))
