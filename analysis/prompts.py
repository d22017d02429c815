"""What prompted models answer: PLANE's tables 4 and 8 with their figures, and ASP's zero-shot rows.

Everything starts at rows of the table ``predictions`` (`read` takes a run's from the lake).
A *cell* is one way of asking: a class of adjectives, an inference type, a template, a verbaliser
and, with examples, an order of these. The paper takes F1 of each and says how they spread. It does
not say so, but its figures 6 and 7 have F1 by inference type, and deviations as large as table 4's
cannot come of types taken together.

F1 of a cell is the mean over its gold labels, weighted by their rows. In PLANE all rows of a cell
have one gold label, so that it is 2r / (1 + r), r being the share answered rightly: an answer that
is no word of the verbaliser costs as much as the wrong one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis import predictions
from analysis.rows import equal, schema, tuples
from analysis.slices import words
from conf import UserError
from etl.asp import TESTS
from etl.asp.baselines import baselines
from etl.plane import CLASSES
from etl.plane.rules import HOLDS
from etl.registry import DATASETS

CHOICES = ("first", "restricted")
"""How an answer is read off: the first predicted token, as in the paper, or the more probable of
the verbaliser's words."""

AVERAGE = "average"
_CELL = ("model", "scheme", "class", "inference_type", "prompt", "verbaliser", "premise_order")


def read(lake: str, run: str) -> pa.Table:
    """A run's predictions with class and inference_type (PLANE) or test (ASP) of their items.

    Raises:
        UserError: no predictions of the run, or none of a prompted model; items that the lake has
            no longer.
    """
    rows = predictions.read(lake, [run])
    rows = rows.filter(pc.is_valid(rows.column("prompt")))
    if not rows.num_rows:
        raise UserError(
            f"run={run}: no answers to prompts in the table predictions of {lake}; expected the id "
            "of a run that training/prompt.py has written"
        )
    pieces = []
    for key in rows.group_by(["task", "edition", "fold"]).aggregate([]).to_pylist():
        answered = rows
        for name, value in key.items():
            answered = equal(answered, name, value)
        table = "plane_items" if key["task"] == "plane" else f"asp_{key['fold']}"
        items = words(lake, table, key["edition"], answered.column("item_id").to_pylist())
        for name in ("class", "inference_type") if key["task"] == "plane" else ("test",):
            answered = answered.append_column(name, items.column(name))
        pieces.append(answered)
    return pa.concat_tables(pieces)


def first_tokens(rows: pa.Table) -> bool:
    """Whether the rows say what the first predicted token was: those of masked models do."""
    return bool(rows.column("text").null_count < rows.num_rows)


def answers(rows: pa.Table, choice: str) -> list[str | None]:
    """The label that each row stands for; None where the first token is no word of the verbaliser.

    Raises:
        ValueError: ``first`` of rows without a first token.
    """
    if choice == "first":
        if not first_tokens(rows):
            raise ValueError("no first tokens: these answers are not a masked language model's")
        return list(rows.column("predicted").to_pylist())
    # Labels in the order of the column scores.
    names = {task: np.array(DATASETS[task].label_names, dtype=object) for task in ("plane", "asp")}
    scores = np.array(rows.column("scores").to_pylist(), dtype=np.float64).reshape(-1, 2)
    places = scores.argmax(axis=1)
    tasks = rows.column("task").to_pylist()
    return [names[task][place] for task, place in zip(tasks, places.tolist(), strict=True)]


def f1(gold: Sequence[str], predicted: Sequence[str | None]) -> float:
    """F1, the mean over the labels of `gold` weighted by how many rows have them (0 to 1).

    Raises:
        ValueError: no rows, or sequences of different lengths.
    """
    if not gold:
        raise ValueError("no rows to score")
    hits = Counter(a for a, b in zip(gold, predicted, strict=True) if a == b)
    of_gold, of_predicted = Counter(gold), Counter(predicted)
    return sum(
        count * 2 * hits[label] / (count + of_predicted[label]) for label, count in of_gold.items()
    ) / len(gold)


def cells(rows: pa.Table, choice: str = "first") -> pa.Table:
    """F1 of each cell of PLANE, in order of class, inference type, template and verbaliser.

    Columns model, scheme, class, inference_type, prompt, verbaliser, premise_order (None without
    examples), rows, f1. Several models' rows may stand together.
    """
    return _cells(rows, answers(rows, choice))


def always(rows: pa.Table, label: str) -> pa.Table:
    """`cells` of answers that are all `label`: what a table's numbers are to be held against."""
    return _cells(rows, [label] * rows.num_rows)


def _cells(rows: pa.Table, predicted: Sequence[str | None]) -> pa.Table:
    members: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for place, key in enumerate(tuples(rows, *_CELL)):
        members[key].append(place)
    gold = rows.column("gold").to_pylist()
    rows_of_cells = [
        {
            **dict(zip(_CELL, key, strict=True)),
            "rows": len(places),
            "f1": f1([gold[at] for at in places], [predicted[at] for at in places]),
        }
        for key, places in sorted(members.items(), key=_in_order)
    ]
    return pa.Table.from_pylist(rows_of_cells, _CELLS)


_CELLS = schema(
    "model scheme class inference_type:int32 prompt verbaliser premise_order rows:int f1:float"
)


def _in_order(item: tuple[tuple[Any, ...], object]) -> tuple[Any, ...]:
    cell = dict(zip(_CELL, item[0], strict=True))
    cell["class"] = CLASSES.index(cell["class"])
    return tuple("" if value is None else value for value in cell.values())


def _deviation(values: Sequence[float]) -> float | None:
    """Standard deviation of a sample; None of a single value."""
    return stdev(values) if len(values) > 1 else None


def class_table(data: pa.Table) -> pa.Table:
    """`cells` in the layout of table 4 (scheme two_shot) or table 8 (zero_shot).

    Columns row (I, S, O, average), model, mean, deviation, cells; shares from 0 to 1. Two-shot: the
    deviation is over cells, in the average over those of all classes (five of six averages of
    table 4 are so within rounding). Zero-shot: over the templates' means, as the caption says, and
    the average is the mean of the classes' deviations (all six averages of table 8 are).

    Raises:
        ValueError: no cells, or some of another scheme.
    """
    schemes = set(data.column("scheme").to_pylist())
    if schemes not in ({"two_shot"}, {"zero_shot"}):
        raise ValueError(f"cells of {', '.join(sorted(schemes)) or 'no scheme'}; expected of one")
    table_rows: list[dict[str, Any]] = []
    for model in dict.fromkeys(data.column("model").to_pylist()):
        of_model = [row for row in data.to_pylist() if row["model"] == model]
        rows = []
        for kind in CLASSES:
            of_class = [row for row in of_model if row["class"] == kind]
            if of_class:
                rows.append(_row(kind, model, of_class, schemes == {"zero_shot"}))
        last = _row(AVERAGE, model, of_model, schemes == {"zero_shot"})
        last["mean"] = fmean(row["mean"] for row in rows)
        if schemes == {"zero_shot"}:
            spreads = [row["deviation"] for row in rows]
            last["deviation"] = None if None in spreads else fmean(spreads)
        table_rows += [*rows, last]
    return pa.Table.from_pylist(table_rows, _CLASS_TABLE)


_CLASS_TABLE = schema("row model mean:float deviation:float cells:int")


def _row(
    name: str, model: str, cells_of_row: Sequence[dict[str, Any]], templates: bool
) -> dict[str, Any]:
    values = [row["f1"] for row in cells_of_row]
    spread = values
    if templates:
        by: dict[str, list[float]] = defaultdict(list)
        for row in cells_of_row:
            by[row["prompt"]].append(row["f1"])
        spread = [fmean(of_template) for of_template in by.values()]
    return {
        "row": name,
        "model": model,
        "mean": fmean(values),
        "deviation": _deviation(spread),
        "cells": len(cells_of_row),
    }


def template_variance(data: pa.Table) -> pa.Table:
    """F1 by class, template, verbaliser and inference type (figures 5 and 6).

    Columns class, prompt, verbaliser, inference_type, mean, deviation, cells; mean and deviation
    are over models and orders of the examples.
    """
    return _grouped(data, ("class", "prompt", "verbaliser", "inference_type"))


def recency(data: pa.Table) -> pa.Table:
    """F1 by the order of the examples (figure 7).

    Columns class, prompt, verbaliser, sequence (inference types of both examples and of what is
    asked, ``1,2,3``), last_agrees (whether the last example has the label that is asked for: where
    a recency effect would help), mean, deviation and cells, over models.
    """
    rows = []
    for row in data.to_pylist():
        if row["premise_order"] is None:
            continue
        holds = HOLDS[row["class"]]
        inference, last = row["inference_type"], int(row["premise_order"].split(",")[-1])
        row["sequence"] = f"{row['premise_order']},{inference}"
        row["last_agrees"] = holds[last - 1] == holds[inference - 1]
        rows.append(row)
    if not rows:
        raise ValueError("no order of examples: these prompts have none")
    fields = [*data.schema, *schema("sequence last_agrees:bool")]
    names = ("class", "prompt", "verbaliser", "sequence", "last_agrees")
    return _grouped(pa.Table.from_pylist(rows, pa.schema(fields)), names)


def _grouped(data: pa.Table, names: Sequence[str]) -> pa.Table:
    values: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    for *key, value in tuples(data, *names, "f1"):
        values[tuple(key)].append(value)
    fields = [*(data.schema.field(name) for name in names), *_SPREAD]
    grouped = [
        {
            **dict(zip(names, key, strict=True)),
            "mean": fmean(scores),
            "deviation": _deviation(scores),
            "cells": len(scores),
        }
        for key, scores in values.items()
    ]
    return pa.Table.from_pylist(grouped, pa.schema(fields))


_SPREAD = schema("mean:float deviation:float cells:int")


def asp_table(rows: pa.Table, choice: str = "restricted") -> pa.Table:
    """Accuracy by task and test of ASP, averaged over prompts (table 3, "T0").

    Columns model, task (entailment or degree), test, rows, prompts, mean, deviation (over prompts
    and verbalisers), majority (of always giving the more frequent label); shares from 0 to 1. The
    paper averages several prompts and names none.
    """
    columns = ("model", "fold", "test", "prompt", "verbaliser", "gold")
    right: dict[tuple[str, ...], dict[tuple[str, ...], list[bool]]] = defaultdict(dict)
    gold: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for (*key, label), answer in zip(tuples(rows, *columns), answers(rows, choice), strict=True):
        test, prompt = tuple(key[:3]), tuple(key[3:])
        right[test].setdefault(prompt, []).append(label == answer)
        gold[test].append(label)
    order = sorted(right, key=lambda key: (key[0], key[1] != "entailment", TESTS.index(key[2])))
    table_rows = []
    for test in order:
        shares = [fmean(hits) for hits in right[test].values()]
        table_rows.append(
            {
                "model": test[0],
                "task": test[1],
                "test": test[2],
                "rows": len(gold[test]) // len(shares),
                "prompts": len(shares),
                "mean": fmean(shares),
                "deviation": _deviation(shares),
                "majority": baselines(gold[test]).majority / 100,
            }
        )
    return pa.Table.from_pylist(table_rows, _ASP_TABLE)


_ASP_TABLE = schema(
    "model task test rows:int prompts:int mean:float deviation:float majority:float"
)
