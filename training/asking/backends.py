"""Where a model runs: found and checked before any work, loaded only when something is asked.

``hf`` is a model of this process; vllm and sglang are the harness's classes, which need a GPU; the
others are servers (`servers`). Keys come from the environment and are in no setting.
"""

import hashlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
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
_OURS = (
    *("pretrained", "model", "backend", "base_url", "batch_size", "dtype", "seed"),
    *("num_concurrent", "trust_remote_code"),
)
_FOR_GPU = {"fp32": "float32", "bf16": "bfloat16"}


@dataclass(frozen=True)
class Backend:
    """A model that can be asked.

    Attributes:
        name: the model's name in predictions.
        kind: masked, causal, encoder-decoder, or the backend.
        content: returns the hash of the model's files, or of its name and address.
        load: returns the model for the harness, with its weights, loaded once; a server is asked a
            trial question.
        words: the tokens of a masked model's words.
    """

    name: str
    kind: str
    content: Callable[[], str]
    load: Callable[[], LM]
    words: Words | None = None


def backend(settings: Settings) -> Backend:
    """Find and check the model, without its weights.

    Raises:
        UserError: it does not exist, cannot be asked in this form, or cannot run here.
    """
    if settings.backend == "hf":
        return _in_this_process(settings)
    for name in settings.model_args:
        if name in _OURS or (name == "tokenizer" and settings.is_server):
            raise UserError(f"model_args.{name}=: expected a setting of its own, or none")
    if launch.world_size() > 1:
        raise UserError(
            f"backend={settings.backend} with {launch.world_size()} processes: it distributes the "
            "work itself; expected plain python instead of the launcher"
        )
    load = _gpu_model if settings.backend in CARD_BACKENDS else _server
    identity = f"{settings.backend} {settings.model} {settings.base_url} {settings.model_args}"
    content = hashlib.blake2b(identity.encode(), digest_size=16).hexdigest()
    return Backend(settings.model, settings.backend, lambda: content, cache(load(settings)))


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
        load = cache(lambda: Local(source.name, pretrained, settings))
        return Backend(source.name, kind, source.content, load)
    if settings.form == "generate" or settings.is_chat:
        raise UserError(
            f"model={source.name} form={settings.form} chat={str(settings.chat).lower()}: a masked "
            "language model fills a gap and writes nothing; expected form=likelihood chat=false"
        )
    words = Words(source.name, pretrained)
    load = cache(lambda: Masked(words, pretrained, settings))
    return Backend(source.name, kind, source.content, load, words)


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
