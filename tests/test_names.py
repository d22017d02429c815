"""No module that a script's own folder could put before an installed one of the same name."""

from __future__ import annotations

import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
OURS = {"adnominal"}


def top_names(folder: Path) -> set[str]:
    return {
        path.stem
        for path in folder.iterdir()
        if (path.suffix == ".py" or (path.is_dir() and (path / "__init__.py").exists()))
        and not path.stem.startswith("__")
    }


def shadowed(names: set[str]) -> set[str]:
    installed = {
        name
        for name, distributions in packages_distributions().items()
        if not OURS.issuperset(distributions)
    }
    return names & (set(sys.stdlib_module_names) | installed)


@pytest.mark.parametrize("folder", ["etl", "training", "analysis"])
def test_no_module_takes_an_installed_name(folder: str) -> None:
    if not (ROOT / folder).is_dir():
        pytest.skip(f"no folder {folder} yet")
    assert shadowed(top_names(ROOT / folder)) == set()


def test_the_check_sees_a_taken_name() -> None:
    assert shadowed({"types", "pyarrow", "extract_amod"}) == {"types", "pyarrow"}
