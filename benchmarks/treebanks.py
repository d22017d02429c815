"""How well parsers find the pairs of treebanks, from the raw text of their sentences.

The gold pairs are those of the treebank's trees under the reading rule of the text sources, which
drops fragments of words cut at a hyphen. Each sentence is parsed separately from its ``# text``, so
that tokenization, tagging and parsing count, but sentence splitting hardly does. Pairs are compared
sentence by sentence as multisets; the difference of two parsers has an interval from a paired
bootstrap over sentences.
"""

import gzip
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from adnominal.etl.amod import columns
from adnominal.etl.amod.rules import CLEAN, ReadingRules
from adnominal.etl.lake.schema import batch_of
from adnominal.etl.parsing.tokens import TOKENS, Parser
from benchmarks.results import Figures
from benchmarks.sides import Pairs

DRAWS = 2000
Counts = npt.NDArray[np.int64]
"""Numbers of pairs in gold, found, and in both; one row per sentence."""


@dataclass(frozen=True)
class Treebank:
    """The texts of a treebank's sentences, and its tokens in the form of a parser's output."""

    texts: list[str]
    tokens: pa.RecordBatch

    def in_lower_case(self) -> "Treebank":
        """Its texts without capitals; the tokens, whose pairs have none, stay as they are."""
        return replace(self, texts=[text.lower() for text in self.texts])


def read_treebank(path: Path) -> Treebank:
    """Read CoNLL-U; ranges and empty nodes are dropped."""
    from conllu import parse

    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    texts: list[str] = []
    tokens: list[tuple[object, ...]] = []
    for number, sentence in enumerate(parse(content.decode())):
        texts.append(sentence.metadata["text"])
        for token in sentence:
            if not isinstance(token["id"], int):  # a range or an empty node
                continue
            columns_of_token = [token[name] for name in ("id", "form", "lemma", "xpos", "head")]
            space_after = (token["misc"] or {}).get("SpaceAfter") != "No"
            tokens.append((number, 0, *columns_of_token, token["deprel"], space_after))
    return Treebank(texts, batch_of(tokens, TOKENS))


def pairs_of(tokens: pa.RecordBatch, rules: ReadingRules, sentences: int) -> list[Pairs]:
    """The pairs of each sentence of parsed tokens."""
    pairs: list[Pairs] = [Counter() for _ in range(sentences)]
    for row in columns.pairs(columns.occurrences(tokens, rules)).to_pylist():
        pairs[row["document"]][row["adjective"], row["noun"]] += 1
    return pairs


def parsed_pairs(parser: Parser, texts: Sequence[str], rules: ReadingRules) -> list[Pairs]:
    """The pairs that a parser finds in each text."""
    pairs: list[Pairs] = [Counter() for _ in texts]
    for parsed in parser.parse(texts):
        for place, counts in enumerate(pairs_of(parsed.tokens, rules, len(texts))):
            pairs[place].update(counts)
    return pairs


def counts_by_sentence(gold: Sequence[Pairs], parsed: Sequence[Pairs]) -> Counts:
    """The number of pairs in gold, found, and in both, for each sentence."""
    rows = []
    for gold_pairs, parsed_pairs in zip(gold, parsed, strict=True):
        both = gold_pairs & parsed_pairs
        rows.append((gold_pairs.total(), parsed_pairs.total(), both.total()))
    return np.array(rows)


def counts_of(parser: Parser, treebank: Treebank, adjective_by: str) -> Counts:
    """The counts of a parser on a treebank, with adjectives as ``form`` or ``lemma``."""
    rules = replace(CLEAN, adjective_by=adjective_by)
    gold = pairs_of(treebank.tokens, rules, len(treebank.texts))
    return counts_by_sentence(gold, parsed_pairs(parser, treebank.texts, rules))


def f1(counts: Counts) -> float:
    """F1 from the sums over sentences."""
    gold, parsed, both = counts.sum(axis=0)
    return float(2 * both / max(1, gold + parsed))


def difference(ours: Counts, theirs: Counts, seed: int = 0) -> tuple[float, float, float]:
    """The difference of two F1s over the same sentences, and its 95 % interval."""
    rng = np.random.default_rng(seed)
    size = len(ours)
    differences = []
    for _ in range(DRAWS):
        drawn = rng.integers(0, size, size)
        differences.append(f1(ours[drawn]) - f1(theirs[drawn]))
    low, high = np.quantile(differences, [0.025, 0.975])
    return f1(ours) - f1(theirs), float(low), float(high)


def compare(treebank: Treebank, fast: Parser, spacy: Parser) -> dict[str, Figures]:
    """F1 of both parsers on a treebank, by form and by lemma of the adjective."""
    results = {}
    for by in ("form", "lemma"):
        ours = counts_of(fast, treebank, by)
        theirs = counts_of(spacy, treebank, by)
        gain, low, high = difference(ours, theirs)
        results[by] = {
            "gold": int(ours[:, 0].sum()),
            "fast": f1(ours),
            "spacy": f1(theirs),
            "gain": gain,
            "low": low,
            "high": high,
        }
    return results
