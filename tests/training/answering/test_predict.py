"""``training/predict.py`` from rows to predictions: uninterrupted, killed, by two processes."""

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
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table
from adnominal.training.answering import job
from adnominal.training.answering.answers import Answers
from adnominal.training.answering.predict import predict
from adnominal.training.answering.settings import PredictSettings as Settings
from adnominal.training.models.loading import resolve
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
    model = resolve("models:/adept/1", f"sqlite:///{tuned / 'mlflow.db'}")
    texts = {row[:2]: row[2:] for row in expected}
    first, second = zip(*(texts[row["edition"], row["item_id"]] for row in rows), strict=True)
    class_scores = scores(model, pa.array(first), pa.array(second))
    np.testing.assert_allclose([row["scores"] for row in rows], class_scores, atol=1e-6)
    names, outcome_of = model.outcomes
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
    assert run.data.metrics["final/rows_per_second"] > 0
    inputs = {(i.dataset.name, i.dataset.digest) for i in run.inputs.dataset_inputs}
    assert inputs == {(f"adept_items/{name}", "version 0") for name in ("clean", "paper")}


def test_the_same_command_again_does_nothing(finished_run, monkeypatch, caplog):
    workspace, result = finished_run
    caplog.set_level("INFO")
    version = arrow.version(workspace.lake, "predictions")
    monkeypatch.setattr(job, "classifier", None)
    assert workspace.predict("batch_size=7") == result
    assert "not run again" in caplog.text
    assert " rows of adept_items answered by " in caplog.text
    assert arrow.version(workspace.lake, "predictions") == version


def test_an_interrupted_run_resumes_with_its_table_version(
    workspace, tuned, finished_run, tmp_path, monkeypatch
):
    workspace.lake = os.fspath(tmp_path / "lake")
    arrow.append(workspace.lake, "adept_items", items(), job="test")
    chunks = []
    add = Answers.add

    def add_until_full(*args: Any) -> None:
        chunks.append(args)
        if len(chunks) == 4:
            raise OSError("the disk is full")
        add(*args)

    with monkeypatch.context() as patched:
        patched.setattr(Answers, "add", add_until_full)
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


def answered(workspace: Workspace) -> list[Path]:
    """The files of the chunks that have been answered."""
    return list(workspace.folder.glob("*/answers/*.parquet"))


@pytest.mark.slow
def test_one_process_resumes_a_killed_run_of_two(tuned, tmp_path):
    workspace = Workspace(os.fspath(tmp_path / "lake"), tuned, tmp_path / "state")
    arrow.append(workspace.lake, "adept_items", items(copies=12), job="test")
    # So many chunks that some are left, however late the kill comes.
    more = ("model=models:/adept/1", "table=adept_items", "chunk=40")
    words = workspace.arguments(*more)
    ranks.kill(words, 2, lambda: len(answered(workspace)) >= 4, "predict")
    assert 4 <= len(answered(workspace)) < 70
    result = workspace.predict()
    assert 0 < result["rows_now"] < result["rows"] == 2888
    resumed = workspace.rows(result["run_id"])
    assert len({(row["edition"], row["item_id"]) for row in resumed}) == len(resumed) == 2888
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


def test_nan_scores_are_refused(workspace, tmp_path):
    trained = run_folder(workspace.tuned / "out") / "model"
    workspace.lake = os.fspath(tmp_path / "lake")
    arrow.append(workspace.lake, "adept_items", items(10), job="test")
    broken = with_nan(trained, tmp_path / "broken", "classifier.bias")
    with pytest.raises(JobFailed, match=r"broken: 9 of 9 rows have NaN .* try precision=fp32"):
        workspace.predict(f"model={broken}", "limit=9")
    assert "predictions" not in arrow.tables(workspace.lake)


def test_a_folder_that_is_a_file_is_refused_early(workspace, tmp_path, monkeypatch):
    monkeypatch.setattr(job, "classifier", lambda *_, **__: pytest.fail("weights were read"))
    (tmp_path / "file").write_text("")
    workspace.folder = tmp_path / "file"
    with pytest.raises(UserError, match=r"folder=.*file is a file; expected a folder"):
        workspace.predict()


def test_predictions_that_the_lake_lacks_are_committed_again(workspace, monkeypatch):
    workspace.predict("limit=5")
    (folder,) = workspace.folder.iterdir()
    result = json.loads((folder / "result.json").read_text())
    (folder / "result.json").write_text(json.dumps({**result, "run_id": "another"}))
    monkeypatch.setattr(job, "classifier", None)
    workspace.predict("limit=5")
    rows = arrow.read(workspace.lake, "predictions", where=[("run_id", "=", "another")])
    assert rows.num_rows == 5
    assert not (folder / "rows").exists()
    answered(workspace)[0].unlink()
    with pytest.raises(JobFailed, match="answers to 0 rows, expected 5; some are missing"):
        workspace.predict("limit=5")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["model=models:/adept/1"], "missing setting 'table'"),
        (["table=adept_items"], "missing setting 'model'"),
        ([], "missing setting 'model'"),
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
