"""ADEPT's sentences by the log-probability that language models give them (score.py logprob)."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from adnominal.analysis import predictions
from adnominal.analysis.estimates import Interval, wilson
from adnominal.analysis.graded import correlation
from adnominal.analysis.papers.adept.sources import Adept
from adnominal.analysis.papers.exhibits import Finding, Note, exhibit
from adnominal.analysis.predictions import newest_of_each
from adnominal.analysis.report_numbers import Cells, CellValues
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


def surprisal(text: str, word: str, tokens: Sequence[Token]) -> float:
    """The sum of the surprisals of the tokens of a word's first occurrence in a text, in nats; NaN
    if the word is not there.

    The space before a word belongs to the word, as it does in the tokens of most models.
    """
    match = re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text, re.IGNORECASE)
    if match is None:
        return math.nan
    start, end = match.span()
    if start and text[start - 1] == " ":
        start -= 1
    logs = [log for piece, at, log in tokens if at < end and at + len(piece) > start]
    return -math.fsum(logs)


def measures(
    row: Mapping[str, Any], first: Sequence[Token], second: Sequence[Token]
) -> dict[str, float]:
    """The changes and surprisals of a row of ADEPT, from the tokens of its two sentences."""
    total = math.fsum(log for _, _, log in first)
    total_with_adjective = math.fsum(log for _, _, log in second)
    adjective = surprisal(row["sentence2"], row["modifier"], second)
    return {
        "whole sentences": total_with_adjective - total,
        "per token": total_with_adjective / len(second) - total / len(first),
        "all words but the adjective": total_with_adjective + adjective - total,
        "adjective": adjective,
        "noun without the adjective": surprisal(row["sentence1"], row["noun"], first),
        "noun with the adjective": surprisal(row["sentence2"], row["noun"], second),
    }


_CHANGES = ("whole sentences", "per token", "all words but the adjective")
_SURPRISALS = ("adjective", "noun without the adjective", "noun with the adjective")


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
        if pairs.empty:
            continue
        source = page.source_of([run])
        seed = page.lake.seed
        caption = f"Change by {name}, against people's labels ({len(pairs):,} pairs)"
        yield Cells(caption, _against_labels(pairs, seed), decimals=3, **source)
        changes: CellValues = {}
        surprisals: CellValues = {}
        for label, members in _by_label(pairs).items():
            changes[label, "pairs"] = float(len(members))
            changes |= _means(label, members[[*_CHANGES]])
            surprisals |= _means(label, members[[*_SURPRISALS]])
        yield Cells(f"Mean change by {name} and label, in nats", changes, unit="nats", **source)
        caption = f"Mean surprisal by {name} and label, in nats"
        yield Cells(caption, surprisals, unit="nats", **source)


def _name(run: Run) -> str:
    """The model's name, with the way that a masked model is masked."""
    is_masked = run.params.get("kind") == "masked"
    return f"{run.model}, {run.params.get('masking')} masked" if is_masked else run.model


def scored_pairs(page: Adept, run: Run, edition: str) -> pd.DataFrame:
    """The label (0 impossible to 4 necessarily true) and the `measures` of each pair of an edition
    that a run scored."""
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
                pairs.append({"label": row["label"], **measures(row, first, second)})
    return pd.DataFrame(pairs)


def _against_labels(pairs: pd.DataFrame, seed: int) -> CellValues:
    """Rank correlations of each change with the labels, and the share of right directions."""
    cells: CellValues = {}
    directed = pairs[pairs["label"] != EQUALLY_LIKELY]
    for name in _CHANGES:
        known = pairs.dropna(subset=name)
        labels = known["label"].astype(float).to_list()
        ranks = correlation(name, labels, known[name].to_list(), seed)
        cells[name, "Spearman's rho"] = ranks.spearman
        cells[name, "Kendall's tau-b"] = ranks.kendall
        known = directed.dropna(subset=name)
        is_right = (known["label"] - EQUALLY_LIKELY) * known[name] > 0
        if len(is_right):
            cells[name, "right direction"] = wilson(int(is_right.sum()), len(is_right))
    is_lower = directed["label"] < EQUALLY_LIKELY
    if len(is_lower):
        always = "always less plausible"
        cells[always, "right direction"] = wilson(int(is_lower.sum()), len(is_lower))
    return cells


def _by_label(pairs: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The pairs of each label that occurs, and all of them."""
    groups = {name: pairs[pairs["label"] == label] for label, name in enumerate(LABELS)}
    groups["all"] = pairs
    return {name: members for name, members in groups.items() if len(members)}


def _means(label: str, members: pd.DataFrame) -> CellValues:
    """The mean of the known values of each column, with its standard error as interval."""
    cells: CellValues = {}
    for name, column in members.items():
        known = column.dropna().to_numpy(np.float64)
        if not len(known):
            continue
        mean = float(known.mean())
        cells[label, str(name)] = mean
        if len(known) > 1:
            half = 1.96 * float(known.std(ddof=1)) / math.sqrt(len(known))
            interval = Interval(mean, mean - half, mean + half, len(known), kind="normal")
            cells[label, str(name)] = interval
    return cells
