"""Checkpoints of texts and images are loaded as their text decoder alone."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from adnominal import conf
from adnominal.training.job import finetune
from adnominal.training.models.decoders import text_decoder, text_weights
from adnominal.training.models.loading import resolve
from adnominal.training.models.pretrained import find, load_pretrained
from adnominal.training.settings import Settings
from tests.training import families
from tests.training.conftest import UNRECORDED, run_folder, served_answers


@pytest.mark.parametrize("family", families.MULTIMODAL)
def test_the_decoder_has_the_logits_of_the_whole_model(family_models, family):
    import transformers

    path, config, _ = find(family_models[family])
    (name,) = json.loads((Path(path) / "config.json").read_text())["architectures"]
    whole = getattr(transformers, name).from_pretrained(path).eval()
    model, missing = load_pretrained(path, config, torch.float32, None, "AutoModelForCausalLM")
    assert not missing
    assert config.architectures == [type(model).__name__]
    names = {name for name, _ in model.named_parameters()}
    assert not any("vision" in name or "visual" in name for name in names)
    ids = torch.tensor([[0, 5, 6, 7, 8, 9], [0, 9, 8, 7, 6, 5]])
    with torch.no_grad():
        expected = whole(input_ids=ids).logits
        for count, logits in (
            (0, model(input_ids=ids).logits),
            (2, model(input_ids=ids, logits_to_keep=2).logits),
            (2, model(input_ids=ids, logits_to_keep=torch.tensor([4, 5])).logits),
        ):
            torch.testing.assert_close(logits, expected[:, -count:])
    assert model.generate(ids, max_new_tokens=2, do_sample=False).shape == (2, 8)


@pytest.mark.parametrize(
    ("family", "rank", "zero"),
    zip(families.MULTIMODAL[1:], (4, 0, 4), ("zero0", "zero3", "zero3"), strict=True),
)
def test_a_classifier_of_a_decoder_has_the_scores_of_its_run(
    adept_lake, family_models, tmp_path, family, rank, zero
):
    model = family_models[family]
    more = [f"lora.r={rank}", f"deepspeed={zero}", "train_size=[32]"]
    folder = families.run(adept_lake, model, tmp_path / "out", *more)
    assert families.difference(folder, adept_lake) < 1e-5
    (row, *_) = served_answers(folder / "model", ["A dog runs."], ["A fake dog runs."]).to_dict(
        "records"
    )
    assert row["label"] in resolve(str(folder)).labels


@pytest.mark.parametrize(("family", "zero"), [("gemma3", "zero3"), ("qwen3_vl", "zero0")])
def test_a_decoder_learns_to_write_answers(adept_lake, family_models, tmp_path, family, zero):
    common = ["task.name=adept", f"lake={adept_lake}", f"out={tmp_path}", *UNRECORDED]
    more = [f"model={family_models[family]}", "instructions=true", f"deepspeed={zero}"]
    finetune(conf.load(Settings, [*common, *more, "train_size=[16]", "num_train_epochs=1"]))
    folder = run_folder(tmp_path)
    assert families.difference(folder, adept_lake) < 1e-5
    # Only the decoder is saved, under its own names.
    names = set().union(*map(load_file, (folder / "model").glob("*.safetensors")))
    assert any(name.startswith("model.layers.0.") for name in names)
    assert not any("language_model" in name for name in names)


def test_weights_of_old_and_new_checkpoints_get_the_same_names():
    old = ("language_model.model.norm.weight", "language_model.lm_head.weight", "visual.a")
    new = ("model.language_model.norm.weight", "lm_head.weight", "model.visual.a")
    names = [set(text_weights(dict.fromkeys(names))) for names in (old, new)]
    assert {"model.norm.weight", "lm_head.weight"} == names[0] & names[1]
    alone = ("model.norm.weight", "lm_head.weight")
    assert set(text_weights(dict.fromkeys(alone))) == set(alone)


def test_other_configurations_stay_as_they_are():
    from transformers import LlamaConfig, T5Config

    t5 = T5Config()
    t5.architectures = ["T5ForConditionalGeneration"]
    for config in (t5, LlamaConfig()):
        assert text_decoder(config) is config
