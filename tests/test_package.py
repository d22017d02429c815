"""Everything is imported as ``adnominal…``, from the checkout whose script was started."""

import json
import os
from pathlib import Path

import pytest

from adnominal.conf import ROOT
from tests import fork_server
from tests.commands import run_python

FOLDERS = ("conf", "etl", "training", "analysis")

RUN_MODULE = """
import runpy
runpy.run_module({module!r}, run_name="__main__", alter_sys=True)
"""
# Writes the names under which each file of ours was imported when the process ends.
REPORT_NAMES = """
import atexit, json, os, sys
def names():
    found = {{}}
    for name, module in list(sys.modules.items()):
        path = os.path.realpath(getattr(module, "__file__", None) or "/")
        ours = path.startswith(tuple(os.path.join({root!r}, f, "") for f in {folders!r}))
        if ours and name != "__main__":
            found.setdefault(os.path.relpath(path, {root!r}), []).append(name)
    with open({out!r}, "w") as file:
        json.dump(found, file)
atexit.register(names)
"""
# `python -m etl.lake` imports the packages on the way to the module by the names of the folders.
# They have docstrings alone, so that nothing exists twice.
SECOND_NAMES = {
    "etl.lake": {"etl/__init__.py", "etl/lake/__init__.py"},
    "analysis.report": {"analysis/__init__.py"},
    "analysis.explore": {"analysis/__init__.py"},
    "analysis.export": {"analysis/__init__.py", "analysis/export/__init__.py"},
    "analysis.semantics": {"analysis/__init__.py", "analysis/semantics/__init__.py"},
}


@pytest.fixture
def foreign_packages(tmp_path: Path) -> Path:
    """A folder with packages of somebody else, named as our folders."""
    for name in FOLDERS:
        package = tmp_path / name
        package.mkdir()
        (package / "__init__.py").write_text("raise RuntimeError('a foreign package')\n")
    return tmp_path


@pytest.mark.parametrize("module", SECOND_NAMES)
def test_only_docstrings_are_imported_under_two_names(module, tmp_path):
    out = tmp_path / "names.json"
    code = REPORT_NAMES.format(root=str(ROOT), folders=FOLDERS, out=str(out)) + RUN_MODULE.format(
        module=module
    )
    run_python("-c", f"import sys; sys.argv = ['command', '--help']\n{code}")
    names = json.loads(out.read_text())
    outside = {
        path
        for path, modules in names.items()
        if any(not name.startswith("adnominal") for name in modules)
    }
    assert outside == SECOND_NAMES[module]
    for path in outside:
        lines = (ROOT / path).read_text(encoding="utf-8").strip()
        assert lines.startswith('"""') and lines.endswith('"""') and lines.count('"""') == 2
    assert all(len(modules) == 1 for path, modules in names.items() if path not in outside)


@pytest.mark.parametrize("script", ["etl/extract_amod.py", "etl/build_asp.py", "training/score.py"])
def test_a_script_finds_its_own_checkout_beside_foreign_folders(script, foreign_packages):
    for cwd in (foreign_packages, ROOT, ROOT / "etl"):
        process = run_python(
            ROOT / script, "--help", cwd=cwd, variables={"PYTHONPATH": os.fspath(foreign_packages)}
        )
        assert "Settings (key=value" in process.stdout


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["torch.distributed.run", "deepspeed.launcher.runner"])
def test_a_launched_script_finds_its_own_checkout_beside_foreign_folders(
    launcher, foreign_packages
):
    one_process = {
        "torch.distributed.run": ("--standalone", "--nproc_per_node=1"),
        "deepspeed.launcher.runner": ("--num_gpus=1", "--log_level=error"),
    }
    process = run_python(
        "-m",
        launcher,
        *one_process[launcher],
        ROOT / "training" / "finetune.py",
        "--help",
        python=fork_server.python("libraries"),
        cwd=foreign_packages,
        variables={"PYTHONPATH": os.fspath(foreign_packages), "DS_ACCELERATOR": "cpu"},
    )
    assert "Settings (key=value" in process.stdout


def test_the_modules_of_the_command_are_those_of_the_checkout(tmp_path):
    process = run_python("-c", "import adnominal.etl as e; print(e.__file__)", cwd=ROOT)
    assert Path(process.stdout.strip()).resolve() == ROOT / "etl" / "__init__.py"
