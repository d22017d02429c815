"""The verbs of ``etl/annotate_adept.py``: export batches, import answers, finish the dataset.

Export and import serve any `AnnotationTask`; `degrees` has the verbs of ASP.

No Spark session is started: `etl.lake.arrow` handles the tens of thousands of annotations.
"""

import dataclasses
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from adnominal import conf
from adnominal.conf import JobFailed, UserError, settings_hash
from adnominal.conf.delimited import text_of
from adnominal.conf.help import spelling_hint
from adnominal.conf.numbers import count_of
from adnominal.conf.values import changed_settings
from adnominal.etl.adept.annotation_task import ADEPT
from adnominal.etl.annotation import simulate
from adnominal.etl.annotation.answers import (
    AnswerKey,
    Changes,
    compare,
    key_of,
    stored_questions,
)
from adnominal.etl.annotation.batches import Question, ShownItem, compose, pages_of
from adnominal.etl.annotation.finishing import finish
from adnominal.etl.annotation.forms import Notes, batch_files, csv_text, make_folder, write_files
from adnominal.etl.annotation.keys import fingerprint, read_key
from adnominal.etl.annotation.returned import read_answers
from adnominal.etl.annotation.selection import select_gold, select_items
from adnominal.etl.annotation.settings import (
    ExportSettings,
    FinishSettings,
    ImportSettings,
    SimulateSettings,
)
from adnominal.etl.annotation.task import AnnotationTask
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table

Select = Callable[[ExportSettings, Sequence[Question]], list[ShownItem]]
log = logging.getLogger("adnominal")


def export_batch(
    settings: ExportSettings, task: AnnotationTask = ADEPT, select: Select = select_items
) -> None:
    """Export a batch for annotators: items with checks among them, in files for a platform.

    Writes batch=FILE with its companion files, and records the questions in the lake. The
    rounds pilot and main take chosen variants of adept_items that are in no batch yet; expert takes
    100 items of the finished dataset, human 100 of its validation part, audit 100 extreme labels.
    """
    path = Path(settings.batch)
    notes = Notes(note_text("consent", settings.consent), note_text("contact", settings.contact))
    base = arrow.version(settings.lake, task.batches)
    asked = stored_questions(settings.lake, task.batches)
    previous = [question for question in asked if question.batch == settings.name]
    if settings.again:
        if not previous:
            raise UserError(f"again=true: no batch {settings.name!r} in lake={settings.lake}")
        _check_exported(settings, previous[0])
        write_files(batch_files(task, path, previous, notes))
        log.info("batch %s: %s written again", settings.name, count_of(len(previous), "question"))
        return
    if previous:
        raise UserError(
            f"batch={path}: a batch {settings.name!r} was exported already (round "
            f"{previous[0].round}, {len(previous)} questions); give another name, or again=true to "
            "write its files again"
        )
    items = select(settings, asked)
    gold = select_gold(settings, asked, task) if settings.gold_share else []
    questions = compose(task, settings, items, gold)
    files = batch_files(task, path, questions, notes)
    existing = sorted(str(name) for name in files if name.exists())
    if existing:
        raise UserError(f"batch={path}: {', '.join(existing)} already exists; give another name")
    make_folder("batch", path)
    rows = [dataclasses.asdict(question) for question in questions]
    commit = arrow.append(
        settings.lake,
        task.batches,
        pa.Table.from_pylist(rows, table(task.batches).schema),
        job=f"{task.job} export",
        metadata={"settings": settings_hash(settings), "seed": str(settings.seed)},
        transaction=(f"{task.job}/export", _transaction_number(base)),
    )
    if commit.skipped:
        raise JobFailed("another export ran at the same time; nothing was changed, run it again")
    write_files(files)
    kinds = [question.kind for question in questions]
    log.info(
        "batch %s: %s with %s, %s, %s in %s",
        settings.name,
        count_of(len({question.page for question in questions}), "page"),
        count_of(kinds.count("item"), "item"),
        count_of(kinds.count("gold"), "gold item"),
        count_of(kinds.count("attention"), "attention check"),
        ", ".join(map(str, files)),
    )


def _check_exported(settings: ExportSettings, question: Question) -> None:
    """Raise `UserError` if a batch is to be written again in another way than it was exported."""
    exported = {
        "format": question.platform,
        "round": question.round,
        "condition": question.condition,
        "edition": question.edition,
    }
    for name, value in changed_settings(settings).items():
        if value != exported.get(name, value):
            raise UserError(
                f"{name}={value} again=true: the batch {settings.name!r} was exported with "
                f"{name}={exported[name]}; expected that, or another batch="
            )


def note_text(name: str, value: str | None) -> str:
    """The text of a setting that is a text or names a file that ends in .txt; empty for None.

    Raises:
        UserError: the file cannot be read or has no text.
    """
    if value is None or not value.endswith(".txt"):
        return value or ""
    text = text_of(Path(value), f"{name}={value}")
    if not text.strip():
        raise UserError(f"{name}={value}: an empty file; expected a text for the pages")
    return text


def import_answers(settings: ImportSettings, task: AnnotationTask = ADEPT) -> None:
    """Import answers: check them, hash their annotators and add them to those in the lake.

    A file with any fault is refused as a whole. Answers that are already stored are not added
    again, so a growing file of results may be imported repeatedly. Stored answers of pages that
    the file has as rejected or cancelled are removed.
    """
    pages = read_answers(Path(settings.batch), settings.annotator)
    questions = stored_questions(settings.lake, task.batches)
    if not questions:
        raise UserError(
            f"lake={settings.lake}: no batch was exported from it; expected the lake of the export"
        )
    base = arrow.version(settings.lake, task.annotations)
    secret = read_key(settings.key_path(), settings.lake, make=base is None)
    if base is not None:
        _check_key(settings, task, fingerprint(secret))
    stored = {}
    if base is not None:
        rows = arrow.read(settings.lake, task.annotations, version=base).to_pylist()
        stored = {key_of(row): row for row in rows}
    new = compare(task, pages, questions, stored, secret)
    log.info(
        "%s: %s of %s, %d already stored; %s unanswered, %s rejected or cancelled (%s removed)",
        settings.batch,
        count_of(len(new.rows), "new answer"),
        count_of(len({key.annotator for key in new.rows}), "annotator"),
        new.already_stored,
        count_of(new.unanswered, "question"),
        count_of(sum(page.rejected for page in pages), "page"),
        count_of(len(new.withdrawn), "stored answer"),
    )
    _store(settings.lake, task, stored, new, base, {"key": fingerprint(secret)})


def _check_key(settings: ImportSettings, task: AnnotationTask, mark: str) -> None:
    """Raise `UserError` if the key is not that of the earlier imports."""
    history = arrow.history(settings.lake, task.annotations)
    if {record.metadata.get("key") for record in history} - {None, mark}:
        raise UserError(
            f"key={settings.key_path()} is not the key of the earlier imports; with it the same "
            "annotators would count as new ones. Expected the earlier key file"
        )


def _store(
    lake: str,
    task: AnnotationTask,
    stored: Mapping[AnswerKey, dict[str, Any]],
    new: Changes,
    base: int | None,
    metadata: Mapping[str, str],
) -> None:
    """Change the `stored` answers of version `base`, in a commit for each round.

    Raises:
        JobFailed: another import committed first.
    """
    answers = {**stored, **new.rows}
    for key in new.withdrawn:
        del answers[key]
    for round in sorted({key.round for key in [*new.rows, *new.withdrawn]}):
        rows = [row for key, row in answers.items() if key.round == round]
        commit = arrow.replace(
            lake,
            task.annotations,
            pa.Table.from_pylist(rows, table(task.annotations).schema),
            {"round": round},
            allow_empty=True,
            base=base,
            job=f"{task.job} import",
            metadata=metadata,
            transaction=(f"{task.job}/import", _transaction_number(base)),
        )
        if commit.skipped:
            raise JobFailed("another import ran at the same time; run this one again")
        base = commit.version


def simulate_answers(settings: SimulateSettings) -> None:
    """Simulate annotators' answers to a batch, in a filled-in copy of its CSV.

    To try a round before paying for it, import them into a copy of the lake and finish.
    """
    name, answers_path = Path(settings.batch).stem, Path(settings.out)
    if answers_path.exists():
        raise UserError(f"out={answers_path} already exists; give another name")
    make_folder("out", answers_path)
    questions = [q for q in stored_questions(settings.lake) if q.batch == name]
    if not questions:
        raise UserError(
            f"batch={settings.batch}: no batch {name!r} was exported from lake={settings.lake}; "
            "expected the lake of the export"
        )
    pages = pages_of(questions)
    people = simulate.annotators(settings.careful, settings.noisy, settings.spammers)
    rows = simulate.simulated_rows(ADEPT, pages, people, settings.answers, settings.seed)
    write_files({answers_path: csv_text(rows)})
    log.info(
        "%s: %s, %s each",
        answers_path,
        count_of(len(pages), "page"),
        count_of(settings.answers, "answer"),
    )


def _transaction_number(base: int | None) -> int:
    """The number of a transaction that was planned from version `base`.

    Two runs that planned from the same version have the same number, so the later one is refused:
    it has not seen the earlier one's rows.
    """
    return 0 if base is None else base + 1


Verbs = Mapping[str, tuple[type, Callable[[Any], None]]]

VERBS: Verbs = {
    "export": (ExportSettings, export_batch),
    "import": (ImportSettings, import_answers),
    "finish": (FinishSettings, finish),
    "simulate": (SimulateSettings, simulate_answers),
}


def run_verb(verbs: Verbs, script: str, argv: Sequence[str] | None = None) -> int:
    """Run one verb with its settings; return the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    expected = ", ".join(verbs)
    if not words:
        return conf.complain(f"got no verb; expected one of {expected} (--help explains)", 2)
    name = words[0]
    if name in verbs:
        settings, job = verbs[name]
        return conf.run(settings, job, words[1:])
    if name in conf.HELP_WORDS:
        print(f"{script} VERB key=value … (VERB --help lists its settings)")
        for verb, (_, job) in verbs.items():
            description = (job.__doc__ or "").splitlines()[0]
            print(f"  {verb:<9} {description}")
        return 0
    hint = spelling_hint(name, verbs)
    return conf.complain(f"got {name!r}; expected one of {expected}{hint} (--help explains)", 2)


main = partial(run_verb, VERBS, "annotate_adept.py")
