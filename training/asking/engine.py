"""The engine: lm-evaluation-harness asks a model, chunk by chunk, and its samples are read."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

import lm_eval.api.task
from lm_eval import evaluate
from lm_eval.api.model import LM
from tqdm import tqdm

from adnominal.training import launch
from adnominal.training.asking.answered import Answered, request_key
from adnominal.training.asking.caching import CachedModel, as_outcome
from adnominal.training.asking.outcomes import Outcome
from adnominal.training.asking.questions import Request
from adnominal.training.asking.settings import Settings
from adnominal.training.asking.tasks import NAME, task

# The harness says what we do not use; its bar for each chunk would hide ours.
logging.getLogger("lm_eval").setLevel(logging.ERROR)
lm_eval.api.task.tqdm = partial(tqdm, disable=True)


class Engine(CachedModel):
    """A model with the store of its answers, asked through the harness.

    Attributes:
        computed: number of requests that were computed, or paid for, by this process.
    """

    def __init__(
        self, load: Callable[[], LM], answered: Answered, settings: Settings, delimiter: str
    ) -> None:
        super().__init__(load, answered)
        self.computed = 0
        self._settings, self._delimiter = settings, delimiter
        self._fresh: set[bytes] = set()
        self._report: Callable[[float], None]
        self._reported, self._expected = 0, 0

    def add_partial(self, kind: str, arguments: Sequence[Any], result: Any) -> None:
        """Store a new result.

        The tokens of an outcome with a likelihood are those of its completion: what a server
        counts as generated there is one token that nobody asked for.
        """
        outcome = as_outcome(result)
        is_counted = outcome.tokens_out is not None and not self._settings.is_server
        if outcome.likelihood is not None and not is_counted:
            size = len(self._model._encode_pair(*arguments)[1])
            outcome = replace(outcome, tokens_out=size)
        super().add_partial(kind, arguments, outcome)
        self._fresh.add(request_key(kind, arguments))

    def count_answers(self, number: int) -> None:
        """Report the share of the chunk that is answered."""
        self._reported += number
        self._report(self._reported / self._expected)

    def ask(
        self, requests: Iterable[Request], report: Callable[[float], None]
    ) -> dict[Request, list[Outcome]]:
        """Return the outcomes of a chunk of different requests, in every process.

        A request with words has an outcome for each word, another has one. Processes share the
        requests. `report` receives the share of this process's requests that is answered, from 0 to
        1, whenever it has grown.
        """
        self._report = report
        shares = launch.gather(self._share(list(requests)))
        return {request: answer for share in shares for request, answer in share.items()}

    def _share(self, requests: Sequence[Request]) -> dict[Request, list[Outcome]]:
        """Ask every n-th request, n being the number of processes."""
        local = sorted(
            requests[launch.rank() :: launch.world_size()],
            key=lambda request: len(request.examples),
        )
        self._reported = 0
        self._expected = sum(len(request.words) or 1 for request in local)
        answers: dict[Request, list[Outcome]] = {}
        # A task of the harness has one number of examples.
        for _, group in groupby(local, key=lambda request: len(request.examples)):
            answers |= self._evaluate(list(group))
        return answers

    def _evaluate(self, requests: Sequence[Request]) -> dict[Request, list[Outcome]]:
        settings = self._settings
        generation = None
        if settings.form == "generate":
            generation = {
                "max_gen_toks": settings.max_gen_toks,
                "temperature": settings.temperature,
                "do_sample": settings.temperature > 0,
            }
        # Not `simple_evaluate`, which indexes ten thousand tasks of the harness and describes the
        # machine, in seconds, for every chunk before it calls this.
        results = evaluate(
            self,
            {"tasks": {NAME: task(requests, self._delimiter, generation)}},
            bootstrap_iters=0,
            system_instruction=settings.instructions,
            apply_chat_template=settings.is_chat,
            fewshot_as_multiturn=True,
        )
        kind = "loglikelihood" if generation is None else "generate_until"
        answers = {}
        for request, sample in zip(requests, results["samples"][NAME], strict=True):
            answers[request] = self._answer(kind, sample["arguments"])
        # The store has them; here the answers of all chunks would fill the memory.
        self.outcomes.clear()
        self._fresh.clear()
        return answers

    def _answer(self, kind: str, arguments: Sequence[Any]) -> list[Outcome]:
        keys = [request_key(kind, one) for one in arguments]
        outcomes = [self.outcomes[key] for key in keys]
        self.computed += any(key in self._fresh for key in keys)
        return outcomes
