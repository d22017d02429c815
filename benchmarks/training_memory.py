"""Training: the memory of each process, phase by phase, where weights are shared out by ZeRO 3.

    python -m benchmarks.training_memory [full] [lora]

Two processes on the CPU train a Llama-shaped model with random weights in bf16: 0.4 B parameters
in full, 1.1 B by LoRA; with evaluation, prediction and saving, through ``training/finetune.py``.
The peak of a process is the kernel's own (VmHWM, reset where a phase begins), mapped files
included; the sum counts shared pages once (proportional set sizes, looked at ten times a second). A
case that is measured is not run again unless it is named. A busy machine does not matter here.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.train import MODEL, adept_lake, pairs
from conf import ROOT

KEY = "training_memory"
RANKS = 2
EVERY = 0.1
PHASES = ("loading", "training", "evaluation", "saving", "loading again", "prediction")
PACKAGES = ["torch", "transformers", "deepspeed", "accelerate", "peft"]
# Sizes of a Llama, and settings of its run.
CASES: dict[str, tuple[dict[str, int], list[str]]] = {
    "full": (
        {
            "hidden_size": 1024,
            "intermediate_size": 4096,
            "num_hidden_layers": 24,
            "num_attention_heads": 16,
            "num_key_value_heads": 4,
        },
        [],
    ),
    "lora": (
        {
            "hidden_size": 2048,
            "intermediate_size": 5632,
            "num_hidden_layers": 22,
            "num_attention_heads": 32,
            "num_key_value_heads": 4,
        },
        ["lora.rank=8"],
    ),
}
# Phases that begin with a process's share of the weights, and those that begin without.
WITH_SHARE, WITHOUT_SHARE = ("evaluation", "saving"), ("loading", "loading again")
# 10^9 bytes a process, of the LoRA case: in training, evaluation and saving; while loading.
TARGETS = {"training": 3.6, "evaluation": 3.6, "saving": 3.6, "loading": 4.2, "loading again": 4.2}


def make_model(sizes: Mapping[str, int], folder: Path) -> None:
    """Write a Llama of those sizes with random weights in bf16, and the tokenizer of MiniLM."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from training.encoders import find

    tokenizer = find(MODEL).tokenizer
    config = LlamaConfig(
        vocab_size=len(tokenizer), pad_token_id=0, max_position_embeddings=512, **sizes
    )
    torch.set_default_dtype(torch.bfloat16)
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


class Phases:
    """Which phase this process is in, told to the parent, and the peak memory of each."""

    def __init__(self, folder: Path) -> None:
        self._place = folder / f"phase-{os.environ['RANK']}"
        self.peaks: dict[str, int] = defaultdict(int)
        self.growth: dict[str, int] = defaultdict(int)
        self._now, self._began = "start", 0

    def enter(self, name: str) -> str:
        """Begin a phase; gives the one that ends."""
        peak = _status("VmHWM")
        self.peaks[self._now] = max(self.peaks[self._now], peak)
        self.growth[self._now] = max(self.growth[self._now], peak - self._began)
        Path("/proc/self/clear_refs").write_text("5")
        before, self._now, self._began = self._now, name, _status("VmRSS")
        self._place.write_text(name)
        return before

    def within(self, owner: Any, method: str, name: str) -> None:
        """Make a method of a class, or a function of a module, a phase."""
        inner: Callable[..., Any] = getattr(owner, method)

        @functools.wraps(inner)
        def call(*args: Any, **kwargs: Any) -> Any:
            before = self.enter(name)
            try:
                return inner(*args, **kwargs)
            finally:
                self.enter(before)

        setattr(owner, method, call)


def _status(name: str) -> int:
    """Bytes of this process: now (VmRSS), or at the peak since the last reset (VmHWM)."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition(f"\n{name}:")[2].split()[0]) * 1024


def worker(folder: Path, arguments: list[str]) -> int:
    """One process of a run, its phases marked."""
    from training import launch
    from training.encoders import PairLearner
    from training.job import finetune
    from training.loop import TrainingLoop
    from training.settings import Settings
    from training.trainer import LearnerTrainer

    phases = Phases(folder)
    phases.within(PairLearner, "model", "loading")
    phases.within(LearnerTrainer, "train", "training")
    phases.within(TrainingLoop, "validate", "evaluation")
    for method in ("save_weights", "_save_checkpoint"):
        phases.within(LearnerTrainer, method, "saving")
    phases.within(TrainingLoop, "evaluated", "prediction")
    phases.within(PairLearner, "load", "loading again")
    code = launch.run(Settings, finetune, arguments)
    phases.enter("end")
    figures = {"peaks": phases.peaks, "growth": phases.growth}
    (folder / f"peaks-{os.environ['RANK']}").write_text(json.dumps(figures))
    return code


def measure(case: str) -> dict[str, Any]:
    """Peaks of each process and of all together, bytes by phase."""
    _, more = CASES[case]
    with tempfile.TemporaryDirectory(prefix="memory-") as kept:
        folder = Path(kept)
        command = [sys.executable, "-m", "benchmarks.training_memory"]
        subprocess.run([*command, "model", case, kept], cwd=ROOT, check=True)
        lake = adept_lake(folder, pairs(16))
        words = [
            "task.name=adept",
            "task.edition=bench",
            f"lake={lake}",
            f"model={folder / 'model'}",
        ]
        words += [f"out={folder / 'out'}", "tracking=none", "cache=none", "predictions=false"]
        words += ["precision=bf16", "deepspeed=zero3", "epochs=1", "batch_size=8", "log_every=1"]
        words += ["micro_batch_size=2", "eval_batch_size=8", "gradient_checkpointing=true", *more]
        place = {"WORLD_SIZE": str(RANKS), "MASTER_ADDR": "127.0.0.1", "OMP_NUM_THREADS": "1"}
        place["MASTER_PORT"] = str(29000 + os.getpid() % 2000)
        ranks = [
            subprocess.Popen(
                [*command, "worker", kept, *words],
                cwd=ROOT,
                env={**os.environ, **place, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            )
            for rank in range(RANKS)
        ]
        together: dict[str, int] = defaultdict(int)
        while any(rank.poll() is None for rank in ranks):
            now = folder / "phase-0"
            phase = now.read_text() if now.exists() else "start"
            total = sum(_shared_once(rank.pid) for rank in ranks)
            together[phase] = max(together[phase], total)
            time.sleep(EVERY)
        if any(rank.returncode for rank in ranks):
            raise SystemExit(f"{case}: exit codes {[rank.returncode for rank in ranks]}")
        figures = [json.loads((folder / f"peaks-{rank}").read_text()) for rank in range(RANKS)]
        weights = sum(f.stat().st_size for f in (folder / "model").glob("*.safetensors"))
        return {
            "weights": weights,
            "ranks": [own["peaks"] for own in figures],
            "growth": [own["growth"] for own in figures],
            "together": together,
        }


def _shared_once(process: int) -> int:
    """Bytes of a process, its share of the pages that others have too."""
    try:
        rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0
    return int(rollup.partition("\nPss:")[2].split()[0]) * 1024 if "\nPss:" in rollup else 0


def held_at_once(own: Mapping[str, Any]) -> dict[str, float]:
    """Bytes of weights that a process can have held at once in a phase: what it grew by, and its
    share where it had that before."""
    return {
        phase: max(growth[phase] for growth in own["growth"])
        + (own["weights"] / RANKS if phase in WITH_SHARE else 0)
        for phase in (*WITHOUT_SHARE[:1], *WITH_SHARE, *WITHOUT_SHARE[1:])
    }


def page(kept: Mapping[str, Mapping[str, Any]]) -> str:
    """The section of the page."""
    names = {"full": "0.4 B in full", "lora": "1.1 B, LoRA of rank 8"}
    rows: list[tuple[object, ...]] = [("model", "of", *PHASES)]
    notes = []
    for case, own in kept.items():
        for number, peaks in enumerate(own["ranks"]):
            rows.append((names[case], f"process {number}", *(_gb(peaks, p) for p in PHASES)))
            growth = own["growth"][number]
            rows.append((names[case], "its growth in the phase", *(_gb(growth, p) for p in PHASES)))
        rows.append((names[case], "both, PSS", *(_gb(own["together"], p) for p in PHASES)))
        notes.append(f"{names[case]}: {own['weights'] / 1e9:.2f} GB of weights.")
        if case == "full":
            held = held_at_once(own)
            notes.append(
                "The most of them that a process can have held: "
                + ", ".join(f"{phase} {value / 1e9:.2f} GB" for phase, value in held.items())
                + f"; {results.verdict(max(held.values()) / own['weights'], 1, at_least=False)}: "
                "never all."
            )
        if case == "lora":
            worst = {p: max(peaks.get(p, 0) for peaks in own["ranks"]) / 1e9 for p in TARGETS}
            notes += [
                f"{p} {results.verdict(worst[p], target, at_least=False)}: at most {target} GB."
                for p, target in TARGETS.items()
            ]
    return "\n".join(
        [
            "## Training: memory under ZeRO 3",
            "",
            results.table(rows),
            "",
            "Peak memory in 10^9 bytes of two processes on the CPU, bf16, interpreter and "
            "libraries included (of each process mapped files too; their sum with shared pages "
            "counted once); Llama-shaped, random weights, micro-batches of 2 with gradient "
            "checkpointing. " + " ".join(notes),
        ]
    )


def _gb(peaks: Mapping[str, int], phase: str) -> str:
    return f"{peaks[phase] / 1e9:.2f}" if phase in peaks else "-"


def main(names: list[str]) -> None:
    """Measure the cases named, or those that are not measured; write the page."""
    kept = dict(results.recorded().get(KEY, {}))
    for case in names or [case for case in CASES if case not in kept]:
        kept[case] = measure(case)
        results.record(KEY, kept)
    results.write_section("training-memory", page(kept), packages=PACKAGES)


if __name__ == "__main__":
    match sys.argv[1:]:
        case "model", case, folder:
            make_model(CASES[case][0], Path(folder) / "model")
        case "worker", folder, *arguments:
            sys.exit(worker(Path(folder), arguments))
        case names:
            main(names)
