"""Weights in pickles are read without running code from them."""

import json
import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from safetensors.torch import load_file

from adnominal import conf
from adnominal.conf import UserError
from adnominal.training.answering.classifier import classifier
from adnominal.training.models import pickled
from adnominal.training.models.loading import content_of, resolve
from adnominal.training.models.pickled import is_pickled
from adnominal.training.models.pretrained import find, load_pretrained
from adnominal.training.planning import prepare
from adnominal.training.settings import Settings
from tests.training.conftest import UNRECORDED, run_folder, scores


def with_pickle(model: str | Path, folder: Path) -> Path:
    """Copy a model, with its weights in a pickle instead of safetensors."""
    shutil.copytree(model, folder)
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    return folder


def divide(folder: Path) -> None:
    """Divide the pickle in a folder into two, with an index."""
    weights = torch.load(folder / "pytorch_model.bin", weights_only=True)
    (folder / "pytorch_model.bin").unlink()
    names = sorted(weights)
    places: dict[str, str] = {}
    for number, part in enumerate((names[::2], names[1::2]), 1):
        file = f"pytorch_model-{number:05d}-of-00002.bin"
        torch.save({name: weights[name] for name in part}, folder / file)
        places |= dict.fromkeys(part, file)
    index = {"metadata": {"total_size": 1}, "weight_map": places}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index))


def load(folder: Path):
    """The model in a folder, without a head."""
    path, config, _ = find(os.fspath(folder))
    return load_pretrained(path, config, "auto", auto_class="AutoModel")[0]


@pytest.fixture
def folder(tiny_encoder, tmp_path) -> Path:
    """The tiny encoder with its weights in a pickle."""
    return with_pickle(tiny_encoder, tmp_path / "pickled")


@pytest.mark.parametrize("divided", [False, True])
def test_weights_in_pickles_are_those_in_safetensors(folder, tiny_encoder, divided, caplog):
    expected = load_file(Path(tiny_encoder) / "model.safetensors")
    if divided:
        divide(folder)
    assert not is_pickled(tiny_encoder)
    assert is_pickled(os.fspath(folder))
    pickled._report.cache_clear()
    with caplog.at_level("INFO", logger="adnominal"):
        models = [load(folder), load(folder), load(Path(tiny_encoder))]
    for model in models:
        for name, value in model.state_dict().items():
            assert torch.equal(value, expected[name])
    reports = [line for line in caplog.messages if "each process loads pytorch_model.bin" in line]
    assert reports == [
        f"{folder} has no safetensors: each process loads pytorch_model.bin whole",
    ]


def test_a_classifier_in_a_pickle_gives_the_same_scores(tuned, tmp_path):
    trained = run_folder(tuned / "out") / "model"
    copy = with_pickle(trained, tmp_path / "pickled")
    first, second = pa.array(["A dog runs."]), pa.array(["A fake dog runs."])
    expected, found = (
        scores(resolve(os.fspath(model)), first, second) for model in (trained, copy)
    )
    # Weights in other places of memory may be added in another order.
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_the_layers_that_a_pickle_lacks_are_trained(adept_lake, folder):
    weights = torch.load(folder / "pytorch_model.bin", weights_only=True)
    torch.save(
        {k: v for k, v in weights.items() if "pooler" not in k}, folder / "pytorch_model.bin"
    )
    words = ["task.name=adept", f"lake={adept_lake}", f"model={folder}", "freeze=true"]
    (work,) = prepare(conf.load(Settings, [*words, *UNRECORDED]))
    model = work.learner.model(0)
    trained = {name for name, p in model.named_parameters() if p.requires_grad and "pooler" in name}
    assert trained == {"bert.pooler.dense.weight", "bert.pooler.dense.bias"}


def test_other_weights_are_another_model(folder, tiny_encoder, tmp_path):
    before = content_of(os.fspath(folder))
    weights = torch.load(folder / "pytorch_model.bin", weights_only=True)
    torch.save({name: 2 * value for name, value in weights.items()}, folder / "pytorch_model.bin")
    assert content_of(os.fspath(folder)) != before
    # A pickle beside safetensors is not read.
    both = shutil.copytree(tiny_encoder, tmp_path / "both")
    (both / "pytorch_model.bin").write_text("not read")
    assert content_of(os.fspath(both)) == content_of(tiny_encoder)
    assert load(both)


class Code:
    """An object whose pickle makes a folder when it is loaded."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (os.fspath(self.folder),)


def test_code_in_a_pickle_is_not_run(folder, tmp_path, adept_lake):
    weights = {"a": Code(tmp_path / "run")}
    for write in (
        lambda file: file.write_bytes(pickle.dumps(weights)),
        lambda file: torch.save(weights, file),
    ):
        write(folder / "pytorch_model.bin")
        with pytest.raises(UserError, match="could run code and is not read") as error:
            load(folder)
        assert "\n" not in str(error.value)
        # PyTorch's own message recommends weights_only=False, which would run the code.
        assert "weights_only" not in str(error.value)
    words = ["task.name=adept", f"lake={adept_lake}", f"model={folder}", "freeze=true"]
    (work,) = prepare(conf.load(Settings, [*words, *UNRECORDED]))
    with pytest.raises(UserError, match="could run code and is not read"):
        work.learner.model(0)
    assert not (tmp_path / "run").exists()


def test_code_in_pickled_adapters_is_not_run(tiny_encoder, tmp_path):
    folder = tmp_path / "adapters"
    folder.mkdir()
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(Path(tiny_encoder) / name, folder)
    config = {"peft_type": "LORA", "base_model_name_or_path": tiny_encoder, "r": 2}
    config |= {"target_modules": ["query"], "task_type": "FEATURE_EXTRACTION"}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    torch.save({"a": Code(tmp_path / "run")}, folder / "adapter_model.bin")
    with pytest.raises(UserError, match="could run code and is not read"):
        load(folder)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"text", [1, 2], torch.ones(2)],
    ids=["empty", "text", "list", "tensor"],
)
def test_other_content_than_tensors_by_name_is_refused(folder, content):
    file = folder / "pytorch_model.bin"
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        torch.save(content, file)
    with pytest.raises(UserError, match=r"damaged or has more than tensors.*expected tensors by"):
        load(folder)


def test_half_of_a_file_and_a_missing_one_are_refused(folder):
    file = folder / "pytorch_model.bin"
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match="its weights do not load"):
        load(folder)
    file.write_bytes(whole)
    divide(folder)
    (folder / "pytorch_model-00002-of-00002.bin").unlink()
    with pytest.raises(UserError, match=r"its weights do not load: .*00002-of-00002\.bin"):
        load(folder)


def test_zero3_refuses_pickles_and_names_the_remedy(folder, adept_lake, tuned, tmp_path):
    from transformers import AutoModel, AutoTokenizer

    words = ["task.name=adept", f"lake={adept_lake}", "deepspeed=zero3", *UNRECORDED]
    with pytest.raises(UserError, match=r"deepspeed=zero3: .*save_pretrained\(FOLDER\)") as error:
        prepare(conf.load(Settings, [*words, f"model={folder}"]))
    assert "\n" not in str(error.value)
    trained = with_pickle(run_folder(tuned / "out") / "model", tmp_path / "trained")
    with pytest.raises(UserError, match=r"deepspeed=zero3: .*expected safetensors"):
        classifier(resolve(os.fspath(trained)), deepspeed="zero3").__enter__()
    # What the message says works.
    for part in (AutoModel, AutoTokenizer):
        part.from_pretrained(folder).save_pretrained(tmp_path / "safe")
    assert prepare(conf.load(Settings, [*words, f"model={tmp_path / 'safe'}"]))
