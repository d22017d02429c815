"""The words of the pairs: their frequencies, files and completions.

The lists are made once per version of the tables, from two columns, and stored in a cache folder. A
server holds only the words in memory, never the pairs.
"""

import bisect
import difflib
import hashlib
import json
import logging
import os
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from adnominal.etl.lake import arrow
from adnominal.etl.lake.lookup import SortedFiles, as_dictionary
from adnominal.etl.lake.storage import table_uri

log = logging.getLogger("adnominal")

ROLES = ("noun", "adjective")
CACHE = "~/.cache/adnominal/explore"
"""The folder for the lists of words, unless another one is given."""

TABLES: Mapping[str, str] = {"noun": "amod_association", "adjective": "amod_by_adjective"}
"""The table that is sorted by the word of a role."""

_MOST = 2_000_000  # the most frequent words that are kept, per role and corpus
_NEAR = 100_000  # the most frequent words that are searched for similar spellings
_PATHS = pa.dictionary(pa.int32(), pa.string())
_SCHEMA = pa.schema(
    [("corpus", pa.string()), ("word", pa.string()), ("count", pa.int64()), ("file", _PATHS)]
)
_SUGGESTIONS = pa.schema([("word", pa.string()), ("count", pa.int64())])
_TOTALS = b"adnominal.totals"  # metadata key: the total count of all words of each corpus
_FORMAT = 2  # format of stored lists; lists in another format are rebuilt


@dataclass(frozen=True)
class Suggestion:
    """A word with the sum of its counts in the corpora."""

    word: str
    count: int


@dataclass(frozen=True)
class _Corpus:
    """The words of a corpus, sorted, with their counts and the numbers of their files."""

    words: pa.StringArray
    counts: np.ndarray[tuple[int], np.dtype[np.int64]]
    files: np.ndarray[tuple[int], np.dtype[np.int32]]
    paths: Sequence[str]

    def place(self, word: str) -> int | None:
        position = bisect.bisect_left(_Texts(self.words), word.encode())
        in_range = position < len(self.words)
        return position if in_range and self.words[position].as_py() == word else None

    def beginning(self, prefix: str) -> range:
        texts = _Texts(self.words)
        low = bisect.bisect_left(texts, prefix.encode())
        # UTF-8 text never contains the byte 255.
        return range(low, bisect.bisect_left(texts, prefix.encode() + b"\xff", lo=low))


class _Texts(Sequence[bytes]):
    """An Arrow array as a sequence of bytes objects, which is the order it is sorted in."""

    def __init__(self, words: pa.StringArray) -> None:
        self._words = words

    def __len__(self) -> int:
        return len(self._words)

    def __getitem__(self, place: int) -> bytes:  # type: ignore[override]
        return bytes(self._words[place].as_buffer())


class Words:
    """The words of one role (`ROLES`) in all corpora."""

    def __init__(self, table: pa.Table) -> None:
        """`table` has one row per corpus and word, sorted by both (see `words_of`)."""
        self._totals: dict[str, int] = json.loads((table.schema.metadata or {})[_TOTALS])
        self.corpora: dict[str, _Corpus] = {}
        for corpus in table.column("corpus").unique().to_pylist():
            rows = table.filter(pc.equal(table.column("corpus"), corpus))
            files = as_dictionary(rows.column("file"))
            self.corpora[corpus] = _Corpus(
                rows.column("word").combine_chunks(),
                rows.column("count").to_numpy(),
                files.indices.to_numpy(),
                files.dictionary.to_pylist(),
            )

    def count(self, corpus: str, word: str) -> int:
        """The number of pairs with the word in the corpus; 0 for none."""
        count, _ = self._entry(corpus, word)
        return count

    def total(self, corpus: str) -> int:
        """The total number of pairs in the corpus; 0 for an unknown corpus."""
        return self._totals.get(corpus, 0)

    def file(self, corpus: str, word: str) -> str | None:
        """The path of the file with the word's rows; None if the word is not in the list."""
        _, path = self._entry(corpus, word)
        return path

    def _entry(self, corpus: str, word: str) -> tuple[int, str | None]:
        """The count and the file of a word."""
        words = self.corpora.get(corpus)
        if words is None or (place := words.place(word)) is None:
            return 0, None
        return int(words.counts[place]), words.paths[words.files[place]]

    def complete(self, corpus: str) -> bool:
        """Whether the list has all words of the corpus."""
        return corpus not in self.corpora or len(self.corpora[corpus].words) < _MOST

    def beginning(self, prefix: str, most: int) -> list[Suggestion]:
        """Words that begin with `prefix`, the most frequent first."""
        parts = [_SUGGESTIONS.empty_table()]
        for corpus in self.corpora.values():
            places = corpus.beginning(prefix)
            words = corpus.words.slice(places.start, len(places))
            counts = corpus.counts[places.start : places.stop]
            parts.append(pa.table([words, counts], schema=_SUGGESTIONS))
        rows = pa.concat_tables(parts)
        if len(self.corpora) > 1:
            rows = rows.group_by("word").aggregate([("count", "sum")])
            rows = rows.rename_columns(["word", "count"])
        if not rows.num_rows:  # select_k cannot choose among none
            return []
        order = [("count", "descending"), ("word", "ascending")]
        best = pc.select_k_unstable(rows, k=most, sort_keys=order)
        return [Suggestion(**row) for row in rows.take(best).to_pylist()]

    def nearest_words(self, word: str) -> list[str]:
        """The five known words with the most similar spelling to `word`, nearest first."""
        word = unicodedata.normalize("NFC", word).lower()
        similar_words = [
            one
            for one in self._spelling_candidates
            if abs(len(one) - len(word)) <= 2 and (set(one[:2]) & set(word[:2]))
        ]
        return difflib.get_close_matches(word, similar_words, n=5, cutoff=0.6)

    @cached_property
    def _spelling_candidates(self) -> list[str]:
        """The most frequent words of each corpus, without duplicates."""
        words: dict[str, None] = {}
        for corpus in self.corpora.values():
            best = np.argsort(-corpus.counts, kind="stable")[:_NEAR]
            words.update(dict.fromkeys(corpus.words.take(pa.array(best)).to_pylist()))
        return list(words)


def _words_by_file(root: str, role: str) -> Iterator[pa.Table]:
    """The distinct words of each file with their counts (schema `_SCHEMA`), sorted.

    A file is sorted by its words, and each of its row groups yields its own words once. So the
    words of a file are those of its row groups in a row, but for a word that ends one row group and
    begins the next, which comes twice.
    """
    table = TABLES[role]
    sorted_files = SortedFiles(root, table, role, [])
    for file in arrow.files(root, table):
        row_groups = list(sorted_files.words(file.path, f"{role}_count"))
        if not row_groups:
            continue
        words = pa.concat_arrays([words for words, _ in row_groups])
        counts = pa.concat_arrays([counts for _, counts in row_groups])
        is_first = _differs_from_previous(words)
        words, counts = words.filter(is_first), counts.filter(is_first)
        corpus = pa.repeat(dict(file.partition)["corpus"], len(words))
        path = pa.repeat(file.path, len(words)).dictionary_encode()
        yield pa.table([corpus, words, counts, path], schema=_SCHEMA)


def _differs_from_previous(words: pa.StringArray) -> pa.BooleanArray:
    """Whether each word differs from the one before it; true for the first."""
    changes = pc.not_equal(words[1:], words[:-1])
    return pa.concat_arrays([pa.array([True]), changes])


def words_of(root: str, role: str, cache: Path) -> Words:
    """The words of a role, from the cache folder if it has them for this version of the table.

    Raises:
        LakeError: the table of the role does not exist or cannot be read.
    """
    table = TABLES[role]
    files = [file.path for file in arrow.files(root, table)]
    made_of = [str(_FORMAT), table_uri(root, table), *sorted(files)]
    key = hashlib.sha256("\n".join(made_of).encode()).hexdigest()
    stored = cache / f"{role}s-{key[:16]}.parquet"
    cached = _read_stored_list(stored)
    if cached is not None:
        return Words(cached)
    log.info("reading the %ss of %s, once per version of the table", role, table)
    parts = list(_words_by_file(root, role))
    words = pa.concat_tables(parts) if parts else _SCHEMA.empty_table()
    words = _most_frequent(words).sort_by([("corpus", "ascending"), ("word", "ascending")])
    _store(words, stored)
    return Words(words)


def _read_stored_list(stored: Path) -> pa.Table | None:
    """A stored list; None where there is none, or one that is damaged."""
    try:
        table = pq.read_table(stored)
        return table if table.schema.equals(_SCHEMA) and _TOTALS in table.schema.metadata else None
    except FileNotFoundError:
        return None
    except (OSError, pa.ArrowException) as error:
        log.info("%s cannot be read and is made again: %s", stored, error)
        return None


def _store(words: pa.Table, stored: Path) -> None:
    """Store a list; where that cannot be done, it is made again the next time."""
    part = stored.with_name(f".{stored.name}.{os.getpid()}")
    try:
        stored.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(words, part)
        part.replace(stored)
    except OSError as error:
        log.warning(
            "the words are not stored and will be read again the next time: cache=%s: %s; give "
            "another folder",
            stored.parent,
            error.strerror or error,
        )


def _most_frequent(words: pa.Table) -> pa.Table:
    """The `_MOST` most frequent words of each corpus; its total count is in the metadata."""
    by_corpus, totals = [], {}
    for corpus in words.column("corpus").unique().to_pylist():
        rows = words.filter(pc.equal(words.column("corpus"), corpus))
        totals[corpus] = pc.sum(rows.column("count")).as_py()
        if rows.num_rows > _MOST:
            rows = rows.sort_by([("count", "descending")]).slice(0, _MOST)
        by_corpus.append(rows)
    stored = pa.concat_tables(by_corpus) if by_corpus else words
    return stored.replace_schema_metadata({_TOTALS: json.dumps(totals)})
