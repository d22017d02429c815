"""The start of a training run by part: imports, identity, data, model, first update.

``training/finetune.py`` runs in a new process, in which the functions of the parts are timed.
Beside it stand the seconds of the library's script (`benchmarks.gpu.train_by_library`) to the end
of its first update on the same folder.
"""

import functools
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from benchmarks.cases import Case, CaseSettings, in_parts
from benchmarks.gpu import TOKENIZER, bench
from benchmarks.gpu import Settings as GpuSettings
from benchmarks.processes import call
from benchmarks.results import Figures

# Rows of the vocabulary and width of a model whose folder has 4 GB: most of it are embeddings, so
# that an update costs little.
LARGE = (1_000_000, 1024)


def tiny_model(settings: CaseSettings) -> Figures:
    """A BERT with two layers of width 64."""
    with bench(_of_gpu(settings), 96) as place:
        return _sides(place.command, place.model("bert", "tiny"), place.folder)


def four_gb(settings: CaseSettings) -> Figures:
    """A folder of 4 GB, trained by LoRA: at the first start, and again with its hash kept."""
    with bench(_of_gpu(settings), 96) as place:
        model = place.folder / "large"
        if not model.is_dir():
            call("benchmarks.start_up:make_large_model", os.fspath(model))
        return _sides(place.command, os.fspath(model), place.folder, "lora.r=4")


def _of_gpu(settings: CaseSettings) -> GpuSettings:
    return GpuSettings(folder=settings.folder, size="small")


def _sides(command: Callable[..., list[str]], model: str, folder: Path, *more: str) -> Figures:
    """The parts of two starts of ours, of which the second finds the hash of the folder, and the
    library's first update."""
    words = [*more, "max_steps=1", "logging_steps=1"]
    starts = {}
    for name in ("first", "again"):
        _, _, *line = command(model, folder / "runs" / name, *words)
        starts[name] = call("benchmarks.start_up:timed_start", line)
    library = call(
        "benchmarks.gpu:train_by_library", model, os.fspath(folder / "lake"), bool(more), ""
    )
    return {**starts, "library": library["first_update"], "load": os.getloadavg()[0]}


def make_large_model(folder: str) -> bool:
    """Write a model whose weights have 4 GB, nearly all of them embeddings."""
    import transformers

    from adnominal.training.models.pretrained import find

    rows, width = LARGE
    config = transformers.BertConfig(
        vocab_size=rows,
        num_hidden_layers=1,
        hidden_size=width,
        num_attention_heads=16,
        intermediate_size=width,
    )
    transformers.BertModel(config).save_pretrained(folder)
    find(TOKENIZER).tokenizer.save_pretrained(folder)
    return True


def timed_start(words: list[str]) -> Figures:
    """Seconds of each part of a run with these arguments, up to the end of its first update.

    What belongs to no other part is ``rest``: settings, the plan of the runs, tracking.
    """
    started = psutil.Process().create_time()
    from transformers import trainer_callback

    from adnominal.training import fitting, planning
    from adnominal.training.finetune import main
    from adnominal.training.models.encoders import PairLearner

    parts = {"imports": time.time() - started}
    _time(planning, "folder_content", parts, "identity")
    _time(planning, "_load", parts, "data")
    _time(PairLearner, "prepare", parts, "data")
    _time(PairLearner, "model", parts, "model")
    ends: list[float] = []
    on_step_end = trainer_callback.CallbackHandler.on_step_end

    def note_the_end(*arguments: Any, **options: Any) -> Any:
        ends.append(time.time())
        return on_step_end(*arguments, **options)

    trainer_callback.CallbackHandler.on_step_end = note_the_end
    trainer_made = _time(fitting, "_trainer", {}, "trainer")
    code = main(words)
    if code:
        raise RuntimeError(f"the run ended with {code}")
    whole = ends[0] - started
    parts["first update"] = ends[0] - trainer_made[0]
    return {**parts, "rest": whole - sum(parts.values()), "whole": whole}


def _time(owner: Any, name: str, parts: dict[str, float], part: str) -> list[float]:
    """Add the seconds of each call of a function to a part; the times when its calls ended."""
    function = getattr(owner, name)
    ends: list[float] = []

    @functools.wraps(function)
    def time_call(*arguments: Any, **options: Any) -> Any:
        begun = time.time()
        try:
            return function(*arguments, **options)
        finally:
            ends.append(time.time())
            parts[part] = parts.get(part, 0.0) + ends[-1] - begun

    setattr(owner, name, time_call)
    return ends


CASE = Case(
    "start_up",
    "The start of a training run",
    in_parts(tiny=tiny_model, four_gb=four_gb),
    packages=("torch", "transformers", "deepspeed", "accelerate", "mlflow"),
)
