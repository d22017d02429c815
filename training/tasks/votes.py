"""Soft labels: the shares of people's votes on an item (table label_votes), to train on.

People disagree about many items; the majority's label hides how much. With ``labels=soft`` a model
learns the distribution of their votes, by the cross-entropy against it (Peterson et al. 2019).
"""

import dataclasses
import logging
from collections.abc import Mapping

import numpy as np

from adnominal.conf import UserError
from adnominal.etl.label_votes import TABLE, add_votes
from adnominal.etl.lake import arrow
from adnominal.training import launch
from adnominal.training.tasks.dataset import Dataset, Examples, Source, Task

log = logging.getLogger("adnominal")

# Votes by item and label.
Votes = Mapping[str, Mapping[str, int]]


def with_votes(task: Task, dataset: Dataset, lake: str) -> Dataset:
    """Return the dataset with the shares of votes as soft labels of all parts.

    Rows without votes keep their label. Votes for labels that are no class of the task are dropped.

    Raises:
        UserError: the model learns no classes, or no training row has votes.
    """
    if dataset.kind != "classification":
        raise UserError(f"labels=soft: {dataset.task} has texts as answers; expected labels=gold")
    version, votes = read(lake, task.votes_of, dataset.edition)
    classes = task.class_of_label(dataset)
    parts = {}
    for part, examples in dataset.parts.items():
        if examples.labels is None:
            parts[part] = examples
            continue
        parts[part], voted = _with_soft_labels(examples, votes, classes, len(dataset.labels))
        if part == "train" and not voted:
            raise UserError(
                f"labels=soft: no votes on training rows of {task.votes_of}, edition "
                f"{dataset.edition}, in the table {TABLE}; expected those of "
                "etl/annotate_adept.py finish or etl/import_pairs.py votes=, or labels=gold"
            )
        if launch.rank() == 0:
            log.info("soft labels: %d of %d rows of %s have votes", voted, len(examples), part)
    source = Source(TABLE, dataset.edition, version)
    return dataclasses.replace(dataset, parts=parts, sources=(*dataset.sources, source))


def read(lake: str, dataset: str, edition: str) -> tuple[int, Votes]:
    """Return the version of the table and all votes on items of an edition, sources added up.

    A lake without the table has version 0 and no votes.
    """
    version = arrow.version(lake, TABLE)
    if version is None:
        return 0, {}
    where = [("dataset", "=", dataset), ("edition", "=", edition)]
    columns = ["item_id", "label", "votes"]
    rows = arrow.read(lake, TABLE, version=version, where=where, columns=columns)
    votes: dict[str, dict[str, int]] = {}
    for row in rows.to_pylist():
        add_votes(votes, row)
    return version, votes


def _with_soft_labels(
    examples: Examples, votes: Votes, classes: Mapping[str, int], size: int
) -> tuple[Examples, int]:
    """Return rows with soft labels of `size` classes, and the number of rows with votes."""
    assert examples.labels is not None
    counts = np.zeros((len(examples), size), dtype=np.float32)
    for row, item in enumerate(examples.item_ids.to_pylist()):
        for label, count in votes.get(item, {}).items():
            if label in classes:
                counts[row, classes[label]] += count
    totals = counts.sum(axis=1)
    unvoted = np.flatnonzero(totals == 0)
    counts[unvoted, examples.labels[unvoted]] = 1
    shares = counts / counts.sum(axis=1, keepdims=True)
    return dataclasses.replace(examples, soft_labels=shares), len(examples) - len(unvoted)
