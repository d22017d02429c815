import pytest
from hypothesis import given
from hypothesis import strategies as st

from adnominal.etl.plane import CLASSES, TYPES
from adnominal.etl.plane.rules import (
    conclusion,
    group_id,
    inference_type,
    item_id,
    label,
    sentence,
    spelling,
)

WORD = st.text(st.characters(min_codepoint=97, max_codepoint=122), min_size=1, max_size=9)


def test_labels_are_those_of_table_1():
    table = {kind: [label(kind, inference) for inference in TYPES] for kind in CLASSES}
    assert table == {"I": [1, 1, 1], "S": [1, 1, 0], "O": [0, 0, 1]}
    for kind, inference in (("N", 1), ("I", 0), ("O", 4)):
        with pytest.raises(KeyError, match="class"):
            label(kind, inference)


def test_sentences_of_the_paper_and_of_ours():
    words = ("artificial", "load", "weight")
    assert [sentence("paper", inference, *words) for inference in TYPES] == [
        "A artificial load is a load",
        "A artificial load is a weight",
        "A artificial load is a artificial weight",
    ]
    assert [sentence("clean", inference, "italian", "hour", "unit") for inference in TYPES] == [
        "An Italian hour is an hour.",
        "An Italian hour is a unit.",
        "An Italian hour is an Italian unit.",
    ]
    assert spelling("red") == "red"


@given(adjective=WORD, noun=WORD, hypernym=WORD, inference=st.sampled_from(TYPES))
def test_the_inference_type_is_read_from_a_sentence(adjective, noun, hypernym, inference):
    text = sentence("paper", inference, adjective, noun, hypernym)
    parsed_type = inference_type(text, adjective, noun, hypernym)
    assert parsed_type is not None
    parsed_conclusion = conclusion(parsed_type, adjective, noun, hypernym)
    assert parsed_conclusion == conclusion(inference, adjective, noun, hypernym)
    assert inference_type(text + ".", adjective, noun, hypernym) is None


def test_ids_are_stable_and_distinct():
    assert group_id("weekly", "load", "weight") == "5399ba07c6c1c6eb5f05686f969d972f"
    ids = {
        item_id(edition, inference, *words)
        for edition in ("paper", "clean")
        for inference in TYPES
        for words in (("a", "b", "c"), ("a b", "c", "d"), ("a", "b c", "d"))
    }
    assert len(ids) == 18 and set(map(len, ids)) == {32}
    first_type = item_id("paper", 1, "a", "b", "c")
    assert item_id("paper", 3, "a", "b", "c") == first_type[:-1] + "3"
