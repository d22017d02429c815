"""The outcome of a request to a language model, and the protocols in which servers answer."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from adnominal.conf import JobFailed

STOP = "stop"
LENGTH = "length"
REFUSED = "refused"
# The words of OpenAI's chat and completions protocols (also spoken by vLLM, SGLang and llama.cpp)
# and of Anthropic's messages protocol.
_FINISH = {
    "stop": STOP,
    "end_turn": STOP,
    "stop_sequence": STOP,
    "length": LENGTH,
    "max_tokens": LENGTH,
    "model_context_window_exceeded": LENGTH,
    "content_filter": REFUSED,
    "refusal": REFUSED,
}


@dataclass(frozen=True)
class Outcome:
    """The outcome of one request: an answer, or the reason why there is none.

    Attributes:
        text: the text of the answer, possibly empty; None if there is none (`likelihood` instead,
            or null content). It may contain reasoning, if the server does not separate it.
        finish: ``stop`` (the model ended), ``length`` (cut off by the limit of tokens),
            ``refused`` (by the model or a content filter), another word of the server's, or None
            if it is unknown, as for a model in this process.
        reasoning: reasoning that the server returned in a field of its own.
        tokens_in: tokens of the prompt, as the server counted them.
        tokens_out: generated tokens, those of the reasoning included.
        likelihood: natural log-probability of the continuation, and whether it is the greedy one.
        error: why the request failed; None for an answered request.
    """

    text: str | None = None
    finish: str | None = None
    reasoning: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    likelihood: tuple[float, bool] | None = None
    error: str | None = None

    @property
    def is_answered(self) -> bool:
        """Whether asking again would be a waste: there is an answer, or a reason for its absence.

        An answer that was cut off or refused may have no text: a model that reaches its limit of
        tokens while it reasons gives null content. Null content without such a reason is a failure.
        """
        if self.error is not None:
            return False
        has_content = self.text is not None or self.likelihood is not None
        return has_content or self.finish in (LENGTH, REFUSED)

    @property
    def failure(self) -> str | None:
        """Why there is no answer; None if there is one, or a reason for its absence."""
        return None if self.is_answered else self.error or "no answer"


def check_answered(failures: Counter[str], requests: int) -> None:
    """Check that no request failed.

    Args:
        failures: the `Outcome.failure` of the failed requests, counted.
        requests: the number of all requests.

    Raises:
        JobFailed: some failed; the message has their number, the most frequent reason, and what to
            do.
    """
    if not failures:
        return
    reason, count = failures.most_common(1)[0]
    raise JobFailed(
        f"{failures.total():,} of {requests:,} questions have no answer ({count:,} times: "
        f"{reason}); the other answers are stored: run again to ask only for the missing ones"
    )


def chat_outcome(body: Mapping[str, Any]) -> Outcome:
    """Read an answer in OpenAI's chat protocol.

    Raises:
        KeyError, IndexError, TypeError, AttributeError: the body is not one of the protocol.
    """
    choice = body["choices"][0]
    message = choice["message"]
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    refusal = message.get("refusal")
    if refusal:
        return _outcome(refusal, "refusal", reasoning, body)
    text = message["content"]
    if isinstance(text, list):
        text = _join_texts(text, "text")
    return _outcome(text, choice.get("finish_reason"), reasoning, body)


def completion_outcome(body: Mapping[str, Any]) -> Outcome:
    """Read an answer in OpenAI's completions protocol; raises as `chat_outcome`."""
    choice = body["choices"][0]
    return _outcome(choice["text"], choice.get("finish_reason"), None, body)


def messages_outcome(body: Mapping[str, Any]) -> Outcome:
    """Read an answer in Anthropic's messages protocol; raises as `chat_outcome`."""
    blocks = body["content"]
    text = _join_texts(blocks, "text")
    return _outcome(text, body.get("stop_reason"), _join_texts(blocks, "thinking"), body)


def echo_outcome(body: Mapping[str, Any], size: int, context_size: int) -> Outcome:
    """Read the log-probabilities of a prompt's tokens that a completions server has echoed.

    Args:
        body: the response.
        size: number of tokens of the prompt.
        context_size: how many of these come before the continuation.

    Raises:
        ValueError: the server does not echo, or counts other tokens than we sent.
        KeyError, IndexError, TypeError, AttributeError: the body is not one of the protocol.
    """
    logprobs = body["choices"][0].get("logprobs") or {}
    values = logprobs.get("token_logprobs") or []
    if not values:
        raise ValueError("it has no log-probabilities of the prompt's tokens")
    # The token that is generated after the prompt is missing where the model ends there.
    if len(values) not in (size, size + 1):
        raise ValueError(f"log-probabilities of {len(values)} tokens, expected {size} or one more")
    values = values[context_size:size]
    likelihood = math.fsum(values)
    if not math.isfinite(likelihood):
        raise ValueError(f"a log-probability of {likelihood}")
    candidates = (logprobs.get("top_logprobs") or [])[context_size:size]
    best_values = [max(candidate.values()) for candidate in candidates]
    usage = body.get("usage") or {}
    return Outcome(
        tokens_in=_tokens_in(usage),
        tokens_out=_tokens_out(usage),
        likelihood=(likelihood, values == best_values),
    )


def _join_texts(blocks: Iterable[Mapping[str, Any]], kind: str) -> str | None:
    """Return the text of all blocks of a kind, None if there are none."""
    texts = [block[kind] for block in blocks if block.get("type") == kind]
    return "".join(texts) if texts else None


def _outcome(
    text: str | None, finish: str | None, reasoning: str | None, body: Mapping[str, Any]
) -> Outcome:
    usage = body.get("usage") or {}
    finish = _FINISH.get(finish or "", finish)
    error = None
    if text is None and finish not in (LENGTH, REFUSED):
        error = "the server returned null content"
        if reasoning:
            error += ", all of the answer being in the reasoning field"
    return Outcome(
        text,
        finish,
        reasoning or None,
        _tokens_in(usage),
        _tokens_out(usage),
        error=error,
    )


def _tokens_in(usage: Mapping[str, Any]) -> int | None:
    """Return the tokens of the prompt; Anthropic counts those that it has cached apart."""
    if "input_tokens" not in usage:
        tokens: int | None = usage.get("prompt_tokens")
        return tokens
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(usage.get(name) or 0 for name in names)


def _tokens_out(usage: Mapping[str, Any]) -> int | None:
    tokens: int | None = usage.get("completion_tokens", usage.get("output_tokens"))
    return tokens
