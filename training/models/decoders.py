"""Text decoders inside multimodal checkpoints, such as Gemma 3, Llama 4, Mistral 3 or Qwen3-VL.

A checkpoint of a ``…ForConditionalGeneration`` model with a decoder for its text is loaded as that
decoder alone: its configuration is ``text_config``, and the weights of images and sounds are never
read. Where transformers has no classifier or language model of such a decoder, a class is made from
transformers' own parts.
"""

import re
from typing import Any, NamedTuple

import torch
from torch import nn
from transformers import (
    MODEL_MAPPING,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    GenerationMixin,
)
from transformers.modeling_layers import GenericForSequenceClassification
from transformers.modeling_outputs import CausalLMOutputWithPast

_MULTIMODAL = "ForConditionalGeneration"
# The body of the decoder as checkpoints call it: model.language_model.layers in new ones,
# language_model.model.layers in old ones.
_BODY = re.compile(r"^(model\.)?(language_model|text_model)\.(model\.)?")
_HEAD = re.compile(r"^(model\.)?(language_model|text_model)\.lm_head\.")
# Facts that a checkpoint states once, for all of its parts.
_SHARED = ("tie_word_embeddings", "dtype", "quantization_config", "_commit_hash", "_name_or_path")


class _GenericForCausalLM:
    """A language model of any body, beside transformers' `GenericForSequenceClassification`."""

    base_model_prefix = "model"
    _tied_weights_keys = {"lm_head.weight": "model.embed_tokens.weight"}  # noqa: RUF012

    def __init__(self, config: Any) -> None:
        super().__init__(config)  # type: ignore[call-arg]
        self.model = AutoModel.from_config(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()  # type: ignore[attr-defined]

    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        logits_to_keep: int | torch.Tensor = 0,
        **options: Any,
    ) -> CausalLMOutputWithPast:
        """Return the logits of the positions `logits_to_keep`, or of the last so many (0: all)."""
        outputs = self.model(
            input_ids, attention_mask=attention_mask, position_ids=position_ids, **options
        )
        states = outputs.last_hidden_state
        if isinstance(logits_to_keep, torch.Tensor):
            states = states[:, logits_to_keep]
        else:
            states = states[:, -logits_to_keep:]
        return CausalLMOutputWithPast(
            logits=self.lm_head(states), past_key_values=outputs.past_key_values
        )


class _Head(NamedTuple):
    """The automatic class that finds a model with a head, and what the class is made of."""

    automatic: Any
    before_family: type
    after_family: tuple[type, ...] = ()


_HEADS = {
    "ForCausalLM": _Head(AutoModelForCausalLM, _GenericForCausalLM, (GenerationMixin,)),
    "ForSequenceClassification": _Head(
        AutoModelForSequenceClassification, GenericForSequenceClassification
    ),
}


def text_decoder(config: Any) -> Any:
    """Return the configuration of a model's text decoder; other configurations as they are.

    transformers' automatic classes can make a classifier and a language model of the result.
    """
    text = getattr(config, "text_config", None)
    kinds = config.architectures or []
    if text is None:
        if any(kind == _class_name(config, ending) for kind in kinds for ending in _HEADS):
            # Saved after training a decoder that transformers has no such class for.
            _add_missing_heads(config)
        return config
    if text.is_encoder_decoder or not any(kind.endswith(_MULTIMODAL) for kind in kinds):
        return config
    for name in _SHARED:
        if getattr(config, name, None) is not None:
            setattr(text, name, getattr(config, name))
    _add_missing_heads(text)
    text.architectures = [AutoModelForCausalLM._model_mapping[type(text)].__name__]
    return text


def text_weights(weights: dict[str, Any]) -> dict[str, Any]:
    """Return the weights of the decoder in a multimodal checkpoint, by their names in it alone."""
    renamed = {}
    for name, weight in weights.items():
        if _HEAD.match(name):
            renamed[_HEAD.sub("lm_head.", name)] = weight
        elif _BODY.match(name):
            renamed[_BODY.sub("model.", name)] = weight
        else:
            renamed.setdefault(name, weight)
    return renamed


def is_part(config: Any, path: str) -> bool:
    """Whether `config` is that of the decoder in the multimodal checkpoint at `path`."""
    from transformers import AutoConfig

    whole = AutoConfig.from_pretrained(path, trust_remote_code=False)
    return type(config) is not type(whole) and text_decoder(whole) is not whole


def _class_name(config: Any, ending: str) -> str:
    return type(config).__name__.removesuffix("Config") + ending


def _add_missing_heads(config: Any) -> None:
    """Make the classes for `config` that transformers lacks known to its automatic classes."""
    kind = type(config)
    if kind not in MODEL_MAPPING:
        return
    body = MODEL_MAPPING[kind]
    # The family's own base class, which initialises weights and knows ways of attention.
    (family,) = body.__bases__
    for ending, head in _HEADS.items():
        if kind in head.automatic._model_mapping:
            continue
        bases = (head.before_family, family, *head.after_family)
        content = {"config_class": kind, "__module__": __name__}
        model_class = type(_class_name(config, ending), bases, content)
        head.automatic.register(kind, model_class, exist_ok=True)
