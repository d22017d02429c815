"""Adnominal: adjective–noun semantics at web scale.

The functions here read what the commands have built (``adnominal --help``; docs/python.md):

    read            rows of a table, as an Arrow table
    sketch          the collocates of a word
    similar         words with similar collocates
    pair            counts, ranks, association and example sentences of a pair
    count_pairs     the pairs of texts in memory
    load_dataset    a dataset for the library `datasets`

Each imports what it needs when it is called, so that importing the package takes no time. A mistake
of the caller is a `UserError`, whose message says what there is.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

    import datasets
    import pyarrow

    from adnominal.conf import UserError
    from adnominal.etl.lake.arrow import Filter
    from adnominal.etl.looking.pair import Pair

__version__ = "0.1.0"

__all__ = [
    "Pair",
    "UserError",
    "__version__",
    "count_pairs",
    "load_dataset",
    "pair",
    "read",
    "similar",
    "sketch",
]


def read(
    table: str,
    *,
    lake: str | os.PathLike[str] = "lake",
    where: str | Filter | None = None,
    columns: Iterable[str] | None = None,
) -> pyarrow.Table:
    """Read rows of a table of the lake.

    Args:
        table: name of the table (``adnominal lake list`` shows them).
        lake: folder or URI of the lake.
        where: a condition in SQL (``"noun = 'key' AND count > 5"``; quote ``"end"`` and
            ``"group"``), or (column, operator, value) triples that must all hold; None for all
            rows.
        columns: names of the columns; None for all.

    Raises:
        UserError: no such table or column (the message lists them), or a condition that is not
            valid.
    """
    from adnominal.etl.looking.rows import read_rows

    return read_rows(os.fspath(lake), table, where=where, columns=columns)


def sketch(
    word: str,
    *,
    role: Literal["noun", "adjective"] = "noun",
    lake: str | os.PathLike[str] = "lake",
    corpus: str | None = None,
    measure: Literal["log_dice", "pmi", "npmi", "count"] = "log_dice",
    limit: int = 100,
) -> pyarrow.Table:
    """The collocates of a word: the adjectives of a noun, or the nouns of an adjective.

    Args:
        word: the word, as in the tables; one that is unknown is looked up in lower case.
        role: ``noun`` or ``adjective``.
        lake: folder or URI of the lake.
        corpus: the corpus to look in; None for all, each with rows of its own.
        measure: ``log_dice``, ``pmi``, ``npmi`` or ``count``; the greatest come first.
        limit: the number of rows at most; 0 for all.

    Returns:
        Columns collocate, corpus, count, log_dice (Rychlý 2008) and pmi, in bits.

    Raises:
        UserError: no pair has the word (similar words are listed), or there is no such corpus,
            measure or table of pairs.
    """
    from adnominal.analysis.exploring.collocates import collocates
    from adnominal.analysis.exploring.queries import Query

    query = Query(role, word, corpus=corpus or "", measure=measure, floor=1, limit=limit)
    return collocates(os.fspath(lake), query)


def similar(
    word: str,
    *,
    role: Literal["noun", "adjective"] = "noun",
    lake: str | os.PathLike[str] = "lake",
    corpus: str | None = None,
    limit: int = 20,
) -> pyarrow.Table:
    """The words whose collocates are most similar to the word's.

    Args:
        word: the word, as in the tables; one that is unknown is looked up in lower case.
        role: ``noun`` or ``adjective``.
        lake: folder or URI of the lake.
        corpus: the corpus to look in; None for the one where the word is most frequent.
        limit: the number of rows at most; 0 for all.

    Returns:
        Columns word; similarity, the cosine of the logDice of the strongest 1,000 collocates of
        each; shared, the number of common collocates; collocates, the strongest of these.

    Raises:
        UserError: as `sketch`.
    """
    from adnominal.analysis.exploring.collocates import similar_word_rows as similar_rows
    from adnominal.analysis.exploring.queries import Query

    query = Query(role, word, corpus=corpus or "", limit=limit)
    return similar_rows(os.fspath(lake), query)


def pair(
    adjective: str, noun: str, *, lake: str | os.PathLike[str] = "lake", examples: int = 5
) -> Pair:
    """Counts, ranks, association and at most `examples` sentences of a pair, by corpus.

    A pair that is unknown is looked up in lower case.

    Raises:
        UserError: no corpus has the pair (words that occur with either word are listed), or the
            lake has no pairs.
    """
    from adnominal.conf import UserError
    from adnominal.etl.looking.pair import find_pair, missing_pair

    if examples < 0:
        raise UserError(f"examples={examples}: expected 0 or more")
    root = os.fspath(lake)
    facts = find_pair(root, adjective, noun, examples)
    if facts is None:
        raise UserError(missing_pair(root, adjective, noun))
    return facts


def count_pairs(texts: Iterable[str]) -> pyarrow.Table:
    """The adjective–noun pairs of texts in memory, found by the compiled parser (``parser=fast``).

    Returns:
        Columns adjective, noun and count, the highest count first.

    Raises:
        UserError: one string or a data frame instead of several texts, a text that is not one, or
            no compiled parser.
    """
    from collections.abc import Mapping

    from adnominal.conf import UserError
    from adnominal.etl.parsing.fast.counting import count_texts

    if isinstance(texts, str):
        raise UserError("count_pairs: got one string; expected a list of them, as [text]")
    if isinstance(texts, Mapping) or hasattr(texts, "columns"):
        # Iterating over a dictionary or a data frame would give the names of its columns.
        kind = type(texts).__name__
        raise UserError(f"count_pairs: got a {kind}; expected one column of it, as {kind}['text']")
    return count_texts(texts)


def load_dataset(
    name: str,
    *,
    edition: str = "published",
    config: str | None = None,
    lake: str | os.PathLike[str] = "lake",
) -> datasets.DatasetDict:
    """A dataset for the library `datasets`, with the rows and parts of the Hugging Face export.

    Args:
        name: ``adept``, ``plane``, ``asp`` or ``sygns``.
        edition: the edition of its tables.
        config: the configuration, such as a kind of split; None for the export's default.
        lake: folder or URI of the lake.

    Raises:
        UserError: no such dataset, table, edition or configuration (the message lists them), or
            `datasets` is not installed (``pip install 'adnominal[exports]'``).
    """
    from adnominal.analysis.export.content import content
    from adnominal.analysis.export.huggingface import dataset_dict

    return dataset_dict(content(os.fspath(lake), name, edition), config)


if not TYPE_CHECKING:  # to a type checker, it would make every name exist

    def __getattr__(name: str) -> object:
        """The classes among the public names, which are imported when they are first used."""
        if name == "UserError":
            from adnominal.conf import UserError

            return UserError
        if name == "Pair":
            from adnominal.etl.looking.pair import Pair

            return Pair
        raise AttributeError(f"module 'adnominal' has no attribute {name!r}")
