"""ADEPT's sentences by the log-probability that language models give them (score.py logprob)."""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adnominal.analysis import predictions
from adnominal.analysis.estimates import Interval, wilson
from adnominal.analysis.graded import correlation
from adnominal.analysis.papers.adept.sources import Adept
from adnominal.analysis.papers.exhibits import Finding, Note, exhibit
from adnominal.analysis.predictions import newest_of_each
from adnominal.analysis.report_numbers import Cells, Key, Value
from adnominal.conf import UserError
from adnominal.etl.adept import LABELS
from adnominal.etl.adept.baselines import EQUALLY_LIKELY
from adnominal.etl.lake import arrow
from adnominal.etl.looking.show import sql_where
from adnominal.training.finished_runs import Run

_SCORE = "python training/score.py conf/training/adept_logprob.yaml model=MODEL lake=LAKE"
_COLUMNS = ("item_id", "sentence1", "sentence2", "modifier", "noun", "label")

# A counted token of a text: its characters, its start, and its log-probability in nats.
Token = tuple[str, int, float]


@dataclass(frozen=True)
class ScoredPair:
    """A labelled pair of sentences with the tokens of both, as a language model scores them."""

    row: Mapping[str, Any]
    tokens: tuple[Sequence[Token], Sequence[Token]]

    @property
    def label(self) -> int:
        """0 impossible to 4 necessarily true."""
        return int(self.row["label"])

    def surprisal(self, word: str, sentence: int) -> float | None:
        """The surprisal of the word's first occurrence in sentence 1 or 2, in nats."""
        text = self.row[f"sentence{sentence}"]
        return surprisal(text, self.row[word], self.tokens[sentence - 1])

    def total(self, sentence: int) -> float:
        """The log-probability of sentence 1 or 2."""
        return math.fsum(log for _, _, log in self.tokens[sentence - 1])

    def mean(self, sentence: int) -> float:
        """The log-probability of sentence 1 or 2 per token."""
        return self.total(sentence) / len(self.tokens[sentence - 1])


def surprisal(text: str, word: str, tokens: Sequence[Token]) -> float | None:
    """The sum of the surprisals of a word's tokens in a text; None if the word is not there.

    The space before a word belongs to the word, as it does in the tokens of most models.
    """
    match = re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text, re.IGNORECASE)
    if match is None:
        return None
    start, end = match.span()
    if start and text[start - 1] == " ":
        start -= 1
    logs = [log for piece, at, log in tokens if at < end and at + len(piece) > start]
    return -math.fsum(logs)


def _difference(pair: ScoredPair) -> float | None:
    return pair.total(2) - pair.total(1)


def _difference_by_token(pair: ScoredPair) -> float | None:
    return pair.mean(2) - pair.mean(1)


def _difference_of_others(pair: ScoredPair) -> float | None:
    adjective = pair.surprisal("modifier", 2)
    return None if adjective is None else pair.total(2) + adjective - pair.total(1)


_MEASURES: Mapping[str, Callable[[ScoredPair], float | None]] = {
    "whole sentences": _difference,
    "per token": _difference_by_token,
    "all words but the adjective": _difference_of_others,
}


@exhibit("", "log-probability of the sentences", fills=_SCORE, reads=("adept", "predictions"))
def log_probability(page: Adept) -> Iterator[Finding]:
    """Does a language model find a sentence less probable with the adjective where people find it
    less plausible? The change is log P(with the adjective) less log P(without), in nats.

    The surprisal of the adjective itself is part of the change of whole sentences, which is
    therefore nearly always negative; the change of all other words has none of it.
    """
    edition = page.edition
    runs = newest_of_each(page.runs_of("logprob", {"table": "adept"}, edition), _name)
    if not runs:
        raise UserError("no finished run of training/score.py method=logprob table=adept")
    yield Note(
        "Whole sentences: the change of the sum of all tokens. Per token: the change of the mean. "
        "All words but the adjective: the change of the other tokens, whose probability with the "
        "adjective is after it. The direction is right if the change is negative for impossible "
        "and less likely and positive for more likely and necessarily true."
    )
    for name, run in runs.items():
        pairs = scored_pairs(page, run, edition)
        if not pairs:
            continue
        source = page.source_of([run])
        seed = page.lake.seed
        caption = f"Change by {name}, against people's labels ({len(pairs):,} pairs)"
        yield Cells(caption, _against_labels(pairs, seed), decimals=3, **source)
        caption = f"Mean change by {name} and label, in nats"
        yield Cells(caption, _by_label(pairs), unit="nats", **source)
        caption = f"Mean surprisal by {name} and label, in nats"
        yield Cells(caption, _surprisals(pairs), unit="nats", **source)


def _name(run: Run) -> str:
    """The model's name, with the way that a masked model is masked."""
    is_masked = run.params.get("kind") == "masked"
    return f"{run.model}, {run.params.get('masking')} masked" if is_masked else run.model


def scored_pairs(page: Adept, run: Run, edition: str) -> list[ScoredPair]:
    """The labelled pairs of an edition that a run scored, with the tokens of both sentences."""
    rows = predictions.read(page.lake.root, [run.id], ["item_id", "edition", "text"])
    tokens_of = {
        row["item_id"]: json.loads(row["text"])
        for row in rows.to_pylist()
        if row["edition"] == edition
    }
    # The run's own condition: an item may repeat in another part, with another label.
    where = run.params.get("where", "None")
    condition = sql_where(None if where == "None" else where)
    sql = f"SELECT {', '.join((*_COLUMNS, 'edition'))} FROM adept{condition}"
    pairs = []
    for batch in arrow.query(page.lake.root, "adept", sql):
        for row in batch.to_pylist():
            first, second = tokens_of.get(row["item_id"], (None, None))
            if row["edition"] == edition and first and second:
                pairs.append(ScoredPair(row, (first, second)))
    return pairs


def _against_labels(pairs: Sequence[ScoredPair], seed: int) -> dict[Key, Value]:
    """Rank correlations of each measure with the labels, and the share of right directions."""
    labels = [float(pair.label) for pair in pairs]
    cells: dict[Key, Value] = {}
    for name, measure in _MEASURES.items():
        changes = [measure(pair) for pair in pairs]
        ranks = correlation(name, labels, changes, seed)
        cells[name, "Spearman's rho"] = ranks.spearman
        cells[name, "Kendall's tau-b"] = ranks.kendall
        signs = [
            (pair.label - EQUALLY_LIKELY) * change > 0
            for pair, change in zip(pairs, changes, strict=True)
            if pair.label != EQUALLY_LIKELY and change is not None
        ]
        if signs:
            cells[name, "right direction"] = wilson(sum(signs), len(signs))
    lower = [pair.label < EQUALLY_LIKELY for pair in pairs if pair.label != EQUALLY_LIKELY]
    if lower:
        always = "always less plausible"
        cells[always, "right direction"] = wilson(sum(lower), len(lower))
    return cells


def _by_label(pairs: Sequence[ScoredPair]) -> dict[Key, Value]:
    cells: dict[Key, Value] = {}
    for label, members in _groups(pairs).items():
        cells[label, "pairs"] = float(len(members))
        for name, measure in _MEASURES.items():
            _add_mean(cells, (label, name), [measure(pair) for pair in members])
    return cells


def _surprisals(pairs: Sequence[ScoredPair]) -> dict[Key, Value]:
    cells: dict[Key, Value] = {}
    for label, members in _groups(pairs).items():
        adjective = [pair.surprisal("modifier", 2) for pair in members]
        _add_mean(cells, (label, "adjective"), adjective)
        alone = [pair.surprisal("noun", 1) for pair in members]
        _add_mean(cells, (label, "noun without the adjective"), alone)
        after = [pair.surprisal("noun", 2) for pair in members]
        _add_mean(cells, (label, "noun with the adjective"), after)
    return cells


def _groups(pairs: Sequence[ScoredPair]) -> dict[str, list[ScoredPair]]:
    """The pairs of each label that occurs, and all of them."""
    groups = {
        name: [pair for pair in pairs if pair.label == label] for label, name in enumerate(LABELS)
    }
    groups["all"] = list(pairs)
    return {name: members for name, members in groups.items() if members}


def _add_mean(cells: dict[Key, Value], key: Key, values: Sequence[float | None]) -> None:
    """Add the mean of the known values, with its standard error as interval, if there are any."""
    known = np.array([value for value in values if value is not None], np.float64)
    if not len(known):
        return
    mean = float(known.mean())
    if len(known) == 1:
        cells[key] = mean
        return
    half = 1.96 * float(known.std(ddof=1)) / math.sqrt(len(known))
    cells[key] = Interval(mean, mean - half, mean + half, len(known), kind="normal")
