"""Safe readers for the pickles of two releases.

Loading a pickle imports and calls whatever its bytes name. These readers reject every name that is
not allowed, before anything is imported: `read_plain_values` allows no names (lists of strings and
integers need none), `array` allows the three names of which a NumPy array consists. No other pickle
is read in this project (CONTRIBUTING.md, Security).
"""

import io
import pickle
import pickletools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from adnominal.conf import UserError

# The module of NumPy 1 and that of NumPy 2 for the same function.
_RECONSTRUCT = ("numpy.core.multiarray", "numpy._core.multiarray")
# The largest file of the releases has 6 MB.
_MOST_BYTES = 256 << 20
# The operations that store an object under a number.
_STORING = ("PUT", "BINPUT", "LONG_BINPUT")


class _Unpickler(pickle.Unpickler):
    """Rejects every name not in `allowed`, which maps names to classes and functions.

    `expected` describes the allowed names.
    """

    def __init__(self, file: Path, allowed: Mapping[tuple[str, str], Any], expected: str) -> None:
        size = file.stat().st_size
        if size > _MOST_BYTES:
            raise UserError(f"{file}: a pickle of {size} bytes; expected at most {_MOST_BYTES}")
        self._content = file.read_bytes()
        super().__init__(io.BytesIO(self._content))
        self._file = file
        self._allowed = allowed
        self._expected = expected

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._allowed:
            self._refuse(module, name, self._expected)
        return self._allowed[module, name]

    def persistent_load(self, pid: Any) -> NoReturn:
        self._refuse("persistent object", str(pid), "none")

    def _refuse(self, module: str, name: str, expected: str) -> NoReturn:
        raise UserError(
            f"{self._file}: the pickle names {module}.{name}, which could run any code; expected "
            f"{expected}, as in the release. Ask the source of the file to convert it to text"
        )

    @property
    def size(self) -> int:
        """The number of bytes of the pickle."""
        return len(self._content)

    def _check_stored_numbers(self) -> None:
        """Refuse an object stored under a number that no pickle of this size has.

        Loading reserves 16 bytes for each number below it, in a file of any size.
        """
        for operation, number, _ in pickletools.genops(self._content):
            if operation.name in _STORING and int(number or 0) > self.size:
                raise ValueError(f"an object has the number {number}")

    def read(self) -> Any:
        try:
            self._check_stored_numbers()
            return self.load()
        except UserError:
            raise
        except Exception as error:  # damaged bytes can raise any exception
            text = " ".join(str(error).split())
            raise UserError(f"{self._file}: not readable as a pickle: {text}") from error


def read_plain_values(file: Path) -> Any:
    """The content of a pickle of only lists, tuples, dicts, texts and numbers.

    Raises:
        UserError: the pickle names a class or function (which is not loaded), or is damaged.
    """
    return _Unpickler(file, {}, "no class or function at all").read()


def array(file: Path) -> npt.NDArray[np.float64]:
    """The array of numbers in a pickle.

    Raises:
        UserError: the pickle names anything except the three parts of an array (which is not
            loaded), is damaged, or does not contain numbers.
    """
    from numpy._core.multiarray import _reconstruct

    allowed = {(module, "_reconstruct"): _reconstruct for module in _RECONSTRUCT}
    allowed |= {("numpy", "ndarray"): np.ndarray, ("numpy", "dtype"): np.dtype}
    expected = "only numpy's _reconstruct, ndarray and dtype"
    unpickler = _Unpickler(file, allowed, expected)
    value = unpickler.read()
    try:
        if isinstance(value, np.ndarray) and value.nbytes > unpickler.size:
            raise ValueError(f"the shape {value.shape} has more numbers than the file")
        numbers = np.asarray(value)
        if numbers.dtype.kind not in "biuf":
            raise ValueError(f"values of type {numbers.dtype}")
        return numbers.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise UserError(f"{file}: expected an array of numbers: {error}") from error
