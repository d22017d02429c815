from collections import Counter
from dataclasses import asdict

import pytest

from adnominal.etl.sygns.generate import Sampler, sample
from adnominal.etl.sygns.grammar import grammar
from adnominal.etl.sygns.splits import (
    SCHEMES,
    in_validation,
    modifier_class,
    part,
    quantifier_class,
    rows_of,
)


@pytest.mark.parametrize(
    ("primitive", "sentence", "phenomena", "expected"),
    [
        # Table 1 of the paper.
        ("one", "one tiger ran", (), "train"),
        ("one", "a tiger ran", (), "train"),
        ("one", "two tigers ran", (), "train"),
        ("one", "one small tiger ran", ("adjective",), "train"),
        ("one", "one tiger ran or came", ("disjunction",), "train"),
        ("one", "a small tiger ran", ("adjective",), "test"),
        ("one", "two tigers ran quickly", ("adverb",), "test"),
        ("one", "every tiger ran or came", ("disjunction",), "test"),
        ("one", "every tiger did not run", ("negation",), "train"),
        ("two", "one small tiger ran", ("adjective",), "test"),
        ("one,two,every", "two small tigers ran", ("adjective",), "train"),
        ("one,two,every", "three small tigers ran", ("adjective",), "test"),
        ("one", "ann ran", (), "train"),
        ("one", "ann ran quickly", ("adverb",), "test"),
    ],
)
def test_systematicity_tests_new_modified_quantifiers(primitive, sentence, phenomena, expected):
    assert part("systematicity", primitive, 0, sentence, phenomena) == expected


@pytest.mark.parametrize(
    ("sentence", "phenomena", "expected"),
    [
        ("one tiger did not run", ("negation",), "train"),
        ("every tiger ran quickly", ("adverb",), "train"),
        ("every tiger did not run", ("negation",), "test"),
    ],
)
def test_quantifier_negation_tests_new_combinations_with_negation(sentence, phenomena, expected):
    assert part("quantifier_negation", "one", 0, sentence, phenomena) == expected


def test_productivity_tests_greater_depths():
    parts = [part("productivity", "", depth, "ann ran", ()) for depth in range(5)]
    assert parts == ["train", "train", "test", "test", "test"]


@pytest.mark.parametrize(
    ("depth", "sentence", "expected"),
    [
        (0, "three dogs liked bob", "train"),
        (1, "one dog that loved two rats ran", "train"),
        (1, "a dog that loved three rats ran", "test"),
        (1, "a dog that loved two rats ran", None),
    ],
)
def test_embedded_quantifiers_test_other_quantifiers_at_depth_1(depth, sentence, expected):
    assert part("embedded_quantifiers", "", depth, sentence, ()) == expected


def test_only_depth_0_tests_systematicity():
    assert part("systematicity", "one", 1, "one dog that ran swam", ()) is None


def test_an_unknown_scheme_is_refused():
    with pytest.raises(ValueError, match="expected one of"):
        part("comp", "one", 0, "ann ran", ())


def test_sentences_have_quantifier_and_modifier_classes():
    assert quantifier_class("ann kissed bob") == "NON"
    assert quantifier_class("ann kissed two dogs") == "NUM"
    assert quantifier_class("every dog that a cat kissed ran") == "MIX"
    assert modifier_class(("adjective", "negation")) == "ADJ+NEG"
    assert modifier_class(("conjunction",)) == "CON"
    assert modifier_class(("adjective", "adverb")) == "MIX"
    assert modifier_class(()) == "NON"


def test_a_tenth_is_for_validation_depending_on_the_seed():
    flags = [in_validation(0, "productivity", "", str(i)) for i in range(5000)]
    assert 400 < sum(flags) < 600
    assert flags != [in_validation(1, "productivity", "", str(i)) for i in range(5000)]


def test_split_sizes_are_those_of_the_paper():
    # The paper trains on 12,000 of 50,000 sentences; of 2,500, that is 600 (standard error 21).
    rows = sample(Sampler(grammar("paper", 5, 5), 0, seed=0), 2500)
    parts = Counter(
        (split["primitive"], split["part"])
        for row in rows
        for split in rows_of(asdict(row), SCHEMES, 0, "mine")
        if split["scheme"] == "systematicity"
    )
    for primitive in ("one", "two", "every"):
        train = parts[primitive, "train"] + parts[primitive, "val"]
        assert abs(train - 600) < 84
