"""Evaluate a model on a part of a dataset: exact loss, and scores or texts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from adnominal.training import launch
from adnominal.training.batching import Ids, evaluation_batches
from adnominal.training.models.learner import IGNORED, Learner


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
    import torch
    from torch.nn.utils.rnn import pad_sequence

    # One byte more, so that no row is empty.
    rows = [torch.tensor([*text.encode(), IGNORED], dtype=torch.int64) for text in texts]
    return pad_sequence(rows, batch_first=True, padding_value=IGNORED).to(device)


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


@dataclass(frozen=True)
class Batches:
    """How to answer the rows of a part: `size` at a time in each process.

    With `shared`, processes divide the rows among themselves; otherwise each answers all rows of
    its own part. `advance` is called with the number of rows of each batch.
    """

    size: int
    shared: bool = True
    advance: Callable[[int], None] = lambda rows: None


@dataclass
class _ProcessAnswers:
    """The answers of one process: `rows` by number, and their logits or texts."""

    rows: list[Ids] = field(default_factory=list)
    logits: Any = None
    texts: list[str] = field(default_factory=list)


def answer(learner: Learner, model: Any, part: str, batches: Batches) -> Evaluation:
    """Answer the rows of a part, which have no labels, by `model` (a module or an engine).

    Processes that answer together take the same number of steps, because under ZeRO 3 a forward
    pass is collective. Batches group rows of similar lengths and depend only on the rows.
    """
    import torch

    kind = learner.dataset.kind
    place = (launch.rank(), launch.world_size()) if batches.shared else (0, 1)
    device = next(model.parameters()).device if not hasattr(model, "device") else model.device
    model.eval()
    local, score_batches = _ProcessAnswers(), []
    with torch.no_grad():
        for rows in evaluation_batches(learner.lengths(part), batches.size, *place):
            batch = learner.collate(part, rows if len(rows) else np.zeros(1, dtype=np.int64))
            batch = {name: value.to(device, non_blocking=True) for name, value in batch.items()}
            texts = learner.texts(model, batch) if kind == "seq2seq" else []
            if kind == "classification":
                scores = learner.scores(model, batch, None)
            if not len(rows):
                continue
            local.rows.append(rows)
            local.texts += texts
            if kind == "classification":
                # Kept on the device, so that the next batch does not wait for it.
                score_batches.append(scores.float())
            batches.advance(len(rows))
    if score_batches:
        local.logits = torch.cat(score_batches).cpu().numpy()
    processes = launch.gather(local) if batches.shared else [local]
    numbers = np.concatenate([rows for process in processes for rows in process.rows])
    if kind == "seq2seq":
        texts = [text for process in processes for text in process.texts]
        return evaluation_of(texts, None, numbers, kind)
    logits = [process.logits for process in processes if process.logits is not None]
    return evaluation_of(np.concatenate(logits), None, numbers, kind)


def figures_line(figures: Mapping[str, float]) -> str:
    """Format the main figures on one line."""
    names = ("loss", "accuracy", "majority", "macro_f1")
    return "  ".join(
        f"{name} {value:.4f}"
        for name, value in figures.items()
        if name.split("/")[-1] in names and name.count("/") == 1
    )
