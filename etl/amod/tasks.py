"""The work of one Spark task: units of input in, staged rows out, no other effects.

All results of a task are rows of `STAGED`: pairs, statistics, rejected lines, documents, examples
and sentences. Staged rows carry the number of their file within the wave, since a file that turns
out to be truncated or too damaged is not counted, however much of it was read before. Sums are
computed from storage, never from accumulators, which count twice when a task is retried.
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import blake2b, sha256
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from adnominal.conf import UserError
from adnominal.etl.amod.columns import occurrences
from adnominal.etl.amod.kernel import PairCounter
from adnominal.etl.amod.reference import COLUMN_HEADERS, Sentence, Stats, Tally, sentences
from adnominal.etl.amod.relations import RelationCounter
from adnominal.etl.amod.settings import Settings
from adnominal.etl.amod.sums import pack
from adnominal.etl.corpora.blocks import NoBoundary, Stream, blocks
from adnominal.etl.corpora.contents import HEAD_BYTES, SOURCE_OF
from adnominal.etl.corpora.dialects import (
    Dialect,
    UnknownDialect,
    blocks_in_usual_order,
    column_order,
    detect,
    in_usual_order,
)
from adnominal.etl.corpora.files import Unit, Unreadable, open_input
from adnominal.etl.engine import progress
from adnominal.etl.parsing import load_parser, sparknlp_parser
from adnominal.etl.parsing.fast.counting import TextCounter
from adnominal.etl.parsing.tokens import Parsed

STAGED = pa.schema(
    [
        ("kind", pa.string()),  # pair, pairs, stat, rejected, left_out, failed, document, …
        ("file", pa.int32()),  # number of the file within its wave
        ("adjective", pa.string()),
        ("noun", pa.string()),
        ("count", pa.int64()),
        ("digest", pa.binary()),  # of the sentence or document, if duplicates are dropped
        ("reason", pa.string()),  # of a rejection; name of a statistic
        ("text", pa.string()),  # sample, sentence or document text; of kind raw: path of the file
        ("document", pa.string()),  # its name; of kind raw: the id of the row, if any
        ("place", pa.int64()),  # line or row in the file, or sentence in the document
        ("bucket", pa.int32()),  # of kind pairs: that of their nouns (`etl.amod.kernel.BUCKETS`)
        # of kind pairs: thousands of them (`etl.amod.sums`); of kind raw: the text
        ("packed", pa.binary()),
    ]
)
CHARACTERS_AT_ONCE = 1 << 20  # of text given to the parser at once
ROWS_AT_ONCE = 4096

FileUnit: TypeAlias = tuple[int, Unit]
"""The number of a file within the wave, and a unit of that file."""

log = logging.getLogger("adnominal")


class Rows:
    """Collects staged rows in Python: for hundreds of rows, not for millions."""

    def __init__(self) -> None:
        self._columns: dict[str, list[Any]] = {name: [] for name in STAGED.names}
        self.characters = 0  # of text held

    def __len__(self) -> int:
        return len(self._columns["kind"])

    def add(self, kind: str, file: int, **values: Any) -> None:
        """Add one row; columns that are not given are null."""
        for name, column in self._columns.items():
            column.append(values.get(name))
        self._columns["kind"][-1] = kind
        self._columns["file"][-1] = file
        self.characters += len(values.get("text") or "")

    def take(self) -> Iterator[pa.RecordBatch]:
        """Yield the collected rows as one batch, and clear them."""
        if len(self):
            yield pa.RecordBatch.from_pydict(self._columns, schema=STAGED)
            self._columns = {name: [] for name in STAGED.names}
            self.characters = 0

    def take_if_full(self) -> Iterator[pa.RecordBatch]:
        """`take`, if there are enough rows for a batch."""
        if len(self) >= ROWS_AT_ONCE or self.characters >= CHARACTERS_AT_ONCE:
            yield from self.take()


@contextmanager
def recorded_faults(
    rows: Rows, file: int, unit: Unit, also: type[Exception] = Unreadable
) -> Iterator[None]:
    """Add a ``failed`` row if the file cannot be read; report the unit to the progress line.

    `also` is a further exception that means that the file cannot be read.
    """
    with progress.unit_in_work(unit.start, unit.end):
        try:
            yield
        except (Unreadable, UnknownDialect, NoBoundary, also) as error:
            reason = error.reason if isinstance(error, Unreadable) else str(error)
            rows.add("failed", file, reason=reason)


def add_pairs(rows: Rows, file: int, counter: PairCounter | TextCounter) -> None:
    """Drain the counts of `file` from `counter` into staged rows of packed pairs."""
    for bucket, pairs in counter.drain_buckets():
        for packed in pack(pairs):
            rows.add("pairs", file, bucket=bucket, packed=packed)


def add_stats(rows: Rows, file: int, stats: Stats, start: int = 0) -> None:
    """Add the statistics of a file, or of its part from byte `start` on, as staged rows.

    Lines are counted from where reading began, so only those of a first part have an editor's line
    numbers.
    """
    for name in ("lines", "sentences", "tokens", "amod", "pairs"):
        rows.add("stat", file, reason=name, count=getattr(stats, name))
    for kind, tallies in (("rejected", stats.rejected), ("left_out", stats.left_out)):
        for reason, (number, line, sample) in tallies.items():
            place = line if line and not start else None
            if start:
                sample = f"{line} lines after byte {start}: {sample}"
            rows.add(kind, file, reason=reason, count=number, place=place, text=sample)
    for reason, number in stats.notes.items():
        rows.add("stat", file, reason=reason, count=number)


class Gathered:
    """Collects pairs, examples and sentences of sentences that are read one by one.

    Memory is bounded by `Settings.memory_bytes`: when it `is_full`, the caller takes partial sums,
    and more example candidates than needed.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._rows = Rows()
        self._counts: Counter[tuple[int, bytes | None, str, str]] = Counter()
        # (file, adjective, noun) -> rank -> (document, sentence)
        self._examples: dict[tuple[int, str, str], dict[bytes, tuple[str, str]]] = {}
        self._counted_texts: set[tuple[int, bytes]] = set()
        self._text_is_repeated = False  # whether the current text was added before
        self._memory_used = 0

    def add(
        self, file: int, sentence: Sentence, place: int, digest: bytes | None, begins: bool
    ) -> None:
        """Add a sentence, the `place`-th of its document.

        `digest` identifies the text that is counted once, the sentence or its document, and
        `begins` says that the sentence is the first of that text. Add all of a text before calling
        `take`, so that its pairs stay together.
        """
        settings = self._settings
        if digest is not None and begins:
            self._rows.add("digest", file, digest=digest, count=1)
            self._text_is_repeated = (file, digest) in self._counted_texts
            self._counted_texts.add((file, digest))
            self._memory_used += 400
        if settings.keep_text:
            self._rows.add(
                "sentence",
                file,
                document=sentence.document,
                place=place,
                text=sentence.text,
                digest=digest,
            )
            self._memory_used += 200 + len(sentence.text) + len(sentence.document)
        for adjective, noun in () if self._text_is_repeated else sentence.pairs:
            key = (file, digest, adjective, noun)
            if key not in self._counts:
                self._memory_used += 300
            self._counts[key] += 1
            if settings.examples:
                self._example(file, adjective, noun, sentence)

    def _example(self, file: int, adjective: str, noun: str, sentence: Sentence) -> None:
        """Offer a sentence as an example of a pair; `Settings.examples` of them are kept."""
        # The sentences with the lowest hashes: the same choice for any order of reading.
        # `etl.amod.results.examples_of` ranks by the same hash; of documents that share a sentence,
        # both keep the first by name.
        content = "\u0001".join((str(self._settings.seed), adjective, noun, sentence.text))
        rank = sha256(content.encode()).digest()
        by_rank = self._examples.setdefault((file, adjective, noun), {})
        if rank in by_rank:
            by_rank[rank] = min(by_rank[rank], (sentence.document, sentence.text))
            return
        if len(by_rank) == self._settings.examples:
            last = max(by_rank)
            if rank > last:
                return
            self._memory_used -= 300 + len(by_rank.pop(last)[1])
        by_rank[rank] = (sentence.document, sentence.text)
        self._memory_used += 300 + len(sentence.text)

    @property
    def is_full(self) -> bool:
        """Whether the memory limit is reached."""
        return self._memory_used >= self._settings.memory_bytes

    def take(self) -> Iterator[pa.RecordBatch]:
        """Yield the collected results as staged rows, and clear them."""
        rows = self._rows
        for (file, digest, adjective, noun), count in self._counts.items():
            rows.add("pair", file, adjective=adjective, noun=noun, count=count, digest=digest)
        for (file, adjective, noun), examples in self._examples.items():
            for document, sentence in examples.values():
                pair = {"adjective": adjective, "noun": noun}
                rows.add("example", file, **pair, text=sentence, document=document)
        yield from rows.take()
        self._counts, self._examples, self._counted_texts = Counter(), {}, set()
        self._text_is_repeated, self._memory_used = False, 0


def digest_of(content: bytes) -> bytes:
    """BLAKE2b-128 digest (for 14 billion sentences the chance of a collision is 1e-19)."""
    return blake2b(content, digest_size=16).digest()


# ------------------------------------------------------------------------- pre-parsed corpora


def count_units(units: Iterable[FileUnit], settings: Settings) -> Iterator[pa.RecordBatch]:
    """Count units of a parsed corpus; yield staged pairs, statistics and rejected lines.

    A file that cannot be read, or is not in the layout of the source, makes a ``failed`` row.
    """
    for file, unit in units:
        rows = Rows()
        # A `UserError`: for example, the compiled kernel cannot be loaded here.
        with recorded_faults(rows, file, unit, also=UserError):
            further = RelationCounter(settings.rules, settings.further_relations)
            yield from _count_unit(file, unit, settings, rows, further)
            for (relation, dependent, head), count in sorted(further.counts.items()):
                pair = {"adjective": dependent, "noun": head}
                rows.add("relation", file, reason=relation, **pair, count=count)
                yield from rows.take_if_full()
        yield from rows.take()


def _count_unit(
    file: int, unit: Unit, settings: Settings, rows: Rows, further: RelationCounter
) -> Iterator[pa.RecordBatch]:
    """Yield the staged rows of a unit of a parsed corpus, by the kernel or by sentences.

    The kernel only counts. Where sentences are needed (for examples, texts or deduplication), the
    reference reads them one by one.
    """
    with parsed_blocks(unit, settings.source) as (dialect, stored_blocks):
        pieces = further.watch(stored_blocks, dialect)
        if settings.by_sentence:
            yield from _gather_sentences(file, unit, pieces, dialect, settings, rows)
            return
        counter = PairCounter(dialect.name, settings.rules, settings.kernel)
        log.info("%s: %s kernel", unit.path, counter.implementation)
        for block in pieces:
            counter.feed(block)
            if counter.nbytes > settings.memory_bytes:
                add_pairs(rows, file, counter)
                yield from rows.take()
        add_pairs(rows, file, counter)
        stats = counter.stats()
        _check_later_columns(unit, stats)
        add_stats(rows, file, stats, unit.start)
        rows.add("stat", file, reason=f"kernel_{counter.implementation}", count=1)


@contextmanager
def parsed_blocks(unit: Unit, source: str) -> Iterator[tuple[Dialect, Iterator[memoryview]]]:
    """The dialect of a unit's file, and its blocks; raises `UnknownDialect` if source= differs."""
    with open_input(unit.path) as stream:
        head = stream.peek(HEAD_BYTES)[:HEAD_BYTES]
        order = column_order(head)
        if order is not None:
            head = in_usual_order(head, order)
        try:
            dialect = detect(head)
        except UnknownDialect as error:
            if order is None:
                raise
            raise UnknownDialect(
                f"no row of the {order.width} columns that # global.columns names"
            ) from error
        if SOURCE_OF[dialect.name] != source:
            raise UnknownDialect(
                f"the file is in the layout {dialect.name}, which source={source} does not read; "
                f"write source={SOURCE_OF[dialect.name]}"
            )
        stored_blocks = _blocks_of(unit, stream)
        if order is not None:
            stored_blocks = blocks_in_usual_order(stored_blocks, order)
        yield dialect, stored_blocks


def _blocks_of(unit: Unit, stream: Stream) -> Iterator[memoryview]:
    end = None if unit.end >= unit.bytes else unit.end
    return blocks(stream, start=unit.start, end=end)


def _check_later_columns(unit: Unit, stats: Stats) -> None:
    """Raise `UnknownDialect` if a unit was read in the usual order, but names other columns.

    Only units in which `stats` counted a header are searched, once more: to search each one for it
    takes a fifth of the time of counting.
    """
    if not stats.notes.get(COLUMN_HEADERS):
        return
    with open_input(unit.path) as stream:
        if column_order(stream.peek(HEAD_BYTES)[:HEAD_BYTES]) is None:
            for _ in blocks_in_usual_order(_blocks_of(unit, stream), None):
                pass


def _gather_sentences(
    file: int,
    unit: Unit,
    pieces: Iterable[memoryview],
    dialect: Dialect,
    settings: Settings,
    rows: Rows,
) -> Iterator[pa.RecordBatch]:
    """Yield staged rows of a unit that is read sentence by sentence, and add its statistics.

    The digest identifies the text of which copies count once: a document, a sentence, or none.
    """
    stats = Stats()
    gatherer = Gathered(settings)
    by_document = settings.deduplicate == "document"
    for document in _documents(sentences(pieces, dialect, settings.rules, stats)):
        digest = None
        if by_document:
            digest = digest_of(b"\n\n".join(sentence.content_key for sentence in document))
        for place, sentence in enumerate(document):
            if settings.deduplicate == "sentence":
                digest = digest_of(sentence.content_key)
            begins_text = not by_document or place == 0
            gatherer.add(file, sentence, place, digest, begins_text)
        if gatherer.is_full:
            yield from gatherer.take()
    yield from gatherer.take()
    _check_later_columns(unit, stats)
    add_stats(rows, file, stats, unit.start)


def _documents(sentences: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    """Runs of sentences of one document; sentences without a document are runs of one."""
    for (name, _), run in groupby(sentences, key=attrgetter("document", "newdocs")):
        if name:
            yield list(run)
        else:
            for sentence in run:
                yield [sentence]


# ---------------------------------------------------------------------- corpora of plain text


def parse_documents(
    batches: Iterable[pa.RecordBatch], settings: Settings
) -> Iterator[pa.RecordBatch]:
    """Parse staged documents into staged pairs and statistics; other rows pass unchanged."""
    texts = _Texts(settings)
    waiting: list[_Text] = []
    characters = 0
    for batch in batches:
        is_document = pc.equal(batch.column("kind"), "document")
        other_rows = batch.filter(pc.invert(is_document))
        if other_rows.num_rows:
            yield other_rows
        for entry in _texts_of(batch.filter(is_document)):
            waiting.append(entry)
            characters += len(entry.text)
            if characters >= CHARACTERS_AT_ONCE:
                yield from texts.parse(waiting)
                waiting, characters = [], 0
    yield from texts.parse(waiting)
    yield from texts.rest()


def take_annotated(
    batches: Iterable[pa.RecordBatch], settings: Settings
) -> Iterator[pa.RecordBatch]:
    """Turn documents that Spark NLP has parsed into staged pairs and statistics.

    `batches` have the columns of `STAGED` and those of `sparknlp_parser.with_tokens`; a document
    whose annotations are not parallel is rejected.
    """
    texts = _Texts(settings)
    for batch in batches:
        is_parsed = pc.is_valid(batch.column("tokens"))
        good = batch.filter(is_parsed)
        texts.add(sparknlp_parser.to_parsed(good), _texts_of(good))
        yield from texts.take_if_full()
        for entry in _texts_of(batch.filter(pc.invert(is_parsed))):
            texts.reject(entry, "annotations_not_parallel")
    yield from texts.rest()


class _Text(NamedTuple):
    file: int
    id: str
    text: str


def _texts_of(batch: pa.RecordBatch) -> list[_Text]:
    columns = batch.select(["file", "document", "text"]).to_pydict().values()
    return [_Text(*entry) for entry in zip(*columns, strict=True)]


class _Texts:
    """Parses documents of plain text and collects the results up to the memory limit."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._gathered = Gathered(settings)
        self._stats: defaultdict[int, Stats] = defaultdict(Stats)  # by file

    def parse(self, documents: list[_Text]) -> Iterator[pa.RecordBatch]:
        """Parse `documents` with the task's parser and collect their results."""
        if not documents:
            return
        settings = self._settings
        parser = load_parser(settings.text_parser, settings.parser_model, settings.parser_language)
        # A document has one paragraph per line; parsers separate paragraphs by blank lines.
        for parsed in parser.parse(entry.text.replace("\n", "\n\n") for entry in documents):
            self.add(parsed, documents)
        yield from self.take_if_full()

    def add(self, parsed: Parsed, documents: list[_Text]) -> None:
        """Collect the results of parsed sentences, whose ordinals refer to `documents`."""
        for entry in pc.value_counts(parsed.tokens.column("document")).to_pylist():
            self._stats[documents[entry["values"]].file].tokens += entry["counts"]
        by_sentence: dict[tuple[int, int], list[tuple[str, str]]] = {}
        for row in occurrences(parsed.tokens, self._settings.rules).to_pylist():
            stats = self._stats[documents[row["document"]].file]
            stats.amod += 1
            if row["left_out"] is None:
                stats.pairs += 1
                key = (row["document"], row["sentence"])
                by_sentence.setdefault(key, []).append((row["adjective"], row["noun"]))
            else:
                sample = f"{row['adjective']} {row['noun'] or '?'}"
                _count_sample(stats.left_out, row["left_out"], sample)
        rows = parsed.sentences.to_pydict().values()
        deduplicate = self._settings.deduplicate
        digests: dict[int, bytes] = {}  # of documents, by ordinal
        if deduplicate == "document":
            for ordinal in pc.unique(parsed.sentences.column("document")).to_pylist():
                digests[ordinal] = digest_of(documents[ordinal].text.encode())
        for ordinal, place, sentence in zip(*rows, strict=True):
            document = documents[ordinal]
            self._stats[document.file].sentences += 1
            pairs = by_sentence.get((ordinal, place), [])
            if not pairs and not self._settings.by_sentence:
                continue
            digest = digests.get(ordinal)
            if deduplicate == "sentence":
                digest = digest_of(sentence.encode())
            begins = deduplicate == "sentence" or place == 0
            read = Sentence(document.id, sentence, b"", pairs)
            self._gathered.add(document.file, read, place, digest, begins)

    def take_if_full(self) -> Iterator[pa.RecordBatch]:
        """The collected results, if the memory limit is reached."""
        if self._gathered.is_full:
            yield from self._gathered.take()

    def reject(self, document: _Text, reason: str) -> None:
        """Count a document as rejected."""
        _count_sample(self._stats[document.file].rejected, reason, document.id)

    def rest(self) -> Iterator[pa.RecordBatch]:
        """The remaining results and the statistics."""
        yield from self._gathered.take()
        rows = Rows()
        for file, stats in self._stats.items():
            add_stats(rows, file, stats)
        yield from rows.take()


def _count_sample(tallies: dict[str, Tally], reason: str, sample: str) -> None:
    """Count one sample; keep the first in alphabetical order."""
    number, _, first = tallies.get(reason, (0, 0, sample))
    tallies[reason] = Tally(number + 1, 0, min(sample, first))
