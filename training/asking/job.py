"""``training/prompt.py``: from prompts to answers, predictions and the papers' tables."""

import hashlib
import logging
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from adnominal.conf import UserError
from adnominal.conf.files import replace_text
from adnominal.conf.markdown import markdown
from adnominal.conf.progress import Progress, duration
from adnominal.etl.lake.tables import table
from adnominal.etl.prompts import files as prompts
from adnominal.etl.prompts.files import Prompts
from adnominal.training import launch, predictions
from adnominal.training.asking import answers, items, scores
from adnominal.training.asking.answered import Answered
from adnominal.training.asking.backends import Backend, backend
from adnominal.training.asking.engine import Engine
from adnominal.training.asking.excerpts import written_answers
from adnominal.training.asking.items import Items
from adnominal.training.asking.outcomes import Outcome as ModelOutcome
from adnominal.training.asking.outcomes import check_answered
from adnominal.training.asking.questions import Question, Questions, Request
from adnominal.training.asking.row_file import BATCH
from adnominal.training.asking.settings import Settings
from adnominal.training.files import check_folder
from adnominal.training.runs import Outcome, Plan, Runs, folder_name, predictions_file

JOB = "prompt"
CHUNK = 20_000
"""Different requests that are in memory at once."""
log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Work:
    """A run with everything it needs, already checked."""

    settings: Settings
    backend: Backend
    prompts: Prompts
    items: Items
    questions: Questions


class Asked:
    """What was asked so far: rows in the file of predictions, and what became of the requests.

    Attributes:
        questions, requests: their numbers.
        tokens_in, tokens_out: those of all answers, paid for now or by an earlier start.
        failures: the reasons why requests have no answer, counted.
        tally: the answers, counted (`training.asking.scores`).
    """

    def __init__(self, work: Work, file: Path | None) -> None:
        """Begin with nothing; without a `file` only the requests are counted."""
        self.questions = self.requests = self.tokens_in = self.tokens_out = 0
        self.failures: Counter[str] = Counter()
        self.tally: pa.Table | None = None
        self._work, self._file = work, file
        self._writer: pq.ParquetWriter | None = None

    def add(self, rows: pa.Table, outcomes: Mapping[Request, Sequence[ModelOutcome]]) -> None:
        """Add a chunk.

        Raises:
            JobFailed: scores of a model in this process are NaN.
        """
        work = self._work
        if work.settings.backend == "hf" and work.settings.form == "likelihood":
            flat = pc.list_flatten(rows["scores"]).to_numpy()
            scores_of_rows = flat.reshape(rows.num_rows, -1)
            predictions.check_scores(scores_of_rows, f"model={work.backend.name}")
        self.questions += rows.num_rows
        self.requests += len(outcomes)
        for of_request in outcomes.values():
            self.tokens_in += sum(one.tokens_in or 0 for one in of_request)
            self.tokens_out += sum(one.tokens_out or 0 for one in of_request)
            reasons = [one.failure for one in of_request if one.failure is not None]
            self.failures.update(reasons[:1])
        if self._file is not None:
            self._write(rows)
            counted = work.items.task.prompt_tally(rows, work.prompts.labels)
            tallies = [counted] if self.tally is None else [self.tally, counted]
            self.tally = scores.merge(tallies)

    def _write(self, rows: pa.Table) -> None:
        schema = table("predictions").schema
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._file, schema)
        self._writer.write_table(rows.select(schema.names))

    def close(self) -> None:
        """Complete the file of predictions."""
        if self._writer is not None:
            self._writer.close()


def prompt(settings: Settings) -> None:
    """Ask a language model about items, without training it.

    Causal and encoder-decoder models score each word that stands for a label with the text after
    it, masked models fill a gap with one word, and with form=generate a model writes its answer.
    Answers are stored, so that a killed run resumes and repeated questions are free. They go to the
    table predictions, and the papers' table is printed.
    """
    work = prepare(settings)
    if launch.world_size() > 1:
        launch.start()
    content = work.backend.content()
    folder = _runs_folder(settings) / _name(work, content)
    name = settings.run_name or f"{settings.task}, {settings.shots} examples, {work.backend.name}"
    runs = Runs(JOB, settings, settings.experiment or settings.task)
    if settings.backend != "hf" and not runs.is_finished(folder):
        # A trial question finds out whether the server answers, before the run begins.
        work.backend.load()
    runs.run_once(
        Plan(folder, name, settings, _facts(work), work.items.sources),
        lambda run: _outcome(work, content, folder, run.name),
    )
    if launch.rank() == 0:
        print((folder / "table.md").read_text(encoding="utf-8").rstrip("\n"))


def prepare(settings: Settings) -> Work:
    """Prepare everything but the weights, and report all mistakes that need no weights.

    Raises:
        UserError: the settings, prompts, lake, server or tokenizer do not fit.
    """
    if settings.split_model and launch.world_size() > 1:
        raise UserError(
            f"split_model=true with {launch.world_size()} processes: one process uses all GPUs; "
            "expected plain python instead of the launcher"
        )
    check_folder("out", _runs_folder(settings))
    if settings.cache:
        check_folder("cache", Path(settings.cache).expanduser())
    selected = prompts.read(
        settings.prompt_file,
        settings.task,
        settings.templates,
        settings.verbalisers,
        settings.form,
    )
    model = backend(settings)
    items_asked = items.load(settings)
    if model.words is not None:
        (first,) = items_asked.rows.slice(0, 1).to_pylist()
        selected = model.words.usable(selected, first)
    questions = Questions(items_asked, selected, settings)
    return Work(settings, model, selected, items_asked, questions)


def _runs_folder(settings: Settings) -> Path:
    return Path(settings.out or f"runs/{settings.task}_prompt")


def _name(work: Work, content: str) -> str:
    """Return the folder name of a run, a function of settings, model, prompts and items."""
    rows = work.items.rows
    decisive = [name for name in rows.schema.names if name != "version"]
    return folder_name(
        work.settings,
        model=content,
        prompts=work.prompts.text,
        items=_digest(rows.batches(decisive)),
        examples=_digest(work.items.examples.to_batches(BATCH)),
    )


def _facts(work: Work) -> dict[str, Any]:
    settings = work.settings
    return {
        "task": {
            "name": settings.task,
            "edition": settings.edition,
            "scheme": settings.scheme,
            "fold": settings.fold,
        },
        "model_name": work.backend.name,
        "kind": work.backend.kind,
        "prompts": f"{work.prompts.name}@{work.prompts.version}",
        "items": work.items.rows.num_rows,
        "questions": work.questions.number,
        "processes": launch.world_size(),
    }


def _digest(batches: Iterable[pa.RecordBatch]) -> str:
    """Return a hash of rows, read a few at a time."""
    digest = hashlib.blake2b(digest_size=16)
    for batch in batches:
        for row in batch.to_pylist():
            digest.update(repr(row).encode())
    return digest.hexdigest()


def _outcome(work: Work, content: str, folder: Path, run_id: str) -> Outcome:
    """Ask everything; return rows of the table predictions, figures, and the papers' table.

    Raises:
        JobFailed: some questions have no answer, or scores are NaN.
    """
    settings = work.settings
    started = time.monotonic()
    is_first = launch.rank() == 0
    asked = Asked(work, predictions_file(folder) if is_first else None)
    excerpt = ""
    bar = Progress("asking", work.questions.number, unit="questions", silent=not is_first)
    with _store(work, content) as store, closing(asked), bar as progress:
        engine = Engine(work.backend.load, store, settings, work.questions.delimiter)
        constants = {"run_id": run_id, "model": work.backend.name}
        for questions, requests in _chunks(work.questions):
            report = partial(_reach, progress, asked.questions, len(questions))
            outcomes = engine.ask(requests, report)
            rows = answers.rows(questions, outcomes, work.items, settings, **constants)
            asked.add(rows, outcomes)
            if settings.form == "generate" and not excerpt:
                excerpt = f"\n\n{written_answers(questions, rows)}"
            # Otherwise they would be in memory while the next chunk is made.
            del questions, requests, outcomes, rows
            launch.trim_memory()
    # Answers that are refused end every process, not only the first.
    check_answered(asked.failures, asked.requests)
    seconds = time.monotonic() - started
    computed = sum(launch.gather(engine.computed))
    result: dict[str, Any] = {"prompts": asked.requests, "forward": computed, "seconds": seconds}
    if not is_first:
        return Outcome(result)
    log.info(
        "%s questions about %s items: %s prompts, %s computed in %s",
        f"{asked.questions:,}",
        f"{work.items.rows.num_rows:,}",
        f"{asked.requests:,}",
        f"{computed:,}",
        duration(seconds),
    )
    figures, columns, caption = work.items.task.prompt_results(asked.tally, work.prompts.labels)
    figures |= scores.states(asked.tally)
    figures |= _costs(asked, settings)
    if computed:
        figures["prompts_per_second"] = computed / seconds
    printed = f"{caption}\n\n{markdown(pa.table(columns))}{excerpt}\n"
    replace_text(folder / "table.md", printed)
    texts = {"table.md": printed, "prompts.yaml": work.prompts.text}
    return Outcome({**result, "figures": figures}, metrics=figures, texts=texts)


def _reach(progress: Progress, before: int, size: int, share: float) -> None:
    """Report a share of a chunk of `size` questions, with `before` questions in earlier chunks."""
    progress.reach(before + int(share * size))


@contextmanager
def _store(work: Work, content: str) -> Iterator[Answered]:
    """Provide the store of the model's answers; with cache=none, one that is deleted at the end.

    Even then equal questions are asked once, without being in memory together.
    """
    settings = work.settings
    with tempfile.TemporaryDirectory(prefix="answers-") as folder:
        identity = {
            "backend": settings.backend,
            "model": content,
            "precision": settings.precision,
            "address": settings.base_url,
            "arguments": settings.model_args,
            "chat": settings.is_chat,
            "instructions": settings.instructions,
            "seed": settings.seed if settings.temperature else None,
        }
        with Answered(Path(settings.cache or folder).expanduser(), **identity) as store:
            yield store


def _chunks(questions: Questions) -> Iterator[tuple[list[Question], list[Request]]]:
    """Yield questions with the different requests that they need, a chunk of these at a time."""
    chunk: list[Question] = []
    requests: dict[Request, None] = {}
    for question in questions:
        chunk.append(question)
        requests |= dict.fromkeys((question.request, *question.content_free))
        if len(requests) >= CHUNK:
            yield chunk, list(requests)
            chunk, requests = [], {}
    if chunk:
        yield chunk, list(requests)


def _costs(asked: Asked, settings: Settings) -> dict[str, float]:
    """Return the tokens that were sent and written, and what they cost."""
    figures: dict[str, float] = {}
    if settings.is_server:
        figures["tokens_in"] = asked.tokens_in
    # Of an answer that is chosen, they are those of its words, which were sent.
    if settings.form == "generate":
        figures["tokens_out"] = asked.tokens_out
    if figures and (settings.price_in or settings.price_out):
        sent = figures.get("tokens_in", 0.0) * settings.price_in
        figures["cost"] = sent + figures.get("tokens_out", 0.0) * settings.price_out
    return figures
