"""How much of SyGNS's test forms training gives away: duplicates, patterns, and length alone.

A form is generated, not chosen, so a classifier has nothing to say of it. What can be asked is how
far test sentences and forms are training's with other words in them. A pattern has each content
word by its category (``one noun iv``, ``exists x1.(noun(x1) & iv(x1))``) and keeps quantifiers,
negation and connectives, which are what the splits hold out.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence

import pyarrow as pa

from analysis.significance import wilson
from conf import UserError
from etl.lake import arrow
from etl.sygns.grammar import grammar
from etl.sygns.splits import SCHEMES

# Test sentences looked at of each split, drawn by id.
SAMPLED = 20_000
_WORD = re.compile(r"[A-Za-z]+")
_KEPT = ("detSing", "detPlur", "conn")

_SHARES = (
    "same_form",
    "known_sentence_pattern",
    "known_form_pattern",
    "by_length",
    "most_frequent",
)
_OVERLAP = pa.schema(
    [
        ("scheme", pa.string()),
        ("primitive", pa.string()),
        ("trained", pa.int64()),
        ("tested", pa.int64()),
        *((name, pa.float64()) for name in _SHARES),
        *((f"{name}_{end}", pa.float64()) for name in ("by_length",) for end in ("low", "high")),
    ]
)


def _categories() -> dict[str, str]:
    """The category of each content word, inflected or not, without its inflection: noun, iv, …"""
    found: dict[str, str] = {}
    for name, own in grammar("paper", 10, 10).lexicon.items():
        if name not in _KEPT:
            for word in own.values():
                category = name.removesuffix("Sing").removesuffix("Plur")
                category = category.removesuffix("Fin").removesuffix("Inf")
                found |= {word.surface: category, word.base: category}
    return found


def pattern(text: str, categories: Mapping[str, str]) -> str:
    """A sentence or form (FOL, VF or DRS) with each content word by its category."""
    return _WORD.sub(lambda found: categories.get(found[0].lower(), found[0]), text)


def overlap(lake: str, edition: str, form: str = "fol", seed: int = 0) -> pa.Table:
    """What of each split's test rows training has; one row a scheme and primitive quantifier.

    Columns: trained, tested (sentences; of the test part at most 20,000 drawn by id); same_form,
    the share of test forms that are the form of a training sentence, letter by letter;
    known_sentence_pattern and known_form_pattern, the shares whose pattern training has; by_length
    (with its interval), how often the most frequent form pattern of training sentences with as many
    words is right; most_frequent, the same by the most frequent pattern of all.

    Raises:
        UserError: no splits of the edition; another form than fol, vf or drs.
    """
    if form not in ("fol", "vf", "drs"):
        raise UserError(f"form={form}: expected fol, vf or drs")
    splits = arrow.read(lake, "sygns_splits", where=[("edition", "=", edition)])
    if not splits.num_rows:
        raise UserError(f"edition={edition}: no rows of it in the table sygns_splits of {lake}")
    parts: dict[tuple[str, str], dict[str, list[str]]] = {}
    columns = (splits.column(n).to_pylist() for n in ("scheme", "primitive", "part", "sentence_id"))
    for scheme, primitive, part, item in zip(*columns, strict=True):
        parts.setdefault((scheme, primitive), {}).setdefault(part, []).append(item)
    categories = _categories()
    known: dict[str, tuple[str, str, str, int]] = {}
    for batch in arrow.batches(
        lake, "sygns", where=[("edition", "=", edition)], columns=["sentence_id", "sentence", form]
    ):
        for item, sentence, meaning in zip(
            *(batch.column(name).to_pylist() for name in ("sentence_id", "sentence", form)),
            strict=True,
        ):
            known[item] = (
                meaning,
                pattern(sentence, categories),
                pattern(meaning, categories),
                len(sentence.split()),
            )
    found = []
    for (scheme, primitive), own in sorted(parts.items(), key=_order):
        trained = [known[item] for item in own.get("train", ()) if item in known]
        asked = [known[item] for item in _drawn(own.get("test", ()), seed) if item in known]
        if trained and asked:
            found.append({"scheme": scheme, "primitive": primitive, **_shares(trained, asked)})
    return pa.Table.from_pylist(found, _OVERLAP)


def _order(item: tuple[tuple[str, str], object]) -> tuple[int, str]:
    (scheme, primitive), _ = item
    return SCHEMES.index(scheme), primitive


def _drawn(ids: Sequence[str], seed: int) -> list[str]:
    return sorted(ids, key=lambda own: hashlib.blake2b(f"{seed}\t{own}".encode()).digest())[
        :SAMPLED
    ]


def _shares(
    trained: Sequence[tuple[str, str, str, int]], asked: Sequence[tuple[str, str, str, int]]
) -> dict[str, float]:
    forms, sentences, patterns = ({row[at] for row in trained} for at in range(3))
    counts: dict[int, Counter[str]] = {}
    for _, _, own, length in trained:
        counts.setdefault(length, Counter())[own] += 1
    # Of equally many the first by the alphabet.
    best = {length: min(own, key=lambda name: (-own[name], name)) for length, own in counts.items()}
    total: Counter[str] = sum(counts.values(), Counter())
    most = min(total, key=lambda name: (-total[name], name))
    size = len(asked)
    by_length = wilson(sum(best.get(length) == own for _, _, own, length in asked), size)
    return {
        "trained": len(trained),
        "tested": size,
        "same_form": sum(form in forms for form, *_ in asked) / size,
        "known_sentence_pattern": sum(own in sentences for _, own, *_ in asked) / size,
        "known_form_pattern": sum(own in patterns for _, _, own, _ in asked) / size,
        "by_length": by_length.estimate,
        "by_length_low": by_length.low,
        "by_length_high": by_length.high,
        "most_frequent": sum(own == most for _, _, own, _ in asked) / size,
    }
