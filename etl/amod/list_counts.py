"""Read and replace lists of pairs in the table ``listed_counts``."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table as declaration

TABLE = "listed_counts"


def rows_of_corpus(root: str, corpus: str) -> list[dict[str, Any]]:
    """The rows of all lists of a corpus; none if the table is missing."""
    if arrow.version(root, TABLE) is None:
        return []
    return list(arrow.read(root, TABLE, where=[("corpus", "=", corpus)]).to_pylist())


def replace_list(
    root: str,
    corpus: str,
    name: str,
    counts: Mapping[tuple[str, str], int],
    column: str,
    **commit: Any,
) -> None:
    """Make the pairs of `counts` the list `name` of a corpus, with their counts in `column`.

    `column` is ``amod`` or ``adjacent``. Other lists and the other column of the same pairs stay.
    `commit` has the keyword arguments of `etl.lake.arrow.replace`.
    """
    rows, earlier = [], {}
    for row in rows_of_corpus(root, corpus):
        if row["list"] == name:
            earlier[row["adjective"], row["noun"]] = row
        else:
            rows.append(row)
    for pair, count in counts.items():
        row = dict(earlier.get(pair, {"amod": None, "adjacent": None}))
        row |= {"list": name, "corpus": corpus, "adjective": pair[0], "noun": pair[1]}
        rows.append(row | {column: count})
    rows.sort(key=lambda row: (row["list"], row["adjective"], row["noun"]))
    data = pa.Table.from_pylist(rows, schema=declaration(TABLE).schema.remove_metadata())
    arrow.replace(root, TABLE, data, {"corpus": corpus}, **commit)
