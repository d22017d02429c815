"""ADEPT with votes of simulated annotators: trained on as soft labels, compared in the report."""

import shutil
from collections import Counter

import pytest

from adnominal import conf
from adnominal.analysis.across import uncertainty
from adnominal.analysis.across.fine_tuned import Across
from adnominal.analysis.editions import open_lake
from adnominal.analysis.papers.exhibits import Missing
from adnominal.etl.adept.annotation_task import ADEPT
from adnominal.etl.annotation import simulate
from adnominal.etl.annotation.keys import SIMULATED
from adnominal.etl.draws import fraction
from adnominal.etl.label_votes import replace_votes, votes_table
from adnominal.etl.lake import arrow
from adnominal.training.finished_runs import Runs, find_runs
from adnominal.training.job import finetune
from adnominal.training.settings import Settings
from tests.rows import write
from tests.training.conftest import adept_rows, make_encoder

SIZES = ("num_train_epochs=1", "batch_size=32", "max_length=16", "log_model=false")


def simulated_votes(row):
    """The votes of careful and noisy annotators on an item with its label as the truth."""
    votes: Counter[str] = Counter()
    for person in simulate.annotators(careful=3, noisy=2, spammers=0):
        is_right = fraction(0, person.name, row["item_id"]) < person.accuracy
        label = row["label"] if is_right else (row["label"] + 1) % 5
        votes[ADEPT.labels[label]] += 1
    return votes


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A lake with simulated votes and a model that learnt them."""
    folder = tmp_path_factory.mktemp("soft")
    lake = str(folder / "lake")
    rows = adept_rows()
    write(lake, "adept", rows)
    votes = {str(row["item_id"]): simulated_votes(row) for row in rows}
    table = votes_table("adept", "published", f"{SIMULATED}annotators", votes)
    replace_votes(lake, table, "test")
    encoder = make_encoder(folder / "encoder")
    tracking = f"sqlite:///{folder / 'mlflow.db'}"
    words = ["task.name=adept", f"model={encoder}", f"lake={lake}", f"out={folder / 'out'}"]
    finetune(conf.load(Settings, [*words, *SIZES, "labels=soft", f"tracking={tracking}"]))
    return lake, tracking


@pytest.mark.slow
def test_soft_labels_train_and_the_report_marks_the_comparison_simulated(trained):
    lake, tracking = trained
    page = Across(open_lake(lake), find_runs(tracking))
    section = uncertainty.of_people.section("across", page)
    assert section.rows
    assert {row["status"] for row in section.rows} == {"simulated"}
    rows = {(row["table_name"], row["row"], row["column"]): row for row in section.rows}
    table = "Scores and people's votes on adept/published: encoder, soft labels"
    distance = rows[table, "encoder, soft labels", "distance"]
    assert 0 < distance["low"] < distance["ours"] < distance["high"] < 1
    # The predictions of val and test.
    assert distance["n"] == 48
    assert 0 <= rows[table, "encoder, soft labels", "calibration error"]["ours"] <= 1
    assert rows[table, "all items alike", "entropy"]["ours"] is None
    disputed = rows[table, "all items alike", "within"]
    assert 0 < disputed["n"] < 48
    calibration = "Calibration on adept/published: encoder, soft labels"
    items = [row["ours"] for row in section.rows if row["table_name"] == calibration][2::3]
    assert sum(items) == 48
    assert "simulated-annotators" in rows[table, "all items alike", "distance"]["note"]


def test_a_lake_without_votes_or_runs_shows_the_command(tmp_path, trained):
    lake, _ = trained
    shutil.copytree(lake, tmp_path / "lake")
    page = Across(open_lake(str(tmp_path / "lake")), Runs())
    (missing,) = uncertainty.of_people.section("across", page).findings
    assert isinstance(missing, Missing) and "labels=soft" in missing.command
    shutil.rmtree(tmp_path / "lake" / "label_votes")
    page = Across(open_lake(str(tmp_path / "lake")), Runs())
    (missing,) = uncertainty.of_people.section("across", page).findings
    assert isinstance(missing, Missing) and "no table label_votes" in missing.reason


def test_scores_of_other_labels_are_not_compared(trained):
    lake, tracking = trained
    (run,) = find_runs(tracking).of("finetune")
    (voted,) = uncertainty._votes(lake).values()
    assert uncertainty._scores_and_votes(lake, run, "adept", "published", voted) is not None
    rows = arrow.read(lake, "predictions").to_pylist()
    # Three scores are not those of five labels.
    short = [{**row, "run_id": "short", "scores": row["scores"][:3]} for row in rows]
    write(lake, "predictions", short)
    other = type(run)("short", "finetune", 1, {}, group="g")
    assert uncertainty._scores_and_votes(lake, other, "adept", "published", voted) is None
