"""Millions of pairs for PLANE over WordNet's nouns, and WordNet as dictionaries."""

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from adnominal.etl.knowledge import wordnet
from adnominal.etl.knowledge.lexicons import adjective_classes
from adnominal.etl.lake import arrow
from adnominal.etl.lake.schema import rows_of_schema
from adnominal.etl.lake.tables import table
from adnominal.etl.plane import TYPES

Ids = npt.NDArray[np.int64]

ADJECTIVES = 5000
"""Adjectives of generated pairs, in the proportions of the lexicon's classes."""


class Known:
    """The tables that the job joins, as dictionaries."""

    def __init__(self) -> None:
        files = wordnet.find()
        self.lemmas = {
            row["lemma"] for row in wordnet.lemmas(files).to_pylist() if row["pos"] == "n"
        }
        self.exceptions: dict[str, list[str]] = defaultdict(list)
        for row in wordnet.exceptions(files).to_pylist():
            if row["pos"] == "n":
                self.exceptions[row["form"]].append(row["lemma"])
        self.above: dict[str, dict[str, int]] = defaultdict(dict)
        # Synsets by noun, and their direct hypernyms with their words.
        self.synset: dict[str, str] = {}
        self.steps: dict[str, set[tuple[str, str]]] = defaultdict(set)
        rows = wordnet.hypernyms(files)
        for row in rows.filter(rows["first_lemma"]).to_pylist():
            noun, word, distance = row["noun"].lower(), row["hypernym"].lower(), row["distance"]
            if row["sense"] == 1 and " " not in word:
                self.above[noun][word] = min(distance, self.above[noun].get(word, distance))
            if row["sense"] == distance == 1:
                self.synset[noun] = row["noun_synset"]
            if distance == 1:
                self.steps[row["noun_synset"]].add((row["hypernym_synset"], word))

    def base(self, noun: str) -> str:
        """The noun's base form according to morphy; empty if it is not in WordNet."""
        forms = wordnet.base_forms(noun, "n", self.exceptions)
        return next((form for form in forms if form in self.lemmas), "")

    def hypernyms(self, noun: str) -> Mapping[str, int]:
        """The one-word hypernyms of the noun's first sense, with their distances."""
        above = self.above.get(self.base(noun), {})
        return {word: distance for word, distance in above.items() if word != noun}

    def chain(self, noun: str) -> list[str] | None:
        """A chain of three direct hypernyms, all four words distinct; the alphabetically first."""
        base = self.base(noun)
        ways: list[tuple[str, list[str]]] = [(self.synset.get(base, ""), [])]
        for _ in range(3):
            ways = [(up, [*way, word]) for at, way in ways for up, word in self.steps[at]]
        chains = [way for _, way in ways if len({base, *way}) == 4 and " " not in "".join(way)]
        return min(chains, default=None)

    def is_chain(self, noun: str, *hypernyms: str) -> bool:
        """Whether the hypernyms are a chain of direct hypernyms of the noun's first sense."""
        reached = {self.synset.get(self.base(noun), "")}
        for hypernym in hypernyms:
            reached = {up for at in reached for up, word in self.steps[at] if word == hypernym}
        return bool(reached)


def write_knowledge(root: str) -> None:
    """Write the tables of WordNet."""
    files = wordnet.find()
    arrow.append(root, "wordnet_lemmas", wordnet.lemmas(files), job="benchmark")
    arrow.append(root, "wordnet_exceptions", wordnet.exceptions(files), job="benchmark")
    arrow.append(root, "wordnet_hypernyms", wordnet.hypernyms(files), job="benchmark")


def generated_nouns(target: int, known: Known, most: int | None = None) -> tuple[list[str], Ids]:
    """At most `most` nouns and their numbers of adjectives, by Zipf's law, for about `target`
    items."""
    nouns = sorted(
        (noun for noun, up in known.above.items() if " " not in noun and 1 in up.values()),
        key=lambda noun: hashlib.md5(noun.encode()).digest(),
    )
    nouns = [noun for noun in nouns if noun in known.lemmas][:most]
    ups = np.array([len(known.above[noun]) for noun in nouns])
    direct = np.array([list(known.above[noun].values()).count(1) for noun in nouns])
    ranks = np.arange(1, len(nouns) + 1)
    intensional = sum(kind == "O" for _, kind in classes()) / ADJECTIVES
    each = len(TYPES) * ((1 - intensional) * ups + intensional * direct)
    low, high = 0.0, 1e9
    for _ in range(60):
        middle = (low + high) / 2
        met = np.minimum(ADJECTIVES, np.ceil(middle / ranks**0.9)).astype(np.int64)
        low, high = (middle, high) if (met * each).sum() < target else (low, middle)
    return nouns, met


def members_of(rank: int, met: int) -> Ids:
    """The numbers of a noun's adjectives, all distinct because the step is prime."""
    members: Ids = (rank * 7919 + np.arange(met) * 1999) % ADJECTIVES
    return members


def classes() -> list[tuple[str, str]]:
    """The lexicon, and additional adjectives in its proportions."""
    known = sorted(adjective_classes().items())
    further = range(ADJECTIVES - len(known))
    return known + [(f"made{n:04}", known[n % len(known)][1]) for n in further]


def write_pairs(root: str, nouns: list[str], met: Ids) -> None:
    """Write so many pairs of each noun."""
    names = pa.array([word for word, _ in classes()])
    schema = table("amod_pairs").schema
    bounds = np.searchsorted(np.cumsum(met), np.arange(0, met.sum(), 2_000_000)[1:])
    for chunk in np.split(np.arange(len(nouns)), bounds):
        members = np.concatenate([members_of(int(rank), int(met[rank])) for rank in chunk])
        owners = pa.array(nouns).take(pa.array(np.repeat(chunk, met[chunk])))
        adjectives, counts = names.take(pa.array(members)), pa.array(1 + members % 5)
        columns = {"corpus": "made", "adjective": adjectives, "noun": owners, "count": counts}
        rows = rows_of_schema(schema, len(members), columns)
        arrow.append(root, "amod_pairs", rows, job="benchmark")


def write_classes(file: Path) -> None:
    """Write the class of each adjective of generated pairs in the format of ``classes=``."""
    lines = "".join(f"{word}\t{kind}\n" for word, kind in classes())
    text = f"# version: 1\n# source: made for measuring\nadjective\tclass\n{lines}"
    file.write_text(text, encoding="utf-8")


def write_lake(
    root: str, items: int, known: Known, most: int | None = None
) -> tuple[list[str], Ids]:
    """Write WordNet's tables, and pairs that give about this number of items; return at most `most`
    nouns and their numbers of adjectives."""
    nouns, met = generated_nouns(items, known, most)
    write_knowledge(root)
    write_pairs(root, nouns, met)
    return nouns, met
