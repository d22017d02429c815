"""The model card: the training data, settings and scores of a model, beside its weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from etl.registry import DATASETS
from training.tasks import Dataset

_LIMITS = {
    "sentences": "The model knows only its corpus, with all of its biases and gaps.",
    "pairs": "The model learnt from its premise–hypothesis pairs, including their artefacts.",
    **{name: dataset.training.limits for name, dataset in DATASETS.items()},
}
_KINDS = {
    "classification": "text-classification",
    "seq2seq": "text2text-generation",
    "masked": "fill-mask",
}


def card(
    dataset: Dataset,
    *,
    task: str,
    model: str,
    settings: Mapping[str, Any],
    figures: Mapping[str, float],
    code: str,
) -> str:
    """Return Markdown with the header that the Hugging Face hub reads.

    `settings` are those that decide the weights; `figures` are the scores by ``PART/NAME``.
    """
    header = [
        "---",
        "library_name: pytorch" if dataset.kind == "seq2seq" else "library_name: transformers",
        f"pipeline_tag: {_KINDS[dataset.kind]}",
        "language: en",
        f"tags: [adnominal, {dataset.task}]",
    ]
    if dataset.labels:
        header.append(f"base_model: {json.dumps(model)}")
    header.append("---")
    sources = [f"{s.table}, edition {s.edition}, version {s.version}" for s in dataset.sources]
    sizes = ", ".join(f"{len(rows):,} {part}" for part, rows in dataset.parts.items())
    lines = [
        *header,
        "",
        f"# {dataset.task}: {model}",
        "",
        f"Trained on {'; '.join(sources)} (split {dataset.scheme} {dataset.fold}".rstrip()
        + f"): {sizes}.",
        "",
    ]
    if dataset.kind == "masked":
        lines += [
            "The part val is held out by a hash of the text, with every masked token shown as the "
            "mask. Loss is in nats per masked token; majority and unigram are baselines from the "
            "token frequencies in training, without the text.",
            "",
        ]
    if dataset.labels:
        lines += [f"Classes: {', '.join(dataset.labels)}.", ""]
    lines += ["## Scores", "", "| part and score | value |", "| --- | --: |"]
    lines += [f"| {name} | {value:.4f} |" for name, value in figures.items()]
    lines += ["", "## Limits", "", _LIMITS[task], "", "## Settings", "", "```json"]
    lines += [json.dumps(settings, indent=1, ensure_ascii=False, default=str), "```", ""]
    lines += [f"Code version {code}.", ""]
    return "\n".join(lines)
