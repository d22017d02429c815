"""From what a model wrote to a label: parsed by the prompt's pattern, or not at all.

Nothing is guessed. An answer is in one of five states, and only a parsed one has a label.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from adnominal.training.asking import outcomes
from adnominal.training.asking.outcomes import Outcome
from adnominal.training.asking.prompts import ANSWERS, Template, Verbaliser

PARSED, UNPARSABLE, REFUSED = "parsed", "unparsable", "refused"
CUT_OFF, FAILED = "cut off", "failed"
STATES = (PARSED, UNPARSABLE, REFUSED, CUT_OFF, FAILED)


class Read(NamedTuple):
    """A reply as it was understood: its state, the label or free answer, and its text."""

    state: str
    answer: str | None
    text: str | None


def read_reply(
    reply: Outcome,
    template: Template,
    verbaliser: Verbaliser | None,
    end_of_thinking: str,
    stop: Sequence[str] = (),
) -> Read:
    """Find the answer in a reply.

    Reasoning, up to the last `end_of_thinking`, is cut first and the text then ends at the first
    of `stop`: a text that ends an answer may occur in the reasoning. The pattern must find words
    of one label; a reply in which it finds those of two is unparsable.
    """
    if not reply.is_answered:
        return Read(FAILED, None, reply.text)
    if reply.finish == outcomes.REFUSED:
        return Read(REFUSED, None, reply.text)
    text, is_whole = _answer_text(reply, end_of_thinking, stop)
    if not is_whole:
        return Read(CUT_OFF, None, reply.text)
    answers = _answers(text, template, verbaliser)
    if len(answers) != 1:
        return Read(UNPARSABLE, None, reply.text)
    return Read(PARSED, answers.pop(), reply.text)


def _answer_text(reply: Outcome, end_of_thinking: str, stop: Sequence[str]) -> tuple[str, bool]:
    """Return the text after the reasoning up to a stop text, and whether it ended by itself."""
    text = (reply.text or "").rpartition(end_of_thinking)[2] if end_of_thinking else reply.text
    text = (text or "").strip()
    ends = [text.find(mark) for mark in stop if mark in text]
    if ends:
        return text[: min(ends)], True
    return text, reply.finish != outcomes.LENGTH


def _answers(text: str, template: Template, verbaliser: Verbaliser | None) -> set[str]:
    """Return the labels whose words the pattern finds, or the free texts."""
    pattern = re.compile(pattern_of(template, verbaliser))
    matches = {match.strip() for match in pattern.findall(text)}
    if verbaliser is None:
        return matches
    label_of = {_plain(word): place for place, word in enumerate(verbaliser.all)}
    places = {label_of[_plain(match)] for match in matches}
    return {verbaliser.labels[verbaliser.label(place)] for place in places}


@lru_cache
def pattern_of(template: Template, verbaliser: Verbaliser | None) -> str:
    """Return the pattern with the words in it, longer ones first, in either case of letters."""
    assert template.pattern is not None
    words = sorted(verbaliser.all if verbaliser else (), key=len, reverse=True)
    spaced = [r"\s+".join(map(re.escape, word.split())) for word in words]
    return "(?i)" + template.pattern.replace(ANSWERS, "|".join(spaced))


def _plain(word: str) -> str:
    return " ".join(word.casefold().split())
