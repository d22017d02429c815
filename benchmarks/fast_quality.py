"""How well `parser=fast` finds the pairs of treebanks from raw text, beside spaCy.

Gold are the pairs of the treebank's own trees under the reading rule of the text sources, which
leaves out fragments of words cut at a hyphen. Each sentence is read from its ``# text`` by itself.
Pairs are compared sentence by sentence as multisets; the difference to spaCy has an interval from a
paired bootstrap over sentences.
"""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from etl.amod import columns
from etl.amod.rules import CLEAN, ReadingRules
from etl.parsing import TOKENS, Parser

Pairs = Counter[tuple[str, str]]
DRAWS = 2000


@dataclass(frozen=True)
class Treebank:
    """The texts of a treebank's sentences, and its tokens as a parser would give them."""

    texts: list[str]
    tokens: pa.RecordBatch


def read_treebank(path: Path) -> Treebank:
    """Read CoNLL-U; ranges and empty nodes are left out."""
    content = path.read_bytes()
    lines = (gzip.decompress(content) if path.suffix == ".gz" else content).decode().splitlines()
    texts: list[str] = []
    table: dict[str, list[object]] = {name: [] for name in TOKENS.names}
    for line in lines:
        if line.startswith("# text = "):
            texts.append(line[9:])
        row = line.split("\t")
        if len(row) != 10 or not row[0].isdigit():
            continue
        values = (len(texts) - 1, 0, int(row[0]), row[1], row[2], row[4], int(row[6]), row[7])
        for name, value in zip(TOKENS.names, (*values, "SpaceAfter=No" not in row[9]), strict=True):
            table[name].append(value)
    return Treebank(texts, pa.RecordBatch.from_pydict(table, schema=TOKENS))


def pairs_of(tokens: pa.RecordBatch, rules: ReadingRules, sentences: int) -> list[Pairs]:
    """The pairs of each document of parsed tokens."""
    pairs: list[Pairs] = [Counter() for _ in range(sentences)]
    for row in columns.pairs(columns.occurrences(tokens, rules)).to_pylist():
        pairs[row["document"]][row["adjective"], row["noun"]] += 1
    return pairs


def found_by(parser: Parser, texts: Sequence[str], rules: ReadingRules) -> list[Pairs]:
    """The pairs that a parser finds in each text."""
    pairs: list[Pairs] = [Counter() for _ in texts]
    for parsed in parser.parse(texts):
        for place, found in enumerate(pairs_of(parsed.tokens, rules, len(texts))):
            pairs[place].update(found)
    return pairs


def counts(gold: Sequence[Pairs], found: Sequence[Pairs]) -> npt.NDArray[np.int64]:
    """Pairs in gold, found, and in both, of each sentence."""
    return np.array(
        [(g.total(), f.total(), (g & f).total()) for g, f in zip(gold, found, strict=True)]
    )


def f1(table: npt.NDArray[np.int64]) -> float:
    """The F1 of sums over sentences."""
    gold, found, both = table.sum(axis=0)
    return float(2 * both / max(1, gold + found))


def difference(
    ours: npt.NDArray[np.int64], theirs: npt.NDArray[np.int64], seed: int = 0
) -> tuple[float, float, float]:
    """The difference of two F1s over the same sentences, and its 95 % interval."""
    random = np.random.default_rng(seed)
    n = len(ours)
    drawn = []
    for _ in range(DRAWS):
        times = np.bincount(random.integers(0, n, n), minlength=n)
        a, b = times @ ours, times @ theirs
        drawn.append(2 * a[2] / (a[0] + a[1]) - 2 * b[2] / (b[0] + b[1]))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return f1(ours) - f1(theirs), float(low), float(high)


def compare(treebank: Treebank, fast: Parser, spacy: Parser) -> dict[str, dict[str, float]]:
    """F1 of both parsers on a treebank, by form and by lemma of the adjective."""
    results = {}
    for by in ("form", "lemma"):
        rules = replace(CLEAN, adjective_by=by)
        gold = pairs_of(treebank.tokens, rules, len(treebank.texts))
        ours = counts(gold, found_by(fast, treebank.texts, rules))
        theirs = counts(gold, found_by(spacy, treebank.texts, rules))
        gain, low, high = difference(ours, theirs)
        results[by] = {
            "fast": f1(ours),
            "spacy": f1(theirs),
            "gain": gain,
            "low": low,
            "high": high,
            "precision": float(ours[:, 2].sum() / ours[:, 1].sum()),
            "recall": float(ours[:, 2].sum() / ours[:, 0].sum()),
            "gold": int(ours[:, 0].sum()),
        }
    return results
