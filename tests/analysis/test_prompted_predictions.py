from __future__ import annotations

from math import sqrt

import pyarrow as pa
import pytest

from analysis import predictions
from analysis.papers.plane import prompting
from conf import UserError
from etl.lake import arrow
from etl.lake.tables import table
from tests.training.prompting.test_scores import FIRST_NO, FIRST_YES, MODEL, rows, two_shot
from training.prompting.scores import asp_table, cells


def test_variance_of_templates_goes_over_orders():
    answered = rows(two_shot("I", [True]) + two_shot("I", [False], order="3,2"))
    (row,) = prompting.template_variance(cells(answered)).to_pylist()
    assert (row["mean"], row["cells"], row["inference_type"]) == (0.5, 2, 1)
    assert row["deviation"] == pytest.approx(1 / sqrt(2))


def test_recency_knows_whether_the_last_example_helps():
    answered = rows(
        # Subsective: types 1 and 2 hold, 3 does not.
        two_shot("S", [True], inference=1, order="2,3") + two_shot("S", [True], order="3,2")
    )
    sequences = prompting.recency(cells(answered)).to_pylist()
    assert {(row["sequence"], row["last_agrees"]) for row in sequences} == {
        ("2,3,1", False),
        ("3,2,1", True),
    }
    with pytest.raises(ValueError, match="no order"):
        prompting.recency(cells(rows(two_shot("S", [True], order=None), "zero_shot")))


ASP_YES, ASP_NO = "entailment", "not_entailment"


def asp_rows():
    """A test of two rows under two prompts: one of them right in both, the other in one."""
    records = []
    for prompt, scores in (
        ("asp/follows@1", [FIRST_NO, FIRST_YES]),
        ("asp/true@1", [FIRST_NO] * 2),
    ):
        for item, (gold, label_scores) in enumerate(zip((ASP_YES, ASP_NO), scores, strict=True)):
            records.append(
                {
                    "run_id": "r",
                    "task": "asp",
                    "edition": "clean",
                    "fold": "entailment",
                    "item_id": f"i{item}",
                    "gold": gold,
                    "scores": label_scores,
                    "prompt": prompt,
                    "verbaliser": "yes/no",
                    "model": MODEL,
                }
            )
    return pa.Table.from_pylist(records, table("predictions").schema)


def test_asp_is_averaged_over_prompts_read_from_the_lake(tmp_path):
    lake = str(tmp_path)
    items = [
        {"item_id": f"i{n}", "test": "ordering", "adjective": "big", "noun": "dog"} for n in (0, 1)
    ]
    items = [{**item, "edition": "clean"} for item in items]
    schema = table("asp_entailment").schema
    arrow.append(lake, "asp_entailment", pa.Table.from_pylist(items, schema), job="test")
    arrow.append(lake, "predictions", asp_rows(), job="test")
    (row,) = asp_table(predictions.read_prompted(lake, "r")).to_pylist()
    assert (row["task"], row["test"], row["rows"], row["prompts"]) == (
        "entailment",
        "ordering",
        2,
        2,
    )
    # [-1, -2] is entailment: right in the first row, wrong in the second.
    assert (row["mean"], row["majority"]) == (0.75, 0.5)
    assert row["deviation"] == pytest.approx(0.5 / sqrt(2))
    with pytest.raises(UserError, match="run=q: no answers to prompts"):
        predictions.read_prompted(lake, "q")
