"""How well one surface feature predicts the label, for tests that rows give nothing away."""

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

NEGATION = frozenset(
    ("not", "no", "never", "nothing", "nobody", "none", "neither", "nor", "cannot", "without")
)
_TOKEN = re.compile(r"\d+(?:\.\d+)?|\w+(?:-\w+)*|[^\w\s]")
_SIDES = ("premise", "hypothesis")


def surface_features(premise: str, hypothesis: str) -> dict[str, float]:
    """Lengths, punctuation, negation and overlap of a pair, and a feature for each word."""
    features: dict[str, float] = {}
    words = [_TOKEN.findall(text.lower()) for text in (premise, hypothesis)]
    for side, text, side_words in zip(_SIDES, (premise, hypothesis), words, strict=True):
        features[f"characters of {side}"] = len(text)
        features[f"words of {side}"] = len(side_words)
        features[f"full stop of {side}"] = text.rstrip().endswith(".")
        features[f"marks of {side}"] = sum(not word[0].isalnum() for word in side_words)
        features[f"negation of {side}"] = any(word in NEGATION for word in side_words)
        for word in side_words:
            features[f"{word!r} in {side}"] = 1
            features[f"{word!r} in either"] = 1
    for name in ("characters", "words", "marks", "negation"):
        difference = features[f"{name} of hypothesis"] - features[f"{name} of premise"]
        features[f"{name}, hypothesis less premise"] = difference
    features["negation of one"] = abs(features["negation, hypothesis less premise"])
    shared = set(words[0]) & set(words[1])
    features["share of hypothesis in premise"] = len(shared) / len(set(words[1]))
    features["overlap over union"] = len(shared) / len(set(words[0]) | set(words[1]))
    orders = [[word for word in side_words if word in shared] for side_words in words]
    features["word order kept"] = orders[0] == orders[1]
    return features


def best_gain(rows: Sequence[tuple[str, str, str]]) -> tuple[float, str]:
    """The percentage points by which the best rule beats the majority label, and its feature.

    Rows are (premise, hypothesis, label) with two labels. A rule is a threshold of one feature;
    each side of it gets its most frequent label.
    """
    table = pd.DataFrame([surface_features(premise, hypothesis) for premise, hypothesis, _ in rows])
    table = table.fillna(0).astype(float)
    first_label = rows[0][2]
    is_first = np.array([label == first_label for _, _, label in rows])
    right = {name: most_right(table[name].to_numpy(), is_first) for name in table.columns}
    best = max(right, key=lambda name: right[name])
    majority = max(is_first.sum(), (~is_first).sum())
    return 100 * (right[best] - majority) / len(rows), best


def most_right(values: npt.NDArray[np.float64], is_first: npt.NDArray[np.bool_]) -> int:
    """The rows that the best threshold of a feature predicts right."""
    order = np.argsort(values, kind="stable")
    ordered_values = values[order]
    first_below = np.cumsum(is_first[order])
    second_below = np.cumsum(~is_first[order])
    first_above = first_below[-1] - first_below
    second_above = second_below[-1] - second_below
    right = np.maximum(first_below, second_below) + np.maximum(first_above, second_above)
    # Equal values are on the same side; the last cut leaves all rows below.
    is_cut = np.append(ordered_values[1:] != ordered_values[:-1], True)
    return int(right[is_cut].max())
