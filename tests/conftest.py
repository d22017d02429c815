"""Shared fixtures (engine, published data, MLflow store), and the order and distribution of
tests."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

# pytest-xdist's controlling process imports this file too and needs no engine.
if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Examples are reproducible, and single examples may be slow on a test machine with two cores. More
# inputs than these are for `make fuzz` and `make sanitize`.
settings.register_profile(
    "adnominal",
    max_examples=50,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("adnominal")

# A shell lets commands that it starts with `&` ignore Ctrl-C, and jobs of tests would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The number of new objects after which the garbage collector runs; the default is 700.
gc.set_threshold(50_000, 20, 10)

# The tests on Spark need a separate process, those with Delta's connector another one (`make
# test`), and those of whole jobs on other engines take long (`make test-cluster`).
SPARK_TESTS = os.environ.get("ADNOMINAL_SPARK_TESTS", "")
_FOLDERS = {"1": "spark", "connector": "connector", "cluster": "cluster"}
collect_ignore = [folder for value, folder in _FOLDERS.items() if value != SPARK_TESTS]

SHARED = Path(os.environ.get("ADNOMINAL_DATA", Path(__file__).parents[2] / "shared" / "data"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put files with a slow test first, so that no process is left with them at the end.

    The files of `training` follow; the last ones, which any process takes, need fewer libraries.
    """
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    training = Path(__file__).parent / "training"
    items.sort(key=lambda item: (item.path not in slow, training not in item.path.parents))


# A test or fixture that imports more modules than this has imported a library like torch.
_MODULES_OF_A_LIBRARY = 100
_frozen_modules = 0


def _freeze_existing_objects() -> None:
    """Exclude existing objects, mainly imported modules, from garbage collection.

    Searching them again and again takes an eighth of the tests' time.
    """
    global _frozen_modules
    gc.collect()
    gc.freeze()
    _frozen_modules = len(sys.modules)


def _freeze_new_libraries() -> None:
    if len(sys.modules) > _frozen_modules + _MODULES_OF_A_LIBRARY:
        _freeze_existing_objects()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without garbage collection, because nothing that is imported is garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        _freeze_existing_objects()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    yield
    if nextitem is not None and nextitem.path != item.path:
        _freeze_existing_objects()
    else:
        _freeze_new_libraries()


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup() -> Generator[None, object, object]:
    try:
        return (yield)
    finally:
        _freeze_new_libraries()


class BySubject(LoadFileScheduling):  # type: ignore[misc]
    """Distribute whole files, those of `etl` first to every other process.

    Otherwise each process would import torch and the libraries that depend on it. A process without
    files of its kind takes the last ones of the other kind, which are short.
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
    """Replace the scheduler of ``--dist loadfile``."""
    return BySubject(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session of the embedded engine, shared by all tests; or of Spark with Delta's connector."""
    from adnominal.etl import engine
    from adnominal.etl.engine import EngineSettings

    if SPARK_TESTS == "connector":
        from tests.connector.session import start_session

        yield start_session()
        engine.stop()
        return
    yield engine.start("tests", EngineSettings(engine="sail", memory="2GB")).spark
    engine.stop()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of published data; without it, the test is skipped."""
    if not SHARED.is_dir():
        pytest.skip(f"published data not found at {SHARED} (set ADNOMINAL_DATA)")
    return SHARED


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An MLflow database without runs, to be copied because creating its tables takes seconds."""
    from adnominal.training.tracking import Tracker

    path: Path = tmp_path_factory.mktemp("store") / "mlflow.db"
    # MLflow's default experiment, so that the experiments of the tests do not exist yet.
    assert Tracker(f"sqlite:///{path}", "Default").experiment_id is not None
    return path
