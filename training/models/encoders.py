"""Classification of texts or pairs by a pretrained model (BERT-like encoder or decoder)."""

import contextlib
import os
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from adnominal.conf import UserError
from adnominal.training.batching import Ids
from adnominal.training.models.learner import SOFT, Learner
from adnominal.training.models.pickled import check_pickled
from adnominal.training.models.pretrained import (
    EMBEDDED,
    base_model,
    check_attention,
    check_quantised,
    find,
    load_pretrained,
    maximum_length,
    quiet_loading,
)
from adnominal.training.models.tokens import encode, lengths
from adnominal.training.settings import Settings
from adnominal.training.tasks import Dataset


def set_template(tokenizer: Any, config: Any) -> None:
    """Prepare a decoder's tokenizer for classifying texts and pairs.

    Decoders are trained on running text: their tokenizers put nothing between two texts and may pad
    on the left. Here a line break separates the texts of a pair, and the end-of-text token follows
    them, since the head reads the last token; it is omitted if padding is the same token, which the
    head would skip. The template is saved with the tokenizer.
    """
    from tokenizers.processors import TemplateProcessing

    if tokenizer.pad_token is None:
        # Tokens after the end are never read.
        tokenizer.pad_token = tokenizer.eos_token
    config.pad_token_id = tokenizer.pad_token_id
    if tokenizer.cls_token is not None or tokenizer.sep_token is not None:
        return
    tokenizer.padding_side = "right"
    start, end = tokenizer.bos_token_id, tokenizer.eos_token_id
    begins = start is not None and tokenizer("a")["input_ids"][:1] == [start]
    ends = end is not None and end != tokenizer.pad_token_id
    parts = {
        "begin": [start] if begins else [],
        "between": tokenizer("\n", add_special_tokens=False)["input_ids"] or [end],
        "end": [end] if ends else [],
    }
    beginning, ending = ("begin " if begins else ""), (" end" if ends else "")
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single=f"{beginning}$A{ending}",
        pair=f"{beginning}$A between $B{ending}",
        special_tokens=[
            {"id": name, "ids": ids, "tokens": tokenizer.convert_ids_to_tokens(ids)}
            for name, ids in parts.items()
            if ids
        ],
    )


def _adapters_alone(model: Any) -> dict[str, bool]:
    """The option that PEFT's `save_pretrained` takes beside transformers'.

    Nothing here changes the embeddings of the base. Without it, PEFT looks up the base model's
    vocabulary on the hub, and adds the embeddings where they have adapters.
    """
    return {"save_embedding_layers": False} if hasattr(model, "peft_config") else {}


class PairLearner(Learner):
    """An encoder with a new classification head, and a dataset of one or two texts per example.

    Examples are truncated to max_length=, else to the paper's limit, else to the model's.
    """

    auto_class, task_type = "AutoModelForSequenceClassification", "SEQ_CLS"

    def __init__(self, dataset: Dataset, settings: Settings) -> None:
        self.dataset = dataset
        self.name = self.pretrained = settings.model
        self._settings = settings
        # A dry run needs no weights.
        needs_weights = settings.dry_run is None
        self._path, self.config, self.tokenizer = find(settings.model, weights=needs_weights)
        self._configure(self.config, self.tokenizer)
        check_attention(settings.attention)
        check_pickled(self.name, self._path, settings.deepspeed)
        if settings.lora.bits:
            check_quantised(settings.lora.bits, settings.deepspeed)
            # Saved with the adapters, so that the base model is quantised alike when loaded.
            self.config.base_bits = settings.lora.bits
        self.limit = self._limit()

    def _configure(self, config: Any, tokenizer: Any) -> None:
        labels = self.dataset.labels
        # A head with the same classes is kept, to continue training from another corpus.
        self._keep_head = tuple(config.id2label.values()) == labels
        config.id2label = dict(enumerate(labels))
        config.label2id = {label: i for i, label in enumerate(labels)}
        config.problem_type = "single_label_classification"
        set_template(tokenizer, config)

    def prepare(self) -> None:
        """Tokenise the parts."""
        self._tokens: dict[str, pa.Table] = {}
        self._cut: dict[str, int] = {}
        for part, examples in self.dataset.parts.items():
            tokens, cut = encode(self.tokenizer, examples.first, examples.second, self.limit)
            self._tokens[part], self._cut[part] = tokens, cut

    def lengths(self, part: str) -> Ids:
        """Return the number of tokens of each example, including special ones."""
        return lengths(self._tokens[part]["input_ids"])

    def truncated(self) -> dict[str, int]:
        return self._cut

    def parameters(self) -> int:
        return sum(p.numel() for p in self._meta_model.parameters())

    def trained_count(self) -> int:
        import torch

        # A pooler that the weights lack is trained too, but here they are not read.
        with torch.device("meta"):
            model = self._prepared_model(self._meta_model, set())
        return sum(p.numel() for p in model.parameters() if p.requires_grad)

    @property
    def _meta_model(self) -> Any:
        """Return the model with its modules on torch's meta device: shapes, no memory."""
        import torch
        import transformers

        try:
            with quiet_loading(), torch.device("meta"):
                return getattr(transformers, self.auto_class).from_config(self.config)
        except ValueError as error:
            if "Unrecognized configuration class" not in str(error):
                raise
            kind = self.auto_class.removeprefix("AutoModel")
            raise UserError(
                f"model={self.name}: transformers has no {kind} for {type(self.config).__name__}; "
                "expected another model"
                + (", or instructions=true" if self.task_type == "SEQ_CLS" else "")
            ) from error

    def _limit(self) -> int:
        """The number of tokens to which texts are cut: as set, as the data need, or the model's."""
        longest_input = maximum_length(self)
        limit = self._settings.max_length or self.dataset.max_length or longest_input
        special = self.tokenizer.num_special_tokens_to_add(pair=True)
        if self._settings.max_length and not special < limit <= longest_input:
            raise UserError(
                f"max_length={limit}: expected {special + 1} to {longest_input} for {self.name}"
            )
        return min(limit, longest_input)

    def model(self, seed: int, dtype: Any = None) -> Any:
        """Return the pretrained encoder with a head drawn by `seed` and any adapters."""
        import torch

        torch.manual_seed(seed)
        model, missing = self.load_body(self._path, dtype or torch.float32)
        lost = sorted(key for key in missing if _of_body(model, key) and "pooler" not in key)
        if lost:
            raise UserError(
                f"model={self.name}: its weights do not load: without {', '.join(lost[:3])}"
            )
        if not self._keep_head:
            torch.manual_seed(seed)
            _draw_head(model)
        return self._prepared_model(model, missing)

    def _prepared_model(self, model: Any, missing: set[str]) -> Any:
        """Prepare the model for training by the settings; `missing` weights are new."""
        if self._settings.freeze:
            # New layers, such as a pooler that the weights lack, belong to the head.
            for name, parameter in model.named_parameters():
                if _of_body(model, name) and name not in missing:
                    parameter.requires_grad = False
        if self._settings.lora.r:
            model = self._with_adapters(model, missing)
        return model

    def _with_adapters(self, model: Any, missing: set[str]) -> Any:
        """The model with LoRA's adapters; new layers are trained fully and saved with them."""
        from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training

        lora = self._settings.lora
        # New layers are trained fully and saved with the adapters: no other file has them.
        added = {name for name, _ in _head(model)} if self.task_type == "SEQ_CLS" else set()
        added |= {key.rpartition(".")[0] for key in missing if _of_body(model, key)}
        # Llama 4's routers to experts are linear layers with two outputs.
        routers = {name for name, _ in model.named_modules() if name.endswith(".router")}
        names = "|".join(map(re.escape, sorted(added | routers)))
        config = LoraConfig(
            task_type=self.task_type,
            r=lora.r,
            lora_alpha=lora.lora_alpha,
            lora_dropout=lora.lora_dropout,
            use_dora=lora.use_dora,
            target_modules=list(lora.target_modules) or "all-linear",
            exclude_modules=rf"(.*\.)?({names})(\..*)?" if names else None,
            modules_to_save=sorted(added) or None,
        )
        if self._settings.activation_checkpointing:
            model.enable_input_require_grads()
        if lora.bits:
            # Norms and heads in single precision.
            model = prepare_model_for_kbit_training(
                model, self._settings.activation_checkpointing, {"use_reentrant": False}
            )
        try:
            # Under ZeRO, adapters have the precision of the layers that they adapt.
            with warnings.catch_warnings():
                # PEFT asks transformers by a name that is deprecated.
                warnings.filterwarnings("ignore", message=".*is_gradient_checkpointing")
                adapted = get_peft_model(model, config, autocast_adapter_dtype=False)
        except ValueError as error:
            raise UserError(f"lora.target_modules={lora.target_modules}: {error}") from error
        # The same model from any folder.
        local = self.name not in EMBEDDED and Path(self.name).is_dir()
        base = os.path.abspath(self.name) if local else self.name
        adapted.peft_config["default"].base_model_name_or_path = base
        return adapted

    def collate(self, part: str, indices: Ids) -> dict[str, Any]:
        """Return input_ids, attention_mask, token_type_ids if the model has them, and labels.

        Soft labels, if there are any, stand beside the labels, which count the terms of the loss.
        """
        import torch
        from transformers.data.data_collator import pad_without_fast_tokenizer_warning

        examples = self.dataset.parts[part]
        batch = dict(
            pad_without_fast_tokenizer_warning(
                self.tokenizer,
                self._tokens[part].take(pa.array(indices)).to_pydict(),
                pad_to_multiple_of=8 if torch.cuda.is_available() else None,
                # In decoders, the padding id may also be a word's.
                return_attention_mask=True,
                return_tensors="pt",
            )
        )
        if examples.labels is not None:
            batch["labels"] = torch.from_numpy(examples.labels[indices])
        if examples.soft_labels is not None:
            batch[SOFT] = torch.from_numpy(examples.soft_labels[indices])
        return batch

    def logits(self, model: Any, batch: Mapping[str, Any]) -> Any:
        """Return the logits of each example and class."""
        inputs = {name: value for name, value in batch.items() if name not in ("labels", SOFT)}
        return model(**inputs).logits

    def scores(self, model: Any, batch: Mapping[str, Any], logits: Any) -> Any:
        """Return the logits, computed here if the batch has no labels."""
        return self.logits(model, batch) if logits is None else logits

    def save(self, model: Any, folder: Path, weights: Mapping[str, Any] | None = None) -> None:
        """Write a folder that transformers' automatic classes load.

        For a model with adapters, write only these, with the name of their base model.
        """
        with quiet_loading():
            if weights is None or weights:
                model.save_pretrained(
                    folder, state_dict=weights and dict(weights), **_adapters_alone(model)
                )
        self.config.architectures = [type(base_model(model)).__name__]
        self.config.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    def merge(self, folder: Path, merged: Path) -> None:
        """Write the whole model of `folder`, with adapters merged into the weights."""
        model = self.load(folder).merge_and_unload()
        self.save(model, merged)

    def load(self, folder: Path) -> Any:
        return self.load_body(str(folder), "auto")[0]

    def load_body(self, path: str, dtype: Any) -> tuple[Any, set[str]]:
        """Return the model with the weights of a folder, and the names of missing weights."""
        attention = self._settings.attention
        return load_pretrained(path, self.config, dtype, attention, self.auto_class)


def _body_name(model: Any) -> str:
    """Return the name of the pretrained body in a model."""
    from transformers import PreTrainedModel

    # Llama 4's language model has another prefix than its body's name.
    for name, module in model.named_children():
        if isinstance(module, PreTrainedModel):
            return str(name)
    return str(model.base_model_prefix)


def _of_body(model: Any, key: str) -> bool:
    return key.startswith(f"{_body_name(model)}.")


def _head(model: Any) -> list[tuple[str, Any]]:
    """Return the modules with weights of a classifier, except its pretrained body, by name."""
    body = _body_name(model)
    return [
        (name, module)
        for name, module in model.named_children()
        if name != body and any(True for _ in module.parameters())
    ]


def _draw_head(model: Any) -> None:
    """Draw new weights for the head, replacing any from the checkpoint."""
    import torch
    from transformers.integrations.deepspeed import is_deepspeed_zero3_enabled

    for _, head in _head(model):
        for module in head.modules():
            parameters = list(module.parameters(recurse=False))
            for parameter in parameters:
                parameter._is_hf_initialized = False
            with contextlib.ExitStack() as stack, torch.no_grad():
                if is_deepspeed_zero3_enabled():
                    import deepspeed

                    stack.enter_context(
                        deepspeed.zero.GatheredParameters(parameters, modifier_rank=0)
                    )
                model._init_weights(module)
