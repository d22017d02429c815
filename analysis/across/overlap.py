"""How many of SyGNS's test forms occur in training, as duplicates or as patterns.

A form is generated, not chosen from labels, so the classifier audit does not apply. Instead, this
measures how far test sentences and forms are training sentences and forms with other words. A
pattern replaces each content word by its category (``one noun iv``, ``exists x1.(noun(x1) &
iv(x1))``) and keeps quantifiers, negation and connectives, which the splits hold out.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from adnominal.analysis.across.fine_tuned import Across
from adnominal.analysis.editions import read_edition
from adnominal.analysis.papers.page import exhibit
from adnominal.analysis.rendering.blocks import Block, Table, Text
from adnominal.analysis.rows import schema, tuples
from adnominal.analysis.statistics import wilson
from adnominal.conf import UserError
from adnominal.etl.draws import content_hash
from adnominal.etl.lake import arrow
from adnominal.etl.sygns.grammar import grammar
from adnominal.etl.sygns.splits import SCHEMES

# Test sentences of each split that are examined, drawn by id.
SAMPLED = 20_000
_WORD = re.compile(r"[A-Za-z]+")
_FUNCTION_WORDS = ("detSing", "detPlur", "conn")

_SHARES = {
    "same_form": "same form",
    "known_sentence_pattern": "sentence pattern",
    "known_form_pattern": "form pattern",
    "by_length": "by length",
    "most_frequent": "most frequent",
}
_OVERLAP = schema(
    "scheme primitive trained:int tested:int same_form:float known_sentence_pattern:float "
    "known_form_pattern:float by_length:float most_frequent:float by_length_low:float "
    "by_length_high:float"
)


def _categories() -> dict[str, str]:
    """The category (noun, iv, …) of each content word in all its inflected forms."""
    categories: dict[str, str] = {}
    for name, words in grammar("paper", 10, 10).lexicon.items():
        if name not in _FUNCTION_WORDS:
            for word in words.values():
                category = name.removesuffix("Sing").removesuffix("Plur")
                category = category.removesuffix("Fin").removesuffix("Inf")
                categories |= {word.surface: category, word.base: category}
    return categories


def pattern(text: str, categories: Mapping[str, str]) -> str:
    """Replace each content word of a sentence or form (FOL, VF or DRS) by its category."""
    return _WORD.sub(lambda match: categories.get(match[0].lower(), match[0]), text)


def overlap(lake: str, edition: str, seed: int = 0) -> pa.Table:
    """The overlap of each split's test rows with training; one row per scheme and primitive.

    Columns: trained, tested (numbers of sentences; at most 20,000 of the test part, drawn by id);
    same_form, the share of test forms that are identical to the form of a training sentence;
    known_sentence_pattern and known_form_pattern, the shares whose pattern occurs in training;
    by_length (with its interval), the accuracy of guessing the most frequent form pattern among
    training sentences of the same length; most_frequent, that of the most frequent pattern of all.

    Raises:
        UserError: the edition has no splits.
    """
    splits = read_edition(lake, "sygns_splits", edition)
    parts: dict[tuple[str, str], dict[str, list[str]]] = {}
    columns = ("scheme", "primitive", "part", "sentence_id")
    for scheme, primitive, part, item in tuples(splits, *columns):
        parts.setdefault((scheme, primitive), {}).setdefault(part, []).append(item)
    categories = _categories()
    rows_by_id: dict[str, tuple[str, str, str, int]] = {}
    names = ["sentence_id", "sentence", "fol"]
    for batch in arrow.batches(lake, "sygns", where=[("edition", "=", edition)], columns=names):
        for item, sentence, meaning in tuples(batch, *names):
            texts = pattern(sentence, categories), pattern(meaning, categories)
            rows_by_id[item] = (meaning, *texts, len(sentence.split()))
    rows = []
    for (scheme, primitive), ids in sorted(
        parts.items(), key=lambda item: (SCHEMES.index(item[0][0]), item[0][1])
    ):
        trained = [rows_by_id[item] for item in ids.get("train", ()) if item in rows_by_id]
        tested = sorted(ids.get("test", ()), key=lambda item: content_hash(seed, item, size=64))
        scored = [rows_by_id[item] for item in tested[:SAMPLED] if item in rows_by_id]
        if trained and scored:
            rows.append({"scheme": scheme, "primitive": primitive, **_shares(trained, scored)})
    return pa.Table.from_pylist(rows, _OVERLAP)


def _shares(
    training_rows: Sequence[tuple[str, str, str, int]],
    scored_rows: Sequence[tuple[str, str, str, int]],
) -> dict[str, float]:
    forms, sentences, patterns = ({row[place] for row in training_rows} for place in range(3))
    counts: dict[int, Counter[str]] = {}
    for _, _, form_pattern, length in training_rows:
        counts.setdefault(length, Counter())[form_pattern] += 1
    best_pattern = {length: _most_frequent(of_length) for length, of_length in counts.items()}
    most_frequent = _most_frequent(sum(counts.values(), Counter()))
    size = len(scored_rows)
    tested_forms, tested_sentences, tested_patterns, lengths = zip(*scored_rows, strict=True)
    guesses = [best_pattern.get(length) for length in lengths]
    hits = sum(a == b for a, b in zip(guesses, tested_patterns, strict=True))
    by_length = wilson(hits, size)
    return {
        "trained": len(training_rows),
        "tested": size,
        "same_form": sum(form in forms for form in tested_forms) / size,
        "known_sentence_pattern": sum(text in sentences for text in tested_sentences) / size,
        "known_form_pattern": sum(text in patterns for text in tested_patterns) / size,
        "by_length": by_length.estimate,
        "by_length_low": by_length.low,
        "by_length_high": by_length.high,
        "most_frequent": tested_patterns.count(most_frequent) / size,
    }


def _most_frequent(counts: Counter[str]) -> str:
    """The most frequent key; ties go to the first in alphabetical order."""
    return min(counts, key=lambda name: (-counts[name], name))


@exhibit(
    "",
    "artefacts of SyGNS",
    command="python etl/build_sygns.py preset=paper lake=LAKE",
    tables=("sygns", "sygns_splits"),
)
def of_forms(page: Across) -> list[Block]:
    """How far the test forms of each split occur in training."""
    lake = page.lake
    edition = lake.edition("sygns", "sygns_splits")
    data = overlap(lake.root, edition, seed=lake.seed)
    if not data.num_rows:
        raise UserError(f"edition={edition}: no split of SyGNS with rows to train and to test on")
    columns = {name: data.column(name) for name in ("scheme", "primitive", "trained", "tested")}
    columns |= {title: pc.multiply(data.column(name), 100.0) for name, title in _SHARES.items()}
    text = (
        "Forms follow from sentences by rule, so only the whole sentence determines one. The "
        "table shows how far test forms (first-order) occur in training: as the same form of "
        "another sentence (a and one, every and all mean the same); as a sentence or form pattern "
        "that differs from one in training only by content words; and how often the pattern of a "
        "form is guessed correctly from the number of words alone (by length), or by always "
        "guessing the most frequent one."
    )
    caption = f"SyGNS, edition {edition}: shares of test sentences, in percent"
    return [Text(text), Table(caption, pa.table(columns), 1)]
