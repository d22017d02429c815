"""Python commands in processes of their own."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from adnominal.conf import ROOT

# The longest wait for a command, in seconds; an idle machine needs a tenth of it.
SECONDS = float(os.environ.get("ADNOMINAL_TEST_SECONDS", "400"))


def run_python(
    *words: str | Path,
    python: str = sys.executable,
    cwd: Path = ROOT,
    code: int = 0,
    timeout: float | None = None,
    variables: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run Python with these words and additional variables of the environment to its end; fail with
    its errors unless its exit code is `code`."""
    process = subprocess.run(
        [python, *map(str, words)],
        cwd=cwd,
        env={**os.environ, **(variables or {})},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert process.returncode == code, f"exit code {process.returncode}\n{process.stderr[-4000:]}"
    return process


def without_module(name: str, folder: Path) -> dict[str, str]:
    """Variables with which Python processes cannot import a module, as if it had not been built.

    Writes a ``sitecustomize`` to the new `folder`, which every Python process imports first.
    """
    folder.mkdir()
    code = f"import sys\nsys.modules[{name!r}] = None\n"
    (folder / "sitecustomize.py").write_text(code, encoding="utf-8")
    return {"PYTHONPATH": os.fspath(folder)}


def run_python_unread(*words: str) -> tuple[int, str]:
    """The exit code and the standard error of a command whose output nobody reads, as when
    ``| head`` has read enough."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        process = subprocess.run(
            [sys.executable, *words],
            cwd=ROOT,
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    return process.returncode, process.stderr
