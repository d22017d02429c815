"""Predictions as rows of the table ``predictions``: the only way from a model to the scores."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from adnominal.conf import JobFailed
from adnominal.etl.lake.schema import rows_of_schema
from adnominal.etl.lake.tables import table
from adnominal.training.evaluation import Evaluation
from adnominal.training.tasks import Dataset


def rows(size: int, **columns: Any) -> pa.Table:
    """Return `size` rows of the table; a column is an array, a list, or one value for all rows.

    Scores are an array [rows, classes]. Missing columns are null.
    """
    return rows_of_schema(table("predictions").schema, size, columns)


def check_scores(scores: npt.NDArray[np.float64], name: str) -> None:
    """Raise `JobFailed` where scores (rows, classes) are NaN: the best class would be the first.

    `name` is that of the model, or of its run.
    """
    broken = int(np.isnan(scores).any(axis=1).sum())
    if broken:
        raise JobFailed(
            f"{name}: {broken:,} of {len(scores):,} rows have NaN as a score; expected numbers; "
            "try precision=fp32, or a model whose weights are finite"
        )


def of_part(
    dataset: Dataset, part: str, evaluation: Evaluation, *, run_id: str, seed: int, model: str
) -> pa.Table:
    """Return the predictions of a part, in its order.

    A class is written as the outcome that it is evaluated as (ADEPT's five labels may be collapsed
    to three); `scores` has one number for each class of the model. Generated text is in `text`.
    """
    examples = dataset.parts[part]
    row_sources = [dataset.sources[number] for number in examples.origin]
    columns: dict[str, Any] = {"gold": examples.targets, "text": evaluation.predicted}
    if dataset.kind != "seq2seq":
        names = np.array(dataset.outcomes, dtype=object)
        columns = {
            "gold": None if examples.gold is None else names[examples.gold].tolist(),
            "predicted": names[dataset.outcome_of[np.asarray(evaluation.predicted)]].tolist(),
            "scores": evaluation.scores,
        }
    return rows(
        len(examples),
        run_id=run_id,
        task=dataset.task,
        scheme=dataset.scheme,
        fold=dataset.fold,
        item_id=examples.item_ids,
        seed=seed,
        model=model,
        edition=[source.edition for source in row_sources],
        table_version=[source.version for source in row_sources],
        **columns,
    )
