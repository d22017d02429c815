"""Transfer matrices of models on other tasks' items, and scores by group.

Everything comes from rows of the table ``predictions``, whose `gold` and `predicted` are labels of
the evaluated task and whose `text` is the model's own label before its interpretation
(`training.answering.label_map`).
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import partial

import pandas as pd
import pyarrow as pa

from adnominal.conf.numbers import percent
from adnominal.training import metrics
from adnominal.training.answering import label_map
from adnominal.training.answering.label_map import HOLDS, OTHERWISE

# How a cell is scored: in the evaluated task's labels, or holds against does not hold.
TASK_LABELS, TWO_WAY = "the task's labels", "two-way"

_CELL = ("run_id", "model", "task", "scheme", "fold")
_MATRIX = pa.schema(
    [
        *((name, pa.string()) for name in (*_CELL, "edition", "answers")),
        *((name, pa.int64()) for name in ("classes", "rows")),
        *((name, pa.float64()) for name in ("accuracy", "low", "high", "macro_f1", "majority")),
    ]
)
COLUMNS = (*_CELL, "edition", "item_id", "gold", "predicted", "text")
"""The columns of predictions that this module reads."""
_THIRD = "neutral"


def matrix(predictions: pa.Table) -> pa.Table:
    """Score each model on each task: a row for each run, model, task, scheme and fold.

    Predictions with the same values of these are scored together; runs of ``training/score.py``
    evaluate one part each.

    Columns run_id, model, task, scheme, fold, edition, answers, classes, rows, accuracy, its
    interval (Wilson, 95 %), macro_f1 and majority: the accuracy of always giving the most frequent
    gold label of these rows. If the task has more than two labels, a second row scores the same
    answers as *holds* against *does not hold* (answers = "two-way"), so that models with only two
    answers can be compared with the others. Macro-F1 and majority are null for generated texts.

    Raises:
        ValueError: there are no rows.
    """
    if not predictions.num_rows:
        raise ValueError("no predictions")
    cells_scored = []
    for _, rows in _frame(predictions).groupby(list(_CELL), sort=False, dropna=False):
        cell = dict(rows[list(_CELL)].iloc[0])
        cell["edition"] = "+".join(sorted(set(rows["edition"].map(str))))
        gold = rows["gold"].tolist()
        guesses = [guess or "" for guess in rows["predicted"]]
        if not any(guesses):
            # Generated texts are correct or wrong, without classes.
            texts = [text or "" for text in rows["text"]]
            cells_scored.append({**cell, "answers": TASK_LABELS, **_share(gold, texts)})
            continue
        cells_scored.append({**cell, "answers": TASK_LABELS, **_scores(gold, guesses)})
        two_way = _two_way(gold, guesses)
        if two_way is not None:
            cells_scored.append({**cell, "answers": TWO_WAY, **_scores(*two_way)})
    return pa.Table.from_pylist(cells_scored, _MATRIX)


def _frame(predictions: pa.Table, groups: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return the predictions as a frame; with `groups`, only grouped items with a column group.

    Raises:
        ValueError: no item has a group.
    """
    columns = [name for name in COLUMNS if name in predictions.column_names]
    frame = pd.DataFrame(predictions.select(columns).to_pydict(), dtype=object)
    if groups is None:
        return frame
    frame = frame.assign(group=frame["item_id"].map(groups)).dropna(subset=["group"])
    if frame.empty:
        raise ValueError("no item has a group")
    # Answers without the model's own label have the task's.
    return frame.assign(answer=frame["text"].where(frame["text"].astype(bool), frame["predicted"]))


def _share(gold: Sequence[str], predicted: Sequence[str]) -> dict[str, float]:
    right = sum(g == p for g, p in zip(gold, predicted, strict=True)) / len(gold)
    low, high = metrics.wilson_bounds(right, len(gold))
    return {"rows": len(gold), "accuracy": right, "low": low, "high": high}


def _scores(gold: Sequence[str], predicted: Sequence[str]) -> dict[str, float]:
    from sklearn.metrics import f1_score

    counts = Counter(gold)
    return {
        **_share(gold, predicted),
        "classes": len(counts.keys() | set(predicted)),
        "macro_f1": float(f1_score(gold, predicted, average="macro", zero_division=0)),
        "majority": max(counts.values()) / len(gold),
    }


def _two_way(gold: Sequence[str], predicted: Sequence[str]) -> tuple[list[str], list[str]] | None:
    """Return the labels as two answers; None if they already are two-way or are unknown."""
    labels = {*gold, *predicted}
    if label_map.two_way(labels):
        return None
    try:
        says = {label: HOLDS if label_map.holds(label) else OTHERWISE for label in labels}
    except label_map.Undefined:
        return None
    return [says[label] for label in gold], [says[label] for label in predicted]


def grid(
    cells: pa.Table,
    value: str = "accuracy",
    names: Mapping[str, str] | None = None,
    keys: Mapping[str, str] | None = None,
) -> pa.Table:
    """Pivot `matrix`: a row for each model, a column for each task, in percent.

    Column trained_on has the models' `names` (or their own names), and the last row is the majority
    baseline. With `value` accuracy, cells include the interval. Empty cells are null. `keys` has
    what each run is called in ``tasks=``; it tells columns apart that score the same task twice
    (another part, edition or form of it).
    """
    names, columns = names or {}, _columns(cells, keys or {})
    rows: dict[str, dict[str, str | None]] = {}
    baseline: dict[str, str | None] = {}
    for cell in cells.to_pylist():
        column = columns[cell["run_id"]]
        if cell["answers"] == TWO_WAY:
            column += f", {TWO_WAY}"
        text = _percent(cell[value])
        if value == "accuracy":
            text = f"{text} ({_percent(cell['low'])}–{_percent(cell['high'])})"
        rows.setdefault(names.get(cell["model"], cell["model"]), {})[column] = text
        baseline.setdefault(column, _percent(cell["majority"]))
    if value == "accuracy":
        rows["majority"] = baseline
    schema = pa.schema([("trained_on", pa.string()), *((name, pa.string()) for name in baseline)])
    return pa.Table.from_pylist(
        [{"trained_on": name, **cells_of_row} for name, cells_of_row in rows.items()], schema
    )


def _columns(cells: pa.Table, keys: Mapping[str, str]) -> dict[str, str]:
    """The column of each run: task, scheme and fold, with its key if another key has the same."""
    columns: dict[str, str] = {}
    keys_of: dict[str, set[str | None]] = defaultdict(set)
    for run, *of in zip(
        *(cells.column(name).to_pylist() for name in ("run_id", "task", "scheme", "fold")),
        strict=True,
    ):
        columns[run] = " ".join(part for part in of if part)
        keys_of[columns[run]].add(keys.get(run))
    return {
        run: f"{column} ({keys[run]})" if len(keys_of[column]) > 1 else column
        for run, column in columns.items()
    }


def _percent(share: float | None) -> str | None:
    """As `percent`, with null for missing values."""
    return None if share is None else percent(share)


def accuracy_by_group(predictions: pa.Table, groups: Mapping[str, str]) -> pa.Table:
    """Score each group of items in the task's labels (ASP's tests and variants).

    Columns group, rows, accuracy, low, high (Wilson, 95 %), majority. Ungrouped items are ignored.

    Raises:
        ValueError: no item has a group.
    """
    table_rows = []
    for group, rows in _frame(predictions, groups).groupby("group"):
        gold = rows["gold"].tolist()
        majority = max(Counter(gold).values()) / len(gold)
        shares = _share(gold, rows["predicted"].tolist())
        table_rows.append({"group": group, **shares, "majority": majority})
    return pa.Table.from_pylist(table_rows)


def answers_by_group(predictions: pa.Table, groups: Mapping[str, str]) -> pa.Table:
    """Count a model's own answers by group and gold label (PLANE's appendix C, figure 9).

    `groups` has an item's group (class of adjective, test). The columns are group, gold, answer
    (the model's own label; *neutral* is separate), rows, and share of the rows of that group and
    gold. Ungrouped items are ignored.

    Raises:
        ValueError: no item has a group.
    """
    frame = _frame(predictions, groups)
    totals = Counter(zip(frame["group"], frame["gold"], strict=True))
    counts = Counter(zip(frame["group"], frame["gold"], frame["answer"], strict=True))
    table_rows = []
    for (group, gold), total in sorted(totals.items()):
        for answer in sorted(frame["answer"].unique()):
            rows = counts[group, gold, answer]
            row = {"group": group, "gold": gold, "answer": answer, "rows": rows}
            table_rows.append({**row, "share": rows / total})
    return pa.Table.from_pylist(table_rows)


def f1_by_group(predictions: pa.Table, groups: Mapping[str, str]) -> pa.Table:
    """Return two-way F1 by group, with a third label as separate or as negative (table 5).

    F1 of *holds* and of *does not hold* are averaged by their share of the group's gold labels. The
    paper does not say how it averages; of the usual averages, only this one agrees with its
    numbers: all intersective items are positive, so always answering *no* scores 0 there, and 53 on
    intensional ones, two thirds of which are negative. In `f1`, *neutral* is neither answer and
    thus always wrong (the paper's "third label"); in `f1_two_way` it counts as no, as in ASP.

    Columns group, rows, f1, f1_two_way, accuracy (two-way) and third: the share of answers that are
    neutral. Ungrouped items are ignored.

    Raises:
        ValueError: no item has a group.
    """
    from sklearn.metrics import f1_score

    f1 = partial(f1_score, average="weighted", zero_division=0)
    table_rows = []
    for group, rows in _frame(predictions, groups).groupby("group"):
        golds, two_way = (
            [HOLDS if label_map.holds(label) else OTHERWISE for label in rows[column]]
            for column in ("gold", "answer")
        )
        three_way = [
            _THIRD if answer == _THIRD else two
            for answer, two in zip(rows["answer"], two_way, strict=True)
        ]
        table_rows.append(
            {
                "group": group,
                "rows": len(rows),
                "f1": float(f1(golds, three_way)),
                "f1_two_way": float(f1(golds, two_way)),
                "accuracy": sum(g == s for g, s in zip(golds, two_way, strict=True)) / len(rows),
                "third": three_way.count(_THIRD) / len(rows),
            }
        )
    return pa.Table.from_pylist(table_rows)


def average(by_group: pa.Table) -> float:
    """Return the plain mean of column `f1` over groups, as in the last line of PLANE's tables."""
    values = by_group.column("f1").to_pylist()
    return float(sum(values) / len(values))
