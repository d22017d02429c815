"""Predicting: ``training/predict.py`` over a million rows against its model's bare forward pass.

    python -m benchmarks.predict [same]

The job, as a user starts it, and a process that does nothing but forward passes over batches that
are tokenised and sorted by length already, run in turn, the other one stopped (SIGSTOP), for as
long as ``PREDICT_SECONDS`` allow (600): what the machine's neighbours do, they do to both. Then the
job is killed, and a smaller table is classified by one process, by two, and by one that is killed
and started again: are the predictions the same, none twice and none missing? With ``same`` only
that is looked at, and recorded beside the speed of the last run. ``PREDICT_ROWS`` are the rows of
the table (1,000,000), ``PREDICT_CHECKED`` those of the smaller one (2,000), ``PREDICT_CHUNK`` those
of a commit (2,048). The sentences are those of the published ADEPT where ``ADNOMINAL_DATA`` has it,
else made up; the model is MiniLM with a head that nobody has trained: speed is all that is asked of
it.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa

from benchmarks import results
from benchmarks.processes import kill_tree
from benchmarks.train import MODEL, device_name, pairs
from conf import ROOT
from etl.adept import LABELS
from etl.lake import arrow
from etl.lake.tables import table

KEY = "predict"
SECONDS = float(os.environ.get("PREDICT_SECONDS", "600"))
ROWS = int(os.environ.get("PREDICT_ROWS", "1000000"))
CHECKED = int(os.environ.get("PREDICT_CHECKED", "2000"))
CHUNK = int(os.environ.get("PREDICT_CHUNK", "2048"))
BATCH = 64
# Seconds that one side runs before the other's turn.
TURN = min(10.0, SECONDS / 6)
# Rows that the bare pass goes round and round.
BARE = 16_384
TARGET = 0.9
PACKAGES = ["torch", "transformers", "pyarrow", "deltalake"]


def fill(lake: str, size: int, piece: int = 250_000) -> None:
    """A table adept_items of `size` rows of edition bench, made without Spark."""
    found = pairs(min(size, piece))
    schema = table("adept_items").schema
    columns = {
        "sentence": pa.array([first for first, *_ in found]),
        "modified_sentence": pa.array([second for _, second, _ in found]),
    }
    for start in range(0, size, piece):
        count = min(piece, size - start)
        ids = [
            hashlib.blake2b(f"{at}".encode(), digest_size=16).hexdigest()
            for at in range(start, start + count)
        ]
        own = {name: column.slice(0, count) for name, column in columns.items()}
        own |= {"item_id": pa.array(ids), "edition": pa.repeat("bench", count)}
        rows = [own.get(f.name, pa.nulls(count, f.type)) for f in schema]
        arrow.append(lake, "adept_items", pa.table(rows, schema=schema), job="bench")


def untrained(folder: Path) -> str:
    """A folder with the encoder and a head of five classes with random weights."""
    import torch
    from transformers import AutoConfig, AutoModelForSequenceClassification

    from training.encoders import find, quiet

    found = find(MODEL)
    torch.manual_seed(0)
    config = AutoConfig.from_pretrained(found.path, id2label=dict(enumerate(LABELS)))
    with quiet():
        model = AutoModelForSequenceClassification.from_pretrained(found.path, config=config)
        model.save_pretrained(folder)
    found.tokenizer.save_pretrained(folder)
    return os.fspath(folder)


def command(lake: str, model: str, folder: Path, *more: str) -> list[str]:
    """The job's command line, without what starts it."""
    return [
        os.fspath(ROOT / "training" / "predict.py"),
        f"model={model}",
        "table=adept_items",
        f"lake={lake}",
        f"folder={folder}",
        f"batch_size={BATCH}",
        "tracking=none",
        *more,
    ]


def bare(lake: str, model: str) -> None:
    """Forward passes for ever; a line of rows done and CPU seconds after each batch."""
    import torch

    from training.answering import classifier, texts
    from training.batching import evaluation_batches, rng
    from training.loading import resolve

    own = classifier(resolve(model))
    rows = arrow.read(lake, "adept_items", columns=["sentence", "modified_sentence"], version=0)
    rows = rows.slice(0, BARE)
    encoded = own.encode(texts(*(rows[name].combine_chunks() for name in rows.column_names)))
    batches = evaluation_batches(encoded.lengths("rows"), BATCH, 0, 1)
    device = next(own.model.parameters()).device
    done = 0
    with torch.inference_mode():
        while True:
            # Long and short ones mixed, so that a round that is cut off stands for all of them.
            for at in rng("bare").permutation(len(batches)):
                batch = encoded.collate("rows", batches[at])
                own.model(**{name: value.to(device) for name, value in batch.items()}).logits.cpu()
                done += len(batches[at])
                print(json.dumps([done, time.process_time()]), flush=True)


@dataclass
class Side:
    """A process that runs in turns: seconds that it was let run, and what it had done by when."""

    process: subprocess.Popen[bytes]
    active: float = 0.0
    seen: list[tuple[float, float, float]] = field(default_factory=list)

    def note(self, rows: float, active: float, cpu: float) -> None:
        """That so many rows were done, after how many seconds of its turns and of the CPU."""
        if not self.seen or rows > self.seen[-1][0]:
            self.seen.append((rows, active, cpu))

    def rates(self) -> dict[str, float]:
        """Rows a second and a CPU second, from what was seen first to what was seen last."""
        if len(self.seen) < 3:
            raise SystemExit(
                f"PREDICT_SECONDS={SECONDS:g}: too few to measure; expected more, or a smaller "
                f"PREDICT_CHUNK than {CHUNK}"
            )
        (rows0, wall0, cpu0), (rows1, wall1, cpu1) = self.seen[0], self.seen[-1]
        return {
            "rows": rows1 - rows0,
            "rows_per_second": (rows1 - rows0) / (wall1 - wall0),
            "rows_per_cpu_second": (rows1 - rows0) / (cpu1 - cpu0),
        }


def in_turns(lake: str, model: str, folder: Path) -> dict[str, Any]:
    """Both sides in turns until the time is over; their rates, and the ratios."""
    state, told = folder / "state", folder / "bare.txt"
    log = Path(lake) / "predictions" / "_delta_log"
    with (folder / "job.txt").open("wb") as errors, told.open("wb") as lines:
        job = Side(
            subprocess.Popen(
                [sys.executable, *command(lake, model, state, f"chunk={CHUNK}")],
                stdout=errors,
                stderr=errors,
            )
        )
        other = Side(
            subprocess.Popen(
                [sys.executable, "-m", "benchmarks.predict", "bare", lake, model],
                cwd=ROOT,
                stdout=lines,
            )
        )
    try:
        # Until both have begun, they run side by side; loading is not in the time.
        ready = {"job": False, "bare": False}
        while not all(ready.values()):
            for name, own in (("job", job), ("bare", other)):
                if own.process.poll() is not None:
                    raise SystemExit(f"{name} ended: {(folder / 'job.txt').read_text()[-2000:]}")
            ready = {"job": any(log.glob("*.json")), "bare": told.stat().st_size > 0}
            for name, own in (("job", job), ("bare", other)):
                if ready[name] and not all(ready.values()):
                    psutil.Process(own.process.pid).suspend()
            time.sleep(0.05)
        turn, started = 0, time.monotonic()
        while time.monotonic() - started < SECONDS:
            running, waiting = ((job, other), (other, job))[turn % 2]
            psutil.Process(waiting.process.pid).suspend()
            _one_turn(running, job, log, told)
            turn += 1
    finally:
        for own in (job, other):
            kill_tree(own.process)
    return {"job": job.rates(), "bare": other.rates(), "seconds": job.active + other.active}


def _one_turn(running: Side, job: Side, log: Path, told: Path) -> None:
    watched = psutil.Process(running.process.pid)
    watched.resume()
    begun = time.monotonic()
    while (spent := time.monotonic() - begun) < TURN:
        if running.process.poll() is not None:
            raise SystemExit("a side ended before the time was over; expected more PREDICT_ROWS")
        if running is job:
            times = watched.cpu_times()
            # A commit a chunk; the first is the table's. Chunks are as large as asked, about.
            done = _predicted(log)
            running.note(done, running.active + spent, times.user + times.system)
        else:
            lines = told.read_bytes().rsplit(b"\n", 2)
            rows, cpu = json.loads(lines[-2])
            running.note(rows, running.active + spent, cpu)
        time.sleep(0.02)
    running.active += spent
    watched.suspend()


_SIZES: dict[str, int] = {}


def _predicted(log: Path) -> int:
    """Rows that are committed, from the log: each commit says how many it has added."""
    for path in log.glob("*.json"):
        if path.name not in _SIZES:
            info = next(
                own["commitInfo"]
                for own in map(json.loads, path.read_text().splitlines())
                if "commitInfo" in own
            )
            _SIZES[path.name] = int(json.loads(info["userMetadata"])["rows"])
    return sum(_SIZES.values())


def staging(lake: str, folder: Path) -> float:
    """Seconds that the rows take to be read and laid down in chunks, once a run."""
    from training.predicting.rows import Columns, Query, stage

    columns = Columns("item_id", "edition", "sentence", "modified_sentence")
    version = arrow.version(lake, "adept_items")
    assert version is not None
    started = time.perf_counter()
    stage(Query(lake, "adept_items", version, columns), folder / "staged", chunk=CHUNK)
    return time.perf_counter() - started


def same(model: str, folder: Path) -> dict[str, Any]:
    """One process, two, and one that is killed: whether their predictions are the same.

    Each has a lake of its own with the same rows: in one they would find each other's predictions.
    """
    chunk = f"chunk={max(1, CHECKED // 16)}"

    def lake_of(name: str) -> str:
        return os.fspath(folder / f"lake-{name}")

    def run(name: str, processes: int = 1, *, kill: bool = False) -> None:
        lake = lake_of(name)
        if not Path(lake).exists():
            fill(lake, CHECKED)
        own = command(lake, model, folder / name, chunk)
        log = Path(lake) / "predictions" / "_delta_log"
        start = [sys.executable]
        if processes > 1:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            launcher = os.fspath(Path(sys.executable).with_name("deepspeed"))
            start += [launcher, f"--num_gpus={processes}", f"--master_port={port}"]
        with (folder / f"{name}.txt").open("ab") as out:
            process = subprocess.Popen([*start, *own], stdout=out, stderr=out)
        while kill and process.poll() is None and len(list(log.glob("*.json"))) < 3:
            time.sleep(0.01)
        if kill:
            kill_tree(process)
            return
        if process.wait():
            raise SystemExit(f"{name} failed: {(folder / f'{name}.txt').read_text()[-2000:]}")

    def rows(name: str) -> list[dict[str, Any]]:
        (plan,) = (folder / name).glob("*/plan.json")
        run_id = json.loads(plan.read_text())["run_id"]
        names = ["edition", "item_id", "predicted", "scores"]
        own = [("run_id", "=", run_id)]
        found = arrow.read(lake_of(name), "predictions", where=own, columns=names)
        return list(found.sort_by([("item_id", "ascending")]).to_pylist())

    run("one")
    run("two", 2)
    run("killed", kill=True)
    left = len(rows("killed"))
    run("killed")
    one = rows("one")
    return {
        "rows": len(one),
        "complete": len({row["item_id"] for row in one}) == len(one) == CHECKED,
        "two processes": rows("two") == one,
        "killed at": left,
        "killed": 0 < left < CHECKED and rows("killed") == one,
    }


def page(kept: dict[str, dict[str, Any]]) -> str:
    """The section of the page, of the devices that have been recorded."""
    lines = ["## Predicting: rows a second", ""]
    for name, own in sorted(kept.items()):
        job, other, rows = own["job"], own["bare"], own["table_rows"]
        clock = "cpu_second" if name == "cpu" else "second"
        unit = {"cpu_second": "CPU second", "second": "second"}[clock]
        ratio = job[f"rows_per_{clock}"] / other[f"rows_per_{clock}"]
        whole = rows / job["rows_per_second"] + own["staging_seconds"]
        lines += [
            results.table(
                [
                    (f"{MODEL} on {name}", "rows measured", "rows/s", "rows/CPU s"),
                    *(
                        (
                            told,
                            f"{side['rows']:,.0f}",
                            f"{side['rows_per_second']:.1f}",
                            f"{side['rows_per_cpu_second']:.1f}",
                        )
                        for told, side in (
                            ("training/predict.py", job),
                            ("bare forward, sorted by length", other),
                        )
                    ),
                ]
            ),
            "",
            f"A table of {rows:,} rows, {own['seconds']:.0f} s in turns of {TURN:g} s, commits of "
            f"{own['chunk']:,} rows: {ratio:.3f} of the bare forward pass a {unit} "
            f"({job['rows_per_second'] / other['rows_per_second']:.3f} a second of its turns); "
            f"{results.verdict(ratio, TARGET)}: at least {TARGET}. Reading the rows and laying "
            f"them down takes {own['staging_seconds']:.1f} s, all of them at this rate "
            f"{whole / 60:.0f} minutes. (Load average {own['load']:.1f}.)",
            "",
            f"A table of {own['same']['rows']:,} rows: {_yes(own['same']['complete'])}; by two "
            f"processes {_same(own['same']['two processes'])}; killed (-9) after "
            f"{own['same']['killed at']:,} rows and started again "
            f"{_same(own['same']['killed'])}.",
            "",
        ]
    return "\n".join(lines).rstrip()


def _yes(complete: bool) -> str:
    return "each once" if complete else "NOT each once"


def _same(equal: bool) -> str:
    return "the same predictions and scores" if equal else "OTHER predictions"


def main(arguments: list[str]) -> None:
    """Measure, check, and write the page; `SystemExit` where predictions differ."""
    if arguments[:1] == ["bare"]:
        bare(*arguments[1:])
        return
    if arguments not in ([], ["same"]):
        raise SystemExit(f"{' '.join(arguments)}: expected nothing, or same")
    name = device_name()
    with tempfile.TemporaryDirectory(prefix="predict-") as kept:
        folder = Path(kept)
        model = untrained(folder / "model")
        if arguments:
            found = results.recorded().get(KEY, {}).get(name)
            if found is None:
                raise SystemExit("no speed is recorded; run python -m benchmarks.predict first")
        else:
            lake = os.fspath(folder / "lake")
            fill(lake, ROWS)
            found = {
                "table_rows": ROWS,
                "chunk": CHUNK,
                "staging_seconds": staging(lake, folder),
                **in_turns(lake, model, folder),
                "load": os.getloadavg()[0],
            }
        found["same"] = same(model, folder)
    every = {**results.recorded().get(KEY, {}), name: found}
    results.record(KEY, every)
    results.write_section(KEY, page(every), packages=PACKAGES)
    print(page({name: found}))
    checks = found["same"]
    if not (checks["complete"] and checks["two processes"] and checks["killed"]):
        raise SystemExit("the predictions are not the same")


if __name__ == "__main__":
    main(sys.argv[1:])
