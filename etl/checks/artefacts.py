"""How well a single feature of premise and hypothesis predicts the label.

A dataset that one feature solves tests only that feature. For each feature the best rule counts:
the best threshold of a number, or the presence of a token. Each side of the rule gets its most
frequent label. The baseline is the majority label (Gururangan et al. 2018).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

NEGATION = frozenset(
    ("not", "no", "never", "nothing", "nobody", "none", "neither", "nor", "cannot", "without")
)
_TOKEN = re.compile(r"\d+(?:\.\d+)?|\w+(?:-\w+)*|[^\w\s]")
_SIDES = ("premise", "hypothesis")


@dataclass(frozen=True)
class Rule:
    """The best rule of a feature: its accuracy, that of the majority label, and its description."""

    feature: str
    accuracy: float
    majority: float
    rule: str

    @property
    def gain(self) -> float:
        """Percentage points above the majority label."""
        return 100 * (self.accuracy - self.majority)


def tokens(text: str) -> list[str]:
    """Return lower-cased words, numbers and punctuation marks."""
    return _TOKEN.findall(text.lower())


def features(premise: str, hypothesis: str) -> dict[str, float]:
    """Return length, punctuation, overlap and negation of a pair; `audit` adds single tokens."""
    texts = (premise, hypothesis)
    words = [tokens(text) for text in texts]
    vocabularies = [set(side_tokens) for side_tokens in words]
    values: dict[str, float] = {}
    for side, text, side_tokens in zip(_SIDES, texts, words, strict=True):
        values[f"characters of {side}"] = len(text)
        values[f"words of {side}"] = len(side_tokens)
        values[f"{side} ends in a full stop"] = text.rstrip().endswith(".")
        values[f"marks in {side}"] = sum(not token[0].isalnum() for token in side_tokens)
        values[f"negation in {side}"] = any(token in NEGATION for token in side_tokens)
    for unit in ("characters", "words", "marks"):
        first, second = (
            values[f"{unit} {'in' if unit == 'marks' else 'of'} {side}"] for side in _SIDES
        )
        values[f"{unit}, hypothesis less premise"] = second - first
    values["negation in one of them"] = (
        values["negation in premise"] != values["negation in hypothesis"]
    )
    shared = vocabularies[0] & vocabularies[1]
    values["share of hypothesis in premise"] = len(shared) / max(1, len(vocabularies[1]))
    values["overlap over union"] = len(shared) / max(1, len(vocabularies[0] | vocabularies[1]))
    values["word order kept"] = [w for w in words[0] if w in shared] == [
        w for w in words[1] if w in shared
    ]
    return values


def audit(
    rows: Iterable[tuple[str, str, str]], *, min_rows: int = 2, leave_out: Sequence[str] = ()
) -> list[Rule]:
    """Return the best rule of each feature, best first, for (premise, hypothesis, label) rows.

    Tokens in fewer than `min_rows` rows are ignored, as are rows with a label in `leave_out`.

    Raises:
        ValueError: there are no rows.
    """
    counted_rows = [row for row in rows if row[2] not in leave_out]
    if not counted_rows:
        raise ValueError("no rows to audit")
    total: Counter[str] = Counter(label for _, _, label in counted_rows)
    size = len(counted_rows)
    majority = max(total.values()) / size
    values: dict[str, dict[float, Counter[str]]] = {}
    label_counts: dict[tuple[str, str], Counter[str]] = {}
    for premise, hypothesis, label in counted_rows:
        for name, value in features(premise, hypothesis).items():
            values.setdefault(name, {}).setdefault(float(value), Counter())[label] += 1
        sides = (set(tokens(premise)), set(tokens(hypothesis)))
        for side, vocabulary in zip(
            (*_SIDES, "either"), (*sides, sides[0] | sides[1]), strict=True
        ):
            for token in vocabulary:
                label_counts.setdefault((token, side), Counter())[label] += 1
    rules = [_threshold(name, by_value, total, majority) for name, by_value in values.items()]
    for (token, side), counts in label_counts.items():
        if min_rows <= counts.total() < size:
            label, right = _best(counts)
            other_label, other_right = _best(total - counts)
            rule = f"{label} if present, else {other_label}"
            accuracy = (right + other_right) / size
            rules.append(Rule(f"{token!r} in {side}", accuracy, majority, rule))
    return sorted(rules, key=lambda r: (-r.accuracy, r.feature))


def _best(counts: Mapping[str, int]) -> tuple[str, int]:
    return max(sorted(counts.items()), key=lambda item: item[1], default=("", 0))


def _threshold(
    name: str, values: Mapping[float, Counter[str]], total: Counter[str], majority: float
) -> Rule:
    label, most_right = _best(total)
    rule = f"{label} always"
    below: Counter[str] = Counter()
    for value in sorted(values)[:-1]:
        below += values[value]
        label_below, right_below = _best(below)
        label_above, right_above = _best(total - below)
        if right_below + right_above > most_right:
            most_right = right_below + right_above
            rule = f"{label_below} up to {value:g}, {label_above} above"
    return Rule(name, most_right / total.total(), majority, rule)
