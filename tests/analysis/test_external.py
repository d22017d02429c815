"""Imported answers in the report, the statistics and the explorer."""

from typing import Any

import pytest

from adnominal.analysis import external
from adnominal.analysis.across.external import imported_answers, name_of
from adnominal.analysis.across.fine_tuned import Across
from adnominal.analysis.editions import open_lake
from adnominal.analysis.exploring.pairs import pair
from adnominal.analysis.papers.asp.models import untrained_models
from adnominal.analysis.papers.asp.sources import Asp
from adnominal.analysis.predictions import pair as paired
from adnominal.analysis.predictions import read_run
from adnominal.analysis.report_numbers import Cells
from adnominal.training.finished_runs import Runs
from tests.analysis.report.small_lake import SmallLake
from tests.rows import adept_row, write


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> str:
    return SmallLake(tmp_path_factory.mktemp("external")).root


def test_runs_come_from_the_lake_with_the_parameters_to_choose_them_by(root):
    adept, asp, plane = external.external_runs(root)
    assert [run.id for run in (adept, asp, plane)] == [
        "external/adept",
        "external/asp",
        "external/plane",
    ]
    assert (plane.job, plane.model) == ("external", "asked")
    assert plane.params["task.name"] == "plane"
    assert name_of(adept) == "asked (external, adept)"


def test_a_lake_without_predictions_has_no_runs(tmp_path):
    lake = str(tmp_path / "lake")
    write(lake, "adept", [adept_row("a", "red", "car", 2)])
    assert external.with_external_runs(Runs(note="none"), lake) == Runs((), "none")


def test_the_page_across_datasets_scores_imported_answers(root):
    page = Across(open_lake(root), Runs(external.external_runs(root)))
    findings: list[Any] = list(imported_answers.build(page))
    tables = {cells.table: cells for cells in findings}
    cells = tables["PLANE, edition published: imported answers"].values
    row = "asked (external, plane)"
    # Type 3 does not hold for small cars; both of a dead car do.
    assert cells[row, "accuracy"].estimate == pytest.approx(2 / 3)
    assert cells[f"{row}, I 1", "accuracy"].estimate == 1
    assert cells[f"{row}, S 3", "accuracy"].estimate == 0
    assert cells[row, "answers without a label"].estimate == 0
    adept = tables["ADEPT, edition published: imported answers"]
    assert ([run.id for run in adept.runs], adept.model) == (["external/adept"], "asked")
    assert adept.values["asked (external, adept), equally likely", "accuracy"].n == 3


def test_table_3_of_asp_has_them_beside_scored_and_prompted_models(root):
    page = Asp(open_lake(root), Runs(external.external_runs(root)))
    found = [cells for cells in untrained_models.build(page) if isinstance(cells, Cells)]
    ours: dict[Any, Any] = {}
    for cells in found:
        ours |= cells.values if cells.model else {}
    assert {row for row, _ in ours} == {"asked (external, 1 run)"}
    assert ours["asked (external, 1 run)", "ordering"].estimate in (0, 1)


def test_statistics_read_them_by_their_id(root):
    rows = read_run(root, "external/asp")
    assert rows.num_rows == 3
    answers = paired(rows, rows)
    assert answers.first == answers.second == ["entailment", "not_entailment", "entailment"]


def test_the_explorer_marks_them(root):
    rows = pair(root, "red", "car")["predictions"]
    marks = {row["model"]: row["external"] for row in rows}
    assert marks["asked"] is True
    assert marks.pop("asked") and not any(marks.values())
