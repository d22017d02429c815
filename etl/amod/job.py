"""The extraction job: count input files into ``amod_counts``, then derive pairs and association.

In each wave, tasks turn the files into staged rows (`etl.amod.tasks`); the sums become visible in
one commit per table, the counts last; the ledger is updated; the staged rows are deleted. If the
job is killed, the same command continues with the first wave that the ledger does not show as read.
Every commit carries an application transaction, so a repeated commit changes nothing.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from adnominal.conf import JobFailed
from adnominal.conf.numbers import count_of
from adnominal.conf.progress import duration
from adnominal.etl.amod import association, by_adjective, plan, reading, results
from adnominal.etl.amod.corpus import Corpus, parser_of_corpus
from adnominal.etl.amod.kernel import NO_KERNEL, PairCounter, available_implementations
from adnominal.etl.amod.outcomes import (
    Tallies,
    grouped_by_file,
    left_out_of,
    outcome_of,
    sum_of_tallies,
    tag_warnings,
)
from adnominal.etl.amod.plan import DONE, FAILED, PLANNED, Entry
from adnominal.etl.amod.settings import RAW, Settings
from adnominal.etl.amod.sums import parts_for
from adnominal.etl.amod.wave_tasks import staged_rows
from adnominal.etl.corpora.inputs import InputFile, list_inputs
from adnominal.etl.engine import Engine, start
from adnominal.etl.engine.versions import ENGINE_ERRORS
from adnominal.etl.lake import arrow
from adnominal.etl.lake.blocks import Blocks
from adnominal.etl.lake.log import Commit
from adnominal.etl.lake.scratch import scratch
from adnominal.etl.lake.spark import Lake
from adnominal.etl.lake.tables import table as declaration
from adnominal.etl.parsing import check_parser

log = logging.getLogger("adnominal")

# What reading rows raises if another run has deleted them.
_LOST_ROWS: tuple[type[Exception], ...] = (*ENGINE_ERRORS, OSError)


def extract(settings: Settings) -> None:
    """Count adjective–noun pairs in Wikipedia XML, DepCC, CoNLL-U, text, JSON lines, Parquet, WET.

    Reads every file of input=, counts the pairs (an adjective with the relation amod, and the noun
    it modifies) and writes the tables amod_files, amod_counts, amod_pairs, amod_association and
    amod_by_adjective of the lake; with examples=N also amod_examples, with keep_text=true also
    sentences. After a kill, the same command continues where the job stopped; with further files,
    it adds them.
    """
    files = reading.without_companions(list_inputs(settings.input), settings)
    if settings.source == "text" and settings.parser == "auto":
        earlier_parser = parser_of_corpus(settings.lake, settings.name)
        settings = reading.with_parser(settings, files, earlier_parser)
    engine = checked_engine(settings, files)
    Extraction(engine, settings).run(files)


def checked_engine(settings: Settings, files: Sequence[InputFile]) -> Engine:
    """Check input, parser and kernel, and start the engine.

    Raises:
        UserError: something that the settings need is missing or does not fit them.
    """
    is_parsed_here = settings.source in RAW
    if is_parsed_here:
        reading.check_input(files, settings)
        check_parser(settings.text_parser, settings.parser_model, settings.parser_language)
    else:
        PairCounter("conllu", settings.rules, settings.kernel)  # raises if kernel= is not available
    by_sparknlp = is_parsed_here and settings.text_parser == "sparknlp"
    engine = start(
        f"extract_amod {settings.name}",
        settings,
        needs_jvm="parser=sparknlp" if by_sparknlp else None,
    )
    if is_parsed_here:
        # Spark NLP's jar can be checked only now.
        check_parser(settings.text_parser, settings.parser_model, settings.parser_language)
    else:
        _warn_without_kernel(settings)
    return engine


def _warn_without_kernel(settings: Settings) -> None:
    """Log a warning if the compiled counter is missing on this machine.

    The executors of a cluster count with the kernel of this machine, so they lack it as well.
    """
    if settings.kernel == "auto" and "compiled" not in available_implementations():
        log.warning(NO_KERNEL)


class Extraction:
    """The job on one corpus; `run` does what remains to be done.

    Raises:
        UserError: a file or setting changed since the corpus was first read.
        JobFailed: files that could not be read, or no pair at all.
    """

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self.engine = engine
        self.settings = settings
        self.lake = Lake(engine.spark, settings.lake)
        self.corpus = Corpus(self.lake, settings)
        self.bases: dict[str, int] = {}
        self.counts_version: int | None = None  # the version of this run's last counts

    def run(self, files: Sequence[InputFile]) -> None:
        """Plan the waves, read the unread ones, derive pairs and association, and report."""
        started = time.monotonic()
        ledger = self.corpus.planned_entries(files)
        waves = plan.pending_waves(ledger)
        # A job that was killed after a wave's last commit has left staged rows.
        self.corpus.staging.forget_all_but({number for number, _ in waves})
        if not waves:
            log.info("every file of the input has been read before; nothing new to count")
        for number, entries in waves:
            self._wave(number, entries, f"wave {number + 1} of {waves[-1][0] + 1}")
            self.corpus.staging.forget(number)
        self.bases = self.corpus.bases()
        # Read the number before the ledger and the counts, which then have at least its content.
        state = self.lake.transaction_version("amod_files", self.corpus.app) or 0
        ledger = self.corpus.ledger()
        distinct = self._derive(ledger, state)
        read = {entry.path for _, entries in waves for entry in entries}
        self._report(ledger, read, distinct, time.monotonic() - started)

    # ------------------------------------------------------------------------------- one wave

    def _wave(self, number: int, entries: Sequence[Entry], label: str) -> None:
        """Read and commit one wave and record its outcomes, unless another run has done so."""
        self.bases = self.corpus.bases()
        if self._is_read_elsewhere(number, label):
            return
        try:
            outcomes = self._read_wave(number, entries, label)
        except _LOST_ROWS:
            # Another run deletes the staged rows once it has read the wave or restarted the corpus.
            self.corpus.refuse_restarted()
            if not self._is_read_elsewhere(number, label):
                raise
        else:
            self.corpus.record(outcomes)

    def _is_read_elsewhere(self, number: int, label: str) -> bool:
        """Whether another run has read the wave in the meantime."""
        statuses = {entry.status for entry in self.corpus.ledger() if entry.wave == number}
        is_read = bool(statuses) and PLANNED not in statuses
        if is_read:
            log.info("%s: another run has read it in the meantime", label)
        return is_read

    def _read_wave(self, number: int, entries: Sequence[Entry], label: str) -> list[Entry]:
        """Read and commit one wave; return its files' outcomes, or none if another run read it."""
        started = time.monotonic()
        staged_rows = self._staged_rows_of_wave(number, entries, label)
        outcomes, statements, good_rows = self._outcomes(entries, staged_rows)
        # Another run of the same corpus deletes a wave's staged rows after it has written the
        # outcomes to the ledger: if these are still missing, all staged rows were read.
        if self._is_read_elsewhere(number, label):
            return []
        pair_count = sum(entry.pairs for entry in outcomes if entry.status == DONE)
        commit = self.corpus.commit(entries, number)
        repeats = self._commit_wave(good_rows, pair_count, number, commit)
        for warning in tag_warnings(outcomes, statements):
            log.warning("%s", warning)
        left_out = left_out_of(outcomes, statements)
        if repeats:
            left_out["amod_counts", f"duplicate_{self.settings.deduplicate}"] = (repeats, None)
        self._commit_dropped_rows(left_out, commit)
        kernels = {
            row["reason"].removeprefix("kernel_")
            for rows in statements.values()
            for row in rows
            if row["reason"].startswith("kernel_")
        }
        log.info(
            "%s: %s from %s in %s%s",
            label,
            count_of(pair_count, "pair"),
            count_of(sum(entry.status == DONE for entry in outcomes), "file"),
            duration(time.monotonic() - started),
            f" ({' and '.join(sorted(kernels))} kernel)" if kernels else "",
        )
        return outcomes

    def _staged_rows_of_wave(self, number: int, entries: Sequence[Entry], label: str) -> DataFrame:
        """The staged rows of a wave, from an earlier attempt or read now."""
        staged = self.corpus.staging.complete(number)
        if staged is not None:
            log.info(
                "%s: continuing from the rows that were read before the job was stopped", label
            )
            return staged
        with self.engine.watch(label, sum(entry.bytes for entry in entries)):
            rows = staged_rows(self.engine, self.settings, entries)
            return self.corpus.staging.write(number, rows)

    def _outcomes(
        self, entries: Sequence[Entry], staged_rows: DataFrame
    ) -> tuple[list[Entry], dict[int, list[Any]], DataFrame]:
        """The files with their outcomes, the statements of tasks, and the rows of good files."""
        statements = grouped_by_file(results.statements(staged_rows).collect())
        outcomes = [
            outcome_of(entry, statements.get(file, []), self.settings)
            for file, entry in enumerate(entries)
        ]
        failed = [file for file, entry in enumerate(outcomes) if entry.status == FAILED]
        good_rows = staged_rows.where(~F.col("file").isin(failed)) if failed else staged_rows
        return outcomes, statements, good_rows

    def _commit_wave(
        self, rows: DataFrame, pair_count: int, number: int, commit: Mapping[str, Any]
    ) -> int:
        """Write the `pair_count` pairs of a wave's good files, and their other rows.

        Returns the number of repeated texts that were dropped.
        """
        settings = self.settings
        pairs = results.kind(rows, "pair")
        new: DataFrame | None = None
        repeats = 0
        if settings.deduplicate != "none":
            new = self._commit_digests(rows, number, commit)
            pairs = results.pairs_of_new_sentences(pairs, new)
            repeats = results.kind(rows, "digest").count() - new.count()
        if settings.keep_text:
            sentences = results.sentences_of(rows, settings.name, new, settings.deduplicate)
            self._append("sentences", sentences, **commit)
        if settings.examples:
            self._commit_examples(rows, commit)
        if settings.further_relations:
            self._commit_relations(rows, number, commit)
        parts, memory = parts_for(pair_count), settings.memory_bytes
        if settings.packs_pairs:
            packed = results.packed_in(rows, parts, memory)
        else:
            packed = results.packed_of(pairs, parts, memory)
        counts = results.rows_of(packed, parts, "amod_counts", corpus=settings.name, wave=number)
        counted = self._append("amod_counts", counts, **commit)
        self.counts_version = None if counted.skipped else counted.version
        return repeats

    def _commit_digests(self, rows: DataFrame, number: int, commit: Mapping[str, Any]) -> DataFrame:
        """Write and return the digests of texts that no earlier wave counted."""
        wave = F.col("wave")
        earlier_digests = None
        if self.lake.exists("amod_seen"):
            earlier_digests = self._read("amod_seen").where(wave < number)
        digests = results.new_digests(rows, earlier_digests).withColumns(
            {"corpus": F.lit(self.settings.name), "wave": F.lit(number).cast("int")}
        )
        self._append("amod_seen", digests, **commit)
        return self._read("amod_seen").where(wave == number)

    def _commit_examples(self, rows: DataFrame, commit: Mapping[str, Any]) -> None:
        """Draw the examples of each pair again, from those of earlier waves and of this one."""
        candidates = results.kind(rows, "example").select(
            "adjective", "noun", F.col("text").alias("sentence"), "document"
        )
        if self.lake.exists("amod_examples"):
            candidates = candidates.unionByName(self._read("amod_examples").drop("corpus"))
        settings = self.settings
        examples = results.examples_of(candidates, settings.name, settings.examples, settings.seed)
        self._replace("amod_examples", examples, allow_empty=True, **commit)

    def _commit_relations(self, rows: DataFrame, number: int, commit: Mapping[str, Any]) -> None:
        """Add a wave's counts of further relations to those of the earlier waves."""
        earlier = None
        if number and self.lake.exists("relation_pairs"):
            earlier = self._read("relation_pairs")
        summed = results.relations_of(rows, earlier, self.settings.name)
        self._replace("relation_pairs", summed, allow_empty=True, **commit)

    def _commit_dropped_rows(self, left_out: Tallies, commit: Mapping[str, Any]) -> None:
        """Add a wave's dropped counts to those of earlier waves (exactly once)."""
        earlier = {
            (row["table"], row["reason"]): (row["count"], row["sample"])
            for row in self._dropped_rows()
        }
        commit = {**commit, "base": self.bases["dropped"]}
        self._replace_dropped_rows(sum_of_tallies(left_out, earlier), commit)

    def _replace_dropped_rows(self, left_out: Tallies, commit: Mapping[str, Any]) -> None:
        """Replace the job's rows in ``dropped``."""
        rows = [
            {"job": self.corpus.job, "table": table, "reason": reason, "count": n, "sample": sample}
            for (table, reason), (n, sample) in sorted(left_out.items())
        ]
        arrow.replace(
            self.settings.lake,
            "dropped",
            pa.Table.from_pylist(rows, schema=declaration("dropped").schema.remove_metadata()),
            {"job": self.corpus.job},
            allow_empty=True,
            **commit,
        )

    def _summary(self, title: str, numbers: Mapping[str, int]) -> list[str]:
        """Lines of the title, the numbers, and the dropped rows, the most frequent reason first."""
        left_out = sorted(self._dropped_rows(), key=lambda row: -row["count"])
        return [
            title,
            *(f"  {name:<28}{number:>15,}" for name, number in numbers.items()),
            *(f"  {row['reason']:<28}{row['count']:>15,} left out" for row in left_out),
        ]

    def _dropped_rows(self) -> list[dict[str, Any]]:
        """The job's rows in ``dropped``."""
        return self.corpus.rows("dropped", {"job": self.corpus.job})

    def _read(self, table: str) -> DataFrame:
        return self.lake.read(table, where=self.corpus.partition)

    # Writes use the bases, so that nothing is added after another run has restarted the corpus.

    def _append(self, table: str, rows: DataFrame | Blocks, **commit: Any) -> Commit:
        return self.lake.append(table, rows, base=self.bases[table], **commit)

    def _replace(self, table: str, rows: DataFrame | Blocks, **commit: Any) -> Commit:
        base = self.bases[table]
        return self.lake.replace(table, rows, self.corpus.partition, base=base, **commit)

    # ------------------------------------------------------------------------ what follows them

    def _derive(self, ledger: Sequence[Entry], state: int) -> int:
        """Update pairs and association from the counts; return the number of distinct pairs.

        `state` is the number of the ledger and thus of the waves in the counts.
        """
        if not sum(entry.pairs for entry in ledger if entry.status == DONE):
            return 0
        read_files = [entry for entry in ledger if entry.status == DONE]
        commit = self.corpus.commit(read_files, state)
        corpus = self.settings.name
        waves = {entry.wave for entry in read_files if entry.pairs}
        counts = self.lake.files("amod_counts", self.corpus.partition)
        if len(waves) == 1 and self.lake.version("amod_counts") == self.counts_version:
            # The counts of a single wave are the pairs, with each noun in one file, and no other
            # run has added to them.
            pair_rows = results.copy_counts(counts, "amod_pairs", corpus=corpus)
        else:
            parts = parts_for(self.corpus.row_count("amod_counts"))
            counts = self._read("amod_counts")
            packed = results.packed_of(counts, parts, self.settings.memory_bytes)
            pair_rows = results.rows_of(packed, parts, "amod_pairs", corpus=corpus)
        self._replace("amod_pairs", pair_rows, **commit)
        with scratch(self.settings.lake) as folder:
            pairs = self._read("amod_pairs")
            adjectives = folder.store(association.adjectives_of(pairs))
            files = self.lake.files("amod_pairs", self.corpus.partition)
            rows = association.rows_of(files, adjectives, corpus)
            distinct = self._replace("amod_association", rows, **commit).rows
            parts = parts_for(self.corpus.row_count("amod_pairs"))
            turned = by_adjective.rows_of(files, parts, adjectives, corpus)
            self._replace("amod_by_adjective", turned, **commit)
        self._derive_relations(commit)
        return distinct or self.corpus.row_count("amod_association")

    def _derive_relations(self, commit: Mapping[str, Any]) -> None:
        """Measure the further relations, if that is requested or was before."""
        if not self.settings.further_relations:
            return
        name = "relation_association"
        if self.settings.relation_association or self.corpus.row_count(name):
            rows = association.relation_rows_of(self._read("relation_pairs"), self.settings.name)
            self._replace(name, rows, allow_empty=True, **commit)

    def _report(
        self, ledger: Sequence[Entry], read_paths: set[str], distinct_pairs: int, seconds: float
    ) -> None:
        """Print the summary of the corpus; raise if files failed or there are no pairs."""
        read_files = [entry for entry in ledger if entry.status == DONE]
        newly_read = [entry for entry in read_files if entry.path in read_paths]
        cores = self.engine.cores
        megabytes = sum(entry.bytes for entry in newly_read) / 1e6
        tokens = sum(entry.tokens for entry in newly_read)
        sentences = sum(entry.sentences for entry in read_files)
        if not read_files:
            plan.refuse_failed(ledger, "table amod_files", read_paths)
        lines = self._summary(
            f"corpus {self.settings.name} in {self.settings.lake}",
            {
                "files read": len(read_files),
                "files failed": sum(entry.status == FAILED for entry in ledger),
                "sentences": sentences,
                "tokens": sum(entry.tokens for entry in read_files),
                "pairs": sum(entry.pairs for entry in read_files),
                "distinct pairs": distinct_pairs,
            },
        )
        if newly_read:
            lines.append(
                f"  this run: {megabytes:,.2f} MB (stored) in {duration(seconds)}, "
                f"{megabytes / seconds:.2f} MB/s, "
                f"{tokens / seconds / cores:,.0f} tokens/s on each of {cores} cores"
            )
        print("\n".join(lines), flush=True)
        plan.refuse_failed(ledger, "table amod_files", read_paths)
        if not distinct_pairs:
            raise JobFailed(
                f"no adjective–noun pair in {count_of(sentences, 'sentence')}; "
                f"{self._reason_of_no_pairs()}"
            )

    def _reason_of_no_pairs(self) -> str:
        """What was left out, the most frequent reason first, or what is expected of the input."""
        left_out = sorted(self._dropped_rows(), key=lambda row: -row["count"])
        if not left_out and self.settings.source in RAW:
            return f"is it text in the language that {self.settings.parser} reads?"
        if not left_out:
            return f"expected relations named amod: is the input of source={self.settings.source}?"
        reasons = ", ".join(f"{row['reason']} {row['count']}" for row in left_out)
        return f"left out: {reasons}; for example {left_out[0]['sample']}"
