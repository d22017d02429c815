"""Rows of ``conceptnet_edges`` from ConceptNet's assertions: which lines become edges, and how.

The first line of a file decides between two layouts. ConceptNet 5 has five tab-separated columns:
URI, relation, start, end, and JSON with weight, dataset, licence and often a sentence
(``surfaceText``). ConceptNet 4 has tables of relation, head, tail, score and frequency, as exported
with Divisi2, without sentences.

A line is split and tested as bytes: nine of ten lines of the full dump are in other languages and
are never decoded. A task returns its rejected lines as rows of counts.
"""

import json
import math
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from adnominal.conf import UserError
from adnominal.conf.numbers import finite_number
from adnominal.conf.texts import is_text
from adnominal.etl.corpora.dialects import is_blank
from adnominal.etl.corpora.files import Unit, UnitStream, Unreadable, open_input
from adnominal.etl.corpora.inputs import InputFile
from adnominal.etl.engine import map_arrow, progress
from adnominal.etl.lake.frames import spark_schema
from adnominal.etl.lake.schema import batch_of
from adnominal.etl.lake.tables import table

HEADER_4 = "relation\thead\ttail\tscore\tfreq"
_BLOCK = 1 << 20  # bytes read at a time

NOT_FIVE = "not five tab-separated columns"
NO_RELATION = "no relation in its column"
NO_WORD = "node without a word"
NO_WEIGHT = "no JSON with a weight in the last column"
NO_NUMBERS = "no numbers in the last two columns"
NO_TEXT = "not text in UTF-8"
# Reasons of well-formed lines, which do not count as malformed.
OTHER_LANGUAGE = "not English on both sides"
ODD_SURFACE = "sentence without two [[arguments]]: edge kept, sentence left out"
REPEATED = "repeated edge"
TOLERATED = (OTHER_LANGUAGE, ODD_SURFACE, REPEATED)

_ENGLISH = b"/c/en/"
_TWO_ARGUMENTS = re.compile(r"[^\[\]]*\[\[[^\[\]]+\]\][^\[\]]*\[\[[^\[\]]+\]\][^\[\]]*")
_NEGATED = re.compile(r"Not(?=[A-Z])")
_SAMPLE_LENGTH = 200  # bytes of a line in a sample


class Edge(NamedTuple):
    """A row of ``conceptnet_edges``."""

    relation: str
    start: str
    end: str
    start_label: str
    end_label: str
    surface_text: str | None
    weight: float
    dataset: str | None
    license: str | None
    uri: str
    release: str


# An edge or None, and the reason why the line is counted: why it is no edge, or what was dropped.
Outcome = tuple[Edge | None, str | None]


def parse_5(line: bytes) -> Outcome:
    """A line of ConceptNet 5.

    A negated relation (*NotCapableOf*) becomes the relation that it negates, with a negative
    weight. Labels are those of the sentence or, if there is none, the words of the node.
    """
    fields = line.split(b"\t")
    if len(fields) != 5:
        return None, NOT_FIVE
    if not fields[1].startswith(b"/r/") or len(fields[1]) == 3:
        return None, NO_RELATION
    if not (fields[2].startswith(_ENGLISH) and fields[3].startswith(_ENGLISH)):
        return None, OTHER_LANGUAGE
    try:
        uri, path, start, end, metadata = (field.decode() for field in fields)
    except UnicodeDecodeError:
        return None, NO_TEXT
    start, end = start[len(_ENGLISH) :], end[len(_ENGLISH) :]
    if not start.strip("/") or not end.strip("/"):
        return None, NO_WORD
    try:
        data = json.loads(metadata)
        is_number = not isinstance(data["weight"], str | bool)
        weight = float(data["weight"]) if is_number else math.nan
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        return None, NO_WEIGHT
    if not math.isfinite(weight):
        return None, NO_WEIGHT
    relation = _NEGATED.sub("", path[3:], count=1) if path.startswith("/r/Not") else path[3:]
    if not is_text(*(value for value in data.values() if isinstance(value, str))):
        return None, NO_TEXT
    surface = _text(data, "surfaceText")
    malformed_surface = surface is not None and not _TWO_ARGUMENTS.fullmatch(surface)
    edge = Edge(
        relation,
        start,
        end,
        _text(data, "surfaceStart") or _words(start),
        _text(data, "surfaceEnd") or _words(end),
        None if malformed_surface else surface,
        weight if relation == path[3:] else -abs(weight),
        _text(data, "dataset"),
        _text(data, "license"),
        uri,
        "5",
    )
    return edge, ODD_SURFACE if malformed_surface else None


def _text(data: dict[str, object], name: str) -> str | None:
    value = data.get(name)
    return value.strip() or None if isinstance(value, str) else None


def _words(node: str) -> str:
    return node.split("/")[0].replace("_", " ")


def parse_4(line: bytes) -> Outcome:
    """A line of ConceptNet 4; (None, None) for the header.

    The frequency says how often the statement is true, from -10 (never) to 10 (always): an edge
    with a negative frequency is negated. Edges get the URI that ConceptNet 5 would give them.
    """
    try:
        fields = [field.strip() for field in line.decode().split("\t")]
    except UnicodeDecodeError:
        return None, NO_TEXT
    if len(fields) != 5:
        return None, NOT_FIVE
    relation, head, tail, score, frequency = fields
    if not relation:
        return None, NO_RELATION
    if not head or not tail:
        return None, NO_WORD
    if line == HEADER_4.encode():
        return None, None
    weight, frequency_value = finite_number(score), finite_number(frequency)
    if weight is None or frequency_value is None:
        return None, NO_NUMBERS
    start, end = head.replace(" ", "_"), tail.replace(" ", "_")
    path = f"/r/{'Not' if frequency_value < 0 else ''}{relation}"
    edge = Edge(
        relation,
        start,
        end,
        head,
        tail,
        None,
        -abs(weight) if frequency_value < 0 else weight,
        "/d/conceptnet/4/en",
        "cc:by/4.0",
        f"/a/[{path}/,/c/en/{start}/,/c/en/{end}/]",
        "4",
    )
    return edge, None


# ------------------------------------------------------------------------------------- by Spark

_PARSERS: dict[str, Callable[[bytes], Outcome]] = {"4": parse_4, "5": parse_5}


def release_of(file: InputFile) -> str:
    """The release whose layout a file has: ``4`` or ``5``.

    Raises:
        UserError: neither; a file that cannot be read.
    """
    try:
        with open_input(file.path) as lines:
            first = lines.readline(1 << 16).decode("utf-8-sig", "replace").rstrip("\r\n")
    except Unreadable as error:
        raise UserError(f"conceptnet={file.path}: {error.reason}") from error
    if first == HEADER_4:
        return "4"
    if first.startswith("/a/[") and first.count("\t") == 4:
        return "5"
    raise UserError(
        f"conceptnet={file.path}:1: got {first[:60]!r}; expected an assertion of ConceptNet 5 "
        f"(/a/[…, five columns) or the header of ConceptNet 4 tables, {HEADER_4.split()}"
    )


def _lines(unit: Unit) -> Iterator[list[bytes]]:
    """The lines that begin in a unit of a file, in lists of some thousands."""
    with UnitStream(unit) as stream:
        tail = b""
        start = 0  # of the rest, in the stream
        partial = not stream.from_start
        while data := stream.read(_BLOCK):
            *lines, tail = (tail + data).split(b"\n")
            if partial and lines:  # the first line began in the previous unit
                start += len(lines[0]) + 1
                lines, partial = lines[1:], False
            limit = stream.limit
            size = sum(map(len, lines)) + len(lines)
            if limit is not None and start + size > limit:
                yield list(_beginning_within(lines, start, limit))
                return
            yield lines
            start += size
        if tail and not partial:
            yield [tail]


def _beginning_within(lines: Sequence[bytes], start: int, limit: int) -> Iterator[bytes]:
    # A line that begins exactly at the limit is in this unit: the next unit skips its first line.
    for line in lines:
        if start > limit:
            return
        yield line
        start += len(line) + 1


_PARSED = pa.schema(
    [
        *table("conceptnet_edges").schema,
        pa.field("reason", pa.string()),
        pa.field("count", pa.int64()),
        pa.field("sample", pa.string()),
    ]
)


def parsed_lines(spark: SparkSession, units: Sequence[Unit], release: str, tasks: int) -> DataFrame:
    """Edges, and counts of the lines that are no edges or lost their sentence.

    Columns: those of ``conceptnet_edges``, and reason, count and sample. A row is either an edge
    (reason, count and sample are null) or the count of the lines of one reason in a task. The files
    are read in at most `tasks` tasks.
    """
    count = min(tasks, len(units))
    shares = [list(units[number::count]) for number in range(count)]
    parse = _PARSERS[release]

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from _parse_units(shares[number], parse)

    return map_arrow(spark.range(0, count, 1, count), run, spark_schema(_PARSED))


def _parse_units(
    units: Sequence[Unit], parse: Callable[[bytes], Outcome]
) -> Iterator[pa.RecordBatch]:
    """The edges of some units, and at the end the count and a sample of each reason to drop."""
    counts: Counter[str] = Counter()
    # The smallest line of each reason with its file: samples do not depend on the order of lines.
    samples: dict[str, tuple[bytes, str]] = {}
    for unit in units:
        name = unit.path.rpartition("/")[2]
        for lines in _lines(unit):
            unit_edges: list[Edge] = []
            for line in lines:
                line = line.rstrip(b"\r").removeprefix(BOM_UTF8)
                if is_blank(line):
                    continue
                edge, reason = parse(line)
                if edge is not None:
                    unit_edges.append(edge)
                if reason is not None:
                    counts[reason] += 1
                    sample = (line[:_SAMPLE_LENGTH], name)
                    samples[reason] = min(samples.get(reason, sample), sample)
            if unit_edges:
                yield batch_of([(*edge, None, None, None) for edge in unit_edges], _PARSED)
        progress.advance(unit.end - unit.start)
    if counts:
        no_edge = [None] * len(Edge._fields)
        rows = []
        for reason, count in counts.items():
            line, name = samples[reason]
            text = line.decode("utf-8", "replace").replace("\0", "\ufffd")
            # Joined by the smallest character, the texts have the order of the pairs.
            rows.append((*no_edge, reason, count, f"{text}\0{name}"))
        yield batch_of(rows, _PARSED)


def tally(rows: DataFrame) -> DataFrame:
    """Lines by reason, with a sample of each: columns reason, count, sample."""
    return (
        rows.where(F.col("reason").isNotNull())
        .groupBy("reason")
        .agg(F.sum("count").alias("count"), F.min("sample").alias("least"))
        .withColumn("parts", F.split("least", "\0"))
        .select(
            "reason",
            "count",
            F.concat_ws(": ", F.col("parts")[1], F.col("parts")[0]).alias("sample"),
        )
    )


def edges(rows: DataFrame) -> DataFrame:
    """The edges among parsed rows."""
    return rows.where(F.col("reason").isNull()).drop("reason", "count", "sample")


def repeated_edge(frame: DataFrame) -> str | None:
    """The smallest URI of several edges; None if every URI has one edge."""
    twice = frame.groupBy("uri").count().where("count > 1").agg(F.min("uri").alias("uri"))
    uri: str | None = twice.collect()[0]["uri"]
    return uri


def without_repeats(frame: DataFrame) -> DataFrame:
    """Each edge once, sorted by relation and URI; the strongest of several is kept.

    ConceptNet 4 has one edge for each frequency (*usually*, *always*); files may overlap. Ties are
    decided by all columns, so that the result does not depend on the order of lines.
    """
    tie_breakers = [
        F.col(name) for name in sorted(frame.columns) if name not in ("uri", "relation")
    ]
    # Partitioned only by relation: one shuffle serves the window and the files of the table.
    place = Window.partitionBy("relation", "uri").orderBy(F.abs("weight").desc(), *tie_breakers)
    return (
        frame.repartition("relation")
        .withColumn("place", F.row_number().over(place))
        .where("place = 1")
        .drop("place")
    )
