"""Weights in PyTorch's own files (``pytorch_model*.bin``), for models without safetensors.

These files are pickles. transformers reads them with ``weights_only``: tensors are loaded, and a
file that names any other class or function is refused, so that no code in it runs. They cannot be
read one tensor at a time: each process loads them whole, which ZeRO 3 is to avoid.
"""

import contextlib
import functools
import logging
import os
import pickle
from collections.abc import Iterator

from adnominal.conf import UserError
from adnominal.training import launch
from adnominal.training.sharding import stage_of

# The hub's bot would be asked, in a thread, to convert a model that has only pickles.
os.environ.setdefault("DISABLE_SAFETENSORS_CONVERSION", "1")
# What torch raises, besides RuntimeError and OSError, at a damaged file or one with other content.
_PICKLE_ERRORS = (pickle.UnpicklingError, EOFError, LookupError, TypeError, AttributeError)
log = logging.getLogger("adnominal")


def is_pickled(path: str) -> bool:
    """Whether the weights of a folder or a name on the hub are pickles, without safetensors."""
    from transformers.utils import (
        SAFE_WEIGHTS_INDEX_NAME,
        SAFE_WEIGHTS_NAME,
        WEIGHTS_INDEX_NAME,
        WEIGHTS_NAME,
    )
    from transformers.utils.hub import has_file

    if any(has_file(path, name) for name in (SAFE_WEIGHTS_NAME, SAFE_WEIGHTS_INDEX_NAME)):
        return False
    return any(has_file(path, name) for name in (WEIGHTS_NAME, WEIGHTS_INDEX_NAME))


def check_pickled(name: str, path: str, deepspeed: str) -> None:
    """Raise `UserError` if the weights at `path` are to be sharded and are pickles.

    `name` is the value of ``model=``.
    """
    if stage_of(deepspeed) == 3 and is_pickled(path):
        raise UserError(
            f"model={name} deepspeed={deepspeed}: its weights are only in pytorch_model.bin, which "
            "each process would load whole; expected safetensors: load model and tokenizer with "
            "transformers, write both with save_pretrained(FOLDER), and give model=FOLDER"
        )


def report_pickled(path: str) -> None:
    """Report, once in a command, that each process loads the weights whole, if they are pickles."""
    if is_pickled(path):
        _report(path)


@functools.cache
def _report(path: str) -> None:
    if launch.rank() == 0:
        log.info("%s has no safetensors: each process loads pytorch_model.bin whole", path)


@contextlib.contextmanager
def explain_pickle_errors(path: str) -> Iterator[None]:
    """Raise `UserError` for what torch raises in the block at a pickle that it does not accept.

    torch's own message advises to run the code in the file. `path` is that of the weights.
    """
    try:
        yield
    except _PICKLE_ERRORS as error:
        # Errors of other types may have other causes.
        if not isinstance(error, pickle.UnpicklingError) and not is_pickled(path):
            raise
        raise UserError(
            f"model={path}: its weights are a pickle (.bin) that is damaged or has more than "
            "tensors, which could run code and is not read; expected tensors by name, or "
            "safetensors"
        ) from error
