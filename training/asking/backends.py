"""Where a model runs: found and checked before any work, loaded only when something is asked.

``hf`` is a model of this process; vllm and sglang are the harness's classes, which need a GPU; the
others are servers (`servers`). Keys come from the environment and are in no setting.
"""

import hashlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lm_eval.api.model import LM
from lm_eval.api.registry import get_model

from adnominal.conf import UserError
from adnominal.training import launch
from adnominal.training.asking.local import Local
from adnominal.training.asking.masked import Masked, Words
from adnominal.training.asking.settings import CARD_BACKENDS, Settings
from adnominal.training.models.loading import resolve
from adnominal.training.models.pretrained import find, language_model_kind

# Set from our own settings, or refused: no code that comes with a model is run.
_OURS = ("pretrained", "model", "base_url", "batch_size", "dtype", "seed", "trust_remote_code")
_FOR_GPU = {"fp32": "float32", "bf16": "bfloat16"}


class LazyModel(LM):  # type: ignore[misc]
    """A model for the harness that is loaded when it is first needed.

    Where all requests were answered before, it is not needed.
    """

    def __init__(self, load: Callable[[], LM]) -> None:
        super().__init__()
        self._load = load

    @cached_property
    def model(self) -> LM:
        """The model, with its weights."""
        model = self._load()
        model.set_cache_hook(self.cache_hook)
        return model

    def check(self) -> None:
        """Load the model now; a server is asked a trial question.

        Raises:
            UserError: the model cannot be loaded or asked.
            JobFailed: the server does not answer.
        """
        _ = self.model

    def set_cache_hook(self, cache_hook: Any) -> None:
        """Pass the hook to the model, now or when it is loaded."""
        super().set_cache_hook(cache_hook)
        if "model" in vars(self):
            self.model.set_cache_hook(cache_hook)

    def loglikelihood(self, requests: list[Any]) -> list[tuple[float, bool]]:
        """Return the model's."""
        results: list[tuple[float, bool]] = self.model.loglikelihood(requests)
        return results

    def loglikelihood_rolling(self, requests: list[Any]) -> list[float]:
        """Return the model's."""
        results: list[float] = self.model.loglikelihood_rolling(requests)
        return results

    def generate_until(self, requests: list[Any]) -> list[str]:
        """Return the model's."""
        texts: list[str] = self.model.generate_until(requests)
        return texts

    def apply_chat_template(
        self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True
    ) -> str:
        """Return the model's: a text, or the messages for a server."""
        prompt: str = self.model.apply_chat_template(chat_history, add_generation_prompt)
        return prompt

    @property
    def tokenizer_name(self) -> str:
        """A name for the harness's own cache, which is not used."""
        return ""

    def _encode_pair(self, context: str, continuation: str) -> tuple[list[int], list[int]]:
        tokens: tuple[list[int], list[int]] = self.model._encode_pair(context, continuation)
        return tokens


@dataclass(frozen=True)
class Backend:
    """A model that can be asked.

    Attributes:
        name: the model's name in predictions.
        kind: masked, causal, encoder-decoder, or the backend.
        content: returns the hash of the model's files, or of its name and address.
        model: the model for the harness.
        words: the tokens of a masked model's words.
    """

    name: str
    kind: str
    content: Callable[[], str]
    model: LazyModel
    words: Words | None = None


def backend(settings: Settings) -> Backend:
    """Find and check the model, without its weights.

    Raises:
        UserError: it does not exist, cannot be asked in this form, or cannot run here.
    """
    if settings.backend == "hf":
        return _in_this_process(settings)
    for name in settings.model_args:
        if name in _OURS:
            raise UserError(f"model_args.{name}=: expected a setting of its own, or none")
    if launch.world_size() > 1:
        raise UserError(
            f"backend={settings.backend} with {launch.world_size()} processes: it distributes the "
            "work itself; expected plain python instead of the launcher"
        )
    load = _gpu_model if settings.backend in CARD_BACKENDS else _server
    identity = f"{settings.backend} {settings.model} {settings.base_url} {settings.model_args}"
    content = hashlib.blake2b(identity.encode(), digest_size=16).hexdigest()
    return Backend(settings.model, settings.backend, lambda: content, LazyModel(load(settings)))


def _in_this_process(settings: Settings) -> Backend:
    source = resolve(settings.model, settings.tracking)
    if source.generates:
        raise UserError(f"model={source.name}: generates meanings; expected a language model")
    pretrained = find(source.path)
    kind = language_model_kind(source.name, pretrained.config)
    if settings.is_chat and not pretrained.tokenizer.chat_template:
        raise UserError(
            f"model={source.name} chat=true: its tokenizer has no chat template; expected a model "
            "that was trained on conversations, or chat=false"
        )
    if kind != "masked":
        model = LazyModel(lambda: Local(source.name, pretrained, settings))
        return Backend(source.name, kind, source.content, model)
    if settings.form == "generate" or settings.is_chat:
        raise UserError(
            f"model={source.name} form={settings.form} chat={str(settings.chat).lower()}: a masked "
            "language model fills a gap and writes nothing; expected form=likelihood chat=false"
        )
    words = Words(source.name, pretrained)
    model = LazyModel(lambda: Masked(words, pretrained, settings))
    return Backend(source.name, kind, source.content, model, words)


def _gpu_model(settings: Settings) -> Callable[[], LM]:
    name = settings.backend
    if importlib.util.find_spec(name) is None:
        raise UserError(f"backend={name}: {name} is not installed; pip install {name}")
    import torch

    if not torch.cuda.is_available():
        raise UserError(f"backend={name}: this machine has no GPU; expected backend=hf, or a GPU")
    arguments: dict[str, Any] = {
        "pretrained": settings.model,
        "dtype": _FOR_GPU[settings.precision],
        "batch_size": "auto",
        "trust_remote_code": False,
        **settings.model_args,
    }
    return lambda: get_model(name)(**arguments)


def _server(settings: Settings) -> Callable[[], LM]:
    # With aiohttp, which only servers need.
    from adnominal.training.asking.servers import connect

    server = connect(
        settings.backend,
        settings.model,
        settings.base_url,
        settings.tokenizer,
        num_concurrent=settings.num_concurrent,
        seed=settings.seed,
        **settings.model_args,
    )
    kind = "generate_until" if settings.form == "generate" else "loglikelihood"

    def load() -> LM:
        server.trial(kind, {"max_gen_toks": settings.max_gen_toks, "until": []})
        return server

    return load
