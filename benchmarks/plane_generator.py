"""Millions of pairs for PLANE: WordNet's nouns, the lexicon's adjectives and made-up ones."""

import hashlib
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from adnominal.etl.knowledge import wordnet
from adnominal.etl.knowledge.lexicons import adjective_classes
from adnominal.etl.lake import arrow
from adnominal.etl.lake.schema import rows_of_schema
from adnominal.etl.lake.tables import table

Numbers = npt.NDArray[np.int64]

ADJECTIVES = 5000
"""Adjectives of generated pairs, in the proportions of the lexicon's classes."""
ROWS_AT_ONCE = 2_000_000
ITEMS_PER_PAIR = 7.2
"""Hypernyms of an average noun times inference types."""


def write_lake(root: str, items: int) -> None:
    """Write WordNet's tables, and pairs that give about this number of items."""
    files = wordnet.find()
    lemmas, hypernyms = wordnet.lemmas(files), wordnet.hypernyms(files)
    arrow.append(root, "wordnet_lemmas", lemmas, job="benchmark")
    arrow.append(root, "wordnet_exceptions", wordnet.exceptions(files), job="benchmark")
    arrow.append(root, "wordnet_hypernyms", hypernyms, job="benchmark")
    nouns = nouns_with_hypernyms(lemmas, hypernyms)
    write_pairs(root, nouns, adjectives_per_noun(len(nouns), items / ITEMS_PER_PAIR))


def nouns_with_hypernyms(lemmas: pa.Table, hypernyms: pa.Table) -> list[str]:
    """The nouns of one word whose first sense has a direct hypernym of one word, in the order of a
    hash."""
    nouns = {row["lemma"] for row in lemmas.to_pylist() if row["pos"] == "n"}
    usable = set()
    for row in hypernyms.filter(hypernyms["first_lemma"]).to_pylist():
        noun = row["noun"].lower()
        is_direct = row["sense"] == row["distance"] == 1
        if is_direct and noun in nouns and " " not in noun + row["hypernym"]:
            usable.add(noun)
    return sorted(usable, key=lambda noun: hashlib.md5(noun.encode()).digest())


def adjectives_per_noun(nouns: int, pairs: float) -> Numbers:
    """The number of adjectives of each noun, by Zipf's law, for about so many pairs."""
    ranks = np.arange(1, nouns + 1)

    def sizes(first: float) -> Numbers:
        """The numbers, given that of the most frequent noun before it is limited."""
        return np.asarray(np.minimum(ADJECTIVES, np.ceil(first / ranks**0.9)), np.int64)

    low, high = 0.0, 1e9
    while high - low > 0.01:
        middle = (low + high) / 2
        if sizes(middle).sum() < pairs:
            low = middle
        else:
            high = middle
    return sizes(high)


@cache
def adjectives() -> dict[str, str]:
    """The lexicon's adjectives with their classes, and made-up ones in their proportions."""
    classes = dict(sorted(adjective_classes().items()))
    kinds = list(classes.values())
    for number in range(ADJECTIVES - len(kinds)):
        classes[f"made{number:04}"] = kinds[number % len(kinds)]
    return classes


def write_pairs(root: str, nouns: list[str], sizes: Numbers) -> None:
    """Write each noun with so many adjectives."""
    names = pa.array(list(adjectives()))
    ends = np.cumsum(sizes)
    bounds = np.searchsorted(ends, np.arange(0, ends[-1], ROWS_AT_ONCE)[1:])
    for ranks in np.split(np.arange(len(nouns)), bounds):
        numbers = [adjectives_of(int(rank), int(sizes[rank])) for rank in ranks]
        places = np.concatenate(numbers)
        columns = {
            "corpus": "made",
            "adjective": names.take(pa.array(places)),
            "noun": pa.array(nouns).take(pa.array(np.repeat(ranks, sizes[ranks]))),
            "count": pa.array(1 + places % 5),
        }
        rows = rows_of_schema(table("amod_pairs").schema, len(places), columns)
        arrow.append(root, "amod_pairs", rows, job="benchmark")


def adjectives_of(rank: int, size: int) -> Numbers:
    """The numbers of a noun's adjectives, all distinct because the step is prime."""
    numbers: Numbers = (rank * 7919 + np.arange(size) * 1999) % ADJECTIVES
    return numbers


def write_classes(file: Path) -> None:
    """Write the class of each adjective in the format of ``classes=``."""
    lines = ["# version: 1", "# source: made for measuring", "adjective\tclass"]
    lines += [f"{word}\t{kind}" for word, kind in adjectives().items()]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
