from __future__ import annotations

import pytest

from analysis.reporting.runs import Run, Runs
from benchmarks.papers import Settings, classified, main, mean, page
from conf import JobFailed


def run(seed: int, accuracy: float, **params: str) -> Run:
    own = {
        "task.name": "adept",
        "task.edition": "published",
        "task.classes": "5",
        "task.context": "true",
        "model_name": "owner/small",
        "train_examples": "12892",
        "seeds": f"[{seed}]",
        **params,
    }
    metrics = {
        "final/val/accuracy": accuracy,
        "final/val/macro_f1": 0.25,
        "final/val/majority": 0.664,
        "final/val/noun/accuracy": 0.1,
        "val/accuracy": 0.5,
    }
    return Run(id=f"{seed}{accuracy}", job="finetune", ended=seed, params=own, metrics=metrics)


def test_seeds_are_one_row_beside_the_paper():
    runs = Runs((run(1, 0.72), run(0, 0.70), run(0, 0.6, **{"task.context": "false"})))
    rows = classified(runs)
    assert [(row["settings"], row["runs"], row["paper"]) for row in rows] == [
        ("classes 5, context false", 1, "69.1"),
        ("classes 5, context true", 2, "70.8"),
    ]
    assert rows[1]["accuracy"] == [0.72, 0.70]
    text = page({"classified": rows, "generated": [], "transferred": [], "prompted": []})
    # Student's t of one degree of freedom: 12.7 times the standard error of 0.01.
    line = next(line for line in text.splitlines() if "context true" in line)
    assert "| small | 12,892 | 2 | val | 71.0 ± 12.7 | 25.0 ± 0.0 | 66.4 | 70.8 |" in line


def test_of_generated_meanings_every_seed_is_shown():
    own = {
        "settings": "form vf",
        "parameters": 4_000_000,
        "epochs": 25,
        "scores": {"EXI": [98.46, 99.85], "NUM": [34.0], "UNI": [41.0], "valid": [100.0, 100.0]},
        "paper": {"EXI": "99.7", "NUM": "37.0", "UNI": "39.5", "valid": "99.6"},
    }
    text = page({"classified": [], "generated": [own], "transferred": [], "prompted": []})
    assert "| 99.2 of 98.5, 99.8 (99.7) | 34.0 (37.0) |" in text


def test_other_editions_and_jobs_are_not_shown():
    assert not classified(Runs((run(0, 0.7, **{"task.edition": "demo"}),)))


def test_mean_of_one_run_has_no_interval():
    assert mean([0.7064]) == "70.6"


def test_a_store_without_runs_is_an_error(tmp_path):
    with pytest.raises(JobFailed, match="no finished run"):
        main(Settings(lake=str(tmp_path), tracking=f"sqlite:///{tmp_path / 'none.db'}"))
