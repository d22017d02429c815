"""Facts about the corpora of a lake: their sizes in tokens, and pairs where the adjective is the
predicate ("the key is old"), which are counted on request (``relations=amod,predicative``)."""

from collections import defaultdict
from typing import Any

from adnominal.etl.lake import arrow

_PREDICATIVE = "predicative"


def tokens_of(lake: str) -> dict[str, int]:
    """The tokens that extraction read of each corpus; corpora without a ledger are left out."""
    if "amod_files" not in arrow.tables(lake):
        return {}
    files = arrow.read(lake, "amod_files", columns=["corpus", "status", "tokens"])
    tokens: defaultdict[str, int] = defaultdict(int)
    for file in files.to_pylist():
        if file["status"] == "done":
            tokens[file["corpus"]] += file["tokens"] or 0
    return {corpus: count for corpus, count in tokens.items() if count}


def has_predicative(lake: str) -> bool:
    """Whether pairs of a subject and its predicative adjective were counted."""
    if "relation_pairs" not in arrow.tables(lake):
        return False
    files = arrow.files(lake, "relation_pairs")
    return any(dict(file.partition)["relation"] == _PREDICATIVE for file in files)


def predicative_counts(
    lake: str, role: str, word: str, partners: list[str]
) -> dict[str, dict[str, int]]:
    """The count of a word as subject or predicate with each partner, by corpus.

    The table is sorted by noun; the nouns of an adjective are looked for in all its files.
    """
    columns = {"noun": "head", "adjective": "dependent"}
    word_column = columns.pop(role)
    (partner_column,) = columns.values()
    where: list[tuple[str, str, Any]] = [
        ("relation", "=", _PREDICATIVE),
        (word_column, "=", word),
        (partner_column, "in", partners),
    ]
    names = ["corpus", partner_column, "count"]
    rows = arrow.read(lake, "relation_pairs", where=where, columns=names)
    counts: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for row in rows.to_pylist():
        counts[row[partner_column]][row["corpus"]] = row["count"]
    return dict(counts)
