"""Rows of the table report_numbers and what their comparison shows."""

import math
from typing import Any

import pytest

from adnominal.analysis import report_numbers
from adnominal.analysis.estimates import Interval, wilson
from adnominal.analysis.report_numbers import Cells, Source, Value, percent_text, rows_of
from adnominal.training.finished_runs import Run

ADEPT = Source("adept", "Table 5", ("table 5",), "train", {"adept": 3})
PLANE = Source("plane", "Table 6", ("table 6",))


def status(cell: tuple[str, str], value: Value, source: Source = ADEPT, **options: Any) -> str:
    cells = Cells(source.printed[0], {cell: value}, **options)
    (row,) = [r for r in rows_of(source, [cells]) if (r["row"], r["column"]) == cell]
    return str(row["status"])


def test_a_number_is_put_beside_the_printed_one_in_its_unit():
    cells = Cells(
        "table 5",
        {("majority", "5-class"): wilson(1070, 1611)},
        model="m",
        runs=[Run("1f", "finetune", 1, {}, group="g")],
        edition="published",
        note="said",
    )
    rows = {(row["row"], row["column"]): row for row in rows_of(ADEPT, [cells])}
    row = rows["majority", "5-class"]
    assert row["ours"] == pytest.approx(66.4183, abs=1e-4)
    assert row["low"] < 66.4 < row["high"] and row["n"] == 1611
    assert (row["published"], row["printed"], row["decimals"]) == (66.4, "66.4", 1)
    assert (row["status"], row["unit"], row["interval_kind"]) == ("equal", "percent", "Wilson")
    assert (row["model"], row["runs"], row["edition"]) == ("m", ["1f"], "published")
    assert (row["note"], row["versions"]) == ("said", "adept 3")
    assert "command" not in row and rows["BERT", "3-class"]["command"] == "train"
    assert rows["BERT", "3-class"]["status"] == "not run"
    assert rows["human", "3-class"]["status"] == "not recomputable"
    table = report_numbers.table_of(list(rows.values()))
    assert table.schema == report_numbers.SCHEMA and table.num_rows == len(rows)


def test_the_status_says_what_the_comparison_shows():
    cell = ("majority", "5-class")
    assert status(cell, 0.664) == "equal"
    assert status(cell, Interval(0.70, 0.66, 0.74, 10)) == "within"
    assert status(cell, Interval(0.70, 0.69, 0.71, 10)) == "differs"
    assert status(cell, 0.70) == "differs"
    assert status(cell, math.nan) == "not run"
    assert status(cell, 0.664, is_other_model=True) == "other model"
    assert status(cell, 0.664, is_other_model=True, is_simulated=True) == "simulated"
    assert status(("human", "5-class"), 0.85) == "compared but not recomputable"
    # The paper prints .85 ± .05.
    assert status(("accuracy", "GOoD"), 0.89, PLANE) == "within"
    assert status(("accuracy", "GOoD"), 0.91, PLANE) == "differs"


def test_every_status_is_explained():
    constants = [value for name, value in vars(report_numbers).items() if name.isupper()]
    assert {value for value in constants if isinstance(value, str)} == set(report_numbers.STATUSES)


def test_numbers_of_our_own_follow_the_printed_ones():
    own = Cells("Models", {("m", "accuracy"): wilson(1, 2)}, unit="percent", decimals=1)
    *printed, row = rows_of(ADEPT, [own])
    assert all(entry["printed"] for entry in printed)
    assert (row["table_name"], row["row"], row["column"], row["ours"]) == (
        "Models",
        "m",
        "accuracy",
        50,
    )
    assert (row["status"], row["decimals"], row["unit"]) == ("added", 1, "percent")
    simulated = Cells("Labels", {("a", "b"): 1.0}, is_simulated=True)
    assert rows_of(ADEPT, [simulated])[-1]["status"] == "simulated"


def test_a_cell_that_the_paper_does_not_print_is_refused():
    cells = Cells("table 5", {("BERT", "2-class"): 0.5})
    with pytest.raises(ValueError, match="adept, table 5 has no BERT/2-class"):
        rows_of(ADEPT, [cells])


def test_a_headlines_number_has_its_interval():
    share = {"ours": 0.5, "unit": "share", "low": 0.381, "high": 0.619}
    assert percent_text(share) == "50.0 % [38.1, 61.9]"
    assert percent_text({"ours": 50.0, "unit": "percent", "low": None}) == "50.0 %"
