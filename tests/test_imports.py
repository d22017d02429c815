"""Imports between the packages point in one direction: etl <- training <- analysis; large libraries
are imported where they are needed; every file has one name."""

import ast
import sys
from collections.abc import Iterator

import pytest

from adnominal.conf import EXTRAS, ROOT
from tests.commands import run_python

FOLDERS = ("conf", "etl", "training", "analysis")
FORBIDDEN = {
    "etl": {"training", "analysis", "benchmarks", "tests"},
    "training": {"analysis", "benchmarks", "tests", "pyspark"},
    "analysis": {"benchmarks", "tests", "pyspark"},
}


def imported_packages(source: str) -> Iterator[str]:
    """The packages that a module imports, also within functions; of ours, the folder's name."""
    for node in ast.walk(ast.parse(source)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            is_root = node.module == "adnominal"
            names = (
                [f"adnominal.{alias.name}" for alias in node.names] if is_root else [node.module]
            )
        for name in names:
            yield name.removeprefix("adnominal.").partition(".")[0]


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


def test_modules_are_imported_by_their_one_name():
    """No module imports ``etl.lake`` or the like, which would load a file a second time."""
    wrong = []
    for folder in (*FOLDERS, "benchmarks", "tests"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    names = [node.module or ""]
                else:
                    continue
                wrong += [(path, name) for name in names if name.partition(".")[0] in FOLDERS]
    assert wrong == []


def test_every_package_is_of_the_core_or_of_a_named_extra():
    """So that a command of an extra that is not installed names it."""
    core = {"anyio", "deltalake", "numpy", "pandas", "pyarrow", "starlette", "uvicorn", "yaml"}
    extras = {name for names in EXTRAS.values() for name in names}
    known = {*core, *extras, *FOLDERS, *sys.stdlib_module_names}
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
        ("from adnominal import conf", {"pyspark", "torch"}),
        (
            "import adnominal.conf.commandline.__main__ as a; "
            "a.main(['--help']); a.main(['extrat'])",
            {"pyspark", "torch", "transformers"},
        ),
        ("import adnominal.etl.lake.arrow, adnominal.etl.looking.commands", {"pyspark"}),
        (
            "from adnominal.etl.parsing import stanza_parser, spacy_parser, sparknlp_parser",
            {"torch", "spacy"},
        ),
        (
            "import adnominal, adnominal.etl.import_knowledge, adnominal.etl.plane.job, "
            "adnominal.etl.knowledge.wordnet",
            {"nltk"},
        ),
        ("from adnominal.etl.knowledge import wordnet_reader", {"scipy", "sklearn"}),
    ],
)
def test_large_libraries_are_imported_only_where_they_are_needed(code, libraries):
    run_python("-c", f"{code}; import sys; assert not {libraries} & set(sys.modules)")


def test_the_check_finds_imports_in_functions():
    source = (
        "import os.path\n"
        "from adnominal import conf\n"
        "def f():\n"
        "    from adnominal.analysis.rows import right\n"
        "    import adnominal.training as t\n"
    )
    assert set(imported_packages(source)) == {"os", "conf", "analysis", "training"}
