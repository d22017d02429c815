"""``training/predict.py`` from rows to predictions: whole, killed, by two processes; selected."""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import conf
from conf import JobFailed, UserError
from etl.annotation.job import export_batch
from etl.annotation.settings import ExportSettings
from etl.lake import arrow
from etl.lake.tables import table
from tests.training import ranks
from tests.training.conftest import adept_rows, run_folder, scores, with_nan
from training.answering import classifier
from training.models.loading import resolve
from training.predicting import job
from training.predicting.job import predict
from training.predicting.settings import Settings


def items(count: int = 240, copies: int = 1) -> pa.Table:
    """Rows of two editions: the first has `copies` of each sentence, the second the first 20."""
    rows = [
        {
            "item_id": f"{row['item_id']}-{copy}",
            "noun": row["noun"],
            "adjective": row["modifier"],
            "chosen": True,
            "sentence": row["sentence1"] if at != 5 else None,
            "modified_sentence": row["sentence2"],
            "edition": "clean",
        }
        for copy in range(copies)
        for at, row in enumerate(adept_rows()[:count])
    ]
    rows += [{**row, "edition": "paper"} for row in rows[10:30]]
    return pa.Table.from_pylist(rows, schema=table("adept_items").schema)


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    root = os.fspath(tmp_path_factory.mktemp("lake"))
    arrow.append(root, "adept_items", items(), job="test")
    return root


class House:
    """A lake, a model in MLflow's registry, and a place for the state of runs."""

    def __init__(self, lake: str, tuned: Path, folder: Path) -> None:
        self.lake, self.tuned, self.folder = lake, tuned, folder

    def arguments(self, *more: str) -> list[str]:
        return [
            f"lake={self.lake}",
            f"folder={self.folder}",
            f"tracking=sqlite:///{self.tuned / 'mlflow.db'}",
            *more,
        ]

    def predict(self, *more: str) -> dict[str, Any]:
        """Run it over adept_items; the result of the newest run."""
        earlier_results = set(self.folder.glob("*/result.json"))
        common = ("model=models:/adept/1", "table=adept_items", "chunk=40")
        predict(conf.load(Settings, self.arguments(*common, *more)))
        (path,) = set(self.folder.glob("*/result.json")) - earlier_results or earlier_results
        result: dict[str, Any] = json.loads(path.read_text())
        return result

    def rows(self, run: str) -> list[dict[str, Any]]:
        predictions = arrow.read(self.lake, "predictions", where=[("run_id", "=", run)])
        predictions = predictions.sort_by([("edition", "ascending"), ("item_id", "ascending")])
        return list(predictions.to_pylist())


@pytest.fixture
def house(lake, tuned, tmp_path) -> House:
    return House(lake, tuned, tmp_path / "state")


@pytest.fixture(scope="module")
def finished_run(lake, tuned, tmp_path_factory) -> tuple[House, dict[str, Any]]:
    """A run from start to end."""
    finished_house = House(lake, tuned, tmp_path_factory.mktemp("whole"))
    return finished_house, finished_house.predict()


def test_every_row_has_one_answer(finished_run, tuned):
    finished_house, result = finished_run
    rows = finished_house.rows(result["run_id"])
    expected = [
        (row["edition"], row["item_id"], row["sentence"], row["modified_sentence"])
        for row in items().to_pylist()
        if row["sentence"] is not None
    ]
    assert [(row["edition"], row["item_id"]) for row in rows] == sorted(r[:2] for r in expected)
    assert result["rows"] == len(rows) == 259
    assert result["left_out"] == {"no id or no text": 1}
    # As the model alone says, in the outcomes of its task.
    model = classifier(resolve("models:/adept/1", f"sqlite:///{tuned / 'mlflow.db'}"))
    texts = {row[:2]: row[2:] for row in expected}
    first, second = zip(*(texts[row["edition"], row["item_id"]] for row in rows), strict=True)
    class_scores = scores(model, pa.array(first), pa.array(second))
    np.testing.assert_allclose([row["scores"] for row in rows], class_scores, atol=1e-6)
    names, outcome_of = model.source.outcomes
    labels = [names[outcome_of[at]] for at in class_scores.argmax(axis=1)]
    assert [row["predicted"] for row in rows] == labels
    assert result["predicted"] == dict(sorted(Counter(labels).items()))
    assert len(set(labels)) > 1


def test_predictions_name_model_table_and_versions(finished_run):
    finished_house, result = finished_run
    row = finished_house.rows(result["run_id"])[0]
    assert (row["model"], row["table_version"], row["task"]) == (
        "models:/adept/1",
        0,
        "adept_items",
    )
    assert (row["scheme"], row["seed"], row["gold"]) == ("predict", 0, None)
    commits = [
        record
        for record in arrow.history(finished_house.lake, "predictions")
        if record.metadata.get("run") == result["run_id"]
    ]
    assert len(commits) == 7
    assert {record.job for record in commits} == {"predict"}
    # What was laid down is gone.
    assert not list(finished_house.folder.glob("*/rows"))


def test_the_run_is_in_mlflow(finished_run, tuned):
    from mlflow import MlflowClient

    run = MlflowClient(f"sqlite:///{tuned / 'mlflow.db'}").get_run(finished_run[1]["run_id"])
    assert run.info.status == "FINISHED"
    assert run.data.tags["job"] == "predict"
    assert run.data.params["model_name"] == "models:/adept/1"
    assert run.data.params["table_version"] == "0"
    assert run.data.params["rows"] == "259"
    assert run.data.metrics["final/predict/rows_per_second"] > 0
    assert 0.8 < run.data.metrics["final/predict/padding_efficiency"] <= 1
    inputs = {(i.dataset.name, i.dataset.digest) for i in run.inputs.dataset_inputs}
    assert inputs == {(f"adept_items/{name}", "version 0") for name in ("clean", "paper")}


def test_the_same_command_again_does_nothing(finished_run, monkeypatch, caplog):
    finished_house, result = finished_run
    caplog.set_level("INFO")
    version = arrow.version(finished_house.lake, "predictions")
    monkeypatch.setattr(job, "classifier", None)
    assert finished_house.predict("batch_size=7") == result
    assert "not run again" in caplog.text
    assert arrow.version(finished_house.lake, "predictions") == version


def test_a_run_that_broke_off_goes_on_at_its_version(
    house, tuned, finished_run, tmp_path, monkeypatch
):
    house.lake = os.fspath(tmp_path / "lake")
    arrow.append(house.lake, "adept_items", items(), job="test")
    commits = []
    append = arrow.append

    def breaking(*args: Any, **options: Any) -> Any:
        commits.append(args)
        if len(commits) == 4:
            raise OSError("the disk is full")
        return append(*args, **options)

    with monkeypatch.context() as patched:
        patched.setattr("training.predicting.job.arrow.append", breaking)
        with pytest.raises(OSError, match="disk is full"):
            house.predict()
    (folder,) = house.folder.iterdir()
    assert not (folder / "result.json").exists()
    # What is built meanwhile is another version.
    arrow.replace(house.lake, "adept_items", items(3), {"edition": "clean"}, job="test")
    result = house.predict()
    assert result["rows_now"] < result["rows"] == 259
    assert result["version"] == 0
    mine, theirs = house.rows(result["run_id"]), finished_run[0].rows(finished_run[1]["run_id"])
    for row in (*mine, *theirs):
        del row["run_id"]
    assert mine == theirs
    # The newest version is another run.
    assert house.predict()["version"] == 1


@pytest.mark.slow
def test_two_processes_are_killed_and_one_goes_on(tuned, tmp_path):
    house = House(os.fspath(tmp_path / "lake"), tuned, tmp_path / "state")
    arrow.append(house.lake, "adept_items", items(copies=3), job="test")
    more = ("model=models:/adept/1", "table=adept_items", "chunk=40")
    log = Path(house.lake) / "predictions" / "_delta_log"
    words = house.arguments(*more)
    ranks.kill(words, 2, lambda: len(list(log.glob("*.json"))) >= 4, "predict")
    commits = arrow.history(house.lake, "predictions")
    assert 4 <= len(commits) < 19
    result = house.predict()
    assert 0 < result["rows_now"] < result["rows"] == 737
    mine = house.rows(result["run_id"])
    assert len({(row["edition"], row["item_id"]) for row in mine}) == len(mine) == 737
    # The same as one process gives that was never killed, to the last digit.
    house.folder = tmp_path / "alone"
    alone = house.rows(house.predict()["run_id"])
    for row in (*mine, *alone):
        del row["run_id"]
    assert mine == alone


def test_a_condition_a_draw_and_other_columns(house):
    result = house.predict("where=edition = 'paper'", "limit=9", "first=noun", "second=adjective")
    assert result["rows"] == 9
    assert result["left_out"] == {"not drawn (limit)": 11}
    assert {row["edition"] for row in house.rows(result["run_id"])} == {"paper"}


def test_uncertain_items_go_to_annotators(finished_run, tmp_path):
    finished_house, _ = finished_run
    out, batch = tmp_path / "uncertain.tsv", tmp_path / "main1.csv"
    finished_house.predict("select=uncertain", "count=30", f"out={out}", "measure=margin")
    with out.open(newline="") as lines:
        selected_items = list(csv.DictReader(lines, delimiter="\t"))
    assert len(selected_items) == 30
    margins = [float(row["margin"]) for row in selected_items]
    assert margins == sorted(margins, reverse=True)
    clean = {row["item_id"] for row in selected_items if row["edition"] == "clean"}
    words = [f"batch={batch}", f"ids={out}", f"lake={finished_house.lake}", "gold=0", "attention=0"]
    export_batch(conf.load(ExportSettings, words))
    batch_items = arrow.read(finished_house.lake, "adept_batches", where=[("kind", "=", "item")])
    assert set(batch_items["item_id"].to_pylist()) == clean


def test_disputed_items_of_two_runs(finished_run, tmp_path):
    finished_house, result = finished_run
    # Noun and adjective alone make another model of it.
    state, finished_house.folder = finished_house.folder, tmp_path / "state"
    other = finished_house.predict("first=noun", "second=adjective")
    finished_house.folder = state
    out = tmp_path / "disputed.csv"
    runs = f"runs={result['run_id']},{other['run_id']}"
    words = finished_house.arguments("select=disputed", "count=5", f"out={out}", runs)
    predict(conf.load(Settings, words))
    with out.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    answers = [
        {row["item_id"]: row["predicted"] for row in finished_house.rows(r)}
        for r in (result["run_id"], other["run_id"])
    ]
    assert len(rows) == 5
    for row in rows:
        first, second = row["predicted"].split(" | ")
        assert first != second
        assert (first, second) == tuple(run_answers[row["item_id"]] for run_answers in answers)


def test_scores_that_are_nan_are_refused(house, tmp_path):
    trained = run_folder(house.tuned / "out") / "model"
    house.lake = os.fspath(tmp_path / "lake")
    arrow.append(house.lake, "adept_items", items(10), job="test")
    broken = with_nan(trained, tmp_path / "broken", "classifier.bias")
    with pytest.raises(JobFailed, match=r"broken: 9 of 9 rows have NaN .* try precision=fp32"):
        house.predict(f"model={broken}", "limit=9")
    assert "predictions" not in arrow.tables(house.lake)


def test_runs_that_agree_are_told(finished_run, tmp_path):
    finished_house, result = finished_run
    more = (f"runs={result['run_id']}", "select=disputed", "count=5", f"out={tmp_path / 'x.tsv'}")
    with pytest.raises(JobFailed, match="all runs agree"):
        finished_house.predict(*more)
    assert not (tmp_path / "x.tsv").exists()


def test_what_selecting_needs_is_told_before_rows_are_classified(house, tmp_path, monkeypatch):
    monkeypatch.setattr(job, "classifier", lambda *_, **__: pytest.fail("weights were read"))
    select = ["select=disputed", "count=5", "runs=nobody"]
    with pytest.raises(UserError, match="run nobody: no rows"):
        house.predict(*select, f"out={tmp_path / 'x.tsv'}")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"out=.*file is a file; expected a folder"):
        house.predict(*select, f"out={tmp_path / 'file' / 'x.tsv'}")
    house.folder = tmp_path / "file"
    with pytest.raises(UserError, match=r"folder=.*file is a file; expected a folder"):
        house.predict()


def test_predictions_that_are_gone_are_made_again(house):
    house.predict("limit=5")
    (folder,) = house.folder.iterdir()
    plan = json.loads((folder / "plan.json").read_text())
    (folder / "plan.json").write_text(json.dumps({**plan, "run_id": "another"}))
    house.predict("limit=5")
    rows = arrow.read(house.lake, "predictions", where=[("run_id", "=", "another")])
    assert rows.num_rows == 5
    assert not (folder / "rows").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["model=models:/adept/1"], "expected model= and table= together"),
        (["table=adept_items"], "expected model= and table= together"),
        ([], "nothing to do: expected model= and table="),
        (["count=3"], "count=3: expected select= with it"),
        (["select=uncertain", "runs=a"], "expected count= and out="),
        (["select=uncertain", "count=3", "out=x.json", "runs=a"], "a .tsv or .csv file"),
        (["select=uncertain", "count=3", "out=x.tsv", "runs=a,b"], "2 runs; expected one"),
        (["select=disputed", "count=3", "out=x.tsv", "runs=a"], "1 run; expected two or more"),
        (["select=disputed", "count=3", "out=x.tsv", "runs=a,a"], "the same value twice"),
        (["select=best", "count=3", "out=x.tsv"], "select=best: expected one of uncertain"),
        (["model=m", "table=t", "second=x"], "second=x: expected first="),
        (["model=m", "table=t", "chunk=0"], "chunk=0: expected 1 or more"),
        (["model=m", "table=t", "version=-1"], "version=-1: expected 0 or more"),
    ],
)
def test_settings_that_do_not_fit(words, message):
    with pytest.raises(UserError, match=message):
        conf.load(Settings, words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["model=models:/adept/9"], "adept has versions 1"),
        (["table=plane_items"], "no table plane_items"),
        (["table=sentences"], "two texts, the table has one"),
        (["where=foo = 1"], "No field named foo"),
        (["where=edition = 'mine'"], "no row of version 0"),
        (["version=7"], "no version 7"),
        (["max_length=99"], "max_length=99: expected 4 to 32"),
        (["precision=fp16"], "there is no GPU here"),
    ],
)
def test_mistakes_are_told_before_anything_is_read(house, words, message):
    with pytest.raises(UserError, match=message) as error:
        house.predict(*words)
    assert "\n" not in str(error.value)
    assert not house.folder.exists()
