import pytest

from adnominal.analysis.papers.published import (
    PAPERS,
    agrees,
    citation,
    load,
    parse,
    table,
    value,
)
from adnominal.conf import UserError

GOOD = """
paper: adept
citation: A. B.
  C.
tables:
  - table: table 5
    title: accuracy
    unit: percent
    columns: [3-class, 5-class]
    rows:
      majority: [66.4, 85.0]
      human: [null, 69.9 ± 38]
      about: [~7800, ">50000"]
    not_recomputable: [human]
    deviations: {majority/5-class: a slip}
    note: said
      twice
"""


def test_numbers_are_parsed_as_printed():
    numbers = parse("adept", GOOD)
    assert [(v.row, v.column, v.value) for v in numbers] == [
        ("majority", "3-class", 66.4),
        ("majority", "5-class", 85.0),
        ("human", "5-class", 69.9),
        ("about", "3-class", 7800),
        ("about", "5-class", 50000),
    ]
    first, second, human, about, _ = numbers
    assert (second.printed, second.decimals, second.deviation) == ("85.0", 1, "a slip")
    assert (human.printed, human.recomputable) == ("69.9 ± 38", False)
    assert (first.recomputable, first.unit) == (True, "percent")
    assert about.printed == "~7800"
    assert (human.spread, first.spread) == (38.0, None)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("citation:", "cites:", "expected the keys paper, citation and tables"),
        ("paper: adept", "paper: plane", "paper is 'plane'"),
        ("title:", "titel:", r"unknown keys \['titel'\], missing keys \['title'\]"),
        ("unit: percent", "unit: per cent", "unit 'per cent'; expected one of percent"),
        ("[66.4, 85.0]", "[66.4]", "table 5, majority: 1 numbers for 2 columns"),
        ("[66.4, 85.0]", "[66.4, ca. 85]", "'ca. 85' is not a number like"),
        ("[human]", "[humans]", "not_recomputable names 'humans', no row"),
        ("majority/5-class", "majority/4-class", "deviations names 'majority/4-class', no cell"),
        ("[3-class, 5-class]", "[3-class, 3-class]", "table 5/majority/3-class is there twice"),
    ],
)
def test_every_mistake_in_a_file_is_named(old, new, message):
    with pytest.raises(UserError, match=message):
        parse("adept", GOOD.replace(old, new, 1))


@pytest.mark.parametrize("paper", PAPERS)
def test_the_files_of_the_papers_can_be_loaded(paper):
    assert len(load(paper)) > 40
    assert "20" in citation(paper) and "\n" not in citation(paper)
    for number in load(paper):
        if number.unit == "percent":
            assert 0 <= number.value <= 100, number
        if number.unit in ("share", "Cohen's kappa"):
            assert 0 <= number.value <= 1, number


def test_published_tables_are_consistent():
    for name in ("unanimous", "majority"):
        assert value("adept", "table 4", name, "impossible").recomputable is False
    agreement = table("adept", "table 4")
    for label in {column for _, column in agreement}:
        both = agreement["unanimous", label].value + agreement["majority", label].value
        assert both == pytest.approx(1)
    sizes = {row: cell.value for (row, _), cell in table("adept", "table 4, sizes").items()}
    assert sizes["unanimous"] + sizes["majority"] == 16115
    assert sizes["train"] + sizes["val"] + sizes["test"] == 16115
    for figure, model, classes in (
        ("figure 2", "RoBERTa", "5-class"),
        ("figure 3", "DeBERTa", "3-class"),
    ):
        cells = table("adept", figure)
        right = sum(cell.value for (gold, guess), cell in cells.items() if gold == guess)
        total = sum(cell.value for cell in cells.values())
        assert total == 1611
        assert agrees(value("adept", "table 5", model, classes), 100 * right / total)
    for name in ("FOL", "VF"):
        table_4 = table("sygns", "table 4, one")
        for (kind, column), cell in table("sygns", f"table 15, {name}").items():
            model, _, label_kind = column.partition(" ")
            if label_kind == "exact":
                assert cell.value == table_4[kind, f"{model} {name}"].value


def test_numbers_agree_to_the_printed_digit():
    majority = value("adept", "table 5", "majority", "3-class")
    assert agrees(majority, 66.4183) and agrees(majority, 66.35) and not agrees(majority, 66.46)
    booster = value("asp", "table 3, degree estimation", "majority", "booster")
    assert agrees(booster, 81.25) and not agrees(booster, 81.2)


def test_missing_papers_tables_and_cells_are_reported():
    with pytest.raises(UserError, match="paper=bert: expected one of adept"):
        load("bert")
    with pytest.raises(UserError, match="adept has no 'table 9'; it has figure 1, section"):
        table("adept", "table 9")
    with pytest.raises(UserError, match="table 5 has no XLNet/3-class; it has majority/3-class"):
        value("adept", "table 5", "XLNet", "3-class")
