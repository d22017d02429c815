"""Slices of a test set to score separately: one value per item, None if it is in no part.

Each function takes the items' words and returns a list in their order, which
`comparisons.scores_by_slice` and `comparisons.compare_by_slice` take by name. `words` looks up the
words of a run's items in the lake, `pair_counts` the counts of their pairs in a corpus.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from adnominal.analysis.rows import tuples
from adnominal.conf import UserError
from adnominal.etl.lake import arrow
from adnominal.etl.registry import ITEM_TABLES

Words = Sequence[str | None]
Slice = list[str | None]
ABSENT = 0
"""The number of the tenth for items without a value."""


def words(lake: str, table: str, edition: str, item_ids: Sequence[str]) -> pa.Table:
    """The words of items, one row for each of `item_ids` in their order; the columns are the roles
    of the words (adjective, noun, class, …) in the table's declaration.

    Raises:
        UserError: an unknown table, or ids that the edition does not have.
    """
    if table not in ITEM_TABLES:
        raise UserError(f"table={table}: expected one of {', '.join(ITEM_TABLES)}")
    key = ITEM_TABLES[table].item
    column_of_role = ITEM_TABLES[table].words
    columns = list(column_of_role.values())
    ids = pa.array(item_ids, pa.string())
    rows = arrow.read_items(lake, table, pc.unique(ids), [key, *columns], edition)
    ids_of_rows = rows.column(key).combine_chunks()
    places = pc.index_in(ids, value_set=ids_of_rows)
    if places.null_count:
        absent = ids.filter(pc.is_null(places))
        raise UserError(
            f"{len(absent)} of {len(ids)} items, such as {absent[0]}, are not in the table "
            f"{table} of {lake}, edition {edition}"
        )
    words_of_rows = rows.select(columns).rename_columns(list(column_of_role))
    return words_of_rows.take(places)


def adjective_class(adjectives: Words, classes: Mapping[str, str]) -> Slice:
    """I, S or O (PLANE, section 3.1) from a lexicon such as the table adjective_classes."""
    return [None if word is None else classes.get(word.lower()) for word in adjectives]


def subsectivity(adjectives: Words, nonsubsective: Collection[str]) -> Slice:
    """Whether the adjective is on a list of non-subsective ones (ADEPT, section 2 and figure 4)."""
    return _membership_slice(adjectives, nonsubsective, "non-subsective", "subsective")


def identity(adjectives: Words, groups: Mapping[str, str]) -> Slice:
    """The kind of an identity adjective (gender, age, origin …), ``other`` for all others.

    ADEPT's ethics section discusses these adjectives: *black*, *old*, *female*. `groups` is
    `etl.knowledge.lexicons.identity()` or another mapping of adjectives to kinds.
    """
    return [None if word is None else groups.get(word.lower(), "other") for word in adjectives]


def by_training_word(items: Words, training_words: Iterable[str | None]) -> Slice:
    """Whether the word occurs in the training items: ``seen`` or ``unseen``."""
    return _membership_slice(
        items, {word.lower() for word in training_words if word is not None}, "seen", "unseen"
    )


def _membership_slice(
    items: Words, listed_words: Collection[str], inside: str, outside: str
) -> Slice:
    def side(word: str | None) -> str | None:
        if word is None:
            return None
        return inside if word.lower() in listed_words else outside

    return list(map(side, items))


def tenths(values: Sequence[float | None]) -> list[int]:
    """The tenth of the items that each item belongs to by its value, 1 to 10; `ABSENT` without one.

    Boundaries are quantiles of the items with a value, so that parts have similar sizes; equal
    values share a part, so a part may be empty.
    """
    present = np.array([value for value in values if value is not None], dtype=np.float64)
    if not present.size:
        return [ABSENT] * len(values)
    edges = np.quantile(present, np.arange(1, 10) / 10, method="inverted_cdf")

    def tenth(value: float | None) -> int:
        if value is None:
            return ABSENT
        return 1 + int(np.searchsorted(edges, value, side="left"))

    return list(map(tenth, values))


def frequency_decile(counts: Sequence[int | None]) -> Slice:
    """`tenths` of the items by the count of their pair in a corpus; None counts as absent."""
    return list(map(str, tenths([count or None for count in counts])))


def pair_counts(lake: str, corpus: str, adjectives: Words, nouns: Words) -> list[int | None]:
    """The count of each adjective with its noun in the corpus; None if one of them is None.

    amod_pairs is streamed; memory holds only the requested pairs. Pairs are compared lower-cased.

    Raises:
        UserError: the corpus has no pairs.
    """
    pairs, values = _pairs(lake, "amod_pairs", "count", corpus, adjectives, nouns)
    return [None if pair is None else int(values.get(pair, 0)) for pair in pairs]


def pair_pmi(lake: str, corpus: str, adjectives: Words, nouns: Words) -> list[float | None]:
    """The PMI in bits of each adjective with its noun; None if the corpus does not have the pair.

    Values come from amod_association and are read as in `pair_counts`.

    Raises:
        UserError: the corpus has no pairs.
    """
    pairs, values = _pairs(lake, "amod_association", "pmi", corpus, adjectives, nouns)
    return [None if pair is None else values.get(pair) for pair in pairs]


_Pair = tuple[str, str]


def _pairs(
    lake: str, table: str, column: str, corpus: str, adjectives: Words, nouns: Words
) -> tuple[list[_Pair | None], dict[_Pair, float]]:
    """The pairs of the items, and the column's values for the pairs in the table."""
    pairs = [
        None if a is None or n is None else (a.lower(), n.lower())
        for a, n in zip(adjectives, nouns, strict=True)
    ]
    distinct_pairs = {pair for pair in pairs if pair is not None}
    distinct_nouns = {noun for _, noun in distinct_pairs}
    heads = pa.array(sorted(distinct_nouns), pa.string())
    values: dict[_Pair, float] = {}
    rows = 0
    names = ["adjective", "noun", column]
    where = [("corpus", "=", corpus)]
    for batch in arrow.batches(lake, table, where=where, columns=names):
        rows += batch.num_rows
        of_heads = batch.filter(pc.is_in(batch.column("noun"), value_set=heads))
        for adjective, noun, value in tuples(of_heads, *names):
            if (adjective, noun) in distinct_pairs:
                values[adjective, noun] = value
    if not rows:
        raise UserError(f"corpus={corpus}: no pairs of it in the table {table} of {lake}")
    return pairs, values
