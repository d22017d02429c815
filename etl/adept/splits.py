"""Training and test splits, and sentence pairs that occur more than once.

There are three schemes, each with 80 % train, 10 % val and 10 % test. ``random`` is the paper's,
over instances; in the release, 890 of 1,002 test nouns also occur in training. ``noun_disjoint``
has no noun in two parts, ``adjective_disjoint`` no adjective. A part depends only on a hash of the
seed and the row's own words, so partitioning has no effect and a row added later moves no other
row. Sizes are therefore only average shares: with few words, frequent ones cause deviations.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adnominal.etl.draws import fraction

SCHEMES = ("random", "noun_disjoint", "adjective_disjoint")
PARTS = ("train", "val", "test")
_TRAIN, _VAL = 0.8, 0.1


def part(seed: int, scheme: str, key: str) -> str:
    """Return the part of all rows with the same `key`: 80 % train, 10 % val, 10 % test.

    Raises:
        ValueError: the scheme is unknown.
    """
    if scheme not in SCHEMES:
        raise ValueError(f"scheme {scheme!r}; expected one of {', '.join(SCHEMES)}")
    place = fraction(seed, scheme, key)
    return "train" if place < _TRAIN else "val" if place < _TRAIN + _VAL else "test"


def split_columns(
    sentence1: str, sentence2: str, modifier: str, noun: str, *, seed: int = 0
) -> dict[str, str]:
    """Return columns ``split_random``, ``split_noun_disjoint`` and ``split_adjective_disjoint``.

    A sentence pair that occurs twice is in one part even under the random scheme; the release has
    pairs in both training and test.
    """
    keys = {
        "random": f"{sentence1}\t{sentence2}",
        "noun_disjoint": noun.lower(),
        "adjective_disjoint": modifier.lower(),
    }
    return {f"split_{scheme}": part(seed, scheme, keys[scheme]) for scheme in SCHEMES}


@dataclass(frozen=True)
class Repetitions:
    """Sentence pairs that occur more than once, and overlap between parts.

    repeated     pairs that occur more than once
    conflicting  of these, pairs with different labels
    leaking      of these, pairs in more than one part
    sentences    first sentences in more than one part
    pairs        (noun, modifier) pairs in more than one part
    nouns_seen   for val and test: number of nouns, and number of those in training
    """

    repeated: int
    conflicting: int
    leaking: int
    sentences: int
    pairs: int
    nouns_seen: Mapping[str, tuple[int, int]]


def repetitions(rows: Iterable[Mapping[str, Any]], scheme: str = "random") -> Repetitions:
    """Count what rows of the table ``adept`` repeat, within and across parts of a scheme."""
    column = f"split_{scheme}"
    counts: Counter[tuple[str, str]] = Counter()
    labels: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    parts: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    nouns: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        key, where = (row["sentence1"], row["sentence2"]), row[column]
        counts[key] += 1
        labels[key].add(row["label"])
        parts["both", *key].add(where)
        parts["sentence", row["sentence1"]].add(where)
        parts["pair", row["noun"], row["modifier"]].add(where)
        nouns[where].add(row["noun"])
    parts_of_sentence = Counter(key[0] for key, values in parts.items() if len(values) > 1)
    return Repetitions(
        repeated=sum(count > 1 for count in counts.values()),
        conflicting=sum(len(values) > 1 for values in labels.values()),
        leaking=parts_of_sentence["both"],
        sentences=parts_of_sentence["sentence"],
        pairs=parts_of_sentence["pair"],
        nouns_seen={
            name: (len(nouns[name]), len(nouns[name] & nouns["train"]))
            for name in PARTS[1:]
            if name in nouns
        },
    )


@dataclass
class Merged:
    """Rows with each sentence pair once, and the dropped rows by reason."""

    rows: list[Mapping[str, Any]] = field(default_factory=list)
    dropped: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)


def merge_copies(rows: Sequence[Mapping[str, Any]]) -> Merged:
    """Keep each sentence pair once, in the position and with the split of its first row.

    If labels differ, the most frequent one is kept; for a tie, none is (reason ``conflicting
    labels``).
    """
    groups: defaultdict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["sentence1"], row["sentence2"]].append(row)
    result = Merged()
    for group in groups.values():
        counts = Counter(row["label"] for row in group).most_common()
        if len(counts) > 1 and counts[0][1] == counts[1][1]:
            result.dropped.setdefault("conflicting labels", []).extend(group)
            continue
        result.rows.append({**group[0], "label": counts[0][0]})
        if len(group) > 1:
            result.dropped.setdefault("repeated sentence pair", []).extend(group[1:])
    return result
