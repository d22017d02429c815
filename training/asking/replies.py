"""From the outcome of a request to its label: parsed by the prompt's pattern, or not at all."""

from collections.abc import Sequence
from typing import NamedTuple

from adnominal.etl.prompts.files import Template, Verbaliser
from adnominal.etl.prompts.replies import (
    CUT_OFF,
    FAILED,
    PARSED,
    REFUSED,
    UNPARSABLE,
    after_reasoning,
    matches,
    pattern_of,
    plain_word,
)
from adnominal.training.asking import outcomes
from adnominal.training.asking.outcomes import Outcome


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
    text = after_reasoning(reply.text or "", end_of_thinking)
    ends = [text.find(mark) for mark in stop if mark in text]
    if reply.finish == outcomes.LENGTH and not ends:
        return Read(CUT_OFF, None, reply.text)
    answers = _answers(text[: min(ends, default=len(text))], template, verbaliser)
    if len(answers) != 1:
        return Read(UNPARSABLE, None, reply.text)
    return Read(PARSED, answers.pop(), reply.text)


def _answers(text: str, template: Template, verbaliser: Verbaliser | None) -> set[str]:
    """Return the labels whose words the pattern finds, or the free texts."""
    answers = matches(text, pattern_of(template, verbaliser))
    if verbaliser is None:
        return answers
    label_of = {plain_word(word): place for place, word in enumerate(verbaliser.all)}
    places = {label_of[plain_word(answer)] for answer in answers}
    return {verbaliser.labels[verbaliser.label(place)] for place in places}
