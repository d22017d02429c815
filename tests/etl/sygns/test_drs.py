import pytest
from hypothesis import given

from adnominal.etl.sygns import drs
from adnominal.etl.sygns.drs import Box, Negation, Predication
from adnominal.etl.sygns.fol import ParseError
from tests.etl.sygns.formulas import boxes

DOG = "b1 REF x1 [SEP] b1 dog x1 [SEP] b1 NOT b2 [SEP] b2 run x1"


def test_a_box_is_written_as_clauses_and_parsed():
    box = Box(
        ("x1",), (Predication("dog", ("x1",)), Negation(Box((), (Predication("run", ("x1",)),))))
    )
    assert drs.text(box) == DOG
    assert drs.parse(DOG) == box


@given(boxes())
def test_parse_inverts_text(box):
    assert drs.parse(drs.text(box)) == box


def test_sibling_boxes_share_a_number_only_by_nesting():
    box = Box(
        ("x1",),
        (
            Negation(Box((), (Predication("run", ("x1",)),))),
            Negation(Box((), (Predication("swim", ("x1",)),))),
        ),
    )
    assert drs.text(box).endswith("b1 NOT b2 [SEP] b2 run x1 [SEP] b1 NOT b3 [SEP] b3 swim x1")
    nested = drs.text(box, "nesting")
    assert nested.endswith("b1 NOT b2 [SEP] b2 run x1 [SEP] b1 NOT b2 [SEP] b2 swim x1")
    with pytest.raises(ParseError, match="b2: opened more than once"):
        drs.parse(nested)


@pytest.mark.parametrize(
    ("string", "message"),
    [
        ("", "expected a box, a symbol"),
        ("b1 REF", "expected a box, a symbol"),
        ("b1 REF b2", "expected a xN"),
        ("x1 dog x1", "expected a box like b1"),
        ("b1 IMP b2", "IMP takes 2 arguments"),
        ("b1 see x1 x2 x3", "see takes 2 arguments"),
        ("b1 DOG x1", "neither an operator nor a predicate"),
        ("b1 NOT b1 [SEP] b1 NOT b2", "outermost boxes"),
        ("b1 NOT b2", "b2: opened but empty"),
        ("b1 REF x1 [SEP] b1 REF x1", "introduced twice"),
        ("b1 dog x1", "x1 has no referent"),
        ("b1 NOT b2 [SEP] b2 REF x1 [SEP] b2 dog x1 [SEP] b1 run x1", "x1 has no referent"),
        ("b1 REF x1 [SEP] b1 dog x1 [SEP] b2 NOT b3 [SEP] b3 NOT b2", "not inside b1"),
    ],
)
def test_errors_name_the_fault(string, message):
    with pytest.raises(ParseError, match=message):
        drs.parse(string)


def test_referents_of_an_antecedent_are_accessible_from_the_consequent():
    box = drs.parse("b1 IMP b2 b3 [SEP] b2 REF x1 [SEP] b2 dog x1 [SEP] b3 run x1")
    assert drs.text(box).startswith("b1 IMP b2 b3")


def test_rename_numbers_by_first_mention():
    clauses = drs.parse_clauses("b9 REF x4 [SEP] b9 NOT b3 [SEP] b3 run x4")
    assert [str(c) for c in drs.rename(clauses)] == ["b1 REF x1", "b1 NOT b2", "b2 run x1"]


def test_a_counter_names_the_box_that_was_opened_last():
    box = drs.parse(
        "b1 REF x1 [SEP] b1 cat x1 [SEP] b1 IMP b2 b4 [SEP] b2 REF x2 [SEP] b2 dog x2 [SEP] "
        "b2 NOT b3 [SEP] b3 old x2 [SEP] b4 see x1 x2 [SEP] b1 NOT b5 [SEP] b5 run x1"
    )
    assert drs.text(box, "counter") == (
        "b1 REF x1 [SEP] b1 cat x1 [SEP] b1 IMP b2 b4 [SEP] b2 REF x2 [SEP] b2 dog x2 [SEP] "
        "b2 NOT b3 [SEP] b3 old x2 [SEP] b4 see x1 x2 [SEP] b4 NOT b5 [SEP] b5 run x1"
    )
