"""The steps of the Dockerfile, run as they stand where there is no container engine.

    python .ci/container_steps.py [STAGE] [FOLDER]      (worker, if no stage is given)

What a stage copies and runs is copied and run in an empty folder, with a fresh virtual environment
in the place of the image's Python; what belongs to the system (apt-get, useradd, links below /usr)
is listed and left out. At the end the stage's command is started, as `docker run` would, and has to
end with 0. A step that the image needs and that is not in the repository, a package that cannot be
installed with the constraints, a module that is not copied: all of them show here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SYSTEM = re.compile(r"apt-get|useradd|chown|/usr/(lib|local|bin)")


class Step(NamedTuple):
    """An instruction of the Dockerfile: its name and what follows it."""

    name: str
    text: str


def stages_of(text: str) -> dict[str, list[Step]]:
    """The steps of each stage, those of the stages that it is built on first."""
    joined = re.sub(r"\\\n\s*", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    stages: dict[str, list[Step]] = {}
    steps: list[Step] = []
    for line in filter(None, map(str.strip, joined.splitlines())):
        name, _, rest = line.partition(" ")
        if name == "FROM":
            base, _, stage = rest.partition(" AS ")
            steps = stages[stage] = list(stages.get(base, []))
        else:
            steps.append(Step(name, rest.strip()))
    return stages


def copy(sources: list[str], target: Path) -> None:
    """Copy files and folders of the repository, as far as git knows them, or will."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *sources]
    found = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = [name for name in found.split("\0") if name]
    missing = [source for source in sources if not (ROOT / source).exists()]
    if missing or not paths:
        raise SystemExit(f"COPY {' '.join(sources)}: not in the repository: {missing or sources}")
    for name in paths:
        # A folder's content goes into the target; files keep their names.
        folder = next((s for s in sources if s != "." and (ROOT / s).is_dir()), None)
        within = Path(name).relative_to(folder) if folder else Path(name)
        one_file = len(sources) == 1 and (ROOT / sources[0]).is_file()
        place = target if one_file else target / within
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, place)


def run_stage(steps: list[Step], folder: Path) -> None:
    """Run the steps in `folder`; raises `CalledProcessError` for one that fails."""
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    workdir = folder / "root"
    workdir.mkdir()
    site = folder / "venv" / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    environment = dict(os.environ)
    for name in ("PYTHONPATH", "VIRTUAL_ENV"):
        environment.pop(name, None)
    environment |= {
        "PATH": f"{folder / 'venv' / 'bin'}:{os.environ['PATH']}",
        "PYSPARK_PYTHON": str(folder / "venv" / "bin" / "python"),
        "SPARK_HOME": str(site / "pyspark"),
    }
    command: list[str] = []
    for step in steps:
        if step.name == "COPY":
            *sources, target = step.text.split()
            print(f"COPY {step.text}", flush=True)
            copy(sources, workdir / target)
        elif step.name == "RUN" and not SYSTEM.search(step.text):
            print(f"RUN {step.text}", flush=True)
            shell = ["bash", "-eo", "pipefail", "-c", step.text]
            subprocess.run(shell, cwd=workdir, env=environment, check=True)
        elif step.name == "CMD":
            command = json.loads(step.text)
        else:
            print(f"left out: {step.name} {step.text[:100]}", flush=True)
    print(f"CMD {' '.join(command)}", flush=True)
    done = subprocess.run(
        command, cwd=workdir, env=environment, check=True, capture_output=True, text=True
    )
    print("\n".join((done.stdout + done.stderr).splitlines()[:5]))


def main(arguments: list[str]) -> int:
    """Run a stage's steps."""
    stages = stages_of((ROOT / "Dockerfile").read_text(encoding="utf-8"))
    stage = arguments[0] if arguments else "worker"
    if stage not in stages:
        print(f"stage {stage}: expected one of {', '.join(stages)}", file=sys.stderr)
        return 2
    base = Path(arguments[1]) if len(arguments) > 1 else None
    with tempfile.TemporaryDirectory(prefix="adnominal-image-", dir=base) as folder:
        try:
            run_stage(stages[stage], Path(folder))
        except subprocess.CalledProcessError as error:
            output = "\n".join((error.stderr or "").splitlines()[-20:])
            print(f"stage {stage}: a step ended with {error.returncode}\n{output}", file=sys.stderr)
            return 1
    print(f"stage {stage}: every step ran")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
