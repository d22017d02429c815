"""Answers to rows, chunk by chunk: the one way from a model and rows to predictions.

Rows come in chunks that do not depend on the number of processes, which answer each together. The
answers to a chunk are a file in the run's folder, whole or missing, so a run that was killed
continues with the missing ones.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from adnominal.training import launch, predictions
from adnominal.training.answering.classifier import Classifier
from adnominal.training.evaluation import Evaluation
from adnominal.training.models.loading import ModelSource
from adnominal.training.models.pretrained import maximum_length
from adnominal.training.tasks import Examples, Source
from adnominal.training.tracking import Run


class Chunk(NamedTuple):
    """Rows to answer: their texts, and columns of the table predictions that are known before."""

    examples: Examples
    columns: Mapping[str, Any]


class Rows(Protocol):
    """Rows in chunks of the given `sizes`; a chunk may be empty."""

    @property
    def sizes(self) -> Sequence[int]: ...

    def read(self, chunk: int) -> Chunk:
        """Return a chunk, the same at each call."""


class LabelNames(NamedTuple):
    """How classes are written: the outcome of each class id, and the ids in the order of `scores`.

    `own` are the model's own labels by class id, None where they are not written.
    """

    outcomes: Sequence[str]
    order: Sequence[int]
    own: Sequence[str] | None = None


class Answers:
    """The answers of a run below its `folder`: a file of each chunk that has been answered."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "answers"

    def _path(self, chunk: int) -> Path:
        return self._folder / f"{chunk:06}.parquet"

    def chunks(self) -> list[int]:
        """Return the numbers of the chunks that have been answered."""
        return sorted(int(path.stem) for path in self._folder.glob("*.parquet"))

    def add(self, chunk: int, rows: pa.Table, truncated: int) -> None:
        """Write the answers to a chunk, `truncated` texts of which were cut."""
        self._folder.mkdir(parents=True, exist_ok=True)
        partial = self._path(chunk).with_suffix(".new")
        pq.write_table(rows.replace_schema_metadata({"truncated": str(truncated)}), partial)
        os.replace(partial, self._path(chunk))

    def read(self, chunk: int, run_id: str) -> pa.Table:
        """Return the rows of the table predictions for a chunk."""
        rows = pq.read_table(self._path(chunk)).replace_schema_metadata(None)
        return rows.set_column(0, rows.schema.field(0), pa.array([run_id] * rows.num_rows))

    def read_all(self, run_id: str) -> pa.Table:
        """Return the rows of all chunks, in order."""
        return pa.concat_tables([self.read(chunk, run_id) for chunk in self.chunks()])

    def truncated(self) -> int:
        """Return the number of texts that were cut."""
        schemas = [pq.read_schema(self._path(chunk)) for chunk in self.chunks()]
        return sum(int(schema.metadata[b"truncated"]) for schema in schemas)

    def counts(self) -> dict[str, int]:
        """Return the number of rows by predicted label; memory holds one chunk."""
        counts: Counter[str] = Counter()
        for chunk in self.chunks():
            counts.update(pq.read_table(self._path(chunk), columns=["predicted"])[0].to_pylist())
        return dict(sorted(counts.items()))


@dataclass(frozen=True)
class Work:
    """What is asked of a model, checked before its weights are read.

    Attributes:
        source: the model.
        folder: the folder of the run, named by all that decides the answers.
        label: the run's name.
        names: how answers are written; None for texts, and for numbers that are no classes'.
        columns: columns of the table predictions that all rows have in common.
        facts: parameters of the run besides its settings.
        rows: returns the rows; every process calls it.
        summary: returns what ``result.json`` says of the answers, from them and the run's id, in
            the first process; ``figures`` are shares and scores.
        sources: the tables that MLflow records, if they are known before the rows are read.
        whole_texts: whether texts are cut only to the model's maximum, not to that of training.
        load: provides what answers the rows; by default a classifier, or a writer of meanings.
    """

    source: ModelSource
    folder: Path
    label: str
    names: LabelNames | None
    columns: Mapping[str, Any]
    facts: Mapping[str, Any]
    rows: Callable[[Run], Rows]
    summary: Callable[[Answers, str], dict[str, Any]]
    sources: Sequence[Source] = ()
    whole_texts: bool = False
    load: Callable[[], AbstractContextManager[Any]] | None = None


class Speed(NamedTuple):
    """The number of rows answered now, and the seconds that this took."""

    rows: int
    seconds: float


def answer_rows(
    model: Classifier,
    work: Work,
    rows: Rows,
    batch_size: int,
    advance: Callable[[int], None],
) -> Speed:
    """Answer the chunks that have no answers yet.

    `advance` is called with the number of rows of each batch of this process.
    """
    answers = Answers(work.folder)
    # The first process looks, so that all divide the same chunks.
    finished = set(launch.broadcast(answers.chunks() if launch.rank() == 0 else []))
    pending = [chunk for chunk, size in enumerate(rows.sizes) if size and chunk not in finished]
    started = time.perf_counter()
    for number, chunk, encoded in _encoded_chunks(model, work, rows, pending):
        evaluation = model.answer(encoded, batch_size, advance)
        table = _prediction_rows(work, chunk, evaluation)
        if launch.rank() == 0:
            answers.add(number, table, sum(encoded.truncated().values()))
    return Speed(sum(rows.sizes[chunk] for chunk in pending), time.perf_counter() - started)


def _encoded_chunks(
    model: Classifier, work: Work, rows: Rows, chunks: Sequence[int]
) -> Iterator[tuple[int, Chunk, Any]]:
    """Yield number, rows and tokens of each chunk; the next is read while one is answered."""
    limit = maximum_length(model.learner) if work.whole_texts else None

    def read(number: int) -> tuple[int, Chunk, Any]:
        chunk = rows.read(number)
        return number, chunk, model.encode(chunk.examples, limit)

    with ThreadPoolExecutor(1) as reader:
        following = reader.submit(read, chunks[0]) if chunks else None
        for next_chunk in (*chunks[1:], None):
            if following is None:
                return
            current = following.result()
            following = None if next_chunk is None else reader.submit(read, next_chunk)
            yield current


def _prediction_rows(work: Work, chunk: Chunk, evaluation: Evaluation) -> pa.Table:
    """Return the rows of the table predictions for the answers to a chunk, without a run."""
    columns = {**work.columns, **chunk.columns}
    if work.names is None:
        columns["text"] = evaluation.predicted
        if evaluation.scores is not None:
            # A number of each text, which a text that could not be scored lacks.
            columns["scores"] = pa.array(list(evaluation.scores), from_pandas=True)
        return predictions.rows(len(chunk.examples), **columns)
    scores = evaluation.scores
    assert scores is not None
    predictions.check_scores(scores, work.label)
    best = pa.array(scores.argmax(axis=1))
    columns["predicted"] = pa.array(work.names.outcomes, pa.string()).take(best)
    columns["scores"] = scores[:, list(work.names.order)]
    if work.names.own is not None:
        columns["text"] = pa.array(work.names.own, pa.string()).take(best)
    return predictions.rows(len(scores), **columns)
