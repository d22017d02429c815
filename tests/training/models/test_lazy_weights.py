import pytest
import torch
from safetensors.torch import save_file

from adnominal.training.models.lazy_weights import lazy_weights


def test_weights_are_read_when_they_are_used(tmp_path):
    file = tmp_path / "model.safetensors"
    first = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.ones(2, dtype=torch.bfloat16)}
    save_file(first, file)
    weights = lazy_weights(str(tmp_path))
    assert {name: (tensor.shape, tensor.dtype) for name, tensor in weights.items()} == {
        name: (tensor.shape, tensor.dtype) for name, tensor in first.items()
    }
    target = torch.zeros(2, 3)
    target.copy_(weights["a"])
    assert target.equal(first["a"])
    assert torch.stack([weights["b"], weights["b"]]).equal(torch.stack([first["b"]] * 2))
    # Nothing is cached: a changed file is read again.
    save_file({**first, "a": torch.full((2, 3), 7.0)}, file)
    assert float(weights["a"].sum()) == 42


def test_a_folder_without_weights_is_refused(tmp_path):
    with pytest.raises(OSError, match="safetensors"):
        lazy_weights(str(tmp_path))
