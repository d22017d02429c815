"""Parts of a corpus dense in pairs, with new words in every part.

A part has DepCC's layout, and each sentence consists of an adjective and its noun. A gigabyte
therefore has as many pairs as twelve of running text, and sums and tables are measured rather than
reading. Words are drawn by rank from a Zipf law with two regimes (Ferrer i Cancho and Solé 2001):
the first thousands of words follow 1/r, all others a steeper power without limit, so that later
parts continue to bring new words (Heaps' law). The words of a pair are drawn independently, so more
pairs are distinct than in running text, which is the harder case for sums. The same seed gives the
same bytes.
"""

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from isal import igzip

Ranks = npt.NDArray[np.int64]

PAIRS = 1_750_000  # pairs per part
AT_ONCE = 250_000
HIGHEST_RANK = 10**9
CONSONANTS, VOWELS = "bcdfghjklmnpqrstvwxz", "aeiou"
SYLLABLES = [consonant + vowel for consonant in CONSONANTS for vowel in VOWELS]
ADJECTIVE_COLUMNS = "\tJJ\tJJ\t\t1\tamod\t1:amod\tO\n"
NOUN_COLUMNS = "\tNN\tNN\t\t1\tROOT\t1:ROOT\tO\n\n"


class Law(NamedTuple):
    """The frequency of the word of rank r: proportional to 1/(r + offset) up to rank `bend`, then
    to r**-power."""

    offset: float
    bend: float
    power: float

    def draw(self, rng: np.random.Generator, size: int) -> Ranks:
        """Draw ranks, starting at 0, by inverting the integral of the frequencies."""
        start = self.bend + self.offset
        head = np.log(start / self.offset)
        tail = 1 / (self.power - 1)
        even = rng.random(size) * (head + tail)
        in_head = self.offset * np.exp(np.minimum(even, head))
        left = np.clip(1 - (even - head) / tail, 1e-12, 1)
        in_tail = start * left**-tail
        ranks = np.where(even < head, in_head, in_tail) - self.offset
        return np.asarray(np.minimum(ranks, HIGHEST_RANK), np.int64)


ADJECTIVES = Law(20, 20_000, 1.6)
NOUNS = Law(40, 100_000, 1.6)


def words_of(ranks: Ranks) -> pa.StringArray:
    """A word for each rank, made from its digits in base 100: frequent words are short, and words
    are unique."""
    syllables = pa.array([*SYLLABLES, ""])
    none = len(SYLLABLES)
    digits: list[pa.Array] = []
    left = ranks
    while not digits or (left >= 0).any():
        digit = np.where(left >= 0, left % none, none)
        digits.append(syllables.take(pa.array(digit)))
        left = np.where(left >= none, left // none - 1, -1)
    return pc.binary_join_element_wise(*digits, "")


def rows_of(ranks: Ranks, number: str, columns: str) -> pa.StringArray:
    """The rows of words with this number in their sentences, made once for each distinct word."""
    distinct, places = np.unique(ranks, return_inverse=True)
    words = words_of(distinct)
    rows = pc.binary_join_element_wise(number, "\t", words, "\t", words, columns, "")
    return rows.take(pa.array(places))


def write(path: Path, seed: int, pairs: int = PAIRS) -> None:
    """Write a gzip-compressed part with this number of pairs."""
    rng = np.random.default_rng([2001, seed])
    unfinished = path.with_name(path.name + ".new")
    with igzip.open(unfinished, "wb", compresslevel=1) as file:
        file.write(b"# parser = none; generated, for benchmarks\n\n")
        for start in range(0, pairs, AT_ONCE):
            size = min(AT_ONCE, pairs - start)
            adjectives = rows_of(ADJECTIVES.draw(rng, size), "0", ADJECTIVE_COLUMNS)
            nouns = rows_of(NOUNS.draw(rng, size), "1", NOUN_COLUMNS)
            sentences = pc.binary_join_element_wise(adjectives, nouns, "")
            file.write("".join(sentences.to_pylist()).encode())
    unfinished.replace(path)


def write_parts(folder: Path, number: int) -> list[Path]:
    """The first parts of the corpus in a folder, written unless they exist."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"part-{place:05}.gz" for place in range(number)]
    missing = [(path, seed) for seed, path in enumerate(paths) if not path.exists()]
    if missing:
        with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
            list(pool.map(write, *zip(*missing, strict=True)))
    return paths
