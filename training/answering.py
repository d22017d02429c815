"""Classifiers at work: what a trained model answers, on rows with labels and without.

A model is whole in every process, which then answers rows of its own; or it is shared out (ZeRO 3)
because no process could hold it, and all processes answer the same rows together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from conf import UserError
from training import launch, sharding
from training.batching import Ids, evaluation_batches
from training.encoders import find, load_pretrained, longest, padded, set_template
from training.evaluation import softmax
from training.instructions import choice_scores, completed, completions, cut, prompts_of
from training.loading import ModelSource
from training.tokens import Tokens, encode


@dataclass(frozen=True)
class Classifier:
    """A model that classifies texts, in evaluation mode, on this process's device.

    `limit` is the number of tokens that texts are cut to; `sharded` tells whether processes hold
    parts of the weights, and have to be asked together.
    """

    source: ModelSource
    model: Any
    tokenizer: Any
    limit: int
    sharded: bool = False

    def encode(
        self, first: pa.StringArray, second: pa.StringArray | None = None, cache: Path | None = None
    ) -> Tokens:
        """Texts as tokens; `second` for models of two texts."""
        return encode(self.tokenizer, first, second, self.limit, cache)

    def ask(self, tokens: Tokens, rows: Ids) -> Any:
        """The logits of some rows, [rows, classes], on the model's device."""
        return self.model(**_moved(padded(self.tokenizer, tokens, rows), self.model)).logits.float()

    def own(self, count: int) -> Ids:
        """Which of `count` rows this process is to ask about: every one, of a sharded model."""
        rows = np.arange(count, dtype=np.int64)
        return rows if self.sharded else rows[launch.rank() :: launch.world_size()]


class InstructedClassifier(Classifier):
    """A language model that chooses among the names of the classes that it was taught to write."""

    def encode(
        self, first: pa.StringArray, second: pa.StringArray | None = None, cache: Path | None = None
    ) -> Tokens:
        """The prompts of texts as tokens, cut on the left so that each completion has room."""
        assert self.source.trained is not None and self.source.trained.instruction is not None
        labels = self.source.labels
        texts = prompts_of(self.source.trained.instruction, labels, first, second)
        room = self.limit - max(len(own) for own in completions(self.tokenizer, labels))
        rows = self.tokenizer(texts)["input_ids"] if texts else []
        kept = [cut(row, room) for row in rows]
        ids = np.array([token for row in kept for token in row], dtype=np.int32)
        offsets = np.cumsum([0, *map(len, kept)]).astype(np.int64)
        return Tokens(ids, offsets, None, sum(len(row) > room for row in rows))

    def ask(self, tokens: Tokens, rows: Ids) -> Any:
        """The log-probability of each class's name."""
        choices = completions(self.tokenizer, self.source.labels)
        prompts = [
            tokens.ids[tokens.offsets[at] : tokens.offsets[at + 1]].tolist()
            for at in rows
            for _ in choices
        ]
        batch = completed(prompts, [*choices] * len(rows), self.tokenizer.pad_token_id)
        return choice_scores(self.model, _moved(batch, self.model), len(choices))


def _moved(batch: Mapping[str, Any], model: Any) -> dict[str, Any]:
    device = next(model.parameters()).device
    return {name: column.to(device, non_blocking=True) for name, column in batch.items()}


def classifier(
    source: ModelSource,
    *,
    max_length: int | None = None,
    precision: str = "auto",
    deepspeed: str = "zero0",
) -> Classifier:
    """The model with its weights; call `training.launch.start` before it where there are GPUs.

    Texts are cut to `max_length` tokens, else to what it was trained on, else to what it takes.
    `precision` is fp32, bf16, fp16, or auto: as the weights were written. `deepspeed` names a
    configuration of ZeRO 3 to share the weights out, or another one, which holds them whole.

    Raises:
        UserError: a model that generates texts, or without a trained classification head; weights
            that do not load; a `max_length` that it does not take; fp16 without a GPU.
    """
    import torch

    if source.generates:
        raise UserError(f"model={source.name}: it generates texts; expected one that classifies")
    if precision == "fp16" and not torch.cuda.is_available():
        raise UserError("precision=fp16: there is no GPU here; expected fp32 or bf16 on a CPU")
    found = find(source.path)
    instructed = source.trained is not None and source.trained.instruction is not None
    kind = InstructedClassifier if instructed else Classifier
    if not instructed:
        set_template(found.tokenizer, found.config)
    able, special = longest(found), found.tokenizer.num_special_tokens_to_add(pair=True)
    if max_length is not None and not special < max_length <= able:
        raise UserError(
            f"max_length={max_length}: expected {special + 1} to {able} for {source.name}"
        )
    learnt = source.trained.max_length if source.trained is not None else None
    kinds = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
    dtype = kinds.get(precision, "auto")

    def load() -> Any:
        auto_class = f"AutoModelFor{'CausalLM' if instructed else 'SequenceClassification'}"
        model, missing = load_pretrained(found.path, found.config, dtype, None, auto_class)
        if missing:
            raise UserError(
                f"model={source.name}: without {', '.join(sorted(missing)[:3])}: its "
                "classification head is not trained; expected a fine-tuned model "
                "(training/finetune.py)"
            )
        return model

    sharded = sharding.stage_of(deepspeed) == 3
    if sharded:
        written = getattr(found.config, "dtype", None) or torch.float32
        model = sharding.sharded(load, deepspeed, written if dtype == "auto" else dtype)
    else:
        model = load()
        if torch.cuda.is_available():
            model = model.cuda()
    model.eval()
    limit = min(max_length or learnt or able, able)
    return kind(source, model, found.tokenizer, limit, sharded)


def forward(
    own: Classifier,
    tokens: Tokens,
    batch_size: int,
    advance: Callable[[int], None] = lambda rows: None,
) -> npt.NDArray[np.float64]:
    """The probability of each class (rows, classes), in the order of the rows.

    Batches are made by length, so that little is padded; `advance` is told the rows of each. The
    batches depend on the rows alone, so that any number of processes gives the same figures. Of a
    sharded model every process passes the same rows, computes its share of the batches and gets
    all of the answer.
    """
    import torch

    if not len(tokens.lengths):
        return np.zeros((0, len(own.source.labels)))
    place = (launch.rank(), launch.world_size()) if own.sharded else (0, 1)
    found, order = [], []
    # Of a sharded model no inference_mode: ZeRO 3 gathers weights in place.
    with torch.no_grad() if own.sharded else torch.inference_mode():
        for rows in evaluation_batches(tokens.lengths, batch_size, *place):
            # A process that has no batch left takes the step all the same. Logits are left where
            # they are: a GPU is not waited for before the next batch.
            logits = own.ask(tokens, rows if len(rows) else np.zeros(1, np.int64))
            if len(rows):
                found.append(logits)
                order.append(rows)
                advance(len(rows))
        own_logits = torch.cat(found).cpu().numpy() if found else None
    shares = [(order, own_logits)]
    if own.sharded:
        shares = launch.gather(shares[0])
    logits = np.concatenate([share for _, share in shares if share is not None])
    at = np.argsort(np.concatenate([rows for share, _ in shares for rows in share]), kind="stable")
    return softmax(logits[at].astype(np.float64))


def scores(
    own: Classifier,
    first: pa.StringArray,
    second: pa.StringArray | None = None,
    *,
    batch_size: int = 64,
    cache: Path | None = None,
    advance: Callable[[int], None] = lambda rows: None,
) -> npt.NDArray[np.float64]:
    """`forward` of texts: all of them in this process, which shares nothing out.

    `cache` is a folder of tokenised texts (`training.tokens.encode`).
    """
    return forward(own, own.encode(first, second, cache), batch_size, advance)
