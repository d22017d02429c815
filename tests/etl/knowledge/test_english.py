from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adnominal.etl.knowledge.english import article, is_plural, plural, singular, third_person

AN = """
hour|hourly fee|honest man|honorary title|heir|herb|herbal tea|hors d'oeuvre|apple|egg|idea|onion
onerous task|only child|uncle|umbrella|ugly duck|uninformed guess|unimportant thing|unironic fan
unidentified object|unilluminated road|unable man|unused key|upper floor|urban park|usher|urge
über cool idea|élan|8th day|8-bit chip|80 kg goat|8.5|11th hour|11|18-year-old|18,000|1812 overture
$8 bill|MRI|MRI scan|FBI agent|LED|HTML page|html page|mri scan|nba game|X-ray|x|F|F. Scott novel
s-shaped curve|M&M|e-mail|MP3|NGO|NGOs|H2O|f-16|SUV|suvs|yttrium rod|Xbox|EU law|A-level|h-bomb
"honest" man|(empty) box|ODD ONE|a.m. show|eye|aunt|oath|nth time|rpm
"""
A = """
useful idea|unit|union|unionized firm|unique case|universe|unanimous vote|unicycle|unilateral act
unisex shirt|user|usual day|usurper|utopia|utensil|uterus|ubiquitous bug|ukulele|uranium|urine|uvula
UFO|U-turn|UN vote|U.S. city|US city|USB port|URL|UNESCO site|Ugandan|Ukrainian|European|eulogy
ewe|one-eyed man|one|once-loved song|ouija board|hotel|historic day|humble man|house|honey pot
dog|year|yellow sun|yew|yacht|xylophone|Xhosa word|NATO ally|NASA probe|LASER|RAM chip|SIM card
HUGE lot|LOW price|LAN|T-shirt|t-shirt|k|B|DVD|7th day|1,100|100|118|1,800,000|180|0.8|17|mr
Mrs. Dalloway|l'oreal ad|ft|'big' dog|heap|Honolulu hotel|led march
"""
NUMBERS = """
dog dogs|man men|woman women|child children|foot feet|tooth teeth|goose geese|mouse mice|ox oxen
person people|wolf wolves|knife knives|leaf leaves|shelf shelves|roof roofs|belief beliefs
hero heroes|desk desks
potato potatoes|photo photos|piano pianos|box boxes|bus buses|church churches|stomach stomachs
boss bosses|lens lenses|gas gases|quiz quizzes|city cities|boy boys
analysis analyses
virus viruses|day days
criterion criteria|bacterium bacteria|cactus cactuses|axe axes|house houses|horse horses|tie ties
shoe shoes|cookie cookies|movie movies|e-mail e-mails|mother-in-law mothers-in-law
passerby passersby
laptop laptops|smartphone smartphones|firewoman firewomen|cup of tea,cups of tea
ice cube,ice cubes
"""


def phrases(table: str) -> list[str]:
    return [phrase for line in table.split("\n") for phrase in line.split("|") if phrase]


def pairs(table: str) -> list[tuple[str, ...]]:
    return [tuple(p.split("," if "," in p else " ", 1)) for p in phrases(table)]


@pytest.mark.parametrize(("expected", "table"), [("an", AN), ("a", A)])
def test_the_article_follows_the_sound(expected, table):
    assert [p for p in phrases(table) if article(p) != expected] == []


def test_the_article_may_follow_the_first_letter_as_in_adept():
    phrases = ("useful idea", "hour", "8th", "MRI", "old", "")
    assert [article(phrase, "letter") for phrase in phrases] == ["an", "a", "a", "a", "an", "a"]
    with pytest.raises(ValueError, match="expected one of sound, letter"):
        article("dog", "ear")  # type: ignore[arg-type]


@given(st.sampled_from(phrases(AN) + phrases(A)), st.sampled_from(["idea", "8 hours", "MRI"]))
def test_the_article_depends_only_on_the_first_word(phrase, rest):
    first = phrase.split()[0]
    assert article(f"{first} {rest}") == article(first)


@given(st.text())
def test_every_text_has_an_article(text):
    assert article(text) in ("a", "an") and article(text, "letter") in ("a", "an")


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("try", "tries"), ("be red", "is red"), ("have four legs", "has four legs"),
        ("go home", "goes home"), ("do tricks", "does tricks"), ("fly", "flies"), ("buy", "buys"),
        ("fix", "fixes"), ("buzz", "buzzes"), ("quiz people", "quizzes people"),
        ("veto", "vetoes"), ("solo", "solos"), ("stomach it", "stomachs it"), ("wash", "washes"),
        ("undergo surgery", "undergoes surgery"), ("often bark", "often barks"),
        ("quickly run", "quickly runs"), ("rely on it", "relies on it"), ("fly", "flies"),
        ("eat and drink", "eats and drinks"), ("eat fish and drink", "eats fish and drink"),
        ("bark or bite", "barks or bites"), ("is red", "is red"), ("soliloquy", "soliloquies"),
        ("proof-read", "proof-reads"), ("see and hear", "sees and hears"), ("only", "onlies"),
    ],
)  # fmt: skip
def test_the_first_verb_gets_the_ending_of_the_third_person(phrase, expected):
    assert third_person(phrase) == expected


def test_plural_and_singular_are_inverse():
    assert [(s, plural(s)) for s, p in pairs(NUMBERS) if plural(s) != p] == []
    assert [(p, singular(p)) for s, p in pairs(NUMBERS) if singular(p) != s] == []
    assert [s for s, p in pairs(NUMBERS) if singular(s) != s or is_plural(s)] == []
    assert [p for s, p in pairs(NUMBERS) if not is_plural(p)] == []


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("news physics mathematics gas lens bias species series measles diabetes chess sheep data "
         "glass bus virus analysis goddess Texas tennis headdress tutu", False),
        ("people police cattle scissors trousers clothes jeans thanks dice media bacteria blogs "
         "ninjas goods Women", True),
    ],
)  # fmt: skip
def test_plurals_are_recognised_where_spelling_is_ambiguous(words, number):
    assert [w for w in words.split() if is_plural(w) is not number] == []


def test_invariable_words_and_texts_without_words():
    for word in ("sheep", "species", "series", "scissors", "clothes", "aircraft"):
        assert (singular(word), plural(word)) == (word, word)
    assert not is_plural("glass of marbles") and is_plural("glasses of milk")
    with pytest.raises(ValueError, match="without letters"):
        plural(" ")
    with pytest.raises(ValueError, match="without words"):
        third_person("")


def test_forms_and_articles_agree_with_a_treebank(shared_data):
    """Its texts contain mistakes, so a few disagreements are expected."""
    correct: Counter[str] = Counter()
    judged: Counter[str] = Counter()

    def judge(function: str, is_correct: bool) -> None:
        judged[function] += 1
        correct[function] += is_correct

    previous_form = ""
    path = shared_data / "ud_ewt" / "en_ewt-ud-dev.conllu"
    for line in path.read_text(encoding="utf-8").split("\n"):
        columns = line.split("\t")
        if len(columns) != 10 or not columns[0].isdigit():
            continue
        form, lemma, tag = columns[1], columns[2].lower(), columns[4]
        if previous_form in ("a", "an") and form[0].isalnum():
            judge("article", article(form) == previous_form)
        previous_form = form.lower()
        if not previous_form.isalpha():
            continue
        if tag in ("NN", "NNS"):
            judge("is_plural", is_plural(previous_form) is (tag == "NNS"))
            judge("singular", singular(previous_form) == lemma)
        if tag == "NNS" and lemma != previous_form:
            judge("plural", plural(lemma) == previous_form)
        if tag == "VBZ" and previous_form != "s":
            judge("third_person", third_person(lemma) == previous_form)
    shares = {function: correct[function] / judged[function] for function in judged}
    assert min(judged.values()) > 300, judged
    # The lemmas of the treebank correct misspellings and expand abbreviations (pm, yrs).
    assert min(shares.values()) > 0.96, shares
