"""Trained models with their weights, and their answers to texts.

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
from adnominal.training.evaluation import Batches, Evaluation, answer
from adnominal.training.models.encoders import PairLearner
from adnominal.training.models.instructions import InstructionLearner
from adnominal.training.models.loading import ModelSource
from adnominal.training.models.pickled import check_pickled
from adnominal.training.models.pretrained import base_path
from adnominal.training.settings import Settings
from adnominal.training.tasks import Dataset, Examples

# The name of encoded rows among the parts of their learner.
PART = "rows"


@dataclass(frozen=True)
class Classifier:
    """A model that classifies texts or writes meanings, on this process's device.

    `learner` makes batches of texts for it; `sharded` says whether processes hold parts of the
    weights and must be called together.
    """

    source: ModelSource
    model: Any
    learner: Any
    sharded: bool = False

    @property
    def limit(self) -> int:
        """The maximum number of tokens of a text."""
        return int(self.learner.limit)

    def encode(
        self, examples: Examples, limit: int | None = None, cache: Path | None = None
    ) -> Any:
        """Tokenise examples, cut to `limit` or the model's limit; `cache` is a folder of tokens.

        The task's labels are dropped, because the model may have other labels.
        """
        learner = copy.copy(self.learner)
        rows = dataclasses.replace(examples, labels=None, gold=None, targets=None)
        learner.dataset = dataclasses.replace(learner.dataset, parts={PART: rows})
        learner.limit = limit or self.limit
        learner.cache = cache
        learner.prepare()
        return learner

    def answer(
        self,
        encoded: Any,
        batch_size: int,
        advance: Callable[[int], None] = lambda rows: None,
    ) -> Evaluation:
        """Return class ids and class probabilities (rows, classes), or texts, in the rows' order.

        A sharded model is called by all processes with the same rows, which they divide; otherwise
        each process has its own rows.
        """
        return answer(encoded, self.model, PART, Batches(batch_size, self.sharded, advance))


def writer(source: ModelSource) -> Classifier:
    """Load a model that writes SyGNS's meanings, greedily or by its beam.

    Raises:
        UserError: the weights do not load.
    """
    import torch

    from adnominal.training.models import seq2seq

    model, vocabularies = seq2seq.load(Path(source.path))
    if torch.cuda.is_available():
        model = model.cuda()
    return Classifier(source, model, seq2seq.SourceLearner(model.config, vocabularies))


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
