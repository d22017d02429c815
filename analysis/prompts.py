"""What prompted models answer, beyond the tables that ``training/prompt.py`` prints itself.

`read` takes a run's rows of the table ``predictions``, of which `training.prompting.scores` makes
the papers' tables; figures 5 to 7 of PLANE are made of its cells here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from analysis import predictions
from analysis.rows import equal, schema, tuples
from analysis.slices import words
from conf import UserError
from etl.plane.rules import HOLDS
from training.prompting.scores import deviation


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


def template_variance(data: pa.Table) -> pa.Table:
    """F1 of `training.prompting.scores.cells` by class, template, verbaliser and inference type
    (figures 5 and 6).

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
            "deviation": deviation(scores),
            "cells": len(scores),
        }
        for key, scores in values.items()
    ]
    return pa.Table.from_pylist(grouped, pa.schema(fields))


_SPREAD = schema("mean:float deviation:float cells:int")
