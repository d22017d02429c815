"""Jobs killed at ten points spread over their phases, then run again: the same tables?

    python -m benchmarks.job_kills [folder=DIR] [jobs=[build_asp,…]] [key=value …]

On the embedded corpus: the four builds, the import of annotators' answers, a training run by one
process and by two, predictions and the report. Each is run once in peace on a copy of a lake that
has what it reads, then killed (kill -9, the whole tree of processes) within each of equal spans of
that run's time, and the same command given until it ends well. `engines=[sail,spark]` has the data
side on both. Finished cases are kept in `folder`, so that the benchmark can be stopped and go on.
"""

from __future__ import annotations

import json
import logging
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

import conf
from benchmarks import jobs as job_lakes
from benchmarks.processes import kill_tree
from benchmarks.results import record, table, write_section
from conf import ROOT, JobFailed, UserError, setting
from etl.lake import arrow

PACKAGES = ("pysail", "pyspark", "deltalake", "torch", "deepspeed")
RUNS = 5
WAITED = 900.0
# They differ from run to run: its id, the table's version at that time, the model's folder.
OWN = ("run_id", "table_version", "model")

log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Job:
    """A command, in words with {lake}, {folder} and {engine}, and the tables it writes."""

    words: str
    tables: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    engines: bool = False
    processes: int = 0


_TRAIN = (
    "training/finetune.py conf/training/asp_demo.yaml lake={lake} out={folder}/runs "
    "tracking=sqlite:///{folder}/mlflow.db"
)
JOBS = {
    "build_adept": Job(
        "etl/build_adept.py preset=demo lake={lake} engine={engine}",
        ("adept_entries", "adept_items", "dropped"),
        engines=True,
    ),
    "build_plane": Job(
        "etl/build_plane.py preset=demo lake={lake} engine={engine}",
        ("plane_items", "plane_splits", "dropped"),
        engines=True,
    ),
    "build_asp": Job(
        "etl/build_asp.py preset=demo lake={lake} engine={engine}",
        ("asp_entailment", "asp_degree", "asp_splits"),
        engines=True,
    ),
    "build_sygns": Job(
        "etl/build_sygns.py preset=demo lake={lake} engine={engine}",
        ("sygns", "sygns_splits"),
        engines=True,
    ),
    "import_answers": Job(
        "etl/annotate_adept.py import batch={folder}/answers.csv key={folder}/annotators.key "
        "lake={lake}",
        ("adept_annotations",),
    ),
    "train": Job(_TRAIN, ("predictions",), processes=1),
    "train_two_processes": Job(_TRAIN, ("predictions",), processes=2),
    "predict": Job(
        "training/predict.py model={folder}/model table=asp_degree limit=512 chunk=128 lake={lake} "
        "tracking=sqlite:///{folder}/mlflow.db folder={folder}/predict",
        ("predictions",),
        processes=1,
    ),
    "report": Job(
        "-m analysis.report lake={lake} tracking=sqlite:///{folder}/mlflow.db out={folder}/report",
        files=("report/report.html", "report/report.md"),
    ),
}


@dataclass(frozen=True)
class Settings:
    """Settings of ``benchmarks/job_kills.py``."""

    folder: str | None = setting(None, help="where lakes and finished cases lie")
    jobs: list[str] = setting([], help="jobs to kill; all if none is named")
    engines: list[str] = setting(["sail"], help="engines of the data side")
    kills: int = setting(10, help="kills of each job")
    seed: int = setting(1, help="seed of the moments")
    keep: bool = setting(True, help="write RESULTS.md and results.json, not only print")

    def __post_init__(self) -> None:
        if unknown := set(self.jobs) - set(JOBS):
            raise UserError(f"jobs={unknown}: expected some of {', '.join(JOBS)}")


@dataclass(frozen=True)
class Case:
    """One kill: when, how many processes, runs until the job ended well, what differs then."""

    job: str
    engine: str
    moment: float
    of: float
    processes: int
    runs: int
    differing: list[str]


def benchmark(settings: Settings) -> None:
    """Kill every job at every point; `JobFailed` if what is left differs."""
    base = Path(settings.folder or Path(tempfile.gettempdir()) / "adnominal-bench" / "job-kills")
    prepared = prepare(base / "prepared")
    cases = []
    for name in settings.jobs or JOBS:
        for engine in settings.engines if JOBS[name].engines else settings.engines[:1]:
            cases += killed(base / f"{name}-{engine}", prepared, name, engine, settings)
    section = page(cases)
    print(section)
    wrong = [case for case in cases if case.differing]
    if settings.keep:
        write_section("job-kills", section, packages=PACKAGES)
        record("job_kills", {"cases": len(cases), "differing": len(wrong)})
    if wrong:
        raise JobFailed(f"{len(wrong)} of {len(cases)} cases differ, such as {wrong[0]}")


def prepare(folder: Path) -> Path:
    """A lake with all that the jobs read, the answers of made-up annotators, and a small model."""
    if (folder / "done").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    lake = folder / "lake"
    annotate = "etl/annotate_adept.py"
    for words in (
        f"etl/pipeline.py conf/demo/pipeline.yaml lake={lake}",
        f"{annotate} export batch={folder}/batch.csv edition=demo gold=0 lake={lake}",
        f"{annotate} simulate batch={folder}/batch.csv out={folder}/answers.csv lake={lake}",
        # On a lake of its own: the lake that jobs are killed on has no predictions.
        f"training/finetune.py conf/training/asp_demo.yaml epochs=1 out={folder}/model "
        f"lake={folder}/training tracking=sqlite:///{folder}/training.db",
    ):
        if words.startswith("training/"):
            shutil.copytree(lake, folder / "training")
        output = folder / "output.txt"
        process = start(words, output)
        if process.wait(WAITED):
            raise RuntimeError(f"{words}:\n{output.read_text()[-2000:]}")
    shutil.rmtree(folder / "training")
    (folder / "done").touch()
    return folder


def start(words: str, output: Path, processes: int = 0) -> subprocess.Popen[bytes]:
    """Begin a command of the repository, `processes` of it by DeepSpeed's launcher."""
    command = [sys.executable, *words.split()]
    environment = {**os.environ, **job_lakes.environment()}
    if processes > 1:
        launcher = Path(sys.executable).with_name("deepspeed")
        command = [str(launcher), "--num_gpus", str(processes), *words.split()]
        environment["DS_ACCELERATOR"] = "cpu"
    with output.open("ab") as file:
        return subprocess.Popen(
            command, cwd=ROOT, stdout=file, stderr=file, env=environment, start_new_session=True
        )


def words_of(job: Job, folder: Path, engine: str) -> str:
    """The command line in a case's folder."""
    return job.words.format(lake=folder / "lake", folder=folder, engine=engine)


def contents(job: Job, folder: Path) -> dict[str, str]:
    """What the job's tables hold, but for what is a run's own; and its files, as they are."""
    found = {}
    for name in job.tables:
        if arrow.version(str(folder / "lake"), name) is None:
            continue
        rows = arrow.read(str(folder / "lake"), name)
        rows = rows.drop_columns([own for own in OWN if own in rows.column_names])
        found[name] = sha256("\n".join(sorted(map(repr, rows.to_pylist()))).encode()).hexdigest()
    for name in job.files:
        path = folder / name
        found[name] = path.read_text() if path.exists() else "missing"
    return found


def killed(folder: Path, prepared: Path, name: str, engine: str, settings: Settings) -> list[Case]:
    """The cases of one job; those that were finished before are read again."""
    job = JOBS[name]
    kept = folder / "cases.jsonl"
    cases = (
        [Case(**json.loads(line)) for line in kept.read_text().splitlines()]
        if kept.exists()
        else []
    )
    if len(cases) >= settings.kills:
        return cases
    whole = fresh(folder / "whole", prepared)
    output = folder / "output.txt"
    began = time.monotonic()
    if start(words_of(job, whole, engine), output, job.processes).wait(WAITED):
        raise RuntimeError(f"{name} in peace failed:\n{output.read_text()[-2000:]}")
    wall = time.monotonic() - began
    expected = contents(job, whole)
    for number in range(len(cases), settings.kills):
        place = fresh(folder / "case", prepared)
        draw = random.Random(f"{settings.seed}/{name}/{engine}/{number}")
        moment = wall * (number + draw.random()) / settings.kills
        process = start(words_of(job, place, engine), output, job.processes)
        processes = 0
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            processes = kill_tree(process)
        runs = 0
        while runs < RUNS:
            runs += 1
            if not start(words_of(job, place, engine), output, job.processes).wait(WAITED):
                break
        else:
            raise RuntimeError(f"{name}: {RUNS} runs failed:\n{output.read_text()[-2000:]}")
        found = contents(job, place)
        differing = sorted(key for key in expected if found.get(key) != expected[key])
        case = Case(name, engine, moment, wall, processes, runs, differing)
        log.info("%s", case)
        cases.append(case)
        with kept.open("a") as file:
            file.write(json.dumps(asdict(case)) + "\n")
    return cases


def fresh(folder: Path, prepared: Path) -> Path:
    """`folder` with what was prepared."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(prepared, folder)
    return folder


def page(cases: list[Case]) -> str:
    """The section of RESULTS.md."""
    rows = [["job", "engine", "in peace", "kills", "runs afterwards", "differing"]]
    for name, engine in dict.fromkeys((case.job, case.engine) for case in cases):
        own = [case for case in cases if (case.job, case.engine) == (name, engine)]
        differing = sorted({what for case in own for what in case.differing})
        rows.append(
            [
                name,
                engine,
                f"{own[0].of:.0f} s",
                str(sum(case.processes > 0 for case in own)),
                str(sum(case.runs for case in own)),
                ", ".join(differing) or "none",
            ]
        )
    same = sum(not case.differing for case in cases)
    return "\n".join(
        [
            "## Jobs killed and run again",
            "",
            "`python -m benchmarks.job_kills`: jobs on the embedded corpus, killed (kill -9, all "
            "processes) within each of equal spans of their time, then given again.",
            "",
            f"**{same} of {len(cases)} cases: the tables and files are those of a run in peace.**",
            "",
            table(rows),
        ]
    )


if __name__ == "__main__":
    sys.exit(conf.run(Settings, benchmark))
