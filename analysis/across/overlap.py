"""How many of SyGNS's test forms occur in training, as duplicates or as patterns.

A form is generated, not chosen from labels, so the classifier audit does not apply. Instead, this
measures how far test sentences and forms are training sentences and forms with other words. A
pattern replaces each content word by its category (``one noun iv``, ``exists x1.(noun(x1) &
iv(x1))``) and keeps quantifiers, negation and connectives, which the splits hold out.
"""

import re
from collections.abc import Mapping

import pandas as pd
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

    def hash_of(item: str) -> str:
        return content_hash(seed, item, size=64)

    sentences = _sentences(lake, edition)
    splits = read_edition(lake, "sygns_splits", edition).to_pandas()
    rows = []
    for (scheme, primitive), of_split in splits.groupby(["scheme", "primitive"]):
        ids_of_part = of_split.groupby("part")["sentence_id"].apply(list)
        sampled = sorted(ids_of_part.get("test", []), key=hash_of)[:SAMPLED]
        trained = [item for item in ids_of_part.get("train", []) if item in sentences.index]
        tested = [item for item in sampled if item in sentences.index]
        if trained and tested:
            shares = _shares(sentences.loc[trained], sentences.loc[tested])
            rows.append({"scheme": scheme, "primitive": primitive, **shares})
    rows.sort(key=lambda row: (SCHEMES.index(row["scheme"]), row["primitive"]))
    return pa.Table.from_pylist(rows, _OVERLAP)


def _sentences(lake: str, edition: str) -> pd.DataFrame:
    """The form, the patterns and the number of words of each sentence, by its id."""
    categories = _categories()
    rows = []
    names = ["sentence_id", "sentence", "fol"]
    for batch in arrow.batches(lake, "sygns", where=[("edition", "=", edition)], columns=names):
        for item, sentence, form in tuples(batch, *names):
            rows.append(
                {
                    "sentence_id": item,
                    "form": form,
                    "sentence_pattern": pattern(sentence, categories),
                    "form_pattern": pattern(form, categories),
                    "length": len(sentence.split()),
                }
            )
    columns = ["sentence_id", "form", "sentence_pattern", "form_pattern", "length"]
    sentences = pd.DataFrame(rows, columns=columns).set_index("sentence_id")
    # A sentence that is stored twice is the same sentence.
    return sentences[~sentences.index.duplicated()]


def _shares(training: pd.DataFrame, tested: pd.DataFrame) -> dict[str, float]:
    """The shares of the test sentences for a row of `overlap`."""
    best_pattern = training.groupby("length")["form_pattern"].agg(_most_frequent)
    guesses = tested["length"].map(best_pattern)
    by_length = wilson(int((guesses == tested["form_pattern"]).sum()), len(tested))
    most_frequent = _most_frequent(training["form_pattern"])
    known = {name: tested[name].isin(training[name]).mean() for name in training.columns}
    return {
        "trained": len(training),
        "tested": len(tested),
        "same_form": known["form"],
        "known_sentence_pattern": known["sentence_pattern"],
        "known_form_pattern": known["form_pattern"],
        "by_length": by_length.estimate,
        "by_length_low": by_length.low,
        "by_length_high": by_length.high,
        "most_frequent": (tested["form_pattern"] == most_frequent).mean(),
    }


def _most_frequent(patterns: "pd.Series[str]") -> str:
    """The most frequent pattern; ties go to the first in alphabetical order."""
    return str(patterns.mode().iloc[0])


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
