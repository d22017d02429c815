"""Some of the faults at storage operations; `benchmarks/faults.py` goes through all of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conf import ROOT
from tests import fork_server
from tests.faults import interposer
from tests.faults.planted import SEEN_BY

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(interposer.compiler() is None, reason="no C compiler (cc or gcc)"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="LD_PRELOAD is Linux's"),
]


def faults(*words: str, folder: Path, python: str) -> subprocess.CompletedProcess[str]:
    """`python -m tests.faults` on the words."""
    return subprocess.run(
        [python, "-m", "tests.faults", f"folder={folder}", *words],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=280,
    )


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A `python` with the library before all others, as `with_library` starts it."""
    environment = {**os.environ, "LD_PRELOAD": str(interposer.library())}
    modules = [f"tests.faults.{name}" for name in ("enumeration", "writers", "planted")]
    # What `python -m etl.lake` imports when it is asked for.
    modules += ["etl.looking.export", "etl.looking.maintenance"]
    folder = tmp_path_factory.mktemp("python")
    return fork_server.start(folder, {"faults": modules}, environment)["faults"]


@pytest.mark.parametrize(
    ("scenarios", "sample"),
    [
        ("append,replace,compact,vacuum,export", 4),
        ("append + replace,vacuum + replace,replace + vacuum,replace + export", 4),
        ("waves", 1),
    ],
    ids=["one writer", "two writers", "extraction"],
)
def test_no_fault_changes_a_table(scenarios: str, sample: int, python: str, tmp_path: Path) -> None:
    process = faults(f"scenarios=[{scenarios}]", f"sample={sample}", folder=tmp_path, python=python)
    assert process.returncode == 0, process.stdout + process.stderr
    assert f"{sample * (scenarios.count(',') + 1)} cases, 0 with problems" in process.stdout


@pytest.mark.parametrize("bug", SEEN_BY)
def test_a_planted_bug_is_found_and_its_seed_replays_it(
    bug: str, python: str, tmp_path: Path
) -> None:
    plant = (f"plant={bug}", "seed=1", "first=true")
    # Of the kills of an append few show that its transaction is not looked at.
    sample = "sample=0" if bug == "lost transaction check" else "sample=14"
    process = faults(
        f"scenarios=['{SEEN_BY[bug][0]}']",
        "faults=[kill]",
        sample,
        *plant,
        folder=tmp_path,
        python=python,
    )
    assert process.returncode == 1, process.stdout + process.stderr
    replay = process.stdout.split("replay='", 1)[1].split("'", 1)[0]
    # Threads of the libraries below may take turns in another way, so that the operation of that
    # number is a neighbour: then the replay is given again.
    assert any(
        faults(
            f"replay={replay}", *plant, folder=tmp_path / f"again{turn}", python=python
        ).returncode
        == 1
        for turn in range(4)
    )
    assert (
        faults(f"replay={replay}", "seed=1", folder=tmp_path / "without", python=python).returncode
        == 0
    )


def test_a_fault_comes_at_the_operation_that_was_asked_for(tmp_path: Path) -> None:
    process = faults("replay=append:lie:40", folder=tmp_path, python=sys.executable)
    assert "1 cases, 0 with problems" in process.stdout, process.stdout + process.stderr
