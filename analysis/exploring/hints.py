"""What may have been meant where a search finds nothing.

Three kinds: the word has the other role (*strong* is an adjective), is an inflected form (*wars*),
or two words were typed, which are a pair (*old war*).
"""

from collections.abc import Mapping
from typing import Any

from adnominal.analysis.exploring.words import ROLES, Words
from adnominal.etl.knowledge.english import lemmas

_ARTICLE = {"noun": "a noun", "adjective": "an adjective"}
_POS = {"noun": "NOUN", "adjective": "ADJ"}


def find_hints(words: Mapping[str, Words], role: str, word: str) -> list[dict[str, Any]]:
    """Links for a word that no pair has in this role; `words` are those of each role.

    A hint has a text, and the address it opens as a view: role and word, or adjective and noun.
    """
    typed = word.lower()
    parts = typed.split()
    if len(parts) > 1:
        return _pair_hints(words, parts)
    hints = []
    other_role = ROLES[1 - ROLES.index(role)]
    if is_known(words, other_role, typed):
        text = f"{typed} is {_ARTICLE[other_role]}: show its {role}s"
        hints.append({"text": text, "role": other_role, "word": typed})
    for one_role in (role, other_role):
        for lemma in lemmas(typed, _POS[one_role]):
            if lemma != typed and is_known(words, one_role, lemma):
                text = f"{typed} is a form of {lemma}"
                hints.append({"text": text, "role": one_role, "word": lemma})
    return hints


def _pair_hints(words: Mapping[str, Words], parts: list[str]) -> list[dict[str, Any]]:
    """A link to the pair of an adjective and a noun that were typed as one word."""
    adjective, noun = parts[-2:]
    if not is_known(words, "adjective", adjective):
        return []
    nouns = [one for one in (noun, *lemmas(noun, "NOUN")) if is_known(words, "noun", one)]
    return [
        {
            "text": f"{adjective} {one} is an adjective and a noun: show the pair",
            "adjective": adjective,
            "noun": one,
        }
        for one in dict.fromkeys(nouns)
    ]


def is_known(words: Mapping[str, Words], role: str, word: str) -> bool:
    """Whether a corpus has the word in this role."""
    return any(words[role].count(corpus, word) for corpus in words[role].corpora)
