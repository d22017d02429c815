"""Labels of one task read as another's: what ``conf/transfer.yaml`` says, and its reasons.

ADEPT, PLANE, ASP and natural-language inference name their answers differently, but all of them
answer whether a conclusion is licensed. What a model taught one of them says of another's items can
be scored where that reading is defensible, and only there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

# The two answers that labels are read as, as columns and tables show them.
HOLDS, OTHERWISE = "holds", "does not hold"


class Undefined(Exception):
    """Labels that cannot be read as others; says why."""


def _text() -> str:
    return files("conf").joinpath("transfer.yaml").read_text(encoding="utf-8")


def fingerprint() -> str:
    """A hash of the maps: answers that were read by others are to be read again."""
    return hashlib.sha256(_text().encode()).hexdigest()[:16]


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = yaml.safe_load(_text())
    return table


def holds(label: str) -> bool:
    """Whether a label says that what is concluded is licensed.

    Raises:
        Undefined: no label of ours.
    """
    known = _table()["holds"]
    if label not in known:
        raise Undefined(f"{label!r} is none of the labels {', '.join(known)}")
    return bool(known[label]["holds"])


def canonical(names: Sequence[str]) -> tuple[str, ...]:
    """A model's class names as our labels, in the model's order.

    Upper and lower case, and ``_``, ``-`` and spaces, are the same.

    Raises:
        Undefined: a name that is none of our labels, one twice, or labels that do not make up a
            task's.
    """
    known = {_plain(label): label for label in _table()["holds"]}
    unknown = [name for name in names if _plain(name) not in known]
    if unknown:
        raise Undefined(f"{', '.join(map(repr, unknown))} names no label that is known here")
    labels = tuple(known[_plain(name)] for name in names)
    if len(set(labels)) < len(labels) or in_order(labels) is None:
        raise Undefined(f"{', '.join(names)} are not the labels of a task")
    return labels


def in_order(labels: Collection[str]) -> tuple[str, ...] | None:
    """The labels in their task's order; None where they are not the labels of a task."""
    for entry in (*_table()["answers"], *_table()["undefined"]):
        if labels and set(entry["labels"]) == set(labels):
            return tuple(entry["labels"])
    return None


def _plain(name: str) -> str:
    return " ".join(name.casefold().replace("_", " ").replace("-", " ").split())


def reading(labels: Sequence[str], task_labels: Sequence[str]) -> dict[str, str]:
    """The label of `task_labels`, a task's, that each of a model's `labels` is read as.

    Raises:
        Undefined: there is no defensible way; says why.
    """
    model_labels, table = set(labels), _table()
    if labels and model_labels <= set(task_labels):
        return {label: label for label in labels}
    for entry in table["coarser"]:
        if set(entry["labels"]) == set(task_labels) and model_labels <= entry["of"].keys():
            return {label: entry["of"][label] for label in labels}
    # Without labels a model generates texts, or the task asks for them.
    defined_for = set(task_labels) if model_labels else set()
    for entry in table["undefined"]:
        if set(entry["labels"]) == defined_for:
            raise Undefined(entry["because"])
    for entry in table["answers"]:
        if set(entry["labels"]) == set(task_labels):
            return {label: entry["holds" if holds(label) else "otherwise"] for label in labels}
    raise Undefined(f"no answers are defined for the labels {', '.join(task_labels)}")


def two_way(labels: Collection[str]) -> bool:
    """Whether labels are the two answers themselves, so that a two-way reading adds nothing."""
    answers = (entry["labels"] for entry in _table()["answers"])
    return any(len(both) == 2 and set(labels) <= set(both) for both in answers)
