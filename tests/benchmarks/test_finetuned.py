"""Small models finetuned on the releases: the commands of the cases, and the page."""

from pathlib import Path

import pytest

from adnominal import conf
from adnominal.training.settings import Settings
from benchmarks import finetuned
from benchmarks.harness import page


@pytest.mark.parametrize("case", finetuned.RUNS)
def test_a_case_gives_valid_settings(case):
    settings = conf.load(Settings, finetuned.arguments(case, Path("folder")))
    assert settings.task["edition"] == "published"
    assert settings.out == str(Path("folder") / case)


def test_every_seed_must_reach_the_target():
    result = {"seeds": [0, 1], "updates": 9, "macro_f1": [0.3, 0.4], "majority": [0.664, 0.664]}
    figures = {"adept_minilm": {**result, "accuracy": [0.71, 0.699]}}
    figures["plane_smollm2"] = {**result, "accuracy": [0.7, 0.665]}
    text = page(finetuned.CASE, figures)
    assert "| 9 | val | 2 | 71.0, 69.9 | 35.0 | 66.4 |" in text
    assert "adept_minilm missed: at least 70.0 with each seed." in text
    assert "plane_smollm2 met: above the majority class." in text
