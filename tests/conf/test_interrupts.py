"""Interrupts during the imports of a command."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from adnominal.conf import IMPORT_ROOT, ROOT


@pytest.fixture
def run(tmp_path: Path):
    # The first import of conf besides the standard library is interrupted.
    (tmp_path / "omegaconf.py").write_text("raise KeyboardInterrupt\n")

    def run(*words: str, rank: str = "0") -> tuple[int, str]:
        paths = os.pathsep.join((os.fspath(tmp_path), os.fspath(IMPORT_ROOT)))
        environment = {**os.environ, "PYTHONPATH": paths, "RANK": rank}
        completed = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        return completed.returncode, completed.stderr

    return run


@pytest.mark.parametrize(
    "words",
    [
        [os.fspath(ROOT / "etl/build_plane.py")],
        [os.fspath(ROOT / "training/finetune.py")],
        ["-m", "etl.lake"],
        ["-m", "adnominal"],
    ],
)
def test_an_interrupted_import_of_a_command_is_one_line(run, words):
    line = "error: interrupted; run the same command again to continue\n"
    assert run(*words) == (130, line)
    assert run(*words, rank="1") == (130, "")


def test_scripts_of_others_that_import_the_project_have_their_traceback(run, tmp_path):
    script = tmp_path / "mine.py"
    script.write_text("from adnominal import conf\n")
    for words in ([os.fspath(script)], ["-c", "from adnominal import conf"]):
        code, text = run(*words)
        assert code not in (0, 130) and text.startswith("Traceback") and "interrupted" not in text
