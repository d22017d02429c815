"""The core in an empty environment: its time, its size, and extraction without torch.

    python -m benchmarks.install

Packages come from the index that pip is set up with, through uv where it is there and its cache
where that has them, so that the time is that of the machine more than of the network.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.results import record, table, write_section
from conf import ROOT, JobFailed
from conf.uv_settings import exports

KEY = "install"
SENTENCE = """1\tA\ta\tDET\tDT\t_\t3\tdet\t_\t_
2\tfalse\tfalse\tADJ\tJJ\t_\t3\tamod\t_\t_
3\tkey\tkey\tNOUN\tNN\t_\t4\tnsubj\t_\t_
4\topens\topen\tVERB\tVBZ\t_\t0\troot\t_\t_

"""


def installed(folder: Path) -> dict[str, float]:
    """Install the core into a new environment in `folder` and run the job; the figures.

    Raises:
        JobFailed: torch came along, or the job did not write the pair.
    """
    environment, bin_ = folder / "venv", folder / "venv" / "bin"
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    # A copy, so that the build leaves nothing in the checkout.
    source = folder / "source"
    source.mkdir()
    for name in ("README.md", "LICENSE", "setup.py", "pyproject.toml"):
        shutil.copy(ROOT / name, source)
    for name in ("adnominal", "conf", "etl", "training", "analysis"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("*.so"))
    listing = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    ).stdout
    command = [str(bin_ / "python"), "-m", "pip", "install", "--quiet", str(source)]
    if uv:
        command = [uv, "pip", "install", "--quiet", "--python", str(bin_ / "python"), str(source)]
    begun = time.monotonic()
    subprocess.run(command, check=True, env={**os.environ, **exports(listing)})
    took = time.monotonic() - begun
    megabytes = sum(
        path.stat().st_size
        for path in environment.rglob("*")
        if path.is_file() and not path.is_symlink()
    )
    (folder / "one.conllu").write_text(SENTENCE, encoding="utf-8")
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    words = [str(bin_ / "adnominal"), "extract", "source=conllu", "input=one.conllu", "lake=lake"]
    begun = time.monotonic()
    subprocess.run(words, cwd=folder, env=clean, check=True, capture_output=True)
    first = time.monotonic() - begun
    shown = [str(bin_ / "adnominal"), "lake", "why", "false", "key", "lake=lake"]
    text = subprocess.run(shown, cwd=folder, env=clean, check=True, capture_output=True, text=True)
    if "false key" not in text.stdout or any(environment.rglob("site-packages/torch")):
        raise JobFailed("the core did not extract the pair, or torch came with it")
    return {"install_s": took, "megabytes": megabytes / 1e6, "first_extraction_s": first}


def page(figures: dict[str, float]) -> str:
    """The section of RESULTS.md."""
    rows = [
        ["the core (`pip install .`) in an empty environment", "measured"],
        ["installed by uv, packages in its cache", f"{figures['install_s']:.0f} s"],
        ["size on disk", f"{figures['megabytes'] / 1000:.2f} GB"],
        ["the first `adnominal extract source=conllu`", f"{figures['first_extraction_s']:.1f} s"],
    ]
    return f"## Core installation\n\n`python -m benchmarks.install`\n\n{table(rows)}"


def main() -> int:
    """Install, measure, write the section."""
    with tempfile.TemporaryDirectory() as folder:
        figures = installed(Path(folder))
    section = page(figures)
    print(section)
    record(KEY, figures)
    write_section(KEY, section, packages=("pyspark", "pysail"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
