"""Weights of PyTorch's pickles as safetensors: the same tensors, and nothing is run."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from pathlib import Path

import pytest
import torch

from conf import JobFailed, UserError
from training.conversion import Settings, convert
from training.encoders import find


@pytest.fixture
def pickled(tiny_encoder, tmp_path) -> Path:
    """The tiny encoder as it would be on the hub without safetensors."""
    from safetensors.torch import load_file

    folder: Path = tmp_path / "pickled"
    shutil.copytree(tiny_encoder, folder)
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    return folder


def test_a_converted_model_loads_with_the_same_weights(pickled, tiny_encoder, tmp_path):
    from transformers import AutoModel

    with pytest.raises(UserError, match=r"training/convert.py model=.*pickled out=FOLDER"):
        find(str(pickled))
    out = tmp_path / "out"
    convert(Settings(str(pickled), str(out)))
    found = find(str(out))
    assert found.tokenizer.is_fast
    expected = AutoModel.from_pretrained(tiny_encoder).state_dict()
    for name, value in AutoModel.from_pretrained(out).state_dict().items():
        assert torch.equal(value, expected[name])
    with pytest.raises(UserError, match="has weights already"):
        convert(Settings(str(pickled), str(out)))


def test_several_files_become_several(pickled, tmp_path):
    from transformers import AutoModel

    weights = torch.load(pickled / "pytorch_model.bin", weights_only=True)
    (pickled / "pytorch_model.bin").unlink()
    names = sorted(weights)
    for number, part in enumerate((names[::2], names[1::2]), 1):
        shard = {name: weights[name] for name in part}
        torch.save(shard, pickled / f"pytorch_model-{number:05d}-of-00002.bin")
    convert(Settings(str(pickled), str(tmp_path / "out")))
    index = json.loads((tmp_path / "out" / "model.safetensors.index.json").read_text())
    assert set(index["weight_map"]) == set(names)
    for name, value in AutoModel.from_pretrained(tmp_path / "out").state_dict().items():
        assert torch.equal(value, weights[name])


def test_code_in_a_pickle_is_not_run(pickled, tmp_path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "run"),)

    (pickled / "pytorch_model.bin").write_bytes(pickle.dumps({"a": Evil()}))
    with pytest.raises(JobFailed, match="not a file of tensors alone"):
        convert(Settings(str(pickled), str(tmp_path / "out")))
    assert not (tmp_path / "run").exists()


def test_a_folder_without_pickles_is_told(tiny_encoder, tmp_path):
    with pytest.raises(UserError, match="nothing to convert"):
        convert(Settings(tiny_encoder, str(tmp_path / "out")))
