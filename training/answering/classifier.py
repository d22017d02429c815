"""Trained models with their weights, and their answers to texts.

The Trainer answers, as at the end of a training: the processes divide the rows and, with ZeRO 3,
the weights.
"""

import copy
import dataclasses
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from adnominal.conf import UserError
from adnominal.training import sharding
from adnominal.training.evaluation import Evaluation
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
    """A model that classifies texts or writes meanings; every process must call it alike.

    `learner` makes batches of texts for the model of `trainer`.
    """

    source: ModelSource
    learner: Any
    trainer: Any

    @property
    def limit(self) -> int:
        """The maximum number of tokens of a text."""
        return int(self.learner.limit)

    def encode(self, examples: Examples, limit: int | None = None) -> Any:
        """Tokenise examples, cut to `limit` or the model's limit.

        The task's labels are dropped, because the model may have other labels.
        """
        learner = copy.copy(self.learner)
        rows = dataclasses.replace(examples, labels=None, gold=None, targets=None)
        learner.dataset = dataclasses.replace(learner.dataset, parts={PART: rows})
        learner.limit = limit or self.limit
        learner.prepare()
        return learner

    def answer(
        self,
        encoded: Any,
        batch_size: int,
        advance: Callable[[int], None] = lambda rows: None,
    ) -> Evaluation:
        """Return class ids and class probabilities (rows, classes), or texts, in the rows' order.

        `advance` is called with the number of rows of each batch of this process.
        """
        self.trainer.learner = encoded
        self.trainer.args.per_device_eval_batch_size = batch_size
        self.trainer.advance = advance
        evaluation: Evaluation = self.trainer.predict_part(PART)
        return evaluation


@contextmanager
def _loaded(
    source: ModelSource, learner: Any, settings: Settings, load: Callable[[], Any]
) -> Iterator[Classifier]:
    from adnominal.training.fitting import predicting

    with (
        tempfile.TemporaryDirectory(prefix="trainer-") as folder,
        predicting(settings, learner, load, Path(folder)) as trainer,
    ):
        yield Classifier(source, learner, trainer)


@contextmanager
def writer(source: ModelSource) -> Iterator[Classifier]:
    """Load a model that writes SyGNS's meanings, greedily or by its beam, for the block.

    Raises:
        UserError: the weights do not load.
    """
    from adnominal.training.models import seq2seq

    model, vocabularies = seq2seq.load(Path(source.path))
    learner = seq2seq.SourceLearner(model.config, vocabularies)
    with _loaded(source, learner, Settings(bf16=False), lambda: model) as loaded_model:
        yield loaded_model


@contextmanager
def classifier(
    source: ModelSource,
    *,
    max_length: int | None = None,
    precision: str = "auto",
    deepspeed: str = "zero0",
) -> Iterator[Classifier]:
    """Load the model with its weights for the block.

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

    # Whole models compute in the precision of their weights; DeepSpeed must be told it.
    sharded = sharding.stage_of(deepspeed) == 3
    shard_dtype = kinds.get(precision, learner.config.dtype) if sharded else None
    settings = Settings(
        deepspeed=deepspeed,
        bf16=shard_dtype == torch.bfloat16,
        fp16=shard_dtype == torch.float16,
    )
    with _loaded(source, learner, settings, load) as loaded_model:
        yield loaded_model


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
