"""Look up the rows of one word in a file through the statistics of its row groups.

For tables whose files are sorted by the word that is looked up (`amod_association` by noun,
`amod_by_adjective` by adjective). Only the footers of a few files are kept in memory.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from adnominal.etl.lake.storage import filesystem, table_uri
from adnominal.etl.lake.tables import table as declaration

_FOOTERS = 8  # about 300 kB each for a file of a million pairs


class SortedFiles:
    """The files of a table, each sorted by `column`."""

    def __init__(self, root: str, table: str, column: str, columns: Sequence[str]) -> None:
        """Args:
        root: root of the lake.
        table: name of the table.
        column: the text column by which each file is sorted.
        columns: the other columns that are read.
        """
        declared = declaration(table)
        self._files = filesystem(table_uri(root, table))
        self._column = column
        fields = [declared.schema.field(name).remove_metadata() for name in columns]
        texts = [field.name for field in fields if pa.types.is_string(field.type)]
        # Most text of a word's rows is never looked at, so it stays dictionary-encoded.
        coded_text = pa.dictionary(pa.int32(), pa.string())
        # The columns that can be read, as `rows` returns them.
        self.schema = pa.schema([f.with_type(coded_text) if f.name in texts else f for f in fields])
        self._texts = [column, *texts]
        self._footer = lru_cache(_FOOTERS)(self._read_footer)

    def rows(self, path: str, word: str, columns: Sequence[str]) -> pa.Table:
        """Return columns of the rows of `word` in the file at `path`; possibly no rows.

        Text is dictionary-encoded, with another dictionary in each row group.
        """
        schema = pa.schema([self.schema.field(name) for name in columns])
        key = word.encode()
        file, bounds = self._open(path)
        with file:
            tables = []
            for group, (least, most) in enumerate(bounds):
                if not least <= key <= most:
                    continue
                rows = file.read_row_group(group, [self._column, *columns], use_threads=False)
                start, end = _range(rows.column(self._column), word)
                if start < end:
                    rows = rows.select(columns)
                    if end - start < rows.num_rows:
                        rows = _row_copies(rows, start, end)
                    tables.append(rows.cast(schema))
        return pa.concat_tables(tables) if tables else schema.empty_table()

    def words(self, path: str, count: str) -> Iterator[tuple[pa.Array, pa.Array]]:
        """Yield the distinct words of a file with their `count`, which all rows of a word share.

        The words come in file order, one row group at a time; a word in two row groups comes twice.
        """
        with self._open(path)[0] as file:
            for group in range(file.metadata.num_row_groups):
                rows = file.read_row_group(group, [self._column, count], use_threads=False)
                column = as_dictionary(rows.column(self._column))
                codes = column.indices.to_numpy()
                first = np.flatnonzero(np.diff(codes, prepend=-1))
                yield (
                    column.dictionary.take(pa.array(codes[first])),
                    rows.column(count).take(pa.array(first)).combine_chunks(),
                )

    def _open(self, path: str) -> tuple[pq.ParquetFile, list[tuple[bytes, bytes]]]:
        """Return the file, with the first and last word of each of its row groups."""
        metadata, bounds = self._footer(path)
        source = self._files.open_input_file(path)
        return pq.ParquetFile(source, metadata=metadata, read_dictionary=self._texts), bounds

    def _read_footer(self, path: str) -> tuple[pq.FileMetaData, list[tuple[bytes, bytes]]]:
        metadata = pq.read_metadata(path, filesystem=self._files)
        return metadata, _bounds(metadata, self._column)


def _row_copies(rows: pa.Table, start: int, end: int) -> pa.Table:
    """Copy some rows: a slice would hold on to the whole row group and all of its text."""
    part = rows.take(pa.array(np.arange(start, end)))
    for place, field in enumerate(part.schema):
        if pa.types.is_dictionary(field.type):
            texts = part.column(place).cast(pa.string()).combine_chunks()
            part = part.set_column(place, field.name, texts.dictionary_encode())
    return part


def _bounds(metadata: pq.FileMetaData, column: str) -> list[tuple[bytes, bytes]]:
    """Return bounds as bytes, the tables' sort order; a group without them may have any word."""
    place = metadata.schema.names.index(column)
    bounds_of_groups = []
    for group in range(metadata.num_row_groups):
        bounds = metadata.row_group(group).column(place).statistics
        if bounds is None or not bounds.has_min_max:
            bounds_of_groups.append((b"", b"\xff"))
        else:
            bounds_of_groups.append((bounds.min.encode(), bounds.max.encode()))
    return bounds_of_groups


def as_dictionary(words: pa.ChunkedArray) -> pa.DictionaryArray:
    """Return the words, dictionary-encoded or not, as one array with one dictionary."""
    if not pa.types.is_dictionary(words.type):
        # Combined first: encoded chunk by chunk, each would get a dictionary of all before it.
        words = pa.chunked_array([words.combine_chunks()], pa.string()).dictionary_encode()
    one = words.unify_dictionaries().combine_chunks()
    return one if isinstance(one, pa.DictionaryArray) else one.chunk(0)


def _range(words: pa.ChunkedArray, word: str) -> tuple[int, int]:
    """Return where the rows of `word` begin and end in sorted words."""
    column = as_dictionary(words)
    code = pc.index(column.dictionary, word).as_py()
    if code < 0:
        return 0, 0
    places = np.flatnonzero(column.indices.to_numpy() == code)
    return (int(places[0]), int(places[-1]) + 1) if len(places) else (0, 0)
