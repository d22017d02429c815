"""``python -m etl.lake lookup FILE``: counts and association of given pairs, zeros included.

FILE has a pair in each line: an adjective, a tab, a noun. If its first line names the columns
adjective and noun, it may have further columns, which are ignored. The name of a table with these
two columns stands for the pairs of that table.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from adnominal.conf import JobFailed, UserError
from adnominal.conf.delimited import rows_of, text_of
from adnominal.conf.help import spelling_hint
from adnominal.etl.amod.measures import MEASURES
from adnominal.etl.amod.word_index import WordIndex
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import TABLES
from adnominal.etl.looking.export import Output, write_file
from adnominal.etl.looking.layout import format_table, number
from adnominal.etl.looking.show import sql_where

SCHEMA = TABLES["amod_association"].schema
"""The columns of the result, which are those of ``amod_association``."""

WORDS = ("adjective", "noun")
_PAIR = "an adjective and a noun separated by a tab"


def lookup(source: str, settings: Any) -> str:
    """Look up the pairs of a file or table; return the first rows, or where all were written.

    Raises:
        UserError: the source, one of its lines or a corpus is unknown or wrong; or the file cannot
            be written.
        JobFailed: no corpus has been counted.
    """
    root = settings.lake
    pairs = _pairs(source, settings)
    corpora = _corpora(root, settings.corpus)
    if settings.out is None:
        counts = counts_of(root, pairs, corpora)
        return _first_rows(counts, settings.limit)
    output = Output(settings.out, settings.format, settings.overwrite)
    batches = _batches(root, pairs, corpora)
    rows = write_file(output, SCHEMA, batches)
    return f"{number(rows)} rows of {source} written to {settings.out}"


def _first_rows(counts: pa.Table, limit: int) -> str:
    first_rows = counts.slice(0, limit)
    columns = [column.to_pylist() for column in first_rows.columns]
    text = format_table(SCHEMA.names, list(zip(*columns, strict=True)))
    rest = counts.num_rows - first_rows.num_rows
    if not rest:
        return text
    return f"{text}\n… and {number(rest)} more rows; out=FILE format=tsv writes all"


def _batches(root: str, pairs: pa.Table, corpora: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """All rows, which are counted when the first batch is taken."""
    counts = counts_of(root, pairs, corpora)
    yield from counts.to_batches()


def _corpora(root: str, requested: Sequence[str]) -> list[str]:
    """The requested corpora, or all that have been counted, sorted."""
    counted = set()
    for file in arrow.files(root, "amod_association"):
        partition = dict(file.partition)
        counted.add(str(partition["corpus"]))
    if not counted:
        raise JobFailed(f"lake={root}: no corpus has been counted; run etl/extract_amod.py first")
    for name in requested:
        if name not in counted:
            known = ", ".join(sorted(counted))
            hint = spelling_hint(name, counted)
            raise UserError(f"corpus={name}: expected one of {known}{hint}")
    return sorted(set(requested) or counted)


# ---------------------------------------------------------------------------------- given pairs


def _pairs(source: str, settings: Any) -> pa.Table:
    """The distinct pairs of a table, sorted, or of a file, in the order of their first lines."""
    if source in TABLES:
        return _pairs_of_table(settings.lake, source, settings.where)
    path = Path(source)
    if not path.exists():
        hint = spelling_hint(source, TABLES)
        raise UserError(
            f"lookup {source}: no such file, nor a table of this name{hint}; "
            f"expected a file with {_PAIR} in each line, or a table"
        )
    if settings.where:
        raise UserError(f"where={settings.where}: needs a table of the lake; {source} is a file")
    return _pairs_of_file(path, settings.lowercase)


def _pairs_of_table(root: str, table: str, where: str | None) -> pa.Table:
    """The distinct pairs of a table, or of those of its rows that satisfy a condition."""
    condition = sql_where(where)
    sql = f"SELECT DISTINCT adjective, noun FROM {table}{condition} ORDER BY adjective, noun"
    schema = pa.schema([SCHEMA.field("adjective"), SCHEMA.field("noun")])
    batches = [batch.cast(schema) for batch in arrow.query(root, table, sql)]
    pairs = pa.Table.from_batches(batches, schema).drop_null()
    if not pairs.num_rows:
        reason = f"satisfies where={where}" if where else "is in it"
        raise UserError(f"lookup {table}: no pair {reason}")
    return pairs


def _pairs_of_file(path: Path, lowercase: bool) -> pa.Table:
    """The distinct pairs of a text file, in the order of their first lines."""
    name = str(path)
    text = text_of(path, name)
    columns = None if _has_header(text) else WORDS
    pairs: dict[tuple[str, str], None] = {}  # a set that keeps the order
    for line, row in rows_of(text, name, WORDS, tabs=True, columns=columns):
        adjective = row["adjective"].strip()
        noun = row["noun"].strip()
        if not adjective or not noun:
            cells = "\t".join(row.values())
            raise UserError(f"{path}: line {line}: got {cells!r}; expected {_PAIR}")
        if lowercase:
            adjective = adjective.lower()
            noun = noun.lower()
        pairs[adjective, noun] = None
    if not pairs:
        raise UserError(f"{path}: no pairs; expected {_PAIR} in each line")
    adjectives, nouns = zip(*pairs, strict=True)
    return pa.table({"adjective": adjectives, "noun": nouns})


def _has_header(text: str) -> bool:
    """Whether the first line names the columns adjective and noun, in whatever case."""
    first_line = text.partition("\n")[0]
    cells = [cell.strip() for cell in first_line.lower().split("\t")]
    return "adjective" in cells and "noun" in cells


# ---------------------------------------------------------------------------------- their counts


def counts_of(root: str, pairs: pa.Table, corpora: Sequence[str]) -> pa.Table:
    """The pairs in each corpus (`SCHEMA`): pair by pair, with the corpora in their order.

    Args:
        root: root of the lake.
        pairs: the distinct pairs, columns adjective and noun.
        corpora: the distinct names of the corpora.
    """
    tables = [_counts_in(root, pairs, corpus) for corpus in corpora]
    corpus_by_corpus = pa.concat_tables(tables)
    row_numbers = np.arange(corpus_by_corpus.num_rows)
    by_corpus_and_pair = row_numbers.reshape(len(corpora), pairs.num_rows)
    pair_by_pair = by_corpus_and_pair.T.ravel()
    return corpus_by_corpus.take(pa.array(pair_by_pair))


def _counts_in(root: str, pairs: pa.Table, corpus: str) -> pa.Table:
    """The pairs in one corpus, in their order.

    The marginals are those of the words, so a pair that never occurs has them, too; its measures
    are null.
    """
    adjectives = pairs["adjective"]
    nouns = pairs["noun"]
    occurrences = _occurrences(root, pairs, corpus)
    columns = {
        "corpus": pa.repeat(corpus, pairs.num_rows),
        "adjective": adjectives,
        "noun": nouns,
        "count": pc.fill_null(occurrences["count"], 0),
        "adjective_count": _marginals(root, "amod_by_adjective", "adjective", adjectives, corpus),
        "noun_count": _marginals(root, "amod_association", "noun", nouns, corpus),
    }
    for measure in MEASURES:
        columns[measure] = occurrences[measure]
    return pa.table(columns, schema=SCHEMA)


def _occurrences(root: str, pairs: pa.Table, corpus: str) -> pa.Table:
    """Count and measures of each pair, null if it never occurs.

    Of the table, only rows with a listed noun and a listed adjective are read, and only those of
    listed pairs stay in memory.
    """
    is_in_corpus = pc.field("corpus") == corpus
    has_adjective = pc.field("adjective").isin(pairs["adjective"].unique())
    has_noun = pc.field("noun").isin(pairs["noun"].unique())
    where = is_in_corpus & has_adjective & has_noun
    names = [*WORDS, "count", *MEASURES]
    schema = pa.schema([SCHEMA.field(name) for name in names])

    keys = _keys(pairs)
    index = WordIndex(keys)
    listed_rows = [schema.empty_table()]
    for batch in arrow.batches(root, "amod_association", where=where, columns=names):
        rows = pa.Table.from_batches([batch])
        is_listed = index.places(_keys(rows)) >= 0
        listed_rows.append(rows.filter(pa.array(is_listed)))
    occurring = pa.concat_tables(listed_rows)
    row_of_pair = pc.index_in(keys, _keys(occurring))
    return occurring.take(row_of_pair)


def _keys(pairs: pa.Table) -> pa.StringArray:
    """Adjective and noun in one text, by which a pair is found."""
    keys = pc.binary_join_element_wise(pairs["adjective"], pairs["noun"], "\0")
    return keys.combine_chunks()


def _marginals(
    root: str, table: str, word: str, words: pa.ChunkedArray, corpus: str
) -> npt.NDArray[np.int64]:
    """The number of pairs with each of `words`, 0 for an unknown one.

    `table` is sorted by the column `word`, and every row states the number of its word.
    """
    column = f"{word}_count"
    distinct_words = words.unique()
    is_in_corpus = pc.field("corpus") == corpus
    where = is_in_corpus & pc.field(word).isin(distinct_words)

    index = WordIndex(distinct_words)
    counts = np.zeros(len(distinct_words), np.int64)
    for batch in arrow.batches(root, table, where=where, columns=[word, column]):
        place = index.places(batch[word])
        counts[place] = batch[column].to_numpy()
    place_of_word = index.places(words.combine_chunks())
    return counts[place_of_word]
