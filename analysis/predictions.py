"""The table predictions, from which statistics and reports read all answers of models."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from adnominal.analysis.comparisons import Paired
from adnominal.analysis.rows import distinct_values, tuples, where_equal, with_column, with_columns
from adnominal.analysis.slices import words
from adnominal.conf import UserError
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import TABLES
from adnominal.etl.registry import of_task
from adnominal.training.finished_runs import Run
from adnominal.training.scoring.matrix import COLUMNS

# Two runs answer the same question if these columns agree, and `prompt` if both have the same ones.
_QUESTION = ("edition", "scheme", "fold", "item_id", "verbaliser", "premise_order")
_SPLIT = ("task", "edition", "scheme", "fold")
ANSWERS = (*_SPLIT, "item_id", "gold", "predicted", "text", "seed", "model")


def read(lake: str, runs: Collection[str], columns: Sequence[str] | None = None) -> pa.Table:
    """The predictions of these runs; no rows if the lake has none of them."""
    if "predictions" not in arrow.tables(lake):
        schema = TABLES["predictions"].schema
        return pa.schema([schema.field(name) for name in columns or schema.names]).empty_table()
    where = [("run_id", "in", list(runs))]
    return arrow.read(lake, "predictions", where=where, columns=columns)


def labelled(lake: str, run: str, columns: Sequence[str] = ANSWERS) -> pa.Table:
    """A run's predictions with their gold labels, sorted by item; no rows if it has none."""
    table = read(lake, [run], columns)
    table = table.filter(table.column("gold").is_valid())
    return table.sort_by([("item_id", "ascending"), ("gold", "ascending")])


def labelled_runs(lake: str, runs: Sequence[Run]) -> pa.Table:
    """The concatenated labelled predictions of runs, with the id of each in the column `run`."""
    return pa.concat_tables(
        with_column(table, "run", [run.id] * table.num_rows)
        for run in runs
        for table in [labelled(lake, run.id)]
    )


def runs_with_answers(lake: str, runs: Sequence[Run], edition: str | None = None) -> list[Run]:
    """The runs that have predictions in the lake, for items of `edition` if one is given."""
    ids: set[str] = set()
    if runs and "predictions" in arrow.tables(lake):
        where: list[tuple[str, str, Any]] = [("run_id", "in", [run.id for run in runs])]
        if edition is not None:
            where.append(("edition", "=", edition))
        for batch in arrow.batches(lake, "predictions", where=where, columns=["run_id"]):
            ids.update(batch.column("run_id").unique().to_pylist())
    return [run for run in runs if run.id in ids]


def read_run(lake: str, run: str) -> pa.Table:
    """A run's labelled predictions, sorted by item.

    Raises:
        UserError: no rows of the run, or none with a gold label.
    """
    columns = ("run_id", "task", *_QUESTION, "prompt", "gold", "predicted", "seed", "model")
    table = read(lake, [run], columns)
    if not table.num_rows:
        raise UserError(
            f"run={run}: no rows in the table predictions of {lake}; expected the id of a run of "
            "training/finetune.py, score.py or prompt.py"
        )
    labelled_rows = table.filter(table.column("gold").is_valid())
    if not labelled_rows.num_rows:
        raise UserError(f"run={run}: {table.num_rows} predictions, none of a labelled item")
    # Not by `predicted`: `pair` would put the right answers of two runs side by side.
    return labelled_rows.sort_by([(name, "ascending") for name in (*_QUESTION, "prompt", "gold")])


def read_prompted(lake: str, run: str) -> pa.Table:
    """A run's predictions with class and inference_type (PLANE) or test (ASP) of their items.

    Raises:
        UserError: no predictions of the run, or none of a prompted model, or items that are no
            longer in the lake.
    """
    rows = read(lake, [run])
    rows = rows.filter(pc.is_valid(rows.column("prompt")))
    if not rows.num_rows:
        raise UserError(
            f"run={run}: no answers to prompts in the table predictions of {lake}; expected the id "
            "of a run of training/prompt.py"
        )
    pieces = []
    for key in rows.group_by(["task", "edition", "fold"]).aggregate([]).to_pylist():
        members = rows
        for name, value in key.items():
            members = where_equal(members, name, value)
        is_plane = key["task"] == "plane"
        table = "plane_items" if is_plane else f"asp_{key['fold']}"
        items = words(lake, table, key["edition"], members.column("item_id").to_pylist())
        names = ["class", "inference_type"] if is_plane else ["test"]
        pieces.append(with_columns(members, items.select(names)))
    return pa.concat_tables(pieces)


def read_scored(lake: str, runs: Sequence[str]) -> pa.Table:
    """The labelled predictions of runs, in the form that `training.scoring.matrix` expects.

    Raises:
        UserError: a run without such rows.
    """
    rows = read(lake, runs, COLUMNS)
    rows = rows.filter(rows.column("gold").is_valid())
    missing = set(runs) - set(rows.column("run_id").to_pylist())
    if missing:
        raise UserError(
            f"runs {', '.join(sorted(missing))}: no labelled rows in the table predictions of "
            f"{lake}; expected runs of training/score.py or training/finetune.py"
        )
    return rows


def pair(first: pa.Table, second: pa.Table) -> Paired:
    """Pair the items of two runs, given as the tables of `read_run`.

    An item that occurs several times in a run (a split may list it twice) is paired as often.
    Answers to the same prompts are paired by prompt, and those of runs with other prompts in order.

    Raises:
        UserError: items that only one of the runs has, or gold labels that differ: the scores would
            then differ because of the items, not the models.
    """
    has_same_prompts = _prompts(first) == _prompts(second)
    question = (*_QUESTION, "prompt") if has_same_prompts else _QUESTION
    one, two = _by_item(first, question), _by_item(second, question)
    if one.keys() != two.keys():
        unshared = sorted(map(str, one.keys() ^ two.keys()))
        raise UserError(
            f"runs {_names(first)} and {_names(second)} have {len(one)} and {len(two)} items, "
            f"{len(unshared)} of which only one has, such as {unshared[0]}; expected runs over the "
            "same edition, scheme, fold and part"
        )
    other = [key for key in one if one[key][0] != two[key][0]]
    if other:
        raise UserError(
            f"runs {_names(first)} and {_names(second)}: {len(other)} items have different gold "
            f"labels, such as {other[0]}; expected runs over one version of the table"
        )
    return Paired(
        gold=[gold for gold, _ in one.values()],
        first=[guess for _, guess in one.values()],
        second=[two[key][1] for key in one],
        item_ids=[str(values[question.index("item_id")]) for values, _ in one],
    )


_Item = tuple[tuple[str | None, ...], int]


def _prompts(table: pa.Table) -> set[str | None]:
    return set(table.column("prompt").to_pylist())


def _by_item(table: pa.Table, question: Sequence[str]) -> dict[_Item, tuple[str, str]]:
    repetitions: Counter[tuple[str | None, ...]] = Counter()
    items: dict[_Item, tuple[str, str]] = {}
    for *values, gold, guess in tuples(table, *question, "gold", "predicted"):
        item = tuple(values)
        items[item, repetitions[item]] = (gold, guess or "")
        repetitions[item] += 1
    return items


def _names(table: pa.Table) -> str:
    return "+".join(distinct_values(table, "run_id"))


def groups_of(lake: str, predictions: pa.Table, column: str) -> dict[str, str]:
    """The value of each item in a column of its table: class (PLANE), test or variant (ASP).

    Tables are read at their newest version; item ids are content hashes, so they stay the same.

    Raises:
        UserError: the tables of the tasks have no such column.
    """
    tasks = set(predictions.column("task").to_pylist())
    editions = sorted(set(predictions.column("edition").to_pylist()))
    ids = pc.unique(predictions.column("item_id").combine_chunks())
    datasets = [dataset for task in tasks if (dataset := of_task(task)) is not None]
    tables = {items.name: items for dataset in datasets for items in dataset.tables}
    groups: dict[str, str] = {}
    for name, items in sorted(tables.items()):
        if column not in TABLES[name].schema.names or arrow.version(lake, name) is None:
            continue
        where = [("edition", "in", editions)]
        for batch in arrow.batches(lake, name, where=where, columns=[items.item, column]):
            rows = batch.filter(pc.is_in(batch.column(items.item), value_set=ids))
            groups |= {item: str(value) for item, value in tuples(rows) if value is not None}
    if not groups:
        raise UserError(
            f"{column}: not a column of the tables of {', '.join(sorted(tasks))} in {lake}, or "
            "the tables have none of these items"
        )
    return groups
