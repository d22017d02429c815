"""``training/predict.py`` from rows to predictions: uninterrupted, killed, by two processes, and
selecting items for annotators."""

import csv
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from adnominal import conf
from adnominal.conf import JobFailed, UserError
from adnominal.etl.annotation.job import export_batch
from adnominal.etl.annotation.settings import ExportSettings
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table
from adnominal.training.answering import classifier
from adnominal.training.models.loading import resolve
from adnominal.training.predicting import job
from adnominal.training.predicting.job import predict
from adnominal.training.predicting.settings import Settings
from tests.training import ranks
from tests.training.conftest import adept_rows, run_folder, scores, with_nan


def items(count: int = 240, copies: int = 1) -> pa.Table:
    """Rows of two editions: clean has `copies` of each sentence, paper has 20 rows of clean."""
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


class Workspace:
    """A lake, MLflow's registry with a model, and the folder for the state of runs."""

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
        """Predict the rows of adept_items; the result of the newest run."""
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
def workspace(lake, tuned, tmp_path) -> Workspace:
    return Workspace(lake, tuned, tmp_path / "state")


@pytest.fixture(scope="module")
def finished_run(lake, tuned, tmp_path_factory) -> tuple[Workspace, dict[str, Any]]:
    """A workspace with an uninterrupted run, and the result of the run."""
    workspace = Workspace(lake, tuned, tmp_path_factory.mktemp("whole"))
    return workspace, workspace.predict()


def test_every_row_has_one_answer(finished_run, tuned):
    workspace, result = finished_run
    rows = workspace.rows(result["run_id"])
    expected = [
        (row["edition"], row["item_id"], row["sentence"], row["modified_sentence"])
        for row in items().to_pylist()
        if row["sentence"] is not None
    ]
    assert [(row["edition"], row["item_id"]) for row in rows] == sorted(r[:2] for r in expected)
    assert result["rows"] == len(rows) == 259
    assert result["left_out"] == {"no id or no text": 1}
    # The scores are those of the model, the predictions the outcomes of its task.
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
    workspace, result = finished_run
    row = workspace.rows(result["run_id"])[0]
    expected = {"model": "models:/adept/1", "table_version": 0, "task": "adept_items"}
    expected |= {"scheme": "predict", "seed": 0, "gold": None}
    assert expected.items() <= row.items()
    commits = [
        record
        for record in arrow.history(workspace.lake, "predictions")
        if record.metadata.get("run") == result["run_id"]
    ]
    assert len(commits) == 7
    assert {record.job for record in commits} == {"predict"}
    # The staged rows are deleted.
    assert not list(workspace.folder.glob("*/rows"))


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
    workspace, result = finished_run
    caplog.set_level("INFO")
    version = arrow.version(workspace.lake, "predictions")
    monkeypatch.setattr(job, "classifier", None)
    assert workspace.predict("batch_size=7") == result
    assert "not run again" in caplog.text
    assert arrow.version(workspace.lake, "predictions") == version


def test_an_interrupted_run_resumes_with_its_table_version(
    workspace, tuned, finished_run, tmp_path, monkeypatch
):
    workspace.lake = os.fspath(tmp_path / "lake")
    arrow.append(workspace.lake, "adept_items", items(), job="test")
    commits = []
    append = arrow.append

    def append_until_full(*args: Any, **options: Any) -> Any:
        commits.append(args)
        if len(commits) == 4:
            raise OSError("the disk is full")
        return append(*args, **options)

    with monkeypatch.context() as patched:
        patched.setattr("adnominal.training.predicting.job.arrow.append", append_until_full)
        with pytest.raises(OSError, match="disk is full"):
            workspace.predict()
    (folder,) = workspace.folder.iterdir()
    assert not (folder / "result.json").exists()
    # Rebuilding the table in between makes another version.
    arrow.replace(workspace.lake, "adept_items", items(3), {"edition": "clean"}, job="test")
    result = workspace.predict()
    assert result["rows_now"] < result["rows"] == 259
    assert result["version"] == 0
    resumed = workspace.rows(result["run_id"])
    uninterrupted = finished_run[0].rows(finished_run[1]["run_id"])
    for row in (*resumed, *uninterrupted):
        del row["run_id"]
    assert resumed == uninterrupted
    # Predicting the newest version is another run.
    assert workspace.predict()["version"] == 1


@pytest.mark.slow
def test_one_process_resumes_a_killed_run_of_two(tuned, tmp_path):
    workspace = Workspace(os.fspath(tmp_path / "lake"), tuned, tmp_path / "state")
    arrow.append(workspace.lake, "adept_items", items(copies=3), job="test")
    more = ("model=models:/adept/1", "table=adept_items", "chunk=40")
    log = Path(workspace.lake) / "predictions" / "_delta_log"
    words = workspace.arguments(*more)
    ranks.kill(words, 2, lambda: len(list(log.glob("*.json"))) >= 4, "predict")
    commits = arrow.history(workspace.lake, "predictions")
    assert 4 <= len(commits) < 19
    result = workspace.predict()
    assert 0 < result["rows_now"] < result["rows"] == 737
    resumed = workspace.rows(result["run_id"])
    assert len({(row["edition"], row["item_id"]) for row in resumed}) == len(resumed) == 737
    # An uninterrupted run of one process gives exactly the same rows.
    workspace.folder = tmp_path / "alone"
    uninterrupted = workspace.rows(workspace.predict()["run_id"])
    for row in (*resumed, *uninterrupted):
        del row["run_id"]
    assert resumed == uninterrupted


def test_rows_are_filtered_and_sampled_and_columns_are_chosen(workspace):
    result = workspace.predict(
        "where=edition = 'paper'", "limit=9", "first=noun", "second=adjective"
    )
    assert result["rows"] == 9
    assert result["left_out"] == {"not drawn (limit)": 11}
    assert {row["edition"] for row in workspace.rows(result["run_id"])} == {"paper"}


def test_uncertain_items_become_a_batch_for_annotators(finished_run, tmp_path):
    workspace, _ = finished_run
    out, batch = tmp_path / "uncertain.tsv", tmp_path / "main1.csv"
    workspace.predict("select=uncertain", "count=30", f"out={out}", "measure=margin")
    with out.open(newline="") as lines:
        selected_items = list(csv.DictReader(lines, delimiter="\t"))
    assert len(selected_items) == 30
    margins = [float(row["margin"]) for row in selected_items]
    assert margins == sorted(margins, reverse=True)
    clean = {row["item_id"] for row in selected_items if row["edition"] == "clean"}
    words = [f"batch={batch}", f"ids={out}", f"lake={workspace.lake}", "gold=0", "attention=0"]
    export_batch(conf.load(ExportSettings, words))
    batch_items = arrow.read(workspace.lake, "adept_batches", where=[("kind", "=", "item")])
    assert set(batch_items["item_id"].to_pylist()) == clean


def test_items_on_which_two_runs_differ_are_selected(finished_run, tmp_path):
    workspace, result = finished_run
    # Given only noun and adjective, the same model answers differently.
    state, workspace.folder = workspace.folder, tmp_path / "state"
    other = workspace.predict("first=noun", "second=adjective")
    workspace.folder = state
    out = tmp_path / "disputed.csv"
    runs = f"runs={result['run_id']},{other['run_id']}"
    words = workspace.arguments("select=disputed", "count=5", f"out={out}", runs)
    predict(conf.load(Settings, words))
    with out.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    answers = [
        {row["item_id"]: row["predicted"] for row in workspace.rows(r)}
        for r in (result["run_id"], other["run_id"])
    ]
    assert len(rows) == 5
    for row in rows:
        first, second = row["predicted"].split(" | ")
        assert first != second
        assert (first, second) == tuple(run_answers[row["item_id"]] for run_answers in answers)


def test_nan_scores_are_refused(workspace, tmp_path):
    trained = run_folder(workspace.tuned / "out") / "model"
    workspace.lake = os.fspath(tmp_path / "lake")
    arrow.append(workspace.lake, "adept_items", items(10), job="test")
    broken = with_nan(trained, tmp_path / "broken", "classifier.bias")
    with pytest.raises(JobFailed, match=r"broken: 9 of 9 rows have NaN .* try precision=fp32"):
        workspace.predict(f"model={broken}", "limit=9")
    assert "predictions" not in arrow.tables(workspace.lake)


def test_selecting_disputed_items_fails_if_all_runs_agree(finished_run, tmp_path):
    workspace, result = finished_run
    more = (f"runs={result['run_id']}", "select=disputed", "count=5", f"out={tmp_path / 'x.tsv'}")
    with pytest.raises(JobFailed, match="all runs agree"):
        workspace.predict(*more)
    assert not (tmp_path / "x.tsv").exists()


def test_impossible_selections_are_refused_early(workspace, tmp_path, monkeypatch):
    monkeypatch.setattr(job, "classifier", lambda *_, **__: pytest.fail("weights were read"))
    select = ["select=disputed", "count=5", "runs=nobody"]
    with pytest.raises(UserError, match="run nobody: no rows"):
        workspace.predict(*select, f"out={tmp_path / 'x.tsv'}")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"out=.*file is a file; expected a folder"):
        workspace.predict(*select, f"out={tmp_path / 'file' / 'x.tsv'}")
    workspace.folder = tmp_path / "file"
    with pytest.raises(UserError, match=r"folder=.*file is a file; expected a folder"):
        workspace.predict()


def test_missing_predictions_are_made_again(workspace):
    workspace.predict("limit=5")
    (folder,) = workspace.folder.iterdir()
    plan = json.loads((folder / "plan.json").read_text())
    (folder / "plan.json").write_text(json.dumps({**plan, "run_id": "another"}))
    workspace.predict("limit=5")
    rows = arrow.read(workspace.lake, "predictions", where=[("run_id", "=", "another")])
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
def test_settings_that_do_not_fit_are_refused(words, message):
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
def test_mistakes_are_reported_before_anything_is_read(workspace, words, message):
    with pytest.raises(UserError, match=message) as error:
        workspace.predict(*words)
    assert "\n" not in str(error.value)
    assert not workspace.folder.exists()
