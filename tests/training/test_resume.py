"""A run that was killed, and a run by two processes: the same losses as one that was neither."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import conf
from tests.training import ranks
from tests.training.conftest import losses, without_dropout
from training.checkpoints import Checkpoints
from training.job import finetune
from training.settings import Settings

ROOT = Path(__file__).parents[2]
SCRIPT = os.fspath(ROOT / "training" / "finetune.py")


def arguments(lake: str, model: str, out: Path, *more: str) -> list[str]:
    return [
        "task.name=adept",
        f"lake={lake}",
        f"model={model}",
        f"out={out}",
        "tracking=none",
        "cache=none",
        "predictions=false",
        "learning_rate=1e-3",
        *more,
    ]


def killed(command: list[str], ready: Callable[[], bool], size: int = 0) -> None:
    """Run a command in its own session until `ready`, then kill -9 all of it.

    `size` runs it as each of a group of so many processes.
    """
    # This process is in a group of its own already; the launcher is to make another.
    environment = {k: v for k, v in os.environ.items() if k not in ranks.group(1)[0]}
    log = subprocess.DEVNULL
    processes = [
        subprocess.Popen(
            command,
            cwd="/",
            env={**environment, **place},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        for place in (ranks.group(size) if size else [{}])
    ]
    deadline = time.monotonic() + ranks.PATIENCE
    try:
        while not ready():
            ended = any(process.poll() is not None for process in processes)
            assert not ended, "it ended before it could be killed"
            assert time.monotonic() < deadline, "nothing to see after minutes"
            time.sleep(0.01)
    finally:
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_a_killed_run_goes_on_with_the_same_losses(adept_lake, tiny_encoder, tmp_path):
    # A checkpoint every four updates, a kill after six or more.
    more = ("epochs=20", "batch_size=40", "checkpoint_every=4", "log_every=1", "evaluate_every=25")
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    finetune(conf.load(Settings, arguments(adept_lake, tiny_encoder, whole, *more)))
    words = arguments(adept_lake, tiny_encoder, cut, *more)
    ranks.kill(words, 1, lambda: ranks.reached(cut, 6))
    (pointer,) = cut.glob("*/checkpoints/latest.json")
    step = json.loads(pointer.read_text())["state"]["step"]
    assert 4 <= step < 100
    assert not list(cut.glob("*/result.json"))
    finetune(conf.load(Settings, words))
    # To the last digit.
    assert ranks.apart(cut, whole) == {"losses": 0, "weights": 0, "scores": 0}
    results = [json.loads(next(out.glob("*/result.json")).read_text()) for out in (whole, cut)]
    assert results[0]["figures"] == results[1]["figures"]


def test_two_processes_that_were_killed_go_on_with_the_same_losses(
    adept_lake, tiny_encoder, tmp_path
):
    more = ("epochs=8", "batch_size=39", "checkpoint_every=3", "log_every=1", "bucket=none")
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    words = arguments(adept_lake, tiny_encoder, cut, *more, "deepspeed=zero2")
    ranks.finish([*words, f"out={whole}"], 2)
    ranks.kill(words, 2, lambda: ranks.reached(cut, 7))
    ranks.finish(words, 2)
    assert ranks.apart(cut, whole) == {"losses": 0, "weights": 0, "scores": 0}


@pytest.mark.slow
def test_two_processes_and_then_one(adept_lake, tiny_encoder, tmp_path):
    # Two engines in one launch; the last, and its launcher, is killed. What units are dropped
    # follows the process and its share of an update, so here none are.
    out, alone = tmp_path / "two", tmp_path / "one"
    model = without_dropout(Path(tiny_encoder), tmp_path / "encoder")
    more = ("epochs=2", "batch_size=39", "log_every=1")
    stages = ["zero1", "zero3"]
    grid = f"grid.deepspeed=[{','.join(stages)}]"
    launcher = os.fspath(Path(sys.executable).with_name("deepspeed"))
    command = [
        sys.executable,
        launcher,
        "--num_gpus=2",
        f"--master_port={ranks.free_port()}",
        SCRIPT,
    ]
    two = arguments(adept_lake, model, out, *more, grid)
    killed([*command, *two], lambda: ranks.reached(out, 6, "deepspeed: zero3"))
    finetune(conf.load(Settings, two))
    finetune(conf.load(Settings, arguments(adept_lake, model, alone, *more)))
    expected = losses(alone)
    seen = set()
    for folder in out.glob("*/"):
        own = [json.loads(line)["train/loss"] for line in (folder / "steps.jsonl").open()]
        assert own == pytest.approx(expected, abs=2e-6)
        seen.add(
            next(s for s in stages if f"deepspeed: {s}" in (folder / "settings.yaml").read_text())
        )
    assert seen == set(stages)


@pytest.mark.slow
def test_two_processes_then_one_then_two(adept_lake, tiny_encoder, tmp_path):
    # Each change of their number reads what the other number has written, in the universal form.
    out, alone = tmp_path / "changing", tmp_path / "alone"
    model = without_dropout(Path(tiny_encoder), tmp_path / "encoder")
    more = ("epochs=12", "batch_size=39", "log_every=1", "checkpoint_every=2", "evaluate_every=30")
    words = arguments(adept_lake, model, out, *more, "deepspeed=zero3")
    ranks.kill(words, 2, lambda: ranks.reached(out, 8))
    ranks.kill(words, 1, lambda: ranks.reached(out, 24))
    ranks.finish(words, 2)
    finetune(conf.load(Settings, arguments(adept_lake, model, alone, *more)))
    assert losses(out) == pytest.approx(losses(alone), abs=2e-5)


@pytest.mark.parametrize(
    "more",
    [
        # `benchmarks/resume.py` goes through all of them.
        ("lora.rank=4", "deepspeed=zero3"),
        ("deepspeed=zero2", "precision=bf16", "micro_batch_size=7", "bucket=none"),
    ],
    ids="-".join,
)
def test_a_run_that_was_stopped_goes_on(adept_lake, tiny_encoder, tmp_path, monkeypatch, more):
    common = ("epochs=2", "batch_size=40", "checkpoint_every=3", "log_every=1", *more)
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    finetune(conf.load(Settings, arguments(adept_lake, tiny_encoder, whole, *common)))
    complete = Checkpoints.complete

    def stopped(self, tag, state):
        # The checkpoint is written, and not yet known to be complete.
        if state.step == 6:
            raise KeyboardInterrupt
        complete(self, tag, state)

    again = conf.load(Settings, arguments(adept_lake, tiny_encoder, cut, *common))
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Checkpoints, "complete", stopped)
        finetune(again)
    finetune(again)
    assert losses(cut) == losses(whole)
    results = [json.loads(next(out.glob("*/result.json")).read_text()) for out in (whole, cut)]
    assert results[0]["figures"] == results[1]["figures"]
