"""``etl/import_predictions.py``: answers of models that were asked elsewhere."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from adnominal.conf import UserError
from adnominal.conf.progress import Progress
from adnominal.etl.checks.split_rows import declared_tables, read_parts
from adnominal.etl.declaration import Dataset, ItemTable
from adnominal.etl.dropped import Dropped, write_dropped
from adnominal.etl.external.files import Answer, answers
from adnominal.etl.external.matching import TABLE, UNKNOWN, Item, Matched, match, words_of
from adnominal.etl.external.settings import Settings
from adnominal.etl.lake import arrow
from adnominal.etl.lake.schema import rows_of_schema
from adnominal.etl.lake.tables import table
from adnominal.etl.registry import DATASETS

log = logging.getLogger("adnominal")
_JOB = "import_predictions"


def import_predictions(settings: Settings) -> None:
    """Import answers of models that were asked elsewhere into the table predictions.

    Answers are set beside the items of task= and edition=, which have the correct labels. What is
    unknown, doubled or missing is counted in the table dropped. Repeating the command changes
    nothing; other answers need another name (run=).
    """
    for file in settings.file:
        if not Path(file).is_file():
            raise UserError(f"file={file}: no such file")
    dataset = DATASETS[settings.task]
    words = words_of(dataset, settings.labels)
    items = read_items(settings, dataset)
    matched = match(_with_progress(settings), items, words)
    if not matched.size:
        raise UserError(_nothing_matches(settings, matched))
    rows = rows_of(settings, matched)
    commit = arrow.append(
        settings.lake,
        TABLE,
        rows,
        job=_JOB,
        metadata={"run": settings.run_id},
        # The name of the run is the transaction, so a killed import can be repeated.
        transaction=(f"{_JOB}/{settings.run}", 0),
    )
    if commit.skipped:
        _check_same(settings, rows)
    drops = [Dropped(TABLE, reason, *value) for reason, value in sorted(matched.dropped.items())]
    write_dropped(settings.lake, f"{_JOB}/{settings.run}", drops)
    answered = f"{len(matched.answered):,} items of {dataset.title}, edition {settings.edition}"
    log.info("run %s: %s answers to %s", settings.run_id, f"{matched.size:,}", answered)


def read_items(settings: Settings, dataset: Dataset) -> dict[str, Item]:
    """The items of the edition by id.

    Raises:
        UserError: the edition, or the part of the split, has no items.
    """
    items: dict[str, Item] = {}
    for item_table in dataset.tables:
        items |= _items_of_table(settings, dataset, item_table)
    if not items:
        names = " and ".join(item_table.name for item_table in dataset.tables)
        raise UserError(
            f"edition={settings.edition}: no rows in {names} of lake={settings.lake}; expected one "
            f"of {', '.join(_editions(settings.lake, dataset)) or 'those that a build makes'}"
        )
    if settings.scheme is None:
        return items
    part = _ids_of_part(settings, dataset)
    if not part:
        raise UserError(
            f"scheme={settings.scheme} fold={settings.fold} part={settings.part}: no items of "
            f"edition {settings.edition}; expected a fold and part of the scheme"
        )
    return {name: replace(item, is_asked=name in part) for name, item in items.items()}


def _items_of_table(settings: Settings, dataset: Dataset, item_table: ItemTable) -> dict[str, Item]:
    labels = dataset.labels
    assert labels is not None
    version = arrow.version(settings.lake, item_table.name)
    if version is None:
        return {}
    gold: dict[str, list[str]] = {}
    for batch in arrow.batches(
        settings.lake,
        item_table.name,
        version=version,
        where=[("edition", "=", settings.edition)],
        columns=[item_table.item, labels.column],
    ):
        for item, value in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            labels_of_item = gold.setdefault(item, [])
            if value is not None and value not in labels.unanswerable:
                labels_of_item.append(labels.names[value] if labels.numbered else value)
    # In one order, whatever the order of the table's files.
    return {item: Item(sorted(values), version) for item, values in gold.items()}


def _editions(lake: str, dataset: Dataset) -> list[str]:
    """The editions of the dataset's tables of items."""
    tables = [table.name for table in dataset.tables if table.name in arrow.tables(lake)]
    editions: set[str] = set()
    for name in tables:
        editions.update(arrow.partition_values(lake, name, "edition"))
    return sorted(editions)


def _ids_of_part(settings: Settings, dataset: Dataset) -> set[str]:
    """The ids of the items that were asked."""
    scheme = str(settings.scheme)
    tables = declared_tables(dataset, scheme)
    rows = read_parts(settings.lake, tables, settings.edition, scheme, settings.fold)
    asked = rows.filter(pc.equal(rows["part"], settings.part))
    return set(asked[tables.key].to_pylist())


def _with_progress(settings: Settings) -> Iterator[Answer]:
    """The answers of all files, with the progress through their lines."""
    files = [Path(file) for file in settings.file]
    sizes: Mapping[Path, int] = {file: file.stat().st_size for file in files}
    with Progress("import predictions", sum(sizes.values()), unit="B") as progress:
        for file in files:
            log.info("reading %s", file)
            yield from answers(file, settings)
            progress.advance(sizes[file])


def _nothing_matches(settings: Settings, matched: Matched) -> str:
    reasons = [
        f"{count:,} {reason} (such as {sample})"
        for reason, (count, sample) in matched.dropped.items()
    ]
    hint = ""
    if UNKNOWN in matched.dropped:
        editions = _editions(settings.lake, DATASETS[settings.task])
        hint = f"; expected answers to edition={settings.edition}, of {', '.join(editions)}"
    return f"run={settings.run}: no answer can be used: {'; '.join(reasons)}{hint}"


def rows_of(settings: Settings, matched: Matched) -> pa.Table:
    """The answers as rows of the table predictions.

    Raises:
        UserError: the files name several models.
    """
    if settings.model is None and len(matched.models) > 1:
        raise UserError(
            f"the files have answers of {' and '.join(sorted(matched.models))}; expected one "
            "model for each run, or its name with model="
        )
    return rows_of_schema(
        table(TABLE).schema,
        matched.size,
        {
            **matched.columns,
            "run_id": settings.run_id,
            "task": settings.task,
            "edition": settings.edition,
            "scheme": settings.scheme,
            "fold": settings.fold,
            "model": settings.model or next(iter(matched.models), settings.run),
        },
    )


def _check_same(settings: Settings, rows: pa.Table) -> None:
    """Check that the lake's answers of this name are the ones in the files.

    Raises:
        UserError: they are others.
    """
    where = [("run_id", "=", settings.run_id)]
    stored = arrow.read(settings.lake, TABLE, where=where)
    if _comparable_labels(stored) != _comparable_labels(rows):
        raise UserError(
            f"run={settings.run}: the lake has {stored.num_rows:,} other answers of this name; "
            "expected another name, as answers in the lake are never replaced"
        )
    log.info("run %s: imported before; nothing is written", settings.run_id)


def _comparable_labels(rows: pa.Table) -> list[str]:
    """The rows in one order, without the version of the items, which may have been built again."""
    return sorted(map(repr, rows.drop_columns("table_version").to_pylist()))
