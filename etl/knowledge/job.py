"""``etl/import_knowledge.py``: WordNet, ConceptNet and the adjective classes into the lake."""

import logging
import time
from collections import defaultdict
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from adnominal.conf import JobFailed, UserError, setting, settings_hash
from adnominal.conf.numbers import count_of
from adnominal.etl.corpora.files import units
from adnominal.etl.corpora.inputs import InputFile, list_inputs
from adnominal.etl.dropped import Dropped, write_dropped
from adnominal.etl.engine import EngineSettings, running, start
from adnominal.etl.engine.versions import ENGINE_ERRORS
from adnominal.etl.knowledge import conceptnet, wordnet
from adnominal.etl.knowledge.lexicons import FOLDER, WordList, class_list, class_rows
from adnominal.etl.lake import arrow
from adnominal.etl.lake.scratch import Scratch, scratch
from adnominal.etl.lake.spark import Lake

JOB = "import_knowledge"
_TASK_BYTES = 64 << 20

log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Settings(EngineSettings):
    conceptnet: list[str] = setting(
        [],
        help="assertions of ConceptNet 5 or tables of ConceptNet 4, .gz or not; none by default",
        example="conceptnet=conceptnet-assertions-5.7.0.csv",
    )
    wordnet: str = setting(
        "auto",
        help="folder or zip archive of WordNet's files; auto searches the usual places; or none",
        example="wordnet=/usr/share/wordnet",
    )
    classes: str | None = setting(
        None,
        help="adjective classes instead of conf/lexicons/adjective_classes.tsv, in the same layout",
        example="classes=mine.tsv",
    )
    max_rejected: float = setting(
        0.001, help="share of a release's lines that may be malformed before the import fails"
    )
    lake: str = setting("lake", help="folder or URI of the lake", example="lake=/data/lake")

    def __post_init__(self) -> None:
        if not 0 <= self.max_rejected <= 1:
            raise UserError(f"max_rejected={self.max_rejected}: expected a share from 0 to 1")


def import_knowledge(settings: Settings) -> None:
    """Import WordNet, ConceptNet and the adjective classes as tables for the builders.

    Writes wordnet_lemmas, wordnet_exceptions and wordnet_hypernyms (unless wordnet=none),
    conceptnet_edges (with conceptnet=FILES; the new edges of a release replace its old ones, the
    other release stays) and adjective_classes (other ones that are there stay, unless classes=FILE
    is given); dropped lines are counted in dropped.
    """
    # Every mistake in a path or a list is found before a session starts, and so is damage to
    # WordNet's files: all of its tables are those of one release.
    words = class_list(settings.classes)
    releases: dict[str, list[InputFile]] = defaultdict(list)
    for file in list_inputs(settings.conceptnet) if settings.conceptnet else ():
        releases[conceptnet.release_of(file)].append(file)
    wordnet_tables: dict[str, pa.Table] = {}
    wordnet_metadata: dict[str, str] = {}
    if settings.wordnet != "none":
        wordnet_files = wordnet.find(settings.wordnet)
        wordnet_tables = _read_wordnet(wordnet_files)
        wordnet_metadata = {"wordnet": wordnet_files.version, "place": wordnet_files.place}
    lake = Lake(start(JOB, settings).spark, settings.lake)
    _classes(lake, words, is_asked_for=settings.classes is not None)
    for name, rows in wordnet_tables.items():
        _replace(lake, name, rows, wordnet_metadata)
    for release, files in sorted(releases.items()):
        with scratch(settings.lake) as folder:
            _conceptnet(lake, folder, release, files, settings.max_rejected)


def _classes(lake: Lake, words: WordList, *, is_asked_for: bool) -> None:
    """Replace the adjective classes; replace classes from another list only if `is_asked_for`."""
    name, rows = "adjective_classes", class_rows(words)
    if not is_asked_for and lake.exists(name):
        kept = arrow.read(lake.root, name)
        if sorted(kept.to_pylist(), key=itemgetter("adjective")) != rows.to_pylist():
            lists = ", ".join(sorted(set(kept["source"].to_pylist())))
            log.info(
                "%s: kept as it is (%s, from %s); classes=%s would replace it",
                name,
                count_of(kept.num_rows, "row"),
                lists or "an empty list",
                FOLDER / f"{words.name}.tsv",
            )
            return
    _replace(lake, name, rows, {"lexicon": words.source})


def _read_wordnet(files: wordnet.WordNet) -> dict[str, pa.Table]:
    started = time.monotonic()
    tables = wordnet.tables(files)
    log.info("WordNet %s from %s in %.1f s", files.version, files.place, time.monotonic() - started)
    return tables


def _replace(lake: Lake, name: str, rows: pa.Table, metadata: dict[str, str]) -> None:
    lake.replace(name, rows, {}, job=JOB, metadata=metadata, allow_empty=not rows.num_rows)
    log.info("%s: %s", name, count_of(rows.num_rows, "row"))


def _conceptnet(
    lake: Lake, folder: Scratch, release: str, files: list[InputFile], max_rejected: float
) -> None:
    """Replace the edges of a release by those of the files.

    If more lines are malformed than allowed, nothing is committed. Edges and counts are stored
    between their two uses, so that the lines are read and parsed once.
    """
    started = time.monotonic()
    job = f"{JOB}/conceptnet{release}"
    size = sum(file.bytes for file in files)
    log.info("ConceptNet %s: %s, %.1f MB", release, count_of(len(files), "file"), size / 1e6)
    units_of_files = [unit for file in files for unit in units(file, "lines", _TASK_BYTES)]
    if len(units_of_files) == len(files) and size > len(files) * _TASK_BYTES:
        log.info(
            "compressed files are not cut: one task reads each; decompress them for more tasks"
        )
    engine = running()
    tasks = engine.partitions(len(units_of_files), len(units_of_files))
    try:
        with engine.watch(f"ConceptNet {release}", size):
            rows = folder.keep(conceptnet.parsed_lines(lake.spark, units_of_files, release, tasks))
    except ENGINE_ERRORS as error:
        if "Unreadable" in str(error):
            paths = ", ".join(file.path for file in files)
            raise JobFailed(f"{paths}: an archive is cut off or damaged; fetch it again") from error
        raise
    total, edge_count, reason_counts = _line_counts(rows, release, max_rejected)
    log.info("%d lines read after %.1f s", total, time.monotonic() - started)
    file_facts = [(file.path, file.bytes, file.modified.isoformat()) for file in files]
    commit = lake.replace(
        "conceptnet_edges",
        conceptnet.without_repeats(conceptnet.edges(rows)),
        {"release": release},
        job=job,
        metadata={"input_fingerprint": settings_hash({"files": file_facts})},
    )
    drops = [
        Dropped("conceptnet_edges", row["reason"], row["count"], row["sample"])
        for row in reason_counts
    ]
    if repeated := edge_count - commit.rows:
        sample = conceptnet.repeated_edge(conceptnet.edges(rows))
        drops.append(Dropped("conceptnet_edges", conceptnet.REPEATED, repeated, str(sample)))
    write_dropped(lake.root, job, drops)
    _report(lake, release, commit.rows, total, time.monotonic() - started)


def _line_counts(rows: DataFrame, release: str, max_rejected: float) -> tuple[int, int, list[Any]]:
    """The number of lines and of edges, and the counts of other lines by reason.

    Raises:
        JobFailed: more malformed lines than allowed; no edge at all.
    """
    reason_counts = conceptnet.tally(rows).orderBy("reason").collect()
    edge_count = conceptnet.edges(rows).count()
    malformed = [row for row in reason_counts if row["reason"] not in conceptnet.TOLERATED]
    bad = sum(row["count"] for row in malformed)
    other_languages = sum(
        row["count"] for row in reason_counts if row["reason"] == conceptnet.OTHER_LANGUAGE
    )
    total = int(edge_count + bad + other_languages)
    if bad and bad / total > max_rejected:
        worst = max(malformed, key=lambda row: (row["count"], row["reason"]))
        raise JobFailed(
            f"ConceptNet {release}: {bad} of {total} lines malformed, more than "
            f"max_rejected={max_rejected:g}; most often {worst['reason']} ({worst['count']}), such "
            f"as {worst['sample']}; nothing was imported of it"
        )
    if not edge_count:
        raise JobFailed(
            f"ConceptNet {release}: no English edge in {total} lines; nothing was imported of it"
        )
    return total, edge_count, reason_counts


def _report(lake: Lake, release: str, edges: int, total: int, seconds: float) -> None:
    """Log the edges by relation, with the negated ones, and the speed."""
    counts = (
        lake.read("conceptnet_edges", where={"release": release})
        .groupBy("relation")
        .agg(F.count("*").alias("edges"), F.count_if(F.col("weight") < 0).alias("negated"))
        .orderBy(F.desc("edges"), "relation")
        .collect()
    )
    listed = ", ".join(
        f"{row['relation']} {row['edges']}"
        + (f" ({row['negated']} negated)" if row["negated"] else "")
        for row in counts
    )
    log.info("conceptnet_edges, release %s: %s: %s", release, count_of(edges, "edge"), listed)
    lines = count_of(total, "line")
    log.info("%s in %.1f s (%s lines/s)", lines, seconds, f"{total / seconds:,.0f}")
