"""Jobs killed at ten points spread over their phases, then run again: are the tables the same?

On the embedded corpus: the four builds, the import of annotators' answers, a training run with one
process and with two, predictions and the report. Each job runs once uninterrupted on a copy of a
lake with its inputs. Then it is killed (kill -9, the whole process tree) in each of several equal
spans of that run's time, and the command is repeated until it succeeds. `engines=[sail,spark]` runs
the data jobs on both. Finished cases are stored in `folder`; a stopped benchmark continues.
"""

import re
import shutil
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from adnominal.conf import setting
from adnominal.etl.lake import arrow
from benchmarks.harness import Bound, Case, CaseSettings, log, whole
from benchmarks.jobs import emptied, written_once
from benchmarks.killing import Command, moment_in, stored
from benchmarks.results import Figures

# Columns that differ between runs: the run's id, the table's version, the model's folder.
RUN_COLUMNS = ("run_id", "table_version", "model")


@dataclass(frozen=True)
class Job:
    """A command, in words with {lake}, {folder} and {engine}, and the tables it writes."""

    words: str
    tables: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    engines: bool = False
    processes: int = 0

    def command(self, folder: Path, engine: str, output: Path) -> Command:
        """The command line in a case's folder."""
        words = self.words.format(lake=folder / "lake", folder=folder, engine=engine)
        return Command(words.split(), output, self.processes)

    def contents(self, folder: Path) -> dict[str, str]:
        """The contents of the tables, without run-specific columns, and of the files."""
        lake, contents = str(folder / "lake"), {}
        for name in self.tables:
            if arrow.version(lake, name) is not None:
                rows = arrow.read(lake, name)
                columns = [column for column in RUN_COLUMNS if column in rows.column_names]
                texts = sorted(map(repr, rows.drop_columns(columns).to_pylist()))
                contents[name] = sha256("\n".join(texts).encode()).hexdigest()
        for name in self.files:
            path = folder / name
            text = path.read_text() if path.exists() else "missing"
            text = re.sub(r"\d\d \w+ \d{4}, \d\d:\d\d UTC", "DATE", text)
            contents[name] = text.replace(str(folder), "FOLDER")
        return contents


_TRAIN = (
    "training/finetune.py conf/training/asp_demo.yaml lake={lake} out={folder}/runs "
    "tracking=sqlite:///{folder}/mlflow.db"
)
_BUILT = {
    "build_adept": ("adept_entries", "adept_items", "dropped"),
    "build_plane": ("plane_items", "plane_splits", "dropped"),
    "build_asp": ("asp_entailment", "asp_degree", "asp_splits"),
    "build_sygns": ("sygns", "sygns_splits"),
}
JOBS = {
    **{
        name: Job(
            f"etl/{name}.py preset=demo lake={{lake}} engine={{engine}}", tables, engines=True
        )
        for name, tables in _BUILT.items()
    },
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
        files=("report/report.html", "report/report_numbers.tsv"),
    ),
}


@dataclass(frozen=True)
class Settings(CaseSettings):
    jobs: list[str] = setting([], help="jobs to kill; all if none is named")
    engines: list[str] = setting(["sail"], help="engines of the data jobs")
    kills: int = setting(10, help="kills of each job")
    seed: int = setting(1, help="seed of the times of the kills")

    def __post_init__(self) -> None:
        self.check_known("jobs", list(JOBS))


def measured(settings: Settings) -> Figures:
    """Kill every job at every point."""
    base = settings.place("job-kills")
    prepared = written_once(base / "prepared", lambda: prepare(base / "prepared"))
    kills: list[Figures] = []
    for name in settings.jobs or JOBS:
        for engine in settings.engines if JOBS[name].engines else settings.engines[:1]:
            kills += killed(base / f"{name}-{engine}", prepared, name, engine, settings)
    differing = sum(bool(kill["differing"]) for kill in kills)
    return {"cases": len(kills), "differing": differing, "kills": kills}


def prepare(folder: Path) -> None:
    """Write a lake with all inputs of the jobs, the answers of simulated annotators, and a small
    model."""
    lake = emptied(folder) / "lake"
    annotate = "etl/annotate_adept.py"
    for words in (
        f"etl/pipeline.py conf/demo/pipeline.yaml lake={lake}",
        f"{annotate} export batch={folder}/batch.csv edition=demo gold=0 lake={lake}",
        f"{annotate} simulate batch={folder}/batch.csv out={folder}/answers.csv lake={lake}",
        # In a separate lake: the lake on which jobs are killed has no predictions.
        f"training/finetune.py conf/training/asp_demo.yaml epochs=1 out={folder}/model "
        f"lake={folder}/training tracking=sqlite:///{folder}/training.db",
    ):
        if words.startswith("training/"):
            shutil.copytree(lake, folder / "training")
        Command(words.split(), folder / "output.txt").run()
    shutil.rmtree(folder / "training")
    # The key for hashing annotators' ids is random if there is none: use one for all runs.
    (folder / "annotators.key").write_text("0" * 64)


def killed(
    folder: Path, prepared: Path, name: str, engine: str, settings: Settings
) -> list[Figures]:
    """The kills of one job: time of the kill and of the whole run, number of processes, runs until
    the job succeeded, and what differs then."""
    job, output = JOBS[name], folder / "output.txt"

    def in_peace() -> Figures:
        place = copied(prepared, folder / "whole")
        return {"wall": job.command(place, engine, output).run(), "contents": job.contents(place)}

    def kill(number: int) -> Figures:
        place = folder / "case"
        seed = f"{settings.seed}/{name}/{engine}/{number}"
        moment = moment_in(0, wall, (number, settings.kills), seed)
        command = job.command(place, engine, output)
        figures = command.killed_and_run_again(moment, prepare=partial(copied, prepared, place))
        contents = job.contents(place)
        differing = sorted(key for key in expected if contents.get(key) != expected[key])
        return figures | {"job": name, "engine": engine, "of": wall, "differing": differing}

    wall, expected = stored(folder / "peace.json", in_peace).values()
    kills = []
    for number in range(settings.kills):
        kills.append(stored(folder / f"case-{number}.json", partial(kill, number)))
        log.info("%s", kills[-1])
    return kills


def copied(prepared: Path, folder: Path) -> Path:
    """`folder` with a copy of the prepared files."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(prepared, folder)
    return folder


def context(figures: Figures) -> dict[str, Any]:
    """What the template needs besides the figures: the kills of each job and engine."""
    groups: dict[tuple[str, str], list[Figures]] = {}
    for kill in figures["kills"]:
        groups.setdefault((kill["job"], kill["engine"]), []).append(kill)
    return {"groups": groups}


CASE = Case(
    "job_kills",
    whole(measured),
    settings=Settings,
    packages=("pysail", "pyspark", "deltalake", "torch", "deepspeed"),
    bounds={"cases that differ": Bound("differing", most=0)},
    context=context,
)
