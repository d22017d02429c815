"""Trained classifiers: their predictions for rows with or without labels.

Either every process has the whole model and answers its own rows, or the model is sharded (ZeRO 3)
over all processes, which then answer the same rows together.
"""

import copy
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from adnominal.conf import UserError
from adnominal.training import sharding
from adnominal.training.evaluation import Batches, Evaluation, evaluate
from adnominal.training.models.encoders import PairLearner
from adnominal.training.models.instructions import InstructionLearner
from adnominal.training.models.loading import ModelSource
from adnominal.training.models.pickled import check_pickled
from adnominal.training.models.pretrained import base_path
from adnominal.training.settings import Settings
from adnominal.training.tasks import Dataset, Examples

_PART = "rows"


@dataclass(frozen=True)
class Classifier:
    """A model that classifies texts, in evaluation mode, on this process's device.

    `learner` makes batches of texts for it; `sharded` says whether processes hold parts of the
    weights and must be called together.
    """

    source: ModelSource
    model: Any
    learner: PairLearner
    sharded: bool = False

    @property
    def limit(self) -> int:
        """The maximum number of tokens of a text."""
        return self.learner.limit

    def encode(
        self, examples: Examples, limit: int | None = None, cache: Path | None = None
    ) -> PairLearner:
        """Tokenise examples, cut to `limit` or the model's limit; `cache` is a folder of tokens.

        The task's labels are dropped, because the model may have other labels.
        """
        learner = copy.copy(self.learner)
        rows = dataclasses.replace(examples, labels=None, gold=None, targets=None)
        learner.dataset = dataclasses.replace(learner.dataset, parts={_PART: rows})
        learner.limit = limit or self.limit
        learner.cache = cache
        learner.prepare()
        return learner

    def answer(
        self,
        encoded: PairLearner,
        batch_size: int,
        advance: Callable[[int], None] = lambda rows: None,
        *,
        shared: bool = True,
    ) -> Evaluation:
        """Return class ids and class probabilities (rows, classes), in the order of the rows.

        With `shared`, processes divide the rows among themselves and each gets all answers;
        otherwise each has its own rows, which is not possible with a sharded model.
        """
        shared = shared or self.sharded
        if not len(encoded.lengths(_PART)):
            empty = np.zeros((0, len(self.source.labels)))
            return Evaluation(np.zeros(0, dtype=np.int64), empty, None)
        return evaluate(encoded, self.model, _PART, Batches(batch_size, shared, advance))


def classifier(
    source: ModelSource,
    *,
    max_length: int | None = None,
    precision: str = "auto",
    deepspeed: str = "zero0",
) -> Classifier:
    """Load the model with its weights; with GPUs, call `training.launch.start` first.

    Texts are cut to `max_length` tokens, else to the length of its training, else to its maximum.
    `precision` is fp32, bf16, fp16, or auto (as in the weights file). `deepspeed` names a ZeRO 3
    configuration, which shards the weights, or another one, which keeps them whole.

    Raises:
        UserError: the model generates text or has no trained classification head, its weights do
            not load or are pickles that ZeRO 3 cannot shard, it does not support `max_length`, or
            fp16 is requested without a GPU.
    """
    import torch

    if source.generates:
        raise UserError(f"model={source.name}: it generates texts; expected one that classifies")
    if precision == "fp16" and not torch.cuda.is_available():
        raise UserError("precision=fp16: there is no GPU here; expected fp32 or bf16 on a CPU")
    check_pickled(source.name, base_path(source.path), deepspeed)
    learner = learner_of(source, max_length)
    kinds = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
    dtype = kinds.get(precision, "auto")

    def load() -> Any:
        model, missing = learner.load_body(source.path, dtype)
        if missing:
            raise UserError(
                f"model={source.name}: without {', '.join(sorted(missing)[:3])}: its "
                "classification head is not trained; expected a fine-tuned model "
                "(training/finetune.py)"
            )
        return model

    sharded = sharding.stage_of(deepspeed) == 3
    if sharded:
        written = getattr(learner.config, "dtype", None) or torch.float32
        model = sharding.load_sharded(load, deepspeed, written if dtype == "auto" else dtype)
    else:
        model = load()
        if torch.cuda.is_available():
            model = model.cuda()
    return Classifier(source, model, learner, sharded)


def learner_of(source: ModelSource, max_length: int | None) -> PairLearner:
    """Return the learner that makes batches for a model, in the form that it was trained on.

    Raises:
        UserError: the model does not support `max_length`.
    """
    trained = source.trained
    dataset = Dataset("", "", "", "", source.labels, {}, ())
    learnt = trained.max_length if trained is not None else None
    settings = Settings(model=source.path, max_length=max_length)
    if trained is None or trained.instruction is None:
        return PairLearner(dataclasses.replace(dataset, max_length=learnt), settings)
    settings = dataclasses.replace(settings, max_length=max_length or learnt)
    dataset = dataclasses.replace(dataset, instruction=trained.instruction)
    return InstructionLearner(dataset, settings)


def texts(first: pa.StringArray, second: pa.StringArray | None = None) -> Examples:
    """Return texts as examples without labels."""
    origin = np.zeros(len(first), dtype=np.int8)
    return Examples(first, first, second, None, None, None, origin)
