"""The core in an empty environment: its time, its size, and extraction without torch.

Packages come from the index configured for pip, through uv and its cache if available, so that the
time depends on the machine rather than the network.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from adnominal.conf import ROOT, JobFailed
from adnominal.conf.uv_settings import exports
from benchmarks.harness import Case, CaseSettings, whole
from benchmarks.processes import timed
from benchmarks.results import Figures

SENTENCE = """1\tA\ta\tDET\tDT\t_\t3\tdet\t_\t_
2\tfalse\tfalse\tADJ\tJJ\t_\t3\tamod\t_\t_
3\tkey\tkey\tNOUN\tNN\t_\t4\tnsubj\t_\t_
4\topens\topen\tVERB\tVBZ\t_\t0\troot\t_\t_

"""


def copy_sources(source: Path) -> None:
    """Copy the installed sources, so that the build leaves nothing in the checkout."""
    source.mkdir()
    for name in ("README.md", "LICENSE", "setup.py", "pyproject.toml"):
        shutil.copy(ROOT / name, source)
    for name in ("adnominal", "conf", "etl", "training", "analysis"):
        if (ROOT / name).exists():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("*.so"))


def install(folder: Path) -> float:
    """Install the core into a new environment in `folder`; return the seconds."""
    python = folder / "venv" / "bin" / "python"
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    copy_sources(folder / "source")
    listing = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    ).stdout
    command = [str(python), "-m", "pip", "install", "--quiet", str(folder / "source")]
    if uv:
        command = [uv, "pip", "install", "--quiet", "--python", str(python), str(folder / "source")]
    with timed() as timing:
        subprocess.run(command, check=True, env={**os.environ, **exports(listing)})
    return timing.wall


def installed(settings: CaseSettings) -> Figures:
    """Install the core into a new environment and run the job; return the figures. `JobFailed` if
    torch was installed too, or the job did not write the pair."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seconds = install(folder)
        environment = folder / "venv"
        files = (path for path in environment.rglob("*") if not path.is_symlink())
        megabytes = sum(path.stat().st_size for path in files if path.is_file()) / 1e6
        (folder / "one.conllu").write_text(SENTENCE, encoding="utf-8")
        clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

        def run(*words: str) -> str:
            command = [str(environment / "bin" / "adnominal"), *words, "lake=lake"]
            return subprocess.run(
                command, cwd=folder, env=clean, check=True, capture_output=True, text=True
            ).stdout

        with timed() as first:
            run("extract", "source=conllu", "input=one.conllu")
        reasons = run("lake", "why", "false", "key")
        if "false key" not in reasons or any(environment.rglob("site-packages/torch")):
            raise JobFailed("the core did not extract the pair, or torch was installed with it")
    return {"install_s": seconds, "megabytes": megabytes, "first_extraction_s": first.wall}


CASE = Case(
    "install",
    whole(installed),
    packages=("pyspark", "pysail"),
)
