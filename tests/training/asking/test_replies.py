import pytest

from adnominal.etl.prompts.files import Template, Verbaliser
from adnominal.etl.prompts.replies import STATES
from adnominal.training.asking.outcomes import Outcome
from adnominal.training.asking.replies import read_reply

DEGREES = Verbaliser(
    "degree",
    ("less", "equal", "more"),
    (("less likely",), ("equally likely",), ("more", "likelier")),
)
ASKED = Template("t", "", (DEGREES,), "Answer: {answer}", r"Answer:\W*({answers})\b")
FREE = Template("t", "", (), "Meaning: {answer}", r"Meaning:(.*)")


def state(text, finish="stop", template=ASKED, stop=(), error=None, mark="</think>"):
    verbaliser = template.verbalisers[0] if template.verbalisers else None
    reply = Outcome(text, finish, error=error)
    read = read_reply(reply, template, verbaliser, mark, stop)
    assert read.state in STATES
    assert (read.answer is not None) == (read.state == "parsed")
    assert read.text == text
    return read.state, read.answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Answer: less likely", "less"),
        ("answer: **Less  Likely**.", "less"),
        ("It seems so.\nAnswer: likelier", "more"),
        ("Answer: more. I repeat: Answer: more", "more"),
        ("Perhaps. Answer: less likely</think>Answer: equally likely", "equal"),
        ("Answer: more, or Answer: likelier", "more"),
    ],
)
def test_the_pattern_finds_the_label(text, answer):
    assert state(text) == ("parsed", answer)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "less likely",
        "Answer: less",
        "Answer: morel",
        "Answer: more or Answer: less likely",
        "Answer: more</think>",
    ],
)
def test_nothing_is_guessed(text):
    assert state(text) == ("unparsable", None)


def test_a_reply_that_was_cut_off_has_no_answer():
    assert state("Answer: more", "length") == ("cut off", None)
    # A server with a reasoning parser gives null content where the reasoning used up the tokens.
    assert state(None, "length") == ("cut off", None)


def test_refusals_and_failures_are_told_apart():
    assert state("I cannot answer: more", "refused") == ("refused", None)
    assert state(None, "refused") == ("refused", None)
    assert state(None, None, error="no answer within 3 s") == ("failed", None)


def test_stop_texts_count_only_after_the_reasoning():
    text = "First.\n\nAnswer: less likely\n\n</think>\n\nAnswer: more\n\nAnswer: less likely"
    assert state(text, "length", stop=["\n\n"]) == ("parsed", "more")
    assert state(text, "length", stop=["###"]) == ("cut off", None)
    assert state("a\n\nAnswer: more", stop=["\n\n"], mark="") == ("unparsable", None)


def test_a_free_answer_is_what_the_group_finds():
    assert state("Meaning: all x. (f(x)) ", template=FREE) == ("parsed", "all x. (f(x))")
    assert state("Meaning: a\nMeaning: b", template=FREE) == ("unparsable", None)
