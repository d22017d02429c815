"""Shared fixtures: the engine, an MLflow store, where the published data lies."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

# The process that the others run beside imports this too, and needs no engine.
if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Reproducible examples on every machine; the two cores of a test machine make single examples slow.
settings.register_profile(
    "adnominal",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("adnominal")

# The garbage collector runs after so many new objects; by default, after 700.
gc.set_threshold(50_000, 20, 10)

# The tests on Spark have a process of their own (tests/spark/conftest.py).
collect_ignore = [] if os.environ.get("ADNOMINAL_SPARK_TESTS") else ["spark"]

SHARED = Path(os.environ.get("ADNOMINAL_DATA", Path(__file__).parents[2] / "shared" / "data"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with a slow test first: no process is left alone with them at the end.

    Then those of `training`: the last ones, which any process takes, need fewer libraries.
    """
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    training = Path(__file__).parent / "training"
    items.sort(key=lambda item: (item.path not in slow, training not in item.path.parents))


def _spare_the_imported() -> None:
    """Let the garbage collector pass over what is there, imported modules above all.

    To search them again and again takes an eighth of the tests' time.
    """
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Without the garbage collector: nothing that is imported is garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        _spare_the_imported()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    yield
    if nextitem is not None and nextitem.path != item.path:
        _spare_the_imported()


class BySubject(LoadFileScheduling):  # type: ignore[misc]
    """Whole files to each process, those of `etl` first to every other one.

    Else each process would import torch and what is built on it. One with none of its own left
    takes the others' last, which are short.
    """

    def _assign_work_unit(self, node: WorkerController) -> None:
        etl = self.nodes.index(node) % 2 == 0
        subject_files = (file for file in self.workqueue if file.startswith("tests/etl/") == etl)
        self.workqueue.move_to_end(
            next(subject_files, None) or next(reversed(self.workqueue)), last=False
        )
        super()._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> BySubject | None:
    """Ours in the place of ``--dist loadfile``."""
    return BySubject(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session with the embedded engine, shared by the whole run."""
    from etl import engine
    from etl.engine import EngineSettings

    yield engine.start("tests", EngineSettings(engine="sail", memory="2GB")).spark
    engine.stop()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of published data; the test is skipped where it is absent."""
    if not SHARED.is_dir():
        pytest.skip(f"published data not found at {SHARED} (set ADNOMINAL_DATA)")
    return SHARED


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """MLflow's database without a run, to be copied: making its tables takes seconds."""
    from training.tracking import Tracker

    path: Path = tmp_path_factory.mktemp("store") / "mlflow.db"
    # MLflow's own experiment: with another, a test that begins the same would find it there.
    assert Tracker(f"sqlite:///{path}", "Default").experiment_id is not None
    return path
