"""How many of SyGNS's test forms occur in training, as duplicates or as patterns.

A form is generated, not chosen from labels, so the classifier audit does not apply. Instead, this
measures how far test sentences and forms are training sentences and forms with other words. A
pattern replaces each content word by its category (``one noun iv``, ``exists x1.(noun(x1) &
iv(x1))``) and keeps quantifiers, negation and connectives, which the splits hold out.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from adnominal.analysis.across.fine_tuned import Across
from adnominal.analysis.editions import read_edition
from adnominal.analysis.estimates import wilson
from adnominal.analysis.papers.exhibits import Finding, Note, exhibit
from adnominal.analysis.report_numbers import Cells, Key, Value
from adnominal.analysis.rows import distinct_values, schema, where_equal
from adnominal.conf import UserError
from adnominal.etl.checks.split_rows import declared_tables, read_parts
from adnominal.etl.checks.splits import Fold, check
from adnominal.etl.draws import content_hash
from adnominal.etl.lake import arrow
from adnominal.etl.registry import DATASETS
from adnominal.etl.sygns.grammar import grammar
from adnominal.etl.sygns.splits import SCHEMES

# Test sentences of each split that are examined, drawn by id.
SAMPLED = 20_000
_FUNCTION_WORDS = ("detSing", "detPlur", "conn")

_SHARES = {
    "same_form": "same form",
    "known_sentence_pattern": "sentence pattern",
    "known_form_pattern": "form pattern",
    "by_length": "by length",
    "most_frequent": "most frequent",
}
_COMPARED = ("form", "sentence_pattern", "form_pattern", "length", "any")
_PATTERNS = schema("sentence_id form sentence_pattern form_pattern length:int any:int")
_OVERLAP = schema(
    "scheme primitive trained:int tested:int same_form:float known_sentence_pattern:float "
    "known_form_pattern:float by_length:float most_frequent:float by_length_low:float "
    "by_length_high:float"
)


def words_of_categories() -> dict[str, str]:
    """A regular expression for the content words of each category (noun, iv, …), in all forms."""
    words: dict[str, set[str]] = defaultdict(set)
    for name, entries in grammar("paper", 10, 10).lexicon.items():
        if name not in _FUNCTION_WORDS:
            category = name.removesuffix("Sing").removesuffix("Plur")
            category = category.removesuffix("Fin").removesuffix("Inf")
            for word in entries.values():
                words[category] |= {word.surface, word.base}
    return {
        category: rf"(?i)\b(?:{'|'.join(map(re.escape, sorted(of_category)))})\b"
        for category, of_category in words.items()
    }


def patterns_of(texts: pa.Array, categories: Mapping[str, str]) -> pa.Array:
    """The sentences or forms (FOL, VF or DRS) with each content word replaced by its category.

    `categories` is the result of `words_of_categories`. No category is a word of another one.
    """
    for category, words in categories.items():
        texts = pc.replace_substring_regex(texts, pattern=words, replacement=category)
    return texts


def overlap(lake: str, edition: str, seed: int = 0) -> pa.Table:
    """The overlap of each split's test rows with training; one row per scheme and primitive.

    Columns: trained, tested (numbers of sentences; at most 20,000 of the test part, drawn by id);
    same_form, the share of test forms that are identical to the form of a training sentence;
    known_sentence_pattern and known_form_pattern, the shares whose pattern occurs in training;
    by_length (with its interval), the accuracy of guessing the most frequent form pattern among
    training sentences of the same length; most_frequent, that of the most frequent pattern of all.
    They are findings of `etl.checks.splits.check` on the forms and patterns.

    Raises:
        UserError: the edition has no splits.
    """
    # Raises the error if there is no split.
    read_edition(lake, "sygns_splits", edition, ["scheme"])
    patterns = _patterns(lake, edition)
    rows = []
    for scheme in SCHEMES:
        tables = declared_tables(DATASETS["sygns"], scheme)
        parts = read_parts(lake, tables, edition, scheme)
        compared_rows = _sample(parts, seed).join(patterns, "sentence_id", join_type="inner")
        if not compared_rows.num_rows:
            continue
        folds = check(compared_rows, _COMPARED, label="form_pattern", identity=["sentence_id"])
        for fold in folds:
            parts_present = {part.name for part in fold.parts}
            if {"train", "test"} <= parts_present:
                row = {"scheme": scheme, "primitive": fold.name}
                rows.append(row | _shares(fold))
    return pa.Table.from_pylist(rows, _OVERLAP)


def _patterns(lake: str, edition: str) -> pa.Table:
    """What is compared of each sentence: its form, its patterns and its length.

    `any` is the same for all sentences: the guess from it is the most frequent form pattern.
    """
    categories = words_of_categories()
    columns = ["sentence_id", "sentence", "fol"]
    pieces = []
    for batch in arrow.batches(lake, "sygns", where=[("edition", "=", edition)], columns=columns):
        sentences, forms = batch.column("sentence"), batch.column("fol")
        values = {
            "sentence_id": batch.column("sentence_id"),
            "form": forms,
            "sentence_pattern": patterns_of(sentences, categories),
            "form_pattern": patterns_of(forms, categories),
            "length": pc.list_value_length(pc.utf8_split_whitespace(sentences)),
            "any": pa.repeat(0, batch.num_rows),
        }
        pieces.append(pa.table(values).cast(_PATTERNS))
    return pa.concat_tables(pieces) if pieces else _PATTERNS.empty_table()


def _sample(parts: pa.Table, seed: int) -> pa.Table:
    """The training rows and, of each fold, at most 20,000 test rows, drawn by id."""
    sampled = [where_equal(parts, "part", "train")]
    tested = where_equal(parts, "part", "test")
    for fold in distinct_values(tested, "fold"):
        fold_rows = where_equal(tested, "fold", fold)
        ids = fold_rows.column("sentence_id").to_pylist()
        drawn = sorted(range(len(ids)), key=lambda row: content_hash(seed, ids[row], size=64))
        sampled.append(fold_rows.take(drawn[:SAMPLED]))
    return pa.concat_tables(sampled)


def _shares(fold: Fold) -> dict[str, float]:
    """The columns of `overlap` for one fold."""
    size = fold.part("test").rows

    def known_share(column: str) -> float:
        return fold.known_rows["train", "test", column] / size

    by_length = wilson(fold.right_guesses["train", "test", "length"], size)
    return {
        "trained": fold.part("train").rows,
        "tested": size,
        "same_form": known_share("form"),
        "known_sentence_pattern": known_share("sentence_pattern"),
        "known_form_pattern": known_share("form_pattern"),
        "by_length": by_length.estimate,
        "by_length_low": by_length.low,
        "by_length_high": by_length.high,
        "most_frequent": fold.right_guesses["train", "test", "any"] / size,
    }


@exhibit(
    "",
    "artefacts of SyGNS",
    fills="python etl/build_sygns.py preset=paper lake=LAKE",
    reads=("sygns", "sygns_splits"),
)
def of_forms(page: Across) -> Iterator[Finding]:
    """How many of the test forms of each split occur in training, as they are or as patterns?

    Forms follow from sentences by rule, so only the whole sentence determines one.
    """
    lake = page.lake
    edition = lake.edition("sygns", "sygns_splits")
    data = overlap(lake.root, edition, seed=lake.seed)
    if not data.num_rows:
        raise UserError(f"edition={edition}: no split of SyGNS with rows to train and to test on")
    yield Note(
        "Test forms (first-order) occur in training as the same form of another sentence (a and "
        "one, every and all mean the same), or as a sentence or form pattern that differs from one "
        "in training only by content words; the last two columns say how often the pattern of a "
        "form is guessed correctly from the number of words alone (by length), or by always "
        "guessing the most frequent one."
    )
    shares: dict[Key, Value] = {}
    sizes: dict[Key, Value] = {}
    for row in data.to_pylist():
        name = f"{row['scheme']} {row['primitive']}".strip()
        shares |= {(name, title): row[column] for column, title in _SHARES.items()}
        sizes |= {(name, column): float(row[column]) for column in ("trained", "tested")}
    caption = "Shares of test sentences"
    yield Cells(caption, shares, unit="percent", decimals=1, edition=edition)
    yield Cells(caption, sizes, decimals=0, edition=edition)
