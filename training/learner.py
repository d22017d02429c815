"""What the engine trains: a model with its data, whatever kind of model it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from training.batching import Ids
from training.tasks import Dataset

__all__ = ["Learner", "Outputs"]


@dataclass(frozen=True)
class Outputs:
    """What a model says of a batch: logits (rows, classes), or generated texts; and its mean loss.

    `loss` is None where the batch has no labels, `texts` where none were asked for. `sums` are
    other figures that are summed over the terms of the loss, by name.
    """

    loss: float | None
    logits: npt.NDArray[np.float32] | None = None
    texts: list[str] | None = None
    sums: Mapping[str, float] = field(default_factory=dict)


class Learner(Protocol):
    """A model with its data. `name` is what predictions and model cards call the model."""

    dataset: Dataset
    name: str

    def model(self, seed: int) -> Any:
        """The module to train, in single precision on the CPU; its new weights follow `seed`."""

    def parameters(self) -> int:
        """How many weights the model has."""

    def prepare(self) -> None:
        """Encode the parts, or read what is encoded; called before anything below."""

    def lengths(self, part: str) -> Ids:
        """What each example of a part costs, in tokens."""

    def begin_epoch(self, epoch: int) -> None:
        """Called before the training examples of an epoch: what is drawn anew in each follows."""

    def terms(self, part: str, indices: Ids) -> Ids:
        """How many terms each of these examples has in the mean that `loss` is."""

    def truncated(self) -> dict[str, int]:
        """How many examples of each part the limit of tokens has shortened."""

    def collate(self, part: str, indices: Ids) -> dict[str, Any]:
        """A batch, padded, as tensors on the CPU."""

    def tokens(self, batch: Mapping[str, Any]) -> tuple[int, int]:
        """Tokens of a batch, and the same with padding."""

    def loss(self, model: Any, batch: Mapping[str, Any]) -> Any:
        """The mean loss of a batch, as a scalar tensor in single precision."""

    def outputs(self, model: Any, batch: Mapping[str, Any], *, answers: bool) -> Outputs:
        """Loss and, with `answers`, predictions; the model is in evaluation mode, no gradients."""

    def save(self, weights: Mapping[str, Any], folder: Path) -> None:
        """Write the model with those weights (all of them, on the CPU) so that it loads again."""

    def load(self, folder: Path) -> Any:
        """The module that `save` has written."""
