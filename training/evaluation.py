"""Evaluate a model on a part of a dataset: exact loss, and scores or texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adnominal.training.batching import Ids, pad_rows
from adnominal.training.models.learner import IGNORED


@dataclass(frozen=True)
class Evaluation:
    """The result on a part: `predicted` classes or texts, `scores` of classes, mean loss."""

    predicted: npt.NDArray[np.int64] | list[str] | None
    scores: npt.NDArray[np.float64] | None
    loss: float | None


def loss_sum(logits: Any, labels: Any, label_smoothing: float = 0.0) -> Any:
    """Return the summed cross-entropy of all labelled terms in single precision.

    `logits` are [..., classes]; `labels` have the same shape without classes and are `IGNORED`
    where nothing is learnt, or are distributions over the classes (soft labels). The sum is needed
    because a mean of means over batches, micro-batches or processes of different sizes differs from
    the mean.
    """
    return _losses(logits, labels, "sum", label_smoothing)


def loss_terms(logits: Any, labels: Any) -> Any:
    """Return the sum of each row's losses and the number of its terms, [rows, 2]."""
    import torch

    losses = _losses(logits, labels, "none").view(len(labels), -1).sum(dim=1)
    if labels.is_floating_point():
        # A batch without examples has distributions of zeros.
        terms = labels.sum(dim=1) > 0
    else:
        terms = (labels != IGNORED).view(len(labels), -1).sum(dim=1)
    return torch.stack([losses, terms.to(losses.dtype)], dim=1)


def _losses(logits: Any, labels: Any, reduction: str, label_smoothing: float = 0.0) -> Any:
    """The cross entropy of logits [..., classes], reduced as PyTorch's `reduction` says.

    `labels` are class numbers [...] with `IGNORED` for places without one, or distributions of
    people's votes [rows, classes], which are floats.
    """
    import torch

    flat = logits.float().reshape(-1, logits.shape[-1])
    if labels.is_floating_point():
        return torch.nn.functional.cross_entropy(
            flat, labels, reduction=reduction, label_smoothing=label_smoothing
        )
    return torch.nn.functional.cross_entropy(
        flat,
        labels.reshape(-1),
        reduction=reduction,
        ignore_index=IGNORED,
        label_smoothing=label_smoothing,
    )


def encode_texts(texts: Sequence[str], device: Any) -> Any:
    """Return texts as rows of bytes, padded with `IGNORED`: processes exchange only tensors."""
    # One byte more, so that no row is empty.
    rows = [[*text.encode(), IGNORED] for text in texts]
    return pad_rows(rows, IGNORED).to(device)


def decode_texts(rows: npt.NDArray[np.int64]) -> list[str]:
    """Return the texts of `encode_texts`."""
    return [bytes(row[row >= 0].astype(np.uint8)).decode() for row in rows]


def evaluation_of(predictions: Any, terms: Any, numbers: Ids, kind: str | None) -> Evaluation:
    """Return the evaluation of rows that were predicted in the order of their `numbers`.

    `predictions` are logits, or texts, of a dataset's `kind` (None: of the loss alone), and `terms`
    are the rows' `loss_terms` (None: they have no labels).
    """
    import torch

    order = np.argsort(numbers, kind="stable")
    loss = None
    if terms is not None:
        total, count = np.asarray(terms, dtype=np.float64).sum(axis=0)
        loss = float(total / count) if count else None
    if kind is None:
        return Evaluation(None, None, loss)
    if kind == "seq2seq":
        return Evaluation([predictions[at] for at in order], None, loss)
    logits = torch.from_numpy(np.asarray(predictions))[order]
    scores = logits.double().softmax(dim=1).numpy()
    return Evaluation(scores.argmax(axis=1), scores, loss)


def figures_line(figures: Mapping[str, float]) -> str:
    """Format the main figures on one line."""
    names = ("loss", "accuracy", "majority", "macro_f1")
    return "  ".join(
        f"{name} {value:.4f}"
        for name, value in figures.items()
        if name.split("/")[-1] in names and name.count("/") == 1
    )
