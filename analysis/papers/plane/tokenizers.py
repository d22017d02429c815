"""How a model's tokenizer splits words, for the subword analyses (PLANE, section 6)."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from conf import UserError

Tokenize = Callable[[str], Sequence[str]]


@cache
def splitter(model: str) -> Callable[[str], list[str]]:
    """The function from a word, as it stands within a sentence, to its subwords.

    `model` is a folder, the name of a model that a Python package carries, or a hub name that was
    downloaded before: nothing is fetched for a report.

    Raises:
        UserError: no tokenizer of that name at hand.
    """
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(
            _folder(model), trust_remote_code=False, local_files_only=True
        )
    except (OSError, ValueError) as error:
        raise UserError(
            f"the tokenizer of {model} is not at hand; expected a folder, or a model of the hub "
            "that has been downloaded on this machine"
        ) from error
    # Byte-level tokenizers write the space before a word into its first subword.
    return lambda word: list(tokenizer.tokenize(f" {word}"))


def _folder(model: str) -> str:
    name = model.replace("-", "_")
    spec = importlib.util.find_spec(name) if name.isidentifier() else None
    if spec is not None and spec.origin is not None:
        carried = Path(spec.origin).parent / "model"
        if (carried / "tokenizer.json").is_file():
            return str(carried)
    return model
