import numpy as np
import pyarrow as pa
import pytest

from adnominal.analysis.papers.plane import intervals
from adnominal.etl.registry import DATASETS
from adnominal.training.answering import matrix
from adnominal.training.asking.scores import cells, class_table

PLANE = DATASETS["plane"].label_names


def answered(kinds: str, types: list[int], right: list[bool]) -> pa.Table:
    """Answers to items of these classes and types; the conclusion of every item holds."""
    size = len(kinds)
    return pa.table(
        {
            "task": ["plane"] * size,
            "model": ["bert"] * size,
            "scheme": ["two_shot"] * size,
            "class": list(kinds),
            "inference_type": pa.array(types, pa.int32()),
            "prompt": ["internal"] * size,
            "verbaliser": ["good/poor"] * size,
            "premise_order": ["1,2"] * size,
            "gold": [PLANE[1]] * size,
            "predicted": [PLANE[1] if correct else None for correct in right],
            "text": ["good" if correct else "big" for correct in right],
            "scores": [[0.5, 0.5]] * size,
        }
    )


def test_means_equal_those_of_the_table():
    rows = answered("IIIISS", [1, 1, 2, 2, 1, 1], [True, False, True, True, False, False])
    scores = intervals.prompt_interval(rows, list("ababxy"))
    table = {row["row"]: row["mean"] for row in class_table(cells(rows)).to_pylist()}
    assert {kind: score.estimate for (kind, _), score in scores.items()} == pytest.approx(table)
    # One group of I is right in both types and one in a single type: F1 from 1/2 to 1.
    score = scores["I", "bert"]
    assert (score.low, score.high) == (0.5, 1.0)
    assert (scores["S", "bert"].low, scores["S", "bert"].high) == (0, 0)
    assert intervals.prompt_interval(rows.slice(0, 0), []) == {}


def test_nli_scores_equal_those_of_the_table():
    rng = np.random.default_rng(0)
    items = [f"i{at}" for at in range(120)]
    answers = rng.choice(["entailment", "neutral", "contradiction"], 120).tolist()
    rows = pa.table(
        {
            "item_id": items,
            "gold": [PLANE[int(at % 3 == 0)] for at in range(120)],
            "predicted": [PLANE[int(answer == "entailment")] for answer in answers],
            "text": answers,
        }
    )
    kinds = {item: "IO"[at % 2] for at, item in enumerate(items)}
    scores = intervals.nli(rows, kinds, {item: item for item in items})
    table = matrix.f1_by_group(rows, kinds)
    for row in table.to_pylist():
        assert scores[row["group"]].estimate == pytest.approx(row["f1"])
    assert scores["average"].estimate == pytest.approx(matrix.average(table))
    assert all(answer.low < answer.estimate < answer.high for answer in scores.values())
    # Groups of items with equal answers widen the intervals.
    groups = {item: answers[at] for at, item in enumerate(items)}
    wide = intervals.nli(rows, kinds, groups)
    assert wide["I"].high - wide["I"].low > 1.5 * (scores["I"].high - scores["I"].low)
    reversed_rows = rows.take(list(range(119, -1, -1)))
    assert intervals.nli(reversed_rows, kinds, groups) == wide
