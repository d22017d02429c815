import json
import os
import shutil

import numpy as np
import pytest

from adnominal.training import environment, tracking
from adnominal.training.tasks import Source
from adnominal.training.tracking import Tracker, flatten_settings, metric_key


def test_settings_become_parameters_within_mlflows_limits():
    values = {"a": {"b": [1, 2], "none": None, "empty": {}}, "c": "x" * 7000, "d/é": True}
    parameters = flatten_settings(values)
    assert parameters["a.b"] == "[1, 2]"
    assert parameters["a.none"] == "null"
    assert parameters["d/_"] == "true"
    assert len(parameters["c"]) == 6000
    assert parameters["c"].endswith("(7000 characters; whole in settings.yaml)")
    assert "a.empty" not in parameters


def test_metric_names_are_made_valid():
    assert metric_key("val/f1/equally likely") == "val/f1/equally likely"
    assert metric_key("a(b)=c" * 100) == ("a_b__c" * 100)[:250]


@pytest.fixture(scope="module")
def tracker(tmp_path_factory, empty_store):
    store = shutil.copy(empty_store, tmp_path_factory.mktemp("track"))
    return Tracker(f"sqlite:///{store}", "experiment")


def test_a_store_gets_its_name_when_it_is_complete(tmp_path, empty_store, monkeypatch):
    store = tmp_path / "new" / "folder" / "mlflow.db"
    link, linked = os.link, []

    def link_second(source, target):
        assert not store.exists()
        shutil.copy(empty_store, store)  # by another process
        linked.append(target)
        link(source, target)

    monkeypatch.setattr(os, "link", link_second)
    assert Tracker(f"sqlite:///{store}", "experiment").client is not None
    assert linked == [store]
    assert [path.name for path in store.parent.iterdir()] == ["mlflow.db"]


def test_a_store_without_hard_links_keeps_what_another_process_created(tmp_path, monkeypatch):
    store = tmp_path / "mlflow.db"

    def link(source, target):
        store.write_text("of another process")
        raise PermissionError

    monkeypatch.setattr(os, "link", link)
    tracking.create_store(f"sqlite:///{store}")
    assert store.read_text() == "of another process"


def test_a_store_in_memory_has_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tracking.create_store("sqlite:///:memory:")
    assert list(tmp_path.iterdir()) == []


def test_a_resumed_run_logs_only_new_steps(tracker, tmp_path):
    first = tracker.run("one", tmp_path / "mlflow.json")
    first.settings({"lr": 1.0}, "lr: 1.0\n")
    first.metrics({"train/loss": 3.0}, 10)
    first.metrics({"train/loss": 2.0}, 20)
    again = tracker.run("one", tmp_path / "mlflow.json")
    assert again.id == first.id
    # MLflow refuses to change a parameter, and keeps every value that is logged for a metric.
    again.settings({"lr": 1.0}, "lr: 1.0\n")
    again.metrics({"train/loss": 2.0}, 20)
    again.metrics({"train/loss": 1.0}, 30)
    again.end()
    history = tracker.client.get_metric_history(first.id, "train/loss")
    assert [(m.step, m.value) for m in history] == [(10, 3.0), (20, 2.0), (30, 1.0)]
    assert tracker.client.get_run(first.id).info.status == "FINISHED"


def test_a_deleted_run_is_replaced_by_a_new_one(tracker, tmp_path, caplog):
    file = tmp_path / "mlflow.json"
    first = tracker.run("one", file)
    tracker.client.delete_run(first.id)
    second = tracker.run("one", file)
    assert second.id not in (None, first.id)
    assert tracker.run("one", file).id == second.id
    file.write_text(json.dumps({"uri": tracker.uri, "run_id": "0" * 32}))
    assert tracker.run("one", file).id not in (None, first.id, second.id)
    assert "tracking failed" not in caplog.text


def test_a_run_is_tagged_with_its_job(tracker, tmp_path):
    tracker = Tracker(tracker.uri, "experiment", "prompt")
    tags = tracker.client.get_run(tracker.run("one", tmp_path / "mlflow.json").id).data.tags
    assert (tags["job"], tags["mlflow.source.name"]) == ("prompt", "training/prompt.py")


def test_many_parameters_and_metrics_are_logged_in_several_batches(tracker, tmp_path):
    run = tracker.run("many", tmp_path / "mlflow.json")
    run.settings({f"p{i}": i for i in range(230)}, "")
    run.metrics({f"m{i}": i for i in range(1100)})
    data = tracker.client.get_run(run.id).data
    assert len(data.params) == 230
    assert len(data.metrics) == 1100


def test_tables_are_logged_as_inputs_with_their_versions(tracker, tmp_path):
    run = tracker.run("inputs", tmp_path / "mlflow.json")
    run.inputs("/data/lake/", [Source("adept", "published", 7)])
    (table_input,) = tracker.client.get_run(run.id).inputs.dataset_inputs
    assert json.loads(table_input.dataset.source) == {
        "uri": "/data/lake/adept",
        "version": 7,
        "edition": "published",
    }


def test_a_confusion_matrix_is_logged_as_a_figure_and_as_numbers(tracker, tmp_path):
    run = tracker.run("confusion", tmp_path / "mlflow.json")
    run.confusion(np.array([[3, 1], [0, 0]]), ["no", "yes"], "confusion_val")
    names = {artifact.path for artifact in tracker.client.list_artifacts(run.id)}
    assert names == {"confusion_val.png", "confusion_val.json"}


def test_tracking_is_disabled_after_three_failures(tracker, tmp_path, caplog):
    failing_tracker = Tracker(tracker.uri, "experiment")
    run = failing_tracker.run("bad", tmp_path / "mlflow.json")
    for _ in range(4):
        run.file(tmp_path / "nowhere")
    assert caplog.text.count("training continues") == 3
    assert caplog.text.count("is disabled") == 1
    assert failing_tracker.uri is None


def test_a_model_is_registered_in_its_own_store(tracker, tmp_path):
    import mlflow

    weights = tmp_path / "model"
    weights.mkdir()
    run = tracker.run("one", tmp_path / "mlflow.json")
    run.model(weights, pair=True, generates=False)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'other.db'}")
    assert run.register("tiny") is None
    (version,) = tracker.client.search_model_versions("name='tiny'")
    assert version.run_id == run.id
    assert not (tmp_path / "other.db").exists()


def test_a_deleted_experiment_is_reported_with_a_remedy(tracker, caplog):
    deleted = Tracker(tracker.uri, "old")
    tracker.client.delete_experiment(deleted.experiment_id)
    assert Tracker(tracker.uri, "old").uri is None
    assert "tracking failed (experiment old is deleted in MLflow; give another exp" in caplog.text
    assert f"experiments restore --experiment-id {deleted.experiment_id}); training" in caplog.text
    tracker.client.restore_experiment(deleted.experiment_id)
    assert Tracker(tracker.uri, "old").uri == tracker.uri


def test_an_ended_run_that_the_store_lacks_is_told(tracker, tmp_path, caplog):
    run = tracker.run("known", tmp_path / "mlflow.json")
    tracker.ended_run(run.id, tmp_path)
    assert not caplog.text
    tracker.ended_run("local-run", tmp_path)
    assert (
        f"does not have this run, so the report will not show it; delete {tmp_path}" in caplog.text
    )


def test_a_run_is_nested_in_its_first_parent(tracker, tmp_path):
    first, second, child = (tracker.run(name, tmp_path / f"{name}.json") for name in "abc")

    def parent() -> str | None:
        tags: dict[str, str] = tracker.client.get_run(child.id).data.tags
        return tags.get("mlflow.parentRunId")

    tracker.run("c", tmp_path / "c.json", parent=first.id)
    child.nest(second.id)
    assert parent() == first.id
    tracker.client.delete_run(first.id)
    child.nest(second.id)
    assert parent() == second.id


def test_only_the_first_process_tracks(monkeypatch, tmp_path):
    monkeypatch.setenv("RANK", "1")
    idle_tracker = Tracker(f"sqlite:///{tmp_path / 'mlflow.db'}", "experiment")
    run = idle_tracker.run("none", tmp_path / "mlflow.json")
    run.metrics({"a": 1.0})
    run.end()
    assert run.id is None
    assert not list(tmp_path.iterdir())


def test_the_environment_lists_installed_packages():
    text = environment.description()
    assert "torch==" in text
    assert "deepspeed==" in text
