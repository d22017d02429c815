"""How well a single feature of premise and hypothesis predicts the label.

A dataset that one feature solves tests that feature. For each feature the best rule is taken: for a
number the best threshold, for a mark whether it is there; either side is given its most frequent
label. The majority label alone is what such a rule must beat (Gururangan et al. 2018).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["NEGATION", "Rule", "audit", "features"]

NEGATION = frozenset(
    ("not", "no", "never", "nothing", "nobody", "none", "neither", "nor", "cannot", "without")
)
_TOKEN = re.compile(r"\d+(?:\.\d+)?|\w+(?:-\w+)*|[^\w\s]")
_SIDES = ("premise", "hypothesis")


@dataclass(frozen=True)
class Rule:
    """A feature's best rule: its accuracy, the majority's, and the rule in words."""

    feature: str
    accuracy: float
    majority: float
    rule: str

    @property
    def gain(self) -> float:
        """Points above the majority."""
        return 100 * (self.accuracy - self.majority)


def tokens(text: str) -> list[str]:
    """Lower-cased words, numbers and marks."""
    return _TOKEN.findall(text.lower())


def features(premise: str, hypothesis: str) -> dict[str, float]:
    """Lengths, punctuation, overlap and negation of a pair; single tokens are `audit`'s."""
    texts = (premise, hypothesis)
    words = [tokens(text) for text in texts]
    kinds = [set(w) for w in words]
    found: dict[str, float] = {}
    for side, text, own in zip(_SIDES, texts, words, strict=True):
        found[f"characters of {side}"] = len(text)
        found[f"words of {side}"] = len(own)
        found[f"{side} ends in a full stop"] = text.rstrip().endswith(".")
        found[f"marks in {side}"] = sum(not token[0].isalnum() for token in own)
        found[f"negation in {side}"] = any(token in NEGATION for token in own)
    for unit in ("characters", "words", "marks"):
        one, two = (found[f"{unit} {'in' if unit == 'marks' else 'of'} {side}"] for side in _SIDES)
        found[f"{unit}, hypothesis less premise"] = two - one
    found["negation in one of them"] = (
        found["negation in premise"] != found["negation in hypothesis"]
    )
    shared = kinds[0] & kinds[1]
    found["share of hypothesis in premise"] = len(shared) / max(1, len(kinds[1]))
    found["overlap over union"] = len(shared) / max(1, len(kinds[0] | kinds[1]))
    found["word order kept"] = [w for w in words[0] if w in shared] == [
        w for w in words[1] if w in shared
    ]
    return found


def audit(
    rows: Iterable[tuple[str, str, str]], *, least: int = 2, leave_out: Sequence[str] = ()
) -> list[Rule]:
    """The best rule of each feature, best first, for (premise, hypothesis, label) rows.

    Tokens in fewer than `least` rows are passed over; labels of `leave_out` do not count.

    Raises:
        ValueError: no rows.
    """
    chosen = [row for row in rows if row[2] not in leave_out]
    if not chosen:
        raise ValueError("no rows to audit")
    total: Counter[str] = Counter(label for _, _, label in chosen)
    size = len(chosen)
    majority = max(total.values()) / size
    values: dict[str, dict[float, Counter[str]]] = {}
    present: dict[tuple[str, str], Counter[str]] = {}
    for premise, hypothesis, label in chosen:
        for name, value in features(premise, hypothesis).items():
            values.setdefault(name, {}).setdefault(float(value), Counter())[label] += 1
        sides = (set(tokens(premise)), set(tokens(hypothesis)))
        for side, own in zip((*_SIDES, "either"), (*sides, sides[0] | sides[1]), strict=True):
            for token in own:
                present.setdefault((token, side), Counter())[label] += 1
    rules = [_threshold(name, own, total, majority) for name, own in values.items()]
    for (token, side), counts in present.items():
        seen = sum(counts.values())
        if least <= seen < size:
            name = f"{token!r} in {side}"
            right = _best(counts)[1] + _best(_rest(total, counts))[1]
            there, else_ = _best(counts)[0], _best(_rest(total, counts))[0]
            rules.append(Rule(name, right / size, majority, f"{there} where there, else {else_}"))
    return sorted(rules, key=lambda r: (-r.accuracy, r.feature))


def _best(counts: Mapping[str, int]) -> tuple[str, int]:
    return max(sorted(counts.items()), key=lambda item: item[1], default=("", 0))


def _rest(total: Mapping[str, int], counts: Mapping[str, int]) -> dict[str, int]:
    return {label: count - counts.get(label, 0) for label, count in total.items()}


def _threshold(
    name: str, values: Mapping[float, Counter[str]], total: Counter[str], majority: float
) -> Rule:
    size = sum(total.values())
    below: Counter[str] = Counter()
    right, rule = _best(total)[1], f"{_best(total)[0]} always"
    for value in sorted(values)[:-1]:
        below += values[value]
        above = _rest(total, below)
        if _best(below)[1] + _best(above)[1] > right:
            right = _best(below)[1] + _best(above)[1]
            rule = f"{_best(below)[0]} up to {value:g}, {_best(above)[0]} above"
    return Rule(name, right / size, majority, rule)
