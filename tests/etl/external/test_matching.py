"""Answers beside the items of an edition: what becomes a row, and what is counted instead."""

import pytest

from adnominal.conf import UserError
from adnominal.etl.external import files, matching
from adnominal.etl.external.files import Answer
from adnominal.etl.external.matching import Item, Words, match, words_of
from adnominal.etl.prompts.replies import PARSED, STATES, UNPARSABLE
from adnominal.etl.registry import DATASETS

ITEMS = {
    "one": Item(["entailed"], 3),
    "two": Item(["not entailed"], 3),
    "repeated": Item(["entailed", "not entailed"], 3),
    "discarded": Item([], 3),
    "elsewhere": Item(["entailed"], 3, is_asked=False),
}
WORDS = Words(["not entailed", "entailed"], {"no": "not entailed", "yes": "entailed"})


def text(item, words, **more):
    return Answer("file=a.csv: line 2", item, text=words, **more)


def test_words_and_labels_become_labels_and_other_texts_stay_texts():
    answers = [text("one", "Yes."), text("two", "not entailed"), text("repeated", "perhaps")]
    matched = match(answers, ITEMS, WORDS)
    columns = ("item_id", "predicted", "text", "state")
    rows = zip(*(matched.columns[name] for name in columns), strict=True)
    assert list(rows) == [
        ("one", "entailed", "Yes.", "parsed"),
        ("two", "not entailed", "not entailed", "parsed"),
        ("repeated", None, "perhaps", "unparsable"),
        ("repeated", None, "perhaps", "unparsable"),
    ]
    assert matched.columns["gold"] == ["entailed", "not entailed", "entailed", "not entailed"]
    assert matched.dropped == {}


def test_the_patterns_of_the_prompts_find_words_of_one_label_in_a_longer_text():
    words = words_of(DATASETS["asp"], None)
    assert words.label_in("It is 120 cm long.\nAnswer: **Yes**") == "entailment"
    assert words.label_in("Answer: yes. No, wait. Answer: no") is None
    assert words.label_in("Yes, because it is long.") is None


def test_reasoning_is_not_read():
    matched = match([text("one", "Yes or no? no.</think>\n\nYes.")], ITEMS, WORDS)
    assert matched.columns["predicted"] == ["entailed"]


def test_texts_that_were_cut_off_or_refused_are_not_read():
    matched = match([text("one", "yes", state="cut off")], ITEMS, WORDS)
    assert matched.columns["predicted"] == [None]
    assert matched.columns["state"] == ["cut off"]


def test_a_label_that_was_given_has_no_text_and_no_state():
    matched = match([text("one", "yes", is_label=True)], ITEMS, WORDS)
    assert matched.columns["predicted"] == ["entailed"]
    assert matched.columns["text"] == matched.columns["state"] == [None]


def test_states_are_those_of_our_own_answers():
    assert {PARSED, UNPARSABLE, *files._STATES.values()} <= set(STATES)


def test_what_has_no_row_is_counted_by_reason():
    answers = [
        text("one", "yes"),
        text("one", "no"),
        text("three", "yes"),
        text("four", "yes"),
        text("discarded", "yes"),
        text("elsewhere", "yes"),
        text("two", "", failure="empty"),
    ]
    matched = match(answers, ITEMS, WORDS)
    assert matched.columns["predicted"] == ["entailed"]
    assert {reason: count for reason, (count, _) in matched.dropped.items()} == {
        matching.DOUBLED: 1,
        matching.UNKNOWN: 2,
        matching.WITHOUT_GOLD: 1,
        matching.NOT_ASKED: 1,
        "no answer: empty": 1,
        matching.MISSING: 2,
    }
    assert matched.dropped[matching.UNKNOWN] == (2, "file=a.csv: line 2 three")
    assert matched.dropped[matching.MISSING] == (2, "two")


def test_a_file_may_repeat_an_item_as_often_as_the_edition_does():
    matched = match([text("repeated", "yes")] * 3, ITEMS, WORDS)
    assert matched.size == 2
    assert matched.dropped[matching.DOUBLED][0] == 1


def test_an_item_has_one_answer_for_each_prompt():
    answers = [text("one", "yes", prompt="first"), text("one", "no", prompt="second")]
    matched = match(answers, ITEMS, WORDS)
    assert matched.columns["predicted"] == ["entailed", "not entailed"]
    assert matching.DOUBLED not in matched.dropped


def choices(**scores):
    return Answer("s: line 1", "one", choices=list(scores), scores=list(scores.values()))


def test_choices_are_scored_in_the_order_of_the_labels():
    matched = match([choices(yes=-1.0, no=-2.0)], ITEMS, WORDS)
    assert matched.columns["scores"] == [[-2.0, -1.0]]
    assert matched.columns["predicted"] == ["entailed"]


def test_of_several_choices_for_a_label_the_most_probable_counts():
    answer = Answer(
        "s: line 1", "one", choices=[" yes", " no", " no way."], scores=[-3.0, -9.0, -1.0]
    )
    matched = match([answer], ITEMS, WORDS)
    assert matched.columns["scores"] == [[-1.0, -3.0]]
    assert matched.columns["predicted"] == ["not entailed"]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (choices(yes=-1.0, maybe=-2.0), "s: line 1: the choice 'maybe' stands for no label"),
        (choices(yes=-1.0), "s: line 1: choices for entailed alone"),
        (
            text("one", "entales", is_label=True),
            "file=a.csv: line 2: the answer 'entales' is no label; expected one of not entailed",
        ),
    ],
)
def test_a_label_that_the_dataset_lacks_is_refused_with_its_place(answer, message):
    with pytest.raises(UserError, match=message):
        match([answer], ITEMS, WORDS)


def test_the_words_of_the_prompts_stand_for_labels():
    words = words_of(DATASETS["plane"], None)
    assert words.label("entailed") == "entailed"
    assert words.label_of_choice(" poor example of a weapon.") == "not entailed"
    assert words_of(DATASETS["asp"], None).label("yes") == "entailment"
    assert words_of(DATASETS["adept"], None).label("Equally likely.") == "equally likely"


def test_the_users_words_are_added():
    words = words_of(DATASETS["asp"], "holds:entailment, fails:not_entailment")
    assert [words.label(word) for word in ("holds", "fails", "no")] == [
        "entailment",
        "not_entailment",
        "not_entailment",
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("holds", "got 'holds'; expected WORD:LABEL"),
        ("holds:true", "labels=holds:true: expected a word and one of entailment"),
    ],
)
def test_words_for_no_label_are_refused(given, message):
    with pytest.raises(UserError, match=message):
        words_of(DATASETS["asp"], given)
