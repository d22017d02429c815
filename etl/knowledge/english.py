"""English word forms: a or an, verbs of the third person, singular and plural nouns.

Articles and verbs follow rules: except for the words listed here, the letters of an English word
determine its first sound, and the spelling of a verb determines its third person. The plurals of
nouns are looked up in lemminflect's dictionary. For words that the dictionary does not have,
spelling rules replace its guesses, which remove *-s* from every word. docs/knowledge.md describes
how the rules were evaluated.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Literal

ArticleRule = Literal["sound", "letter"]
ARTICLE_RULES: tuple[ArticleRule, ...] = ("sound", "letter")


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


# ------------------------------------------------------------------------------------- articles

_TOKEN = re.compile(r"[^\W_](?:[^\W_]|[&.'’](?=[^\W_])|,(?=\d{3}))*")
_NUMBER = re.compile(r"\d[\d,]*")
# Names of letters that begin with a vowel: an F, an X; but a U.
_SPELT_WITH_VOWEL = frozenset("aefhilmnorsx")

# Written with a vowel, spoken with the consonant of "you" or "one".
_CONSONANT_SOUND = re.compile(
    r"""
    eu(?!$) | ewe | ewing | ewart
    | one (?: $ | s$ | self | ness | time | [^a-z] ) | once | oui | ouag
    | u (?: $
        | (?= [bcdfghjklmnpqrstvwxz] [aeiouy] )     # use, utopian; exceptions below
          (?! n | p | ber | bun | don | dod | mami | xor | zis?$ )
        | kr | gr[io] | k$ | s$ | sb | sda | ss | v$ | i$ | rls?$
        | na (?: bomb | nim | r[yi] ) | nesco | ni
        )
    """,
    re.VERBOSE,
)
# "uni" that is the prefix un- before a vowel: unimportant, unidentified.
_UN_I = re.compile(
    r"uni (?: n(?! om | uc ) | m(?! od | ol ) | d(?! i[rm] ) | ll | ro | ss | tem )",
    re.VERBOSE,
)
_SILENT_H = re.compile(
    r"hour(?!i) | honest | hono(?!l) | heir | hors$ | herb (?: $ | s$ | al | ed$ | y$ )", re.X
)
# y and x before a consonant are spoken as a vowel: ytterbium, Xbox.
_VOCALIC = re.compile(r"y[bcdfghjklmnpqrstvwxz] | x(?![aeiouyh])", re.X)

# Abbreviations read as words although the name of their first letter begins with a vowel.
_READ_AS_WORDS = word_set(
    """
    fafsa fema fica fico fifa flac foss fubar hazmat hepa hipaa hud lan lasek laser lasik libor
    lidar mash mensa midi mimo mooc mosfet nafta nand nasa nascar nasdaq nato nerf nimby nist noaa
    radar raid ram rem rico rom sars scuba seal seato sim sids simd smart soho sonar spam stem swat
    swift swot
    """
)
# Abbreviations that are spelt out although they could be read as words.
_SPELT_OUT = word_set(
    """
    faq fbi fcc fda fpga fha hiv hoa hvac mba mfa mia mri mvp nba nbc ncaa nea ngo nhl nih nra nsa
    rca rfid rna roi rotc sba seo sla slr sms sos spca suv usa
    """
)
# In capitals only: an LED, but a led march.
_SPELT_OUT_IN_CAPITALS = frozenset({"led", "mot", "rip", "sat"})
# Abbreviations without a vowel letter that are read as the full words.
_SHORT_FORMS = word_set("ft hmm hz lb lbs lt ltd mhz ml mm mr mrs ms msgr mt nd rd sgt shh sq st")


def article(phrase: str, rule: ArticleRule = "sound") -> str:
    """The article before a phrase: ``a`` or ``an``.

    Args:
        phrase: the words after the article: *useful idea*, *8th day*, *MRI*. Quotation marks and
            currency signs before the first letter or digit are ignored; a phrase without letter or
            digit takes ``a``.
        rule: ``sound`` uses the pronunciation in American English (*an herb*): *a useful idea*, *an
            hour*, *an 8th day*, *an MRI*. ``letter`` uses only the first letter, as ADEPT did (*an
            useful idea*, *a hour*; facts of the release, Emami et al. 2021).

    Raises:
        ValueError: another rule.
    """
    if rule == "letter":
        first = next((c for c in phrase if c.isalnum()), "")
        return "an" if _without_accents(first) in tuple("aeiou") else "a"
    if rule != "sound":
        raise ValueError(f"rule {rule!r}: expected one of {', '.join(ARTICLE_RULES)}")
    token = _TOKEN.search(phrase)
    return "an" if token and _begins_with_vowel(token[0]) else "a"


def _without_accents(text: str) -> str:
    """Lower-cased and without accents."""
    decomposed = unicodedata.normalize("NFKD", text.lower())
    return "".join(c for c in decomposed if not unicodedata.combining(c)).replace("’", "'")


@lru_cache(maxsize=1 << 16)
def _begins_with_vowel(token: str) -> bool:
    """Whether a token, cut at its first hyphen or space, is pronounced with a vowel first."""
    word = _without_accents(token)
    if word[0].isdigit():
        return _number_begins_with_vowel(word)
    if _is_spelt_out(token, word):
        return word[0] in _SPELT_WITH_VOWEL
    if word[0] == "h":
        return _SILENT_H.match(word) is not None
    if word[0] in "xy":
        return _VOCALIC.match(word) is not None
    if word[0] not in "aeiou":
        return False
    return _UN_I.match(word) is not None or _CONSONANT_SOUND.match(word) is None


def _number_begins_with_vowel(word: str) -> bool:
    """True for eight, eighty and so on; for eleven and eighteen, also in thousands and years."""
    number = _NUMBER.match(word)
    digits = number[0] if number else word
    if digits[0] == "8":
        return True
    # 11,000 and 11000 are eleven thousand, 1812 is eighteen hundred; 1,100 is one thousand.
    leading = digits.split(",")[0]
    return leading[:2] in ("11", "18") and len(leading) in (2, 4, 5, 8)


def _is_spelt_out(token: str, word: str) -> bool:
    """Whether a token is read letter by letter: X, MRI, html, H2O, U.S."""
    if re.fullmatch(r"[a-z](?:'s)?|[a-z]\d.*|[a-z][.&][a-z].*", word):
        return True
    if re.match(r"[a-z]'", word):
        return False  # l'oreal
    letters = re.sub(r"'?s$", "", word) if len(word) > 3 else word
    if letters in _SPELT_OUT:
        return True
    if re.fullmatch(r"[A-Z]{2,5}\d*(?:['’]?s)?", token):
        return letters not in _READ_AS_WORDS and (
            letters in _SPELT_OUT_IN_CAPITALS or len(letters) < 3 or not _is_in_dictionary(letters)
        )
    return letters not in _SHORT_FORMS and not re.search(r"[aeiouy]", letters)


# ---------------------------------------------------------------------------------------- verbs

_IRREGULAR_THIRD_PERSON = {
    "be": "is",
    "have": "has",
    "disco": "discos",
    "memo": "memos",
    "quiz": "quizzes",
    "rendezvous": "rendezvouses",
    "solo": "solos",
    "stomach": "stomachs",
    "tango": "tangos",
    "whiz": "whizzes",
    # Forms of the third person stay unchanged.
    "is": "is",
    "has": "has",
    "does": "does",
}
_ADVERBS = word_set(
    """
    actually almost also always even ever finally first frequently just mostly never normally not
    occasionally often once only rarely really seldom simply sometimes soon still then typically
    usually
    """
)
_VERBS_IN_LY = word_set(
    "ally apply belly bully comply dally fly imply multiply ply rally rely reply sally supply "
    "sully tally underlie"
)


def third_person(phrase: str) -> str:
    """The third person singular of a verb phrase: *try* gives *tries*, *be red* gives *is red*.

    The verb is the first word after adverbs (*often bark* gives *often barks*); a second verb that
    is joined to it directly is changed too (*eat and drink* gives *eats and drinks*). A hyphen or
    particle stays in its place.

    Raises:
        ValueError: an empty phrase.
    """
    words = phrase.split()
    if not words:
        raise ValueError("a verb phrase without words")
    verb = 0
    while verb < len(words) - 1 and _is_adverb(words[verb]):
        verb += 1
    words[verb] = _third_person_of_verb(words[verb])
    if words[verb + 1 : verb + 2] in (["and"], ["or"]) and len(words) > verb + 2:
        second_verb = words[verb + 2]
        if lemmas(second_verb.lower(), "VERB")[:1] == (second_verb.lower(),):
            words[verb + 2] = _third_person_of_verb(second_verb)
    return " ".join(words)


def _is_adverb(word: str) -> bool:
    word = word.lower()
    return word in _ADVERBS or (word.endswith("ly") and word not in _VERBS_IN_LY)


def _third_person_of_verb(verb: str) -> str:
    lower = verb.lower()
    if lower in _IRREGULAR_THIRD_PERSON:
        return _IRREGULAR_THIRD_PERSON[lower]
    if re.search(r"[^aeiou]o$", lower):
        return verb + "es"
    return _with_s(verb)


def _with_s(word: str) -> str:
    """A word with a regular ending *-s*, *-es* or *-ies*."""
    if re.search(r"(?:s|x|z|ch|sh)$", word, re.IGNORECASE):
        return word + "es"
    if re.search(r"(?:[^aeiou]|qu)y$", word, re.IGNORECASE):
        return word[:-1] + "ies"
    return word + "s"


# ---------------------------------------------------------------------------------------- nouns

# Plurals that the dictionary does not have or lists second.
_PLURALS = {
    "man": "men",
    "ox": "oxen",
    "person": "people",
    "police officer": "police officers",
    "child": "children",
    "brother": "brothers",
    "antenna": "antennas",
    "axe": "axes",
    "die": "dice",
    "datum": "data",
    "medium": "media",
    "bacterium": "bacteria",
    "cookie": "cookies",
    "leaf": "leaves",
    "genius": "geniuses",
    "virus": "viruses",
    "octopus": "octopuses",
    "index": "indexes",
}
# Singulars that the dictionary lists second or does not have.
_SINGULARS = {
    "people": "person",
    "oxen": "ox",
    "dice": "die",
    "leaves": "leaf",
    "axes": "axe",
    "bases": "base",
    "bacteria": "bacterium",
    "media": "medium",
    "paparazzi": "paparazzo",
    "selfies": "selfie",
}
# Plurals without -s whose singular is another word or does not exist.
_ALWAYS_PLURAL = word_set(
    "bacteria cattle clergy dice folk gentry kinfolk media paparazzi people police townsfolk vermin"
)
# The same in both numbers.
_INVARIABLE = word_set(
    "aircraft barracks bison cod corps crossroads deer elk fish headquarters hovercraft means "
    "moose offspring salmon series sheep shrimp spacecraft species swine trout watercraft"
)
# Singulars in -s beyond those in -ss, -us, -is and -ics.
_SINGULAR_IN_S = word_set(
    """
    alias aries asbestos atlas bathos bias billiards biceps bolas caries canvas chaos checkers
    chess christmas contretemps corps cosmos cyclops diabetes draughts ethos fracas gas herpes
    innings kudos lens madras measles mews miniseries mini-series molasses mumps news pampas
    pancreas pathos pyrites quadriceps rabies rhinoceros rickets sassafras scabies schnapps series
    shingles species summons teargas tear-gas tennis texas thermos triceps velours waterworks
    whereabouts yaws yes
    """
)
_INFLECTED_PEOPLE = re.compile(r"(?:[^aio]men|women|people|folk|children|oxen)$")
_REGULAR_S = re.compile(r"(?<![sui])(?<!ic)s$")
# mother-in-law, man-of-war: the first part is inflected.
_HEAD_FIRST = re.compile(r"(\w+)(-(?:in|of|at)-.+|-to-be)")


def is_plural(noun: str) -> bool:
    """Whether a noun takes a verb in the plural: *dogs*, *people*, *scissors*; not *news*, *gas*.

    The head of several words decides: the last word, or the last before *of* or *in* (*glasses of
    milk*). Words with the same form in both numbers (*sheep*, *series*) count as singular.
    """
    word = _head(noun.lower().split())[1]
    if compound := _HEAD_FIRST.fullmatch(word):
        word = compound[1]
    if word in _ALWAYS_PLURAL:
        return True
    if word in _SINGULAR_IN_S:
        return False
    bases = lemmas(word, "NOUN")
    if bases and word not in bases:
        return True
    if not word.endswith("s"):
        return not bases and _INFLECTED_PEOPLE.search(word) is not None
    # The remaining words are not in the dictionary or are plural in their base form (scissors,
    # clothes).
    return _REGULAR_S.search(word) is not None


def singular(noun: str) -> str:
    """The singular, lower-cased, of a noun in either number; plurals without one stay (*scissors*).

    The head of several words is changed, as in `is_plural`.
    """
    words = noun.lower().split()
    position, word = _head(words)
    if is_plural(word):
        words[position] = _singular(word)
    return " ".join(words)


def _singular(word: str) -> str:
    """The singular of a lower-cased noun, by list, by dictionary, by its last part, by ending."""
    if word in _SINGULARS:
        return _SINGULARS[word]
    if compound := _HEAD_FIRST.fullmatch(word):
        return _singular(compound[1]) + compound[2]
    bases = lemmas(word, "NOUN")
    if bases:
        return next((base for base in bases if base != word), word)
    front, hyphen, last = word.rpartition("-")
    if hyphen and last and is_plural(last):
        return front + hyphen + _singular(last)
    if word.endswith("men"):
        return word[:-2] + "an"
    if word.endswith("people"):
        return word[:-6] + "person"
    if word.endswith("children"):
        return word[:-3]
    if re.search(r"[^aeiou]ies$", word) and len(word) > 4:
        return word[:-3] + "y"
    return re.sub(r"(?:(?<=ss|ch|sh)e|(?<=x)e|(?<=zz)e)?s$", "", word)


def plural(noun: str) -> str:
    """The plural, lower-cased, of a singular noun; invariable nouns stay unchanged (*sheep*).

    The head of several words is changed, as in `is_plural`, also in *mothers-in-law*.
    """
    words = noun.lower().split()
    position, word = _head(words)
    words[position] = _plural(word)
    return " ".join(words)


def _plural(word: str) -> str:
    """The plural of a lower-cased noun, by list, by dictionary, by its last part, by ending."""
    if word in _PLURALS:
        return _PLURALS[word]
    if compound := _HEAD_FIRST.fullmatch(word):
        return _plural(compound[1]) + compound[2]
    if word in _INVARIABLE or is_plural(word):
        return word
    # The dictionary lists mass nouns as invariable; a plural of them (e-mails) is regular.
    for known in _plural_forms(word)[:1]:
        if known != word:
            return known
    front, hyphen, last = word.rpartition("-")
    if hyphen and last:
        return front + hyphen + _plural(last)
    if word.endswith(("woman", "fireman", "sman")):
        return word[:-2] + "en"
    return _with_s(word)


def _head(words: list[str]) -> tuple[int, str]:
    """Position and text of the head of a noun phrase without article."""
    if not words:
        raise ValueError("a noun without letters")
    stops = [
        position
        for position, word in enumerate(words)
        if position and word in ("of", "in", "for", "with")
    ]
    position = (stops[0] if stops else len(words)) - 1
    return position, words[position]


@lru_cache(maxsize=1 << 16)
def lemmas(word: str, pos: str) -> tuple[str, ...]:
    """The dictionary's lemmas of a lower-cased word, best first; none for an unknown word.

    `pos` is VERB, NOUN or ADJ.
    """
    from adnominal.etl.knowledge.inflection import getAllLemmas

    return tuple(getAllLemmas(word, pos).get(pos, ()))


def _is_in_dictionary(word: str) -> bool:
    """Whether the dictionary has a lower-cased word."""
    from adnominal.etl.knowledge.inflection import getAllLemmas

    return bool(getAllLemmas(word))


@lru_cache(maxsize=1 << 16)
def _plural_forms(noun: str) -> tuple[str, ...]:
    """The dictionary's plurals of a lower-cased noun, best first."""
    from adnominal.etl.knowledge.inflection import getAllInflections

    return tuple(getAllInflections(noun, "NOUN").get("NNS", ()))
