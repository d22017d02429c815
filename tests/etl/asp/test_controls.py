"""Control rows: what changes in them, and what stays."""

import pytest

from adnominal.conf import UserError
from adnominal.etl.asp.controls import (
    CONTROLS,
    Control,
    ControlDegree,
    ControlEntailment,
    control_edition,
    control_of,
)
from adnominal.etl.asp.degree import Degree, DegreeRow
from adnominal.etl.asp.entailment import Entailment
from adnominal.etl.asp.gold import published_gold
from adnominal.etl.asp.lexicon import load_lexicon
from adnominal.etl.asp.settings import Settings

LEXICON = load_lexicon()


def degree_rows(kind: str, test: str = "ordering") -> list[DegreeRow]:
    source = ControlDegree(Control(kind, LEXICON, 0), LEXICON, 0, gold=published_gold())
    return list(source.rows(source.group(test, 0)))


def intact_degree_rows(test: str = "ordering") -> list[DegreeRow]:
    source = Degree(LEXICON, 0, published_gold())
    return list(source.rows(source.group(test, 0)))


def test_numbers_are_shuffled_against_their_labels():
    intact, control = intact_degree_rows(), degree_rows("numbers")
    assert [row.hypothesis for row in control] == [row.hypothesis for row in intact]
    labels = [row.label for row in control]
    assert labels != [row.label for row in intact]
    assert sorted(labels) == sorted(row.label for row in intact)
    # The premise's own number is discarded, where the shuffle leaves it.
    discarded = [row.label == "discard" for row in intact_degree_rows("dimension")]
    assert [row.label == "discard" for row in degree_rows("numbers", "dimension")] == discarded


def test_the_premise_is_left_out():
    for intact, row in zip(intact_degree_rows(), degree_rows("premise"), strict=True):
        assert row.premise == "" and row.item_id != intact.item_id
        assert row._replace(item_id="", premise="") == intact._replace(item_id="", premise="")
    assert len({row.item_id for row in degree_rows("premise")}) == 40


def test_adjectives_are_exchanged_in_all_their_forms():
    control = Control("words", LEXICON, 0)
    source = ControlEntailment(control, LEXICON, 0)
    changed = list(source.rows("comparative", 0, 6))
    for intact, row in zip(Entailment(LEXICON, 0).rows("comparative", 0, 6), changed, strict=True):
        other = control._exchange(intact.adjective)
        assert other != intact.adjective and other in LEXICON.words
        assert f" {LEXICON.comparative_of(other)} than the " in row.premise
        assert row.hypothesis.endswith(f" {other}.")
        assert (row.adjective, row.label) == (intact.adjective, intact.label)
    # No two adjectives become the same one, so held-out words stay apart from trained ones.
    assert len({control._exchange(word) for word in LEXICON.words}) == len(LEXICON.words)
    assert control._exchange("The tallness of long-haired Al") == "The tallness of long-haired Al"


def test_editions_of_control_rows_are_known_by_their_names():
    for control in CONTROLS:
        edition = control_edition("paper", control)
        assert control_of(edition) == control_of(f"{edition}_tuning") == control
    assert control_of("paper") is control_of("paper_tuning") is None
    assert Settings(edition="mine", control="words").name == "mine_control_words"
    assert Settings(control="premise").tuning == "clean_control_premise_tuning"
    with pytest.raises(UserError, match="expected entailment=0"):
        Settings(control="numbers")
