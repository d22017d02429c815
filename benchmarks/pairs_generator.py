"""Parts of a corpus dense in pairs, with new words in every part.

    python -m benchmarks.pairs_generator FOLDER FIRST LAST      (parts numbered FIRST to LAST - 1)

A part has DepCC's layout, and each sentence consists of an adjective and its noun. A gigabyte
therefore has as many pairs as twelve of running text, and sums and tables are measured rather than
reading. Words are drawn by rank from a Zipf law with two regimes (Ferrer i Cancho and Solé 2001):
the first thousands of words follow 1/r, all others a steeper power without limit, so that later
parts continue to bring new words (Heaps' law). The words of a pair are drawn independently, so more
pairs are distinct than in running text, which is the harder case for sums. The same seed gives the
same bytes.
"""

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from isal import igzip

PAIRS = 1_750_000  # pairs per part
_AT_ONCE = 250_000
_MOST = 10**9  # maximum rank
_LETTERS = [c + v for c in "bcdfghjklmnpqrstvwxz" for v in ("a", "e", "i", "o", "u")]


class Law(NamedTuple):
    """The frequency of the word of rank r: proportional to 1/(r + offset) up to rank `bend`, then
    to r**-power."""

    offset: float
    bend: float
    power: float

    def draw(self, rng: np.random.Generator, size: int) -> npt.NDArray[np.int64]:
        """Draw ranks, starting at 0."""
        head = np.log((self.bend + self.offset) / self.offset)
        rest = 1 / (self.power - 1)
        even = rng.random(size) * (head + rest)
        first = self.offset * np.exp(np.minimum(even, head)) - self.offset
        left = np.clip(1 - (even - head) / rest, 1e-12, 1)
        beyond = (self.bend + self.offset) * left ** (-rest) - self.offset
        ranks = np.where(even < head, first, beyond)
        return np.asarray(np.minimum(ranks, _MOST), np.int64)


ADJECTIVES = Law(20, 20_000, 1.6)
NOUNS = Law(40, 100_000, 1.6)


def words_of(ranks: npt.NDArray[np.int64]) -> pa.StringArray:
    """A word for each rank, made from its digits in base 100: frequent words are short, and words
    are unique."""
    syllables = pa.array([*_LETTERS, ""])
    left, columns = ranks, []
    while True:
        columns.append(np.where(left >= 0, left % 100, 100))
        left = np.where(left >= 100, left // 100 - 1, -1)
        if (left < 0).all():
            break
    parts = [syllables.take(pa.array(column)) for column in columns]
    return pc.binary_join_element_wise(*parts, "")


def _rows(ranks: npt.NDArray[np.int64], kind: str) -> pa.StringArray:
    """The row of each word in its sentence, made once for each distinct word."""
    known, place = np.unique(ranks, return_inverse=True)
    words = words_of(known)
    if kind == "adjective":
        columns = ("0\t", words, "\t", words, "\tJJ\tJJ\t\t1\tamod\t1:amod\tO\n")
    else:
        columns = ("1\t", words, "\t", words, "\tNN\tNN\t\t1\tROOT\t1:ROOT\tO\n\n")
    return pc.binary_join_element_wise(*columns, "").take(pa.array(place))


def write(path: Path, seed: int, pairs: int = PAIRS) -> None:
    """Write a gzip-compressed part with this number of pairs."""
    rng = np.random.default_rng([2001, seed])
    fresh = path.with_name(path.name + ".new")
    with igzip.open(fresh, "wb", compresslevel=1) as file:
        file.write(b"# parser = none; generated, for benchmarks\n\n")
        for start in range(0, pairs, _AT_ONCE):
            size = min(_AT_ONCE, pairs - start)
            adjectives = _rows(ADJECTIVES.draw(rng, size), "adjective")
            nouns = _rows(NOUNS.draw(rng, size), "noun")
            text = pc.binary_join_element_wise(adjectives, nouns, "")
            file.write(memoryview(text.buffers()[2])[: int(pc.sum(pc.binary_length(text)).as_py())])
    fresh.replace(path)


def write_parts(folder: Path, first: int, last: int) -> list[Path]:
    """Write the parts numbered `first` to `last` - 1; existing ones are left unchanged."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"part-{number:05}.gz" for number in range(first, last)]
    missing = [(path, seed) for seed, path in enumerate(paths, start=first) if not path.exists()]
    if missing:
        with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
            list(pool.map(write, *zip(*missing, strict=True)))
    return paths


if __name__ == "__main__":
    write_parts(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
