"""Characters, marks and line ends that are no part of a word."""

import unicodedata

import pytest

from adnominal.etl.corpora.documents import Document, LeftOut
from adnominal.etl.corpora.normalisation import normal_form, without_marks
from adnominal.etl.corpora.text import text_events


def test_the_normal_form_composes_accents_and_changes_nothing_else():
    assert normal_form("cafe\u0301 m² ﬁ ½") == "café m² ﬁ ½"


@pytest.mark.parametrize(
    "character",
    ["\u00ad", "\u200b", "\u200c", "\u200d", "\u200e", "\u200f", "\u202a", "\u202e", "\u2060",
     "\u2066", "\u2069", "\ufeff", "\u061c", "\u2062", "\u180e", "\u034f", "\ufe0f",
     "\ufffe"],
)  # fmt: skip
def test_invisible_characters_are_left_out(character):
    text = (
        f"A beau{character}tiful{character} café{character},\n{character}and a gar{character}den."
    )
    assert normal_form(text) == "A beautiful café,\nand a garden."


def test_control_characters_of_windows_are_dashes_and_quotes():
    text = "the man\x92s \x93café\x94, a garden\x97and more"
    assert normal_form(text) == "the man’s “café”, a garden—and more"


@pytest.mark.parametrize(
    "text", ["naïve – “old” …", "m² ½ ﬁ", "日本 \u3000x", "a\u0301b\n".strip()]
)
def test_visible_characters_stay(text):
    assert normal_form(text) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("a beautiful garden.[1] He told", "a beautiful garden. He told"),
        ("a story,[2][13] and a man[4–6] left[7, 8].", "a story, and a man left."),
        ("an old house[^3] and a hill[note 4] there[citation needed].",
         "an old house and a hill there."),
        ("a garden.[a] He", "a garden. He"),
        ("an old&nbsp;key &amp; a lock&#8217;s, AT&T; &x;", "an old key & a lock’s, AT&T; &x;"),
        ("a garden.[better source needed] He[failed verification]", "a garden. He"),
        ("a garden† and house‡, sea.†‡", "a garden and house, sea."),
        ('a <b>big</b> <a href="x.org/old">garden</a><br/>by <http://x.org>', "a big garden by "),
        ('a "garden."[B] He', 'a "garden." He'),
        ("a garden.[12]:45 He saw people[1]:27–29, and", "a garden. He saw people, and"),
        ("a garden.¹ He saw people²,³ and studies¹²", "a garden. He saw people and studies"),
        ("See [the great wall](http://x.org/old_page) now", "See the great wall now"),
        ('See [the great wall](<http://x.org/a b> "nice title") now', "See the great wall now"),
        ("![red apple](a.png) and [home](#top) and [x](https://x.org/a_(b))",
         "red apple and home and x"),
        ("Is [![build of old](b.svg)](http://x.org) here", "Is build of old here"),
        ("A _big_ dog, a `small cat`, **old** and ***new*** ~~price~~ __here__ *now*.",
         "A big dog, a small cat, old and new price here now."),
    ],
)  # fmt: skip
def test_marks_of_references_links_and_emphasis_are_left_out(text, clean):
    assert without_marks(text) == clean


@pytest.mark.parametrize(
    "text",
    [
        "the house[s] of 2 * 3 m² and 5 km² in snake_case and x_1_2",
        "He [the king] said (see [1]) that a[0] = b[i][j] and [sic](which) is it",
        "2*3*4 and *open and **open and a_b_c and ~5 and __init__.py",
        "x[1]y and [10] alone",
        "Kim (†1945) and † Lee; a <b and c> d </x> and 1<i",
        'He said "[A] trial is old" ("[A] man") and “[I] am”',
    ],
)
def test_other_brackets_and_signs_stay(text):
    assert without_marks(text) == text


def test_a_text_of_invisible_characters_is_empty():
    assert list(text_events("d", "\u00ad\n\u200b", "")) == [LeftOut("empty", "d")]


def document(text):
    (event,) = text_events("d", text, "")
    assert isinstance(event, Document)
    return event.text


@pytest.mark.parametrize(
    ("text", "paragraph"),
    [
        ("The eco-\nnomic policy of a very well-\nknown man.",
         "The economic policy of a very well-known man."),
        ("A Govern-\nment of long-\nterm plans", "A Government of long-term plans"),
        ("An im\u00ad\nportant minis\u2010\nter", "An important minister"),
        ("He assem-\nbled “signifi-\ncant” men with-\nout re-\nforms.",
         "He assembled “significant” men without reforms."),
        ("A state-of-the-\nart half-govern-\nment man", "A state-of-the-art half-government man"),
        ("The Euro-\npean and Ger-\nman men of the Vice-\npresident in T-\nshirts",
         "The European and German men of the Vice-president in T-shirts"),
        ("The eco-\nnom-\nic plan of the non-\nEnglish govern¬\nment",
         "The economic plan of the non-English government"),
        ("The old govern-\n- 12 -\nment of 1990-\n1995", "The old government of 1990- 1995"),
        ("The mill -\nand the house", "The mill -\nand the house"),
        ("The pre-\nand post-war men", "The pre-\nand post-war men"),
        ("The years 1990-\nand the House-\nAt night", "The years 1990-\nand the House-\nAt night"),
    ],
)  # fmt: skip
def test_words_that_a_line_end_cuts_are_joined(text, paragraph):
    assert document(text) == paragraph
