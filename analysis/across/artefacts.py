"""The artefact audit: how well one part of the input alone predicts the label.

A model that answers from half of the input has learnt the dataset, not the task (Poliak et al.
2018; Gururangan et al. 2018). `audit` trains a linear n-gram classifier on one part of the input,
using the models' training rows, and compares its accuracy on held-out rows with the majority
label. `token_table` finds the words that give a label away, after Gardner et al. (2021): if a
word carried no information about the label, its rows would have the same label shares as all rows.
`analysis.across.audits` reads the rows of each dataset.
"""

import heapq
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.sparse import hstack
from statsmodels.stats.multitest import multipletests

from adnominal.analysis.comparisons import Resampling, permutation
from adnominal.analysis.estimates import clustered_interval
from adnominal.analysis.report_numbers import CellValues
from adnominal.etl.draws import draw

TRAINED, TESTED = 4_000, 2_500
RESAMPLES = 2_000
# The strength of the classifier's L2 regularisation.
_REGULARISATION = 1e-2
# Words in fewer rows than this are not tested: their label shares are mostly chance.
LEAST = 20

_TOKEN = re.compile(r"\d+(?:\.\d+)?|\w+(?:-\w+)*|[^\w\s]")
# The columns of the audit that its figure compares.
ALONE, MAJORITY = "part of the input alone", "majority label"


@dataclass(frozen=True)
class Rows:
    """The rows of one split, as columns of the same length.

    `train` and `test` hold the numbers of the training rows and of the scored rows, which belong to
    the part of the split named `part`. `inputs` maps each audited part of the input to its texts.
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


@dataclass(frozen=True)
class _Sample:
    """The numbers of the rows of a split that are learnt from and scored on."""

    rows: Rows
    learnt: Sequence[int]
    scored: Sequence[int]

    def texts(self, name: str, places: Iterable[int]) -> list[str]:
        """The texts of an input in these rows."""
        texts = self.rows.inputs[name]
        return [texts[place] for place in places]


def _draw_sample(rows: Rows, train_size: int, test_size: int, seed: int) -> _Sample:
    """At most `train_size` training rows and `test_size` rows to score on."""
    learnt = _lowest_draws(rows, rows.train, train_size, seed)
    scored = _lowest_draws(rows, rows.test, test_size, seed)
    if not learnt or not scored:
        raise ValueError(
            f"{rows.dataset}, edition {rows.edition}, {rows.split}: {len(learnt)} rows to train "
            f"on, {len(scored)} to score on"
        )
    return _Sample(rows, learnt, scored)


def _lowest_draws(rows: Rows, numbers: Iterable[int], cap: int, seed: int) -> list[int]:
    """At most `cap` rows, those with the lowest draw by (seed, id), independent of row order."""

    def order(place: int) -> tuple[int, str]:
        return _draw_item(seed, rows.item_ids[place]), rows.labels[place]

    return heapq.nsmallest(cap, numbers, key=order)


@lru_cache(maxsize=1 << 18)
def _draw_item(seed: int, item_id: str) -> int:
    """The draw of an item, which is in many splits."""
    return draw(seed, item_id)


def _sampled_texts(samples: Iterable[_Sample], name: str) -> Iterator[str]:
    """The texts of an input in all samples that have it."""
    for sample in samples:
        if name in sample.rows.inputs:
            yield from sample.texts(name, [*sample.learnt, *sample.scored])


def tokens(text: str) -> list[str]:
    """Lower-cased words, numbers and punctuation marks."""
    return _TOKEN.findall(text.lower())


def _words(text: str) -> list[str]:
    """The words and punctuation marks of a text, plus a token that holds their number."""
    words = tokens(text)
    return [*words, f"(tokens: {len(words)})"]


def _words_and_bigrams(text: str) -> list[str]:
    bigrams = map(" ".join, pairwise(tokens(text)))
    return [*_words(text), *bigrams]


def _split_at_spaces(text: str) -> list[str]:
    return text.lower().split()


class _Texts:
    """The features of the texts of one input, which several splits and tests share.

    They are the words of a text, its bigrams, the number of words, and the character n-grams (2 to
    4) of the words and the spaces around them, which generalise to unseen words (*un-*, *-al*).
    The n-grams of a word are cut once, however many texts have it: the n-grams of texts are the
    product of two matrices, [texts, words] and [words, n-grams].
    """

    def __init__(self, texts: Iterable[str]) -> None:
        distinct_texts = list(dict.fromkeys(texts))
        self._places = {text: place for place, text in enumerate(distinct_texts)}
        words_of_texts, _ = _count_features(distinct_texts, analyzer=_words_and_bigrams)
        self._features = words_of_texts
        if any(map(_split_at_spaces, distinct_texts)):
            texts_in_words, words = _count_features(distinct_texts, analyzer=_split_at_spaces)
            words_in_letters, _ = _count_features(words, analyzer="char_wb", ngram_range=(2, 4))
            letters_of_texts = texts_in_words @ words_in_letters
            # Words share n-grams; a feature is only whether a text has it.
            letters_of_texts.data[:] = 1
            self._features = hstack([words_of_texts, letters_of_texts], format="csr")

    def features(self, texts: Iterable[str]) -> Any:
        """A sparse matrix [texts, features] of 0 and 1."""
        return self._features[[self._places[text] for text in texts]]


def _count_features(texts: Sequence[str], **settings: Any) -> tuple[Any, list[str]]:
    """A sparse matrix [texts, features] of 0 and 1, and the names of the features."""
    from sklearn.feature_extraction.text import CountVectorizer

    # The classifier reads 64-bit floats; other numbers would be converted at each fit.
    vectorizer = CountVectorizer(binary=True, dtype=np.float64, **settings)
    matrix = vectorizer.fit_transform(texts)
    return matrix, list(vectorizer.get_feature_names_out())


class _Classifier:
    """A logistic regression on the features of texts; those of a single training row are left out.

    Its regularisation is strong, because a part of the input says little about the label: tuned
    between 1e-4 and 1e-2 on a tenth of the training texts, 32 of 38 classifiers of the releases
    had 1e-2.
    """

    def __init__(self, features: Any, labels: Sequence[str]) -> None:
        from sklearn.linear_model import SGDClassifier

        self._used_features = np.flatnonzero(features.getnnz(axis=0) >= 2)
        # Averaged SGD is as good here as a full solver and many times faster. Each label is fitted
        # in a thread of its own.
        model = SGDClassifier(
            loss="log_loss",
            alpha=_REGULARISATION,
            average=True,
            max_iter=8,
            tol=None,
            random_state=0,
            n_jobs=-1,
        )
        self._model = model.fit(features[:, self._used_features], labels)

    def predict(self, features: Any) -> list[str]:
        """The labels of texts with these features."""
        return [str(label) for label in self._model.predict(features[:, self._used_features])]


def audit(
    splits: Iterable[Rows], *, train_size: int = TRAINED, test_size: int = TESTED, seed: int = 0
) -> tuple[CellValues, CellValues]:
    """How well each part of the input alone predicts the label, and on how many rows; the cells of
    a row for each split and input.

    At most `train_size` training rows and `test_size` others are used. The majority is the accuracy
    of the most frequent training label. Accuracy has its `clustered_interval`, clustered by text
    because rows with the same text get the same answer; gain is over the majority; p of no gain,
    one-sided, is from a permutation test that exchanges whole texts; p (Holm) is corrected for all
    rows of the table. An input that is the same in all training rows predicts the majority.

    Raises:
        ValueError: no split, or a split without rows to train or score on.
    """
    samples = [_draw_sample(rows, train_size, test_size, seed) for rows in splits]
    if not samples:
        raise ValueError("no split to audit")
    names = dict.fromkeys(name for sample in samples for name in sample.rows.inputs)
    texts = {name: _Texts(_sampled_texts(samples, name)) for name in names}

    # Several tests of one split share their training rows: each input is fitted once.
    @lru_cache(maxsize=4)
    def fit(name: str, known_texts: tuple[str, ...], labels: tuple[str, ...]) -> _Classifier:
        return _Classifier(texts[name].features(known_texts), labels)

    scores: CellValues = {}
    sizes: CellValues = {}
    p_values: dict[str, float] = {}
    for sample in samples:
        gold = [sample.rows.labels[place] for place in sample.scored]
        labels = [sample.rows.labels[place] for place in sample.learnt]
        majority_label = _most_frequent(labels)
        majority = gold.count(majority_label) / len(gold)
        differ_in_label = len(set(labels)) > 1
        for name in sample.rows.inputs:
            known_texts = sample.texts(name, sample.learnt)
            asked_texts = sample.texts(name, sample.scored)
            guesses = [majority_label] * len(gold)
            if differ_in_label and len(set(known_texts)) > 1:
                classifier = fit(name, tuple(known_texts), tuple(labels))
                features = texts[name].features(asked_texts)
                guesses = classifier.predict(features)
            correct = [float(a == b) for a, b in zip(gold, guesses, strict=True)]
            accuracy = clustered_interval(correct, asked_texts)
            gain = accuracy.estimate - majority
            row = f"{sample.rows.split}: {name}"
            constant_guesses = [majority_label] * len(gold)
            p = _p_of_no_gain(gold, guesses, constant_guesses, asked_texts, gain, seed)
            p_values[row] = p
            scores[row, ALONE] = accuracy
            scores[row, MAJORITY] = majority
            scores[row, "gain"] = gain
            scores[row, "p"] = p
            scores[row, "p (Holm)"] = p  # corrected below, with those of all rows
            sizes[row, "rows of train"] = float(len(labels))
            sizes[row, f"rows of {sample.rows.part}"] = float(len(gold))
    corrected = multipletests(list(p_values.values()), method="holm")[1]
    for row, corrected_p in zip(p_values, corrected, strict=True):
        scores[row, "p (Holm)"] = float(corrected_p)
    return scores, sizes


def _most_frequent(labels: Sequence[str]) -> str:
    """The most frequent label; of equally frequent ones, the alphabetically first."""
    counts = Counter(labels)
    return min(counts, key=lambda label: (-counts[label], label))


def _p_of_no_gain(
    gold: Sequence[str],
    guesses: Sequence[str],
    constant_guesses: Sequence[str],
    texts: Sequence[str],
    gain: float,
    seed: int,
) -> float:
    """One-sided p of no gain over always giving one answer."""
    groups = texts if len(set(texts)) > 1 else None
    resampling = Resampling(RESAMPLES, seed)
    either = permutation("accuracy", gold, guesses, constant_guesses, groups, resampling)
    # Exchanging answers flips the sign, so the null distribution is symmetric.
    return either / 2 if gain > 0 else 1 - either / 2


def token_table(rows: Rows, name: str, *, least: int = LEAST) -> pd.DataFrame:
    """The words of an input that give a label away most clearly in the training rows.

    For each word in at least `least` rows and each label: the share of its rows with the label, the
    `expected` share (that of all rows), the z-statistic of the difference (Gardner et al. 2021,
    section 3, with the labels' actual shares instead of equal ones), and p, two-sided, times the
    number of tests (Bonferroni). Returns the ten with the greatest z and p below .01. A word counts
    once per row; the number of words of a text counts as one of its words: ``(tokens: 3)``.
    """
    counts = _rows_by_word_and_label(rows, name)
    labels = pd.Series([rows.labels[place] for place in rows.train])
    expected_shares = labels.value_counts(normalize=True)

    # A row for each word that is tested and each label.
    rows_of_word = counts.sum(axis="columns")
    is_tested = rows_of_word.between(least, len(rows.train) - 1)
    shares = counts.div(rows_of_word, axis="index")
    tests = shares[is_tested].melt(value_name="share", ignore_index=False)
    tests = tests.reset_index()
    tests["rows"] = tests["token"].map(rows_of_word)
    tests["expected"] = tests["label"].map(expected_shares)

    variance = tests["expected"] * (1 - tests["expected"]) / tests["rows"]
    difference = tests["share"] - tests["expected"]
    tests["z"] = difference / np.sqrt(variance)
    two_sided_p = 2 * stats.norm.sf(tests["z"].abs())
    # Bonferroni's correction for every word and label.
    corrected_p = two_sided_p * len(tests)
    tests["p"] = corrected_p.clip(max=1)

    telling_words = tests.query("z > 0 and p < 0.01")
    in_order = telling_words.sort_values(["z", "token", "label"], ascending=[False, True, True])
    return in_order.head(10)


def _rows_by_word_and_label(rows: Rows, name: str) -> pd.DataFrame:
    """The number of training rows that have a word [words] and a label [labels]."""
    texts = [rows.inputs[name][place] for place in rows.train]
    labels = [rows.labels[place] for place in rows.train]
    rows_of_text = pd.crosstab(pd.Series(texts, name="text"), pd.Series(labels, name="label"))
    texts_have_words, words = _count_features(list(rows_of_text.index), analyzer=_words)
    counts = texts_have_words.T @ rows_of_text.to_numpy()
    index = pd.Index(words, name="token")
    return pd.DataFrame(counts, index, rows_of_text.columns)
