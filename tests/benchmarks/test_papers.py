"""The papers' experiments: their declarations, their runs and the page."""

import math
import shutil

import pytest

from adnominal import conf
from adnominal.conf import JobFailed
from adnominal.etl.amod.kernel import PairCounter
from adnominal.etl.amod.rules import CLEAN
from adnominal.training.settings import Settings as RunSettings
from benchmarks import released_phrases
from benchmarks.papers import CASE, Settings, experiments, measurements, score_text
from tests.benchmarks.page import page
from tests.rows import write


def test_experiments_are_ordered_longest_first():
    hours = [experiment.hours for experiment in experiments().values()]
    assert hours == sorted(hours, reverse=True) and len(hours) > 20


@pytest.mark.parametrize("name", experiments())
def test_an_experiment_has_valid_settings_runs_and_printed_numbers(name):
    experiment = experiments()[name]
    assert set(experiment.paper) <= set(experiment.scores)
    assert all(experiment.printed_numbers().values())
    script, config, *words = experiment.words(Settings())
    assert f"experiment=papers-{name}" in words
    if script.endswith("finetune.py"):
        settings = conf.load(RunSettings, [config, *words])
        axes = {**settings.grid, **settings.grid.get("task", {}), "task": [None]}
        assert experiment.runs == math.prod(map(len, [settings.seeds, *axes.values()]))


def test_no_experiment_trains_on_its_test_rows():
    for name, experiment in experiments().items():
        words = " ".join(experiment.settings)
        # ASP experiments train only on the release's own training files.
        if experiment.script.endswith("finetune.py") and name.startswith("asp"):
            assert "task.train_edition=published_tuning" in words
        # Zero-shot experiments prompt a model and never train it.
        assert "zero-shot" not in name or experiment.script.endswith("prompt.py")


def test_scores_are_read_from_finished_runs_of_the_experiment(tmp_path, empty_store):
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Param

    uri = f"sqlite:///{shutil.copy(empty_store, tmp_path)}"
    client = MlflowClient(uri)
    experiment = experiments()["adept-5-mpnet"]
    experiment_id = client.create_experiment("e", (tmp_path / "runs").as_uri())

    def run(start: int, name: str, scores: dict[str, float], status: str = "FINISHED") -> None:
        run_id = client.create_run(experiment_id, start).info.run_id
        metrics = [Metric(experiment.scores[key], value, 1, 1) for key, value in scores.items()]
        client.log_batch(run_id, metrics=metrics, params=[Param("experiment", name)])
        client.set_terminated(run_id, status, start + 1_800_000)

    scores = {"accuracy": 0.7, "macro-F1": 0.3, "majority": 0.6}
    run(2_000, "papers-adept-5-mpnet", scores)
    run(1_000, "papers-adept-5-mpnet", {**scores, "accuracy": 0.8})
    run(3_000, "papers-adept-5-mpnet", scores, "FAILED")
    run(4_000, "papers-adept-3-mpnet", scores)
    run(5_000, "papers-adept-5-mpnet", {"accuracy": 0.9})  # the parent of a grid
    found = measurements(Settings(tracking=uri))
    assert list(found) == ["adept-3-mpnet", "adept-5-mpnet"]
    figures = found["adept-5-mpnet"]()
    assert figures["scores"]["accuracy"] == [0.8, 0.7]
    assert figures["runs"] == 2 and figures["hours"] == pytest.approx(1.0)
    text = page(CASE, {"adept-5-mpnet": figures})
    expected = (
        "| 2 of 3 | accuracy 75.0 (80.0, 70.0), macro-F1 30.0, majority 60.0 | accuracy 70.8 |"
    )
    assert expected in text
    assert "adept-5-mpnet (2 of 3)" in text and "adept-3-mpnet (0 of 3)" in text


def test_a_store_without_finished_runs_is_an_error(tmp_path):
    with pytest.raises(JobFailed, match="no finished run"):
        measurements(Settings(tracking=f"sqlite:///{tmp_path / 'none.db'}"))


def test_equal_scores_are_shown_once():
    assert score_text([0.5, 0.5001]) == "50.0"
    assert score_text([0.5]) == "50.0"
    assert score_text([0.5, 0.6]) == "55.0 (50.0, 60.0)"


def test_the_released_phrases_are_read_as_a_corpus(tmp_path):
    lake = str(tmp_path)
    published = {"adjective": "old", "noun": "car", "edition": "published"}
    fake, new = {"adjective": "fake", "noun": "gun"}, {"adjective": "new", "noun": "car"}
    items = [published, published, {**published, **fake}, {**new, "edition": "released_phrases"}]
    write(lake, "plane_items", items)
    phrases = tmp_path / "phrases.conllu"
    phrases.write_text(released_phrases.in_conllu(lake))
    counter = PairCounter("conllu", CLEAN, "reference")
    counter.feed(phrases.read_bytes())
    old = {"adjective": "old", "noun": "car"}
    assert counter.drain().select(["adjective", "noun"]).to_pylist() == [fake, old]
