"""How well a parser finds the pairs of a treebank, from the raw text of its sentences.

Gold are the pairs that the treebank's own trees give under the same rules: `amod` dependents
tagged JJ, JJR, JJS and heads tagged NN, NNS. Each sentence is parsed by itself, from its
``# text``, so that tokenization, tagging and parsing count, and sentence splitting hardly does.
Pairs are compared as multisets over the whole file, lower-cased.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import conf
from conf import setting
from etl.amod import columns, reference
from etl.amod.rules import CLEAN, ReadingRules
from etl.corpora.dialects import DIALECTS
from etl.parsing import Parser, load_parser

Pairs = Counter[tuple[str, str]]


@dataclass(frozen=True)
class Score:
    """Counts of pairs: in gold, found, and in both."""

    gold: int
    parsed: int
    both: int

    @property
    def precision(self) -> float:
        """The share of what was found that is right."""
        return self.both / self.parsed if self.parsed else 0.0

    @property
    def recall(self) -> float:
        """The share of gold that was found."""
        return self.both / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.both / (self.gold + self.parsed) if self.gold + self.parsed else 0.0


def score(gold: Pairs, parsed: Pairs) -> Score:
    """How two multisets of pairs agree."""
    return Score(gold.total(), parsed.total(), (gold & parsed).total())


def read_gold(conllu: bytes, rules: ReadingRules) -> tuple[list[str], Pairs]:
    """The texts of a CoNLL-U file's sentences, and the pairs of its trees."""
    stats = reference.Stats()
    texts: list[str] = []
    gold: Pairs = Counter()
    for sentence in reference.sentences([conllu], DIALECTS["conllu"], rules, stats):
        texts.append(sentence.text)
        gold.update(sentence.pairs)
    return texts, gold


def find_pairs(parser: Parser, texts: Iterable[str], rules: ReadingRules) -> Pairs:
    """The pairs that `parser` finds in texts."""
    pairs: Pairs = Counter()
    for parsed in parser.parse(texts):
        counted = columns.count_pairs(columns.occurrences(parsed.tokens, rules))
        for row in counted.to_pylist():
            pairs[row["adjective"], row["noun"]] += row["count"]
    return pairs


@dataclass(frozen=True)
class Settings:
    """Settings of the case parse_quality."""

    input: str = setting(help="a treebank", example="input=en_ewt-ud-dev.conllu")
    parser: str = setting("spacy", help="spacy, stanza or fast")
    model: str | None = setting(None, help="the parser's model")


def report(settings: Settings) -> None:
    """Print precision, recall and F1, with the adjective as form and as lemma."""
    content = Path(settings.input).read_bytes()
    parser = load_parser(settings.parser, settings.model)
    for by in ("form", "lemma"):
        rules = replace(CLEAN, adjective_by=by)
        texts, gold = read_gold(content, rules)
        result = score(gold, find_pairs(parser, texts, rules))
        print(
            f"adjective {by}, noun lemma: precision {result.precision:.3f} "
            f"recall {result.recall:.3f} F1 {result.f1:.3f} "
            f"(gold {result.gold}, found {result.parsed}, {len(texts)} sentences)"
        )


def main(words: Sequence[str]) -> int:
    """Report by the words of the command line; the exit code."""
    return conf.run(Settings, report, words)
