"""The tables of the embedded engine, which the other engines' are compared with; built once."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster.submitting import EXTRACTION, Steps
from tests.spark.test_conformance import pipeline, run_elsewhere

SHORT_JOBS = ("extract_amod", "import_knowledge", "build_plane")


@pytest.fixture(scope="session")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Steps:
    """A corpus whose name is not ASCII, extracted twice; the import and the builds."""
    again = {"extract_amod": {**EXTRACTION, "restart": True}}
    later_steps = pipeline(tmp_path_factory.mktemp("input"))[5:]
    return [{"extract_amod": EXTRACTION}, again, *later_steps]


@pytest.fixture(scope="session")
def short_steps(steps: Steps) -> Steps:
    """The extractions, the import and a build."""
    return [step for step in steps if step.keys() & set(SHORT_JOBS)]


@pytest.fixture(scope="session")
def short_lake(short_steps: Steps, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lake that the short pipeline writes with the embedded engine."""
    lake = tmp_path_factory.mktemp("lakes") / "short"
    run_elsewhere(short_steps, lake, "sail")
    return lake


@pytest.fixture(scope="session")
def continued_lake(
    short_lake: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Steps], Path]:
    """A function that runs further steps on a copy of that lake; the copy."""

    def run(further_steps: Steps) -> Path:
        lake = tmp_path_factory.mktemp("lakes") / "continued"
        shutil.copytree(short_lake, lake)
        run_elsewhere(further_steps, lake, "sail")
        return lake

    return run


@pytest.fixture(scope="session")
def sail_lake(steps: Steps, continued_lake: Callable[[Steps], Path]) -> Path:
    """The lake that the whole pipeline writes with the embedded engine."""
    return continued_lake([step for step in steps if not step.keys() & set(SHORT_JOBS)])
