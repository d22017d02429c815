"""From what a model wrote to the words that its prompt asks for.

Nothing is guessed. An answer is in one of five states, and only a parsed one has a label.
"""

import re
from functools import lru_cache

from adnominal.etl.prompts.files import ANSWERS, Template, Verbaliser

PARSED, UNPARSABLE, REFUSED = "parsed", "unparsable", "refused"
CUT_OFF, FAILED = "cut off", "failed"
STATES = (PARSED, UNPARSABLE, REFUSED, CUT_OFF, FAILED)
END_OF_THINKING = "</think>"
"""The usual mark between a model's reasoning and its answer."""


def after_reasoning(text: str, end_of_thinking: str = END_OF_THINKING) -> str:
    """Return the text after the last mark; all of it if there is none, or the mark is empty."""
    answer = text.rpartition(end_of_thinking)[2] if end_of_thinking else text
    return answer.strip()


def plain_word(word: str) -> str:
    """Return a word or phrase without differences of case and space."""
    return " ".join(word.casefold().split())


def pattern_of(template: Template, verbaliser: Verbaliser | None) -> str:
    """Return the pattern of a written answer with the words in it."""
    assert template.pattern is not None
    return with_words(template.pattern, verbaliser.all if verbaliser else ())


@lru_cache
def with_words(pattern: str, words: tuple[str, ...]) -> str:
    """Return a pattern with words in it, longer ones first, in either case of letters."""
    longest_first = sorted(words, key=len, reverse=True)
    spaced = [r"\s+".join(map(re.escape, word.split())) for word in longest_first]
    return "(?i)" + pattern.replace(ANSWERS, "|".join(spaced))


def matches(text: str, pattern: str) -> set[str]:
    """Return what a complete pattern finds in a text."""
    return {match.strip() for match in re.findall(pattern, text)}
