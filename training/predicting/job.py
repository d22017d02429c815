"""``training/predict.py``: rows to predictions, chunk by chunk, and what to annotate."""

from __future__ import annotations

import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from conf import JobFailed, UserError
from conf.progress import Progress, duration
from etl.lake import arrow, upkeep
from etl.lake.errors import LakeFailed
from etl.lake.tables import table as declaration
from training import launch, predictions
from training.answering import Classifier, classifier, texts
from training.batching import Ids, evaluation_batches
from training.encoders import PairLearner
from training.files import replace_json
from training.loading import ModelSource, resolve
from training.predicting import rows, selection
from training.predicting.rows import Query, columns
from training.predicting.settings import Settings
from training.runs import Outcome, Plan, Runs, folder_name
from training.sharding import read_deepspeed, stage_of
from training.tasks import Source
from training.tasks.asp import with_full_stop
from training.tracking import Run

JOB = "predict"

log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class _Plan:
    """What a run does, from its first start to its end; the same after each kill."""

    run_id: str
    version: int
    sizes: list[int]
    left_out: dict[str, int]
    editions: list[str]

    @property
    def rows(self) -> int:
        return sum(self.sizes)

    def transaction(self, chunk: int) -> tuple[str, int]:
        return f"{JOB}/{self.run_id}/{chunk}", 0

    def pending(self, lake: str) -> list[int]:
        """The chunks that are not in the table of predictions yet."""
        own = {self.transaction(chunk): chunk for chunk, size in enumerate(self.sizes) if size}
        for done in arrow.committed(lake, "predictions", list(own)):
            del own[done]
        return list(own.values())


@dataclass(frozen=True)
class _Work:
    """A model and the rows that it is to classify, both checked."""

    source: ModelSource
    query: Query
    content: str


def predict(settings: Settings) -> None:
    """Classifies rows of a table by a model that is there already, and selects items to annotate.

    Rows are read without Spark, shared out over the launcher's processes and committed in chunks to
    the table predictions, each once: the same command goes on with what a killed run has left.
    """
    runs = list(settings.runs)
    if settings.model is not None:
        work = prepare(settings)
        with launch.group(stage_of(settings.deepspeed) == 3):
            runs.insert(0, _predicted(settings, work))
    if settings.select is not None and launch.rank() == 0:
        _select(settings, runs)


def prepare(settings: Settings) -> _Work:
    """The model and the rows, and all mistakes that can be seen before weights are read.

    Raises:
        UserError: no such model, table, column or version; a condition that is not SQL or that no
            row fulfils; a model that generates texts.
    """
    assert settings.model is not None and settings.table is not None
    read_deepspeed(settings.deepspeed)
    source = resolve(settings.model, settings.tracking)
    if source.generates:
        raise UserError(f"model={source.name}: it generates texts; expected one that classifies")
    own = columns(
        settings.table,
        source,
        item=settings.item,
        first=settings.first,
        second=settings.second,
    )
    version = settings.version
    if version is None:
        # The newest; a table that is not there is told by what reads it.
        version = arrow.version(settings.lake, settings.table) or 0
    query = Query(settings.lake, settings.table, version, own, settings.where)
    rows.check(query)
    return _Work(source, query, source.content())


def _predicted(settings: Settings, work: _Work) -> str:
    """The id of the run whose predictions are all in the table: made now, or kept from before."""
    # The first process decides: a table may get another version while they all start.
    folder = Path(settings.folder) / _name(settings, work)
    folder = launch.broadcast(folder)
    runs = Runs(JOB, settings, settings.experiment or JOB)
    # Predictions that another lake has, or that somebody has deleted, are made again.
    kept = runs.finished(folder, lambda _: not _read_plan(folder).pending(settings.lake))
    if kept is None:
        model = classifier(
            work.source,
            max_length=settings.max_length,
            precision=settings.precision,
            deepspeed=settings.deepspeed,
        )
        name = settings.run_name or f"{work.query.table} by {work.source.name}"
        kept = runs.start(
            Plan(folder, name, settings, _facts(work, model)),
            lambda run: _outcome(settings, work, model, folder, run),
        )
        if launch.rank() == 0:
            shutil.rmtree(folder / "rows", ignore_errors=True)
    return str(kept["run_id"])


def _name(settings: Settings, work: _Work) -> str:
    """The folder's name: model, rows and settings by a hash, and the version that is read."""
    lake = settings.lake if "://" in settings.lake else os.path.abspath(settings.lake)
    content = {"model": work.source.name, "content": work.content, "lake": lake}
    name = folder_name(settings, **content, columns=asdict(work.query.columns))
    version = work.query.version
    if settings.version is None:
        # A run that was begun goes on with the version that it began with.
        for begun in sorted(Path(settings.folder).glob(f"{name}-v*/plan.json")):
            if not begun.with_name("result.json").exists():
                version = int(begun.parent.name.rpartition("-v")[2])
    return f"{name}-v{version}"


def _read_plan(folder: Path) -> _Plan:
    return _Plan(**json.loads((folder / "plan.json").read_text(encoding="utf-8")))


def _planned(settings: Settings, work: _Work, folder: Path, run: Run) -> _Plan:
    """The plan, the same in every process, with the rows written to disk."""
    if launch.rank() != 0:
        return launch.broadcast(_NOTHING)
    plan = _read_plan(folder) if (folder / "plan.json").exists() else None
    query = work.query if plan is None else replace(work.query, version=plan.version)
    if plan is None or not (folder / "rows").exists():
        staged = rows.stage(
            query,
            folder / "rows",
            chunk=settings.chunk,
            seed=settings.seed,
            limit=settings.limit,
        )
    if plan is None:
        plan = _Plan(run.name, query.version, staged.sizes, staged.left_out, staged.editions)
        replace_json(folder / "plan.json", asdict(plan))
    newest = arrow.version(settings.lake, work.query.table)
    if newest != plan.version and settings.version is None:
        log.info("going on with version %d (the newest is %s)", plan.version, newest)
    sizes = {"rows": plan.rows, "chunks": len(plan.sizes), "left_out": plan.left_out}
    run.parameters({"table_version": plan.version, **sizes})
    table = work.query.table
    run.inputs(settings.lake, [Source(table, name, plan.version) for name in plan.editions or [""]])
    log.info(
        "%s version %d: %s rows in %d chunks%s",
        work.query.table,
        plan.version,
        f"{plan.rows:,}",
        len(plan.sizes),
        "".join(f"; {count:,} left out: {reason}" for reason, count in plan.left_out.items()),
    )
    return launch.broadcast(plan)


_NOTHING = _Plan("", 0, [], {}, [])


def _facts(work: _Work, model: Classifier) -> dict[str, Any]:
    """What the run is known by beside its settings."""
    source = work.source
    return {
        "model_name": source.name,
        "model_content": work.content,
        "model_run_id": source.run_id,
        "labels": list(source.labels),
        "columns": asdict(work.query.columns),
        "tokens": model.limit,
        "processes": launch.world_size(),
    }


def _outcome(settings: Settings, work: _Work, model: Classifier, folder: Path, run: Run) -> Outcome:
    """Predict what is left; the figures on the terminal and in MLflow."""
    plan = _planned(settings, work, folder, run)
    result = _classified(settings, work, model, plan, folder, run)
    if launch.rank() != 0:
        return Outcome(result)
    _tidy(settings.lake)
    answers = result["predicted"]
    log.info(
        "%s rows classified, %s of them now in %s: %s; run %s",
        f"{result['rows']:,}",
        f"{result['rows_now']:,}",
        duration(result["seconds_now"]),
        ", ".join(f"{label} {count:,}" for label, count in answers.items()),
        plan.run_id,
    )
    final = {f"final/{name}": value for name, value in result["figures"].items()}
    final |= {f"final/share/{label}": n / result["rows"] for label, n in answers.items()}
    result["run_id"] = plan.run_id
    texts = {"result.json": json.dumps(result, indent=1) + "\n"}
    return Outcome(result, metrics=final, texts=texts)


def _tidy(lake: str) -> None:
    """Merge the files of the chunks; the predictions are in the table, whatever comes of it."""
    try:
        upkeep.compact(lake, declaration("predictions"))
    except LakeFailed as error:
        log.warning("the files of the predictions were not merged: %s", error)


def _classified(
    settings: Settings, work: _Work, model: Classifier, plan: _Plan, folder: Path, run: Run
) -> dict[str, Any]:
    """Do the chunks that are left, this process its share of them; the result of the run."""
    world = launch.world_size()
    pending = launch.broadcast(plan.pending(settings.lake) if launch.rank() == 0 else [])
    left = sum(plan.sizes[chunk] for chunk in pending)
    if launch.rank() == 0 and left < plan.rows:
        log.info("going on: %s of %s rows are left", f"{left:,}", f"{plan.rows:,}")
    # Rows, tokens, and tokens with padding that this process has done.
    done = np.zeros(3)
    started = time.perf_counter()
    with Progress(
        JOB, plan.rows, plan.rows - left, unit="rows", silent=launch.rank() != 0
    ) as progress:
        # A sharded model is asked by all processes together.
        own = pending if model.sharded else pending[launch.rank() :: world]

        def advance(count: int) -> None:
            # Chunks are alike: what this process has done, the others have too, about.
            progress.advance(count * world)

        for chunk, lengths in _chunks(settings, work, model, plan, folder, own, advance):
            batches = evaluation_batches(lengths, settings.batch_size, 0, 1)
            padded = sum(int(lengths[rows].max()) * len(rows) for rows in batches)
            done += (len(lengths), lengths.sum(), padded)
            of_all = done * (1 if model.sharded else world)
            run.metrics(_figures(of_all, time.perf_counter() - started), chunk)
    seconds = max(launch.gather(time.perf_counter() - started))
    done = done if model.sharded else np.sum(launch.gather(done), axis=0)
    if launch.rank() != 0:
        return {}
    counts = _counts(settings.lake, work.query.table, plan.run_id)
    if sum(counts.values()) != plan.rows:
        raise JobFailed(
            f"run {plan.run_id}: {sum(counts.values()):,} predictions in the table, expected "
            f"{plan.rows:,}; somebody has changed them"
        )
    return {
        "model": work.source.name,
        "table": work.query.table,
        "version": plan.version,
        "rows": plan.rows,
        "left_out": plan.left_out,
        "predicted": counts,
        "rows_now": left,
        "seconds_now": seconds,
        "figures": _figures(done, seconds) if left else {},
    }


def _chunks(
    settings: Settings,
    work: _Work,
    model: Classifier,
    plan: _Plan,
    folder: Path,
    chunks: Sequence[int],
    advance: Callable[[int], None],
) -> Iterator[tuple[int, Ids]]:
    """Classify and commit those chunks, one after the other; gives number and lengths of each.

    While the model is at one chunk, the next is tokenised and the one before committed.
    """

    def load(chunk: int) -> tuple[pa.Table, PairLearner]:
        own = rows.read(folder / "rows", chunk)
        first, second = own["first"].combine_chunks(), own["second"].combine_chunks()
        if work.query.columns.full_stops:
            first, second = with_full_stop(first), with_full_stop(second)
        return own, model.encode(texts(first, second if work.query.columns.second else None))

    def commit(chunk: int, own: pa.Table, scores: Any) -> None:
        if model.sharded and launch.rank() != 0:
            return
        names, outcome_of = work.source.outcomes
        answers = pa.array(outcome_of[scores.argmax(axis=1)])
        found = predictions.rows(
            len(scores),
            item_id=own["item_id"],
            edition=own["edition"],
            predicted=pa.array(list(names), pa.string()).take(answers),
            scores=scores,
            run_id=plan.run_id,
            task=work.query.table,
            scheme=JOB,
            fold="",
            seed=work.source.trained.seed if work.source.trained else None,
            model=work.source.name,
            table_version=plan.version,
        )
        arrow.append(
            settings.lake,
            "predictions",
            found,
            job=JOB,
            metadata={"run": plan.run_id, "chunk": str(chunk), "model": work.source.name},
            transaction=plan.transaction(chunk),
        )

    with ThreadPoolExecutor(1) as beside:
        ahead = beside.submit(load, chunks[0]) if chunks else None
        before: tuple[int, Ids, Future[None]] | None = None
        for at, chunk in enumerate(chunks):
            assert ahead is not None
            own, encoded = ahead.result()
            if at + 1 < len(chunks):
                ahead = beside.submit(load, chunks[at + 1])
            found = model.answer(encoded, settings.batch_size, advance, together=False)
            if before is not None:
                before[2].result()
                yield before[:2]
            (lengths,) = map(encoded.lengths, encoded.dataset.parts)
            before = chunk, lengths, beside.submit(commit, chunk, own, found.scores)
        if before is not None:
            before[2].result()
            yield before[:2]


def _figures(done: npt.NDArray[np.float64], seconds: float) -> dict[str, float]:
    """Speed, from rows, tokens and tokens with padding."""
    rows, tokens, padded = done.tolist()
    return {
        "predict/rows_per_second": rows / seconds,
        "predict/tokens_per_second": tokens / seconds,
        "predict/padding_efficiency": tokens / padded,
    }


def _counts(lake: str, table: str, run_id: str) -> dict[str, int]:
    """How many rows of a run have each answer, from the table itself."""
    sql = (
        'SELECT "predicted", count(*) AS "rows" FROM predictions '
        f"WHERE \"task\" = '{table}' AND \"run_id\" = '{run_id}' "
        'GROUP BY "predicted" ORDER BY "predicted"'
    )
    found: dict[str, int] = {}
    for batch in arrow.query(lake, "predictions", sql):
        found |= dict(zip(batch["predicted"].to_pylist(), batch["rows"].to_pylist(), strict=True))
    return found


def _select(settings: Settings, runs: Sequence[str]) -> None:
    """Write the selected items."""
    assert settings.count is not None and settings.out is not None
    if settings.select == "uncertain":
        found = selection.uncertain(settings.lake, runs[0], settings.count, settings.measure)
    else:
        found = selection.disputed(settings.lake, runs, settings.count)
    if not found.num_rows:
        raise JobFailed(f"select={settings.select}: no such item; all runs agree on every one")
    if found.num_rows < settings.count:
        log.info("only %d items, not %d", found.num_rows, settings.count)
    selection.write(found, Path(settings.out))
    value = found.column_names[3]
    log.info(
        "%s: %d items, %s from %.4f to %.4f",
        settings.out,
        found.num_rows,
        value,
        found[value][0].as_py(),
        found[value][-1].as_py(),
    )
