"""Count the pairs of a list in a corpus, including zero counts, and nothing else.

The files are read in waves as in any extraction; the counts of a wave are staged, and a run that
was killed continues with the waves that are not yet staged. The sums then replace the list's rows
in ``listed_counts`` in one commit, and the counts of dropped input those in ``dropped``. There is
no ledger: a count covers all files of ``input=``.
"""

import csv
import logging
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from adnominal.conf import UserError, settings_hash
from adnominal.conf.progress import duration
from adnominal.etl.amod import adjacent, plan, reading, results, tasks
from adnominal.etl.amod.job import Extraction, checked_engine
from adnominal.etl.amod.kernel import PAIRS
from adnominal.etl.amod.list_counts import TABLE, replace_list
from adnominal.etl.amod.outcomes import Tallies, left_out_of, sum_of_tallies
from adnominal.etl.amod.plan import FAILED, Entry
from adnominal.etl.amod.reading import StagedEvents
from adnominal.etl.amod.settings import PARSED, RAW, Settings, decisive
from adnominal.etl.amod.sums import unpack
from adnominal.etl.amod.tasks import STAGED, FileUnit, Rows, recorded_faults
from adnominal.etl.amod.wave_tasks import map_shares, staged_rows, task_shares
from adnominal.etl.corpora import columnar
from adnominal.etl.corpora.columnar import Texts
from adnominal.etl.corpora.documents import EVERY_DOCUMENT, Document, Event, normal_form
from adnominal.etl.corpora.files import Unit
from adnominal.etl.corpora.inputs import InputFile
from adnominal.etl.engine import Engine, map_arrow
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import TABLES

Pairs = Sequence[tuple[str, str]]

MOST_PAIRS = 10_000_000  # about 2 GB with their counts, in each worker

_TEXT_LINE = re.compile(rb"^(?:# text =|>>>>>\t)(.*)$", re.MULTILINE)

log = logging.getLogger("adnominal")


def count_list(settings: Settings, files: Sequence[InputFile]) -> None:
    """Count the pairs of ``pairs=`` in `files`: the job if that setting is given.

    Raises:
        UserError: the list cannot be read, or has members that adjacent=true cannot count.
        JobFailed: files that could not be read.
    """
    pairs = read_list(settings)
    if settings.adjacent:
        adjacent.check_words(pairs, settings.lowercase)
    Listing(checked_engine(settings, files), settings, pairs).run(files)


# ---------------------------------------------------------------------------------- the list


def read_list(settings: Settings) -> list[tuple[str, str]]:
    """The distinct pairs of ``pairs=``, sorted, in lower case if the rules require it.

    For plain text they are in Unicode normal form C, like its documents.

    Raises:
        UserError: no such file or table; a line without two columns; no pair, or too many.
    """
    name = str(settings.pairs)
    if name in TABLES:
        members = _from_table(settings, name)
    else:
        members = _from_file(Path(name))
        if settings.where:
            raise UserError(f"where= needs a table of the lake; pairs={name} is a file")
    if settings.source in RAW:
        members = [(normal_form(adjective), normal_form(noun)) for adjective, noun in members]
    if settings.lowercase:
        members = [(adjective.lower(), noun.lower()) for adjective, noun in members]
    pairs = sorted(set(members))
    if not pairs or len(pairs) > MOST_PAIRS:
        raise UserError(f"pairs={name}: {len(pairs)} pairs; expected 1 to {MOST_PAIRS:_}")
    return pairs


def _from_table(settings: Settings, name: str) -> list[tuple[str, str]]:
    known = TABLES[name].schema.names
    if not {"adjective", "noun"} <= set(known):
        raise UserError(f"pairs={name}: the table has no columns adjective and noun")
    condition = f" WHERE {settings.where}" if settings.where else ""
    sql = f"SELECT DISTINCT adjective, noun FROM {name}{condition}"
    return [(row["adjective"], row["noun"]) for row in arrow.records(settings.lake, name, sql)]


def _from_file(path: Path) -> list[tuple[str, str]]:
    pairs = []
    number = 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            for number, row in enumerate(
                csv.reader(stream, "excel-tab", quoting=csv.QUOTE_NONE), 1
            ):
                words = [cell.strip() for cell in row]
                header = number == 1 and [word.lower() for word in words[:2]]
                if not any(words) or header == ["adjective", "noun"]:
                    continue
                if len(words) < 2 or not words[0] or not words[1]:
                    raise UserError(
                        f"pairs={path}, line {number}: got {chr(9).join(row)!r}; expected an "
                        "adjective and a noun separated by a tab"
                    )
                pairs.append((words[0], words[1]))
    except OSError as error:
        raise UserError(
            f"pairs={path}: {error.strerror or error}; expected a TSV file, or a table of the lake"
        ) from error
    except UnicodeDecodeError as error:
        raise UserError(f"pairs={path}: not in UTF-8 ({error})") from error
    except csv.Error as error:
        raise UserError(
            f"pairs={path}, line {number + 1}: {error}; expected an adjective and a "
            "noun parted by a tab"
        ) from error
    return pairs


# ---------------------------------------------------------------------------------- the tasks


def only_listed(batches: Iterable[pa.RecordBatch], pairs: Pairs) -> Iterator[pa.RecordBatch]:
    """Staged rows with only the pairs of the list, one pair per row."""
    listed_keys = pa.array([f"{adjective}\0{noun}" for adjective, noun in pairs])
    for batch in batches:
        is_pair = pc.is_in(batch.column("kind"), pa.array(["pair", "pairs"]))
        other_rows = batch.filter(pc.invert(is_pair))
        if other_rows.num_rows:
            yield other_rows
        for row in batch.filter(is_pair).to_pylist():
            if row["packed"] is None:
                staged_pairs = pa.table([[row[name]] for name in PAIRS.names], schema=PAIRS)
            else:
                staged_pairs = pa.Table.from_batches(
                    unpack(pa.array([row["packed"]])), schema=PAIRS
                )
            keys = pc.binary_join_element_wise(
                staged_pairs["adjective"], staged_pairs["noun"], "\0"
            )
            rows = Rows()
            for pair in staged_pairs.filter(pc.is_in(keys, listed_keys)).to_pylist():
                rows.add("pair", row["file"], digest=row["digest"], **pair)
            yield from rows.take()


def count_neighbours(
    units: Iterable[FileUnit], settings: Settings, pairs: Pairs
) -> Iterator[pa.RecordBatch]:
    """Count the listed pairs that are neighbours in the text; yield staged rows."""
    for file, unit in units:
        counter = adjacent.AdjacentCounter(pairs, settings.rules.lowercase, settings.kernel)
        staged = StagedEvents(file)
        with recorded_faults(staged.rows, file, unit):
            if settings.source in PARSED:
                for sentence in _sentence_texts(unit, settings):
                    counter.feed(sentence)
                    staged.documents += 1
            else:
                for event in _other_events(unit, settings, counter, staged):
                    staged.note(event)
                    if isinstance(event, Document):
                        counter.feed(event.text)
                    yield from staged.rows.full()
        for (adjective, noun), count in zip(pairs, counter.counts(), strict=True):
            if count:
                staged.rows.add("pair", file, adjective=adjective, noun=noun, count=count)
        yield from staged.rest()


def _other_events(
    unit: Unit, settings: Settings, counter: adjacent.AdjacentCounter, staged: StagedEvents
) -> Iterator[Event]:
    """What a unit holds, without the rows of Arrow arrays that are counted here as they stand."""
    is_filtered = settings.document_filter != EVERY_DOCUMENT

    def uncounted() -> Iterator[Event | Texts]:
        """The events without the rows that are counted directly."""
        for event in reading.events(unit, settings):
            if isinstance(event, Texts):
                event, faults = columnar.valid_rows(event)
                yield from faults
                if not is_filtered and not pc.any(pc.match_substring(event.ids, "\0")).as_py():
                    remaining = counter.feed_texts(event.texts)
                    staged.documents += len(event.texts) - len(remaining)
                    event = event.take(remaining)
            yield event

    return reading.single_events(uncounted(), settings)


def _sentence_texts(unit: Unit, settings: Settings) -> Iterator[str]:
    """The sentences as written: the text after ``# text =`` (``>>>>>`` in the flat layout)."""
    with tasks.parsed_blocks(unit, settings.source) as (_, blocks):
        for block in blocks:
            for line in _TEXT_LINE.finditer(block):
                yield line[1].decode("utf-8", "replace")


# ---------------------------------------------------------------------------------- the job


class Listing(Extraction):
    """A count of one list in one corpus; `run` does what remains to be done."""

    def __init__(self, engine: Engine, settings: Settings, pairs: Pairs) -> None:
        super().__init__(engine, settings)
        self.pairs = pairs
        self.list_name = settings.counted_list
        # The two ways of counting a list have separate counts and separate drops.
        self.column = "adjacent" if settings.adjacent else "amod"
        self.corpus.job = f"{self.corpus.job}/{self.list_name}/{self.column}"
        metadata = {"corpus": settings.name, "list": self.list_name}
        self.commit = {"job": self.corpus.job, "metadata": metadata}

    def run(self, files: Sequence[InputFile]) -> None:
        """Count, replace the list's rows and report.

        Raises:
            JobFailed: files failed; if all did, nothing is replaced.
        """
        started = time.monotonic()
        settings = self.settings
        content = {
            "settings": decisive(settings),
            "pairs": [list(pair) for pair in self.pairs],
            "adjacent": settings.adjacent,
            "files": [(file.path, file.bytes, file.modified.isoformat()) for file in files],
        }
        self.corpus.app = f"{self.corpus.job}/{settings_hash(content)}"
        base = self.lake.version(TABLE)
        waves = plan.pending(plan.plan([], files, settings.wave_bytes))
        counts: Counter[tuple[str, str]] = Counter()
        left_out: Tallies = {}
        ledger: list[Entry] = []
        for number, entries in waves:
            outcomes, wave_counts, wave_left_out = self._count_wave(number, entries, len(waves))
            ledger += outcomes
            counts += wave_counts
            left_out = sum_of_tallies(left_out, wave_left_out)
        if all(entry.status == FAILED for entry in ledger):
            # Zeros must not replace the counts of an earlier run if nothing was read.
            self.corpus.staging.forget_all()
            plan.refuse_failed(ledger, "not listed here", {entry.path for entry in ledger})
        of_list = {pair: counts[pair] for pair in self.pairs}
        replace_list(
            settings.lake,
            settings.name,
            self.list_name,
            of_list,
            self.column,
            base=base,
            **self.commit,
        )
        # Replaced as a whole, like the counts: a run that was killed before this repeats both.
        if left_out or self._left_out():
            self._replace_left_out(left_out, self.commit)
        self.corpus.staging.forget_all()
        self._report_list(counts, ledger, time.monotonic() - started)

    def _count_wave(
        self, number: int, entries: Sequence[Entry], waves: int
    ) -> tuple[list[Entry], Counter[tuple[str, str]], Tallies]:
        """The outcomes of a wave's files, its counts, and its dropped input."""
        label = f"wave {number + 1} of {waves}"
        staged_rows = self._staged_rows_of_wave(number, entries, label)
        outcomes, statements, good_rows = self._outcomes(entries, staged_rows)
        pairs = results.kind(good_rows, "pair")
        summed = pairs.groupBy("adjective", "noun").agg(F.sum("count").alias("count")).collect()
        counts = Counter({(row["adjective"], row["noun"]): row["count"] for row in summed})
        return outcomes, counts, left_out_of(outcomes, statements, TABLE)

    def _staged_rows(self, entries: Sequence[Entry]) -> DataFrame:
        if self.settings.adjacent:
            shares = task_shares(self.engine, self.settings, entries)
            count = partial(count_neighbours, pairs=self.pairs)
            return map_shares(self.engine, shares, count, self.settings)
        rows = staged_rows(self.engine, self.settings, entries)
        return map_arrow(rows, partial(only_listed, pairs=self.pairs), from_arrow_schema(STAGED))

    def _report_list(
        self, counts: Counter[tuple[str, str]], ledger: Sequence[Entry], seconds: float
    ) -> None:
        megabytes = sum(entry.bytes for entry in ledger) / 1e6
        lines = self._summary(
            f"list {self.list_name} in corpus {self.settings.name} of {self.settings.lake}",
            {
                "files read": sum(entry.status != FAILED for entry in ledger),
                "pairs of the list": len(self.pairs),
                "of them occurring": sum(count > 0 for count in counts.values()),
                "occurrences": counts.total(),
            },
        )
        lines.append(f"  this run: {megabytes:_.2f} MB (stored) in {duration(seconds)}")
        print("\n".join(lines), flush=True)
        plan.refuse_failed(ledger, "not listed here", {entry.path for entry in ledger})
