"""``training/pretrain_mlm.py`` from settings to saved weights, in this process."""

import math
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from adnominal import conf
from adnominal.conf import JobFailed, UserError
from adnominal.training.evaluation import loss_sum
from adnominal.training.job import execute
from adnominal.training.models.masked import MaskedLearner
from adnominal.training.pretraining import Settings, prepare, pretrain
from tests.training.conftest import losses, result_of, run_folder, stopped_at

SIZE = 150


def settings(lake: str, *more: str) -> Settings:
    common = [f"lake={lake}", "corpora=[tiny]", "validation=0.1", "tracking=none", "cache=none"]
    common += [f"vocabulary={SIZE}", "words=[fake,brown]", "layers=1", "hidden=16", "heads=2"]
    common += ["max_length=16", "batch_size=40", "learning_rate=2e-2"]
    return conf.load(Settings, [*common, *more])


@pytest.fixture(scope="module")
def learner(sentence_lake, tmp_path_factory) -> MaskedLearner:
    (work,) = prepare(settings(sentence_lake, f"out={tmp_path_factory.mktemp('out')}"))
    masked_learner = work.learner
    assert isinstance(masked_learner, MaskedLearner)
    masked_learner.prepare()
    return masked_learner


@pytest.fixture(scope="module")
def pretrained(sentence_lake, tmp_path_factory, empty_store) -> Path:
    """The folder of a model trained for a few seconds, with its MLflow store and cached tokens."""
    folder: Path = tmp_path_factory.mktemp("pretrained")
    shutil.copy(empty_store, folder)
    words = [f"out={folder / 'out'}", f"cache={folder / 'cache'}", "epochs=15", "dropout=0"]
    words += [f"tracking=sqlite:///{folder / 'mlflow.db'}", "warmup=0.1", "evaluate_every=55"]
    pretrain(settings(sentence_lake, *words))
    return folder


# The learner


def test_a_batch_has_the_masked_words_and_their_places(learner):
    rows = np.array([3, 0, 70])
    batch = learner.collate("train", rows)
    texts = learner.dataset.parts["train"].take(rows).first.to_pylist()
    tokenised = learner.tokenizer(texts, padding=True, return_tensors="pt")
    assert batch["attention_mask"].tolist() == tokenised["attention_mask"].tolist()
    places, labels = batch["places"], batch["labels"]
    assert tokenised["input_ids"].flatten()[places].tolist() == labels.tolist()
    unmasked = batch["input_ids"].flatten().clone()
    unmasked[places] = labels
    assert unmasked.tolist() == tokenised["input_ids"].flatten().tolist()
    assert learner.tokens(batch) == (int(tokenised["attention_mask"].sum()), unmasked.numel())
    assert learner.lengths("train")[rows].sum() == tokenised["attention_mask"].sum()


def test_only_training_draws_new_masks_in_each_epoch(learner):
    rows = np.arange(20)

    def places(part: str, epoch: int) -> list[int]:
        learner.begin_epoch(epoch)
        masked_places: list[int] = learner.collate(part, rows)["places"].tolist()
        return masked_places

    assert places("train", 0) == places("train", 0) != places("train", 1)
    assert places("val", 0) == places("val", 1)
    learner.begin_epoch(0)


def test_logits_are_berts_at_the_masked_places(learner, tmp_path):
    import torch
    from transformers import AutoModelForMaskedLM

    model = learner.model(1).eval()
    learner.save(model, tmp_path / "model")
    plain = AutoModelForMaskedLM.from_pretrained(tmp_path / "model").eval()
    batch = learner.collate("val", np.arange(7))
    with torch.no_grad():
        logits = model(batch["input_ids"], batch["attention_mask"], batch["places"])
        inputs = {name: batch[name] for name in ("input_ids", "attention_mask")}
        all_logits = plain(**inputs).logits.flatten(0, 1)
        torch.testing.assert_close(logits, all_logits[batch["places"]])
        expected = torch.nn.functional.cross_entropy(logits, batch["labels"], reduction="sum")
        torch.testing.assert_close(
            loss_sum(learner.logits(model, batch), batch["labels"]), expected
        )
    assert sum(p.numel() for p in plain.parameters()) == learner.parameters()


def test_a_batch_without_masks_has_no_loss_and_no_gradients(learner):
    import torch

    model = learner.model(0)
    batch = learner.collate("train", np.arange(2))
    none = dict.fromkeys(("places", "labels"), torch.zeros(0, dtype=torch.int64))
    loss = loss_sum(learner.logits(model, {**batch, **none}), none["labels"])
    loss.backward()
    assert loss.item() == 0
    assert all(not p.grad.any() for p in model.parameters() if p.grad is not None)


def test_initial_weights_follow_the_seed(learner):
    def first(seed: int) -> list[float]:
        weights: list[float] = next(iter(learner.model(seed).parameters())).flatten().tolist()
        return weights

    assert first(1) == first(1) != first(2)


# The run


@pytest.mark.slow
def test_the_model_learns_which_words_occur_together(pretrained):
    figures = result_of(pretrained / "out")["figures"]
    assert figures["val/loss"] < figures["val/unigram_loss"] - 0.5
    assert figures["val/accuracy"] > figures["val/majority"] + 0.1
    assert figures["val/perplexity"] == pytest.approx(math.exp(figures["val/loss"]))
    assert figures["val/unigram_perplexity"] > figures["val/perplexity"]


def test_baselines_follow_from_frequencies_in_training(pretrained, sentence_lake):
    (work,) = prepare(
        settings(sentence_lake, f"cache={pretrained / 'cache'}", f"out={pretrained / 'other'}")
    )
    masked_learner = work.learner
    assert isinstance(masked_learner, MaskedLearner)
    masked_learner.prepare()
    counts = Counter(
        token
        for text in masked_learner.dataset.parts["train"].first.to_pylist()
        for token in masked_learner.tokenizer(text)["input_ids"]
        if token not in masked_learner.tokenizer.all_special_ids
    )
    total = sum(counts.values()) + SIZE - 5
    rows = np.arange(len(masked_learner.dataset.parts["val"]))
    labels = masked_learner.collate("val", rows)["labels"].tolist()
    expected = np.mean([-math.log((counts[token] + 1) / total) for token in labels])
    figures = result_of(pretrained / "out")["figures"]
    assert figures["val/unigram_loss"] == pytest.approx(expected, rel=1e-5)
    (most_frequent, _), *_ = counts.most_common(1)
    assert figures["val/majority"] == pytest.approx(
        np.mean([token == most_frequent for token in labels])
    )


def test_transformers_loads_the_saved_model(pretrained):
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    folder = run_folder(pretrained / "out") / "model"
    files = {path.name for path in folder.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "README.md"} <= files
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForMaskedLM.from_pretrained(folder).eval()
    assert type(model).__name__ == "BertForMaskedLM"
    assert len(tokenizer) == model.config.vocab_size == SIZE
    assert tokenizer.tokenize("fake brown") == ["fake", "brown"]
    batch = tokenizer("The large [MASK] number 3 is unmistakably here.", return_tensors="pt")
    with torch.no_grad():
        logits = model(**batch).logits[batch["input_ids"] == tokenizer.mask_token_id]
    (best,) = tokenizer.convert_ids_to_tokens(logits.argmax(-1))
    assert best.isalpha()
    card = (folder / "README.md").read_text()
    assert "pipeline_tag: fill-mask" in card
    assert "sentences, edition tiny, version 1" in card
    assert "held out by a hash of the text" in card


def test_the_run_is_tracked_with_its_job_and_model(pretrained):
    import mlflow
    import pandas as pd
    from mlflow import MlflowClient

    uri = f"sqlite:///{pretrained / 'mlflow.db'}"
    client = MlflowClient(uri)
    (run,) = client.search_runs([client.get_experiment_by_name("sentences").experiment_id])
    assert (run.data.tags["job"], run.info.status) == ("pretrain_mlm", "FINISHED")
    assert run.data.params["task.name"] == "sentences"
    assert run.data.params["model_name"] == "bert-1x16-tiny"
    assert int(run.data.params["parameters"]) > SIZE * 16
    figures = result_of(pretrained / "out")["figures"]
    assert run.data.metrics["final/val/perplexity"] == figures["val/perplexity"]
    history = client.get_metric_history(run.info.run_id, "val/loss")
    assert [entry.step for entry in history] == [55, 110, 165]
    (table,) = run.inputs.dataset_inputs
    assert (table.dataset.name, table.dataset.digest) == ("sentences/tiny", "version 1")
    (logged,) = run.outputs.model_outputs
    mlflow.set_tracking_uri(uri)
    served = mlflow.pyfunc.load_model(f"models:/{logged.model_id}")
    answers = served.predict(pd.DataFrame({"first": ["a [MASK] dog runs.", "a fake [MASK] runs."]}))
    assert list(answers) == ["label", "score"]
    assert answers["label"].str.len().gt(0).all()
    with pytest.raises(Exception, match=r"has 0 \[MASK\]; expected one"):
        served.predict(pd.DataFrame({"first": ["a dog runs."]}))


def test_a_resumed_run_has_the_same_losses(sentence_lake, tmp_path, monkeypatch):
    # An epoch has eleven updates; checkpoints are written every four.
    more = ("epochs=2", "checkpoint_every=4", "log_every=1", "evaluate_every=50")
    uninterrupted, resumed = tmp_path / "whole", tmp_path / "resumed"
    pretrain(settings(sentence_lake, f"out={uninterrupted}", *more))
    with stopped_at(16, monkeypatch):
        pretrain(settings(sentence_lake, f"out={resumed}", *more))
    assert not list(resumed.glob("*/result.json"))
    pretrain(settings(sentence_lake, f"out={resumed}", *more))
    # Losses are exactly equal, also after the end of an epoch.
    assert losses(resumed) == losses(uninterrupted)
    assert len(losses(resumed)) == 22
    assert result_of(resumed)["figures"] == result_of(uninterrupted)["figures"]


# Mistakes


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["lake=/nowhere"], "keep_text=true"),
        (["corpora=[mine]"], "corpus=mine"),
        (["corpora=[tiny,tiny]"], "the same value twice"),
        (["min_words=40"], "expected 100 or more"),
        (["hidden=10", "heads=4"], "hidden=10 heads=4"),
        (["layers=0"], "layers=0"),
        (["share=0"], "share=0"),
        (["validation=1"], "validation=1"),
        (["mask=1"], "mask=1"),
        (["dropout=1"], "dropout=1"),
        (["max_length=4"], "max_length=4"),
        (["metric=macro_f1"], "metric=macro_f1: expected one of loss, accuracy"),
        (["train_size=[5000]"], "train_size=5000"),
        (["model=roberta-base"], "unknown setting 'model'"),
    ],
)
def test_mistakes_are_reported_before_work_starts(sentence_lake, tmp_path, more, message):
    with pytest.raises(UserError, match=message) as error:
        prepare(settings(sentence_lake, f"out={tmp_path / 'out'}", *more))
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()


def test_a_vocabulary_that_is_too_large_stops_no_other_run(sentence_lake, tmp_path):
    more = ("epochs=1", "grid.vocabulary=[3000,150]", "train_size=[40]")
    with pytest.raises(JobFailed, match=r"1 of 2 runs failed: vocabulary=3000 .*pieces"):
        pretrain(settings(sentence_lake, f"out={tmp_path}", *more))
    assert len(list(tmp_path.glob("*/result.json"))) == 1
    assert (tmp_path / "summary.json").exists()


def test_a_vocabulary_that_is_too_large_is_reported_before_training(sentence_lake, tmp_path):
    pretrain_settings = settings(sentence_lake, f"out={tmp_path}", "vocabulary=3000")
    with pytest.raises(UserError, match=r"vocabulary=3000: .* sentences have \d+ pieces"):
        execute(pretrain_settings, prepare(pretrain_settings))
    assert not list(tmp_path.glob("*/steps.jsonl"))
