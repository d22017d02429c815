"""A model of lm-evaluation-harness that computes, or pays for, no answer twice."""

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from lm_eval.api.model import LM

from adnominal.training.asking.answered import Answered, request_key
from adnominal.training.asking.outcomes import Outcome


class CachedModel(LM):  # type: ignore[misc]
    """A model with a store of its answered requests.

    Requests that were answered before, by this process or another, are not passed to the model;
    equal ones are passed once. Answers are stored as soon as the model reports them to its cache
    hook, as every model of the harness does.

    Attributes:
        outcomes: the outcomes by `request_key`, of everything asked since `outcomes` was last
            cleared; failed requests are among them, and are asked again when they recur.
    """

    def __init__(self, load: Callable[[], LM], answered: Answered) -> None:
        """`load` returns the model; it is called when something is asked that has no answer yet."""
        super().__init__()
        self.outcomes: dict[bytes, Outcome] = {}
        self._load = load
        self._answered = answered

    @cached_property
    def _model(self) -> LM:
        model = self._load()
        model.set_cache_hook(self)
        return model

    def count_answers(self, number: int) -> None:
        """Hear of further answers, found in the store or just given; `Engine` reports progress."""

    def add_partial(self, kind: str, arguments: Sequence[Any], result: Any) -> None:
        """Store a result (the interface of the harness's cache hook)."""
        key = request_key(kind, arguments)
        outcome = as_outcome(result)
        self.outcomes[key] = outcome
        self._answered.add(key, outcome)
        self.count_answers(1)

    def generate_until(self, requests: Sequence[Any], **_: Any) -> list[str]:
        """Return the text of each answer, empty where there is none."""
        outcomes = self._ask("generate_until", requests)
        return [outcome.text or "" for outcome in outcomes]

    def loglikelihood(self, requests: Sequence[Any], **_: Any) -> list[tuple[float, bool]]:
        """Return log-probabilities and whether they are the greatest; NaN for failed requests."""
        outcomes = self._ask("loglikelihood", requests)
        return [outcome.likelihood or (math.nan, False) for outcome in outcomes]

    def loglikelihood_rolling(self, requests: Sequence[Any], **_: Any) -> list[float]:
        """Return log-probabilities of whole texts; NaN for failed requests."""
        outcomes = self._ask("loglikelihood_rolling", requests)
        return [outcome.likelihood[0] if outcome.likelihood else math.nan for outcome in outcomes]

    def _ask(self, kind: str, requests: Sequence[Any]) -> list[Outcome]:
        keys = [request_key(kind, request.args) for request in requests]
        self.outcomes |= self._answered.lookup(keys)
        missing: dict[bytes, Any] = {}
        for key, request in zip(keys, requests, strict=True):
            if not self._is_answered(key):
                missing.setdefault(key, request)
        for key in missing:
            self.outcomes.pop(key, None)
        self.count_answers(len(keys) - len(missing))
        if missing:
            results = getattr(self._model, kind)(list(missing.values()))
            for (key, request), result in zip(missing.items(), results, strict=True):
                # Some models change the arguments before they report to the hook.
                if key not in self.outcomes:
                    self.add_partial(kind, request.args, result)
        return [self.outcomes[key] for key in keys]

    def _is_answered(self, key: bytes) -> bool:
        return key in self.outcomes and self.outcomes[key].is_answered

    @property
    def tokenizer_name(self) -> str:
        """A name for the harness's own cache, which is not used."""
        return ""

    def apply_chat_template(
        self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True
    ) -> Any:
        """Return the prompt for a conversation: a text, or the messages for a server."""
        return self._model.apply_chat_template(chat_history, add_generation_prompt)


def as_outcome(result: Any) -> Outcome:
    """Return the outcome for a result of any of the harness's models."""
    if isinstance(result, Outcome):
        return result
    if isinstance(result, str):
        return Outcome(result)
    is_pair = isinstance(result, (tuple, list))
    value, is_greedy = result if is_pair else (result, False)
    if math.isnan(value):
        return Outcome(error="the model gave no number (NaN) for the log-probability")
    return Outcome(likelihood=(float(value), bool(is_greedy)))
