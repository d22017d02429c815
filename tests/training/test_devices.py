import json
import logging
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from adnominal import conf
from adnominal.conf import JobFailed, UserError
from adnominal.training import devices
from adnominal.training.devices import Device
from adnominal.training.job import finetune
from adnominal.training.settings import Settings
from tests import fork_server


def settings(*arguments: str) -> Settings:
    return conf.load(Settings, ["task.name=adept", *arguments])


def waiting_run(label: str, folder: Path) -> Any:
    """What the devices know of a run."""
    return SimpleNamespace(label=label, settings=settings(), folder=folder)


def environments(*arguments: str) -> list[Mapping[str, str]]:
    return [device.environment for device in devices.of_settings(settings(*arguments))]


def test_cpu_threads_and_gpus_are_divided_among_runs(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)))
    monkeypatch.setattr(devices, "_visible_gpus", list)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert environments() == [{"OMP_NUM_THREADS": "8"}]
    assert environments("devices=3") == [{"OMP_NUM_THREADS": "2"}] * 3
    assert environments("devices=2", "runs_per_device=2") == [{"OMP_NUM_THREADS": "2"}] * 2
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert environments("devices=3") == [{"OMP_NUM_THREADS": "1"}] * 3
    monkeypatch.setattr(devices, "_visible_gpus", lambda: ["4", "GPU-7f"])
    both = [{"CUDA_VISIBLE_DEVICES": "4"}, {"CUDA_VISIBLE_DEVICES": "GPU-7f"}]
    assert environments() == both
    assert environments("devices=1") == both[:1]
    with pytest.raises(UserError, match="devices=3: expected 2 or fewer"):
        environments("devices=3")


def test_several_runs_at_once_are_processes_of_their_own(monkeypatch):
    monkeypatch.setattr(devices, "_visible_gpus", list)
    for arguments, expected in (
        ([], False),
        (["devices=2"], True),
        (["runs_per_device=2"], True),
        (["runs_per_device=1"], False),
    ):
        assert devices.are_shared(devices.of_settings(settings(*arguments))) is expected
    monkeypatch.setattr(devices, "_visible_gpus", lambda: ["0"])
    assert devices.are_shared(devices.of_settings(settings()))
    assert not devices.are_shared(devices.of_settings(settings("runs_per_device=1")))


def test_under_a_launcher_runs_are_not_spread(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert environments() == [{}]
    for arguments in (["devices=2"], ["runs_per_device=2"]):
        with pytest.raises(UserError, match="each run of a grid is one process"):
            environments(*arguments)


@pytest.fixture
def replace_script(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], Path]:
    """Replaces the training script by one of a given text; returns the folder of the runs."""

    def replace(text: str) -> Path:
        (tmp_path / "training").mkdir()
        (tmp_path / "training" / "finetune.py").write_text(text)
        monkeypatch.setattr(conf, "ROOT", tmp_path)
        monkeypatch.setattr(devices, "POLL_SECONDS", 0.02)
        return tmp_path / "out"

    return replace


@pytest.mark.parametrize("limit", [1, 2])
def test_each_device_executes_so_many_runs_at_a_time(replace_script, limit):
    out = replace_script(WAITING_SCRIPT)
    runs = [waiting_run(name, out / name) for name in "abcde"]
    two_devices = [Device({"DEVICE": name}, limit) for name in ("first", "second")]
    started_labels: list[str] = []
    failed = devices.spread(runs, two_devices, lambda run: started_labels.append(run.label))
    assert started_labels == list("abcde")
    assert failed == {
        out / "b": "no b",
        out / "d": f"exit code 3; {out / 'd' / 'log.txt'} has its output",
    }
    events: list[tuple[float, int, str]] = []
    for run in runs:
        device, start, end = (run.folder / "done").read_text().split()
        events += [(float(start), 1, device), (float(end), -1, device)]
    present = {"first": 0, "second": 0}
    for _, change, device in sorted(events):
        present[device] += change
        assert 0 <= present[device] <= limit
    assert {device for *_, device in events} == {"first", "second"}


def test_a_device_takes_runs_as_long_as_memory_and_throughput_gain(replace_script):
    # Two runs together are twice as fast as one; a third brings nothing.
    out = replace_script(REPORTING_SCRIPT)
    runs = [waiting_run(name, out / name) for name in "abcdefgh"]
    device = Device({"OUT": str(out)}, grows=True, memory=lambda: (20, 100))
    assert devices.spread(runs, [device]) == {}
    assert device.limit == 2
    assert sorted(device.throughputs) == [1, 2, 3]
    # Here the memory takes only one.
    other = out / "other"
    runs = [waiting_run(name, other / name) for name in "abc"]
    device = Device({"OUT": str(other)}, grows=True, memory=lambda: (60, 100))
    assert devices.spread(runs, [device]) == {}
    assert (device.limit, list(device.throughputs)) == (1, [1])


def test_a_run_without_memory_beside_others_is_repeated(replace_script):
    out = replace_script(GREEDY_SCRIPT)
    runs = [waiting_run(name, out / name) for name in "ab"]
    device = Device({}, limit=2)
    assert devices.spread(runs, [device]) == {}
    assert device.limit == 1
    assert (out / "b" / "starts").read_text() == "xx"


def test_a_run_killed_beside_others_is_repeated_alone(replace_script):
    out = replace_script(KILLED_SCRIPT)
    runs = [waiting_run(name, out / name) for name in "ab"]
    device = Device({}, limit=2)
    killed_alone = f"exit code -9; {out / 'b' / 'log.txt'} has its output"
    assert devices.spread(runs, [device]) == {out / "b": killed_alone}
    assert device.limit == 1
    assert (out / "b" / "starts").read_text() == "xx"


WAITING_SCRIPT = """
import os, sys, time, pathlib
start = time.time()
folder = pathlib.Path(sys.argv[1]).parent
time.sleep(0.05)
(folder / "done").write_text(f"{os.environ['DEVICE']} {start} {time.time()}")
if folder.name == "b":
    print("error: no b")
sys.exit({"b": 1, "d": 3}.get(folder.name, 0))
"""


# Runs report the speed of 100 samples a second, shared by more than two of them.
REPORTING_SCRIPT = """
import json, os, pathlib, sys, time
folder, out = pathlib.Path(sys.argv[1]).parent, pathlib.Path(os.environ["OUT"])
(folder / "running").touch()
for step in range(60):
    present = len(list(out.glob("*/running")))
    line = json.dumps({"step": step, "train/samples_per_second": 200 / max(2, present)})
    with (folder / "steps.jsonl").open("a") as file:
        file.write(line + "\\n")
    time.sleep(0.02)
(folder / "running").unlink()
"""

# The run b needs the device for itself: it waits for a to start, and ends before a does.
GREEDY_SCRIPT = """
import pathlib, sys, time
folder = pathlib.Path(sys.argv[1]).parent
with (folder / "starts").open("a") as file:
    file.write("x")
beside = folder.parent / "a" / "running"
if folder.name == "a":
    beside.touch()
    time.sleep(1.0)
    beside.unlink()
elif beside.exists() or not (folder.parent / "a" / "done").exists():
    print("error: out of memory: one training example does not fit")
    sys.exit(1)
(folder / "done").touch()
"""

# The run b is killed as by the system, first beside a and then alone.
KILLED_SCRIPT = """
import os, pathlib, signal, sys, time
folder = pathlib.Path(sys.argv[1]).parent
with (folder / "starts").open("a") as file:
    file.write("x")
if folder.name == "a":
    time.sleep(1.0)
else:
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_grid_on_two_devices_resumes_and_reports_failures(
    adept_lake, tiny_encoder, tmp_path, empty_store, caplog, monkeypatch
):
    monkeypatch.setattr(sys, "executable", fork_server.python())
    out = tmp_path / "out"
    store = f"sqlite:///{shutil.copy(empty_store, tmp_path)}"
    words = [f"lake={adept_lake}", f"model={tiny_encoder}", f"out={out}", f"tracking={store}"]
    words += ["log_model=false", "num_train_epochs=1", "batch_size=40", "devices=2"]
    # The second run diverges.
    failure = r"^1 of 2 runs failed: learning_rate=1e\+30 seed=0 \(the loss is not a number"
    grid_settings = settings(*words, "grid.learning_rate=[1e-3,1e30]")
    with pytest.raises(JobFailed, match=failure):
        finetune(grid_settings)
    logs = {path.parent: path.read_text() for path in out.glob("*/log.txt")}
    assert len(logs) == 2
    finished = {folder for folder in logs if (folder / "result.json").exists()}
    assert len(finished) == 1
    summary = json.loads((out / "summary.json").read_text())
    assert [row["changes"]["learning_rate"] for row in summary["combinations"]] == [1e-3]
    from mlflow import MlflowClient

    client = MlflowClient(store)
    states = [
        run.info.status
        for run in client.search_runs([client.get_experiment_by_name("adept").experiment_id])
        if "mlflow.parentRunId" in run.data.tags
    ]
    assert sorted(states) == ["FAILED", "FINISHED"]
    # The same command does not repeat the finished run.
    times = [(folder / "result.json").stat().st_mtime_ns for folder in sorted(finished)]
    with caplog.at_level(logging.INFO, "adnominal"), pytest.raises(JobFailed, match="1 of 2"):
        finetune(grid_settings)
    assert times == [(folder / "result.json").stat().st_mtime_ns for folder in sorted(finished)]
    assert caplog.text.count("already finished") == 1
