from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adnominal.etl.adept.variants import VariantRules, insert, item_id, place_of, variants


@pytest.mark.parametrize(
    ("sentence", "adjective", "noun", "rule", "modified"),
    [
        ("A leg has one foot.", "dead", "leg", "sound", "A dead leg has one foot."),
        ("A can is for oil.", "useful", "can", "sound", "A useful can is for oil."),
        ("A can is for oil.", "useful", "can", "letter", "An useful can is for oil."),
        ("You use an ax to cut.", "blunt", "ax", "sound", "You use a blunt ax to cut."),
        ("A guest leaves.", "hourly", "guest", "sound", "An hourly guest leaves."),
        ("A guest leaves.", "hourly", "guest", "letter", "A hourly guest leaves."),
        ("Bananas are yellow.", "ripe", "bananas", "sound", "Ripe bananas are yellow."),
        ("Gas is 8th.", "8th", "gas", "sound", "8th gas is 8th."),
        ("The effect of sleep is rest.", "deep", "sleep", "sound",
         "The effect of deep sleep is rest."),
        # Before the first token that is the noun, not before the first such string.
        ("An i-beam holds a beam.", "red", "beam", "sound", "An i-beam holds a red beam."),
        ("Something a thing can do is fall.", "old", "thing", "sound",
         "Something an old thing can do is fall."),
        ("A letter replies to a letter.", "old", "letter", "sound",
         "An old letter replies to a letter."),
    ],
)  # fmt: skip
def test_an_adjective_is_inserted_before_its_noun(sentence, adjective, noun, rule, modified):
    assert insert(sentence, adjective, noun, rule) == modified


def test_without_the_noun_as_a_token_there_is_no_sentence():
    assert place_of("An i-beam is strong.", "beam") is None
    assert insert("We-blocker is stupid.", "outside", "blocker") is None
    assert variants("A dog barks.", "cat", "cat", ["old"], [], VariantRules(0)) == []


def test_item_ids_differ_by_variant():
    assert item_id("A.", "old", "dog") == item_id("A.", "old", "dog", 0)
    assert len({item_id("A.", "old", "dog", n) for n in range(3)}) == 3


SUBSECTIVE = [f"s{n}" for n in range(30)]
NONSUBSECTIVE = ["dead", "fake", "former"]


@given(st.integers(), st.integers(0, 30), st.integers(0, 3))
def test_up_to_four_variants_of_which_two_are_non_subsective(seed, size, special):
    subsective, nonsubsective = SUBSECTIVE[:size], NONSUBSECTIVE[:special]
    items = variants("A dog barks.", "dog", "dog", subsective, nonsubsective, VariantRules(seed))
    quota = min(2, special)
    assert len(items) == min(4, size + quota)
    assert sum(item.nonsubsective for item in items) == quota
    assert [item.number for item in items] == list(range(len(items)))
    assert sum(item.chosen for item in items) == (1 if items else 0)
    assert len({item.adjective for item in items}) == len(items)


def test_the_choice_depends_on_seed_and_sentence_and_is_even():
    def adjectives(seed, sentence="A dog barks."):
        items = variants(sentence, "dog", "dog", SUBSECTIVE, NONSUBSECTIVE, VariantRules(seed))
        return [item.adjective for item in items], next(o.number for o in items if o.chosen)

    assert adjectives(0) == adjectives(0)
    assert adjectives(0) != adjectives(1)
    assert adjectives(0) != adjectives(0, "A dog eats.")
    numbers = Counter(adjectives(seed)[1] for seed in range(400))
    assert all(70 < numbers[n] < 130 for n in range(4))


def test_names_are_written_with_a_capital():
    items = variants("A dog barks.", "dog", "dog", ["american", "german-born"], [], VariantRules(0))
    assert {i.sentence for i in items} == {"An American dog barks.", "A German-born dog barks."}
    items = variants("A dog barks.", "dog", "dog", ["american"], [], VariantRules(0, names=False))
    assert [i.sentence for i in items] == ["An american dog barks."]
