"""Checkpoint weights that are read one at a time, each when it is copied into the model.

transformers maps all files of a checkpoint into the first process before it shards the weights by
ZeRO 3, so that this process holds the whole model while loading. With lazy weights it holds only
its shard and one tensor.
"""

from __future__ import annotations

from typing import Any

import torch
from safetensors import safe_open
from torch.utils._pytree import tree_map
from transformers.integrations.deepspeed import is_deepspeed_zero3_enabled
from transformers.modeling_utils import str_to_torch_dtype
from transformers.models.auto.auto_factory import _get_model_class
from transformers.utils import SAFE_WEIGHTS_INDEX_NAME, SAFE_WEIGHTS_NAME, cached_file
from transformers.utils.hub import get_checkpoint_shard_files

from adnominal.training.models.decoders import is_part, text_weights


class _OnDisk(torch.Tensor):  # type: ignore[misc]
    """A tensor of a safetensors file: every operation reads it and keeps nothing."""

    file: str
    key: str

    @staticmethod
    def __new__(cls, file: str, name: str, header: Any) -> _OnDisk:
        tensor: _OnDisk = torch.Tensor._make_wrapper_subclass(
            cls, header.get_shape(), dtype=str_to_torch_dtype[header.get_dtype()]
        )
        tensor.file, tensor.key = file, name
        return tensor

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        args, kwargs = tree_map(_read, (args, kwargs or {}))
        return func(*args, **kwargs)


def _read(value: Any) -> Any:
    if not isinstance(value, _OnDisk):
        return value
    # Opened again each time, because data read from an open file stays mapped.
    with safe_open(value.file, framework="pt") as tensors:
        return tensors.get_tensor(value.key)


def lazy_weights(path: str) -> dict[str, torch.Tensor]:
    """Return the weights of a folder or a name on the hub, by name; only shapes are read now.

    Raises:
        OSError: there are no safetensors.
    """
    index = cached_file(path, SAFE_WEIGHTS_INDEX_NAME, _raise_exceptions_for_missing_entries=False)
    if index is None:
        files = [cached_file(path, SAFE_WEIGHTS_NAME)]
    else:
        files, _ = get_checkpoint_shard_files(path, index)
    weights: dict[str, torch.Tensor] = {}
    for file in files:
        with safe_open(file, framework="pt") as tensors:
            for name in tensors.keys():  # noqa: SIM118
                weights[name] = _OnDisk(file, name, tensors.get_slice(name))
    return weights


def weights_source(path: str, *, part: bool = False, quantised: bool = False) -> dict[str, Any]:
    """Return the arguments of ``from_pretrained`` that name a checkpoint's weights.

    Under ZeRO 3, weights are read one at a time, unless the model is `quantised` (in 8 or 4 bits).
    So is the text decoder of a multimodal checkpoint (`part`), without the weights of other parts.

    Raises:
        OSError: there are no safetensors, and weights are to be read one at a time.
    """
    if part:
        return {
            "pretrained_model_name_or_path": None,
            "state_dict": text_weights(lazy_weights(path)),
        }
    if is_deepspeed_zero3_enabled() and not quantised:
        return {"pretrained_model_name_or_path": None, "state_dict": lazy_weights(path)}
    return {"pretrained_model_name_or_path": path}


def loading(
    auto_class: Any, config: Any, path: str, *, quantised: bool = False
) -> tuple[Any, dict[str, Any]]:
    """Return the class whose ``from_pretrained`` loads a checkpoint, and `weights_source`.

    `auto_class` finds the class by `config`.

    Raises:
        OSError: as `weights_source`.
    """
    source = weights_source(path, part=is_part(config, path), quantised=quantised)
    if source["pretrained_model_name_or_path"] is not None:
        return auto_class, source
    return _get_model_class(config, auto_class._model_mapping), source
