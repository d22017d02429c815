"""A lake with rows of every task, and small classifiers with random weights."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from adnominal.training.models.loading import Trained

Make = Callable[..., str]


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: str) -> Make:
    """A function that saves a classifier with random weights; `order` has its classes by id.

    Classifiers with the same seed and classes give the same answers in any order of classes.
    """
    import torch
    from transformers import (
        AutoConfig,
        AutoModelForSequenceClassification,
        AutoTokenizer,
    )

    def write_model(order: Sequence[str], *, seed: int = 0, trained: Trained | None = None) -> str:
        folder = tmp_path_factory.mktemp("classifier")
        config = AutoConfig.from_pretrained(tiny_encoder, num_labels=len(order))
        config.id2label = dict(enumerate(order))
        config.label2id = {name: at for at, name in enumerate(order)}
        torch.manual_seed(seed)
        model = AutoModelForSequenceClassification.from_config(config)
        places = [sorted(order).index(name) for name in order]
        with torch.no_grad():
            model.classifier.weight.copy_(10 * model.classifier.weight[places])
        model.save_pretrained(folder)
        AutoTokenizer.from_pretrained(tiny_encoder).save_pretrained(folder)
        if trained is not None:
            trained.write(folder)
        return os.fspath(folder)

    return write_model


def record(task: dict[str, Any], dataset: str, labels: Sequence[str], **more: Any) -> Trained:
    """The record that training saves with a model."""
    values: dict[str, Any] = {
        "edition": "published",
        "scheme": "published",
        "fold": "1",
        "outcomes": tuple(labels),
        "outcome_of": tuple(range(len(labels))),
        "pair": True,
        "max_length": None,
        "model": "base",
        "seed": 0,
        "instruction": None,
        "base_content": None,
        "longest_answer": None,
    }
    return Trained(task=task, dataset=dataset, labels=tuple(labels), **{**values, **more})


def results(out: Path) -> list[dict[str, Any]]:
    """The results of the runs below `out`."""
    return [json.loads(path.read_text()) for path in sorted(out.glob("*/result.json"))]
