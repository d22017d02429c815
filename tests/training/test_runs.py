"""A run is executed once, and its result is returned when it is requested again."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

from adnominal.conf import JobFailed, setting
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table
from adnominal.training.runs import Outcome, Plan, Runs, folder_name
from adnominal.training.tracking import Run


@dataclass(frozen=True)
class Settings:
    rate: float = setting(0.5, help="decides")
    lake: str = setting("lake", help="does not decide", identity=False)
    tracking: str | None = setting(None, help="does not decide", identity=False)
    predictions: bool = setting(True, help="does not decide", identity=False)


def rows(run_id: str) -> pa.Table:
    schema = table("predictions").schema
    return pa.Table.from_pylist([{"run_id": run_id, "task": "t", "item_id": "a"}], schema=schema)


@pytest.fixture
def runner(tmp_path):
    """Requests the run with some settings and counts how often it is executed."""

    class Runner:
        folder, executions = tmp_path / "run", 0

        def run_once(self, settings: Settings, work=None):
            def count_runs(run: Run) -> Outcome:
                self.executions += 1
                return Outcome({"value": 7}, rows(run.name), {"score": 1.0}, {"a.md": "text"})

            plan = Plan(self.folder, "one", settings, {"fact": 1}, group="g")
            return Runs("score", settings, "experiment").run_once(plan, work or count_runs)

    return Runner()


def test_the_folder_is_named_after_settings_of_the_identity():
    assert folder_name(Settings()) == folder_name(Settings(lake="other", tracking="x"))
    assert folder_name(Settings()) != folder_name(Settings(rate=0.1))
    assert folder_name(Settings(), model="a") != folder_name(Settings(), model="b")


def test_a_run_is_executed_once_and_writes_to_every_lake(runner, tmp_path):
    lakes = [os.fspath(tmp_path / name) for name in ("one", "other")]
    for lake in (*lakes, *lakes):
        assert runner.run_once(Settings(lake=lake)) == {"value": 7, "run_id": "local-run"}
        assert arrow.read(lake, "predictions").num_rows == 1
    assert runner.executions == 1
    third = os.fspath(tmp_path / "third")
    runner.run_once(Settings(lake=third, predictions=False))
    assert not Path(third).exists()


@pytest.mark.parametrize("text", ["", '{"value": 7, "run', "null"])
def test_a_truncated_result_is_reported(runner, text):
    settings = Settings(predictions=False)
    runner.run_once(settings)
    path = runner.folder / "result.json"
    path.write_text(text)
    with pytest.raises(JobFailed, match=f"{path}: cannot be read .*; delete it to do the run aga"):
        runner.run_once(settings)
    path.unlink()
    assert runner.run_once(settings)["value"] == 7
    assert runner.executions == 2


LOCKING_SCRIPT = """
import fcntl, sys, time
lock = open(sys.argv[1], "w")
fcntl.flock(lock, fcntl.LOCK_EX)
print("locked", flush=True)
time.sleep(600)
"""


def test_two_processes_cannot_execute_one_run_at_once(runner):
    settings = Settings(predictions=False)
    runner.folder.mkdir()
    words = [sys.executable, "-c", LOCKING_SCRIPT, os.fspath(runner.folder / "lock")]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        try:
            assert other.stdout.readline() == b"locked\n"
            with pytest.raises(JobFailed, match="another process works on this run"):
                runner.run_once(settings)
            assert runner.executions == 0
        finally:
            # The lock is released when its process is killed.
            other.kill()
    assert runner.run_once(settings)["value"] == 7

    def again(run: Run) -> Outcome:
        runner.run_once(settings, lambda _: pytest.fail("it was executed twice at once"))
        return Outcome({})

    (runner.folder / "result.json").unlink()
    with pytest.raises(JobFailed, match="another process works on this run"):
        runner.run_once(settings, again)


def test_the_tracked_status_is_that_of_the_run(runner, tmp_path, empty_store):
    from mlflow import MlflowClient

    store = f"sqlite:///{shutil.copy(empty_store, tmp_path)}"
    settings = Settings(tracking=store, predictions=False)

    def failing(error: BaseException):
        def work(run: Run) -> Outcome:
            raise error

        return work

    def status() -> str:
        run_id = json.loads((runner.folder / "mlflow.json").read_text())["run_id"]
        return str(MlflowClient(store).get_run(run_id).info.status)

    with pytest.raises(KeyboardInterrupt):
        runner.run_once(settings, failing(KeyboardInterrupt()))
    assert status() == "KILLED"
    with pytest.raises(JobFailed):
        runner.run_once(settings, failing(JobFailed("no")))
    assert status() == "FAILED"
    assert not (runner.folder / "result.json").exists()
    result = runner.run_once(settings)
    assert status() == "FINISHED"
    run = MlflowClient(store).get_run(result["run_id"])
    assert (run.data.tags["identity"], run.data.tags["group"]) == ("run", "g")
    assert (run.data.params["fact"], run.data.params["rate"]) == ("1", "0.5")
    assert run.data.metrics["score"] == 1.0


def test_a_finished_run_is_nested_in_a_later_group(runner, tmp_path, empty_store, caplog):
    from mlflow import MlflowClient

    store = f"sqlite:///{shutil.copy(empty_store, tmp_path)}"
    settings = Settings(tracking=store, predictions=False)
    result = runner.run_once(settings)
    runs = Runs("score", settings, "experiment")
    with runs.group("two runs", tmp_path / "mlflow.json", 2) as parent:
        assert runs.finish(runner.folder, parent=parent) == result
    assert parent is not None
    tags = MlflowClient(store).get_run(result["run_id"]).data.tags
    assert tags["mlflow.parentRunId"] == parent.id
    # A run that was not tracked cannot be nested.
    (runner.folder / "result.json").write_text('{"run_id": "local-run"}')
    assert runs.finish(runner.folder, parent=parent)
    assert "tracking failed" not in caplog.text
