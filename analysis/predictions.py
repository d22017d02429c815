"""The table predictions, from which statistics and reports read all answers of models."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from adnominal.analysis.comparisons import Paired
from adnominal.analysis.rows import distinct_values, places, tuples, with_column, with_columns
from adnominal.analysis.slices import words
from adnominal.conf import UserError
from adnominal.etl.declaration import ItemTable
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import TABLES
from adnominal.etl.registry import of_task
from adnominal.training.answering.matrix import COLUMNS
from adnominal.training.finished_runs import Run

_K = TypeVar("_K")
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


def labelled_predictions(lake: str, run: str, columns: Sequence[str] = ANSWERS) -> pa.Table:
    """A run's predictions with their gold labels, sorted by item; no rows if it has none."""
    table = read(lake, [run], columns)
    table = table.filter(table.column("gold").is_valid())
    return table.sort_by([("item_id", "ascending"), ("gold", "ascending")])


def labelled_runs(lake: str, runs: Sequence[Run]) -> pa.Table:
    """The concatenated labelled predictions of runs, with the id of each in the column `run`."""
    return pa.concat_tables(
        with_column(table, "run", [run.id] * table.num_rows)
        for run in runs
        for table in [labelled_predictions(lake, run.id)]
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


def newest_of_each(runs: Iterable[Run], key: Callable[[Run], _K]) -> dict[_K, Run]:
    """The newest run of each value of `key`; `runs` are the newest first."""
    newest: dict[_K, Run] = {}
    for run in runs:
        newest.setdefault(key(run), run)
    return newest


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
            "training/finetune.py, score.py or prompt.py, or external/NAME for imported answers"
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
    for (task, edition, fold), members in places(rows, "task", "edition", "fold").items():
        answers = rows.take(members)
        table, names = f"asp_{fold}", ["test"]
        if task == "plane":
            table, names = "plane_items", ["class", "inference_type"]
        items = words(lake, table, edition, answers.column("item_id").to_pylist())
        pieces.append(with_columns(answers, items.select(names)))
    return pa.concat_tables(pieces)


def read_scored(lake: str, runs: Sequence[str]) -> pa.Table:
    """The labelled predictions of runs, in the form that `training.answering.matrix` expects.

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
    question: tuple[str, ...] = _QUESTION
    if set(first.column("prompt").to_pylist()) == set(second.column("prompt").to_pylist()):
        question = (*_QUESTION, "prompt")
    one = _by_item(first, question)
    two = _by_item(second, question)
    runs = f"runs {_names(first)} and {_names(second)}"
    if one.keys() != two.keys():
        unshared = sorted(map(str, one.keys() ^ two.keys()))
        raise UserError(
            f"{runs} have {len(one)} and {len(two)} items, {len(unshared)} of which only one has, "
            f"such as {unshared[0]}; expected runs over the same edition, scheme, fold and part"
        )
    other = [item for item in one if one[item].gold != two[item].gold]
    if other:
        raise UserError(
            f"{runs}: {len(other)} items have different gold labels, such as {other[0]}; expected "
            "runs over one version of the table"
        )
    return Paired(
        gold=[answer.gold for answer in one.values()],
        first=[answer.predicted for answer in one.values()],
        second=[two[item].predicted for item in one],
        item_ids=[answer.item_id for answer in one.values()],
    )


class _Answer(NamedTuple):
    item_id: str
    gold: str
    predicted: str


def _by_item(table: pa.Table, question: Sequence[str]) -> dict[tuple[object, int], _Answer]:
    """The answers by the values of the columns `question`, and the number of their repetition."""
    repetitions: Counter[object] = Counter()
    items: dict[tuple[object, int], _Answer] = {}
    keys = tuples(table, *question)
    answers = tuples(table, "item_id", "gold", "predicted")
    for key, (item_id, gold, predicted) in zip(keys, answers, strict=True):
        items[key, repetitions[key]] = _Answer(item_id, gold, predicted or "")
        repetitions[key] += 1
    return items


def _names(table: pa.Table) -> str:
    return "+".join(distinct_values(table, "run_id"))


def groups_of(lake: str, predictions: pa.Table, column: str) -> dict[str, str]:
    """The value of each item in a column of its table: class (PLANE), test or variant (ASP).

    Tables are read at their newest version; item ids are content hashes, so they stay the same.

    Raises:
        UserError: the tables of the tasks have no such column.
    """
    tasks = distinct_values(predictions, "task")
    where = [("edition", "in", distinct_values(predictions, "edition"))]
    ids = pc.unique(predictions.column("item_id").combine_chunks())
    groups: dict[str, str] = {}
    for items in _item_tables(tasks):
        has_column = column in TABLES[items.name].schema.names
        if not has_column or arrow.version(lake, items.name) is None:
            continue
        for batch in arrow.batches(lake, items.name, where=where, columns=[items.item, column]):
            rows = batch.filter(pc.is_in(batch.column(items.item), value_set=ids))
            rows = rows.filter(pc.is_valid(rows.column(column)))
            groups |= {item: str(value) for item, value in tuples(rows, items.item, column)}
    if not groups:
        raise UserError(
            f"{column}: not a column of the tables of {', '.join(tasks)} in {lake}, or the tables "
            "have none of these items"
        )
    return groups


def _item_tables(tasks: Sequence[str]) -> list[ItemTable]:
    """The tables of the labelled items of these tasks, sorted by name."""
    tables: dict[str, ItemTable] = {}
    for task in tasks:
        dataset = of_task(task)
        if dataset is not None:
            tables |= {items.name: items for items in dataset.tables}
    return [tables[name] for name in sorted(tables)]
