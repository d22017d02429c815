"""Find the pairs in a parser's columns, by the rules of `etl.amod.rules`.

The tokens of pre-parsed corpora are not changed. A parser that the job runs splits "anti-war
movement" at the hyphen and attaches "anti" and "war" to the noun as if they were words: such
fragments make no pair (`HYPHEN_FRAGMENT`). Words that keep their hyphen ("e-mail") do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from adnominal.etl.amod.rules import (
    DEPENDENT_NOT_ADJECTIVE,
    HEAD_NOT_NOUN,
    NO_LETTER_OR_DIGIT,
    ReadingRules,
    Token,
)

if TYPE_CHECKING:
    import numpy.typing as npt

# A member of the relation is a fragment of a hyphenated word.
HYPHEN_FRAGMENT = "hyphen_fragment"
# Hyphen-minus, hyphen, non-breaking hyphen, en dash; an em dash without spaces separates clauses.
HYPHENS = ("-", "\u2010", "\u2011", "\u2013")

OCCURRENCES = pa.schema(
    [
        pa.field("document", pa.int32(), nullable=False),
        pa.field("sentence", pa.int32(), nullable=False),
        pa.field("adjective", pa.string(), nullable=False),
        pa.field("noun", pa.string()),
        pa.field("left_out", pa.string()),
    ]
)
"""One row for each `amod` token, in the order of the text.

document, sentence  as in `etl.parsing.tokens.TOKENS`
adjective, noun     the words of the pair; if there is no pair, forms may replace words, and noun
                    is null if no token of the sentence has the head's id
left_out            the reason why it makes no pair; null for pairs
"""


def occurrences(tokens: pa.RecordBatch, rules: ReadingRules) -> pa.RecordBatch:
    """The `amod` relations of `tokens` as `OCCURRENCES`.

    `tokens` (`etl.parsing.tokens.TOKENS`) are those of whole sentences. Reasons are checked in the
    order of `ReadingRules.read`, `HYPHEN_FRAGMENT` last; a missing head counts as not a noun.
    """
    document, sentence, identifier, head = (
        tokens.column(name).to_numpy() for name in ("document", "sentence", "id", "head")
    )
    deprel, relations = _dictionary_codes(tokens, "deprel")
    row = np.flatnonzero(np.isin(deprel, _where(relations, lambda word: word == "amod")))
    if not len(row):
        return pa.RecordBatch.from_pylist([], schema=OCCURRENCES)

    # Sentences are runs of rows with ascending ids, so these keys ascend.
    starts_sentence = np.append(True, (np.diff(document) != 0) | (np.diff(sentence) != 0))
    sentence_key = np.cumsum(starts_sentence, dtype=np.int64) << 32
    keys = sentence_key + identifier
    head_keys = sentence_key[row] + head[row]
    head_row = np.minimum(np.searchsorted(keys, head_keys), len(keys) - 1)
    has_head = keys[head_row] == head_keys

    adjective = _read(tokens, row, rules.adjective)
    noun = _read(tokens, head_row, rules.noun)
    fragment = _fragments(tokens, document)
    reasons = np.select(
        [adjective.refused, noun.refused | ~has_head, adjective.empty | noun.empty],
        [0, 1, 2],
        default=np.where(fragment[row] | fragment[head_row], 3, 4),
    )
    names = pa.array(
        [DEPENDENT_NOT_ADJECTIVE, HEAD_NOT_NOUN, NO_LETTER_OR_DIGIT, HYPHEN_FRAGMENT, None]
    )
    return pa.RecordBatch.from_arrays(
        [
            pa.array(document[row]),
            pa.array(sentence[row]),
            pa.array(adjective.words, type=pa.string()),
            pa.array(noun.words, type=pa.string(), mask=~has_head),
            names.take(pa.array(reasons)),
        ],
        schema=OCCURRENCES,
    )


def pairs(occurrences: pa.RecordBatch) -> pa.RecordBatch:
    """The rows of `occurrences` that are pairs: document, sentence, adjective, noun."""
    rows = occurrences.filter(pc.is_null(occurrences.column("left_out")))
    return rows.select(["document", "sentence", "adjective", "noun"])


def _fragments(tokens: pa.RecordBatch, document: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Mask of the tokens that touch a hyphen without white space between."""
    form, forms = _dictionary_codes(tokens, "form")
    hyphen = np.isin(form, _where(forms, lambda word: word in HYPHENS))
    touching = ~tokens.column("space_after").to_numpy(zero_copy_only=False)
    touching[:-1] &= np.diff(document) == 0
    fragment = np.zeros(len(form), dtype=bool)
    fragment[1:] |= hyphen[:-1] & touching[:-1]
    fragment[:-1] |= hyphen[1:] & touching[:-1]
    return fragment


class _Read(NamedTuple):
    """The words that the rules read in tokens, with masks of refused and of empty ones."""

    words: npt.NDArray[np.object_]
    refused: npt.NDArray[np.bool_]
    empty: npt.NDArray[np.bool_]


def _read(
    tokens: pa.RecordBatch, row: npt.NDArray[np.intp], word: Callable[[Token], str | None]
) -> _Read:
    """The results of `word` for the tokens at `row`.

    The same tokens come again and again, so `word` is called once for each distinct one, and every
    token gets the result of the one that it equals. A token without a word is represented by its
    form.
    """
    form_codes, forms = _dictionary_codes(tokens, "form")
    lemma_codes, lemmas = _dictionary_codes(tokens, "lemma")
    tag_codes, tags = _dictionary_codes(tokens, "xpos")
    # A null has code -1, which selects the last of the words: an empty one.
    for known_words in (forms, lemmas, tags):
        known_words.append("")
    codes = np.column_stack([form_codes[row], lemma_codes[row], tag_codes[row]])
    distinct_codes, place = np.unique(codes, axis=0, return_inverse=True)
    place_of_token = place.reshape(-1)

    words = []
    is_refused = []
    is_empty = []
    for form_code, lemma_code, tag_code in distinct_codes.tolist():
        form, lemma, tag = forms[form_code], lemmas[lemma_code], tags[tag_code]
        # A parser gives only the Penn tag, which is used for both columns, as in DepCC.
        reading = word(Token(form, lemma, tag, tag))
        words.append(reading or form)
        is_refused.append(reading is None)
        is_empty.append(reading == "")
    return _Read(
        np.array(words, dtype=object)[place_of_token],
        np.array(is_refused, dtype=bool)[place_of_token],
        np.array(is_empty, dtype=bool)[place_of_token],
    )


def _dictionary_codes(tokens: pa.RecordBatch, name: str) -> tuple[npt.NDArray[np.int32], list[str]]:
    """A dictionary column as codes (-1 for null) and their words."""
    column = tokens.column(name)
    codes = pc.fill_null(column.indices, -1).to_numpy()
    return codes, column.dictionary.to_pylist()


def _where(words: list[str], is_accepted: Callable[[str], bool]) -> list[int]:
    """The codes of the accepted words."""
    return [code for code, word in enumerate(words) if is_accepted(word)]
