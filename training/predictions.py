"""Predictions as rows of the table ``predictions``: the only way from a model to the scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from etl.lake.tables import table
from training.evaluation import Evaluation
from training.tasks import Dataset


def rows(
    dataset: Dataset, part: str, found: Evaluation, *, run_id: str, seed: int, model: str
) -> pa.Table:
    """The predictions of a part, in its order.

    A class stands by the outcome that it is evaluated as (five labels of ADEPT may be collapsed to
    three); `scores` has one number for each class of the model. Generated texts stand in `text`.
    """
    examples = dataset.parts[part]
    size = len(examples)
    schema = table("predictions").schema
    columns: dict[str, Any] = {
        "run_id": [run_id] * size,
        "task": [dataset.task] * size,
        "scheme": [dataset.scheme] * size,
        "fold": [dataset.fold] * size,
        "item_id": examples.item_ids,
        "seed": [seed] * size,
        "model": [model] * size,
    }
    origins = examples.origin.tolist()
    columns["edition"] = [dataset.sources[at].edition for at in origins]
    columns["table_version"] = [dataset.sources[at].version for at in origins]
    if dataset.kind == "seq2seq":
        columns["gold"] = examples.targets
        columns["text"] = found.predicted
    else:
        assert found.scores is not None
        names = np.array(dataset.outcomes, dtype=object)
        if examples.gold is not None:
            columns["gold"] = names[examples.gold].tolist()
        columns["predicted"] = names[dataset.outcome_of[np.asarray(found.predicted)]].tolist()
        columns["scores"] = _lists(found.scores)
    return pa.table(
        {
            field.name: pa.array(columns[field.name], field.type)
            if not isinstance(columns.get(field.name), pa.Array | type(None))
            else _cast(columns.get(field.name), field.type, size)
            for field in schema
        },
        schema=schema,
    )


def classified(
    item_ids: pa.ChunkedArray,
    editions: pa.ChunkedArray,
    scores: npt.NDArray[np.float64],
    outcomes: Sequence[str],
    outcome_of: npt.NDArray[np.int64],
    **constants: str | int | None,
) -> pa.Table:
    """Predictions of rows that have no gold label, by the scores of the model's classes.

    `outcomes` and `outcome_of` as in `Dataset`; `constants` are the columns with one value. Nothing
    here is a Python object a row.
    """
    names = pa.array(list(outcomes), pa.string())
    columns: dict[str, Any] = {
        "item_id": item_ids,
        "edition": editions,
        "predicted": names.take(pa.array(outcome_of[scores.argmax(axis=1)])),
        "scores": _lists(scores),
    }
    schema = table("predictions").schema
    for name, value in constants.items():
        columns[name] = pa.repeat(pa.scalar(value, schema.field(name).type), len(scores))
    return pa.table(
        [columns.get(own.name, pa.nulls(len(scores), own.type)) for own in schema], schema=schema
    )


def _lists(scores: npt.NDArray[np.float64]) -> pa.ListArray:
    offsets = np.arange(len(scores) + 1, dtype=np.int32) * scores.shape[1]
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(scores.reshape(-1)))


def _cast(column: pa.Array | None, kind: pa.DataType, size: int) -> pa.Array:
    return pa.nulls(size, kind) if column is None else column.cast(kind)
