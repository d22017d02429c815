"""What a part of the input alone gives away of the label: the artefact audit.

A model that answers from half of the input has learnt the dataset, not the task (Poliak et al.
2018; Gururangan et al. 2018). `audit` trains a linear classifier of n-grams on one part of the
input, on the rows that models are trained on, and scores it on held-out rows beside the majority
label. `token_table` finds the words that give a label away, after Gardner et al. (2021): if no word
alone said anything of the label, its rows would have the label as often as all rows have.
`analysis.artefact_rows` reads the rows of each dataset.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy import stats

from analysis import figures
from analysis.figures import Plot
from analysis.significance import holm, permutation
from analysis.unpaired import clustered
from etl.asp.audit import tokens

TRAINED, TESTED = 4_000, 2_500
RESAMPLES = 2_000
# L2 regularisation that is tried.
_STRENGTHS = (1e-4, 1e-3, 1e-2)
# Words in fewer rows than this are not tested one by one: what they say is chance.
LEAST = 20

_AUDIT = pa.schema(
    [
        ("dataset", pa.string()),
        ("edition", pa.string()),
        ("split", pa.string()),
        ("input", pa.string()),
        ("trained", pa.int64()),
        ("part", pa.string()),
        ("rows", pa.int64()),
        ("majority", pa.float64()),
        ("accuracy", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("gain", pa.float64()),
        ("p", pa.float64()),
        ("p_holm", pa.float64()),
    ]
)
_TOKENS = pa.schema(
    [
        ("token", pa.string()),
        ("label", pa.string()),
        ("rows", pa.int64()),
        ("share", pa.float64()),
        ("expected", pa.float64()),
        ("z", pa.float64()),
        ("p", pa.float64()),
    ]
)


@dataclass(frozen=True)
class Rows:
    """The rows of one split, as columns of the same length.

    `train` are the numbers of the rows to learn from, `test` of those to be scored on, of the part
    called `part`; `inputs` has a text a row for each part of the input that is looked at alone.
    """

    dataset: str
    edition: str
    split: str
    part: str
    item_ids: Sequence[str]
    labels: Sequence[str]
    inputs: Mapping[str, Sequence[str]]
    train: Sequence[int]
    test: Sequence[int]


def _sample(rows: Rows, numbers: Iterable[int], cap: int, seed: int) -> list[int]:
    """At most `cap` rows: those whose hash of (seed, id) is least, whatever order they came in."""
    ranked = sorted(numbers, key=lambda at: (_digest(seed, rows.item_ids[at]), rows.labels[at]))
    return ranked[:cap]


def _words(text: str) -> list[str]:
    """The words and marks of a text and, as one more, how many they are."""
    own = tokens(text)
    return [*own, f"(tokens: {len(own)})"]


def _grams(text: str) -> list[str]:
    own = tokens(text)
    return [*_words(text), *map(" ".join, pairwise(own))]


@lru_cache(maxsize=1 << 17)
def _letters_of(word: str) -> tuple[str, ...]:
    """Runs of two to four letters within a word and the spaces around it, each after a tab."""
    padded = f" {word} "
    return tuple(f"\t{padded[i : i + n]}" for n in (2, 3, 4) for i in range(len(padded) - n + 1))


@lru_cache(maxsize=1 << 14)
def _features(text: str) -> frozenset[str]:
    """Words, pairs of words, the number of words, and the runs of letters of each word.

    Runs of letters have something to say of words that were not seen (*un-*, *-al*); they begin
    with a mark that no word has.
    """
    found = set(_grams(text))
    for word in text.lower().split():
        found.update(_letters_of(word))
    return frozenset(found)


class _Classifier:
    """A logistic regression on the features of texts.

    How strongly it is regularised is chosen on a tenth of the texts (all rows of a text on one
    side, as unseen words are); of equally good strengths the greatest. Nothing is drawn but by the
    hash of a text.
    """

    def __init__(self, texts: Sequence[str], labels: Sequence[str]) -> None:
        from sklearn.feature_extraction.text import CountVectorizer

        self._vectorizer = CountVectorizer(analyzer=_features, binary=True, min_df=2)
        known = self._vectorizer.fit_transform(texts).tocsr()
        gold = np.array(labels, dtype=object)
        held = np.array([_digest("tuning", text)[0] < 26 for text in texts])
        strength = _STRENGTHS[1]
        if held.any() and len(set(gold[~held])) > 1:
            right = {
                own: float(
                    (
                        self._fitted(known[~held], gold[~held], own).predict(known[held])
                        == gold[held]
                    ).mean()
                )
                for own in _STRENGTHS
            }
            strength = max(_STRENGTHS, key=lambda own: (right[own], own))
        self._model = self._fitted(known, gold, strength)

    def _fitted(self, known: Any, gold: npt.NDArray[np.object_], strength: float) -> Any:
        from sklearn.linear_model import SGDClassifier

        # Averaged stochastic descent: as good here as a full solver and many times faster.
        model = SGDClassifier(
            loss="log_loss", alpha=strength, average=True, max_iter=8, tol=None, random_state=0
        )
        return model.fit(known, gold)

    def __call__(self, texts: Sequence[str]) -> list[str]:
        return [str(label) for label in self._model.predict(self._vectorizer.transform(texts))]


def _digest(*parts: object) -> bytes:
    return hashlib.blake2b("\t".join(map(str, parts)).encode(), digest_size=8).digest()


def audit(
    splits: Iterable[Rows], *, trained: int = TRAINED, tested: int = TESTED, seed: int = 0
) -> pa.Table:
    """How well each part of the input alone predicts the label; one row a split and input.

    Columns: dataset, edition, split, input; trained (rows learnt from, at most `trained`); part and
    rows (scored on, at most `tested`); majority, the accuracy of the training rows' most frequent
    label; accuracy with its interval low to high, by `clustered`: rows with the same text get the
    same answer; gain over the majority; p that there is none, one-sided, by permutation with the
    majority's answers, texts exchanged as a whole; p_holm, corrected for all rows of the table. An
    input of which all training rows are alike says the majority.

    Raises:
        ValueError: no split; a split without rows to train or to score on.
    """
    found: list[dict[str, Any]] = []
    # Several tests of one split learn from the same rows: each input is learnt once.
    classifiers: dict[bytes, _Classifier] = {}
    for rows in splits:
        learnt = _sample(rows, rows.train, trained, seed)
        asked = _sample(rows, rows.test, tested, seed)
        where = f"{rows.dataset}, edition {rows.edition}, {rows.split}"
        if not learnt or not asked:
            raise ValueError(f"{where}: {len(learnt)} rows to train on, {len(asked)} to score on")
        labels = [rows.labels[at] for at in learnt]
        gold = [rows.labels[at] for at in asked]
        counts = Counter(labels)
        most = min(counts, key=lambda label: (-counts[label], label))
        majority = [most] * len(gold)
        for name, texts in rows.inputs.items():
            own = [texts[at] for at in learnt]
            groups = [texts[at] for at in asked]
            constant = len(set(own)) == 1 or len(counts) == 1
            if constant:
                guesses = majority
            else:
                key = _digest(*own, *labels)
                if key not in classifiers:
                    classifiers = {key: _Classifier(own, labels)} | dict(
                        list(classifiers.items())[:3]
                    )
                guesses = classifiers[key](groups)
            right = [float(a == b) for a, b in zip(gold, guesses, strict=True)]
            share = clustered(right, groups)
            base = gold.count(most) / len(gold)
            gain = share.estimate - base
            either = permutation(
                "accuracy",
                gold,
                guesses,
                majority,
                groups=groups if len(set(groups)) > 1 else None,
                resamples=RESAMPLES,
                seed=seed,
            )
            found.append(
                {
                    "dataset": rows.dataset,
                    "edition": rows.edition,
                    "split": rows.split,
                    "input": name,
                    "trained": len(learnt),
                    "part": rows.part,
                    "rows": len(asked),
                    "majority": base,
                    "accuracy": share.estimate,
                    "low": share.low,
                    "high": share.high,
                    "gain": gain,
                    # Exchanging answers turns the sign: both sides have as much of it.
                    "p": either / 2 if gain > 0 else 1 - either / 2,
                }
            )
    if not found:
        raise ValueError("no split to audit")
    for row, corrected in zip(found, holm([row["p"] for row in found]), strict=True):
        row["p_holm"] = corrected
    return pa.Table.from_pylist(found, _AUDIT)


def token_table(rows: Rows, name: str, *, least: int = LEAST, top: int = 10) -> pa.Table:
    """The words of an input that most give a label away in the training rows.

    For each word in `least` rows or more and each label: the share of its rows that have the label,
    the share `expected` (that of all rows), z of the difference (Gardner et al. 2021, section 3,
    with the labels' own shares in the place of even ones), and p, two-sided, times the number of
    words and labels tested (Bonferroni). The `top` with the greatest z, and p below .01. A word
    counts once a row; how many a text has counts as a word of it: ``(tokens: 3)``.
    """
    texts = rows.inputs[name]
    totals = Counter(rows.labels[at] for at in rows.train)
    size = sum(totals.values())
    counts: Counter[tuple[str, str]] = Counter()
    seen: Counter[str] = Counter()
    for at in rows.train:
        own = set(_words(texts[at]))
        seen.update(own)
        counts.update((token, rows.labels[at]) for token in own)
    tested = [token for token, number in seen.items() if least <= number < size]
    found: list[dict[str, Any]] = []
    for token in tested:
        for label, total in totals.items():
            expected, share = total / size, counts[token, label] / seen[token]
            if expected == 1:
                continue
            z = (share - expected) / math.sqrt(expected * (1 - expected) / seen[token])
            p = min(1.0, 2 * float(stats.norm.sf(abs(z))) * len(tested) * len(totals))
            if z > 0 and p < 0.01:
                found.append(
                    {
                        "token": token,
                        "label": label,
                        "rows": seen[token],
                        "share": share,
                        "expected": expected,
                        "z": z,
                        "p": p,
                    }
                )
    found.sort(key=lambda row: (-row["z"], row["token"], row["label"]))
    return pa.Table.from_pylist(found[:top], _TOKENS)


def audit_figure(data: pa.Table) -> Plot:
    """`audit` as points with their intervals, the majority as a stroke on each line."""
    names = [f"{row['split']}: {row['input']}" for row in data.to_pylist()]
    return figures.forest(
        data.append_column("audited", pa.array(names, pa.string())),
        row="audited",
        value="accuracy",
        low="low",
        high="high",
        reference="majority",
        xlabel="accuracy (share of rows)",
        ylabel="split and part of the input",
        names=("part of the input alone", "majority label"),
    )
