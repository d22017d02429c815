from __future__ import annotations

import pyarrow as pa
import pytest

from analysis.inference.comparisons import compare
from analysis.inference.resampling import Resampling
from analysis.predictions import pair, read_run
from conf import UserError
from etl.lake import arrow
from etl.lake.tables import table


def rows(run, answers, gold="xxy", **more):
    return [
        {
            "run_id": run,
            "task": "adept_5",
            "edition": "mine",
            "item_id": item,
            "gold": g,
            "predicted": p,
            **more,
        }
        for item, g, p in zip("aab", gold, answers, strict=True)
    ]


@pytest.fixture
def lake(tmp_path):
    records = [
        *rows("one", "xyy"),
        *reversed(rows("two", "xxy")),
        *rows("three", "xxx", gold="xxx"),
        *rows("four", "xyy")[1:],
        *rows("bare", "xyy", gold=[None] * 3),
    ]
    arrow.append(
        str(tmp_path),
        "predictions",
        pa.Table.from_pylist(records, table("predictions").schema),
        job="t",
    )
    return str(tmp_path)


def test_items_are_paired_as_often_as_they_stand(lake):
    both = pair(read_run(lake, "one"), read_run(lake, "two"))
    assert both.item_ids == ["a", "a", "b"]
    assert (both.gold, both.first, both.second) == (list("xxy"), list("xyy"), list("xxy"))
    result = compare("accuracy", both, resampling=Resampling(resamples=50))
    assert result.mcnemar.only_second == 1


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("one", "none", "run=none: no rows in the table predictions"),
        ("one", "bare", "run=bare: 3 predictions, none of a labelled item"),
        ("one", "three", "one and three: 1 items have another gold label"),
        ("one", "four", "3 and 2 items, 1 of which only one has"),
    ],
)
def test_runs_that_cannot_be_compared(lake, first, second, message):
    with pytest.raises(UserError, match=message):
        pair(read_run(lake, first), read_run(lake, second))
