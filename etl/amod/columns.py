"""Find the pairs in a parser's columns, by the rules of `etl.amod.rules`.

The tokens of pre-parsed corpora are not changed. A parser that the job runs splits "anti-war
movement" at the hyphen and attaches "anti" and "war" to the noun as if they were words: such
fragments make no pair (`HYPHEN_FRAGMENT`). Words that keep their hyphen ("e-mail") do.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

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
    is_amod = pc.equal(_texts(tokens, "deprel"), "amod")
    row = np.flatnonzero(is_amod.to_numpy(zero_copy_only=False))
    if not len(row):
        return pa.RecordBatch.from_pylist([], schema=OCCURRENCES)

    # Sentences are runs of rows with ascending ids, so these keys ascend.
    starts_sentence = np.append(True, (np.diff(document) != 0) | (np.diff(sentence) != 0))
    sentence_key = np.cumsum(starts_sentence, dtype=np.int64) << 32
    keys = sentence_key + identifier
    head_keys = sentence_key[row] + head[row]
    head_row = np.minimum(np.searchsorted(keys, head_keys), len(keys) - 1)
    has_head = keys[head_row] == head_keys
    fragment = _fragments(tokens, document)
    is_fragment = fragment[row] | fragment[head_row]

    # The same words come again and again.
    adjective_of = cache(rules.adjective)
    noun_of = cache(rules.noun)
    adjectives: list[str] = []
    nouns: list[str | None] = []
    reasons: list[str | None] = []
    relations = zip(
        _tokens_at(tokens, row),
        _tokens_at(tokens, head_row),
        has_head.tolist(),
        is_fragment.tolist(),
        strict=True,
    )
    for dependent, head_token, is_there, has_fragment in relations:
        adjective = adjective_of(dependent)
        noun = noun_of(head_token) if is_there else None
        adjectives.append(adjective or dependent.form)
        nouns.append((noun or head_token.form) if is_there else None)
        reasons.append(_reason(adjective, noun, has_fragment))
    return pa.RecordBatch.from_arrays(
        [
            pa.array(document[row]),
            pa.array(sentence[row]),
            pa.array(adjectives, pa.string()),
            pa.array(nouns, pa.string()),
            pa.array(reasons, pa.string()),
        ],
        schema=OCCURRENCES,
    )


def _texts(tokens: pa.RecordBatch, name: str) -> pa.StringArray:
    """A dictionary column as plain texts."""
    return tokens.column(name).cast(pa.string())


def _tokens_at(tokens: pa.RecordBatch, rows: npt.NDArray[np.intp]) -> list[Token]:
    """What the rules read of the tokens at `rows`."""
    members = tokens.select(["form", "lemma", "xpos"]).take(pa.array(rows))
    columns = [_texts(members, name).to_pylist() for name in members.schema.names]
    # A parser gives only the Penn tag, which is used for both columns, as in DepCC.
    return [Token(form, lemma or "", tag, tag) for form, lemma, tag in zip(*columns, strict=True)]


def _reason(adjective: str | None, noun: str | None, has_fragment: bool) -> str | None:
    """Why a relation between these words, as the rules read them, makes no pair; None if it does.

    The noun is None as well if the relation has no head.
    """
    if adjective is None:
        return DEPENDENT_NOT_ADJECTIVE
    if noun is None:
        return HEAD_NOT_NOUN
    if not adjective or not noun:
        return NO_LETTER_OR_DIGIT
    return HYPHEN_FRAGMENT if has_fragment else None


def pairs(occurrences: pa.RecordBatch) -> pa.RecordBatch:
    """The rows of `occurrences` that are pairs: document, sentence, adjective, noun."""
    rows = occurrences.filter(pc.is_null(occurrences.column("left_out")))
    return rows.select(["document", "sentence", "adjective", "noun"])


def _fragments(tokens: pa.RecordBatch, document: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Mask of the tokens that touch a hyphen without white space between."""
    is_hyphen = pc.is_in(_texts(tokens, "form"), value_set=pa.array(HYPHENS))
    hyphen = is_hyphen.to_numpy(zero_copy_only=False)
    touching = ~tokens.column("space_after").to_numpy(zero_copy_only=False)
    touching[:-1] &= np.diff(document) == 0
    fragment = np.zeros(len(hyphen), dtype=bool)
    fragment[1:] |= hyphen[:-1] & touching[:-1]
    fragment[:-1] |= hyphen[1:] & touching[:-1]
    return fragment
