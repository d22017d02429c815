"""The page's views, computed from the tables: a word's collocates, differences of words, a pair.

A sketch lists a word's collocates with their measures (Kilgarriff et al. 2004), usually sorted by
logDice (Rychlý 2008). The rows of a word are read from one file per corpus (`etl.lake.lookup`).
"""

import shlex
import threading
import unicodedata
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

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

MEASURES = ("log_dice", "pmi", "npmi", "count")
CLASSES = ("I", "S", "O", "none")
"""Classes of adjectives: intersective, subsective, intensional, and adjectives without a class."""

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


@dataclass(frozen=True)
class Query:
    """The parameters of a view.

    Attributes:
        role: role of the word, noun or adjective.
        word: the word whose collocates are shown.
        other: second word of the same role, for a difference; empty for none.
        corpus: the corpus to look up; empty for all.
        other_corpus: second corpus, for a difference of one word; empty for none.
        measure: measure to sort rows by (`MEASURES`).
        floor: minimum count of a pair; in a difference, of the pair on either side.
        classes: `CLASSES` of the adjectives shown; empty for all.
        limit: maximum number of rows; 0 for all.
    """

    role: str
    word: str
    other: str = ""
    corpus: str = ""
    other_corpus: str = ""
    measure: str = "log_dice"
    floor: int = 1
    classes: tuple[str, ...] = ()
    limit: int = 100

    def __post_init__(self) -> None:
        for name, value, choices in (
            ("role", self.role, ROLES),
            ("measure", self.measure, MEASURES),
            *(("classes", one, CLASSES) for one in self.classes),
        ):
            if value not in choices:
                raise UserError(
                    f"{name}={value}: expected one of {', '.join(choices)}{nearest(value, choices)}"
                )
        if self.floor < 1:
            raise UserError(f"floor={self.floor}: expected 1 or more")
        if self.limit < 0:
            raise UserError(f"limit={self.limit}: expected 0 (all rows) or more")
        if self.other_corpus and not self.corpus:
            raise UserError("other_corpus= compares with corpus=, which is empty; give both")

    @property
    def compares(self) -> bool:
        """Whether the view compares two words, or one word in two corpora."""
        return bool(self.other or self.other_corpus)

    def command(self, lake: str) -> str:
        """The command line that prints the same rows."""
        values = {"lake": lake, self.role: self.word, "other": self.other, "corpus": self.corpus}
        values |= {"other_corpus": self.other_corpus, "measure": self.measure}
        values |= {"floor": str(self.floor), "classes": ",".join(self.classes)}
        values |= {"limit": str(self.limit)}
        words = [f"{name}={value}" for name, value in values.items() if value]
        return shlex.join(["adnominal", "explore", *words])


@dataclass(frozen=True)
class Lexicon:
    """Classes of adjectives; if sources disagree on an adjective, the first class is used."""

    classes: dict[str, str] = field(default_factory=dict)

    def class_of(self, adjective: str) -> str:
        """I, S, O or none."""
        return self.classes.get(adjective, "none")

    def among(self, adjectives: pa.ChunkedArray, classes: Sequence[str]) -> Numbers:
        """A mask of the adjectives that belong to one of the classes."""
        members = [adjective for adjective, one in self.classes.items() if one in classes]
        adjectives = adjectives.cast(pa.string())
        selected = pc.is_in(adjectives, value_set=pa.array(members, pa.string())).to_numpy()
        if "none" in classes:
            known = pa.array(list(self.classes), pa.string())
            selected = selected | ~pc.is_in(adjectives, value_set=known).to_numpy()
        return np.asarray(selected)


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
        self.lexicon = Lexicon()
        if "adjective_classes" in self.tables:
            classes = arrow.read(lake, "adjective_classes", columns=["adjective", "class"])
            # Only the first class of an adjective is kept.
            self.lexicon = Lexicon(dict(reversed(tuples(classes, "adjective", "class"))))
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
        for name in ("corpus", "other_corpus"):
            value = getattr(query, name)
            if value and value not in self.corpora:
                raise UserError(
                    f"{name}={value}: expected one of {', '.join(sorted(self.corpora))}"
                    f"{nearest(value, self.corpora)}"
                )
        word, other = (self._known(query.role, text.strip()) for text in (query.word, query.other))
        return replace(query, word=word, other=other)

    def _known(self, role: str, word: str) -> str:
        """The spelling of a word in the tables: as it is, in NFC or in lower case."""
        composed = unicodedata.normalize("NFC", word)
        spellings = (word, composed, composed.lower())
        return next((one for one in spellings if self._counts(role, one)), word)

    def _rows(self, role: str, corpus: str, word: str) -> pa.Table:
        """All rows of a word in a corpus: `_READ`, corpus, its total of pairs, the word's count."""
        recent = self._recent.get((role, corpus, word))
        if recent is not None:
            return recent
        word_list, names = self.words[role], list(_READ[role])
        path, count = word_list.file(corpus, word), word_list.count(corpus, word)
        if path is not None:
            rows = self._files[role].rows(path, word, names)
        elif word_list.complete(corpus):
            rows = self._files[role].schema.empty_table()
        else:
            where = [("corpus", "=", corpus), (role, "=", word)]
            rows = arrow.read(
                self.lake, TABLES[role], where=where, columns=[*names, f"{role}_count"]
            )
            count = pc.max(rows.column(f"{role}_count")).as_py() or 0
            rows = rows.select(names).cast(self._files[role].schema)
        zeros = pa.array(np.zeros(rows.num_rows, np.int32))
        for name, value in (
            ("corpus", corpus),
            (f"{role}_count", count),
            ("total", word_list.total(corpus)),
        ):
            column = pa.DictionaryArray.from_arrays(zeros, pa.array([value]))
            rows = rows.append_column(name, column)
        self._recent.put((role, corpus, word), rows)
        return rows

    def _of_word(self, query: Query, word: str, corpus: str) -> pa.Table:
        """Rows of a word that pass the query's filters."""
        parts = []
        for name in [corpus] if corpus else sorted(self.corpora):
            rows = self._rows(query.role, name, word)
            passing = np.ones(rows.num_rows, bool)
            if query.floor > 1:
                passing &= rows.column("count").to_numpy() >= query.floor
            if query.classes and query.role == "adjective":
                passing &= self.lexicon.class_of(word) in query.classes
            elif query.classes:
                passing &= self.lexicon.among(rows.column("adjective"), query.classes)
            parts.append(rows if passing.all() else rows.filter(pa.array(passing)))
        return pa.concat_tables(parts)

    def sketch(self, query: Query) -> dict[str, Any]:
        """A word's collocates, sorted by the measure in descending order; ties by name.

        `rows` has at most `limit` of the `total` rows that pass the filters; `words` has the word's
        count in each corpus, and `word` is its spelling there. An unknown word has no rows, and
        `nearest` has similar words.
        """
        query = self.check_query(query)
        rows = self._of_word(query, query.word, query.corpus)
        partner = ROLES[1 - ROLES.index(query.role)]
        best = _best(_values(rows, query.measure), query.limit)
        best_rows = []
        for place in best.tolist():
            # Row by row, because `take` would merge the dictionaries of all row groups.
            row = {name: rows.column(name)[place].as_py() for name in rows.column_names}
            row[query.role] = query.word
            best_rows.append(row)
        for name in FORMULAS:
            values = _values(rows, name, best)
            for row, value in zip(best_rows, values.tolist(), strict=True):
                row[name] = value
        best_rows.sort(key=lambda row: (-row[query.measure], row[partner], row["corpus"]))
        counts = self._counts(query.role, query.word)
        return {
            "rows": [
                {name: row[name] for name in _NAMES}
                | {"class": self.lexicon.class_of(row["adjective"])}
                for row in (best_rows[: query.limit] if query.limit else best_rows)
            ],
            "word": query.word,
            "other": "",
            "total": rows.num_rows,
            "words": counts,
            "nearest": [] if counts else self.words[query.role].nearest(query.word),
            "command": query.command(self.lake),
        }

    def difference(self, query: Query) -> dict[str, Any]:
        """The collocates of two words, or of a word in two corpora, by difference of the measure.

        A collocate that only one side has counts as 0 on the other. A collocate that reaches
        `floor` on either side is shown with the values of both. Over several corpora, a side has
        its maximum of the measure (among the counts that reach `floor`, if any), with the count
        there. Rows are sorted from those most typical of the first side to those most typical of
        the second; if there are more than `limit`, those with the largest differences are kept.
        """
        query = self.check_query(query)
        second_word = query.other or query.word
        partner = ROLES[1 - ROLES.index(query.role)]
        unfiltered, corpora = replace(query, floor=1), (query.corpus, query.other_corpus)
        sides = (
            self._of_word(unfiltered, query.word, corpora[0]),
            self._of_word(unfiltered, second_word, corpora[1] or corpora[0]),
        )
        first_side, second_side = (_by_word(side, partner, query) for side in sides)
        both = first_side.join(second_side, "word", join_type="full outer", right_suffix="_second")
        is_frequent = [pc.field(name) >= query.floor for name in ("count", "count_second")]
        both = both.filter(is_frequent[0] | is_frequent[1]) if query.floor > 1 else both
        words = both.column("word")
        values = [both.column(name).to_numpy() for name in ("value", "value_second")]
        counts = [pc.fill_null(both.column(name), 0) for name in ("count", "count_second")]
        difference = np.nan_to_num(values[0]) - np.nan_to_num(values[1])
        best = _best(np.abs(difference), query.limit).tolist()
        differing = sorted(
            (-abs(float(difference[place])), words[place].as_py(), place) for place in best
        )
        differing = differing[: query.limit] if query.limit else differing
        differing.sort(key=lambda one: (-float(difference[one[2]]), one[1]))
        rows = []
        for _, word, place in differing:
            first, second = (
                None if np.isnan(side[place]) else side[place].item() for side in values
            )
            rows.append(
                {
                    "word": word,
                    "first": first,
                    "first_count": counts[0][place].as_py(),
                    "second": second,
                    "second_count": counts[1][place].as_py(),
                    "difference": difference[place].item(),
                    "class": self.lexicon.class_of(word) if partner == "adjective" else "",
                }
            )
        unknown = [
            word
            for word, side in zip((query.word, second_word), sides, strict=True)
            if not side.num_rows and not self._counts(query.role, word)
        ]
        return {
            "rows": rows,
            "word": query.word,
            "other": query.other,
            "total": len(words),
            "nearest": self.words[query.role].nearest(unknown[0]) if unknown else [],
            "unknown": unknown,
            "command": query.command(self.lake),
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
    near = ", ".join(answer["nearest"])
    suggestion = f"; spelt alike: {near}" if near else ""
    return f"no pair has the {query.role} {unknown[0]!r}{suggestion}"


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


def _by_word(rows: pa.Table, partner: str, query: Query) -> pa.Table:
    """The partner words with `value` (the measure) and count, from the corpus where the measure is
    greatest; corpora whose counts reach the floor come first."""
    words = rows.column(partner).cast(pa.string()).combine_chunks()
    values = _values(rows, query.measure).astype(np.float64)
    counts = rows.column("count").to_numpy()
    table = pa.table({"word": words, "value": values, "count": counts})
    if len(rows.column("corpus").unique()) < 2:  # each word has one row
        return table
    codes = words.dictionary_encode().indices.to_numpy()
    order = np.lexsort((-values, counts < query.floor, codes))
    return table.take(pa.array(order[np.flatnonzero(np.diff(codes[order], prepend=-1))]))


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
