"""The verbs of ``etl/annotate_adept.py``: export batches, import answers, finish the dataset.

No Spark session is started: `etl.lake.arrow` handles the tens of thousands of annotations.
"""

import dataclasses
import json
import logging
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from adnominal import conf
from adnominal.conf import JobFailed, UserError, settings_hash
from adnominal.conf.delimited import rows_of, text_of
from adnominal.conf.help import nearest
from adnominal.etl.adept import LABELS
from adnominal.etl.annotation import aggregation, finishing, forms, simulate
from adnominal.etl.annotation.answers import (
    STORED_ANSWER,
    Key,
    StoredAnswer,
    counted_annotators,
    detect,
    fingerprint,
    match,
    read_sent,
    stored_answers,
    stored_labels,
    withdrawn_answers,
)
from adnominal.etl.annotation.batches import Question, ShownItem, compose, gold_labels, shown_item
from adnominal.etl.annotation.quality import RULES_VERSION, Rules
from adnominal.etl.annotation.settings import (
    LABELLING,
    SMALL_ROUND,
    ExportSettings,
    FinishSettings,
    ImportSettings,
    SimulateSettings,
)
from adnominal.etl.draws import rank
from adnominal.etl.dropped import Dropped, write_dropped
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table

JOB = "annotate_adept"
log = logging.getLogger("adnominal")


def export_batch(settings: ExportSettings) -> None:
    """Export a batch for annotators: items with checks among them, in files for a platform.

    Writes batch=FILE with its companion files, and records the questions in adept_batches. The
    rounds pilot and main take chosen variants of adept_items that are in no batch yet; expert takes
    100 items of the finished dataset, human 100 of its validation part, audit 100 extreme labels.
    """
    path = Path(settings.batch)
    asked_questions, base = _questions(settings.lake)
    previous = [question for question in asked_questions if question.batch == settings.name]
    if settings.again:
        if not previous:
            raise UserError(f"again=true: no batch {settings.name!r} in lake={settings.lake}")
        forms.check_path(path, previous[0].platform)
        _complete(_parts(forms.batch_files(path, previous)))
        log.info("batch %s: %d questions written again", settings.name, len(previous))
        return
    if previous:
        raise UserError(
            f"batch={path}: a batch {settings.name!r} was exported already (round "
            f"{previous[0].round}, {len(previous)} questions); give another name, or again=true to "
            "write its files again"
        )
    batch = settings.laid_out()
    items = _items(settings, asked_questions)
    gold = _gold(settings, asked_questions) if batch.gold else []
    questions = compose(batch, items, gold)
    files = forms.batch_files(path, questions)
    existing = sorted(str(name) for name in files if name.exists())
    if existing:
        raise UserError(f"batch={path}: {', '.join(existing)} already exists; give another name")
    parts = _parts(files)
    metadata = {"settings": settings_hash(settings), "seed": str(settings.seed)}
    rows = [dataclasses.asdict(question) for question in questions]
    _append(settings.lake, "adept_batches", rows, "export", base, metadata)
    _complete(parts)
    kinds = [question.kind for question in questions]
    log.info(
        "batch %s: %d pages with %d items, %d gold items, %d attention checks in %s",
        settings.name,
        len({question.page for question in questions}),
        *(kinds.count(kind) for kind in ("item", "gold", "attention")),
        ", ".join(map(str, files)),
    )


def import_answers(settings: ImportSettings) -> None:
    """Import answers: check them, hash their annotators and add them to adept_annotations.

    A file with any fault is refused as a whole. Answers that are already stored are not added
    again, so a growing file of results may be imported repeatedly. Stored answers of pages that
    the file has as rejected or cancelled are removed.
    """
    path = Path(settings.batch)
    answers_read = read_sent(
        path, None if settings.format == "auto" else settings.format, settings.annotator
    )
    key = Key(settings.key_path(), settings.lake)
    questions, _ = _questions(settings.lake)
    if not questions:
        raise UserError(
            f"lake={settings.lake}: no batch was exported from it; expected the lake of the export"
        )
    base = arrow.version(settings.lake, "adept_annotations")
    secret = key.secret(make=base is None)
    key_fingerprint = fingerprint(secret)
    if base is not None:
        marks = {r.metadata.get("key") for r in arrow.history(settings.lake, "adept_annotations")}
        if marks - {None, key_fingerprint}:
            raise UserError(
                f"key={key.path} is not the key of the earlier imports; with it the same "
                "annotators would count as new ones. Expected the earlier key file"
            )
    by_id = {question.question_id: question for question in questions}
    labels = stored_labels(settings.lake)
    rows, known = match(path, answers_read, by_id, labels, secret)
    withdrawn = withdrawn_answers(answers_read, by_id, labels, secret)
    log.info(
        "%s, %s: %d new answers of %d annotators, %d already stored; %d questions unanswered, %d "
        "pages rejected or cancelled (%d stored answers removed)",
        path,
        answers_read.platform,
        len(rows),
        len({row["annotator"] for row in rows}),
        known,
        answers_read.unanswered,
        answers_read.rejected,
        len(withdrawn),
    )
    if withdrawn:
        base = _remove_answers(settings.lake, withdrawn, base, {"key": key_fingerprint})
    if rows:
        _append(settings.lake, "adept_annotations", rows, "import", base, {"key": key_fingerprint})


def finish(settings: FinishSettings) -> None:
    """Build the dataset: apply the quality rules, decide labels, measure agreement, and split.

    Replaces edition=NAME of the table adept and reports how far annotators agree.
    """
    aggregation.check_models(settings.models)
    lake, edition = settings.lake, settings.edition
    columns = ["item_id", "noun", "adjective", "sentence", "modified_sentence", "chosen"]
    rows = _edition(lake, "adept_items", edition, columns)
    items = {row["item_id"]: row for row in rows if row["chosen"]}
    known, _ = _questions(lake)
    batches = {question.batch for question in known if question.edition == edition}
    stored = stored_answers(lake)
    answers = finishing.answers_of_edition(stored, items, batches, settings.rounds)
    if not answers.counted:
        raise UserError(
            f"edition={edition}: no answers of round {' or '.join(settings.rounds)} to its items "
            f"in adept_annotations of lake={lake}; export a batch, then import its answers"
        )
    rules = settings.rules()
    result = answers.filtered(rules)
    of_rounds = [a for a in stored if a.round in settings.rounds and a.batch in batches]
    gone = [a for a in of_rounds if a.kind == "item" and a.item_id not in items]
    if gone:
        # The edition was rebuilt with other items.
        result.dropped["item_gone (answers)"] = (len(gone), f"item {min(gone).item_id}")
    figures = finishing.report(
        answers, result, rules, models=settings.models, samples=settings.samples
    )
    log.info("edition %s\n%s", edition, finishing.report_text(figures))
    if settings.report is not None:
        text = json.dumps(figures, ensure_ascii=False, indent=1)
        _complete(_parts({Path(settings.report): f"{text}\n"}))
    labelled = finishing.dataset_rows(result, items, edition, settings.seed)
    if not labelled:
        lost = "; ".join(f"{count} {reason}" for reason, (count, _) in result.dropped.items())
        raise JobFailed(f"edition={edition}: the rules leave no item ({lost}); nothing was changed")
    metadata = _metadata(settings, figures)
    counting = (answer for of_item in result.items.values() for answer in of_item)
    metadata["made_of"] = f"Labels of {counted_annotators(counting)}."
    data = pa.Table.from_pylist(labelled, table("adept").schema)
    arrow.replace(lake, "adept", data, {"edition": edition}, job=JOB, metadata=metadata)
    drops = [Dropped("adept", reason, *value) for reason, value in sorted(result.dropped.items())]
    write_dropped(lake, f"{JOB}/{edition}", drops)
    log.info("adept: %d rows of edition %s", len(labelled), edition)


def _metadata(settings: FinishSettings, figures: Mapping[str, Any]) -> dict[str, str]:
    """Return the metadata for the commit of the dataset."""
    alpha = figures["agreement"]["answers that count"].get("alpha ordinal", {}).get("value")
    return {
        "settings": settings_hash(settings),
        "seed": str(settings.seed),
        "rules": RULES_VERSION,
        "items_version": str(arrow.version(settings.lake, "adept_items")),
        "annotations_version": str(arrow.version(settings.lake, "adept_annotations")),
        "alpha_ordinal": str(alpha),
    }


def simulate_answers(settings: SimulateSettings) -> None:
    """Simulate annotators' answers to a batch, in the format of its platform.

    To try a round before paying for it, import them into a copy of the lake and finish.
    """
    path, answers_path = Path(settings.batch), Path(settings.out)
    platform = detect(path)
    if answers_path.exists():
        raise UserError(f"out={answers_path} already exists; give another name")
    text = path.read_text(encoding="utf-8")
    names = set(simulate.page_names(platform, text))
    known, _ = _questions(settings.lake)
    of_batch = (question for question in known if question.page in names)
    pages = [list(page) for _, page in groupby(of_batch, key=lambda question: question.page)]
    if len(pages) != len(names):
        raise UserError(
            f"batch={path}: {len(names) - len(pages)} of its {len(names)} pages were not exported "
            f"from lake={settings.lake}; expected the lake of the export"
        )
    people = simulate.annotators(settings.careful, settings.noisy, settings.spammers)
    answers = simulate.simulated(pages, people, settings.answers, settings.seed)
    _complete(_parts({answers_path: simulate.filled_file(platform, text, answers)}))
    log.info("%s: %d pages, %d answers each", answers_path, len(pages), settings.answers)


def _items(settings: ExportSettings, questions: Sequence[Question]) -> list[ShownItem]:
    """Select the items to ask about: the requested number of those available, drawn by the seed."""
    labelling = settings.round in LABELLING
    rounds = LABELLING if labelling else (settings.round,)
    asked_ids = {q.item_id for q in questions if q.kind == "item" and q.round in rounds}
    if labelling:
        names = ["item_id", "sentence", "modified_sentence", "adjective", "noun", "chosen"]
        rows = _edition(settings.lake, "adept_items", settings.edition, names)
        rows = [row for row in rows if row["chosen"]]
        if settings.lacking is not None:
            item_ids = {row["item_id"] for row in rows}
            lacking = _items_lacking(settings.lake, settings.lacking, questions, item_ids)
            rows = [row for row in rows if row["item_id"] in lacking]
            asked_ids = set()
    else:
        names = ["item_id", "sentence1", "sentence2", "modifier", "noun", "label", "split_random"]
        rows = _edition(settings.lake, "adept", settings.edition, names)
        if settings.round == "human":
            rows = [row for row in rows if row["split_random"] == "val"]
        elif settings.round == "audit":
            rows = [row for row in rows if row["label"] in (0, len(LABELS) - 1)]
    wanted_ids = None if settings.ids is None else _ids(Path(settings.ids), settings.edition)
    if wanted_ids is not None:
        fitting_count = len(rows)
        rows = [row for row in rows if row["item_id"] in wanted_ids]
        log.info(
            "%s: %d items of edition %s; %d of them among the %d that fit round %s",
            settings.ids,
            len(wanted_ids),
            settings.edition,
            len(rows),
            fitting_count,
            settings.round,
        )
    free_items = [row for row in rows if row["item_id"] not in asked_ids]
    if wanted_ids is not None:
        free_items.sort(key=lambda row: wanted_ids[row["item_id"]])
    else:
        draw = (settings.seed, "sample", settings.round)
        free_items.sort(key=lambda row: rank(*draw, row["item_id"]))
    if settings.round == "audit" and wanted_ids is None:
        # Alternate between both ends, because the labels are far from equally frequent.
        ends = [[row for row in free_items if row["label"] == end] for end in (0, len(LABELS) - 1)]
        free_items = [row for pair in zip_longest(*ends) for row in pair if row is not None]
    size = settings.items or (len(free_items) if settings.round == "main" else SMALL_ROUND)
    if not free_items or (settings.items is not None and len(free_items) < size):
        raise UserError(
            f"round={settings.round} edition={settings.edition}: {len(free_items)} of {len(rows)} "
            f"suitable items are left ({len(rows) - len(free_items)} are already in batches); "
            f"expected {settings.items or 'one or more'}"
        )
    if len(free_items) < size and settings.round != "main":
        log.info("only %d items are left, not %d", len(free_items), size)
    return [_as_shown(row, settings) for row in free_items[:size]]


def _ids(path: Path, edition: str) -> dict[str, int]:
    """Return the positions of a file's ids for an edition; a file without editions fits any.

    Raises:
        UserError: the file does not exist, lacks the column item_id, or has lines without ids or no
            id of the edition.
    """
    text = text_of(path, f"ids={path}")
    places: dict[str, int] = {}
    for line, row in rows_of(text, f"ids={path}", ("item_id",), tabs=path.suffix == ".tsv"):
        if not row["item_id"]:
            raise UserError(f"ids={path}: line {line} has no item_id")
        if row.get("edition") in (None, "", edition):
            places.setdefault(row["item_id"], len(places))
    if not places:
        raise UserError(f"ids={path}: no item of edition={edition} in it")
    return places


def _items_lacking(
    lake: str, count: int, questions: Sequence[Question], item_ids: Collection[str]
) -> set[str]:
    """Return the items among `item_ids` that lack `count` answers under the default quality rules.

    Items of a batch without any answers yet are excluded: their answers may still come.
    """
    stored = [a for a in stored_answers(lake) if a.round in LABELLING]
    answered = {a.batch for a in stored}
    about_items = [q for q in questions if q.kind == "item" and q.round in LABELLING]
    unanswered_ids = {q.item_id for q in about_items if q.batch not in answered}
    answers = finishing.answers_of_edition(stored, item_ids, ())
    counting = answers.filtered(Rules(answers=1)).items
    needed = Rules().answers
    candidates = {q.item_id for q in about_items}.intersection(item_ids) - unanswered_ids
    return {i for i in candidates if needed - len(counting.get(i, ())) == count}


def _as_shown(row: dict[str, Any], settings: ExportSettings) -> ShownItem:
    names = (
        ("sentence", "modified_sentence", "adjective", "noun")
        if settings.round in LABELLING
        else ("sentence1", "sentence2", "modifier", "noun")
    )
    first, second, modifier, noun = (row[name] for name in names)
    item = shown_item(row["item_id"], first, second, modifier, noun, settings.condition)
    return item._replace(expected=row["label"]) if settings.round == "audit" else item


def _gold(settings: ExportSettings, questions: Sequence[Question]) -> list[ShownItem]:
    """Return the gold items with the sentences shown in the pilot."""
    labels = gold_labels(stored_answers(settings.lake), settings.gold_answers)
    texts = {
        q.item_id: ShownItem(q.item_id, q.sentence1, q.sentence2, labels[q.item_id])
        for q in questions
        if q.round == "pilot" and q.kind == "item" and q.item_id in labels
    }
    return [texts[item] for item in sorted(texts)]


def _questions(lake: str) -> tuple[list[Question], int | None]:
    """Return every question asked so far, page by page, and the version of the table."""
    version = arrow.version(lake, "adept_batches")
    if version is None:
        return [], None
    names = [field.name for field in dataclasses.fields(Question)]
    rows = arrow.read(lake, "adept_batches", version=version, columns=names)
    questions = [Question(**row) for row in rows.to_pylist()]
    return sorted(questions, key=lambda q: (q.batch, q.page, q.place)), version


def _edition(lake: str, name: str, edition: str, columns: list[str]) -> list[dict[str, Any]]:
    """Return the rows of an edition in the order of their ids; raise `UserError` if it has none."""
    edition_rows = arrow.read(lake, name, where=[("edition", "=", edition)], columns=columns)
    if not edition_rows.num_rows:
        editions = {str(dict(file.partition)["edition"]) for file in arrow.files(lake, name)}
        raise UserError(
            f"edition={edition}: not in {name} of lake={lake}; expected one of "
            f"{', '.join(sorted(editions)) or 'none'}"
        )
    order = pc.sort_indices(edition_rows, [("item_id", "ascending")])
    rows: list[dict[str, Any]] = edition_rows.take(order).to_pylist()
    return rows


def _append(
    lake: str,
    name: str,
    rows: list[dict[str, Any]],
    verb: str,
    base: int | None,
    metadata: Mapping[str, str],
) -> None:
    """Add the rows that a verb planned from version `base` of the table.

    Raises:
        JobFailed: another run of the verb committed first.
    """
    commit = arrow.append(
        lake,
        name,
        pa.Table.from_pylist(rows, table(name).schema),
        job=f"{JOB} {verb}",
        metadata=metadata,
        transaction=(f"{JOB}/{verb}", _transaction_number(base)),
    )
    if commit.skipped:
        raise JobFailed(f"another {verb} ran at the same time; nothing was changed, run it again")


def _remove_answers(
    lake: str, withdrawn: Mapping[StoredAnswer, str], base: int | None, metadata: Mapping[str, str]
) -> int | None:
    """Remove stored answers, a commit for each round; return the version of the last one.

    Raises:
        JobFailed: another import committed first.
    """
    name = "adept_annotations"
    for round in sorted(set(withdrawn.values())):
        rows = arrow.read(lake, name, version=base, where=[("round", "=", round)])
        keys = zip(*(rows[column].to_pylist() for column in STORED_ANSWER), strict=True)
        is_valid = pa.array([key not in withdrawn for key in keys], pa.bool_())
        commit = arrow.replace(
            lake,
            name,
            rows.filter(is_valid),
            {"round": round},
            allow_empty=True,
            base=base,
            job=f"{JOB} import",
            metadata=metadata,
            transaction=(f"{JOB}/import", _transaction_number(base)),
        )
        if commit.skipped:
            raise JobFailed("another import ran at the same time; run this one again")
        base = commit.version
    return base


def _transaction_number(base: int | None) -> int:
    """Return the number of a transaction that was planned from version `base`.

    Two runs that planned from the same version have the same number, so the later one is refused:
    it has not seen the earlier one's rows.
    """
    return 0 if base is None else base + 1


def _parts(files: Mapping[Path, str]) -> dict[Path, Path]:
    """Write files under temporary names, each beside its final name.

    Raises:
        UserError: a file cannot be written.
    """
    parts = {}
    for path, text in files.items():
        part = path.with_name(f".{path.name}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UserError(f"{path}: {error.strerror}") from error
        parts[part] = path
    return parts


def _complete(parts: Mapping[Path, Path]) -> None:
    """Rename the files of `_parts` to their final names."""
    for part, path in parts.items():
        part.replace(path)


VERBS: dict[str, tuple[type, Callable[[Any], None]]] = {
    "export": (ExportSettings, export_batch),
    "import": (ImportSettings, import_answers),
    "finish": (FinishSettings, finish),
    "simulate": (SimulateSettings, simulate_answers),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb with its settings; return the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] in VERBS:
        settings, job = VERBS[words[0]]
        return conf.run(settings, job, words[1:])
    if words and words[0] in ("--help", "-h", "help"):
        print("annotate_adept.py VERB key=value … (VERB --help lists its settings)")
        for verb, (_, job) in VERBS.items():
            print(f"  {verb:<9} {(job.__doc__ or '').splitlines()[0]}")
        return 0
    got = repr(words[0]) if words else "no verb"
    hint = nearest(words[0], VERBS) if words else ""
    return conf.complain(
        f"got {got}; expected one of {', '.join(VERBS)}{hint} (--help explains)", 2
    )
