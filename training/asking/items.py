"""The items to ask about, and those whose answers may be shown as examples."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from adnominal.conf import UserError
from adnominal.etl.prompts.files import SUBJECTS
from adnominal.training import tasks
from adnominal.training.asking.row_file import RowFile
from adnominal.training.asking.settings import Settings
from adnominal.training.batching import seed_of
from adnominal.training.tasks import Dataset, Examples, Source, Task
from adnominal.training.tasks.graded import Graded

TRAIN = "train"


@dataclass(frozen=True)
class Items:
    """The items to ask about, one per row.

    `rows` has item_id, gold, fold, edition, version, group (of rows that serve as each other's
    examples), the fields of the task's prompts, and group columns: class and inference_type, test
    or agreement. `examples` has the fields and gold of the training part; no rows if none are
    shown. `name` is the value of the column task in predictions.
    """

    task: Task
    name: str
    scheme: str
    rows: RowFile
    examples: pa.Table
    sources: tuple[Source, ...]


def load(settings: Settings) -> Items:
    """Load the items for the settings.

    Raises:
        UserError: a table, edition, scheme, fold or part does not exist, labels are unknown, there
            are no rows or, with examples, no group has all three inference types, the items are
            training rows themselves, or the split has too few of these.
    """
    task = _task(settings)
    dataset = task.read(settings.lake)
    if settings.part not in dataset.parts:
        parts = ", ".join(sorted(dataset.parts))
        raise UserError(f"part={settings.part}: no such rows in {dataset.where}; there is {parts}")
    asked = dataset.parts[settings.part]
    rows = task.with_prompt_columns(_rows(settings.task, dataset, asked), settings)
    # A table without any selected rows is not a source.
    origins = set(rows["origin"].unique().to_pylist())
    dropped = {*asked.origin} - origins
    sources = [source for number, source in enumerate(dataset.sources) if number not in dropped]
    rows = rows.drop_columns("origin")
    declared = SUBJECTS[settings.task].declared
    if settings.limit is not None:
        column = declared.group or "fold"
        rows = _first_groups(rows, column, settings.limit, settings.seed)
    if settings.shows_groups:
        # So that a group is together when the rows are read one after the other.
        rows = rows.sort_by([("group", "ascending"), (str(declared.number), "ascending")])
    name = dataset.task if dataset.task.startswith(("sygns", "pairs")) else settings.task
    scheme = {0: "zero_shot", 2: "two_shot"}.get(settings.shots, f"{settings.shots}_shot")
    examples = _examples(settings, dataset)
    return Items(task, name, scheme, RowFile(rows), examples, tuple(sources))


def _task(settings: Settings) -> Task:
    if settings.task == "graded_pairs":
        return Graded(settings)
    if settings.task == "nli":
        return tasks.task({"name": "pairs", "table": "nli", "edition": settings.edition})
    values = tasks.TASKS[settings.task].prompt_values(settings)
    return tasks.task({"name": settings.task, "edition": settings.edition, **values})


def _rows(task: str, dataset: Dataset, examples: Examples) -> pa.Table:
    row_sources = [dataset.sources[number] for number in examples.origin]
    texts = (examples.first, examples.second)
    columns = {
        "item_id": examples.item_ids,
        **dict(zip(SUBJECTS[task].fields, texts, strict=False)),
        "gold": _gold(dataset, examples),
        "edition": pa.array([source.edition for source in row_sources], pa.string()),
        "version": pa.array([source.version for source in row_sources], pa.int64()),
        "fold": pa.array([""] * len(examples)),
        "group": examples.item_ids,
        **examples.groups,
    }
    return pa.table(columns).append_column("origin", [examples.origin])


def _gold(dataset: Dataset, examples: Examples) -> pa.StringArray:
    if examples.gold is None:
        return examples.targets
    return pa.array(np.array(dataset.outcomes, dtype=object)[examples.gold], pa.string())


def _examples(settings: Settings, dataset: Dataset) -> pa.Table:
    """Return the rows that examples are drawn from."""
    rows = dataset.parts.get(TRAIN)
    if not settings.shots or settings.shows_groups:
        return _rows(settings.task, dataset, dataset.parts[settings.part]).slice(0, 0)
    if settings.part == TRAIN:
        raise UserError(
            f"part=train shots={settings.shots}: examples come from the training part, so an item "
            "could be shown with its own answer; expected another part, or shots=0"
        )
    if rows is None or len(rows) <= settings.shots:
        raise UserError(
            f"shots={settings.shots}: {dataset.where} has {0 if rows is None else len(rows)} rows "
            "of part train; expected another scheme or edition, or shots=0"
        )
    return _rows(settings.task, dataset, rows)


def _first_groups(rows: pa.Table, column: str, limit: int, seed: int) -> pa.Table:
    """Select, for each value of `column` and fold, the `limit` groups first by a seeded hash."""
    names = ("fold", column, "group")
    places = list(zip(*(rows[name].to_pylist() for name in names), strict=True))
    groups: dict[tuple[Any, ...], set[str]] = defaultdict(set)
    for fold, value, group in places:
        groups[fold, value].add(group)
    selected = set()
    for key, members in groups.items():
        ranked = sorted(members, key=lambda group: seed_of("prompt", seed, group))
        selected |= {(*key, group) for group in ranked[:limit]}
    return rows.filter(pa.array([place in selected for place in places]))
