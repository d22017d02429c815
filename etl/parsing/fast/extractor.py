"""The compiled extractor with its model: checked before work starts, loaded once per process."""

import importlib
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from adnominal.conf import UserError
from adnominal.etl.amod.kernel import BUILD_COMMAND, REMEDY
from adnominal.etl.parsing.fast.model import FORMAT, MODEL, load


def compiled_extension() -> ModuleType:
    """The compiled extension.

    Raises:
        UserError: it is missing, or was built from another version of its sources.
    """
    try:
        module = importlib.import_module("adnominal.etl.parsing.fast._fast")
    except ImportError as error:
        raise UserError(
            f"parser=fast: its compiled extension is missing ({error}); {REMEDY}, or use "
            "parser=spacy"
        ) from error
    # An older build computes other features from the same tables and would find wrong pairs.
    built = getattr(module, "FORMAT", "an earlier one")
    if built != FORMAT:
        raise UserError(
            f"parser=fast: its compiled extension is for models of the format {built}, expected "
            f"{FORMAT}; build it again with `{BUILD_COMMAND}`"
        )
    return module


@cache
def tables(model: str | None = None) -> dict[str, bytes]:
    """The tables of a model file, read once per process; None is the model of the package."""
    return load(Path(model) if model else MODEL)


def new_extractor(model: str | None = None, **rules: bool) -> Any:
    """An extractor with the model's tables; for the names of `rules` see `Extractor` in _fast.c.

    Raises:
        UserError: the extension was not built, or the model cannot be read.
    """
    try:
        return compiled_extension().Extractor(tables(model), **rules)
    except ValueError as error:
        raise UserError(
            f"parser=fast: the model does not fit this version ({error}); train it again"
        ) from error
