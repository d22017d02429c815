"""Which `amod` relations count as adjective–noun pairs, and by which words.

There are two presets: `CLEAN`, the default, and `PAPER`, the rules of the published ADEPT
extraction (any dependent tag; a head tagged NN or NOUN in the fourth column, counted from one: the
Penn tag in DepCC, the universal tag in CoNLL-U, which does not mark number).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from adnominal.etl.corpora.dialects import FORM, LEMMA, UPOS, XPOS

# The Penn Treebank's tags (Marcus et al. 1993), the bracket tags of later releases, and the tags
# that the English Web Treebank added. Only these tags are read as Penn's: XPOS columns of other
# tag sets have other tags, and there the universal tag decides.
_PENN = (
    "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH "
    "VB VBD VBG VBN VBP VBZ WDT WP WP$ WRB # $ '' `` ( ) , . : "
    "-LRB- -RRB- -LSB- -RSB- -LCB- -RCB- ADD AFX GW HYPH NFP XX"
)
PENN_TAGS = frozenset(_PENN.split())
PENN_ADJECTIVES = frozenset({"JJ", "JJR", "JJS"})
_UNIVERSAL = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"
UNIVERSAL_TAGS = frozenset(_UNIVERSAL.split())

# Universal tags, and the Penn tags that they fit: those of the official conversion
# (universaldependencies.org/tagset-conversion), and those that the English treebanks have beside
# it. Names keep the parts of speech of their words ("the United/NNP States"), and foreign or broken
# words have any, so those tags have no line and fit all. Beside another universal tag, what looks
# like a Penn tag is one of another tag set: POS is "positive degree" in LinES, beside ADJ.
_FITTING = """
ADJ DET NUM PRON PROPN VERB = JJ JJR JJS
NOUN NUM PRON PROPN SYM     = NN NNS
VERB AUX                    = VB VBD VBP VBZ
VERB AUX ADJ ADP NOUN       = VBG VBN
AUX VERB                    = MD
ADV ADP DET PART SCONJ      = RB RBR RBS
ADV SCONJ                   = WRB
ADP ADV CCONJ PART SCONJ    = IN
ADP ADV PART                = RP TO
CCONJ ADV DET SCONJ         = CC
DET ADV PRON                = DT PDT
DET PRON SCONJ              = WDT WP WP$ PRP PRP$
PRON ADV                    = EX
NUM PRON SYM                = CD
NUM PUNCT                   = LS
PART PUNCT                  = POS
INTJ ADV PART               = UH
SYM ADP NUM PUNCT           = SYM
PUNCT SYM                   = HYPH NFP # $ '' `` ( ) , . : -LRB- -RRB- -LSB- -RSB- -LCB- -RCB-
"""
FITTING_TAGS: dict[str, frozenset[str]] = {}
for _line in _FITTING.strip().splitlines():
    _universal_tags, _, _penn_tags = _line.partition(" = ")
    for _tag in _penn_tags.split():
        FITTING_TAGS[_tag] = frozenset(_universal_tags.split())


def contradicts(xpos: str, upos: str) -> bool:
    """Whether what looks like a Penn tag is none, by the universal tag beside it."""
    fitting = FITTING_TAGS.get(xpos, UNIVERSAL_TAGS)
    return upos in UNIVERSAL_TAGS and upos not in fitting and upos not in ("X", xpos)


# Reasons why a well-formed amod row makes no pair.
DEPENDENT_NOT_ADJECTIVE = "dependent_not_adjective"
HEAD_NOT_NOUN = "head_not_noun"
NO_LETTER_OR_DIGIT = "no_letter_or_digit"


class Token(NamedTuple):
    """The columns of a token that the rules use."""

    form: str
    lemma: str
    upos: str
    xpos: str

    @classmethod
    def of(cls, columns: Sequence[str]) -> Token:
        """The token of a row."""
        return cls(columns[FORM], columns[LEMMA], columns[UPOS], columns[XPOS])


@dataclass(frozen=True)
class ReadingRules:
    """The rules for reading an `amod` relation.

    dependent     "adjective": its tag must be an adjective's; "any": every tag will do
    heads         "common": NN, NNS, NOUN; "singular": NN, NOUN
    proper_nouns  whether proper nouns are heads too
    adjective_by  "form" or "lemma": the column of the adjective
    noun_by       "lemma" or "form": the column of the noun
    lowercase     whether both words are lower-cased
    tag_column    "fifth": a Penn tag in the fifth column decides if it fits the universal tag
                  beside it (`contradicts`), else the tag in the fourth; "fourth": only the fourth
                  column, as in the published extraction

    A missing lemma (empty or ``_``) is replaced by the form. An adjective needs a letter or a
    digit, a noun at least one character; a form ``_`` is missing (its text is withheld).
    """

    dependent: str = "adjective"
    heads: str = "common"
    proper_nouns: bool = False
    adjective_by: str = "form"
    noun_by: str = "lemma"
    lowercase: bool = True
    tag_column: str = "fifth"

    def accepts_dependent(self, xpos: str, upos: str) -> bool:
        """Whether a token with these tags may be the adjective of a pair.

        A Penn tag decides alone, so a VBG participle is not an adjective, although ADJ fits it.
        """
        penn_tag = self.penn_tag(xpos, upos)
        is_adjective = penn_tag in PENN_ADJECTIVES if penn_tag else upos == "ADJ"
        return is_adjective or self.dependent == "any"

    def accepts_head(self, xpos: str, upos: str) -> bool:
        """Whether a token with these tags may be a pair's noun (universal tags mark no number)."""
        penn_tag = self.penn_tag(xpos, upos)
        if penn_tag:
            singular = penn_tag.removesuffix("S")
            is_wanted = singular == "NN" or (singular == "NNP" and self.proper_nouns)
            return is_wanted and (self.heads == "common" or penn_tag == singular)
        return upos == "NOUN" or (self.proper_nouns and upos == "PROPN")

    def penn_tag(self, xpos: str, upos: str) -> str:
        """The Penn tag that decides, of columns five (`xpos`) and four (`upos`); empty without."""
        tag = xpos if self.tag_column == "fifth" else upos
        return tag if tag in PENN_TAGS and not contradicts(tag, upos) else ""

    def is_contradiction(self, token: Token) -> bool:
        """Whether a token's tag looks like Penn's and contradicts the universal tag beside it."""
        return self.tag_column == "fifth" and contradicts(token.xpos, token.upos)

    def tags(self) -> tuple[frozenset[str], frozenset[str]]:
        """The known tags of the fifth column, which take precedence, and of the fourth."""
        if self.tag_column == "fifth":
            return PENN_TAGS, UNIVERSAL_TAGS
        return frozenset(), PENN_TAGS | UNIVERSAL_TAGS

    def adjective(self, token: Token) -> str | None:
        """The adjective of a pair for this dependent.

        None if its tag is not an adjective's; empty if it has neither letter nor digit.
        """
        if not self.accepts_dependent(token.xpos, token.upos):
            return None
        return self.adjective_word(self._word(token, self.adjective_by))

    def adjective_word(self, word: str) -> str:
        """A word as an adjective: lower-cased if `lowercase`, empty without letter or digit."""
        word = word.lower() if self.lowercase else word
        return word if any(map(str.isalnum, word)) else ""

    def noun(self, token: Token) -> str | None:
        """The noun of a pair for this head; None if its tag is not a noun's."""
        if not self.accepts_head(token.xpos, token.upos):
            return None
        word = self._word(token, self.noun_by)
        return word.lower() if self.lowercase else word

    def _word(self, token: Token, by: str) -> str:
        if by == "lemma" and token.lemma not in ("", "_"):
            return token.lemma
        return "" if token.form == "_" else token.form

    def read(self, dependent: Token, head: Token) -> tuple[str, str] | str:
        """The pair (adjective, noun) of an `amod` relation, or the reason why it makes none."""
        adjective = self.adjective(dependent)
        if adjective is None:
            return DEPENDENT_NOT_ADJECTIVE
        noun = self.noun(head)
        if noun is None:
            return HEAD_NOT_NOUN
        if not adjective or not noun:
            return NO_LETTER_OR_DIGIT
        return adjective, noun


CLEAN = ReadingRules()
PAPER = replace(CLEAN, dependent="any", heads="singular", tag_column="fourth")
