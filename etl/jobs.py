"""The jobs by name, and pipelines of several jobs in one session of their engine.

A pipeline is described in one file, and its steps share the start of the engine::

    lake: /data/lake
    steps:
      - extract_amod: {source: depcc, input: [/data/depcc/*.gz]}
      - import_knowledge: {conceptnet: [conceptnet-assertions-5.7.0.csv]}
      - build_plane: {preset: clean}

The settings are those of the jobs' command lines, and so is the behaviour of a repeated run:
extraction continues where it stopped, and an import or a build replaces what it wrote before. A
killed pipeline can therefore be run again with the same command.
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from adnominal import conf
from adnominal.conf import JobFailed, UserError, setting
from adnominal.conf.progress import duration
from adnominal.etl.amod import job as amod
from adnominal.etl.amod.settings import Settings as Amod
from adnominal.etl.engine import EngineSettings, choose, start
from adnominal.etl.external import job as external
from adnominal.etl.external.settings import Settings as External
from adnominal.etl.knowledge import job as knowledge
from adnominal.etl.published import job as published
from adnominal.etl.published import pairs
from adnominal.etl.registry import DATASETS

log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Job:
    """A job: the class of its settings and the function that runs it."""

    settings: type
    run: Callable[[Any], None]


def _build_of(dataset: str) -> Job:
    """Return the build of a dataset: `Settings` of its ``settings`` and `build` of its ``job``."""
    settings = import_module(f"adnominal.etl.{dataset}.settings").Settings
    return Job(settings, import_module(f"adnominal.etl.{dataset}.job").build)


JOBS: Mapping[str, Job] = {
    "extract_amod": Job(Amod, amod.extract),
    "import_knowledge": Job(knowledge.Settings, knowledge.import_knowledge),
    "import_published": Job(published.Settings, published.import_published),
    "import_pairs": Job(pairs.Settings, pairs.import_pairs),
    "import_predictions": Job(External, external.import_predictions),
    **{f"build_{name}": _build_of(name) for name in DATASETS},
}
"""The jobs by the names of their scripts in ``etl/``."""


@dataclass(frozen=True)
class Settings(EngineSettings):
    steps: list[dict[str, Any]] = setting(
        help="jobs in order, each with its settings; in a YAML file: - build_asp: {seed: 1}",
        example="conf/demo/pipeline.yaml (a file with a list of steps: in it)",
    )
    first: int = setting(
        1,
        help="number of the first step to run; the steps before it are skipped",
        example="first=3",
    )
    lake: str = setting(
        "lake",
        help="folder or URI of the lake, for each step that names no other",
        example="lake=/data/lake",
    )

    input: list[str] = setting(
        [],
        help="input of the steps extract_amod, instead of that in the file",
        example="input=/data/enwiki-20130403-pages-articles.xml.bz2",
    )

    def __post_init__(self) -> None:
        if not self.steps:
            raise UserError("steps: the list is empty; expected a line like - build_asp: {seed: 1}")
        if not 1 <= self.first <= len(self.steps):
            raise UserError(f"first={self.first}: expected 1 to {len(self.steps)}, a step's number")
        if self.input and not any("extract_amod" in step for step in self.steps):
            raise UserError("input= is for a step extract_amod, and there is none; leave it out")


@dataclass(frozen=True)
class Step:
    """A job with its settings, its number from 1, and its label in messages."""

    number: int
    label: str
    job: Job
    settings: Any


def planned_steps(settings: Settings) -> list[Step]:
    """Return the steps to run, each with its resolved settings.

    Raises:
        UserError: a step is not a job or the job rejects its settings; the message names the step.
            Steps before `first` are checked too.
    """
    steps = []
    for number, step_text in enumerate(settings.steps, 1):
        if len(step_text) != 1:
            names = ", ".join(map(str, step_text)) or "nothing"
            expected = "expected one job with its settings, as - build_asp: {seed: 1}"
            raise UserError(f"step {number}: got {names}; {expected}")
        ((name, options),) = step_text.items()
        label = f"step {number} of {len(settings.steps)}, {name}"
        if name not in JOBS:
            raise UserError(f"{label}: no such job; expected one of {', '.join(JOBS)}")
        if options is not None and not isinstance(options, Mapping):
            raise UserError(f"{label}: got {options!r}; expected its settings, as {{seed: 1}}")
        job = JOBS[name]
        try:
            shared: dict[str, Any] = {"lake": settings.lake}
            if issubclass(job.settings, EngineSettings):
                shared |= {"engine": settings.engine, "memory": settings.memory}
            values = {**shared, **(options or {})}
            if settings.input and name == "extract_amod":
                values["input"] = settings.input
            job_settings: Any = conf.from_dict(job.settings, values)
            if issubclass(job.settings, EngineSettings):
                _check_session(job_settings, settings)
        except UserError as error:
            raise UserError(f"{label}: {error}") from error
        steps.append(Step(number, label, job, job_settings))
    return steps[settings.first - 1 :]


def _check_session(step: EngineSettings, pipeline: EngineSettings) -> None:
    """Raise `UserError` if a step asks for another session than that of the pipeline."""
    defaults = EngineSettings()
    for name in ("engine", "memory"):
        value, shared = getattr(step, name), getattr(pipeline, name)
        if name == "engine" and value not in (shared, defaults.engine):
            # The engine that the pipeline would choose by itself counts as the same session.
            shared = choose(shared)
        if value not in (shared, getattr(defaults, name)):
            got = f"got {name}={value}, and {name}={shared or 'none'} for the pipeline"
            raise UserError(f"{got}; all steps share one session: give {name}= beside steps:")


def run_steps(settings: Settings) -> None:
    """Run several jobs in one session: extraction, imports, builds.

    steps= lists them with their settings, in a YAML file; the jobs are extract_amod,
    import_knowledge, import_published, import_pairs, build_adept, build_plane, build_asp and
    build_sygns, and python -m etl.JOB --help lists the settings of each. All steps are checked
    before the first runs, and the first step that fails ends the pipeline. When the pipeline is run
    again, extraction continues where it stopped, and imports and builds replace what they wrote;
    first=N skips the steps that are done.
    """
    steps = planned_steps(settings)
    start("pipeline", settings)
    job_start = time.monotonic()
    for steps_done, step in enumerate(steps, 1):
        log.info("== %s\n%s", step.label, conf.as_yaml(step.settings).rstrip())
        step_start = time.monotonic()
        _run(step)
        end = time.monotonic()
        seconds, all_seconds = duration(end - step_start), duration(end - job_start)
        done = f"{steps_done} of {len(steps)} in {all_seconds}"
        log.info("== %s: done in %s; %s", step.label, seconds, done)


def _run(step: Step) -> None:
    """Run a step; its errors name the step and tell how to continue."""
    resume_hint = f"(after correcting it, continue with first={step.number})"
    try:
        step.job.run(step.settings)
    except (UserError, JobFailed) as error:
        raise type(error)(f"{step.label}: {error} {resume_hint}") from error
    except Exception:
        log.error("%s failed %s", step.label, resume_hint)
        raise
