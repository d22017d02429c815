"""The extraction job: input files to ``amod_counts`` wave by wave, then pairs and association.

What a wave does: tasks turn its files into staged rows (`etl.amod.tasks`); their sums become
visible in one commit of each table, the counts last; the ledger is brought up to date; the staged
rows are deleted. Killed anywhere, the job run again with the same command goes on with the first
wave that the ledger does not show as read, and every commit carries an application transaction, so
that a repeated one changes nothing.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from heapq import heappop, heappush
from typing import Any, Literal

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from conf import JobFailed, UserError, settings_hash
from conf.progress import duration
from etl.amod import (
    association,
    by_adjective,
    novel,
    plan,
    reading,
    relation_association,
    results,
    tasks,
)
from etl.amod.kernel import NO_COMPILER, PairCounter, available
from etl.amod.plan import DONE, FAILED, Entry
from etl.amod.settings import PARSED, RAW, Settings, decisive
from etl.amod.staging import Staging
from etl.amod.sums import parts_for
from etl.corpora.files import InputFile, Unit, Unreadable, list_inputs, units
from etl.engine import Engine, map_arrow, start
from etl.lake import arrow
from etl.lake.scratch import scratch
from etl.lake.spark import Lake
from etl.lake.tables import table as declaration
from etl.parsing import check_parser, sparknlp_parser

UNIT_KIND: dict[str, Literal["xml", "lines"]] = {
    "depcc": "lines",
    "conllu": "lines",
    "wikipedia": "xml",
    "text": "lines",
}

TASK_BYTES = 8 << 20  # the least worth a task of its own

# What restart=true empties; the counts last.
FORGOTTEN = (
    "sentences",
    "amod_examples",
    "amod_seen",
    "relation_pairs",
    "relation_association",
    "dropped",
    "amod_counts",
)

Tallies = dict[tuple[str, str], tuple[int, str | None]]
"""(table, reason) -> (count, sample): rows of the table ``dropped``."""

log = logging.getLogger("adnominal")


def extract(settings: Settings) -> None:
    """Adjective–noun pairs from Wikipedia XML, DepCC, CoNLL-U, text, JSON lines, Parquet, WET.

    Reads every file of input=, counts the pairs (an adjective with the relation amod, and the noun
    it modifies) and writes the tables amod_files, amod_counts, amod_pairs, amod_association and
    amod_by_adjective of the lake; with examples=N also amod_examples, with keep_text=true also
    sentences. Run again after a kill, it goes on where it stopped; run again with further files,
    it adds them.
    """
    files = list_inputs(settings.input)
    if settings.pairs is not None:
        from etl.amod import listed  # which builds on this module

        listed.count_list(settings, files)
        return
    engine = checked_engine(settings, files)
    Extraction(engine, settings).run(files)


def checked_engine(settings: Settings, files: Sequence[InputFile]) -> Engine:
    """The engine, once input, parser and kernel have been found fit for the settings.

    Raises:
        UserError: something that the settings need is not here, or does not go with them.
    """
    is_raw = settings.source in RAW
    is_parsed_here = is_raw and not settings.adjacent
    if is_raw:
        reading.check_input(files, settings)
    if is_parsed_here:
        check_parser(settings.text_parser, settings.parser_model)
    elif not settings.adjacent:
        PairCounter("conllu", settings.rules, settings.kernel)  # says what is wrong with kernel=
    by_sparknlp = is_parsed_here and settings.text_parser == "sparknlp"
    engine = start(
        f"extract_amod {settings.name}",
        settings,
        needs_jvm="parser=sparknlp" if by_sparknlp else None,
    )
    if is_parsed_here:
        # Spark NLP's jar, now it can be asked.
        check_parser(settings.text_parser, settings.parser_model)
    elif not settings.adjacent:
        _check_kernel(engine, settings)
    return engine


def _check_kernel(engine: Engine, settings: Settings) -> None:
    """Refuse to count on a cluster, and warn of counting here, without the compiled kernel."""
    if settings.kernel == "reference" or "compiled" in available():
        return
    if engine.is_cluster:
        raise UserError(
            f"{NO_COMPILER} before the packages are sent to the cluster, or give kernel=reference "
            "(the same counts, many times slower)"
        )
    log.warning("%s; until then the reference counts, many times slower", NO_COMPILER)


class Extraction:
    """The job on one corpus; `run` does what is left to do.

    Raises:
        UserError: a file or setting changed since the corpus was first read.
        JobFailed: files that could not be read, or no pair at all.
    """

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self.engine = engine
        self.settings = settings
        self.lake = Lake(engine.spark, settings.lake)
        self.corpus = {"corpus": settings.name}
        self.job = f"extract_amod/{settings.name}"
        self.app = self._app(self._restarts())
        self.base: int | None = None

    def run(self, files: Sequence[InputFile]) -> None:
        """Plan, read what is not yet read, derive pairs and association, report."""
        started = time.monotonic()
        ledger = self._planned(files)
        self.base = self.lake.version("amod_counts")
        waves = plan.pending(ledger)
        if not waves:
            log.info("every file of the input has been read before; nothing new to count")
        for number, entries in waves:
            outcomes = self._wave(number, entries, f"wave {number + 1} of {waves[-1][0] + 1}")
            ledger = plan.finished(ledger, outcomes)
            self._write_ledger(ledger)
            self.staging.forget(number)
        distinct = self._derive(ledger, {number for number, _ in waves})
        if self.settings.novel and distinct:
            self._propose_novel()
        read = {entry.path for _, entries in waves for entry in entries}
        self._report(ledger, read, distinct, time.monotonic() - started)

    # --------------------------------------------------------------- who wrote what was written

    def _restarts(self) -> int:
        return self.lake.transaction_version("amod_counts", f"{self.job}/restarts") or 0

    def _app(self, restarts: int) -> str:
        """The application id of commits: it changes with the settings and with each restart."""
        return f"{self.job}/{settings_hash(decisive(self.settings))}/{restarts}"

    @property
    def staging(self) -> Staging:
        """The staged waves of this corpus under these settings."""
        return Staging(self.settings.lake, self.app)

    def _commit(self, entries: Sequence[Entry], number: int) -> dict[str, Any]:
        """What every commit of wave `number` says of itself."""
        stated = [(entry.path, entry.bytes, entry.modified.isoformat()) for entry in entries]
        return {
            "job": self.job,
            "transaction": (self.app, number),
            "metadata": {
                "corpus": self.settings.name,
                "settings": json.dumps(decisive(self.settings), sort_keys=True),
                "settings_hash": settings_hash(decisive(self.settings)),
                "input_fingerprint": settings_hash({"files": stated}),
            },
        }

    # ------------------------------------------------------------------------------ the ledger

    def _planned(self, files: Sequence[InputFile]) -> list[Entry]:
        ledger = self._ledger()
        ours = self.lake.transaction_version("amod_files", self.app) is not None
        if self.settings.restart and ledger:
            self._forget_corpus()
            ledger = []
        elif ledger and not ours:
            raise UserError(
                f"corpus {self.settings.name!r} was read with other settings{self._difference()}; "
                "give another corpus= name, or restart=true to read everything anew"
            )
        planned = plan.plan(ledger, files, self.settings.wave_bytes)
        if planned != ledger:
            self._write_ledger(planned)
        return planned

    def _difference(self) -> str:
        """How the settings differ from those that the corpus was read with."""
        for commit in self.lake.history("amod_files"):
            if commit.metadata.get("corpus") == self.settings.name:
                before = json.loads(commit.metadata.get("settings", "{}"))
                now = decisive(self.settings)
                changed = [
                    f"{key}: {before.get(key)} then, {now.get(key)} now"
                    for key in sorted(before.keys() | now.keys())
                    if before.get(key) != now.get(key)
                ]
                return f" ({'; '.join(changed)})" if changed else ""
        return ""

    def _ledger(self) -> list[Entry]:
        rows = self._small("amod_files", {"corpus": self.settings.name})
        for row in rows:
            del row["corpus"]
        entries = [Entry(**row) for row in rows]
        return sorted(entries, key=lambda entry: (entry.wave, entry.path))

    def _write_ledger(self, ledger: Sequence[Entry]) -> None:
        schema = declaration("amod_files").schema.remove_metadata()
        columns = {
            name: [getattr(entry, name, self.settings.name) for entry in ledger]
            for name in schema.names
        }
        before = self.lake.transaction_version("amod_files", self.app)
        # The ledger is written whole, so its number guards nothing: it marks whose ledger it is.
        commit = self._commit(ledger, 0 if before is None else before + 1)
        rows = pa.Table.from_pydict(columns, schema=schema)
        arrow.replace(self.settings.lake, "amod_files", rows, self.corpus, **commit)

    def _forget_corpus(self) -> None:
        """Empty the corpus's partitions; the application id of later commits is a new one."""
        restarts = self._restarts() + 1
        log.info("restart=true: forgetting what was read of %s", self.settings.name)
        self.staging.forget_all()
        for name in FORGOTTEN:
            if self.lake.exists(name):
                arrow.replace(
                    self.settings.lake,
                    name,
                    declaration(name).schema.empty_table(),
                    {"job": self.job} if name == "dropped" else self.corpus,
                    job=self.job,
                    metadata=self._commit([], 0)["metadata"],
                    transaction=(f"{self.job}/restarts", restarts),
                    allow_empty=True,
                )
        self.app = self._app(restarts)

    # ------------------------------------------------------------------------------- one wave

    def _wave(self, number: int, entries: Sequence[Entry], label: str) -> list[Entry]:
        """Read and commit one wave; its files with their outcomes."""
        started = time.monotonic()
        staged = self.staging.complete(number)
        if staged is None:
            with self.engine.watch(label, sum(entry.bytes for entry in entries)):
                staged = self.staging.write(number, self._staged(entries))
        else:
            log.info("%s: going on from what was read before the job was stopped", label)
        statements = grouped_by_file(results.statements(staged).collect())
        outcomes = [
            self._outcome(entry, statements.get(file, [])) for file, entry in enumerate(entries)
        ]
        failed = [file for file, entry in enumerate(outcomes) if entry.status == FAILED]
        good = staged.where(~F.col("file").isin(failed)) if failed else staged
        counted = sum(entry.pairs for entry in outcomes if entry.status == DONE)
        repeats = self._commit_wave(good, counted, number, self._commit(entries, number))
        dropped = self._dropped(outcomes, statements, repeats)
        self._commit_dropped(dropped, self._commit(entries, number))
        kernels = {
            row["reason"].removeprefix("kernel_")
            for rows in statements.values()
            for row in rows
            if row["reason"].startswith("kernel_")
        }
        log.info(
            "%s: %s pairs from %d files in %s%s",
            label,
            f"{counted:_}",
            len(entries) - len(failed),
            duration(time.monotonic() - started),
            f" ({' and '.join(sorted(kernels))} kernel)" if kernels else "",
        )
        return outcomes

    def _staged(self, entries: Sequence[Entry]) -> DataFrame:
        """The distributed part: the files of a wave to staged rows (computed when written)."""
        settings = self.settings
        shares, numbers = self._shares(entries)
        task, schema = tasks.Task.of(settings), from_arrow_schema(tasks.STAGED)
        if settings.source in PARSED:
            compiled = not task.by_sentence and "compiled" in available()
            if self.engine.is_cluster and settings.kernel == "auto":
                # Where an executor cannot load the kernel that it was sent, the job is to fail.
                task = replace(task, kernel="compiled")
            counts = shares_of(shares, tasks.count_units, task)
            return map_arrow(
                numbers, counts, schema, compiled=compiled and settings.kernel != "reference"
            )
        if task.packs_pairs:
            # Counting costs no more than reading: there is nothing to deal out.
            return map_arrow(numbers, shares_of(shares, reading.count_text_units, task), schema)
        read = map_arrow(numbers, shares_of(shares, reading.read_units, task), schema)
        # Parsing costs a hundred times what reading does, and files come in any number and size.
        dealt = read.repartition(settings.partitions or self.engine.partitions(4 * len(shares), 0))
        if settings.text_parser != "sparknlp":
            return map_arrow(
                dealt,
                lambda batches: tasks.parse_documents(reading.prepared(batches, task), task),
                schema,
            )
        dealt = map_arrow(dealt, lambda batches: reading.prepared(batches, task), schema)
        # A document has one paragraph a line; to a parser a blank line parts paragraphs.
        apart = F.regexp_replace("text", "\n", "\n\n")
        documents = dealt.where("kind = 'document'").withColumn("text", apart)
        annotated = sparknlp_parser.with_tokens(
            sparknlp_parser.annotate(documents, settings.parser_model)
        )
        return dealt.where("kind <> 'document'").unionByName(
            map_arrow(annotated, lambda batches: tasks.take_annotated(batches, task), schema)
        )

    def _shares(self, entries: Sequence[Entry]) -> tuple[list[list[dict[str, Any]]], DataFrame]:
        """The units of a wave dealt out over tasks, and a frame with the number of each share."""
        settings = self.settings
        work = [
            {"file": file, **asdict(unit)}
            for file, entry in enumerate(entries)
            for unit in _units(entry, settings)
        ]
        size = sum(entry.bytes for entry in entries)
        count = settings.partitions or self.engine.partitions(len(work), size // TASK_BYTES + 1)
        shares = _shares(work, count)
        return shares, self.engine.spark.range(0, len(shares), 1, len(shares))

    def _outcome(self, entry: Entry, statements: Sequence[Any]) -> Entry:
        """What became of a file, from what its tasks said of it."""
        stats = {row["reason"]: row["count"] for row in statements if row["kind"] == "stat"}
        rejected = [row for row in statements if row["kind"] == "rejected"]
        bad = sum(row["count"] for row in rejected)
        outcome = replace(
            entry,
            status=DONE,
            sentences=stats.get("sentences", 0),
            tokens=stats.get("tokens", 0),
            pairs=stats.get("pairs", 0),
            rejected_lines=bad,
        )
        faults = sorted(row["reason"] for row in statements if row["kind"] == "failed")
        if faults:
            return plan.failed(outcome, faults[0])
        if bad > self.settings.max_rejected * stats.get("lines", 0):
            # A head goes missing when its own line is damaged: of two, that is the cause.
            worst = max(rejected, key=lambda row: (row["count"], row["reason"] != "head_missing"))
            return plan.failed(
                outcome,
                f"{bad} of {stats.get('lines', 0)} "
                f"{'lines' if self.settings.source in PARSED else 'documents'} malformed, more "
                f"than max_rejected={self.settings.max_rejected:g}; most often {worst['reason']} "
                f"({worst['count']}), as {_sample(entry, worst)}",
            )
        return outcome

    def _commit_wave(
        self, good: DataFrame, counted: int, number: int, commit: Mapping[str, Any]
    ) -> int:
        """Write what the good files of a wave gave, `counted` pairs; how many repeated texts were
        left out."""
        settings, lake = self.settings, self.lake
        pairs = results.kind(good, "pair")
        new: DataFrame | None = None
        repeats = 0
        if settings.deduplicate != "none":
            seen = None
            if lake.exists("amod_seen"):
                seen = lake.read("amod_seen", where=self.corpus).where(F.col("wave") < number)
            stamped = results.new_digests(good, seen).withColumns(
                {"corpus": F.lit(settings.name), "wave": F.lit(number).cast("int")}
            )
            lake.append("amod_seen", stamped, **commit)
            new = lake.read("amod_seen", where=self.corpus).where(F.col("wave") == number)
            pairs = results.once(pairs, new)
            repeats = results.kind(good, "digest").count() - new.count()
        if settings.keep_text:
            lake.append("sentences", results.sentences_of(good, settings.name, new), **commit)
        if settings.examples:
            candidates = results.kind(good, "example").select(
                "adjective", "noun", F.col("text").alias("sentence"), "document"
            )
            if lake.exists("amod_examples"):
                before = lake.read("amod_examples", where=self.corpus).drop("corpus")
                candidates = candidates.unionByName(before)
            chosen = results.examples_of(
                candidates, settings.name, settings.examples, settings.seed
            )
            lake.replace("amod_examples", chosen, self.corpus, allow_empty=True, **commit)
        if settings.further_relations:
            self._commit_relations(good, number, commit)
        parts, memory = parts_for(counted), settings.memory_mb << 20
        if tasks.Task.of(settings).packs_pairs:
            packed = results.packed_in(good, parts, memory)
        else:
            packed = results.packed_of(pairs, parts, memory)
        counts = results.rows_of(packed, parts, "amod_counts", corpus=settings.name, wave=number)
        # From the version of the beginning: what another process has begun anew is not added to.
        lake.append("amod_counts", counts, base=self.base, **commit)
        return repeats

    def _commit_relations(self, good: DataFrame, number: int, commit: Mapping[str, Any]) -> None:
        """Add a wave's counts of further relations to those of the earlier waves."""
        before = None
        if number and self.lake.exists("relation_pairs"):
            before = self.lake.read("relation_pairs", where=self.corpus)
        summed = results.relations_of(good, before, self.settings.name)
        self.lake.replace("relation_pairs", summed, self.corpus, allow_empty=True, **commit)

    def _dropped(
        self, outcomes: Sequence[Entry], statements: Mapping[int, Sequence[Any]], repeats: int
    ) -> Tallies:
        """(table, reason) -> (count, sample) of what a wave left out."""
        dropped: Tallies = {}
        for file, entry in enumerate(outcomes):
            for row in statements.get(file, []) if entry.status == DONE else ():
                if row["kind"] in ("rejected", "left_out"):
                    said: Tallies = {
                        ("amod_counts", row["reason"]): (row["count"], _sample(entry, row))
                    }
                    dropped = _added(dropped, said)
        if repeats:
            dropped["amod_counts", f"duplicate_{self.settings.deduplicate}"] = (repeats, None)
        return dropped

    def _commit_dropped(
        self,
        dropped: Tallies,
        commit: Mapping[str, Any],
    ) -> None:
        """Add a wave's counts to those of the corpus's earlier waves (exactly once)."""
        before = {
            (row["table"], row["reason"]): (row["count"], row["sample"])
            for row in self._dropped_before()
        }
        total = _added(dropped, before)
        schema = declaration("dropped").schema.remove_metadata()
        rows = [
            {"job": self.job, "table": key[0], "reason": key[1], "count": count, "sample": sample}
            for key, (count, sample) in sorted(total.items())
        ]
        left_out = pa.Table.from_pylist(rows, schema=schema)
        partition = {"job": self.job}
        arrow.replace(
            self.settings.lake, "dropped", left_out, partition, allow_empty=True, **commit
        )

    def _dropped_before(self) -> list[dict[str, Any]]:
        return self._small("dropped", {"job": self.job})

    def _small(self, table: str, partition: Mapping[str, str]) -> list[dict[str, Any]]:
        """The rows of a partition of a table of few rows, if there is one, without Spark."""
        if not self.lake.exists(table):
            return []
        where = [(name, "=", value) for name, value in partition.items()]
        return list(arrow.read(self.settings.lake, table, where=where).to_pylist())

    # ------------------------------------------------------------------------ what follows them

    def _derive(self, ledger: Sequence[Entry], counted: Collection[int]) -> int:
        """Bring pairs and association up to date with the counts; how many distinct pairs.

        `counted` are the numbers of the waves that this run has counted.
        """
        if not sum(entry.pairs for entry in ledger if entry.status == DONE):
            return 0
        # The ledger tells which waves are in the counts: its last commit numbers this state.
        state = self.lake.transaction_version("amod_files", self.app) or 0
        done = [entry for entry in ledger if entry.status == DONE]
        commit = self._commit(done, state)
        corpus = self.settings.name
        waves = {entry.wave for entry in done if entry.pairs}
        if len(waves) == 1 and waves <= set(counted):
            # What one wave has counted are the pairs, noun by noun in one file each.
            counts = self.lake.files("amod_counts", self.corpus)
            summed = results.copied_from(counts, "amod_pairs", corpus=corpus)
        else:
            parts = parts_for(self._rows_in("amod_counts"))
            packed = results.packed_of(
                self.lake.read("amod_counts", where=self.corpus),
                parts,
                self.settings.memory_mb << 20,
            )
            summed = results.rows_of(packed, parts, "amod_pairs", corpus=corpus)
        self.lake.replace("amod_pairs", summed, self.corpus, **commit)
        with scratch(self.settings.lake) as folder:
            pairs = self.lake.read("amod_pairs", where=self.corpus)
            adjectives = folder.store(association.adjectives_of(pairs))
            files = self.lake.files("amod_pairs", self.corpus)
            rows = association.rows_of(files, adjectives, corpus)
            distinct = self.lake.replace("amod_association", rows, self.corpus, **commit).rows
            parts = parts_for(self._rows_in("amod_pairs"))
            turned = by_adjective.rows_of(files, parts, adjectives, corpus)
            self.lake.replace("amod_by_adjective", turned, self.corpus, **commit)
        self._derive_relations(commit)
        return distinct or self._rows_in("amod_association")

    def _derive_relations(self, commit: Mapping[str, Any]) -> None:
        """Measure the further relations, where that is asked for or was before."""
        if not self.settings.further_relations:
            return
        name = relation_association.TABLE
        if self.settings.relation_association or self._rows_in(name):
            pairs = self.lake.read("relation_pairs", where=self.corpus)
            rows = relation_association.rows_of(pairs, self.settings.name)
            self.lake.replace(name, rows, self.corpus, allow_empty=True, **commit)

    def _propose_novel(self) -> None:
        settings = self.settings
        pairs = novel.propose(
            settings.lake, settings.name, settings.novel, settings.novel_least, settings.seed
        )
        novel.write(settings.lake, settings.name, pairs, self.job)
        log.info("%d pairs that never occur are in listed_counts, as list novel", len(pairs))

    def _rows_in(self, table: str) -> int:
        """The corpus's rows in a table, from the statistics of its log; 0 where there is none."""
        if not self.lake.exists(table):
            return 0
        files = arrow.files(self.settings.lake, table)
        rows = [file.rows for file in files if file.lies_in(self.corpus)]
        if None in rows:
            return int(self.lake.read(table, where=self.corpus).count())
        return sum(filter(None, rows))

    def _report(
        self, ledger: Sequence[Entry], read: set[str], distinct: int, seconds: float
    ) -> None:
        """Print the summary of the corpus; raise for files that failed and for want of pairs."""
        done = [entry for entry in ledger if entry.status == DONE]
        failed = [entry for entry in ledger if entry.status == FAILED]
        fresh = [entry for entry in done if entry.path in read]
        cores = self.engine.cores
        megabytes = sum(entry.bytes for entry in fresh) / 1e6
        tokens = sum(entry.tokens for entry in fresh)
        lines = [
            f"corpus {self.settings.name} in {self.settings.lake}",
            f"  {'files read':<28}{len(done):>15_}",
            f"  {'files failed':<28}{len(failed):>15_}",
            f"  {'sentences':<28}{sum(entry.sentences for entry in done):>15_}",
            f"  {'tokens':<28}{sum(entry.tokens for entry in done):>15_}",
            f"  {'pairs':<28}{sum(entry.pairs for entry in done):>15_}",
            f"  {'distinct pairs':<28}{distinct:>15_}",
            *(
                f"  {row['reason']:<28}{row['count']:>15_} left out"
                for row in sorted(self._dropped_before(), key=lambda row: -row["count"])
            ),
        ]
        if fresh:
            lines.append(
                f"  this run: {megabytes:_.2f} MB (stored) in {duration(seconds)}, "
                f"{megabytes / seconds:.2f} MB/s, "
                f"{tokens / seconds / cores:_.0f} tokens/s on each of {cores} cores"
            )
        print("\n".join(lines), flush=True)
        if failed:
            stated = "; ".join(f"{entry.path}: {entry.reason}" for entry in failed[:5])
            more = f"; and {len(failed) - 5} more (table amod_files)" if len(failed) > 5 else ""
            raise JobFailed(
                f"{len(failed)} of {len(ledger)} files failed and count nowhere: {stated}{more}"
            )
        if not distinct:
            raise JobFailed(
                f"no adjective–noun pair in {sum(entry.sentences for entry in done)} sentences; "
                f"expected relations named amod: is the input of source={self.settings.source}?"
            )


def _shares(work: Sequence[dict[str, Any]], count: int) -> list[list[dict[str, Any]]]:
    """Units of work dealt out over `count` tasks, about as many stored bytes to each."""
    shares: list[list[dict[str, Any]]] = [[] for _ in range(min(count, len(work)))]
    load = [(0, number) for number in range(len(shares))]
    for unit in sorted(work, key=lambda unit: unit["start"] - unit["end"]):
        size, number = heappop(load)
        shares[number].append(unit)
        heappush(load, (size + unit["end"] - unit["start"], number))
    return shares


def shares_of(
    shares: Sequence[Sequence[dict[str, Any]]],
    function: Callable[[Iterable[pa.RecordBatch], tasks.Task], Iterator[pa.RecordBatch]],
    task: tasks.Task,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function of the numbers of shares that runs `function` on their units of work."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                work = pa.RecordBatch.from_pylist(list(shares[number]), schema=tasks.UNITS)
                yield from function([work], task)

    return run


def _units(entry: Entry, settings: Settings) -> list[Unit]:
    file = InputFile(entry.path, entry.bytes, entry.modified)
    try:
        return units(file, UNIT_KIND[settings.source], settings.unit_bytes)
    except Unreadable:
        # the task that reads it says so again, and there it is recorded
        return units(file, "whole")


def grouped_by_file(rows: Sequence[Any]) -> dict[int, list[Any]]:
    """Statements of tasks by the number of their file, in a set order."""
    grouped: dict[int, list[Any]] = {}
    for row in sorted(rows, key=lambda row: (row["file"], row["kind"], row["reason"])):
        grouped.setdefault(row["file"], []).append(row)
    return grouped


def _sample(entry: Entry, row: Any) -> str:
    """``path, line 12: text`` (or without a line, where none is known)."""
    first = row["first"]
    line = f", line {first['place']}" if first["place"] < results.NO_PLACE else ""
    return f"{entry.path}{line}: {first['text']}"


def _added(one: Tallies, two: Tallies) -> Tallies:
    """The sums of two; of samples the first by name, whatever was read first."""
    total = dict(one)
    for key, (count, sample) in two.items():
        before, other = total.get(key, (0, None))
        samples = [text for text in (sample, other) if text is not None]
        total[key] = (before + count, min(samples, default=None))
    return total
