"""Requests as tasks of lm-evaluation-harness.

All requests of a chunk are one task, whose rows say everything: their text, examples and
completions. Examples are therefore not the harness's to draw: the sampler hands out those of the
row. The harness scores nothing; its samples are read.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import pyarrow as pa
from lm_eval.api.samplers import ContextSampler
from lm_eval.api.task import ConfigurableTask

from adnominal.training.asking.questions import Request

NAME = "adnominal"
_TEXTS = pa.list_(pa.string())
_SCHEMA = pa.schema(
    [
        ("text", pa.string()),
        ("completions", _TEXTS),
        ("words", _TEXTS),
        ("suffix", pa.string()),
        ("example_texts", _TEXTS),
        ("example_completions", _TEXTS),
        # Not known to the harness, which asks for one.
        ("target", pa.string()),
    ]
)


class _RowsOwnExamples(ContextSampler):  # type: ignore[misc]
    """Gives each row the examples that it brings."""

    def sample(
        self, n: int, eval_doc: Mapping[str, Any] | None = None, **_: Any
    ) -> list[dict[str, Any]]:
        assert eval_doc is not None
        pairs = zip(eval_doc["example_texts"], eval_doc["example_completions"], strict=True)
        return [{"text": text, "target": target, "completions": []} for text, target in pairs]


def task(
    requests: Sequence[Request], delimiter: str, generation: Mapping[str, Any] | None
) -> ConfigurableTask:
    """Return the task of asking these requests, all with the same number of examples.

    `delimiter` separates examples where there is no conversation. `generation` are the harness's
    settings of answers that are written; None for probabilities of completions.
    """
    config: dict[str, Any] = {
        "task": NAME,
        "custom_dataset": lambda **_: {"test": _dataset(requests)},
        "test_split": "test",
        # The sampler is given the row only where the examples seem to be of the same split.
        "fewshot_split": "test",
        "fewshot_config": {"sampler": _RowsOwnExamples},
        "num_fewshot": len(requests[0].examples),
        "fewshot_delimiter": delimiter,
        "target_delimiter": "",
        "doc_to_text": "text",
        "doc_to_target": "target",
        "process_results": lambda *_: {},
    }
    if generation is None:
        config |= {"output_type": "multiple_choice", "doc_to_choice": "completions"}
    else:
        # Without `until`, answers would end at the delimiter, which lies within the reasoning.
        config |= {"output_type": "generate_until"}
        config["generation_kwargs"] = {**generation, "until": []}
    return ConfigurableTask(config=config)


def _dataset(requests: Sequence[Request]) -> datasets.Dataset:
    rows = [
        {
            "text": request.text,
            "completions": request.completions,
            "words": list(request.words),
            "suffix": request.suffix,
            "example_texts": [text for text, _ in request.examples],
            "example_completions": [completion for _, completion in request.examples],
            "target": "",
        }
        for request in requests
    ]
    return datasets.Dataset(pa.Table.from_pylist(rows, _SCHEMA), fingerprint=NAME)
