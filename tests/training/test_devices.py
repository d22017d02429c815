import json
import logging
import os
import shutil
import sys

import pytest

from adnominal import conf
from adnominal.conf import JobFailed, UserError
from adnominal.training import devices
from adnominal.training.job import finetune
from adnominal.training.settings import Settings
from tests import fork_server


def settings(*arguments: str) -> Settings:
    return conf.load(Settings, ["task.name=adept", *arguments])


def test_cpu_threads_and_gpus_are_divided_among_runs(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)))
    monkeypatch.setattr(devices, "_visible_gpus", list)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert devices.environments(settings()) == [{"OMP_NUM_THREADS": "8"}]
    assert devices.environments(settings("devices=3")) == [{"OMP_NUM_THREADS": "2"}] * 3
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert devices.environments(settings("devices=3")) == [{"OMP_NUM_THREADS": "1"}] * 3
    monkeypatch.setattr(devices, "_visible_gpus", lambda: ["4", "GPU-7f"])
    both = [{"CUDA_VISIBLE_DEVICES": "4"}, {"CUDA_VISIBLE_DEVICES": "GPU-7f"}]
    assert devices.environments(settings()) == both
    assert devices.environments(settings("devices=1")) == both[:1]
    with pytest.raises(UserError, match="devices=3: expected 2 or fewer"):
        devices.environments(settings("devices=3"))


def test_under_a_launcher_runs_are_not_spread(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert devices.environments(settings()) == [{}]
    with pytest.raises(UserError, match="devices=2: each run of a grid is one process"):
        devices.environments(settings("devices=2"))


def test_each_device_executes_one_run_at_a_time(monkeypatch, tmp_path):
    monkeypatch.setattr(conf, "ROOT", tmp_path)
    (tmp_path / "training").mkdir()
    (tmp_path / "training" / "finetune.py").write_text(WAITING_SCRIPT)
    monkeypatch.setattr(devices, "POLL_SECONDS", 0.02)
    out = tmp_path / "out"
    runs = [devices.QueuedRun(name, settings(), out / name) for name in "abcde"]
    places = [{"DEVICE": "first"}, {"DEVICE": "second"}]
    started_labels: list[str] = []
    failed = devices.spread(runs, places, lambda run: started_labels.append(run.label))
    assert started_labels == list("abcde")
    assert failed == {
        out / "b": "no b",
        out / "d": f"exit code 3; {out / 'd' / 'log.txt'} has its output",
    }
    events: list[tuple[float, str, str]] = []
    for run in runs:
        device, start, end = (run.folder / "done").read_text().split()
        events += [(float(start), "start", device), (float(end), "end", device)]
    busy: set[str] = set()
    for _, event, device in sorted(events):
        # A device is busy exactly when one of its runs ends.
        assert (device in busy) == (event == "end")
        busy ^= {device}
    assert {device for *_, device in events} == {"first", "second"}


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


def test_a_grid_on_two_devices_resumes_and_reports_failures(
    adept_lake, tiny_encoder, tmp_path, empty_store, caplog, monkeypatch
):
    monkeypatch.setattr(sys, "executable", fork_server.python())
    out = tmp_path / "out"
    store = f"sqlite:///{shutil.copy(empty_store, tmp_path)}"
    words = [f"lake={adept_lake}", f"model={tiny_encoder}", f"out={out}", f"tracking={store}"]
    words += ["log_model=false", "cache=none", "num_train_epochs=1", "batch_size=40", "devices=2"]
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
