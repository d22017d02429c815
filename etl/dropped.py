"""Rows that a job drops: a count and a sample for each reason, for the table dropped."""

import logging
from collections.abc import Iterable
from dataclasses import asdict, dataclass

import pyarrow as pa

from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table

log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Dropped:
    """Rows that a table lacks for one reason, with one of them as a sample."""

    table: str
    reason: str
    count: int
    sample: str


def write_dropped(lake: str, job: str, drops: Iterable[Dropped]) -> None:
    """Replace the rows of `job` in the table dropped, and log them.

    `job` is the job with its edition or source, as ``build_asp/clean``.
    """
    rows = [{"job": job, **asdict(drop)} for drop in drops]
    for row in rows:
        log.info("dropped from %(table)s: %(count)d, %(reason)s, for example %(sample)s", row)
    data = pa.Table.from_pylist(rows, table("dropped").schema)
    arrow.replace(lake, "dropped", data, {"job": job}, job=job.split("/")[0], allow_empty=True)
