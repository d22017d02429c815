"""The model card: the training data, settings and scores of a model, beside its weights."""

import json
from collections.abc import Mapping
from typing import Any

from adnominal.etl.registry import DATASETS
from adnominal.training.models.learner import Learner

_LIMITS = {
    "pairs": "The model learnt from its premise–hypothesis pairs, including their artefacts.",
    **{name: dataset.training.limits for name, dataset in DATASETS.items()},
}
_KINDS = {
    "classification": "text-classification",
    "seq2seq": "text2text-generation",
}


def card(
    learner: Learner,
    *,
    task: str,
    train_examples: int,
    settings: Mapping[str, Any],
    figures: Mapping[str, float],
    code: str,
) -> str:
    """Return Markdown with the header that the Hugging Face hub reads.

    `train_examples` is the number of training examples used, `settings` are those that decide the
    weights, and `figures` are the scores by ``PART/NAME``.
    """
    dataset, model = learner.dataset, learner.name
    is_ours = dataset.kind == "seq2seq" and learner.pretrained is None
    kind = "text-generation" if learner.instructed else _KINDS[dataset.kind]
    header = [
        "---",
        f"library_name: {'pytorch' if is_ours else 'transformers'}",
        f"pipeline_tag: {kind}",
        "language: en",
        f"tags: [adnominal, {dataset.task}]",
    ]
    if learner.pretrained is not None:
        header.append(f"base_model: {json.dumps(learner.pretrained)}")
    header.append("---")
    sources = [f"{s.table}, edition {s.edition}, version {s.version}" for s in dataset.sources]
    sizes = {part: f"{len(rows):,}" for part, rows in dataset.parts.items()}
    if train_examples < len(dataset.parts["train"]):
        sizes["train"] = f"{train_examples:,} of {sizes['train']}"
    sizes_text = ", ".join(f"{size} {part}" for part, size in sizes.items())
    lines = [
        *header,
        "",
        f"# {dataset.task}: {model}",
        "",
        f"Trained on {'; '.join(sources)} (split {dataset.scheme} {dataset.fold}".rstrip()
        + f"): {sizes_text}.",
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
