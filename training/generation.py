"""Sequence to sequence from scratch as something the engine trains."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from training import launch, seq2seq
from training.batching import Ids
from training.learner import Learner
from training.settings import Settings
from training.tasks import Dataset


class Seq2SeqLearner(Learner):
    """A model of `training.seq2seq` with its vocabularies and data."""

    def __init__(self, dataset: Dataset, settings: Settings) -> None:
        self.dataset = dataset
        own = settings.seq2seq
        self.name = f"{own.architecture}-{own.size}"
        self._settings = own
        # The weights are drawn anew for each seed; vocabularies and data are the same.
        self._blank, self._data = seq2seq.build(dataset, own, seed=0)

    def model(self, seed: int, dtype: Any = None) -> Any:
        """A model whose weights are drawn by `seed`."""
        return seq2seq.build(self.dataset, self._settings, seed)[0]

    def parameters(self) -> int:
        """How many weights the model has."""
        return sum(p.numel() for p in self._blank.parameters())

    def lengths(self, part: str) -> Ids:
        """Tokens of source and target."""
        return self._data.lengths(part)

    def collate(self, part: str, indices: Ids) -> dict[str, Any]:
        """input_ids, attention_mask, labels."""
        return self._data.collate(part, indices)

    def tokens(self, batch: Mapping[str, Any]) -> tuple[int, int]:
        """Source and target tokens of a batch, and the same with padding."""
        mask, labels = batch["attention_mask"], batch["labels"]
        return int(mask.sum() + (labels >= 0).sum()), mask.numel() + labels.numel()

    def logits(self, model: Any, batch: Mapping[str, Any]) -> Any:
        """Of each target token, teacher-forced, and word."""
        return model(**batch).logits

    def texts(self, model: Any, batch: Mapping[str, Any]) -> list[str]:
        """What the model generates."""
        module = getattr(model, "module", model)
        # Processes that share out the weights have to take every step together.
        return self._data.decode(module, batch, synced=launch.world_size() > 1)

    def save(self, model: Any, folder: Path, weights: Mapping[str, Any] | None = None) -> None:
        """A folder that `training.seq2seq.load` reads."""
        seq2seq.save(folder, model, self._data.vocabularies, weights)

    def load(self, folder: Path) -> Any:
        """What `save` has written."""
        return seq2seq.load(folder)[0]
