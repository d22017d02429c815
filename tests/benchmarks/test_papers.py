import shutil

import pytest

from adnominal.conf import JobFailed, UserError
from adnominal.etl.amod.kernel import PairCounter
from adnominal.etl.amod.rules import CLEAN
from adnominal.training.finished_runs import Run, Runs
from benchmarks import released_phrases
from benchmarks.harness import page
from benchmarks.papers import (
    CASE,
    Settings,
    admitted_editions,
    asked_about_scales,
    classified,
    generated,
    mean,
    measured,
    merged,
    prompted,
    transferred,
)
from benchmarks.papers_runs import experiments, states
from tests.rows import write


def run(seed: int, accuracy: float, **params: str) -> Run:
    parameters = {
        "task.name": "adept",
        "task.edition": "published",
        "task.classes": "5",
        "task.context": "true",
        "model_name": "owner/small",
        "train_examples": "12892",
        "seeds": f"[{seed}]",
        **params,
    }
    metrics = {"accuracy": accuracy, "macro_f1": 0.25, "majority": 0.664, "noun/accuracy": 0.1}
    metrics = {f"final/val/{name}": value for name, value in metrics.items()}
    metrics["val/accuracy"] = 0.5
    name = f"{seed}{accuracy}"
    return Run(name, "finetune", seed, parameters, metrics, group=str(params))


def test_runs_with_other_seeds_share_a_row_beside_the_paper():
    runs = Runs((run(1, 0.72), run(0, 0.70), run(0, 0.6, **{"task.context": "false"})))
    rows = classified(runs)
    assert [(row["settings"], row["runs"], row["paper"]) for row in rows] == [
        ("classes 5, context false", 1, "69.1"),
        ("classes 5, context true", 2, "70.8"),
    ]
    assert rows[1]["accuracy"] == [0.72, 0.70]
    text = page(CASE, {"classified": rows, "generated": [], "transferred": [], "prompted": []})
    # Student's t of one degree of freedom: 12.7 times the standard error of 0.01.
    line = next(line for line in text.splitlines() if "context true" in line)
    assert "| small | 12,892 | 2 | val | 71.0 ± 12.7 | 25.0 ± 0.0 | 66.4 | 70.8 |" in line


def test_generated_meanings_show_every_seed():
    row = {
        "settings": "form vf",
        "parameters": 4_000_000,
        "epochs": 25,
        "scores": {"EXI": [98.46, 99.85], "NUM": [34.0], "UNI": [41.0], "valid": [100.0, 100.0]},
        "paper": {"EXI": "99.7", "NUM": "37.0", "UNI": "39.5", "valid": "99.6"},
    }
    text = page(CASE, {"classified": [], "generated": [row], "transferred": [], "prompted": []})
    assert "| 99.2 of 98.5, 99.8 (99.7) | 34.0 (37.0) |" in text


def test_scores_of_prompts_about_scales_are_shown_beside_the_paper():
    row = {"task": "degree", "test": "ordering", "model": "small", "rows": 200, "prompts": 5}
    row |= {"mean": 0.605, "deviation": 0.021, "majority": 0.675, "paper": "72.6"}
    text = page(CASE, {"asked_about_scales": [row]})
    assert "| degree | ordering | small | 200 | 5 | 60.5 ± 2.1 | 67.5 | 72.6 |" in text


def test_other_editions_and_jobs_are_not_shown():
    assert not classified(Runs((run(0, 0.7, **{"task.edition": "demo"}),)))


def test_folds_built_from_the_released_phrases_share_a_labelled_row():
    def fold(number: int, accuracy: float, edition: str = "released_phrases") -> Run:
        task = {"task.name": "plane", "task.scheme": "one_it", "task.edition": edition}
        examples = str(30_000 - 24 * number)
        return run(0, accuracy, **task, **{"task.fold": str(number), "train_examples": examples})

    rows = classified(Runs((fold(1, 0.8), fold(2, 0.9), fold(1, 0.7, "published"))))
    assert [(row["settings"], row["runs"], row["paper"]) for row in rows] == [
        ("edition released_phrases, scheme one_it, fold 1/2", 2, None),
        ("scheme one_it, fold 1", 1, None),
    ]


def test_asp_runs_get_a_row_per_held_out_dimension():
    asp = {"task.name": "asp", "task.round": "published"}
    held_out = (run(0, 0.6, **asp, **{"task.dimension": name}) for name in ("length", "mass"))
    settings = [row["settings"] for row in classified(Runs(tuple(held_out)))]
    assert settings == [f"round published, dimension {name}" for name in ("length", "mass")]


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


def test_the_mean_of_one_run_has_no_interval():
    assert mean([0.7064]) == "70.6"


def test_a_store_without_finished_runs_is_an_error(tmp_path):
    with pytest.raises(JobFailed, match="no finished run"):
        measured(Settings(lake=str(tmp_path), tracking=f"sqlite:///{tmp_path / 'none.db'}"))


def test_experiments_are_ordered_longest_first_and_have_unique_names():
    all_experiments = experiments()
    hours = [experiment.hours for experiment in all_experiments]
    assert hours == sorted(hours, reverse=True)
    assert len({experiment.name for experiment in all_experiments}) == len(all_experiments)
    with pytest.raises(UserError, match="only=other: expected one of adept-5-mpnet"):
        experiments(["other"])
    (asp,) = experiments(["asp-minilm"])
    dimensions = {"length", "mass", "temperature", "price"}
    assert asp.runs() == 4 and asp.parameters()["task.dimension"] == dimensions
    (nli,) = experiments(["plane-nli-minilm"])
    assert nli.parameters() == {
        "model_name": {"all-minilm-l6-v2-asp"},
        "task.name": {"plane"},
        "task.edition": {"released_phrases"},
        "task.scheme": {"two_shot"},
        "task.fold": {"1"},
    }
    (mpnet,) = experiments(["adept-5-mpnet"])
    assert "model=models/all-mpnet-base-v2" in mpnet.command
    assert mpnet.command.endswith("lake=LAKE")


def test_no_experiment_trains_on_its_test_rows():
    for experiment in experiments():
        words = " ".join(experiment.settings)
        # ASP experiments train only on the release's own training files.
        if experiment.script.endswith("finetune.py") and experiment.name.startswith("asp"):
            assert "task.train_edition=published_tuning" in words
        # Zero-shot experiments prompt a model and never train it.
        assert "zero-shot" not in experiment.name or experiment.script.endswith("prompt.py")


def test_progress_is_read_from_the_store(tmp_path, empty_store):
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Param

    uri = f"sqlite:///{shutil.copy(empty_store, tmp_path)}"
    client = MlflowClient(uri)
    experiment_id = client.create_experiment("e", (tmp_path / "runs").as_uri())
    (experiment,) = experiments(["sygns-one-vf-gru"])
    (running, finished) = (
        client.create_run(experiment_id, start).info.run_id for start in (2_000, 1_000)
    )
    params = {key: min(values) for key, values in experiment.parameters().items()}
    params["train_examples"] = "7200"
    for run_id in (running, finished):
        client.log_batch(run_id, params=[Param(key, value) for key, value in params.items()])
    metrics = {"train/epoch": 10.0, "train/samples_per_second": 20.0}
    client.log_batch(running, metrics=[Metric(k, v, 3_000, 1) for k, v in metrics.items()])
    (state,) = states(uri, [experiment])
    assert state["finished"] == 0 and state["share"] == pytest.approx(10 / 25)
    assert state["begun_hours"] == pytest.approx(10 * 7_200 / 20 / 3_600)
    client.set_terminated(finished, "FINISHED", 1_000 + 3_600_000)
    (state,) = states(uri, [experiment])
    assert state["finished"] == state["runs"] and state["hours"] == pytest.approx(1.0)
    assert not states(f"sqlite:///{tmp_path / 'none.db'}", [experiment])[0]["finished"]


def test_a_recorded_row_is_replaced_only_by_as_many_runs():
    def row(runs: int, accuracy: float, model: str = "a") -> dict[str, object]:
        same = {"task": "adept", "settings": "s", "model": model, "part": "val"}
        return {**same, "runs": runs, "accuracy": [accuracy]}

    earlier = {"classified": [row(3, 0.7), row(1, 0.5, "b")]}
    rows = merged(earlier, {"classified": [row(1, 0.6), row(1, 0.55, "b")]})["classified"]
    assert {r["model"]: r["accuracy"] for r in rows} == {"a": [0.7], "b": [0.55]} and len(rows) == 2
    assert merged(earlier, {"classified": [row(3, 0.8)]})["classified"][0]["accuracy"] == [0.8]


def test_a_recorded_experiment_is_replaced_only_by_further_progress():
    def row(finished: int, share: float = 0.0) -> dict[str, object]:
        return {"name": "a", "finished": finished, "share": share}

    def shown(earlier: dict[str, object], later: dict[str, object]) -> dict[str, object]:
        rows = merged({"experiments": [earlier]}, {"experiments": [later]})["experiments"]
        assert len(rows) == 1
        return dict(rows[0])

    assert shown(row(1), row(0, 0.9)) == row(1)
    assert shown(row(0, 0.5), row(0, 0.2)) == row(0, 0.5)
    assert shown(row(0, 0.5), row(1)) == row(1)


def test_runs_on_other_editions_are_ignored(tmp_path):
    """If they were not, their answers would be looked up in the lake, which has none."""

    def demo_run(name: str, job: str, **params: str) -> Run:
        edition = {"task.edition": "demo", "model_name": "m"}
        return Run(name, job, 1, {"task.name": name, **edition, **params}, group=name)

    scheme = {"task.scheme": "systematicity", "task.form": "fol", "task.primitive": "one"}
    architecture = {"seq2seq.architecture": "gru"}
    runs = Runs(
        [
            *(demo_run(name, "prompt") for name in ("plane", "asp")),
            demo_run("sygns", "finetune", **scheme, **architecture),
            demo_run("plane", "score"),
        ]
    )
    for shown in (prompted, asked_about_scales, generated, transferred):
        assert shown(str(tmp_path), runs) == []
    assert admitted_editions("sygns") == {"published", "released_phrases", "paper"}


def test_a_case_without_parts_refuses_them():
    with pytest.raises(UserError, match="this case has no parts"):
        CASE.measurements(Settings(parts=["nonsense"]))
