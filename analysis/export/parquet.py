"""The rows of an export as Parquet files, ``data/CONFIG/PART.parquet``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.export.content import Config


@dataclass(frozen=True)
class Written:
    """A file: `path` within the export, rows, bytes, digest."""

    config: str
    part: str
    path: str
    schema: pa.Schema
    rows: int
    bytes: int
    sha256: str


def write(out: Path, configs: Iterable[Config]) -> list[Written]:
    """Write every part that has rows; memory holds a batch of each at a time."""
    written = []
    for config in configs:
        for part in config.parts:
            path = f"data/{config.name}/{part.name}.parquet"
            target = out / path
            target.parent.mkdir(parents=True, exist_ok=True)
            rows = 0
            # Comments of columns stay; pandas' or Spark's metadata there is none.
            with pq.ParquetWriter(target, part.schema, compression="zstd") as writer:
                for batch in part.batches():
                    writer.write_batch(batch)
                    rows += batch.num_rows
            if not rows:
                target.unlink()
                continue
            with target.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
            size = target.stat().st_size
            written.append(Written(config.name, part.name, path, part.schema, rows, size, digest))
    return written
