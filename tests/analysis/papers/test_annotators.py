"""Figures from annotators' answers; the report's tests check them within their tables."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from sklearn.metrics import cohen_kappa_score

from analysis.editions import open_lake
from analysis.inference.intervals import kappa
from analysis.papers.adept.annotators import Annotations, editions, labelling
from analysis.papers.adept.sources import Adept, has_simulated_labels
from analysis.rendering.blocks import NotRun
from tests.analysis.report.conftest import adept
from training.finished_runs import Runs


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    root = str(tmp_path_factory.mktemp("annotated") / "lake")
    adept(root)
    return root


def test_kappa_equals_scikit_learns_and_has_an_interval() -> None:
    first, second = [0, 0, 1, 1, 2, 2, 2, 0], [0, 1, 1, 1, 2, 2, 0, 0]
    interval = kappa(first, second)
    assert interval.estimate == pytest.approx(cohen_kappa_score(first, second))
    assert interval.low < interval.estimate < interval.high and interval.n == 8
    assert kappa([0, 1], [0, 1]).low == kappa([0, 1], [0, 1]).high == 1.0
    assert math.isnan(kappa([2, 2], [2, 2]).estimate)


def test_editions_with_answers_are_listed(lake: str, tmp_path) -> None:
    assert editions(lake) == ["own", "published"]
    assert editions(str(tmp_path)) == []


def test_simulated_annotators_are_reported_as_such(lake: str) -> None:
    assert Annotations(lake, "own").annotators("main") == "3 simulated annotators"
    assert has_simulated_labels(open_lake(lake), "own")
    assert not has_simulated_labels(open_lake(lake), "published")
    shown = Adept(replace(open_lake(lake), requested_edition="own"), Runs())
    assert shown.remarks == {"adept": "labels of simulated annotators"}
    assert Adept(open_lake(lake), Runs()).remarks == {}
    assert Annotations(lake, "published").annotators("expert", "human") == "3 annotators"


def test_rounds_without_answers_have_no_figures(lake: str) -> None:
    assert Annotations(lake, "published").agreement() == ({}, {})
    simulated = Annotations(lake, "own")
    assert simulated.kappas() == {} and simulated.human() == {} and simulated.audit() is None


def test_missing_parts_name_the_command_that_builds_them(lake: str) -> None:
    commands = [block.command for block in labelling(open_lake(lake)) if isinstance(block, NotRun)]
    assert commands == ["python etl/annotate_adept.py finish edition=own lake=LAKE"]
