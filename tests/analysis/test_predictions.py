import pytest

from adnominal.analysis.comparisons import Resampling, compare
from adnominal.analysis.predictions import pair, read_run
from adnominal.conf import UserError
from tests.rows import rows, write


def answers(run, predicted, gold="xxy"):
    cells = zip("aab", gold, predicted, strict=True)
    constants = {"run_id": run, "task": "adept_5", "edition": "mine"}
    return rows("item_id gold predicted", *cells, **constants)


@pytest.fixture
def lake(tmp_path):
    records = [
        *answers("one", "xyy"),
        *reversed(answers("two", "xxy")),
        *answers("three", "xxx", gold="xxx"),
        *answers("four", "xyy")[1:],
        *answers("bare", "xyy", gold=[None] * 3),
    ]
    write(tmp_path, "predictions", records)
    return str(tmp_path)


def test_repeated_items_are_paired_as_often_as_they_occur(lake):
    both = pair(read_run(lake, "one"), read_run(lake, "two"))
    assert both.item_ids == ["a", "a", "b"]
    assert (both.gold, both.first, both.second) == (list("xxy"), list("xyy"), list("xxy"))
    result = compare("accuracy", both, resampling=Resampling(resamples=50))
    assert result.only_second == 1


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("one", "none", "run=none: no rows in the table predictions"),
        ("one", "bare", "run=bare: 3 predictions, none of a labelled item"),
        ("one", "three", "one and three: 1 items have different gold labels"),
        ("one", "four", "3 and 2 items, 1 of which only one has"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused(lake, first, second, message):
    with pytest.raises(UserError, match=message):
        pair(read_run(lake, first), read_run(lake, second))


@pytest.mark.parametrize("prompts", ["pq", "rs"])
def test_answers_to_prompts_are_paired_by_prompt(tmp_path, prompts):
    """Each run is right with the prompt that the other is wrong with."""
    names = "item_id prompt gold predicted"
    constants = {"task": "plane", "edition": "mine", "verbaliser": "v"}
    for run, answers, wording in (("one", "xy", "pq"), ("two", "yx", prompts)):
        cells = [("a", *cell) for cell in zip(wording, "xx", answers, strict=True)]
        write(tmp_path, "predictions", rows(names, *reversed(cells), run_id=run, **constants))
    both = pair(read_run(str(tmp_path), "one"), read_run(str(tmp_path), "two"))
    assert (both.item_ids, both.first, both.second) == (["a", "a"], list("xy"), list("yx"))


def test_answers_to_different_prompts_are_not_paired(tmp_path):
    constants = {"task": "plane", "edition": "mine", "verbaliser": "v"}
    for run, wording in (("one", "pq"), ("two", "qp")):
        cells = zip("ab", wording, "xx", "xx", strict=True)
        records = rows("item_id prompt gold predicted", *cells, run_id=run, **constants)
        write(tmp_path, "predictions", records)
    with pytest.raises(UserError, match="have 2 and 2 items, 4 of which only one has"):
        pair(read_run(str(tmp_path), "one"), read_run(str(tmp_path), "two"))
