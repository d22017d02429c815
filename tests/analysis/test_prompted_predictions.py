from math import sqrt
from typing import Any

import pyarrow as pa
import pytest

from adnominal.analysis import predictions
from adnominal.analysis.estimates import Interval
from adnominal.analysis.papers.plane import prompting
from adnominal.conf import UserError
from adnominal.etl.lake.tables import table
from adnominal.training.asking.scores import asp_table, cells, choices
from tests.rows import rows as records
from tests.rows import write
from tests.training.asking.test_scores import FIRST_NO, FIRST_YES, MODEL, rows, two_shot


def test_variance_of_templates_is_over_orders():
    predictions_of_plane = rows(two_shot("I", [True]) + two_shot("I", [False], order="3,2"))
    ((place, mean),) = [
        point
        for panel in prompting.mean_f1(prompting.by_template(cells(predictions_of_plane))).values()
        for point in panel.items()
    ]
    assert isinstance(mean, Interval)
    assert (place, mean.estimate, mean.n) == (("1", "intersective"), 0.5, 2)
    assert mean.high - mean.estimate == pytest.approx(1 / sqrt(2))


def test_figure_7_says_whether_the_last_example_agrees():
    predictions_of_plane = rows(
        # For subsective adjectives, types 1 and 2 hold and type 3 does not.
        two_shot("S", [True], inference=1, order="2,3") + two_shot("S", [True], order="3,2")
    )
    points = prompting.by_order(cells(predictions_of_plane))
    assert set(zip(points["place"], points["agrees"], strict=True)) == {
        ("2,3,1", False),
        ("3,2,1", True),
    }


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


def test_both_forms_of_a_question_are_set_side_by_side():
    common: dict[str, Any] = {"task": "plane", "model": "gpt2", "scheme": "two_shot", "class": "S"}
    common |= {"inference_type": 1, "prompt": "plane/kind@1", "gold": "entailed"}
    chosen = [{**common, "scores": [-2.0, -1.0]}, {**common, "scores": [-1.0, -2.0]}]
    written = [
        {**common, "text": "Answer: yes", "state": "parsed", "predicted": "entailed"},
        {**common, "text": "Perhaps.", "state": "unparsable"},
        {**common, "text": "Answer: yes", "state": "parsed", "predicted": "entailed"},
        {**common, "text": "Answer: yes", "state": "parsed", "predicted": "entailed"},
    ]
    schema = table("predictions").schema
    schema = schema.append(pa.field("class", pa.string()))
    predictions = pa.Table.from_pylist(
        chosen + written, schema.append(pa.field("inference_type", pa.int32()))
    )
    numbers = prompting._both_forms(choices(predictions))
    f1 = {
        key: value.estimate
        for key, value in numbers.items()
        if key[0] == "S" and isinstance(value, Interval)
    }
    # Half of the chosen answers are right, and three of the four that were written.
    assert f1 == {
        ("S", "gpt2, likelihood"): pytest.approx(2 / 3),
        ("S", "gpt2, generation"): pytest.approx(6 / 7),
    }
    assert numbers["parsed", "gpt2, generation"] == 0.75
