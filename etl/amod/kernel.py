"""Count adjective–noun pairs in blocks of parsed rows: the interface of the extraction kernel.

The wheel has the compiled kernel, and ``setup.py`` builds it if there is a C compiler.
`etl.amod.reference` defines what it counts, and replaces it where there is none, many times slower.
"""

import importlib
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import accumulate, pairwise
from operator import itemgetter
from types import ModuleType
from zlib import crc32

import pyarrow as pa

from adnominal.conf import UserError
from adnominal.etl.amod.reference import NOTES, Stats, Tally, sentences
from adnominal.etl.amod.rules import UNIVERSAL_TAGS, ReadingRules, contradicts
from adnominal.etl.corpora.dialects import DIALECTS, Dialect

BUILD_COMMAND = "python setup.py build_ext --inplace"
REMEDY = (
    "install the wheel (pip install adnominal), or a C compiler (Debian: apt-get install gcc "
    "python3-dev) and run make setup"
)
"""How to get the compiled modules."""

NO_KERNEL = f"no compiled kernel: counting is many times slower; {REMEDY}"
"""The warning of a job that counts with the reference implementation because it has to."""

PAIRS = pa.schema([("adjective", pa.string()), ("noun", pa.string()), ("count", pa.int64())])
BUCKETS = 256
"""The number of buckets; the bucket of a pair is the lowest byte of its noun's CRC-32."""


def bucket_of(noun: str) -> int:
    """The bucket, below `BUCKETS`, of the pairs with `noun`."""
    return crc32(noun.encode()) % BUCKETS


def pairs_in(count: int, buffers: Sequence[bytes]) -> pa.RecordBatch:
    """`count` pairs (schema `PAIRS`) from the buffers that a compiled counter fills.

    The buffers are offsets and letters of the adjectives, the same of the nouns, and the counts.
    """
    adjective, letters, noun, noun_letters, counts = (pa.py_buffer(buffer) for buffer in buffers)
    return pa.RecordBatch.from_arrays(
        [
            pa.Array.from_buffers(pa.string(), count, [None, adjective, letters]),
            pa.Array.from_buffers(pa.string(), count, [None, noun, noun_letters]),
            pa.Array.from_buffers(pa.int64(), count, [None, counts]),
        ],
        schema=PAIRS,
    )


def compiled_kernel() -> ModuleType | None:
    """The compiled kernel; None if it was not built."""
    try:
        return importlib.import_module("adnominal.etl.amod._kernel")
    except ImportError:
        return None


def available_implementations() -> tuple[str, ...]:
    """The available implementations of the kernel, the fastest first."""
    return ("compiled", "reference") if compiled_kernel() is not None else ("reference",)


class PairCounter:
    """Counts the pairs of one file (or range of one), fed block by block.

    dialect         a name in `etl.corpora.dialects.DIALECTS`
    rules           which relations are pairs, and by which words
    implementation  "compiled", "reference", or "auto": compiled if it was built

    Line numbers in `stats` count from the first block fed. Raises `UserError` for "compiled" if it
    was not built.
    """

    def __init__(self, dialect: str, rules: ReadingRules, implementation: str = "auto") -> None:
        self._counter: _Compiled | _Reference
        module = None if implementation == "reference" else compiled_kernel()
        if module is not None:
            self.implementation = "compiled"
            self._counter = _Compiled(module, DIALECTS[dialect], rules)
        elif implementation == "compiled":
            raise UserError(
                f"kernel=compiled: there is none here; {REMEDY}, or give kernel=reference (the "
                "same counts, many times slower)"
            )
        else:
            self.implementation = "reference"
            self._counter = _Reference(DIALECTS[dialect], rules)

    def feed(self, block: bytes | memoryview) -> None:
        """Count the pairs of a block of whole sentences (`etl.corpora.blocks`), under 4 GB."""
        self._counter.feed(block)

    @property
    def nbytes(self) -> int:
        """The memory of the pairs in bytes."""
        return self._counter.nbytes

    def drain(self) -> pa.RecordBatch:
        """The distinct pairs counted since the last drain (schema `PAIRS`), bucket by bucket.

        Empties the pairs and keeps the stats.
        """
        return self._counter.drain()[0]

    def drain_buckets(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Like `drain`, but yields the pairs of each non-empty bucket with its number."""
        pairs, ends = self._counter.drain()
        for bucket, (start, end) in enumerate(pairwise([0, *ends])):
            if end > start:
                yield bucket, pairs.slice(start, end - start)

    def stats(self) -> Stats:
        """A copy of the statistics of everything read so far, drained or not."""
        return self._counter.stats()


class _Compiled:
    def __init__(self, module: ModuleType, dialect: Dialect, rules: ReadingRules) -> None:
        def flags(xpos: str, upos: str) -> int:
            return rules.accepts_dependent(xpos, upos) | rules.accepts_head(xpos, upos) << 1

        def universal_bits(tag: str) -> int:
            return 1 << universal_tags.index(tag) if tag in universal_tags else 0

        def fitting_bits(tag: str) -> int:
            return sum(universal_bits(upos) for upos in fourth if not contradicts(tag, upos))

        universal_tags = sorted(UNIVERSAL_TAGS)
        fifth, fourth = rules.tags()
        self._counter = module.Counter(
            first_id=dialect.first_id,
            ranges=dialect.ranges,
            # Above the flags: the universal tags that fit a Penn tag, and a bit for each of them.
            penn={tag: flags(tag, "_") | fitting_bits(tag) << 2 for tag in fifth},
            universal={tag: flags("_", tag) | universal_bits(tag) << 2 for tag in fourth},
            unknown_tag=flags("_", "_"),
            adjective_by_lemma=rules.adjective_by == "lemma",
            noun_by_lemma=rules.noun_by == "lemma",
            lowercase=rules.lowercase,
        )
        self.feed = self._counter.feed

    @property
    def nbytes(self) -> int:
        return int(self._counter.nbytes)

    def drain(self) -> tuple[pa.RecordBatch, list[int]]:
        count, *buffers, ends = self._counter.drain()
        return pairs_in(count, buffers), memoryview(ends).cast("i").tolist()

    def stats(self) -> Stats:
        """The statistics of all blocks so far, with the kernel's names as those of `Stats`."""
        counts = self._counter.stats()
        for kind in ("rejected", "left_out"):
            counts[kind] = {
                reason: Tally(count, line, sample.decode("utf-8", "replace"))
                for reason, (count, line, sample) in counts[kind].items()
            }
        notes = {name: counts.pop(name) for name in NOTES}
        return Stats(**counts, notes={name: number for name, number in notes.items() if number})


class _Reference:
    """The reference implementation of the counts."""

    def __init__(self, dialect: Dialect, rules: ReadingRules) -> None:
        self._dialect, self._rules = dialect, rules
        self._counts: Counter[tuple[str, str]] = Counter()
        self._stats = Stats()

    @property
    def nbytes(self) -> int:
        return 200 * len(self._counts)

    def feed(self, block: bytes | memoryview) -> None:
        for sentence in sentences([block], self._dialect, self._rules, self._stats):
            self._counts.update(sentence.pairs)

    def drain(self) -> tuple[pa.RecordBatch, list[int]]:
        counts, self._counts = self._counts, Counter()
        rows = [(bucket_of(noun), adjective, noun, n) for (adjective, noun), n in counts.items()]
        rows.sort(key=itemgetter(0))
        sizes = Counter(bucket for bucket, *_ in rows)
        ends = list(accumulate(sizes[bucket] for bucket in range(BUCKETS)))
        columns = {name: [row[i] for row in rows] for i, name in enumerate(PAIRS.names, 1)}
        return pa.RecordBatch.from_pydict(columns, schema=PAIRS), ends

    def stats(self) -> Stats:
        return deepcopy(self._stats)
