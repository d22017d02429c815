import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adnominal.etl.annotation import quality
from adnominal.etl.annotation.quality import (
    Answer,
    Rules,
    beyond_limit,
    failed_attention,
    far_from_gold,
    majority_label,
)


def answer(who, item, label, kind="item", expected=None):
    return Answer(item, who, label, expected, kind, "main", "context", "b", "b-1")


def gold(who, label, expected, times=1):
    return [answer(who, f"g{at}", label, "gold", expected) for at in range(times)]


ITEM_IDS = {"one", "two", "three", "four", *(f"i{number}" for number in range(12))}


def filtered(answers, rules):
    return quality.filter_answers(answers, rules, ITEM_IDS)


# Three people agree on one item, two on another, none on a third.
ITEMS = [
    *[answer(who, "one", 2) for who in "abc"],
    *[answer(who, "two", label) for who, label in zip("abc", (0, 0, 1), strict=True)],
    *[answer(who, "three", label) for who, label in zip("abc", (0, 2, 4), strict=True)],
]


def test_the_majority_of_the_answers_is_the_label():
    result = filtered(ITEMS, Rules())
    assert {i: (v.label, v.agreement) for i, v in result.labels.items()} == {
        "one": (2, "unanimous"),
        "two": (0, "majority"),
    }
    assert result.dropped == {"no_agreement (items)": (1, "item three: labels 0, 2, 4")}
    assert len(filtered(ITEMS, Rules(agree=3)).labels) == 1


@pytest.mark.parametrize(
    ("labels", "label"),
    [([2, 2, 3], 2), ([1, 1], 1), ([1, 1, 3, 3], None), ([0, 1, 2], None), ([], None), ([4], None)],
)
def test_a_majority_is_one_label_more_frequent_than_any_other(labels, label):
    vote = majority_label(labels)
    assert (vote and vote.label) == label


def test_a_failed_attention_check_drops_the_answers():
    answers = [*ITEMS, answer("a", "x", 3, "attention", 3), answer("c", "y", 3, "attention", 4)]
    assert failed_attention(answers, Rules()) == {"c": "1 of 1 attention checks failed"}
    assert failed_attention(answers, Rules(attention_failures=1)) == {}
    result = filtered(answers, Rules())
    assert result.excluded["attention_failed"] == ["c"]
    assert result.dropped["attention_failed (answers)"] == (
        3,
        "annotator c: 1 of 1 attention checks failed",
    )
    assert result.dropped["few_answers (items)"] == (3, "item one: 2 of 3 answers")
    assert not result.labels
    assert filtered(answers, Rules(answers=2)).labels.keys() == {"one", "two"}


def test_items_left_without_answers_are_counted():
    answers = [answer(who, "one", 2) for who in "ab"]
    answers += [answer(who, "x", 0, "attention", 1) for who in "ab"]
    dropped_items = {"few_answers (items)": (1, "item one: 0 of 3 answers")}
    assert dropped_items.items() <= filtered(answers, Rules()).dropped.items()


def test_people_are_judged_by_all_their_checks_in_rounds_that_decide_labels():
    failed = answer("c", "x", 0, "attention", 1)._replace(round="pilot", page="p-2")
    stranger = failed._replace(annotator="d")
    other_item = answer("c", "other", 1)._replace(page="p-2")
    expert = answer("a", "x", 0, "attention", 1)._replace(round="expert")
    result = filtered([*ITEMS, failed, stranger, other_item, expert], Rules())
    assert result.excluded["attention_failed"] == ["c"]
    assert result.answers == sorted(ITEMS) and result.checks == [failed]


def test_answers_of_other_rounds_decide_no_label():
    experts = [a._replace(round="expert") for a in ITEMS]
    result = filtered(experts, Rules())
    assert not result.answers and not result.labels


def test_the_gold_rule_counts_misses_among_gold_items():
    # One miss by two degrees is 11 % of nine gold items.
    answers = [*ITEMS, *gold("a", 2, 2, 8), answer("a", "g8", 2, "gold", 0)]
    reason = "1 of 9 gold items 2 degrees or more from gold"
    assert far_from_gold(answers, Rules()) == {"a": reason}
    assert far_from_gold(answers, Rules(gold_degrees=3)) == {}
    # One in ten is not more than 10 %.
    assert far_from_gold([*answers, answer("a", "g9", 2, "gold", 2)], Rules()) == {}
    assert far_from_gold([*answers, answer("a", "g9", 2, "gold", 2)], Rules(gold_share=0.09))
    # One degree off is not a miss.
    assert far_from_gold(gold("a", 1, 0, 5), Rules()) == {}


@pytest.mark.parametrize(("misses", "items", "share"), [(29, 100, 0.29), (63, 90, 0.7)])
def test_exactly_the_share_of_misses_is_allowed(misses, items, share):
    labels = [4] * misses + [0] * (items - misses)
    answers = [answer("a", f"g{at}", label, "gold", 0) for at, label in enumerate(labels)]
    assert not far_from_gold(answers, Rules(gold_share=share))
    assert far_from_gold(answers[:-1], Rules(gold_share=share))


def test_annotators_who_fail_both_rules_are_counted_once():
    answers = [*ITEMS, *gold("c", 4, 0), answer("c", "x", 0, "attention", 1)]
    result = filtered(answers, Rules())
    assert result.excluded == {"attention_failed": ["c"], "far_from_gold": ["c"]}
    assert "far_from_gold (answers)" not in result.dropped


def test_answers_beyond_the_limit_per_person_are_dropped():
    answers = [answer(who, f"i{at}", 2) for who in "abc" for at in range(12)]
    assert len(beyond_limit(answers, Rules(per_person=10))) == 6
    result = filtered(answers, Rules(per_person=10, seed=1))
    assert result.dropped["beyond_limit (answers)"][0] == 6
    # People who answered the same items keep the same ones.
    assert [len(group) for group in result.items.values()] == [3] * 10
    assert beyond_limit(answers, Rules(per_person=12)) == []
    other = {a.item_id for a in beyond_limit(answers, Rules(per_person=10, seed=2))}
    assert other != {a.item_id for a in beyond_limit(answers, Rules(per_person=10, seed=1))}


ANSWERS = st.lists(
    st.builds(
        answer,
        st.sampled_from("abcd"),
        st.sampled_from(["one", "two", "three", "four"]),
        st.integers(0, 4),
        st.sampled_from(["item", "gold", "attention"]),
        st.integers(0, 4),
    ),
    max_size=40,
    unique_by=lambda a: (a.annotator, a.item_id, a.kind),
)


@given(ANSWERS)
def test_order_does_not_matter_and_every_item_is_accounted_for(answers):
    rules = Rules(per_person=2)
    result = filtered(answers, rules)
    shuffled = filtered(random.Random(0).sample(answers, len(answers)), rules)
    assert (shuffled.items, shuffled.labels) == (result.items, result.labels)
    assert (shuffled.excluded, shuffled.dropped) == (result.excluded, result.dropped)
    excluded = {who for group in result.excluded.values() for who in group}
    counted = {a.annotator for item_answers in result.items.values() for a in item_answers}
    assert not counted & excluded
    assert all(len(item_answers) >= 3 for item_answers in result.items.values())
    without_agreement = result.dropped.get("no_agreement (items)", (0, ""))[0]
    assert len(result.labels) + without_agreement == len(result.items)
