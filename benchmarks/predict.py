"""Predicting: ``training/predict.py`` over a million rows against its model's bare forward pass.

speed  the job, as a user starts it, and a process that only does forward passes over batches that
       are already tokenised and sorted by length; they run in turn for `seconds`, with the other
       one stopped (SIGSTOP), so that other load on the machine affects both
same   a smaller table is classified by one process, by two, and by one that is killed and started
       again: are the predictions the same, with no duplicate and none missing?

The sentences are those of the published ADEPT if ``ADNOMINAL_DATA`` has it, otherwise made up; the
model is MiniLM with an untrained head, because only speed is measured.
"""

import hashlib
import json
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import psutil

from adnominal.conf import ROOT, JobFailed, UserError, setting
from adnominal.etl.adept import LABELS
from adnominal.etl.lake import arrow
from adnominal.etl.lake.schema import rows_of_schema
from adnominal.etl.lake.tables import table
from benchmarks import results
from benchmarks.harness import Bound, Case, CaseSettings, Exact, Measurement
from benchmarks.killing import Command
from benchmarks.processes import caller, job, kill_tree, timed
from benchmarks.results import Figures
from benchmarks.train import MODEL, device_name, pairs

BATCH = 64
TURN = 10.0  # maximum seconds that a side runs before the other's turn
BARE = 16_384  # rows that the bare pass repeats


@dataclass(frozen=True)
class Settings(CaseSettings):
    seconds: float = setting(600.0, help="how long both sides run")
    rows: int = setting(1_000_000, help="rows of the table of the part speed")
    checked: int = setting(2000, help="rows of the table of the part same")
    chunk: int = setting(2048, help="rows per commit")

    @property
    def turn(self) -> float:
        """Seconds that one side runs before the other's turn."""
        return min(TURN, self.seconds / 6)


def fill(lake: str, size: int, piece: int = 250_000) -> None:
    """Write a table adept_items of `size` rows of edition bench, made without Spark."""
    first, second, _ = map(list, zip(*pairs(min(size, piece)), strict=True))
    schema = table("adept_items").schema
    for start in range(0, size, piece):
        count = min(piece, size - start)
        ids = [
            hashlib.blake2b(f"{at}".encode(), digest_size=16).hexdigest()
            for at in range(start, start + count)
        ]
        columns = {"sentence": first[:count], "modified_sentence": second[:count]}
        rows = rows_of_schema(schema, count, {**columns, "item_id": ids, "edition": "bench"})
        arrow.append(lake, "adept_items", rows, job="bench")


def untrained(folder: Path) -> str:
    """A folder with the encoder and a randomly initialised head with five classes."""
    import torch
    from transformers import AutoConfig, AutoModelForSequenceClassification

    from adnominal.training.models.pretrained import find, quiet

    encoder = find(MODEL)
    torch.manual_seed(0)
    config = AutoConfig.from_pretrained(encoder.path, id2label=dict(enumerate(LABELS)))
    with quiet():
        model = AutoModelForSequenceClassification.from_pretrained(encoder.path, config=config)
        model.save_pretrained(folder)
    encoder.tokenizer.save_pretrained(folder)
    return os.fspath(folder)


def command(lake: str, model: str, folder: Path, chunk: int) -> list[str]:
    """The job's command line."""
    words = [f"model={model}", "table=adept_items", f"lake={lake}", f"folder={folder}"]
    words += [f"batch_size={BATCH}", "tracking=none", f"chunk={chunk}"]
    return job("training/predict.py", *words)


def bare(lake: str, model: str) -> None:
    """Endless forward passes; prints the rows done and the CPU seconds after each batch."""
    import torch

    from adnominal.training.answering import classifier, texts
    from adnominal.training.batching import evaluation_batches, rng
    from adnominal.training.models.loading import resolve

    answerer = classifier(resolve(model))
    rows = arrow.read(lake, "adept_items", columns=["sentence", "modified_sentence"], version=0)
    rows = rows.slice(0, BARE)
    encoded = answerer.encode(texts(*(rows[name].combine_chunks() for name in rows.column_names)))
    batches = evaluation_batches(encoded.lengths("rows"), BATCH, 0, 1)
    device = next(answerer.model.parameters()).device
    rows_done = 0
    with torch.inference_mode():
        while True:
            # Long and short batches are mixed, so that an interrupted round is representative.
            for at in rng("bare").permutation(len(batches)):
                batch = encoded.collate("rows", batches[at])
                answerer.model(**{name: v.to(device) for name, v in batch.items()}).logits.cpu()
                rows_done += len(batches[at])
                print(json.dumps([rows_done, time.process_time()]), flush=True)


@dataclass
class Side:
    """A process that runs in turns: its running time in seconds, and its progress over time."""

    process: subprocess.Popen[bytes]
    active: float = 0.0
    progress: list[tuple[float, float, float]] = field(default_factory=list)

    def note(self, rows: float, active: float, cpu: float) -> None:
        """Record the rows done after these seconds of its turns and of CPU time."""
        if not self.progress or rows > self.progress[-1][0]:
            self.progress.append((rows, active, cpu))

    def rates(self) -> dict[str, float]:
        """Rows per second and per CPU second, from the first progress to the last."""
        if len(self.progress) < 3:
            raise UserError(
                "seconds= is too short to measure; expected more seconds or a smaller chunk="
            )
        first, last = self.progress[0], self.progress[-1]
        rows, wall, cpu = (end - start for start, end in zip(first, last, strict=True))
        return {"rows": rows, "rows_per_second": rows / wall, "rows_per_cpu_second": rows / cpu}


@cache
def committed_rows(commit: Path) -> int:
    """The number of rows added by a commit, according to the table's log."""
    actions = map(json.loads, commit.read_text().splitlines())
    info = next(action["commitInfo"] for action in actions if "commitInfo" in action)
    return int(json.loads(info["userMetadata"])["rows"])


class Turns:
    """The job and the bare pass, which run in turns on one lake."""

    def __init__(self, lake: str, model: str, folder: Path, settings: Settings) -> None:
        self._settings = settings
        self._lines, self._errors = folder / "bare.txt", folder / "job.txt"
        self._log = Path(lake) / "predictions" / "_delta_log"
        with self._errors.open("wb") as errors, self._lines.open("wb") as lines:
            words = command(lake, model, folder / "state", settings.chunk)
            self.job = Side(subprocess.Popen(words, stdout=errors, stderr=errors))
            words = caller("benchmarks.predict:bare", lake, model)
            self.bare = Side(subprocess.Popen(words, cwd=ROOT, stdout=lines))

    def run(self) -> Figures:
        """Run both sides in turns until the time is over; return their rates."""
        try:
            self._wait_until_ready()
            turn, started = 0, time.monotonic()
            while time.monotonic() - started < self._settings.seconds:
                running, waiting = ((self.job, self.bare), (self.bare, self.job))[turn % 2]
                psutil.Process(waiting.process.pid).suspend()
                self._one_turn(running)
                turn += 1
        finally:
            for side in (self.job, self.bare):
                kill_tree(side.process)
        seconds = self.job.active + self.bare.active
        return {"job": self.job.rates(), "bare": self.bare.rates(), "seconds": seconds}

    def _wait_until_ready(self) -> None:
        # Both run concurrently until both have started; loading is not in the time.
        ready = [False, False]
        while not all(ready):
            if any(side.process.poll() is not None for side in (self.job, self.bare)):
                raise JobFailed(f"a side ended: {self._errors.read_text()[-2000:]}")
            ready = [any(self._log.glob("*.json")), self._lines.stat().st_size > 0]
            for side, is_ready in zip((self.job, self.bare), ready, strict=True):
                if is_ready and not all(ready):
                    psutil.Process(side.process.pid).suspend()
            time.sleep(0.05)

    def _one_turn(self, running: Side) -> None:
        process = psutil.Process(running.process.pid)
        process.resume()
        begun = time.monotonic()
        while (spent := time.monotonic() - begun) < self._settings.turn:
            if running.process.poll() is not None:
                raise UserError("rows= is too few: a side ended before the time was over")
            if running is self.job:
                times = process.cpu_times()
                # One commit per chunk; the first creates the table. Chunk sizes are approximate.
                cpu = times.user + times.system
                count = sum(map(committed_rows, self._log.glob("*.json")))
                running.note(count, running.active + spent, cpu)
            else:
                rows, cpu = json.loads(self._lines.read_bytes().rsplit(b"\n", 2)[-2])
                running.note(rows, running.active + spent, cpu)
            time.sleep(0.02)
        running.active += spent
        process.suspend()


def staging(lake: str, folder: Path, chunk: int) -> float:
    """Seconds to read the rows and write them in chunks, once per run."""
    from adnominal.training.predicting.rows import Columns, Query, stage

    columns = Columns("item_id", "edition", "sentence", "modified_sentence")
    version = arrow.version(lake, "adept_items")
    assert version is not None
    with timed() as timing:
        stage(Query(lake, "adept_items", version, columns), folder / "staged", chunk=chunk)
    return timing.wall


def speed(settings: Settings) -> Figures:
    """Rates of the job and of the bare pass on a table of `rows`."""
    with tempfile.TemporaryDirectory(prefix="predict-") as name:
        folder = Path(name)
        lake, model = os.fspath(folder / "lake"), untrained(folder / "model")
        fill(lake, settings.rows)
        return {
            "table_rows": settings.rows,
            "chunk": settings.chunk,
            "turn": settings.turn,
            "staging_seconds": staging(lake, folder, settings.chunk),
            **Turns(lake, model, folder, settings).run(),
            "load": os.getloadavg()[0],
        }


class Classified:
    """A lake with rows, and runs of the job on it."""

    def __init__(self, folder: Path, name: str, model: str, rows: int) -> None:
        self._folder, self._name = folder, name
        # Each has its own lake; in a shared one they would find each other's predictions.
        self._lake = os.fspath(folder / f"lake-{name}")
        fill(self._lake, rows)
        words = command(self._lake, model, folder / name, max(1, rows // 16))[1:]
        self.command = Command(words, folder / f"{name}.txt")

    def kill(self) -> None:
        """Run the job until its third commit."""
        log = Path(self._lake) / "predictions" / "_delta_log"
        self.command.killed_when(lambda: len(list(log.glob("*.json"))) >= 3)

    def rows(self) -> list[dict[str, Any]]:
        """The predictions of the run, in the order of their items."""
        (plan,) = (self._folder / self._name).glob("*/plan.json")
        where = [("run_id", "=", json.loads(plan.read_text())["run_id"])]
        names = ["edition", "item_id", "predicted", "scores"]
        rows = arrow.read(self._lake, "predictions", where=where, columns=names)
        return list(rows.sort_by([("item_id", "ascending")]).to_pylist())


def same(settings: Settings) -> Figures:
    """Whether one process, two processes, and one that is killed give the same predictions."""
    count = settings.checked
    with tempfile.TemporaryDirectory(prefix="predict-") as name:
        folder = Path(name)
        model = untrained(folder / "model")
        one, two, killed = (Classified(folder, n, model, count) for n in ("one", "two", "killed"))
        one.command.run()
        replace(two.command, processes=2).run()
        killed.kill()
        left = len(killed.rows())
        killed.command.run()
        rows = one.rows()
        return {
            "rows": len(rows),
            "complete": len({row["item_id"] for row in rows}) == len(rows) == count,
            "two processes": two.rows() == rows,
            "killed at": left,
            "killed": 0 < left < count and killed.rows() == rows,
        }


def measurements(settings: Settings) -> dict[str, Measurement]:
    """The parts; figures are recorded under the device's name, those of `same` in a subkey."""
    name = device_name()
    recorded = results.recorded().get("predict", {}).get(name, {})
    # Figures of `speed` replace all of the device's.
    recorded_same = {"same": recorded["same"]} if "same" in recorded else {}
    parts: dict[str, dict[str, Measurement]] = {
        "speed": {name: lambda: speed(settings) | recorded_same},
        "same": {f"{name}/same": partial(same, settings)},
    }
    selected = settings.named_parts(parts)
    return {key: measure for part in selected for key, measure in parts[part].items()}


CASE = Case(
    "predict",
    measurements,
    settings=Settings,
    packages=("torch", "transformers", "pyarrow", "deltalake"),
    bounds={
        "speed": Bound("cpu.job.rows_per_cpu_second / cpu.bare.rows_per_cpu_second", least=0.9)
    },
    exact={
        name: Exact(f"figures.values()|map(attribute='same.{name}')|list|unique|list", [True])
        for name in ("complete", "two processes", "killed")
    },
)
