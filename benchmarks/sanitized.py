"""A C extension compiled with the address and undefined-behaviour sanitizers, on mutated input.

A memory fault ends the process that loads the extension with a report.
"""

import importlib.util
import os
import subprocess
import sysconfig
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adnominal.conf import ROOT, JobFailed
from benchmarks.processes import caller

_SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def compiled(source: Path, target: Path, *options: str) -> None:
    """Compile a C extension with additional compiler options."""
    include = sysconfig.get_paths()["include"]
    flags = ["-shared", "-fPIC", f"-I{include}", *options]
    subprocess.run(["cc", str(source), *flags, "-lm", "-o", str(target)], check=True)


def load(name: str, path: str) -> Any:
    """The compiled extension, as a module of that name."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(function: str, source: Path, settings: Mapping[str, Any], *options: str) -> None:
    """Compile `source` and call ``function(path, settings)`` in a process with the sanitizers;
    `JobFailed` if that failed, with its output on standard error."""
    with tempfile.TemporaryDirectory(prefix="adnominal-sanitized-") as folder:
        module = Path(folder) / f"{source.stem}.so"
        compiled(source, module, "-O1", "-g", *_SANITIZERS, *options)
        library = subprocess.run(
            ["cc", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True
        ).stdout.strip()
        result = subprocess.run(
            caller(function, str(module), dict(settings)),
            # Python does not free all memory when it exits.
            env={**os.environ, "LD_PRELOAD": library, "ASAN_OPTIONS": "detect_leaks=0"},
            cwd=ROOT,
            check=False,
        )
    if result.returncode:
        raise JobFailed(f"{source.name} failed on mutated input (exit code {result.returncode})")
