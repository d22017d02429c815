"""Measure the association of further relations, separately for each relation, on request.

The measures and their definitions are those of amod (`etl.amod.measures`); the marginals of a
dependent and of a head are those of the relation itself. The pairs are sorted by relation and head
and joined with one aggregation per marginal: a rare request needs no faster way.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from etl.amod.measures import measures
from etl.lake.blocks import Blocks, joined
from etl.lake.frames import sort_rows
from etl.lake.tables import table as declaration

TABLE = "relation_association"


def rows_of(pairs: DataFrame, corpus: str) -> Blocks:
    """Rows of ``relation_association`` from the rows of ``relation_pairs`` of one corpus."""

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        for rows in joined(batches):
            yield association_rows(rows, corpus)

    return Blocks(sort_rows(with_marginals(pairs), "relation", "head", "dependent"), make)


def with_marginals(pairs: DataFrame) -> DataFrame:
    """Add the counts of dependent, head and relation to relation, dependent, head, count."""
    pairs = pairs.select("relation", "dependent", "head", "count")
    for keys, name in (
        (["relation", "dependent"], "dependent_count"),
        (["relation", "head"], "head_count"),
        (["relation"], "total"),
    ):
        pairs = pairs.join(pairs.groupBy(*keys).agg(F.sum("count").alias(name)), keys)
    return pairs


def association_rows(rows: pa.Table, corpus: str) -> pa.Table:
    """Rows of the table from rows of `with_marginals`."""
    names = ("count", "dependent_count", "head_count", "total")
    count, dependent, head, total = (rows.column(name).to_numpy() for name in names)
    columns = {name: rows.column(name) for name in rows.column_names}
    columns |= {"corpus": pa.repeat(corpus, rows.num_rows)}
    columns |= measures(count, dependent, head, total)
    schema = declaration(TABLE).schema.remove_metadata()
    return pa.table([columns[name] for name in schema.names], schema=schema)
