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
from adnominal.conf.help import nearest
from adnominal.etl.amod.measures import MEASURES
from adnominal.etl.amod.word_index import WordIndex
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import TABLES
from adnominal.etl.looking.export import Output, write_file
from adnominal.etl.looking.layout import aligned, number
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
    pairs = _pairs(source, settings)
    corpora = _corpora(settings.lake, settings.corpus)
    if settings.out:
        output = Output(settings.out, settings.format, settings.overwrite)
        rows = write_file(output, SCHEMA, _batches(settings.lake, pairs, corpora))
        return f"{number(rows)} rows of {source} written to {settings.out}"
    counts = counts_of(settings.lake, pairs, corpora)
    shown = counts.slice(0, settings.limit).to_pylist()
    text = aligned(SCHEMA.names, [list(row.values()) for row in shown])
    hidden = counts.num_rows - len(shown)
    if hidden:
        text += f"\n… and {number(hidden)} more rows; out=FILE format=tsv writes all"
    return text


def _batches(root: str, pairs: pa.Table, corpora: Sequence[str]) -> Iterator[pa.RecordBatch]:
    yield from counts_of(root, pairs, corpora).to_batches()


def _corpora(root: str, requested: Sequence[str]) -> list[str]:
    """The requested corpora, or all that have been counted, sorted."""
    files = arrow.files(root, "amod_association")
    counted = sorted({str(dict(file.partition)["corpus"]) for file in files})
    if not counted:
        raise JobFailed(f"lake={root}: no corpus has been counted; run etl/extract_amod.py first")
    for name in requested:
        if name not in counted:
            known = ", ".join(counted) + nearest(name, counted)
            raise UserError(f"corpus={name}: expected one of {known}")
    return sorted(set(requested)) or counted


# ---------------------------------------------------------------------------------- given pairs


def _pairs(source: str, settings: Any) -> pa.Table:
    """The distinct pairs of a table, sorted, or of a file, in the order of their first lines."""
    if source in TABLES:
        return _pairs_of_table(settings.lake, source, settings.where)
    if not Path(source).exists():
        raise UserError(
            f"lookup {source}: no such file, nor a table of this name{nearest(source, TABLES)}; "
            f"expected a file with {_PAIR} in each line, or a table"
        )
    if settings.where:
        raise UserError(f"where={settings.where}: needs a table of the lake; {source} is a file")
    return _pairs_of_file(Path(source), settings.lowercase)


def _pairs_of_table(root: str, table: str, where: str | None) -> pa.Table:
    names = ", ".join(WORDS)
    sql = f"SELECT DISTINCT {names} FROM {table}{sql_where(where)} ORDER BY {names}"
    schema = pa.schema([SCHEMA.field(name) for name in WORDS])
    batches = [batch.cast(schema) for batch in arrow.query(root, table, sql)]
    pairs = pa.Table.from_batches(batches, schema).drop_null()
    if not pairs.num_rows:
        raise UserError(f"lookup {table}: no pair" + (f" satisfies where={where}" if where else ""))
    return pairs


def _pairs_of_file(path: Path, lowercase: bool) -> pa.Table:
    text = text_of(path, str(path))
    first_cells = text.partition("\n")[0].lower().split("\t")
    has_header = set(WORDS) <= {cell.strip() for cell in first_cells}
    columns = None if has_header else WORDS
    pairs = []
    for line, row in rows_of(text, str(path), WORDS, tabs=True, columns=columns):
        pair = tuple(row[word].strip() for word in WORDS)
        if not all(pair):
            cells = "\t".join(row.values())
            raise UserError(f"{path}: line {line}: got {cells!r}; expected {_PAIR}")
        pairs.append(pair)
    if not pairs:
        raise UserError(f"{path}: no pairs; expected {_PAIR} in each line")
    if lowercase:
        pairs = [(adjective.lower(), noun.lower()) for adjective, noun in pairs]
    adjectives, nouns = zip(*dict.fromkeys(pairs), strict=True)
    return pa.table({"adjective": adjectives, "noun": nouns})


# ---------------------------------------------------------------------------------- their counts


def counts_of(root: str, pairs: pa.Table, corpora: Sequence[str]) -> pa.Table:
    """The pairs in each corpus (`SCHEMA`): pair by pair, with the corpora in their order.

    Args:
        root: root of the lake.
        pairs: the distinct pairs, columns adjective and noun.
        corpora: the distinct names of the corpora.
    """
    rows = pa.concat_tables([_counts_in(root, pairs, corpus) for corpus in corpora])
    place = np.arange(rows.num_rows).reshape(len(corpora), pairs.num_rows)
    return rows.take(pa.array(place.T.ravel()))


def _counts_in(root: str, pairs: pa.Table, corpus: str) -> pa.Table:
    """The pairs in one corpus, in their order.

    The marginals are those of the words, so a pair that never occurs has them, too; its measures
    are null.
    """
    columns = {"corpus": pa.repeat(corpus, pairs.num_rows)}
    for word, table in (("adjective", "amod_by_adjective"), ("noun", "amod_association")):
        columns[word] = pairs[word]
        columns[f"{word}_count"] = _marginals(root, table, word, pairs[word], corpus)
    occurrences = _occurrences(root, pairs, corpus)
    columns["count"] = pc.fill_null(occurrences["count"], 0)
    columns |= {name: occurrences[name] for name in MEASURES}
    return pa.table([columns[name] for name in SCHEMA.names], schema=SCHEMA)


def _occurrences(root: str, pairs: pa.Table, corpus: str) -> pa.Table:
    """Count and measures of each pair, null if it never occurs.

    Of the table, only rows with a listed noun and a listed adjective are read, and only those of
    listed pairs stay in memory.
    """
    where = pc.field("corpus") == corpus
    for word in WORDS:
        where &= pc.field(word).isin(pairs[word].unique())
    names = [*WORDS, "count", *MEASURES]
    keys = _keys(pairs.combine_chunks().to_batches()[0])
    index = WordIndex(keys)
    listed = []
    for batch in arrow.batches(root, "amod_association", where=where, columns=names):
        is_listed = index.places(_keys(batch)) >= 0
        listed.append(batch.filter(pa.array(is_listed)))
    rows = pa.Table.from_batches(listed, pa.schema([SCHEMA.field(name) for name in names]))
    return rows.take(pc.index_in(keys, _keys(rows)))


def _keys(pairs: pa.Table | pa.RecordBatch) -> pa.StringArray | pa.ChunkedArray:
    """Adjective and noun in one text, by which a pair is found."""
    return pc.binary_join_element_wise(pairs["adjective"], pairs["noun"], "\0")


def _marginals(
    root: str, table: str, word: str, words: pa.ChunkedArray, corpus: str
) -> npt.NDArray[np.int64]:
    """The number of pairs with each of `words`, 0 for an unknown one.

    `table` is sorted by the word, and states the number in each of its rows.
    """
    distinct = words.unique()
    index = WordIndex(distinct)
    counts = np.zeros(len(distinct), np.int64)
    where = (pc.field("corpus") == corpus) & pc.field(word).isin(distinct)
    for batch in arrow.batches(root, table, where=where, columns=[word, f"{word}_count"]):
        place = index.places(batch.column(word))
        counts[place] = batch.column(f"{word}_count").to_numpy()
    return counts[index.places(words.combine_chunks())]
