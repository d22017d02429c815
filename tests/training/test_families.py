"""A saved model has the scores of its run in every family and way of training.

The cells cover each pair of values of family, adapters, precision, ZeRO stage and checkpointing
with two updates in one process; a benchmark covers the full product.
"""

import dataclasses
import itertools
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from adnominal import conf
from adnominal.conf import UserError
from adnominal.training import sharding
from adnominal.training.answering.classifier import classifier
from adnominal.training.answering.score import score
from adnominal.training.answering.settings import ScoreSettings as Scoring
from adnominal.training.job import finetune
from adnominal.training.models.encoders import set_template
from adnominal.training.models.loading import Trained, content_of, resolve
from adnominal.training.models.pretrained import find
from adnominal.training.settings import Settings
from adnominal.training.tasks import task
from tests.training import families
from tests.training.conftest import UNRECORDED, result_of, scores
from tests.training.families import run

AXES = (families.FAMILIES, (0, 4), ("fp32", "bf16"), ("zero0", "zero2", "zero3"), (False, True))
"""Families, ranks of adapters (0: none), precisions, DeepSpeed's configurations, checkpointing."""

CELLS = [
    (
        family,
        (0, 4)[(row + stage) % 2],
        ("fp32", "bf16")[(row // 2 + stage) % 2],
        zero,
        (zero == "zero2") != (family == "bert"),
    )
    for row, family in enumerate(families.FAMILIES)
    for stage, zero in enumerate(("zero0", "zero2", "zero3"))
]


def test_cells_cover_each_pair_of_values():
    for first, second in itertools.combinations(range(len(AXES)), 2):
        pairs = {(cell[first], cell[second]) for cell in CELLS}
        assert pairs == set(itertools.product(AXES[first], AXES[second]))


@pytest.mark.parametrize(("family", "rank", "precision", "zero", "checkpointing"), CELLS)
def test_a_saved_model_has_the_scores_of_its_run(
    adept_lake, family_models, tmp_path, monkeypatch, family, rank, precision, zero, checkpointing
):
    # Under ZeRO 3, weights are written in several files.
    monkeypatch.setattr(sharding, "LARGEST", 20_000)
    folder = run(
        adept_lake,
        family_models[family],
        tmp_path / "out",
        f"lora.r={rank}",
        f"bf16={str(precision == 'bf16').lower()}",
        f"deepspeed={zero}",
        f"activation_checkpointing={str(checkpointing).lower()}",
        "train_size=[64]",
    )
    names = {path.name for path in (folder / "model").iterdir()}
    has_weights = any(name.startswith("model") and name.endswith(".safetensors") for name in names)
    assert ("adapter_model.safetensors" in names, has_weights) == (bool(rank), not rank)
    assert ("model.safetensors.index.json" in names) == (zero == "zero3" and not rank)
    difference = families.difference(folder, adept_lake)
    assert difference < (0.02 if precision == "bf16" else 1e-5)


@pytest.mark.parametrize("rank", [0, 4])
def test_a_sharded_model_has_the_same_scores(adept_lake, family_models, tmp_path, rank):
    folder = run(adept_lake, family_models["llama"], tmp_path / "out", f"lora.r={rank}")
    figures = []
    for zero in ("zero0", "zero3"):
        out = tmp_path / zero
        common = [f"model={folder}", "tasks=[adept]", f"lake={adept_lake}", f"out={out}"]
        score(conf.load(Scoring, [*common, *UNRECORDED, f"deepspeed={zero}"]))
        figures.append(result_of(out)["figures"])
    assert figures[0] == figures[1]


@pytest.mark.parametrize("bits", [4, 8])
def test_adapters_can_be_trained_on_quantised_weights(adept_lake, tmp_path, bits):
    pytest.importorskip("bitsandbytes", reason="pip install bitsandbytes")
    more = [f"lora.bits={bits}", "lora.r=4", "activation_checkpointing=true"]
    # Weights of 4 bits come in blocks of 64.
    model = families.make("llama", tmp_path / "llama", "", width=64)
    folder = run(adept_lake, model, tmp_path / "out", *more)
    with classifier(resolve(str(folder / "model"))) as quantised:
        kinds = {type(module).__name__ for module in quantised.trainer.model.modules()}
    assert f"Linear{'4bit' if bits == 4 else '8bitLt'}" in kinds
    assert families.difference(folder, adept_lake) < 1e-5


def test_impossible_quantisation_is_refused(adept_lake, family_models, monkeypatch):
    model = family_models["llama"]
    common = ["task.name=adept", f"lake={adept_lake}", f"model={model}", "lora.bits=4"]
    for more, message in (
        ([], "expected lora.r="),
        (["lora.r=4", "lora.merge=true"], "lora.merge=true: expected one of them"),
    ):
        with pytest.raises(UserError, match=message):
            conf.load(Settings, [*common, *more])
    with pytest.raises(UserError, match=r"cannot be sharded|not installed"):
        finetune(conf.load(Settings, [*common, "lora.r=4", "deepspeed=zero3"]))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match="pip install bitsandbytes"):
        finetune(conf.load(Settings, [*common, "lora.r=4"]))


def test_adapters_are_merged_on_request(adept_lake, family_models, tmp_path):
    from transformers import AutoModelForSequenceClassification

    folder = run(adept_lake, family_models["qwen"], tmp_path, "lora.r=4", "lora.merge=true")
    merged_model = AutoModelForSequenceClassification.from_pretrained(folder / "merged")
    assert type(merged_model).__name__ == "Qwen3ForSequenceClassification"
    test = task({"name": "adept"}).load(adept_lake).parts["test"]
    class_scores = [
        scores(resolve(str(folder / name)), test.first, test.second) for name in ("model", "merged")
    ]
    np.testing.assert_allclose(class_scores[0], class_scores[1], atol=1e-4)
    adapted, merged = (Trained.read(folder / name) for name in ("model", "merged"))
    assert adapted is not None and adapted.base_content == content_of(family_models["qwen"])
    # Apart from the base model, the training record is that of the adapters.
    assert merged == dataclasses.replace(adapted, base_content=None)
    assert (folder / "merged/README.md").read_text() == (folder / "model/README.md").read_text()


def test_adapters_find_their_base_model_from_any_folder(
    adept_lake, family_models, tmp_path, monkeypatch
):
    base = Path(shutil.copytree(family_models["llama"], tmp_path / "here" / "llama"))
    monkeypatch.chdir(base.parent)
    folder = run(adept_lake, "llama", tmp_path / "out", "lora.r=4", "train_size=[32]") / "model"
    # This folder has another model of the same name.
    shutil.copytree(family_models["qwen"], tmp_path / "elsewhere" / "llama")
    monkeypatch.chdir(tmp_path / "elsewhere")
    source = resolve(os.fspath(folder))
    assert families.difference(folder.parent, adept_lake) < 1e-5
    content = source.content()
    config = base / "config.json"
    text = config.read_text()
    config.write_text(text + " ")
    with pytest.raises(UserError, match=f"{folder}: adapters for another model than .*{base}"):
        source.content()
    config.write_text(text)
    assert source.content() == content
    base.rename(tmp_path / "away")
    with pytest.raises(UserError, match=f"{folder}: adapters whose base model is missing .*{base}"):
        source.content()


@pytest.mark.parametrize("family", ["llama", "qwen", "gpt2"])
def test_decoders_get_two_texts_on_separate_lines(family_models, family, tmp_path):
    from transformers import AutoTokenizer

    pretrained = find(family_models[family])
    set_template(pretrained.tokenizer, pretrained.config)
    pretrained.tokenizer.save_pretrained(tmp_path)
    pretrained.config.save_pretrained(tmp_path)
    for tokenizer in (pretrained.tokenizer, AutoTokenizer.from_pretrained(tmp_path)):
        ids = tokenizer("A dog runs.", "A fake dog runs.")["input_ids"]
        text = tokenizer.decode(ids)
        begin = "<s>" if family == "llama" else ""
        end = "" if family == "gpt2" else "</s>"
        assert text == f"{begin}A dog runs.\nA fake dog runs.{end}"
        assert tokenizer.padding_side == "right"
