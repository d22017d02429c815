"""The small lake and its sketches, shared by all tests of the explorer."""

from pathlib import Path

import pytest

from adnominal.analysis.exploring.sketches import Sketches
from tests.lake_of_pairs import write_lake


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lake(tmp_path_factory.mktemp("explored") / "lake")


@pytest.fixture(scope="session")
def sketches(lake: Path) -> Sketches:
    return Sketches(str(lake), lake.parent / "cache")
