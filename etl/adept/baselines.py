"""Baselines that need no model (section 5.2), and the label sets for evaluating models.

Five classes are the labels themselves. Four classes leave out `impossible`, whose annotations
section 4.2 found doubtful. Three classes merge `impossible` with `less likely` and `necessarily
true` with `more likely`.
"""

from collections import Counter
from collections.abc import Collection, Iterable

from adnominal.etl.adept import LABELS

EQUALLY_LIKELY = LABELS.index("equally likely")
# By number of classes, the class of each label 0..4; None for labels that are left out.
_BECOMES: dict[int, tuple[int | None, ...]] = {
    5: (0, 1, 2, 3, 4),
    4: (None, 0, 1, 2, 3),
    3: (0, 0, 1, 2, 2),
}
CLASSES = tuple(_BECOMES)


def label_of(label: int, classes: int) -> int | None:
    """Return the class, from 0, of a label 0..4 among 5, 4 or 3; None if it is left out.

    Raises:
        ValueError: the number of classes is another, or the label is outside 0..4.
    """
    if classes not in _BECOMES:
        raise ValueError(f"classes={classes}; expected one of {', '.join(map(str, CLASSES))}")
    if not 0 <= label < len(LABELS):
        raise ValueError(f"label {label}; expected 0 to {len(LABELS) - 1}")
    return _BECOMES[classes][label]


def majority(train_labels: Iterable[int], classes: int) -> int:
    """Return the most frequent class of the training labels (the lower one for a tie).

    Raises:
        ValueError: no label falls in any class.
    """
    counts = Counter(label_of(label, classes) for label in train_labels)
    counts.pop(None, None)
    if not counts:
        raise ValueError("no labels")
    return min((c for c in counts if c is not None), key=lambda c: (-counts[c], c))


def normative_rule(modifier: str, nonsubsective: Collection[str], classes: int) -> int:
    """Return the class that only the taxonomy predicts: lower if non-subsective, else equal.

    The paper says that the rule predicts `less likely`; with five classes its published accuracy
    (63.6 on val) is that of predicting `impossible`, the lowest class, which this does.
    """
    if modifier.lower() in nonsubsective:
        return 0
    equal = label_of(EQUALLY_LIKELY, classes)
    assert equal is not None
    return equal
