"""``training/score.py`` from models and tasks to predictions and a matrix, in this process."""

import json
import shutil
from typing import Any

import numpy as np
import pytest

from adnominal import conf
from adnominal.conf import JobFailed, UserError
from adnominal.etl.adept import LABELS as ADEPT
from adnominal.etl.lake import arrow
from adnominal.training import tasks
from adnominal.training.answering import score as score_module
from adnominal.training.answering.answers import Answers
from adnominal.training.answering.matrix import TASK_LABELS, matrix
from adnominal.training.answering.score import prepare, score
from adnominal.training.answering.settings import ScoreSettings as Settings
from adnominal.training.models import seq2seq
from adnominal.training.settings import Seq2Seq
from tests.training.answering.conftest import record, results
from tests.training.conftest import UNRECORDED, result_of, run_folder, with_nan

NLI = ("entailment", "neutral", "contradiction")
PLANE = ("not entailed", "entailed")
ASP = ["task.asp.edition=published", "task.asp.scheme=all"]


def settings(lake, *more):
    return conf.load(Settings, [f"lake={lake}", *more])


@pytest.fixture(scope="module")
def models(make):
    """Untrained models of PLANE, of ADEPT and of natural-language inference."""
    plane = record({"name": "plane", "input": "sentence"}, "plane", PLANE, pair=False, max_length=6)
    adept = record({"name": "adept", "context": True}, "adept_5", ADEPT)
    return {
        "nli": make(NLI),
        "plane": make(PLANE, trained=plane),
        "adept": make(ADEPT, trained=adept),
    }


@pytest.fixture(scope="module")
def scored_matrix(tmp_path_factory, task_lake, models, empty_store):
    """A scored matrix of three models and two tasks, of which one cell was deleted and scored
    again: its folder, and the time and text of the first results."""
    folder = tmp_path_factory.mktemp("matrix")
    shutil.copy(empty_store, folder)
    shutil.copytree(task_lake, folder / "lake")
    words = [f"models=[{','.join(models.values())}]", "tasks=[adept,plane]", "task.adept.part=val"]
    words += [f"out={folder / 'out'}", f"tracking=sqlite:///{folder / 'mlflow.db'}"]
    scoring_settings = settings(folder / "lake", *words)
    score(scoring_settings)
    paths = sorted(folder.glob("out/*/result.json"))
    earlier_files = {path: (path.stat().st_mtime_ns, path.read_text()) for path in paths}
    paths[0].unlink()
    score(scoring_settings)
    return folder, earlier_files


@pytest.fixture(scope="module")
def rows(scored_matrix):
    return arrow.read(str(scored_matrix[0] / "lake"), "predictions")


def cell_rows(rows, model, task):
    return [r for r in rows.to_pylist() if (r["model"], r["task"]) == (model, task)]


@pytest.mark.slow
def test_every_cell_is_scored_once(scored_matrix, rows):
    folder, earlier_files = scored_matrix
    assert set(folder.glob("out/*/result.json")) == set(earlier_files)
    assert len(earlier_files) == 6
    deleted, *other_paths = earlier_files
    assert all(path.stat().st_mtime_ns == earlier_files[path][0] for path in other_paths)
    assert deleted.stat().st_mtime_ns > earlier_files[deleted][0]
    # The deleted cell gets the same result in the same run.
    first, second = json.loads(earlier_files[deleted][1]), json.loads(deleted.read_text())
    changing = {"seconds": 0, "rows_now": 0}
    assert {**first, **changing} == {**second, **changing}
    # Each of three models has one prediction for each of 4 rows of ADEPT and 9 of PLANE.
    assert rows.num_rows == 3 * (4 + 9)


def test_predictions_have_the_labels_of_the_task(rows, models):
    for model in models.values():
        assert {r["predicted"] for r in cell_rows(rows, model, "plane")} <= set(PLANE)
        assert {r["predicted"] for r in cell_rows(rows, model, "adept_5")} <= set(ADEPT)
    plane_rows = cell_rows(rows, models["nli"], "plane")
    assert {r["text"] for r in plane_rows} <= set(NLI)
    for row in plane_rows:
        assert NLI[int(np.argmax(row["scores"]))] == row["text"]
        assert (row["predicted"] == "entailed") == (row["text"] == "entailment")
    reading = {"entailed": "equally likely", "not entailed": "less likely"}
    for row in cell_rows(rows, models["plane"], "adept_5"):
        assert row["predicted"] == reading[row["text"]]


def test_the_matrix_follows_from_the_predictions(scored_matrix, rows):
    folder = scored_matrix[0]
    cells = matrix(rows).to_pylist()
    # ADEPT is scored with its five labels and two-way.
    assert len(cells) == 3 * 3
    by_run = {cell["run_id"]: cell for cell in cells if cell["answers"] == TASK_LABELS}
    for result in results(folder / "out"):
        cell = by_run[result["run_id"]]
        part = "val" if result["key"] == "adept" else "test"
        for name in ("accuracy", "macro_f1", "majority"):
            assert cell[name] == pytest.approx(result["figures"][f"{part}/{name}"])


def test_cells_are_runs_below_one_parent(scored_matrix, models):
    from mlflow import MlflowClient

    folder = scored_matrix[0]
    client = MlflowClient(f"sqlite:///{folder / 'mlflow.db'}")
    runs = client.search_runs([client.get_experiment_by_name("score").experiment_id])
    assert {run.data.tags["job"] for run in runs} == {"score"}
    assert {run.info.status for run in runs} == {"FINISHED"}
    (parent,) = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
    artifacts = {f.path for f in client.list_artifacts(parent.info.run_id)}
    assert artifacts >= {"matrix.md", "matrix.json"}
    children = [run for run in runs if run is not parent]
    assert len(children) == 6
    params = {"task.name": "plane", "model_name": models["adept"]}
    (cell_run,) = [run for run in children if params.items() <= run.data.params.items()]
    assert cell_run.data.params["trained_on"] == "adept_5"
    assert cell_run.data.params["form"] == "change"
    assert cell_run.data.params["reading.impossible"] == "not entailed"
    assert "final/test/accuracy" in cell_run.data.metrics
    inputs = {d.dataset.name for d in cell_run.inputs.dataset_inputs}
    assert inputs == {"plane_items/published", "plane_splits/published"}


def test_predictions_of_a_finished_cell_can_be_written_later(task_lake, models, tmp_path):
    lake = tmp_path / "lake"
    shutil.copytree(task_lake, lake)
    words = [f"model={models['nli']}", "tasks=[plane]", "limit=3", f"out={tmp_path / 'out'}"]
    scoring_settings = settings(lake, *words, *UNRECORDED)
    score(scoring_settings)
    folder, result = run_folder(tmp_path / "out"), result_of(tmp_path / "out")
    assert (result["rows"], result["run_id"]) == (3, f"local-{folder.name}")
    assert "predictions" not in arrow.tables(str(lake))
    # The finished cell is not scored again, but its predictions are now written.
    path = folder / "result.json"
    written_at = path.stat().st_mtime_ns
    for _ in range(2):
        score(conf.with_changes(scoring_settings, {"predictions": True}))
        assert arrow.read(str(lake), "predictions").num_rows == 3
    assert path.stat().st_mtime_ns == written_at
    wider = prepare(conf.with_changes(scoring_settings, {"limit": 4}))[0]
    assert not wider[0].work.folder.exists()


def test_a_killed_run_continues_with_the_missing_chunks(adept_lake, models, tmp_path, monkeypatch):
    monkeypatch.setattr(score_module, "CHUNK", 5)
    words = (f"model={models['nli']}", "tasks=[adept]", *UNRECORDED)
    score(settings(adept_lake, *words, f"out={tmp_path / 'whole'}"))
    add = Answers.add

    def add_until_killed(answers: Answers, chunk: int, *rows: Any) -> None:
        if chunk == 3:
            raise KeyboardInterrupt
        add(answers, chunk, *rows)

    killed = settings(adept_lake, *words, f"out={tmp_path / 'killed'}")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Answers, "add", add_until_killed)
        score(killed)
    score(killed)
    whole, resumed = (result_of(tmp_path / name) for name in ("whole", "killed"))
    assert (whole["rows_now"], resumed["rows_now"], resumed["rows"]) == (24, 9, 24)
    assert resumed["figures"] == whole["figures"]
    rows = [Answers(run_folder(tmp_path / name)).read_all("run") for name in ("whole", "killed")]
    assert rows[0].equals(rows[1])


def test_classes_of_foreign_models_may_have_any_order_and_case(adept_lake, make, models, tmp_path):
    shuffled = make(("CONTRADICTION", "ENTAILMENT", "NEUTRAL"))
    same = make(("contradiction", "entailment", "neutral"))
    answers = []
    for at, model in enumerate((shuffled, same, models["nli"])):
        out = tmp_path / str(at)
        words = (f"model={model}", "tasks=[adept]", f"out={out}", *UNRECORDED)
        score(settings(adept_lake, *words))
        rows = Answers(run_folder(out)).read_all("run")
        answers.append((rows["text"].to_pylist(), rows["scores"].to_pylist()))
    assert answers[0][0] == answers[1][0] == answers[2][0]
    assert np.allclose(answers[0][1], answers[2][1])
    assert len(set(answers[0][0])) > 1


def test_nan_scores_are_refused(adept_lake, models, tmp_path):
    broken = with_nan(models["nli"], tmp_path / "broken", "classifier.bias")
    words = (f"model={broken}", "tasks=[adept]", f"out={tmp_path / 'out'}", *UNRECORDED)
    with pytest.raises(JobFailed, match=r"broken on adept: 24 of 24 rows have NaN"):
        score(settings(adept_lake, *words))


def test_the_text_limit_of_training_applies_only_to_its_own_task(scored_matrix):
    results_of = {(r["model"], r["key"]): r for r in results(scored_matrix[0] / "out")}
    plane = {key: r["cut"] for (model, key), r in results_of.items() if key == "plane"}
    cut = {key: r["cut"] for (model, key), r in results_of.items() if r["cut"]}
    # Sentences of both tasks have more than six tokens, such as "A black dog is a black animal".
    assert plane
    assert set(cut) == {"plane"}


def test_on_its_own_task_a_model_has_the_scores_of_training(adept_lake, tuned, tmp_path):
    (trained,) = results(tuned / "out")
    words = ["model=models:/adept/1", f"tracking=sqlite:///{tuned / 'mlflow.db'}"]
    words += ["tasks=[adept]", "task.adept.classes=3", "predictions=false", f"out={tmp_path}"]
    score(settings(adept_lake, *words))
    (scored,) = results(tmp_path)
    for name in ("accuracy", "macro_f1", "majority"):
        assert scored["figures"][f"test/{name}"] == pytest.approx(
            trained["figures"][f"test/{name}"]
        )


def test_sygns_is_scored_by_the_written_meanings(task_lake, models, tmp_path, capsys):
    dataset = tasks.task({"name": "sygns"}).load(task_lake)
    data = seq2seq.Seq2SeqLearner(dataset, Seq2Seq(architecture="gru", size="tiny"))
    model = data.model(0)
    seq2seq.save(tmp_path / "sygns", model, data.vocabularies)
    words = [f"models=[{tmp_path / 'sygns'},{models['nli']}]", f"out={tmp_path / 'out'}"]
    words += ["tasks=[sygns,plane]", "limit=8", "batch_size=3"]
    score(settings(task_lake, *words, *UNRECORDED))
    printed = capsys.readouterr().out
    assert f"{tmp_path / 'sygns'} on plane: not defined. SyGNS asks for a meaning" in printed
    assert f"{models['nli']} on sygns: not defined." in printed
    (cell,) = [r for r in results(tmp_path / "out") if r["key"] == "sygns"]
    saved_tables = [Answers(path).read_all("run") for path in tmp_path.glob("out/*/answers/..")]
    (rows,) = [t.to_pylist() for t in saved_tables if t.column("task")[0].as_py() == "sygns_fol"]
    assert len(rows) == cell["rows"] == 8
    test = dataset.parts["test"]
    texts = dict(zip(test.item_ids.to_pylist(), test.first.to_pylist(), strict=True))
    for row in rows:
        (alone,) = seq2seq.answer(model.eval(), data.vocabularies, [texts[row["item_id"]]])
        assert row["text"] == alone


def test_for_a_single_model_detailed_tables_are_printed(task_lake, models, tmp_path, capsys):
    words = [f"model={models['nli']}", "tasks=[plane,asp]", *ASP, f"out={tmp_path}"]
    score(settings(task_lake, *words, *UNRECORDED))
    printed = capsys.readouterr().out
    assert "F1 by class (with a third label as separate" in printed
    assert "The model's own answers by test and gold label" in printed
    assert "| degree.ordering |" in printed


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["tasks=[plane]"], "expected one of the two"),
        (["model=x", "models=[y]", "tasks=[plane]"], "expected one of the two"),
        (["model=x"], "no tasks"),
        (["model=x", "tasks=[plane,plane]"], "the same value twice"),
        (["model=x", "tasks=[plane]", "limit=0"], "limit=0: expected 1 or more"),
        (["models=[x,y]", "tasks=[plane]", "labels=[a,b]"], "expected one model"),
    ],
)
def test_settings_that_do_not_fit_are_refused(more, reason):
    with pytest.raises(UserError, match=reason):
        settings("lake", *more)


def test_mistakes_are_reported_before_work_starts(task_lake, models, tmp_path):
    nli = models["nli"]
    for task, words, message in (
        ("plane", [f"models=[{nli},{nli}/.]"], "the same model twice"),
        ("plane", ["model=no/such/model/x"], "no such folder"),
        ("plane", ["model=m", f"out={__file__}"], r"out=.* is a file; expected a folder"),
        ("plane", [f"model={nli}", "max_length=900"], "max_length=900: expected 4 to 32"),
        ("sygns", [f"model={nli}"], "nothing to score: SyGNS asks for a meaning"),
    ):
        common = [f"tasks=[{task}]", f"out={tmp_path}", "tracking=none"]
        with pytest.raises(UserError, match=message):
            prepare(settings(task_lake, *common, *words))
    assert not list(tmp_path.iterdir())


def test_the_settings_files_can_be_loaded(tmp_path):
    for name in ("plane_score", "asp_score", "transfer"):
        path = conf.ROOT / "conf" / "training" / f"{name}.yaml"
        scoring_settings = conf.load(Settings, [str(path), "model=x"])
        assert set(scoring_settings.tasks) == set(scoring_settings.task)
