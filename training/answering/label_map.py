"""Interpret the labels of one task as another's, by ``conf/transfer.yaml``.

ADEPT, PLANE, ASP and natural-language inference name their answers differently, but all of them
answer whether a conclusion is licensed. A model's answers to another task's items can be scored if
this interpretation is defensible, and only then.
"""

import hashlib
from collections.abc import Collection, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

# The two answers for two-way scores, as shown in columns and tables.
HOLDS, OTHERWISE = "holds", "does not hold"


class Undefined(Exception):
    """Labels that cannot be interpreted as others; the message says why."""


def _text() -> str:
    return files("adnominal.conf").joinpath("transfer.yaml").read_text(encoding="utf-8")


def fingerprint() -> str:
    """Return a hash of the maps; answers read by other maps must be read again."""
    return hashlib.sha256(_text().encode()).hexdigest()[:16]


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = yaml.safe_load(_text())
    return table


def holds(label: str) -> bool:
    """Whether a label says that the conclusion is licensed.

    Raises:
        Undefined: the label is unknown.
    """
    known = _table()["holds"]
    if label not in known:
        raise Undefined(f"{label!r} is not one of the labels {', '.join(known)}")
    return bool(known[label]["holds"])


def canonical(names: Sequence[str]) -> tuple[str, ...]:
    """Return our labels for a model's class names, in the model's order.

    Case is ignored, and ``_``, ``-`` and spaces are equivalent.

    Raises:
        Undefined: a name is not one of our labels or occurs twice, or they are not those of a task.
    """
    known = {plain_name(label): label for label in _table()["holds"]}
    unknown = [name for name in names if plain_name(name) not in known]
    if unknown:
        raise Undefined(f"no known label: {', '.join(map(repr, unknown))}")
    labels = tuple(known[plain_name(name)] for name in names)
    if len(set(labels)) < len(labels) or in_order(labels) is None:
        raise Undefined(f"{', '.join(names)} are not the labels of a task")
    return labels


def in_order(labels: Collection[str]) -> tuple[str, ...] | None:
    """Return the labels in their task's order; None if they are not the labels of a task."""
    for entry in (*_table()["answers"], *_table()["undefined"]):
        if labels and set(entry["labels"]) == set(labels):
            return tuple(entry["labels"])
    return None


def plain_name(name: str) -> str:
    """Return a label without differences of case, ``_``, ``-`` and spaces."""
    return " ".join(name.casefold().replace("_", " ").replace("-", " ").split())


def label_reading(labels: Sequence[str], task_labels: Sequence[str]) -> dict[str, str]:
    """Return the label in `task_labels` for each of a model's `labels`.

    Raises:
        Undefined: no interpretation is defensible; the message says why.
    """
    model_labels, table = set(labels), _table()
    if labels and model_labels <= set(task_labels):
        return {label: label for label in labels}
    for entry in table["coarser"]:
        if set(entry["labels"]) == set(task_labels) and model_labels <= entry["of"].keys():
            return {label: entry["of"][label] for label in labels}
    # Without labels, the model generates text, or the task requires it.
    defined_for = set(task_labels) if model_labels else set()
    for entry in table["undefined"]:
        if set(entry["labels"]) == defined_for:
            raise Undefined(entry["because"])
    for entry in table["answers"]:
        if set(entry["labels"]) == set(task_labels):
            return {label: entry["holds" if holds(label) else "otherwise"] for label in labels}
    raise Undefined(f"no answers are defined for the labels {', '.join(task_labels)}")


def two_way(labels: Collection[str]) -> bool:
    """Whether labels are already the two answers, so that two-way scores add nothing."""
    answers = (entry["labels"] for entry in _table()["answers"])
    return any(len(both) == 2 and set(labels) <= set(both) for both in answers)
