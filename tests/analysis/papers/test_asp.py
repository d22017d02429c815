from __future__ import annotations

import pyarrow as pa
import pytest

from analysis.papers.asp import curves as asp
from analysis.papers.asp.dataset import baseline_table
from analysis.papers.asp.models import correlation
from analysis.papers.published import load
from conf import UserError
from etl.asp import TESTS
from etl.asp.gold import HUMAN, PUBLISHED
from etl.lake import arrow
from etl.published.asp import read
from tests.rows import rows, write


def answers(threshold: float, rises: bool = True, model: str = "M") -> asp.Answers:
    z = [float(at) for at in range(60, 140, 2)] * 2
    predicted = ["entailment" if (at >= threshold) == rises else "not_entailment" for at in z]
    return asp.Answers(model, ["ordering"] * 80, ["positive"] * 80, z, predicted)


def test_a_model_that_cuts_at_a_number():
    thresholds = asp.model_thresholds(answers(101)).to_pylist()
    assert thresholds == [
        {"test": "ordering", "polarity": "positive", "answer": "M"}
        | {
            "threshold": pytest.approx(101, abs=1.1),
            "standard_error": thresholds[0]["standard_error"],
        }
    ]
    curves = asp.model_curves(answers(101))
    shares = {r["z"]: (r["share"], r["n"]) for r in curves.to_pylist() if r["answer"] == "M"}
    assert (shares[100.0], shares[102.0]) == ((0.0, 2), (1.0, 2))
    fitted = {r["z"]: r["share"] for r in curves.to_pylist() if r["answer"] == "M, fitted"}
    assert fitted[60.0] < 0.01 and fitted[138.0] > 0.99


@pytest.mark.parametrize("model_answers", [answers(0), answers(101, rises=False)])
def test_answers_that_no_curve_fits(model_answers):
    assert asp.model_thresholds(model_answers).column("threshold").to_pylist() == [None]
    assert set(asp.model_curves(model_answers).column("answer").to_pylist()) == {"M"}


@pytest.fixture(scope="module")
def release(shared_data, tmp_path_factory) -> str:
    lake = str(tmp_path_factory.mktemp("asp"))
    for name, table in read(shared_data / "asp").tables.items():
        arrow.append(lake, name, table, job="t")
    return lake


@pytest.mark.parametrize("task", ["asp_entailment", "asp_degree"])
@pytest.mark.parametrize("paper_table", ["table 3", "table 4"])
def test_baselines_to_the_printed_digit(release, task, paper_table):
    baselines = baseline_table(release, task, "published", paper_table).to_pylist()
    assert len(baselines) == 2 * len(TESTS)
    for row in baselines:
        # Equal, or the reason is stated; and a reason is stated only where they differ.
        assert row["agrees"] == (row["deviation"] is None), row
    with pytest.raises(UserError, match="edition=none: no rows"):
        baseline_table(release, task, "none")


def test_every_deviation_of_the_file_is_of_a_baseline():
    assert {number.row for number in load("asp") if number.deviation} == {"chance", "majority"}


def test_human_curves_and_thresholds(release):
    thresholds = asp.human_thresholds(release, "published").to_pylist()
    assert {(r["test"], r["polarity"]): round(r["threshold"], 1) for r in thresholds} == PUBLISHED
    curves = asp.human_curves(release, "published")
    both = pa.concat_tables([curves, asp.model_curves(answers(101))])
    drawn_tests = set()
    for number in asp.FIGURES:
        figure, plotted = asp.curves_figure(both, number)
        panels = [axes.get_title() for axes in figure.axes]
        assert len(panels) == 6 and figure.get_supxlabel() and figure.get_supylabel()
        drawn_tests |= {title.split(",")[0] for title in panels}
        assert set(plotted.column_names) == {*curves.column_names, "panel"}
    assert drawn_tests == set(HUMAN)
    # Their answer rises with the number, from hardly anybody to nearly all.
    long = [
        r["share"]
        for r in curves.to_pylist()
        if (r["test"], r["polarity"], r["answer"]) == ("ordering", "positive", "people")
    ]
    assert long[0] < 0.1 and long[-1] > 0.5 and max(long) > 0.9
    with pytest.raises(UserError, match="source=mine: no judgements"):
        asp.human_curves(release, "mine")
    with pytest.raises(ValueError, match="figure 9; expected one of 2, 3"):
        asp.curves_figure(both, 9)


def test_human_curves_of_a_small_table(tmp_path):
    judgements = rows(
        "z share fit",
        (58.0, 0.9, 0.0),
        (60.0, 0.2, 0.0),
        (100.0, 0.4, 0.5),
        (138.0, 0.8, 1.0),
        test="ordering",
        polarity="positive",
        threshold=100.0,
        standard_error=1.0,
        source="mine",
    )
    write(tmp_path, "asp_human", judgements)
    curve_rows = asp.human_curves(str(tmp_path), "mine").to_pylist()
    assert [(r["z"], r["share"]) for r in curve_rows if r["answer"] == "people"] == [
        (60.0, 0.2),
        (100.0, 0.4),
        (138.0, 0.8),
    ]
    assert [r["share"] for r in curve_rows if r["answer"] == "people, fitted"] == pytest.approx(
        [0.2, 0.5, 0.8]
    )


def test_correlation_as_scipy_has_it():
    coefficients = correlation([(1, 1), (2, 3), (3, 2), (4, 5), (5, 4)])
    assert coefficients["R"] == pytest.approx(0.8) and coefficients["p"] == pytest.approx(
        0.104, abs=5e-4
    )
    # Fisher: tanh(artanh(0.8) -+ 1.96 / sqrt(5 - 3)).
    assert coefficients["low"] == pytest.approx(-0.2797, abs=1e-3)
    assert coefficients["high"] == pytest.approx(0.9864, abs=1e-3)
    for points in ([(1, 2)] * 3, [(1, 1), (1, 2), (1, 3), (1, 4)]):
        with pytest.raises(ValueError, match="expected four or more"):
            correlation(points)
