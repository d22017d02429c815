"""Models behind a server: lm-evaluation-harness's own API models, made to survive failures.

The harness builds the requests (payloads, tokens, chat messages). Its way of sending them is
replaced, because it ends the whole evaluation when one request fails, retries a wrong key like a
busy server, ignores ``Retry-After``, and drops the reason why an answer ended and its tokens. Here
a failure belongs to one question, unless the server refuses all of them.
"""

import asyncio
import copy
import json
import math
import os
import random
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

from aiohttp import ClientError, ClientSession, ClientTimeout, TCPConnector
from lm_eval.models.anthropic_llms import AnthropicChat
from lm_eval.models.api_models import JsonChatStr, TemplateAPI
from lm_eval.models.openai_completions import (
    LocalChatCompletion,
    LocalCompletionsAPI,
    OpenAIChatCompletion,
)

from adnominal.conf import JobFailed, UserError
from adnominal.training.asking.outcomes import (
    REFUSED,
    Outcome,
    chat_outcome,
    completion_outcome,
    echo_outcome,
    messages_outcome,
)
from adnominal.training.asking.responses import Busy, Denied, Filtered, Rejected, read_body

LOCAL_KEY = "ADNOMINAL_SERVER_KEY"
"""The environment variable with the key of a local server; OpenAI's key is never sent to one."""

# Seconds before the second try; each further pause is twice as long.
FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 60.0
# A server that asks for a longer pause will not answer in this run.
_LONGEST_RETRY_AFTER = 600.0
# After this many failed questions in a row the server is gone; the others are not asked.
FAILURES_IN_A_ROW = 20
_TRIAL_TEXT = "Is grass green? Answer yes or no."
_TRIAL_PAIR = ("Grass is", " green")
_DENIED = {
    401: "expected a valid key in the environment variable {key}",
    402: "expected an account with credit",
    403: "expected a key in the environment variable {key} that may use model={model}",
    404: "expected base_url= with an address that ends in {endpoint}, and a model= of the server",
}
_OPTIONS = (
    "num_concurrent",
    "timeout",
    "max_retries",
    "max_gen_toks",
    "seed",
    "add_bos_token",
    "custom_prefix_token_id",
    "revision",
)
_NOT_ASKED = Outcome(
    error=f"not asked, because {FAILURES_IN_A_ROW} questions in a row had no answer"
)


class Unanswered(Exception):
    """All tries of a question failed."""


class Question(NamedTuple):
    """A question with the harness's method and arguments for it.

    Attributes:
        kind: the harness's method.
        arguments: its arguments, by which the answer is stored; None to store nothing.
        payload: the body of the request.
        read: gives the outcome for the body of the response.
    """

    kind: str
    arguments: Sequence[Any] | None
    payload: Mapping[str, Any]
    read: Callable[[Mapping[str, Any]], Outcome]


class Server(TemplateAPI):  # type: ignore[misc]
    """A model behind a server; each class below adds the harness's class for a protocol.

    The first question is a trial question of our own, which finds out whether the server answers
    at all. The cache hook receives all outcomes, those of failed questions too.
    """

    endpoint: ClassVar[str]
    key_name: ClassVar[str] = LOCAL_KEY

    @staticmethod
    def read_answer(body: Mapping[str, Any]) -> Outcome:
        """Read an answer in the server's protocol."""
        raise NotImplementedError

    def __init__(
        self,
        *,
        num_concurrent: int = 8,
        timeout: float = 300.0,
        max_retries: int = 8,
        **options: Any,
    ) -> None:
        """Args:
        num_concurrent: number of questions that the server has at a time.
        timeout: seconds after which a try without a complete answer has failed.
        max_retries: number of tries of a question.
        options: the harness's own, such as model, base_url, tokenizer, max_gen_toks and seed.
        """
        # A text that is too long is for the server to refuse: the harness would truncate it.
        super().__init__(max_length=2**31, **options)
        self.timeout = timeout
        self.max_retries = max_retries
        self._concurrent = num_concurrent
        self._is_tried = False
        self._failures = 0
        self._paused_until = 0.0

    @cached_property
    def api_key(self) -> str:
        """The key in the environment, or an empty text."""
        return os.environ.get(self.key_name, "").strip()

    @cached_property
    def header(self) -> dict[str, str]:
        """The headers of a request."""
        return {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}

    def trial(self, kind: str = "generate_until", options: Mapping[str, Any] | None = None) -> None:
        """Ask a first question, to find out whether asking the others makes sense.

        Args:
            kind: the harness's method for the questions.
            options: their settings of the generation.

        Raises:
            UserError: the server refuses it, or does not echo log-probabilities.
            JobFailed: the server does not answer.
        """
        if kind == "generate_until":
            question = self._generation(_TRIAL_TEXT, options or {})
        else:
            question = self._likelihood(None, *self._encode_pair(*_TRIAL_PAIR))
        try:
            asyncio.run(self._ask_once(question))
        except Rejected as error:
            advice = "expected a model and settings of the generation that the server accepts"
            if kind != "generate_until":
                advice = (
                    "expected a server that returns the log-probabilities of the prompt's tokens "
                    "(logprobs with echo), as vLLM does, and its tokenizer=; or form=generate"
                )
            raise UserError(f"{self.base_url}: {error}; {advice}") from error
        except Unanswered as error:
            raise JobFailed(
                f"{self.base_url}: {error}; expected a server that answers: start it or correct "
                "base_url=, then run again"
            ) from error
        self._is_tried = True

    def generate_until(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[str]:
        """Return the text of each answer, empty where there is none."""
        arguments = [request.args for request in requests]
        if not self._is_tried:
            self.trial("generate_until", arguments[0][1])
        outcomes = asyncio.run(self._ask_all([self._generation(*pair) for pair in arguments]))
        return [outcome.text or "" for outcome in outcomes]

    def _loglikelihood_tokens(
        self, requests: Sequence[tuple[Any, list[int], list[int]]], **_: Any
    ) -> list[tuple[float, bool]]:
        if not self._is_tried:
            self.trial("loglikelihood")
        outcomes = asyncio.run(self._ask_all([self._likelihood(*request) for request in requests]))
        return [outcome.likelihood or (math.nan, False) for outcome in outcomes]

    def _generation(self, context: Any, options: Mapping[str, Any]) -> Question:
        # The harness removes from the options what it renames.
        payload = self._create_payload(
            self._prompt(context), generate=True, gen_kwargs=copy.deepcopy(options), seed=self._seed
        )
        if not payload.get("stop"):
            # Some servers refuse an empty list.
            payload.pop("stop", None)
        return Question("generate_until", (context, options), payload, self.read_answer)

    def _prompt(self, context: Any) -> Any:
        return context

    def _likelihood(self, arguments: Any, context: list[int], continuation: list[int]) -> Question:
        tokens = context + continuation
        payload = self._create_payload(self.create_message([tokens]), seed=self._seed)
        read = partial(echo_outcome, size=len(tokens), context_size=len(context))
        return Question("loglikelihood", arguments, payload, read)

    def _session(self) -> ClientSession:
        return ClientSession(
            connector=TCPConnector(limit=self._concurrent),
            timeout=ClientTimeout(total=self.timeout),
            headers=self.header,
        )

    async def _ask_once(self, question: Question) -> Outcome:
        async with self._session() as session:
            return await self._answer(session, question)

    async def _ask_all(self, questions: Sequence[Question]) -> list[Outcome]:
        """Return the outcomes of all questions, with at most `num_concurrent` at the server."""
        outcomes = [_NOT_ASKED] * len(questions)
        pending = iter(enumerate(questions))

        async def work(session: ClientSession) -> None:
            for place, question in pending:
                if self._failures < FAILURES_IN_A_ROW:
                    outcomes[place] = await self._outcome(session, question)
                if question.arguments is not None:
                    self.cache_hook.add_partial(question.kind, question.arguments, outcomes[place])

        async with self._session() as session:
            await asyncio.gather(*(work(session) for _ in range(self._concurrent)))
        return outcomes

    async def _outcome(self, session: ClientSession, question: Question) -> Outcome:
        try:
            outcome = await self._answer(session, question)
        except Rejected as error:
            return Outcome(error=str(error))
        except Unanswered as error:
            self._failures += 1
            return Outcome(error=str(error))
        self._failures = 0
        return outcome

    async def _answer(self, session: ClientSession, question: Question) -> Outcome:
        """Ask until there is an answer.

        Raises:
            UserError: the server refuses every question.
            Rejected: it refuses this one, or answers in another protocol.
            Unanswered: there is none after all tries.
        """
        failure = ""
        for attempt in range(self.max_retries):
            await self._pause(attempt)
            try:
                body = await self._post(session, question.payload)
            except Filtered:
                return Outcome(finish=REFUSED)
            except Denied as error:
                advice = _DENIED[error.status].format(
                    key=self.key_name, model=self.model, endpoint=self.endpoint
                )
                raise UserError(f"{self.base_url}: {error}; {advice}") from error
            except Busy as error:
                failure = str(error)
                if error.pause > _LONGEST_RETRY_AFTER:
                    raise Unanswered(f"{failure} (Retry-After: {error.pause:,.0f} s)") from error
                resume = asyncio.get_running_loop().time() + error.pause
                self._paused_until = max(self._paused_until, resume)
            except TimeoutError:
                failure = f"no answer within {self.timeout:g} s"
            except (ClientError, OSError) as error:
                failure = str(error) or type(error).__name__
            else:
                return _read(question, body)
        tries = "1 try" if self.max_retries == 1 else f"{self.max_retries} tries"
        raise Unanswered(f"{failure} ({tries})")

    async def _pause(self, attempt: int) -> None:
        """Wait before a try: longer with each, and until the time that the server has named."""
        if attempt:
            pause = min(_LONGEST_PAUSE, FIRST_PAUSE * 2 ** (attempt - 1))
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
        now = asyncio.get_running_loop().time()
        if self._paused_until > now:
            await asyncio.sleep(self._paused_until - now)

    async def _post(self, session: ClientSession, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        # No redirection is followed, so that a key goes to no other address.
        async with session.post(self.base_url, json=payload, allow_redirects=False) as response:
            text = await response.text(errors="replace")
            return read_body(response.status, response.headers, text, self.api_key)


def _read(question: Question, body: Mapping[str, Any]) -> Outcome:
    try:
        return question.read(body)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        reason = f"no {error} in it" if isinstance(error, KeyError) else str(error)
        raise Rejected(f"the answer does not follow the protocol: {reason}") from error


class Completions(Server, LocalCompletionsAPI):  # type: ignore[misc]
    """A server with OpenAI's completions protocol: texts, and their log-probabilities."""

    endpoint = "/completions"
    read_answer = staticmethod(completion_outcome)

    def apply_chat_template(
        self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True
    ) -> Any:
        """Return the text of a conversation; the harness forgets the server's own template."""
        if self.tokenizer_backend == "remote":
            return self.tokenizer.apply_chat_template(chat_history, add_generation_prompt)
        return super().apply_chat_template(chat_history, add_generation_prompt)


class _Chat(Server):
    """What all servers with a chat protocol share."""

    endpoint = "/chat/completions"
    read_answer = staticmethod(chat_outcome)

    def _prompt(self, context: Any) -> Any:
        if isinstance(context, JsonChatStr):
            return json.loads(context.prompt)
        return [{"role": "user", "content": context}]


class LocalChat(_Chat, LocalChatCompletion):  # type: ignore[misc]
    """A local server with OpenAI's chat protocol."""


class OpenAIChat(_Chat, OpenAIChatCompletion):  # type: ignore[misc]
    """OpenAI's own chat service."""

    key_name = "OPENAI_API_KEY"

    def _create_payload(self, messages: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
        """Return the body of a request.

        The harness takes every model with a 5 in its name for one that reasons, gpt-3.5-turbo and
        gpt-4o-2024-05-13 too, and has it sample at temperature 1.
        """
        payload: dict[str, Any] = LocalChatCompletion._create_payload(self, messages, **options)
        payload["max_completion_tokens"] = payload.pop("max_tokens")
        if re.match(r"(ft:)?(o\d|gpt-[5-9])", self.model):
            # These take neither stop strings nor temperature 0.
            payload.pop("stop")
            if payload["temperature"] == 0:
                payload.pop("temperature")
        return payload


class AnthropicMessages(_Chat, AnthropicChat):  # type: ignore[misc]
    """Anthropic's messages protocol."""

    endpoint = "/messages"
    read_answer = staticmethod(messages_outcome)
    key_name = "ANTHROPIC_API_KEY"

    @cached_property
    def header(self) -> dict[str, str]:
        """The headers of a request."""
        return {"x-api-key": self.api_key, "anthropic-version": self.anthropic_version}


BACKENDS: Mapping[str, type[Server]] = {
    "local-completions": Completions,
    "local-chat-completions": LocalChat,
    "openai-chat-completions": OpenAIChat,
    "anthropic-chat-completions": AnthropicMessages,
}
"""The classes by the harness's names of the backends."""


def connect(
    backend: str,
    model: str,
    base_url: str | None = None,
    tokenizer: str | None = None,
    **options: Any,
) -> Server:
    """Return a model behind a server; nothing is sent yet.

    Args:
        backend: one of `BACKENDS`.
        model: the server's name of the model.
        base_url: the address, complete or up to ``/v1``; needed for local servers.
        tokenizer: for likelihood, and for chat by ``local-completions``: the name or folder of the
            model's tokenizer, or ``server`` to use the server's (two requests a text).
        options: num_concurrent, timeout and max_retries (`Server`), and the harness's
            max_gen_toks, seed, add_bos_token, custom_prefix_token_id and revision.

    Raises:
        UserError: an address or a key is missing or wrong, an option is unknown, or the tokenizer
            cannot be loaded.
    """
    kind = BACKENDS[backend]
    _check_options(options)
    key = _checked_key(backend, kind.key_name)
    if base_url is not None:
        options["base_url"] = _address(base_url, kind.endpoint)
    if tokenizer == "server":
        options |= {"tokenizer_backend": "remote", "auth_token": key or None}
    elif tokenizer is not None:
        options |= {"tokenizer_backend": "huggingface", "tokenizer": tokenizer}
    else:
        options["tokenizer_backend"] = None
    try:
        return kind(model=model, **options)
    except ModuleNotFoundError as error:
        raise UserError(f"backend={backend}: {error}") from error
    except (OSError, RuntimeError, ValueError) as error:
        raise UserError(
            f"tokenizer={tokenizer}: {error}; expected a tokenizer of the model"
        ) from error


def _check_options(options: Mapping[str, Any]) -> None:
    """Raise `UserError` for an option that is unknown (the harness ignores it) or not positive.

    The value of an unknown one may be a key, and is not shown.
    """
    for name in options:
        if name not in _OPTIONS:
            raise UserError(f"model_args.{name}=: expected one of {', '.join(_OPTIONS)}")
    for name in ("num_concurrent", "timeout", "max_retries", "max_gen_toks"):
        value = options.get(name, 1)
        is_number = isinstance(value, int) or (name == "timeout" and isinstance(value, float))
        if not is_number or not 0 < value < math.inf:
            number = "number" if name == "timeout" else "whole number"
            raise UserError(f"model_args.{name}={value}: expected a {number} above 0")


def _checked_key(backend: str, name: str) -> str:
    key = os.environ.get(name, "").strip()
    if not key and name != LOCAL_KEY:
        raise UserError(
            f"backend={backend}: expected a key in the environment variable {name}, which is not "
            "set"
        )
    if not (key.isascii() and key.isprintable()):
        raise UserError(f"{name}: expected a key of printable ASCII characters")
    return key


def _address(base_url: str, endpoint: str) -> str:
    """Return the complete address of the endpoint."""
    if "@" in base_url:
        raise UserError(
            "base_url=: expected an address without user and password, which would be stored; keys "
            "are read from the environment"
        )
    if not re.fullmatch(r"https?://[^/?#\s]+([/?#]\S*)?", base_url):
        raise UserError(
            f"base_url={base_url}: expected an address such as http://localhost:8000/v1{endpoint}"
        )
    base_url = base_url.rstrip("/")
    return base_url + endpoint if base_url.endswith("/v1") else base_url
