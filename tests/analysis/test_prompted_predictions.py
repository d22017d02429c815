from math import sqrt
from typing import Any

import pytest

from adnominal.analysis import predictions
from adnominal.analysis.papers.plane import prompting
from adnominal.conf import UserError
from adnominal.training.asking.scores import asp_table, cells
from tests.rows import rows as records
from tests.rows import write
from tests.training.asking.test_scores import FIRST_NO, FIRST_YES, MODEL, rows, two_shot


def test_variance_of_templates_is_over_orders():
    predictions_of_plane = rows(two_shot("I", [True]) + two_shot("I", [False], order="3,2"))
    (row,) = prompting.template_variance(cells(predictions_of_plane)).to_pylist()
    assert (row["mean"], row["cells"], row["inference_type"]) == (0.5, 2, 1)
    assert row["deviation"] == pytest.approx(1 / sqrt(2))


def test_recency_distinguishes_whether_the_last_example_agrees():
    predictions_of_plane = rows(
        # For subsective adjectives, types 1 and 2 hold and type 3 does not.
        two_shot("S", [True], inference=1, order="2,3") + two_shot("S", [True], order="3,2")
    )
    sequences = prompting.recency(cells(predictions_of_plane)).to_pylist()
    assert {(row["sequence"], row["last_agrees"]) for row in sequences} == {
        ("2,3,1", False),
        ("3,2,1", True),
    }
    with pytest.raises(ValueError, match="no order"):
        prompting.recency(cells(rows(two_shot("S", [True], order=None), "zero_shot")))


ASP_YES, ASP_NO = "entailment", "not_entailment"


def asp_rows():
    """Answers to two rows under two prompts: one is right with both, the other with one."""
    return records(
        "item_id prompt gold scores",
        ("i0", "asp/follows@1", ASP_YES, FIRST_NO),
        ("i1", "asp/follows@1", ASP_NO, FIRST_YES),
        ("i0", "asp/true@1", ASP_YES, FIRST_NO),
        ("i1", "asp/true@1", ASP_NO, FIRST_NO),
        run_id="r",
        task="asp",
        edition="clean",
        fold="entailment",
        verbaliser="yes/no",
        model=MODEL,
    )


def test_scores_of_asp_are_averaged_over_prompts(tmp_path):
    lake = str(tmp_path)
    item: Any = {"test": "ordering", "adjective": "big", "noun": "dog", "edition": "clean"}
    write(lake, "asp_entailment", records("item_id", ("i0",), ("i1",), **item))
    write(lake, "predictions", asp_rows())
    (row,) = asp_table(predictions.read_prompted(lake, "r")).to_pylist()
    expected = {"task": "entailment", "test": "ordering", "rows": 2, "prompts": 2}
    assert expected.items() <= row.items()
    # The scores [-1, -2] are the answer entailment.
    assert (row["mean"], row["majority"]) == (0.75, 0.5)
    assert row["deviation"] == pytest.approx(0.5 / sqrt(2))
    with pytest.raises(UserError, match="run=q: no answers to prompts"):
        predictions.read_prompted(lake, "q")
