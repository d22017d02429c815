"""The page's views, computed from the tables: a word's collocates, differences of words, a pair.

A sketch lists a word's collocates with their measures (Kilgarriff et al. 2004), usually sorted by
logDice (Rychlý 2008). The rows of a word are read from one file per corpus (`etl.lake.lookup`).
"""

import threading
import unicodedata
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from adnominal.analysis.exploring import corpora, differences
from adnominal.analysis.exploring.adjectives import determiners, is_in, read_lexicon
from adnominal.analysis.exploring.folding import Folding
from adnominal.analysis.exploring.hints import find_hints
from adnominal.analysis.exploring.merging import (
    best_places,
    common_floor,
    measure_values,
    merge_corpora,
    side_of,
)
from adnominal.analysis.exploring.queries import Query, default_floor
from adnominal.analysis.exploring.words import ROLES, TABLES, Words, words_of
from adnominal.analysis.rows import tuples
from adnominal.conf import UserError
from adnominal.conf.help import spelling_hint
from adnominal.etl.amod.measures import MEASURES as FORMULAS
from adnominal.etl.lake import arrow
from adnominal.etl.lake.actions import log_path
from adnominal.etl.lake.lookup import SortedFiles
from adnominal.etl.lake.storage import filesystem, table_uri
from adnominal.etl.lake.tables import table as declaration

_NAMES = declaration("amod_association").schema.names
# The word, its count and the corpus are known for all its rows, and computing the measures from the
# counts is faster than reading them.
_READ = {
    "noun": ("adjective", "count", "adjective_count"),
    "adjective": ("noun", "count", "noun_count"),
}
_RECENT_BYTES = 8 << 20

Numbers = npt.NDArray[Any]


class _Recent:
    """A cache of the rows of recently looked-up words, of at most `most_bytes` in total."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._bytes_held = 0
        self._rows: OrderedDict[tuple[str, str, str], pa.Table] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[str, str, str]) -> pa.Table | None:
        with self._lock:
            if key in self._rows:
                self._rows.move_to_end(key)
            return self._rows.get(key)

    def put(self, key: tuple[str, str, str], rows: pa.Table) -> None:
        """Keep the rows unless they are many, and drop the oldest ones until all fit."""
        size = rows.nbytes
        if size > self._most // 4:
            return
        with self._lock:
            if key in self._rows:
                return
            self._rows[key] = rows
            self._bytes_held += size
            while self._bytes_held > self._most:
                self._bytes_held -= self._rows.popitem(last=False)[1].nbytes


def rows_by_corpus(lake: str) -> dict[str, int]:
    """The number of pairs of each corpus of a lake.

    Raises:
        LakeError: the lake has no pairs.
    """
    rows: dict[str, int] = {}
    for file in arrow.files(lake, "amod_association"):
        corpus = dict(file.partition)["corpus"]
        rows[corpus] = rows.get(corpus, 0) + (file.rows or 0)
    return dict(sorted(rows.items()))


def check_corpora(query: Query, corpora: Collection[str]) -> None:
    """Raise `UserError` if a query names a corpus that is not among `corpora`."""
    for name in ("corpus", "other_corpus", "sort_corpus"):
        value = getattr(query, name)
        if value and value not in corpora:
            raise UserError(
                f"{name}={value}: expected one of {', '.join(sorted(corpora))}"
                f"{spelling_hint(value, corpora)}"
            )


class Sketches:
    """A lake's pairs by the words in them."""

    def __init__(self, lake: str, cache: Path) -> None:
        """Read the lists of words (`analysis.exploring.words`).

        Raises:
            LakeError: the lake has no pairs, or no table sorted by adjective.
            UserError: the table sorted by adjective lacks a corpus.
        """
        self.lake = lake
        # Before any file is listed, so that a commit in between is noticed.
        self._versions = {table: arrow.version(lake, table) or 0 for table in TABLES.values()}
        self.words: dict[str, Words] = {role: words_of(lake, role, cache) for role in ROLES}
        self._files = {role: SortedFiles(lake, TABLES[role], role, _READ[role]) for role in ROLES}
        self.tables = frozenset(arrow.tables(lake))
        self.lexicon = read_lexicon(lake)
        self.folding = Folding(self.words["adjective"])
        self.tokens = corpora.tokens_of(lake)
        self.has_predicative = corpora.has_predicative(lake)
        self.corpora = rows_by_corpus(lake)
        unsorted = self.corpora.keys() - self.words["adjective"].corpora.keys()
        if unsorted:
            raise UserError(
                f"table {TABLES['adjective']} lacks the corpus {min(unsorted)}, whose extraction "
                "was stopped; run the command that extracted it again (no input file is read again)"
            )
        self._recent = _Recent(_RECENT_BYTES)

    def is_outdated(self) -> bool:
        """Whether a table of pairs has been changed since the words were read."""
        for table, version in self._versions.items():
            paths = [log_path(version), log_path(version + 1)]
            commits = filesystem(table_uri(self.lake, table)).get_file_info(paths)
            if [commit.is_file for commit in commits] != [True, False]:
                return True
        return False

    def check_query(self, query: Query) -> Query:
        """The query with its corpora checked and its words spelt as in the tables.

        Raises:
            UserError: the lake does not have a corpus.
        """
        check_corpora(query, self.corpora)
        word = self._known(query.role, query.word.strip())
        other = self._known(query.role, query.other.strip())
        if query.fold and query.role == "adjective":
            positives = self.folding.positives
            word, other = positives.get(word, word), positives.get(other, other)
        return replace(query, word=word, other=other)

    def _known(self, role: str, word: str) -> str:
        """The spelling of a word in the tables: as it is, in NFC or in lower case."""
        composed = unicodedata.normalize("NFC", word)
        spellings = (word, composed, composed.lower())
        return next((one for one in spellings if self.counts(role, one)), word)

    def _rows(self, role: str, corpus: str, word: str) -> pa.Table:
        """All rows of a word in a corpus: the columns `_READ`."""
        recent = self._recent.get((role, corpus, word))
        if recent is not None:
            return recent
        files = self._files[role]
        word_list = self.words[role]
        path = word_list.file(corpus, word)
        names = list(_READ[role])
        if path is not None:
            rows = files.rows(path, word, names)
        elif word_list.complete(corpus):
            # The list has every word of the corpus, so the corpus does not have this one.
            rows = files.schema.empty_table()
        else:
            # The list has only the most frequent words: this one may be a rarer one.
            rows = self._read(role, corpus, word, names)
            rows = rows.cast(files.schema)
        self._recent.put((role, corpus, word), rows)
        return rows

    def _read(self, role: str, corpus: str, word: str, columns: list[str]) -> pa.Table:
        """The rows of a word that is not in the list of words."""
        where = [("corpus", "=", corpus), (role, "=", word)]
        return arrow.read(self.lake, TABLES[role], where=where, columns=columns)

    def _word_count(self, role: str, corpus: str, word: str) -> int:
        """The number of pairs with the word in the corpus."""
        word_list = self.words[role]
        count = word_list.count(corpus, word)
        if count or word_list.complete(corpus):
            return count
        counts = self._read(role, corpus, word, [f"{role}_count"])
        greatest = pc.max(counts.column(0))
        return greatest.as_py() or 0

    def _folded_rows(self, query: Query, word: str, corpus: str) -> tuple[pa.Table, int]:
        """The rows of a word in a corpus and its count there, comparatives folded on request."""
        if query.fold and query.role == "adjective":
            forms = self.folding.forms(word)
            parts = [self._rows("adjective", corpus, form) for form in forms]
            rows = self.folding.fold_nouns(parts)
            count = self.folding.count(corpus, word)
            return rows, count
        rows = self._rows(query.role, corpus, word)
        count = self._word_count(query.role, corpus, word)
        if query.fold:
            rows = self.folding.fold_adjectives(rows, corpus)
        return rows, count

    def rows_of_word(self, query: Query, word: str, corpus: str) -> pa.Table:
        """Rows of a word in one corpus, or in all for "", of adjectives that the query admits.

        The columns of `_READ`, the corpus, the word's count there, and the corpus's total.
        """
        word_list = self.words[query.role]
        names = [corpus] if corpus else sorted(self.corpora)
        parts = []
        for name in names:
            rows, count = self._folded_rows(query, word, name)
            constants = {
                "corpus": name,
                f"{query.role}_count": count,
                "total": word_list.total(name),
            }
            zeros = pa.array(np.zeros(rows.num_rows, np.int32))
            for column, value in constants.items():
                dictionary = pa.array([value])
                constant = pa.DictionaryArray.from_arrays(zeros, dictionary)
                rows = rows.append_column(column, constant)
            admitted = self._filter_mask(query, word, rows)
            if not admitted.all():
                rows = rows.filter(pa.array(admitted))
            parts.append(rows)
        return pa.concat_tables(parts)

    def _filter_mask(self, query: Query, word: str, rows: pa.Table) -> Numbers:
        """A mask of the rows whose adjective passes the query's filters."""
        admitted = np.ones(rows.num_rows, bool)
        if query.role == "adjective":
            if query.classes:
                admitted &= self.lexicon.class_of(word) in query.classes
            return admitted
        adjectives = rows.column("adjective")
        if query.classes:
            admitted &= self.lexicon.class_mask(adjectives, query.classes)
        if query.hide_determiners:
            admitted &= ~is_in(adjectives, determiners())
        return admitted

    def view(self, query: Query) -> dict[str, Any]:
        """The answer of `difference` to a comparison, of `collocates` to any other query."""
        return self.difference(query) if query.compares else self.collocates(query)

    def sketch(self, query: Query) -> dict[str, Any]:
        """A word's pairs in each corpus, sorted by the measure in descending order; ties by name.

        `rows` has at most `limit` of the `total` rows that pass the filters; `words` has the word's
        count in each corpus, and `word` is its spelling there. `floor` is the minimum count of the
        rows. An unknown word has no rows, and `nearest` has similar words.
        """
        query = self.check_query(query)
        rows = self.rows_of_word(query, query.word, query.corpus)
        counts = rows.column("count").to_numpy()
        floor = query.floor or default_floor(counts)
        # Not `filter`, which would copy all rows of the word.
        admitted = np.flatnonzero(counts >= floor)
        values = measure_values(rows, query.measure, admitted)
        places = admitted[best_places(values, query.limit)]
        records = self._records(rows, places, query)

        def order(record: dict[str, Any]) -> tuple[Any, ...]:
            return (-record[query.measure], record[query.partner], record["corpus"])

        records.sort(key=order)
        return self._answer(query, records, len(admitted), floor)

    def collocates(self, query: Query) -> dict[str, Any]:
        """As `sketch`, with one row for each collocate.

        If several corpora are looked up, a row has the measures in `sort_corpus`, null if it does
        not have the pair, or by default in the corpus where the measure is greatest (among those
        where the count reaches `floor`, if any), and ``count_CORPUS`` for each corpus.
        `predicative` has the count of predicative pairs, if they were counted.
        """
        query = self.check_query(query)
        has_one_corpus = bool(query.corpus) or len(self.corpora) == 1
        answer = self.sketch(query) if has_one_corpus else self._merge_corpora(query)
        if self.has_predicative:
            self._add_predicative(answer["rows"], query)
        return answer

    def _merge_corpora(self, query: Query) -> dict[str, Any]:
        """The collocates in several corpora."""
        rows = self.rows_of_word(query, query.word, "")
        merged = merge_corpora(rows, query)
        if query.floor is None:
            floor = default_floor(merged.column("most").to_numpy())
            query = replace(query, floor=floor)
            # The floor decides which corpus represents a collocate.
            merged = merge_corpora(rows, query)
        merged = merged.filter(pc.field("most") >= query.floor)
        values = merged.column("value").to_numpy()
        places = best_places(values, query.limit)
        best = merged.take(pa.array(places))
        records = self._records(rows, best.column("place").to_numpy(), query)
        value_of = dict(tuples(best, "word", "value"))

        def order(record: dict[str, Any]) -> tuple[float, str]:
            word = record[query.partner]
            return (-value_of[word], word)

        records.sort(key=order)
        if query.limit:
            records = records[: query.limit]
        self._add_corpus_counts(records, rows, query)
        return self._answer(query, records, merged.num_rows, query.floor or 1)

    def _add_corpus_counts(
        self, records: list[dict[str, Any]], rows: pa.Table, query: Query
    ) -> None:
        """Give each record the pair's count in each corpus, and no measures of another corpus."""
        words = [record[query.partner] for record in records]
        is_shown = is_in(rows.column(query.partner), words)
        shown = rows.filter(pa.array(is_shown))
        counts = {}
        for corpus, word, count in tuples(shown, "corpus", query.partner, "count"):
            counts[corpus, word] = count
        for record in records:
            word = record[query.partner]
            for corpus in sorted(self.corpora):
                record[f"count_{corpus}"] = counts.get((corpus, word), 0)
            if query.sort_corpus and record["corpus"] != query.sort_corpus:
                record.update(dict.fromkeys(FORMULAS), corpus=query.sort_corpus, count=0)

    def _add_predicative(self, records: list[dict[str, Any]], query: Query) -> None:
        """Add to each record how often its pair is predicative (*the key is old*)."""
        partners = [record[query.partner] for record in records]
        counts = corpora.predicative_counts(self.lake, query.role, query.word, partners)
        for record in records:
            by_corpus = counts.get(record[query.partner], {})
            if query.corpus:
                record["predicative"] = by_corpus.get(query.corpus, 0)
            else:
                record["predicative"] = sum(by_corpus.values())

    def _records(self, rows: pa.Table, places: Numbers, query: Query) -> list[dict[str, Any]]:
        """The rows at these places as dictionaries, with their measures and classes."""
        records = []
        for place in places.tolist():
            # Row by row, because `take` would merge the dictionaries of all row groups.
            record = {name: rows.column(name)[place].as_py() for name in rows.column_names}
            record[query.role] = query.word
            records.append(record)
        for name in FORMULAS:
            values = measure_values(rows, name, places).tolist()
            for record, value in zip(records, values, strict=True):
                record[name] = value
        shown = []
        for record in records:
            row = {name: record[name] for name in _NAMES}
            row["class"] = self.lexicon.class_of(record["adjective"])
            shown.append(row)
        return shown

    def _answer(
        self, query: Query, records: list[dict[str, Any]], total: int, floor: int
    ) -> dict[str, Any]:
        """What the page shows of a word: its rows, and hints if nothing is found."""
        if query.limit:
            records = records[: query.limit]
        counts = self.counts(query.role, query.word)
        return {
            "rows": records,
            "word": query.word,
            "other": "",
            "total": total,
            "floor": floor,
            "words": counts,
            **self._help(query.role, None if counts else query.word),
            "command": query.command(self.lake, floor),
        }

    def _help(self, role: str, unknown: str | None) -> dict[str, Any]:
        """What may have been meant by a word that no pair has; nothing for None."""
        if unknown is None:
            return {"nearest": [], "hints": []}
        hints = find_hints(self.words, role, unknown)
        nearest_words = [] if hints else self.words[role].nearest_words(unknown)
        return {"nearest": nearest_words, "hints": hints}

    def difference(self, query: Query) -> dict[str, Any]:
        """The collocates of two words, or of a word in two corpora, in `differences.BLOCKS`.

        A collocate that reaches `floor` on either side is shown with the values of both. Over
        several corpora, a side has its maximum of the measure (among the counts that reach
        `floor`, if any), and the sum of the counts. `rows` has at most `limit` rows of each block,
        those with the strongest contrast, which come first; `totals` has the number of rows of
        each.
        """
        query = self.check_query(query)
        second_word = query.other or query.word
        tables = (
            self.rows_of_word(query, query.word, query.corpus),
            self.rows_of_word(query, second_word, query.other_corpus or query.corpus),
        )
        sides = [side_of(table, query) for table in tables]
        floor = query.floor or common_floor(sides)
        if query.floor is None and not query.corpus and len(self.corpora) > 1:
            # The floor decides which corpus represents a collocate.
            query_with_floor = replace(query, floor=floor)
            sides = [side_of(table, query_with_floor) for table in tables]
        merged = differences.blocks(sides[0], sides[1], floor)
        rows: list[dict[str, Any]] = []
        totals = {}
        for block in differences.BLOCKS:
            members, totals[block] = differences.strongest_rows(merged, block, query.limit)
            rows += members.to_pylist()
        for row in rows:
            is_adjective = query.partner == "adjective"
            row["class"] = self.lexicon.class_of(row["word"]) if is_adjective else ""
        unknown = [
            word
            for word, table in zip((query.word, second_word), tables, strict=True)
            if not table.num_rows and not self.counts(query.role, word)
        ]
        return {
            "rows": rows,
            "word": query.word,
            "other": query.other,
            "total": merged.num_rows,
            "totals": totals,
            "floor": floor,
            **self._help(query.role, unknown[0] if unknown else None),
            "unknown": unknown,
            "command": query.command(self.lake, floor),
        }

    def counts(self, role: str, word: str) -> dict[str, int]:
        """The number of pairs with the word in each corpus that has it."""
        counts = {corpus: self.words[role].count(corpus, word) for corpus in self.corpora}
        return {corpus: count for corpus, count in counts.items() if count}


def missing_word(query: Query, answer: Mapping[str, Any]) -> str | None:
    """One line for a word of the query that no pair has; None if there are pairs of its words.

    `answer` is that of `Sketches.sketch` or `Sketches.difference`.
    """
    is_known = bool(answer["rows"] or answer.get("words"))
    unknown = answer.get("unknown", [] if is_known else [query.word])
    if not unknown:
        return None
    message = f"no pair has the {query.role} {unknown[0]!r}"
    hints = "".join(f"; {hint['text']}" for hint in answer["hints"])
    near = ", ".join(answer["nearest"])
    return message + hints + (f"; spelt alike: {near}" if near else "")


def tsv(rows: Sequence[dict[str, Any]]) -> str:
    """Rows as tab-separated lines with a header; tabs and line breaks in texts become spaces."""
    if not rows:
        return ""
    names = list(rows[0])
    lines = ["\t".join(names), *("\t".join(_field(row[name]) for name in names) for row in rows)]
    return "\n".join(lines) + "\n"


def _field(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return " ".join(str(value).split())
