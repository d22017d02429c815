"""Resumed runs, by one process or two, have the losses of uninterrupted ones."""

import functools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import torch

from adnominal import conf
from adnominal.conf import ROOT
from adnominal.training import checkpoints
from adnominal.training.job import finetune
from adnominal.training.settings import Settings
from tests import fork_server
from tests.ports import free_port
from tests.training import ranks
from tests.training.conftest import (
    UNRECORDED,
    losses,
    result_of,
    stopped_at,
    without_dropout,
)

SCRIPT = os.fspath(ROOT / "training" / "finetune.py")


def arguments(lake: str, model: str, out: Path, *more: str) -> list[str]:
    common = ["task.name=adept", f"lake={lake}", f"model={model}", f"out={out}", *UNRECORDED]
    return [*common, "learning_rate=1e-3", *more]


def kill_when(command: list[str], ready: Callable[[], bool]) -> None:
    """Run a command in its own session, and kill -9 all its processes as soon as it is `ready`."""
    # This process is already in a group; without its variables, the launcher makes another one.
    environment = {k: v for k, v in os.environ.items() if k not in ranks.group(1)[0]}
    process = subprocess.Popen(
        command,
        cwd="/",
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + ranks.PATIENCE
    try:
        while not ready():
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline, f"not ready in {ranks.PATIENCE:.0f} s"
            time.sleep(0.01)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        fork_server.settle()


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Use one thread, as the processes of `ranks` do; sums depend on the number of threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


STEPS_2 = ("save_strategy=steps", "save_steps=2")
EVALUATED_30 = ("eval_strategy=steps", "eval_steps=30")
EQUAL = {"losses": 0, "weights": 0, "scores": 0}


def test_a_killed_run_resumes_with_the_same_losses(adept_lake, tiny_encoder, tmp_path):
    # A checkpoint every two updates, a kill after three or more of twenty.
    more = (
        "num_train_epochs=4",
        "batch_size=40",
        *STEPS_2,
        "logging_steps=1",
        "eval_strategy=steps",
        "eval_steps=8",
    )
    uninterrupted, resumed = tmp_path / "whole", tmp_path / "resumed"
    finetune(conf.load(Settings, arguments(adept_lake, tiny_encoder, uninterrupted, *more)))
    words = arguments(adept_lake, tiny_encoder, resumed, *more)
    ranks.kill(words, 1, lambda: ranks.has_reached(resumed, 3))
    complete = resumed.glob("*/checkpoints/*/complete.json")
    updates = [int(path.parent.name.removeprefix("checkpoint-")) for path in complete]
    assert 2 <= max(updates) < 20
    assert not list(resumed.glob("*/result.json"))
    # Damage as a power failure may leave it.
    (steps,) = resumed.glob("*/steps.jsonl")
    steps.write_bytes(b"\0\xff\n[]\n" + steps.read_bytes() + b'{"step": 3, "tra')
    finetune(conf.load(Settings, words))
    assert ranks.largest_differences(resumed, uninterrupted) == EQUAL
    assert result_of(resumed)["figures"] == result_of(uninterrupted)["figures"]


def test_two_killed_processes_resume_with_the_same_losses(adept_lake, tiny_encoder, tmp_path):
    # One run has length-aware and the other random batches; each is killed once.
    more = ("num_train_epochs=2", "batch_size=40", *STEPS_2, "logging_steps=1", *EVALUATED_30)
    uninterrupted, resumed = tmp_path / "whole", tmp_path / "resumed"
    words = arguments(adept_lake, tiny_encoder, resumed, *more, "deepspeed=zero2")
    words += ["grid.train_sampling_strategy=[group_by_length,random]"]
    ranks.finish([*words, f"out={uninterrupted}"], 2)
    ranks.kill(words, 2, lambda: ranks.has_reached(resumed, 4, "strategy: group_by_length\n"))
    ranks.kill(words, 2, lambda: ranks.has_reached(resumed, 4, "strategy: random\n"))
    assert len(list(resumed.glob("*/result.json"))) == 1
    # A checkpoint without its files is an error in every process.
    folder = max(path.parent for path in resumed.glob("*/checkpoints/*/complete.json"))
    (weights,) = folder.glob("global_step*/mp_rank_00_model_states.pt")
    weights.rename(tmp_path / "away")
    with pytest.raises(AssertionError, match=r"exit codes \[1, 1\]"):
        ranks.finish(words, 2)
    (tmp_path / "away").rename(weights)
    ranks.finish(words, 2)
    assert len(list(resumed.glob("*/result.json"))) == 2
    assert ranks.largest_differences(resumed, uninterrupted) == EQUAL


@pytest.mark.slow
def test_a_run_can_resume_with_another_number_of_processes(adept_lake, tiny_encoder, tmp_path):
    # Each change in the number of processes reads a checkpoint of the other number. Dropout depends
    # on the process and its share of an update, so it is off.
    alone = tmp_path / "alone"
    model = without_dropout(Path(tiny_encoder), tmp_path / "encoder")
    more = ("num_train_epochs=2", "batch_size=40", "logging_steps=1", *STEPS_2, *EVALUATED_30)
    finetune(conf.load(Settings, arguments(adept_lake, model, alone, *more)))
    launcher = os.fspath(Path(sys.executable).with_name("deepspeed"))
    for stage, tolerance in (("zero1", 2e-6), ("zero3", 2e-5)):
        out = tmp_path / stage
        words = arguments(adept_lake, model, out, *more, f"deepspeed={stage}")
        port = f"--master_port={free_port()}"
        command = [fork_server.python(), launcher, "--num_gpus=2", port, SCRIPT, *words]
        # The run is killed together with its launcher.
        kill_when(command, functools.partial(ranks.has_reached, out, 4))
        ranks.kill(words, 1, functools.partial(ranks.has_reached, out, 7))
        ranks.finish(words, 2)
        assert losses(out) == pytest.approx(losses(alone), abs=tolerance)


def test_an_interrupted_run_resumes_exactly(adept_lake, tiny_encoder, tmp_path, monkeypatch):
    # Six updates in two epochs; the resumed run repeats the third, the last of the first epoch.
    more = [
        "num_train_epochs=2",
        "train_size=[96]",
        "batch_size=40",
        "save_strategy=steps",
        "save_steps=2",
        "logging_steps=1",
        "per_device_train_batch_size=20",
    ]
    more += ["lora.r=4", "deepspeed=zero3", "bf16=true", "train_sampling_strategy=random"]
    uninterrupted, resumed = tmp_path / "whole", tmp_path / "resumed"
    finetune(conf.load(Settings, arguments(adept_lake, tiny_encoder, uninterrupted, *more)))
    run_settings = conf.load(Settings, arguments(adept_lake, tiny_encoder, resumed, *more))
    with stopped_at(4, monkeypatch):
        finetune(run_settings)
    finetune(run_settings)
    assert len(losses(uninterrupted)) == 6
    assert losses(resumed) == losses(uninterrupted)
    assert result_of(resumed)["figures"] == result_of(uninterrupted)["figures"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 MB; skips where none can be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=64m", "adnominal", os.fspath(folder)]
    if subprocess.run(mounting, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", os.fspath(folder)], check=True)


def test_a_run_whose_disk_fills_up_goes_on_when_there_is_space(
    adept_lake, tiny_encoder, tmp_path, small_disk, monkeypatch, capsys
):
    more = ("num_train_epochs=2", "batch_size=40", *STEPS_2, "logging_steps=1")
    uninterrupted, resumed = tmp_path / "whole", small_disk / "resumed"
    finetune(conf.load(Settings, arguments(adept_lake, tiny_encoder, uninterrupted, *more)))
    words = arguments(adept_lake, tiny_encoder, resumed, *more)
    ballast = small_disk / "ballast"
    mark_complete = checkpoints.mark_complete

    def fill_the_disk(checkpoint: Path) -> None:
        mark_complete(checkpoint)
        if checkpoint.name == "checkpoint-4":
            with ballast.open("wb", buffering=0) as file, suppress(OSError):
                while file.write(bytes(4096)):
                    pass

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "mark_complete", fill_the_disk)
        assert conf.run(Settings, finetune, words) == 1
    errors = capsys.readouterr().err
    assert errors.count("error:") == 1, errors
    assert "No space left on device" in errors
    ballast.unlink()
    finetune(conf.load(Settings, words))
    assert losses(resumed) == losses(uninterrupted)
    assert result_of(resumed)["figures"] == result_of(uninterrupted)["figures"]
