"""``training/predict.py``: classify rows chunk by chunk."""

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

import pyarrow as pa

from adnominal.conf import JobFailed, UserError
from adnominal.conf.progress import Progress, duration
from adnominal.etl.lake import arrow, upkeep
from adnominal.etl.lake.errors import LakeFailed
from adnominal.etl.lake.tables import table as declaration
from adnominal.training import launch, predictions
from adnominal.training.answering import classifier, texts
from adnominal.training.batching import Ids, evaluation_batches
from adnominal.training.files import check_folder, replace_json
from adnominal.training.models.encoders import PairLearner
from adnominal.training.models.loading import ModelSource, resolve
from adnominal.training.predicting import rows
from adnominal.training.predicting.rows import Query, columns
from adnominal.training.predicting.settings import Settings
from adnominal.training.runs import Outcome, Plan, Runs, folder_name
from adnominal.training.sharding import read_deepspeed, stage_of
from adnominal.training.tasks import Source
from adnominal.training.tasks.dataset import with_full_stop
from adnominal.training.tracking import Run

JOB = "predict"

log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class _Plan(rows.Staged):
    """The work of a run, decided at its first start and unchanged after a kill."""

    run_id: str
    version: int

    @property
    def rows(self) -> int:
        return sum(self.sizes)

    def transaction(self, chunk: int) -> tuple[str, int]:
        return f"{JOB}/{self.run_id}/{chunk}", 0

    def pending(self, lake: str) -> list[int]:
        """Return the chunks that are not in the table predictions yet."""
        chunks = {self.transaction(chunk): chunk for chunk, size in enumerate(self.sizes) if size}
        for transaction in arrow.committed(lake, "predictions", list(chunks)):
            del chunks[transaction]
        return list(chunks.values())


@dataclass
class _Counts:
    """What was classified: rows, their tokens, and the tokens of their batches with padding."""

    rows: int = 0
    tokens: int = 0
    padded_tokens: int = 0

    def add(self, lengths: Ids, batch_size: int) -> None:
        """Add the rows of a chunk, of these lengths, which were classified in such batches."""
        self.rows += len(lengths)
        self.tokens += int(lengths.sum())
        for batch in evaluation_batches(lengths, batch_size, 0, 1):
            width = int(lengths[batch].max())
            self.padded_tokens += width * len(batch)

    def times(self, factor: int) -> _Counts:
        """Return the counts of so many processes that have done as much as this one."""
        return _Counts(factor * self.rows, factor * self.tokens, factor * self.padded_tokens)

    @classmethod
    def sum_of(cls, shares: Sequence[_Counts]) -> _Counts:
        """Return the counts of all processes together."""
        return cls(
            rows=sum(share.rows for share in shares),
            tokens=sum(share.tokens for share in shares),
            padded_tokens=sum(share.padded_tokens for share in shares),
        )

    def figures(self, seconds: float) -> dict[str, float]:
        """Return the speed, and the share of tokens that are no padding."""
        return {
            "predict/rows_per_second": self.rows / seconds,
            "predict/tokens_per_second": self.tokens / seconds,
            "predict/padding_efficiency": self.tokens / self.padded_tokens,
        }


def predict(settings: Settings) -> None:
    """Classify rows of a table with a trained model.

    Rows are read without Spark, distributed over the launcher's processes and committed in chunks
    to the table predictions, each once. The same command resumes a killed run.
    """
    prediction = prepare(settings)
    with launch.group(stage_of(settings.deepspeed) == 3):
        prediction.run()


def prepare(settings: Settings) -> _Prediction:
    """Prepare the model and the rows, and report mistakes before weights are read.

    Raises:
        UserError: the model, table, column or version does not exist, the condition is not valid
            SQL or matches no row, the model generates text, or folder= is a file.
    """
    check_folder("folder", Path(settings.folder))
    read_deepspeed(settings.deepspeed)
    source = resolve(settings.model, settings.tracking)
    if source.generates:
        raise UserError(f"model={source.name}: it generates texts; expected one that classifies")
    text_columns = columns(
        settings.table, source, item=settings.item, first=settings.first, second=settings.second
    )
    # The newest version; a missing table is reported by the function that reads it.
    version = settings.version
    version = (arrow.version(settings.lake, settings.table) or 0) if version is None else version
    query = Query(settings.lake, settings.table, version, text_columns, settings.where)
    rows.check(query)
    return _Prediction(settings, source, query, source.content())


@dataclass
class _Prediction:
    """A model and the rows to classify, both checked."""

    settings: Settings
    source: ModelSource
    query: Query
    content: str

    def run(self) -> None:
        """Complete the predictions, unless an earlier start has."""
        settings = self.settings
        # The first process decides: the table may get a new version while they all start.
        self.folder = launch.broadcast(Path(settings.folder) / self._name())
        runs = Runs(JOB, settings, settings.experiment or JOB)
        # Predictions in another lake, or deleted ones, are made again.
        result = runs.finish(
            self.folder, lambda _: not _read_plan(self.folder).pending(settings.lake)
        )
        if result is None:
            self.model = classifier(
                self.source,
                max_length=settings.max_length,
                precision=settings.precision,
                deepspeed=settings.deepspeed,
            )
            name = settings.run_name or f"{self.query.table} by {self.source.name}"
            runs.start(Plan(self.folder, name, settings, self._facts()), self._outcome)
            if launch.rank() == 0:
                shutil.rmtree(self.folder / "rows", ignore_errors=True)

    def _name(self) -> str:
        """Return the folder's name: a hash of model, rows and settings, and the table version."""
        settings = self.settings
        lake = settings.lake if "://" in settings.lake else os.path.abspath(settings.lake)
        content = {"model": self.source.name, "content": self.content, "lake": lake}
        name = folder_name(settings, **content, columns=asdict(self.query.columns))
        version = self.query.version
        if settings.version is None:
            # A run that was started continues with its initial version.
            for begun in sorted(Path(settings.folder).glob(f"{name}-v*/plan.json")):
                if not begun.with_name("result.json").exists():
                    version = int(begun.parent.name.rpartition("-v")[2])
        return f"{name}-v{version}"

    def _facts(self) -> dict[str, Any]:
        """Return the facts that identify the run besides its settings."""
        return {
            "model_name": self.source.name,
            "model_content": self.content,
            "model_run_id": self.source.run_id,
            "labels": list(self.source.labels),
            "columns": asdict(self.query.columns),
            "tokens": self.model.limit,
            "processes": launch.world_size(),
        }

    def _make_plan(self, run: Run) -> _Plan:
        """Make the plan and write the rows to disk, in the first process."""
        settings, folder, query = self.settings, self.folder, self.query
        plan = _read_plan(folder) if (folder / "plan.json").exists() else None
        if plan is not None:
            query = replace(query, version=plan.version)
        if plan is None or not (folder / "rows").exists():
            staged = rows.stage(
                query,
                folder / "rows",
                chunk=settings.chunk,
                seed=settings.seed,
                limit=settings.limit,
            )
            plan = plan or _Plan(**asdict(staged), run_id=run.name, version=query.version)
            replace_json(folder / "plan.json", asdict(plan))
        newest = arrow.version(settings.lake, query.table)
        if newest != plan.version and settings.version is None:
            log.info("resuming with version %d (the newest is %s)", plan.version, newest)
        sizes = {"rows": plan.rows, "chunks": len(plan.sizes), "left_out": plan.left_out}
        run.parameters({"table_version": plan.version, **sizes})
        editions = plan.editions or [""]
        run.inputs(settings.lake, [Source(query.table, name, plan.version) for name in editions])
        log.info(
            "%s version %d: %s rows in %d chunks%s",
            query.table,
            plan.version,
            f"{plan.rows:,}",
            len(plan.sizes),
            "".join(f"; {count:,} dropped: {reason}" for reason, count in plan.left_out.items()),
        )
        return plan

    def _outcome(self, run: Run) -> Outcome:
        """Predict the remaining rows; the figures go to the terminal and to MLflow."""
        plan = launch.broadcast(self._make_plan(run) if launch.rank() == 0 else None)
        assert plan is not None
        remaining, seconds, figures = self._classify(plan, run)
        if launch.rank() != 0:
            return Outcome({})
        answers = _counts(self.settings.lake, self.query.table, plan.run_id)
        if sum(answers.values()) != plan.rows:
            raise JobFailed(
                f"run {plan.run_id}: {sum(answers.values()):,} predictions in the table, expected "
                f"{plan.rows:,}; someone has changed them"
            )
        _tidy(self.settings.lake)
        log.info(
            "%s rows classified, %s of them now in %s: %s; run %s",
            f"{plan.rows:,}",
            f"{remaining:,}",
            duration(seconds),
            ", ".join(f"{label} {count:,}" for label, count in answers.items()),
            plan.run_id,
        )
        result = {
            "model": self.source.name,
            "table": self.query.table,
            "version": plan.version,
            "rows": plan.rows,
            "left_out": plan.left_out,
            "predicted": answers,
            "rows_now": remaining,
            "seconds_now": seconds,
            "figures": figures,
            "run_id": plan.run_id,
        }
        final = {f"final/{name}": value for name, value in figures.items()}
        final |= {f"final/share/{label}": n / plan.rows for label, n in answers.items()}
        text = json.dumps(result, indent=1) + "\n"
        return Outcome(result, metrics=final, texts={"result.json": text})

    def _classify(self, plan: _Plan, run: Run) -> tuple[int, float, dict[str, float]]:
        """Predict this process's share of the remaining chunks.

        The chunks that are not in the table yet are dealt to the processes in turn. Each process
        counts what it classifies, so that the speed is logged after each chunk; at the end the
        counts of all processes are added, and the time is that of the slowest.

        Returns:
            The number of remaining rows, the seconds they took, and the speed of all processes.
        """
        is_first = launch.rank() == 0
        # The first process looks, so that all divide the same chunks.
        pending = launch.broadcast(plan.pending(self.settings.lake) if is_first else [])
        remaining = sum(plan.sizes[chunk] for chunk in pending)
        finished = plan.rows - remaining
        if is_first and finished:
            log.info("resuming: %s of %s rows are left", f"{remaining:,}", f"{plan.rows:,}")
        # A sharded model is called by all processes together, with every chunk.
        shares = 1 if self.model.sharded else launch.world_size()
        local_chunks = pending if shares == 1 else pending[launch.rank() :: shares]
        counts = _Counts()
        started = time.perf_counter()
        with Progress(JOB, plan.rows, finished, unit="rows", silent=not is_first) as progress:

            def advance(rows_of_batch: int) -> None:
                # Chunks have similar sizes, so the other processes have done about as much.
                progress.advance(rows_of_batch * launch.world_size())

            for chunk, lengths in self._chunks(plan, local_chunks, advance):
                counts.add(lengths, self.settings.batch_size)
                elapsed = time.perf_counter() - started
                run.metrics(counts.times(shares).figures(elapsed), chunk)
        seconds = max(launch.gather(time.perf_counter() - started))
        if shares > 1:
            counts = _Counts.sum_of(launch.gather(counts))
        figures = counts.figures(seconds) if remaining else {}
        return remaining, seconds, figures

    def _chunks(
        self, plan: _Plan, chunks: Sequence[int], advance: Callable[[int], None]
    ) -> Iterator[tuple[int, Ids]]:
        """Classify and commit these chunks in turn; yield number and lengths of each.

        While the model works on one chunk, the next is tokenised and the previous one committed.
        """
        with ThreadPoolExecutor(1) as loader:
            next_chunk = loader.submit(self._load, chunks[0]) if chunks else None
            uncommitted: tuple[int, Ids, Future[None]] | None = None
            for at, chunk in enumerate(chunks):
                assert next_chunk is not None
                table, encoded = next_chunk.result()
                if at + 1 < len(chunks):
                    next_chunk = loader.submit(self._load, chunks[at + 1])
                size = self.settings.batch_size
                evaluation = self.model.answer(encoded, size, advance, shared=False)
                if uncommitted is not None:
                    uncommitted[2].result()
                    yield uncommitted[:2]
                (lengths,) = map(encoded.lengths, encoded.dataset.parts)
                commit = loader.submit(self._commit, plan, chunk, table, evaluation.scores)
                uncommitted = chunk, lengths, commit
            if uncommitted is not None:
                uncommitted[2].result()
                yield uncommitted[:2]

    def _load(self, chunk: int) -> tuple[pa.Table, PairLearner]:
        """Return the rows of a chunk, and a learner with them as tokens."""
        table = rows.read(self.folder / "rows", chunk)
        first, second = table["first"].combine_chunks(), table["second"].combine_chunks()
        if self.query.columns.full_stops:
            first, second = with_full_stop(first), with_full_stop(second)
        return table, self.model.encode(texts(first, second if self.query.columns.second else None))

    def _commit(self, plan: _Plan, chunk: int, table: pa.Table, scores: Any) -> None:
        if self.model.sharded and launch.rank() != 0:
            return
        predictions.check_scores(scores, f"model={self.source.name}", launch.RankFailed)
        names, outcome_of = self.source.outcomes
        answers = pa.array(outcome_of[scores.argmax(axis=1)])
        prediction_rows = predictions.rows(
            len(scores),
            item_id=table["item_id"],
            edition=table["edition"],
            predicted=pa.array(list(names), pa.string()).take(answers),
            scores=scores,
            run_id=plan.run_id,
            task=self.query.table,
            scheme=JOB,
            fold="",
            seed=self.source.trained.seed if self.source.trained else None,
            model=self.source.name,
            table_version=plan.version,
        )
        arrow.append(
            self.settings.lake,
            "predictions",
            prediction_rows,
            job=JOB,
            metadata={"run": plan.run_id, "chunk": str(chunk), "model": self.source.name},
            transaction=plan.transaction(chunk),
        )


def _read_plan(folder: Path) -> _Plan:
    return _Plan(**json.loads((folder / "plan.json").read_text(encoding="utf-8")))


def _tidy(lake: str) -> None:
    """Merge the files of the chunks; the predictions are in the table even if this fails."""
    try:
        upkeep.compact(lake, declaration("predictions"))
    except LakeFailed as error:
        log.warning("the files of the predictions were not merged: %s", error)


def _counts(lake: str, table: str, run_id: str) -> dict[str, int]:
    """Count the rows of a run by answer, in the table itself."""
    sql = (
        'SELECT "predicted", count(*) AS "rows" FROM predictions '
        f"WHERE \"task\" = '{table}' AND \"run_id\" = '{run_id}' "
        'GROUP BY "predicted" ORDER BY "predicted"'
    )
    counts: dict[str, int] = {}
    for batch in arrow.query(lake, "predictions", sql):
        counts |= dict(zip(batch["predicted"].to_pylist(), batch["rows"].to_pylist(), strict=True))
    return counts
