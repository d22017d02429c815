"""Select words: the lexicons, and the reasons to drop a noun or an adjective.

Reasons are texts for the table ``dropped``. Both rule sets require valid English words (section
4.1, step 1: WordNet has them) that are not offensive. ``clean`` also drops words that do not fit
their position in a variant: adjectives that act as determiners (*a such dog*), superlatives (*a
biggest dog*), adjectives that only follow their noun (*an asleep dog*), pronouns as nouns.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache

from omegaconf import OmegaConf

from adnominal.conf import ROOT
from adnominal.etl.knowledge.english import lemmas, word_set
from adnominal.etl.knowledge.inflection import getInflection

RULES = ("clean", "paper")
LISTS = ROOT / "conf" / "adept" / "words.yaml"
_WORD = re.compile(r"[a-z0-9][a-z0-9'-]*")
# Words allowed between the parts of a compound adjective: black-and-white, out-of-date.
_SMALL = word_set("a an and as by for in not of off on or out the to up with")


@cache
def lists() -> Mapping[str, frozenset[str]]:
    """Return the lists of ``conf/adept/words.yaml`` by name; read once per process."""
    loaded = OmegaConf.to_container(OmegaConf.load(LISTS))
    assert isinstance(loaded, dict)
    return {str(name): word_set(str(text)) for name, text in loaded.items()}


@dataclass(frozen=True)
class Words:
    """The lexicons that decide, as they are sent to the workers.

    pos         lemmas of WordNet, multi-word ones with spaces, with the letters of their parts of
                speech: n, v, a (adjectives, satellites included), r
    offensive   words that no item may contain
    identity    adjectives of identity to be dropped; empty if they are kept
    """

    pos: Mapping[str, str]
    offensive: frozenset[str] = field(default_factory=frozenset)
    identity: frozenset[str] = field(default_factory=frozenset)

    def has(self, word: str, part: str) -> bool:
        """Whether WordNet has the lemma with this part of speech."""
        return part in self.pos.get(word, "")

    def is_offensive(self, word: str) -> bool:
        """Whether the word, or a part of it between hyphens, is on the list."""
        return word in self.offensive or any(part in self.offensive for part in word.split("-"))


@lru_cache(maxsize=1 << 16)
def forms(lemma: str, tag: str) -> tuple[str, ...]:
    """Return the dictionary's forms of a lemma with a Penn tag; none for unknown words."""
    return tuple(getInflection(lemma, tag, inflect_oov=False))


def noun_fault(noun: str, words: Words, rules: str = "clean") -> str | None:
    """Return why a noun is dropped; None if it is not."""
    if not _WORD.fullmatch(noun) or len(noun) < 2 or not words.has(noun, "n"):
        return "noun is no word"
    if words.is_offensive(noun):
        return "noun is offensive"
    if rules == "clean" and noun in lists()["pronouns"]:
        return "noun is a pronoun or a measure"
    if rules == "clean" and noun in lists()["names"] | lists()["capitals"]:
        return "noun is a name"
    return None


def adjective_fault(adjective: str, words: Words, rules: str = "clean") -> str | None:
    """Return why an adjective is dropped; None if it is not."""
    if not _WORD.fullmatch(adjective) or len(adjective) < 2 or not _is_known(adjective, words):
        return "adjective is no word"
    if words.is_offensive(adjective):
        return "adjective is offensive"
    if adjective in words.identity:
        return "adjective of identity"
    if rules == "paper":
        return None
    if adjective in lists()["determiners"]:
        return "adjective acts as a determiner"
    if adjective in lists()["predicative"]:
        return "adjective only follows its noun"
    if is_superlative(adjective):
        return "superlative"
    return None


def _is_known(adjective: str, words: Words) -> bool:
    """Whether WordNet has the adjective, a participle's verb, or all parts of a compound."""
    if words.has(adjective, "a") or any(words.has(verb, "v") for verb in _participle(adjective)):
        return True
    parts = adjective.split("-")
    return len(parts) > 1 and all(
        part in words.pos or part in _SMALL or part.isdigit() or lemmas(part, "VERB")
        for part in parts
        if part
    )


def _participle(word: str) -> tuple[str, ...]:
    return lemmas(word, "VERB") if word.endswith(("ed", "ing", "n", "t")) else ()


def is_superlative(adjective: str) -> bool:
    """*best*, *biggest*, *best-known*: they require *the*."""
    head = adjective.split("-")[0]
    if head in ("best", "worst", "most", "least"):
        return True
    return head.endswith("est") and any(
        base != head and head in forms(base, "JJS") for base in lemmas(head, "ADJ")
    )


def as_written(adjective: str) -> str:
    """Return the adjective as text spells it: capitalised if it derives from a name."""
    parts = adjective.split("-")
    names = lists()["names"]
    if parts[0] not in names and parts[-1] not in names:
        return adjective
    return "-".join(part.capitalize() if part in names else part for part in parts)
