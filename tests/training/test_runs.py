"""One life of a run: what marks it as finished, and what it brings when it is asked for again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

from conf import JobFailed, setting
from etl.lake import arrow
from etl.lake.tables import table
from training.runs import Outcome, Plan, Runs, folder_name
from training.tracking import Run


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
def place(tmp_path):
    """Starts the run with settings; says how often it was executed, and gives the result."""

    class Place:
        folder, executions = tmp_path / "run", 0

        def once(self, settings: Settings, work=None):
            def counted(run: Run) -> Outcome:
                self.executions += 1
                return Outcome({"value": 7}, rows(run.name), {"score": 1.0}, {"a.md": "text"})

            plan = Plan(self.folder, "one", settings, {"fact": 1}, group="g")
            return Runs("score", settings, "experiment").once(plan, work or counted)

    return Place()


def test_only_what_decides_names_the_folder():
    assert folder_name(Settings()) == folder_name(Settings(lake="other", tracking="x"))
    assert folder_name(Settings()) != folder_name(Settings(rate=0.1))
    assert folder_name(Settings(), model="a") != folder_name(Settings(), model="b")


def test_a_finished_run_is_done_once_and_commits_to_every_lake(place, tmp_path):
    lakes = [os.fspath(tmp_path / name) for name in ("one", "other")]
    for lake in (*lakes, *lakes):
        assert place.once(Settings(lake=lake)) == {"value": 7, "run_id": "local-run"}
        assert arrow.read(lake, "predictions").num_rows == 1
    assert place.executions == 1
    third = os.fspath(tmp_path / "third")
    place.once(Settings(lake=third, predictions=False))
    assert not Path(third).exists()


@pytest.mark.parametrize("text", ["", '{"value": 7, "run', "null"])
def test_a_result_that_was_cut_is_named(place, text):
    settings = Settings(predictions=False)
    place.once(settings)
    path = place.folder / "result.json"
    path.write_text(text)
    with pytest.raises(JobFailed, match=f"{path}: cannot be read .*; delete it to do the run aga"):
        place.once(settings)
    path.unlink()
    assert place.once(settings)["value"] == 7
    assert place.executions == 2


HOLDS = """
import fcntl, sys, time
lock = open(sys.argv[1], "w")
fcntl.flock(lock, fcntl.LOCK_EX)
print("locked", flush=True)
time.sleep(600)
"""


def test_two_commands_do_not_train_one_run(place):
    settings = Settings(predictions=False)
    place.folder.mkdir()
    words = [sys.executable, "-c", HOLDS, os.fspath(place.folder / "lock")]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        try:
            assert other.stdout.readline() == b"locked\n"
            with pytest.raises(JobFailed, match="another process works on this run"):
                place.once(settings)
            assert place.executions == 0
        finally:
            # The system frees the lock of a process that is killed.
            other.kill()
    assert place.once(settings)["value"] == 7

    def again(run: Run) -> Outcome:
        place.once(settings, lambda _: pytest.fail("it was executed twice at once"))
        return Outcome({})

    (place.folder / "result.json").unlink()
    with pytest.raises(JobFailed, match="another process works on this run"):
        place.once(settings, again)


def test_a_run_ends_as_it_went(place, tmp_path, empty_store):
    from mlflow import MlflowClient

    store = f"sqlite:///{shutil.copy(empty_store, tmp_path)}"
    settings = Settings(tracking=store, predictions=False)

    def failing(error: BaseException):
        def work(run: Run) -> Outcome:
            raise error

        return work

    def status() -> str:
        run_id = json.loads((place.folder / "mlflow.json").read_text())["run_id"]
        return str(MlflowClient(store).get_run(run_id).info.status)

    with pytest.raises(KeyboardInterrupt):
        place.once(settings, failing(KeyboardInterrupt()))
    assert status() == "KILLED"
    with pytest.raises(JobFailed):
        place.once(settings, failing(JobFailed("no")))
    assert status() == "FAILED"
    assert not (place.folder / "result.json").exists()
    result = place.once(settings)
    assert status() == "FINISHED"
    run = MlflowClient(store).get_run(result["run_id"])
    assert (run.data.tags["identity"], run.data.tags["group"]) == ("run", "g")
    assert (run.data.params["fact"], run.data.params["rate"]) == ("1", "0.5")
    assert run.data.metrics["score"] == 1.0


def test_a_finished_run_is_nested_in_a_later_group(place, tmp_path, empty_store, caplog):
    from mlflow import MlflowClient

    store = f"sqlite:///{shutil.copy(empty_store, tmp_path)}"
    settings = Settings(tracking=store, predictions=False)
    result = place.once(settings)
    runs = Runs("score", settings, "experiment")
    with runs.group("two runs", tmp_path / "mlflow.json", 2) as parent:
        assert runs.finish(place.folder, parent=parent) == result
    assert parent is not None
    tags = MlflowClient(store).get_run(result["run_id"]).data.tags
    assert tags["mlflow.parentRunId"] == parent.id
    # A run that was not tracked has nothing to be nested.
    (place.folder / "result.json").write_text('{"run_id": "local-run"}')
    assert runs.finish(place.folder, parent=parent)
    assert "tracking failed" not in caplog.text
