"""No module next to a script has the name of an installed one, which it would shadow."""

import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from adnominal.conf import ROOT

OURS = {"adnominal"}


def top_names(folder: Path) -> set[str]:
    return {
        path.stem
        for path in folder.iterdir()
        if (path.suffix == ".py" or (path.is_dir() and (path / "__init__.py").exists()))
        and not path.stem.startswith("__")
    }


def shadowed_names(names: set[str]) -> set[str]:
    installed = {
        name
        for name, distributions in packages_distributions().items()
        if not OURS.issuperset(distributions)
    }
    return names & (set(sys.stdlib_module_names) | installed)


@pytest.mark.parametrize("folder", ["etl", "training", "analysis"])
def test_no_module_shadows_an_installed_one(folder):
    assert shadowed_names(top_names(ROOT / folder)) == set()


def test_the_check_finds_shadowed_names():
    assert shadowed_names({"types", "pyarrow", "extract_amod"}) == {"types", "pyarrow"}
