"""The distributed part of a wave: split its files into units, and count them in tasks."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import Literal

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from adnominal.etl.amod import reading, tasks
from adnominal.etl.amod.kernel import available_implementations
from adnominal.etl.amod.plan import Entry
from adnominal.etl.amod.settings import PARSED, Settings
from adnominal.etl.amod.tasks import FileUnit
from adnominal.etl.corpora.files import Unit, Unreadable, units
from adnominal.etl.corpora.inputs import InputFile
from adnominal.etl.engine import Engine, map_arrow
from adnominal.etl.parsing import sparknlp_parser

_TASK_BYTES = 8 << 20  # the smallest size worth a separate task


def staged_rows(engine: Engine, settings: Settings, entries: Sequence[Entry]) -> DataFrame:
    """The staged rows of a wave's files, computed when they are written."""
    shares = task_shares(engine, settings, entries)
    schema = from_arrow_schema(tasks.STAGED)
    if settings.source in PARSED:
        is_compiled = "compiled" in available_implementations() and settings.kernel != "reference"
        if engine.is_cluster and is_compiled:
            # If an executor cannot load the kernel that it was sent, the job must fail.
            settings = replace(settings, kernel="compiled")
        compiled = is_compiled and not settings.by_sentence
        return map_shares(engine, shares, tasks.count_units, settings, compiled=compiled)
    if settings.packs_pairs:
        # Counting costs no more than reading, so nothing needs to be redistributed.
        return map_shares(engine, shares, reading.count_text_units, settings)
    read_batches = map_shares(engine, shares, reading.read_units, settings)
    # Parsing costs a hundred times as much as reading, and files have any number and size.
    spread_batches = read_batches.repartition(
        settings.partitions or engine.partitions(4 * len(shares), 0)
    )
    if settings.text_parser != "sparknlp":
        return map_arrow(
            spread_batches,
            lambda batches: tasks.parse_documents(
                reading.prepared_documents(batches, settings), settings
            ),
            schema,
        )
    spread_batches = map_arrow(
        spread_batches, lambda batches: reading.prepared_documents(batches, settings), schema
    )
    # A document has one paragraph per line; parsers separate paragraphs by blank lines.
    paragraph_text = F.regexp_replace("text", "\n", "\n\n")
    documents = spread_batches.where("kind = 'document'").withColumn("text", paragraph_text)
    annotated = sparknlp_parser.with_tokens(
        sparknlp_parser.annotate(documents, settings.parser_model)
    )
    return spread_batches.where("kind <> 'document'").unionByName(
        map_arrow(annotated, lambda batches: tasks.take_annotated(batches, settings), schema)
    )


def task_shares(
    engine: Engine, settings: Settings, entries: Sequence[Entry]
) -> list[list[FileUnit]]:
    """The units of a wave in one share per task, with about the same stored bytes for each."""
    file_units: list[FileUnit] = []
    for file, entry in enumerate(entries):
        file_units += [(file, unit) for unit in units_of(entry, settings)]
    size = sum(entry.bytes for entry in entries)
    count = settings.partitions or engine.partitions(len(file_units), size // _TASK_BYTES + 1)
    shares: list[list[FileUnit]] = [[] for _ in range(min(count, len(file_units)))]
    # The largest unit first, each to the share with the fewest bytes so far.
    loads = [(0, number) for number in range(len(shares))]
    for file_unit in sorted(file_units, key=lambda file_unit: -_size(file_unit)):
        load, number = heappop(loads)
        shares[number].append(file_unit)
        heappush(loads, (load + _size(file_unit), number))
    return shares


def _size(file_unit: FileUnit) -> int:
    """The stored bytes of a unit."""
    _, unit = file_unit
    return unit.end - unit.start


def map_shares(
    engine: Engine,
    shares: Sequence[Sequence[FileUnit]],
    function: Callable[[Iterable[FileUnit], Settings], Iterator[pa.RecordBatch]],
    settings: Settings,
    *,
    compiled: bool = False,
) -> DataFrame:
    """The staged rows that `function` makes of the units of each share."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from function(shares[number], settings)

    numbers = engine.spark.range(0, len(shares), 1, len(shares))
    return map_arrow(numbers, run, from_arrow_schema(tasks.STAGED), compiled=compiled)


def units_of(entry: Entry, settings: Settings) -> list[Unit]:
    """The units of a file; a single one if sentences of a parsed corpus need their document.

    The document's name is at its beginning, which may be in an earlier unit.
    """
    file = InputFile(entry.path, entry.bytes, entry.modified)
    needs_documents = settings.source in PARSED and settings.by_sentence
    cut_at: Literal["whole", "xml", "lines"] = (
        "whole" if needs_documents else "xml" if settings.source == "wikipedia" else "lines"
    )
    try:
        return units(file, cut_at, settings.unit_bytes)
    except Unreadable:
        # the task that reads it raises this again and records it
        return units(file, "whole")
