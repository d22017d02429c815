"""How well parsers find the pairs of treebanks, from the raw text of their sentences.

The gold pairs are those of the treebank's trees under the reading rule of the text sources, which
drops fragments of words cut at a hyphen. Each sentence is parsed separately from its ``# text``, so
that tokenization, tagging and parsing count, but sentence splitting hardly does. Pairs are compared
sentence by sentence as multisets; the difference of two parsers has an interval from a paired
bootstrap over sentences.
"""

import gzip
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from adnominal import conf
from adnominal.conf import UserError, setting
from adnominal.etl.amod import columns
from adnominal.etl.amod.rules import CLEAN, ReadingRules
from adnominal.etl.lake.schema import batch_of
from adnominal.etl.parsing import load_parser
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


def read_treebank(path: Path) -> Treebank:
    """Read CoNLL-U; ranges and empty nodes are dropped.

    Raises:
        UserError: the file cannot be read, or has no sentence with a text and tokens.
    """
    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix == ".gz" else content
        lines = content.decode().splitlines()
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise UserError(f"{path}: {error}; expected a treebank in CoNLL-U") from error
    texts: list[str] = []
    tokens: list[tuple[object, ...]] = []
    for line in lines:
        if line.startswith("# text = "):
            texts.append(line[9:])
        row = line.split("\t")
        if len(row) == 10 and row[0].isdigit():
            values = (len(texts) - 1, 0, int(row[0]), row[1], row[2], row[4], int(row[6]), row[7])
            tokens.append((*values, "SpaceAfter=No" not in row[9]))
    if not texts or not tokens:
        raise UserError(f"{path}: no sentence in CoNLL-U with a line '# text = …' and tokens")
    return Treebank(texts, batch_of(tokens, TOKENS))


def pairs_of(tokens: pa.RecordBatch, rules: ReadingRules, sentences: int) -> list[Pairs]:
    """The pairs of each document of parsed tokens."""
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


def counts(gold: Sequence[Pairs], parsed: Sequence[Pairs]) -> Counts:
    """The number of pairs in gold, found, and in both, for each sentence."""
    return np.array(
        [(g.total(), p.total(), (g & p).total()) for g, p in zip(gold, parsed, strict=True)]
    )


def f1(table: Counts) -> float:
    """F1 from the sums over sentences."""
    gold, parsed, both = table.sum(axis=0)
    return float(2 * both / max(1, gold + parsed))


def difference(ours: Counts, theirs: Counts, seed: int = 0) -> tuple[float, float, float]:
    """The difference of two F1s over the same sentences, and its 95 % interval."""
    random = np.random.default_rng(seed)
    n = len(ours)
    differences = []
    for _ in range(DRAWS):
        times = np.bincount(random.integers(0, n, n), minlength=n)
        a, b = times @ ours, times @ theirs
        differences.append(2 * a[2] / (a[0] + a[1]) - 2 * b[2] / (b[0] + b[1]))
    low, high = np.quantile(differences, [0.025, 0.975])
    return f1(ours) - f1(theirs), float(low), float(high)


def scores(treebank: Treebank, parsers: Sequence[Parser]) -> Iterator[tuple[str, list[Counts]]]:
    """The counts for each parser, with the adjective as form and as lemma."""
    for by in ("form", "lemma"):
        rules = replace(CLEAN, adjective_by=by)
        gold = pairs_of(treebank.tokens, rules, len(treebank.texts))
        yield by, [counts(gold, parsed_pairs(p, treebank.texts, rules)) for p in parsers]


def precision_recall(table: Counts) -> tuple[float, float]:
    """Precision and recall from the sums over sentences."""
    gold, parsed, both = table.sum(axis=0)
    return float(both / max(1, parsed)), float(both / max(1, gold))


def compare(treebank: Treebank, fast: Parser, spacy: Parser) -> dict[str, Figures]:
    """F1 of both parsers on a treebank, by form and by lemma of the adjective."""
    results = {}
    for by, (ours, theirs) in scores(treebank, [fast, spacy]):
        gain, low, high = difference(ours, theirs)
        precision, recall = precision_recall(ours)
        results[by] = {
            "fast": f1(ours),
            "spacy": f1(theirs),
            "gain": gain,
            "low": low,
            "high": high,
            "precision": precision,
            "recall": recall,
            "gold": int(ours[:, 0].sum()),
        }
    return results


@dataclass(frozen=True)
class Settings:
    input: str = setting(help="a treebank", example="input=en_ewt-ud-dev.conllu")
    parser: str = setting("spacy", help="spacy, stanza or fast")
    model: str | None = setting(None, help="the parser's model")


def report(settings: Settings) -> None:
    """Print precision, recall and F1 of a parser, with the adjective as form and as lemma."""
    treebank = read_treebank(Path(settings.input))
    for by, (table,) in scores(treebank, [load_parser(settings.parser, settings.model)]):
        precision, recall = precision_recall(table)
        gold, parsed, _ = table.sum(axis=0)
        print(
            f"adjective {by}, noun lemma: precision {precision:.3f} recall {recall:.3f} "
            f"F1 {f1(table):.3f} (gold {gold}, found {parsed}, {len(table)} sentences)"
        )


main = partial(conf.run, Settings, report)
