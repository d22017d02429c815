"""Training: the memory of each process in each phase, with weights sharded by ZeRO 3.

Two processes on the CPU train a Llama-shaped model with random weights in bf16: 0.4 B parameters
with full training, 1.1 B with LoRA; with evaluation, prediction and saving, through
``training/finetune.py``. The peak of a process is the kernel's (VmHWM, reset at the start of each
phase), including mapped files; the sum counts shared pages once (proportional set sizes, polled ten
times a second). Measured parts are only repeated with again=true. A busy machine does not matter.
"""

import functools
import json
import os
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from adnominal.conf import ROOT, JobFailed
from benchmarks.harness import Bound, Case, CaseSettings, in_parts
from benchmarks.processes import EVERY, call, caller, process_bytes, proportional_bytes
from benchmarks.results import Figures
from benchmarks.train import MODEL, adept_lake, pairs

RANKS = 2
PHASES = ("loading", "training", "evaluation", "saving", "loading again", "prediction")
NAMES = {"full": "0.4 B in full", "lora": "1.1 B, LoRA of rank 8"}
# Layers, width, heads and feed-forward width of a Llama, and the settings of its run.
CASES: dict[str, tuple[tuple[int, int, int, int], list[str]]] = {
    "full": ((24, 1024, 16, 4096), []),
    "lora": ((22, 2048, 32, 5632), ["lora.rank=8"]),
}
# 10^9 bytes per process, for the LoRA case: in training, evaluation and saving; while loading.
TARGETS = {"training": 3.6, "evaluation": 3.6, "saving": 3.6, "loading": 4.2, "loading again": 4.2}


def make_model(case: str, folder: str) -> None:
    """Write a Llama of the case's size with random weights in bf16, and MiniLM's tokenizer."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from adnominal.training.models.pretrained import find

    tokenizer = find(MODEL).tokenizer
    layers, width, heads, inner = CASES[case][0]
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=4,
        max_position_embeddings=512,
        pad_token_id=0,
    )
    torch.set_default_dtype(torch.bfloat16)
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


class Phases:
    """Reports the phase of this process to the parent, and records the peak memory of each."""

    def __init__(self, folder: Path) -> None:
        self._place = folder / f"phase-{os.environ['RANK']}"
        self.peaks: dict[str, int] = defaultdict(int)
        self.growth: dict[str, int] = defaultdict(int)
        self._now, self._began = "start", 0

    def enter(self, name: str) -> str:
        """Start a phase; return the one that ends."""
        peak = process_bytes("VmHWM")
        self.peaks[self._now] = max(self.peaks[self._now], peak)
        self.growth[self._now] = max(self.growth[self._now], peak - self._began)
        Path("/proc/self/clear_refs").write_text("5")
        previous, self._now, self._began = self._now, name, process_bytes("VmRSS")
        self._place.write_text(name)
        return previous

    def within(self, owner: Any, method: str, name: str) -> None:
        """Mark a method of a class, or a function of a module, as a phase."""
        inner: Callable[..., Any] = getattr(owner, method)

        @functools.wraps(inner)
        def call(*args: Any, **kwargs: Any) -> Any:
            previous = self.enter(name)
            try:
                return inner(*args, **kwargs)
            finally:
                self.enter(previous)

        setattr(owner, method, call)


def worker(folder: str, arguments: list[str]) -> int:
    """One process of a run, with its phases marked."""
    from adnominal.training import launch
    from adnominal.training.job import finetune
    from adnominal.training.loop import TrainingLoop
    from adnominal.training.models.encoders import PairLearner
    from adnominal.training.settings import Settings
    from adnominal.training.trainer import LearnerTrainer

    phases = Phases(Path(folder))
    phases.within(PairLearner, "model", "loading")
    phases.within(LearnerTrainer, "train", "training")
    phases.within(TrainingLoop, "validate", "evaluation")
    for method in ("save_weights", "_save_checkpoint"):
        phases.within(LearnerTrainer, method, "saving")
    phases.within(TrainingLoop, "evaluate_parts", "prediction")
    phases.within(PairLearner, "load", "loading again")
    code = launch.run(Settings, finetune, arguments)
    phases.enter("end")
    figures = {"peaks": phases.peaks, "growth": phases.growth}
    (Path(folder) / f"peaks-{os.environ['RANK']}").write_text(json.dumps(figures))
    if code:
        raise JobFailed(f"exit code {code}")
    return code


def start_ranks(case: str, folder: Path) -> list[subprocess.Popen[bytes]]:
    """Start the processes of a run."""
    from tests.training.ranks import group  # not in the measured processes

    lake = adept_lake(folder, pairs(16))
    words = ["task.name=adept", "task.edition=bench", f"lake={lake}", f"model={folder / 'model'}"]
    words += [f"out={folder / 'out'}", "tracking=none", "cache=none", "predictions=false"]
    words += ["precision=bf16", "deepspeed=zero3", "epochs=1", "batch_size=8", "log_every=1"]
    words += ["micro_batch_size=2", "eval_batch_size=8", "gradient_checkpointing=true"]
    command = caller("benchmarks.training_memory:worker", str(folder), [*words, *CASES[case][1]])
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return [
        subprocess.Popen(command, cwd=ROOT, env={**environment, **rank}) for rank in group(RANKS)
    ]


def measure(settings: CaseSettings, case: str) -> Figures:
    """The peaks of each process and of all together, in bytes by phase."""
    with tempfile.TemporaryDirectory(prefix="memory-") as name:
        folder = Path(name)
        call("benchmarks.training_memory:make_model", case, str(folder / "model"))
        ranks = start_ranks(case, folder)
        together: dict[str, int] = defaultdict(int)
        while any(rank.poll() is None for rank in ranks):
            current = folder / "phase-0"
            phase = current.read_text() if current.exists() else "start"
            total = sum(proportional_bytes(rank.pid) for rank in ranks)
            together[phase] = max(together[phase], total)
            time.sleep(EVERY)
        if any(rank.returncode for rank in ranks):
            raise JobFailed(f"{case}: exit codes {[rank.returncode for rank in ranks]}")
        figures = [json.loads((folder / f"peaks-{rank}").read_text()) for rank in range(RANKS)]
        weights = sum(f.stat().st_size for f in (folder / "model").glob("*.safetensors"))
        return {
            "weights": weights,
            "ranks": [rank["peaks"] for rank in figures],
            "growth": [rank["growth"] for rank in figures],
            "together": together,
        }


def held_at_once(figures: Mapping[str, Any]) -> dict[str, float]:
    """Bytes of weights that a process may have held at once in a phase: its growth, plus its share
    if it already had that."""
    share = figures["weights"] / RANKS
    at_start = {"loading": 0, "evaluation": share, "saving": share, "loading again": 0}
    return {
        phase: size + max(growth[phase] for growth in figures["growth"])
        for phase, size in at_start.items()
    }


def context(figures: Figures) -> dict[str, Any]:
    """What the template needs: bytes of weights held at once, and LoRA's worst process."""
    lora = figures.get("lora", {"ranks": ()})
    return {
        "held": held_at_once(figures["full"]) if "full" in figures else {},
        "worst": {p: max((r.get(p, 0) for r in lora["ranks"]), default=0) / 1e9 for p in TARGETS},
    }


CASE = Case(
    "training_memory",
    in_parts(**{case: functools.partial(measure, case=case) for case in CASES}),
    resumes=True,
    packages=("torch", "transformers", "deepspeed", "accelerate", "peft"),
    bounds={
        phase: Bound(f"lora.ranks|map(attribute='{phase}', default=0)|max / 1e9", most=target)
        for phase, target in TARGETS.items()
    },
    context=context,
)
