"""``training/prompt.py``: from prompts to answers, predictions and the papers' tables."""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from adnominal.conf import UserError
from adnominal.conf.markdown import markdown
from adnominal.conf.progress import Progress, duration
from adnominal.training import launch, predictions
from adnominal.training.batching import evaluation_batches
from adnominal.training.files import cache_folder, check_folder, replace_text
from adnominal.training.models.loading import ModelSource, resolve
from adnominal.training.models.pretrained import find
from adnominal.training.prompting import items as asking
from adnominal.training.prompting.cache import Answer, Cache, key
from adnominal.training.prompting.items import Items, Question
from adnominal.training.prompting.prompts import LABELS, Cloze, Prompts, read
from adnominal.training.prompting.scoring import LanguageModel, language_model
from adnominal.training.prompting.settings import Settings
from adnominal.training.runs import Outcome, Plan, Runs, folder_name

JOB = "prompt"
# Seconds between cache files: the maximum loss by a kill.
_KEEP_EVERY = 20.0
log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Work:
    """A run with everything it needs, already checked."""

    settings: Settings
    source: ModelSource
    model: LanguageModel
    prompts: Prompts
    items: Items
    questions: Sequence[Question]


@dataclass(frozen=True)
class Computed:
    """Answers by key, the number computed now, and the seconds for these."""

    answers: Mapping[bytes, Answer]
    forward: int
    seconds: float


def prompt(settings: Settings) -> None:
    """Prompt a language model with items of PLANE, ASP or ADEPT, without training it.

    Masked models fill a gap with one word; causal and encoder-decoder models score each word with
    the text after it. Answers are cached by content, so that a killed run resumes and repeated
    questions are free. They go to the table predictions, and the papers' table is printed.
    """
    plan = prepare(settings)
    if launch.world_size() > 1:
        launch.start()
    content, mistake = "", None
    if launch.rank() == 0:
        try:
            content = plan.source.content()
        except UserError as error:
            mistake = error
    content, mistake = launch.broadcast((content, mistake))
    if mistake is not None:
        raise mistake
    folder = _out(settings) / _name(plan, content)
    name = settings.run_name or f"{settings.task}, {settings.shots} examples, {plan.source.name}"
    cache = Cache(settings.cache, f"{content}-{settings.precision}")
    Runs(JOB, settings, settings.experiment or settings.task).once(
        Plan(folder, name, settings, _facts(plan), plan.items.sources),
        lambda run: _outcome(plan, _computed_answers(plan, cache), folder, run.name),
    )
    if launch.rank() == 0:
        print((folder / "table.md").read_text(encoding="utf-8").rstrip("\n"))


def prepare(settings: Settings) -> Work:
    """Prepare everything but the weights, and report all mistakes that need no weights.

    Raises:
        UserError: the settings, prompts, lake or tokenizer do not fit.
    """
    if settings.split_model and launch.world_size() > 1:
        raise UserError(
            f"split_model=true with {launch.world_size()} processes: one process uses all GPUs; "
            "expected plain python instead of the launcher"
        )
    check_folder("out", _out(settings))
    cache_folder(settings.cache)
    prompts = read(settings.prompt_file, settings.task, settings.templates, settings.verbalisers)
    source = resolve(settings.model, settings.tracking)
    if source.generates:
        raise UserError(f"model={source.name}: generates meanings; expected a language model")
    model = language_model(source.name, find(source.path))
    items = asking.load(settings)
    questions = asking.questions(items, prompts, settings)
    left_out = model.check(questions)
    if launch.rank() == 0:
        for name, words in left_out.items():
            log.warning(
                "%s: %d words that are not one token of the model are ignored: %s",
                name,
                len(words),
                " ".join(words),
            )
    return Work(settings, source, model, prompts, items, questions)


def _out(settings: Settings) -> Path:
    return Path(settings.out or f"runs/{settings.task}_prompt")


def _name(plan: Work, content: str) -> str:
    """Return the folder name of a run, a function of settings, model, prompts and items."""
    rows = plan.items.rows
    decisive = [name for name in rows.column_names if name != "version"]
    return folder_name(
        plan.settings,
        model=content,
        prompts=plan.prompts.text,
        items=rows.select(decisive).to_pylist(),
    )


def _facts(plan: Work) -> dict[str, Any]:
    settings = plan.settings
    return {
        "task": {
            "name": settings.task,
            "edition": settings.edition,
            "scheme": settings.scheme,
            "fold": settings.fold,
        },
        "model_name": plan.source.name,
        "kind": plan.model.kind,
        "prompts": f"{plan.prompts.name}@{plan.prompts.version}",
        "items": plan.items.rows.num_rows,
        "questions": len(plan.questions),
        "processes": launch.world_size(),
    }


def _distinct_clozes(questions: Sequence[Question]) -> dict[bytes, Cloze]:
    """Return the distinct prompts to compute; many questions share content-free ones."""
    clozes: dict[bytes, Cloze] = {}
    for question in questions:
        for cloze in (question.cloze, *question.content_free):
            clozes.setdefault(key(question.prompt.name, cloze), cloze)
    return clozes


def _computed_answers(plan: Work, cache: Cache) -> Computed:
    clozes = _distinct_clozes(plan.questions)
    answers = launch.broadcast(cache.lookup(clozes) if launch.rank() == 0 else {})
    missing = [missing_key for missing_key in clozes if missing_key not in answers]
    if launch.rank() == 0:
        log.info(
            "%s questions about %s items: %s prompts, %s answered before, %s to compute",
            f"{len(plan.questions):,}",
            f"{plan.items.rows.num_rows:,}",
            f"{len(clozes):,}",
            f"{len(answers):,}",
            f"{len(missing):,}",
        )
    if not missing:
        return Computed(answers, 0, 0.0)
    encoded = plan.model.encode([clozes[missing_key] for missing_key in missing])
    lengths = plan.model.lengths(encoded)
    plan.model.load(plan.settings.precision, plan.settings.split_model)
    world_size, started = launch.world_size(), time.monotonic()
    local_answers: dict[bytes, Answer] = {}
    new_answers: dict[bytes, Answer] = {}
    cached_at = time.monotonic()
    with Progress(
        plan.settings.task, len(clozes), len(answers), silent=launch.rank() != 0
    ) as progress:
        try:
            for batch in evaluation_batches(
                lengths, plan.settings.batch_size, launch.rank(), world_size
            ):
                if not len(batch):
                    continue
                batch_answers = plan.model.score([encoded[at] for at in batch])
                new_answers |= {
                    missing[at]: answer for at, answer in zip(batch, batch_answers, strict=True)
                }
                progress.advance(min(len(batch) * world_size, len(missing)))
                if time.monotonic() - cached_at > _KEEP_EVERY:
                    cache.add(new_answers)
                    local_answers, new_answers, cached_at = (
                        local_answers | new_answers,
                        {},
                        time.monotonic(),
                    )
        finally:
            cache.add(new_answers)
    for share in launch.gather(local_answers | new_answers):
        answers |= share
    seconds = time.monotonic() - started
    if launch.rank() == 0:
        log.info(
            "%s prompts in %s: %.1f prompts/s",
            f"{len(missing):,}",
            duration(seconds),
            len(missing) / seconds,
        )
    return Computed(answers, len(missing), seconds)


def _logs(answer: Answer, is_normalised: bool) -> npt.NDArray[np.float64]:
    """Return the log-probability of each word; NaN for words that were not asked for."""
    sums = np.array(answer.sums)
    if not is_normalised:
        return sums
    per_token: npt.NDArray[np.float64] = sums / np.maximum(np.array(answer.tokens), 1)
    return per_token


def _scores(
    plan: Work, answers: Mapping[bytes, Answer]
) -> tuple[npt.NDArray[np.float64], list[Answer]]:
    """Return a score of each label for each question, [questions, labels], and the answers.

    A label's score is that of its most probable word; calibration subtracts the logarithm of the
    word's mean probability without content.

    Raises:
        JobFailed: the model gave NaN for a word.
    """
    names, is_normalised = LABELS[plan.settings.task], plan.settings.length_normalised
    scores = np.empty((len(plan.questions), len(names)))
    gap_answers = []
    for row, question in enumerate(plan.questions):
        answer = answers[key(question.prompt.name, question.cloze)]
        gap_answers.append(answer)
        content_free = [answers[key(question.prompt.name, c)] for c in question.content_free]
        if any(a.is_broken for a in (answer, *content_free)):
            scores[row] = np.nan
            continue
        logs = _logs(answer, is_normalised)
        if content_free:
            prior = [_logs(a, is_normalised) for a in content_free]
            logs = logs - (np.logaddexp.reduce(prior, axis=0) - np.log(len(prior)))
        first_word = 0
        for label, words in enumerate(question.verbaliser.words):
            scores[row, label] = np.nanmax(logs[first_word : first_word + len(words)])
            first_word += len(words)
    predictions.check_scores(scores, f"model={plan.source.name}")
    return scores, gap_answers


def _rows(plan: Work, answers: Mapping[bytes, Answer], run_id: str) -> pa.Table:
    """Return the answers as rows of the table predictions."""
    scores, gap_answers = _scores(plan, answers)
    names, questions = LABELS[plan.settings.task], plan.questions
    rows, item_rows = plan.items.rows, pa.array([question.item for question in questions])
    predicted: list[str | None] = [names[place] for place in scores.argmax(axis=1)]
    if plan.model.kind == "masked":
        predicted = [
            names[question.verbaliser.label(answer.place)] if answer.place >= 0 else None
            for question, answer in zip(questions, gap_answers, strict=True)
        ]
    return predictions.rows(
        len(questions),
        run_id=run_id,
        task=plan.settings.task,
        scheme=plan.items.scheme,
        predicted=predicted,
        scores=scores,
        text=[answer.first for answer in gap_answers],
        prompt=[question.prompt.name for question in questions],
        verbaliser=[question.verbaliser.name for question in questions],
        premise_order=[question.order for question in questions],
        seed=plan.settings.seed,
        model=plan.source.name,
        table_version=rows["version"].take(item_rows),
        **{name: rows[name].take(item_rows) for name in ("item_id", "gold", "edition", "fold")},
    )


def _outcome(plan: Work, answered: Computed, folder: Path, run_id: str) -> Outcome:
    """Return answers as rows of the table predictions, figures, and the papers' table."""
    result: dict[str, Any] = {
        "prompts": len(_distinct_clozes(plan.questions)),
        "forward": answered.forward,
        "seconds": answered.seconds,
    }
    # Scores that are refused end every process, not only the first.
    rows = _rows(plan, answered.answers, run_id)
    if launch.rank() != 0:
        return Outcome(result)
    figures, printed = _results(plan, rows)
    if answered.forward:
        figures["prompts_per_second"] = answered.forward / answered.seconds
    replace_text(folder / "table.md", printed + "\n")
    texts = {"table.md": printed + "\n", "prompts.yaml": plan.prompts.text}
    return Outcome({**result, "figures": figures}, rows, figures, texts)


def _results(plan: Work, rows: pa.Table) -> tuple[dict[str, float], str]:
    """Return figures by name (shares from 0 to 1), and the printed table, in percent."""
    item_rows = pa.array([question.item for question in plan.questions])
    items = plan.items.rows
    for name in set(items.column_names) - set(rows.column_names):
        rows = rows.append_column(name, items[name].take(item_rows))
    figures, columns, caption = plan.items.task.prompt_results(rows)
    return figures, f"{caption}\n\n{markdown(pa.table(columns))}"
