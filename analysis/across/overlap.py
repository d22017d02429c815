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
from adnominal.analysis.papers.exhibits import Finding, Note, exhibit
from adnominal.analysis.report_numbers import Cells, CellValues
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

_COMPARED = ("form", "sentence_pattern", "form_pattern", "length", "any")
_PATTERNS = schema("sentence_id form sentence_pattern form_pattern length:int any:int")


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


def overlap(lake: str, edition: str, seed: int = 0) -> tuple[CellValues, CellValues]:
    """The overlap of each split's test rows with training, and the numbers of their sentences; the
    cells of a row for each scheme and primitive.

    At most 20,000 test sentences are examined, drawn by id. Same form is the share of test forms
    that are identical to the form of a training sentence; sentence pattern and form pattern are the
    shares whose pattern occurs in training; by length is the accuracy of guessing the most frequent
    form pattern among training sentences of the same length; most frequent that of guessing the
    most frequent pattern of all. They are findings of `etl.checks.splits.check` on the forms and
    patterns.

    Raises:
        UserError: the edition has no splits.
    """
    # Raises the error if there is no split.
    read_edition(lake, "sygns_splits", edition, ["scheme"])
    patterns = _patterns(lake, edition)
    shares: CellValues = {}
    sizes: CellValues = {}
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
                row = f"{scheme} {fold.name}".strip()
                shares |= {(row, column): share for column, share in _shares(fold).items()}
                sizes[row, "trained"] = float(fold.part("train").rows)
                sizes[row, "tested"] = float(fold.part("test").rows)
    return shares, sizes


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
    """The shares of `overlap` for one fold."""
    size = fold.part("test").rows

    def known_share(column: str) -> float:
        return fold.known_rows["train", "test", column] / size

    def guessed_share(column: str) -> float:
        return fold.right_guesses["train", "test", column] / size

    return {
        "same form": known_share("form"),
        "sentence pattern": known_share("sentence_pattern"),
        "form pattern": known_share("form_pattern"),
        "by length": guessed_share("length"),
        "most frequent": guessed_share("any"),
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
    shares, sizes = overlap(lake.root, edition, seed=lake.seed)
    if not shares:
        raise UserError(f"edition={edition}: no split of SyGNS with rows to train and to test on")
    yield Note(
        "Test forms (first-order) occur in training as the same form of another sentence (a and "
        "one, every and all mean the same), or as a sentence or form pattern that differs from one "
        "in training only by content words; the last two columns say how often the pattern of a "
        "form is guessed correctly from the number of words alone (by length), or by always "
        "guessing the most frequent one."
    )
    caption = "Shares of test sentences"
    yield Cells(caption, shares, unit="percent", edition=edition)
    yield Cells(caption, sizes, decimals=0, edition=edition)
