"""The interface of what is trained: a model of any kind with its data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from training.batching import Ids
from training.tasks import Dataset

# The label of tokens that are not learnt, the default of torch's cross-entropy.
IGNORED = -100


class Learner:
    """A model with its data. `name` is what predictions and model cards call the model.

    `pretrained` is the name or folder of the model that training starts from; None: from scratch.
    `instructed` models write their answers after a prompt.
    """

    dataset: Dataset
    name: str
    pretrained: str | None = None
    instructed = False

    def model(self, seed: int, dtype: Any = None) -> Any:
        """The module to train; its new weights follow `seed`.

        `dtype` is the precision that pretrained weights are held in (None: single). Under ZeRO 3
        it is loaded in shares.
        """
        raise NotImplementedError

    def parameters(self) -> int:
        """How many weights the model has, adapters left out."""
        raise NotImplementedError

    def trained(self) -> int:
        """How many weights are trained: adapters and new heads, or all of them."""
        return self.parameters()

    def prepare(self) -> None:
        """Encode the parts, or read what is encoded; called before anything below."""

    def lengths(self, part: str) -> Ids:
        """The length of each example of a part, in tokens."""
        raise NotImplementedError

    def begin_epoch(self, epoch: int) -> None:
        """Called before the training examples of an epoch, whose random draws depend on it."""

    def truncated(self) -> dict[str, int]:
        """How many examples of each part the limit of tokens has shortened."""
        return dict.fromkeys(self.dataset.parts, 0)

    def collate(self, part: str, indices: Ids) -> dict[str, Any]:
        """A batch, padded, as tensors on the CPU; its labels, if it has any, under ``labels``."""
        raise NotImplementedError

    def tokens(self, batch: Mapping[str, Any]) -> tuple[int, int]:
        """Tokens of a batch, and the same with padding."""
        mask = batch["attention_mask"]
        return int(mask.sum()), mask.numel()

    def logits(self, model: Any, batch: Mapping[str, Any]) -> Any:
        """The model's logits, [..., classes], in the places of the batch's labels."""
        raise NotImplementedError

    def sums(self, logits: Any, labels: Any) -> Mapping[str, float]:
        """Other figures, summed over the labelled terms of a batch, by name."""
        return {}

    def scores(self, model: Any, batch: Mapping[str, Any], logits: Any) -> Any:
        """A logit of each example and class; only asked of models of classes.

        `logits` are those of the batch's labels, None where it has none.
        """
        raise NotImplementedError

    def texts(self, model: Any, batch: Mapping[str, Any]) -> list[str]:
        """The generated texts; only called for models of texts."""
        raise NotImplementedError

    def save(self, model: Any, folder: Path, weights: Mapping[str, Any] | None = None) -> None:
        """Write the model so that it loads again.

        `weights` are its weights where the module does not hold them; an empty mapping leaves them
        out: they are written elsewhere.
        """
        raise NotImplementedError

    def load(self, folder: Path) -> Any:
        """The module that `save` has written, in the precision it was written in."""
        raise NotImplementedError
