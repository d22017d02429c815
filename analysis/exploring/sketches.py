"""The page's views, computed from the tables: a word's collocates, differences of words, a pair.

A sketch lists a word's collocates with their measures (Kilgarriff et al. 2004), usually sorted by
logDice (Rychlý 2008). The rows of a word are read from one file per corpus (`etl.lake.lookup`).
"""

import threading
import unicodedata
from collections import OrderedDict
from collections.abc import Mapping, Sequence
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
from adnominal.analysis.exploring.queries import Query, default_floor
from adnominal.analysis.exploring.words import ROLES, TABLES, Words, words_of
from adnominal.analysis.rows import tuples
from adnominal.conf import UserError
from adnominal.conf.help import nearest
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
_ALL = slice(None)

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
        self.corpora: dict[str, int] = {}
        for file in arrow.files(lake, "amod_association"):
            corpus = dict(file.partition)["corpus"]
            self.corpora[corpus] = self.corpora.get(corpus, 0) + (file.rows or 0)
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
        for name in ("corpus", "other_corpus", "sort_corpus"):
            value = getattr(query, name)
            if value and value not in self.corpora:
                raise UserError(
                    f"{name}={value}: expected one of {', '.join(sorted(self.corpora))}"
                    f"{nearest(value, self.corpora)}"
                )
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
        return next((one for one in spellings if self._counts(role, one)), word)

    def _rows(self, role: str, corpus: str, word: str) -> pa.Table:
        """All rows of a word in a corpus: the columns `_READ`."""
        recent = self._recent.get((role, corpus, word))
        if recent is not None:
            return recent
        word_list, names = self.words[role], list(_READ[role])
        path = word_list.file(corpus, word)
        if path is not None:
            rows = self._files[role].rows(path, word, names)
        elif word_list.complete(corpus):
            rows = self._files[role].schema.empty_table()
        else:
            where = [("corpus", "=", corpus), (role, "=", word)]
            rows = arrow.read(self.lake, TABLES[role], where=where, columns=names)
            rows = rows.cast(self._files[role].schema)
        self._recent.put((role, corpus, word), rows)
        return rows

    def _word_count(self, role: str, corpus: str, word: str) -> int:
        """The number of pairs with the word in the corpus."""
        word_list = self.words[role]
        count = word_list.count(corpus, word)
        if count or word_list.complete(corpus):
            return count
        where = [("corpus", "=", corpus), (role, "=", word)]
        counts = arrow.read(self.lake, TABLES[role], where=where, columns=[f"{role}_count"])
        return pc.max(counts.column(0)).as_py() or 0

    def _folded_rows(self, query: Query, word: str, corpus: str) -> tuple[pa.Table, int]:
        """The rows of a word in a corpus and its count there, comparatives folded on request."""
        if not query.fold:
            rows = self._rows(query.role, corpus, word)
            return rows, self._word_count(query.role, corpus, word) if rows.num_rows else 0
        if query.role == "noun":
            rows = self._rows("noun", corpus, word)
            count = self._word_count("noun", corpus, word)
            return self.folding.fold_adjectives(rows, corpus), count
        forms = self.folding.forms(word)
        parts = [self._rows("adjective", corpus, form) for form in forms]
        return self.folding.fold_nouns(parts), self.folding.count(corpus, word)

    def _of_word(self, query: Query, word: str, corpus: str) -> pa.Table:
        """Rows of a word, of adjectives that the query admits.

        The columns of `_READ`, the corpus, the word's count there, and the corpus's total.
        """
        parts = []
        for name in [corpus] if corpus else sorted(self.corpora):
            rows, count = self._folded_rows(query, word, name)
            constants = {
                "corpus": name,
                f"{query.role}_count": count,
                "total": self.words[query.role].total(name),
            }
            zeros = pa.array(np.zeros(rows.num_rows, np.int32))
            for column, value in constants.items():
                array = pa.DictionaryArray.from_arrays(zeros, pa.array([value]))
                rows = rows.append_column(column, array)
            admitted = self._admitted(query, word, rows)
            parts.append(rows if admitted.all() else rows.filter(pa.array(admitted)))
        return pa.concat_tables(parts)

    def _admitted(self, query: Query, word: str, rows: pa.Table) -> Numbers:
        """A mask of the rows whose adjective passes the query's filters."""
        admitted = np.ones(rows.num_rows, bool)
        if query.role == "adjective":
            if query.classes:
                admitted &= self.lexicon.class_of(word) in query.classes
            return admitted
        adjectives = rows.column("adjective")
        if query.classes:
            admitted &= self.lexicon.among(adjectives, query.classes)
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
        rows = self._of_word(query, query.word, query.corpus)
        floor = query.floor or default_floor(rows.column("count").to_numpy())
        rows = rows.filter(pc.field("count") >= floor)
        places = _best(_values(rows, query.measure), query.limit)
        records = self._records(rows, places, query)
        records.sort(key=lambda row: (-row[query.measure], row[query.partner], row["corpus"]))
        return self._answer(query, records, rows.num_rows, floor)

    def collocates(self, query: Query) -> dict[str, Any]:
        """As `sketch`, with one row for each collocate.

        If several corpora are looked up, a row has the measures in `sort_corpus`, null if it does
        not have the pair, or by default in the corpus where the measure is greatest (among those
        where the count reaches `floor`, if any), and ``count_CORPUS`` for each corpus.
        `predicative` has the count of predicative pairs, if they were counted.
        """
        query = self.check_query(query)
        has_one_corpus = bool(query.corpus) or len(self.corpora) == 1
        answer = self.sketch(query) if has_one_corpus else self._merged(query)
        if self.has_predicative:
            self._add_predicative(answer["rows"], query)
        return answer

    def _merged(self, query: Query) -> dict[str, Any]:
        """The collocates in several corpora."""
        rows = self._of_word(query, query.word, "")
        floor = query.floor or default_floor(_by_word(rows, query).column("most").to_numpy())
        merged = _by_word(rows, replace(query, floor=floor))
        merged = merged.filter(pc.field("most") >= floor)
        places = _best(merged.column("value").to_numpy(), query.limit)
        best = merged.take(pa.array(places))
        records = self._records(rows, best.column("place").to_numpy(), query)
        value_of = dict(tuples(best, "word", "value"))
        records.sort(key=lambda row: (-value_of[row[query.partner]], row[query.partner]))
        records = records[: query.limit] if query.limit else records
        self._add_corpus_counts(records, rows, query)
        return self._answer(query, records, merged.num_rows, floor)

    def _add_corpus_counts(
        self, records: list[dict[str, Any]], rows: pa.Table, query: Query
    ) -> None:
        """Give each record the pair's count in each corpus, and no measures of another corpus."""
        words = [record[query.partner] for record in records]
        shown = rows.filter(pa.array(is_in(rows.column(query.partner), words)))
        counts = {
            (corpus, word): count
            for corpus, word, count in tuples(shown, "corpus", query.partner, "count")
        }
        for record in records:
            for corpus in sorted(self.corpora):
                record[f"count_{corpus}"] = counts.get((corpus, record[query.partner]), 0)
            if query.sort_corpus and record["corpus"] != query.sort_corpus:
                record.update(dict.fromkeys(FORMULAS), corpus=query.sort_corpus, count=0)

    def _add_predicative(self, records: list[dict[str, Any]], query: Query) -> None:
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
            values = _values(rows, name, places).tolist()
            for record, value in zip(records, values, strict=True):
                record[name] = value
        return [
            {name: record[name] for name in _NAMES}
            | {"class": self.lexicon.class_of(record["adjective"])}
            for record in records
        ]

    def _answer(
        self, query: Query, records: list[dict[str, Any]], total: int, floor: int
    ) -> dict[str, Any]:
        counts = self._counts(query.role, query.word)
        return {
            "rows": records[: query.limit] if query.limit else records,
            "word": query.word,
            "other": "",
            "total": total,
            "floor": floor,
            "words": counts,
            "nearest": [] if counts else self.words[query.role].nearest(query.word),
            "hints": [] if counts else find_hints(self.words, query.role, query.word),
            "command": query.command(self.lake, floor),
        }

    def difference(self, query: Query) -> dict[str, Any]:
        """The collocates of two words, or of a word in two corpora, in `differences.BLOCKS`.

        A collocate that reaches `floor` on either side is shown with the values of both. Over
        several corpora, a side has its maximum of the measure (among the counts that reach
        `floor`, if any), with the count there. `rows` has at most `limit` rows of each block, those
        with the strongest contrast, which come first; `totals` has the number of rows of each.
        """
        query = self.check_query(query)
        second_word = query.other or query.word
        tables = (
            self._of_word(query, query.word, query.corpus),
            self._of_word(query, second_word, query.other_corpus or query.corpus),
        )
        floor = query.floor or _common_floor(tables, query.partner)
        query_of_side = replace(query, floor=floor)
        first, second = (_side(table, query_of_side) for table in tables)
        merged = differences.blocks(first, second, floor)
        order = [("contrast", "descending"), ("word", "ascending")]
        rows: list[dict[str, Any]] = []
        totals = {}
        for block in differences.BLOCKS:
            members = merged.filter(pc.field("block") == block).sort_by(order)
            totals[block] = members.num_rows
            rows += members.slice(0, query.limit or None).to_pylist()
        for row in rows:
            is_adjective = query.partner == "adjective"
            row["class"] = self.lexicon.class_of(row["word"]) if is_adjective else ""
        unknown = [
            word
            for word, table in zip((query.word, second_word), tables, strict=True)
            if not table.num_rows and not self._counts(query.role, word)
        ]
        return {
            "rows": rows,
            "word": query.word,
            "other": query.other,
            "total": merged.num_rows,
            "totals": totals,
            "floor": floor,
            "nearest": self.words[query.role].nearest(unknown[0]) if unknown else [],
            "hints": find_hints(self.words, query.role, unknown[0]) if unknown else [],
            "unknown": unknown,
            "command": query.command(self.lake, floor),
        }

    def _counts(self, role: str, word: str) -> dict[str, int]:
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


def _best(values: Numbers, limit: int) -> Numbers:
    """Positions of the `limit` greatest values, including ties with the last; all for 0."""
    if not limit or limit >= len(values):
        return np.arange(len(values))
    least = np.partition(values, len(values) - limit)[len(values) - limit]
    return np.flatnonzero(values >= least)


def _values(rows: pa.Table, measure: str, places: Numbers | slice = _ALL) -> Numbers:
    """The values of one of `MEASURES` for the selected rows."""
    names = ("count", "adjective_count", "noun_count", "total")
    c, a, n, total = (rows.column(name).to_numpy()[places] for name in names)
    values: Numbers = c if measure == "count" else FORMULAS[measure](c, a, n, total)
    return values


def _by_word(rows: pa.Table, query: Query) -> pa.Table:
    """One row for each partner word, from the corpus whose row represents it.

    That is `sort_corpus` if given; else the one where the measure is greatest, but corpora whose
    counts reach the floor come first. Columns: word; value, the measure (minus infinity if
    `sort_corpus` does not have the word); count; place, of the row in `rows`; most and occurrences,
    the maximum and the sum of the counts over the corpora.
    """
    words = rows.column(query.partner).cast(pa.string()).combine_chunks()
    values = _values(rows, query.measure).astype(np.float64)
    counts = rows.column("count").to_numpy()
    columns = {"word": words, "value": values, "count": counts, "place": np.arange(len(values))}
    table = pa.table(columns)
    corpus_names = rows.column("corpus").unique().to_pylist()
    is_of_one_corpus = len(corpus_names) == 1 and query.sort_corpus in ("", corpus_names[0])
    if is_of_one_corpus or not corpus_names:  # each word has one row
        table = table.append_column("most", pa.array(counts))
        return table.append_column("occurrences", pa.array(counts))
    is_second = np.zeros(len(values), bool)
    if query.sort_corpus:
        is_second = ~is_in(rows.column("corpus"), [query.sort_corpus])
        values[is_second] = -np.inf
        table = table.set_column(1, "value", pa.array(values))
    codes = words.dictionary_encode().indices.to_numpy()
    is_rare = counts < (query.floor or 1)
    order = np.lexsort((-values, is_rare, is_second, codes))
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    sorted_counts = counts[order]
    table = table.take(pa.array(order[starts]))
    table = table.append_column("most", pa.array(np.maximum.reduceat(sorted_counts, starts)))
    return table.append_column("occurrences", pa.array(np.add.reduceat(sorted_counts, starts)))


def _side(rows: pa.Table, query: Query) -> differences.Side:
    """One side of a difference."""
    total = 0
    for corpus in rows.column("corpus").unique().to_pylist():
        of_corpus = rows.filter(pc.field("corpus") == corpus)
        total += of_corpus.column(f"{query.role}_count")[0].as_py()
    return differences.Side(_by_word(rows, query), total)


def _common_floor(tables: Sequence[pa.Table], partner: str) -> int:
    """The default minimum count for the collocates of both sides together."""
    columns = [table.select([partner, "count"]) for table in tables]
    plain = [table.set_column(0, partner, table.column(0).cast(pa.string())) for table in columns]
    most = pa.concat_tables(plain).group_by(partner).aggregate([("count", "max")])
    return default_floor(most.column("count_max").to_numpy())


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
