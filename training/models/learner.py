"""The interface of trainable models: a model of any kind with its data."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adnominal.training.batching import Ids
from adnominal.training.tasks import Dataset

# The label of tokens that are ignored in the loss, the default of torch's cross-entropy.
IGNORED = -100
# The name of soft labels [rows, classes] in a batch: distributions, in place of labels in the loss.
SOFT = "soft_labels"


class Learner:
    """A model with its data; `name` is the model's name in predictions and model cards.

    `pretrained` is the name or folder of the initial model; None for training from scratch.
    `instructed` models write their answers after a prompt.
    """

    dataset: Dataset
    name: str
    pretrained: str | None = None
    instructed = False

    def model(self, seed: int, dtype: Any = None) -> Any:
        """Return the module to train; its new weights are drawn by `seed`.

        `dtype` is the precision of pretrained weights (None: single). ZeRO 3 loads it in shards.
        """
        raise NotImplementedError

    def parameters(self) -> int:
        """Return the number of weights of the model, without adapters."""
        raise NotImplementedError

    def trained_count(self) -> int:
        """Return the number of trained weights: adapters and new heads, or all."""
        return self.parameters()

    def prepare(self) -> None:
        """Encode the parts; called before anything below."""

    def lengths(self, part: str) -> Ids:
        """Return the length of each example of a part, in tokens."""
        raise NotImplementedError

    def truncated(self) -> dict[str, int]:
        """Return the number of examples of each part that were truncated."""
        return dict.fromkeys(self.dataset.parts, 0)

    def collate(self, part: str, indices: Ids) -> dict[str, Any]:
        """Return a padded batch as tensors on the CPU, with any labels under ``labels``."""
        raise NotImplementedError

    def tokens(self, batch: Mapping[str, Any]) -> tuple[int, int]:
        """Return the number of tokens of a batch, without and with padding."""
        mask = batch["attention_mask"]
        return int(mask.sum()), mask.numel()

    def logits(self, model: Any, batch: Mapping[str, Any]) -> Any:
        """Return the model's logits, [..., classes], at the positions of the batch's labels."""
        raise NotImplementedError

    def scores(self, model: Any, batch: Mapping[str, Any], logits: Any) -> Any:
        """Return a logit of each example and class; only called for classification.

        `logits` are those of the batch's labels, or None if it has none.
        """
        raise NotImplementedError

    def texts(self, model: Any, batch: Mapping[str, Any]) -> list[str]:
        """Return the generated texts; only called for models that generate text."""
        raise NotImplementedError

    def save(self, model: Any, folder: Path, weights: Mapping[str, Any] | None = None) -> None:
        """Write the model so that it can be loaded again.

        `weights` are its weights if the module does not hold them; with an empty mapping, no
        weights are written (they are written elsewhere).
        """
        raise NotImplementedError

    def load(self, folder: Path) -> Any:
        """Load the module that `save` has written, in its precision."""
        raise NotImplementedError
