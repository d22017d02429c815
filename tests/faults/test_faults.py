"""Some faults at storage operations; ``python -m tests.faults`` covers all of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from adnominal.conf import ROOT
from tests import fork_server
from tests.faults import interposer
from tests.faults.planted import SEEN_BY

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(interposer.compiler() is None, reason="no C compiler (cc or gcc)"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="LD_PRELOAD needs Linux"),
]


def faults(*words: str, folder: Path, python: str) -> subprocess.CompletedProcess[str]:
    """Run ``python -m tests.faults``."""
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
    """A ``python`` with the library preloaded, as by `with_library`."""
    environment = {**os.environ, "LD_PRELOAD": str(interposer.library())}
    modules = [f"tests.faults.{name}" for name in ("enumeration", "writers", "planted")]
    # The modules that `python -m etl.lake` imports on demand.
    modules += ["adnominal.etl.looking.export", "adnominal.etl.looking.maintenance"]
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
def test_no_fault_changes_a_table(scenarios, sample, python, tmp_path):
    process = faults(f"scenarios=[{scenarios}]", f"sample={sample}", folder=tmp_path, python=python)
    assert process.returncode == 0, process.stdout + process.stderr
    assert f"{sample * (scenarios.count(',') + 1)} cases, 0 with problems" in process.stdout


@pytest.mark.parametrize("bug", SEEN_BY)
def test_a_planted_bug_is_found_and_its_seed_replays_it(bug, python, tmp_path):
    plant = (f"plant={bug}", "seed=1", "first=true")
    # Few of the kills of an append reveal a missing check of its transaction.
    sample = "sample=0" if bug == "lost transaction check" else "sample=14"
    words = (f"scenarios=['{SEEN_BY[bug][0]}']", "faults=[kill]", sample, *plant)
    process = faults(*words, folder=tmp_path, python=python)
    assert process.returncode == 1, process.stdout + process.stderr
    replay = "replay=" + process.stdout.split("replay='", 1)[1].split("'", 1)[0]
    # The threads of libraries may be scheduled differently, so that the operation with this number
    # is a neighbour; then the replay is repeated.
    folders = (tmp_path / f"replay{turn}" for turn in range(4))
    replays = (faults(replay, *plant, folder=folder, python=python) for folder in folders)
    assert any(process.returncode == 1 for process in replays)
    without_bug = faults(replay, "seed=1", folder=tmp_path / "without", python=python)
    assert without_bug.returncode == 0


def test_a_case_can_be_replayed_without_the_fork_server(tmp_path):
    process = faults("replay=append:lie:40", folder=tmp_path, python=sys.executable)
    assert "1 cases, 0 with problems" in process.stdout, process.stdout + process.stderr
