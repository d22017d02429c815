"""Imports between the packages point in one direction: etl <- training <- analysis; large libraries
are imported where they are needed."""

import ast
import sys
from collections.abc import Iterator

import pytest

from conf import EXTRAS, ROOT
from tests.commands import run_python

TOP = ("conf", "etl", "training", "analysis")
FORBIDDEN = {
    "etl": {"training", "analysis", "benchmarks", "tests"},
    "training": {"analysis", "benchmarks", "tests", "pyspark"},
    "analysis": {"benchmarks", "tests", "pyspark"},
}


def imported_packages(source: str) -> Iterator[str]:
    """The packages that a module imports, also within functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


@pytest.mark.parametrize("package", FORBIDDEN)
def test_packages_do_not_import_packages_that_depend_on_them(package):
    modules = sorted((ROOT / package).rglob("*.py"))
    assert modules
    wrong = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in modules
        for name in imported_packages(path.read_text(encoding="utf-8"))
        if name in FORBIDDEN[package]
    }
    assert wrong == set()


def test_every_package_is_of_the_core_or_of_a_named_extra():
    """So that a command of an extra that is not installed names it."""
    core = {"anyio", "deltalake", "numpy", "pandas", "pyarrow", "starlette", "uvicorn", "yaml"}
    extras = {name for names in EXTRAS.values() for name in names}
    known = {*core, *extras, *TOP, *sys.stdlib_module_names}
    modules = [path for top in ("training", "analysis") for path in (ROOT / top).rglob("*.py")]
    wrong = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in modules
        for name in imported_packages(path.read_text(encoding="utf-8"))
        if name not in known
    }
    assert wrong == set()


@pytest.mark.parametrize(
    ("code", "libraries"),
    [
        ("import conf", {"pyspark", "torch"}),
        (
            "import conf.commandline.__main__ as a; a.main(['--help']); a.main(['extrat'])",
            {"pyspark", "torch", "transformers"},
        ),
        ("import etl.lake.arrow, etl.lake.__main__", {"pyspark"}),
        (
            "from etl.parsing import stanza_parser, spacy_parser, sparknlp_parser",
            {"torch", "spacy"},
        ),
    ],
)
def test_large_libraries_are_imported_only_where_they_are_needed(code, libraries):
    run_python("-c", f"{code}; import sys; assert not {libraries} & set(sys.modules)")


def test_the_check_finds_imports_in_functions():
    source = (
        "import os.path\ndef f():\n    from analysis.rows import right\n    import training as t\n"
    )
    assert set(imported_packages(source)) == {"os", "analysis", "training"}
