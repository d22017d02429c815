"""Files on their way into a table: their place, their checks, and leftovers of killed writes.

A write puts its Parquet files in their final place, ``data/<write>/<column>=<value>/…`` in the
table's folder, since object stores cannot rename; no reader sees them before the log names them. A
marker ``_staging/<write>`` exists from before the first file until after the commit, so that the
leftovers of a killed write are known without listing the table. `clean` removes leftovers once none
of their files was touched for a day: a live writer would still be adding files.

delta-rs checks neither files nor schema when a commit names them: `collect` is the only guard.
"""

import contextlib
import errno
import json
import os
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pa_fs
import pyarrow.parquet as pq
from deltalake.transaction import AddAction

from adnominal.etl.lake.columns import Table
from adnominal.etl.lake.errors import LakeError, LakeFailed, storage_failure
from adnominal.etl.lake.schema import differences, named_types, partition_text, partition_value
from adnominal.etl.lake.storage import escape, unescape

DATA = "data"
MARKERS = "_staging"
LEFTOVER_AGE = timedelta(hours=24)
_THREADS = 16
_DELETIONS = 20
_TEXT_LIMIT = 32  # characters of a minimum or maximum, as in other Delta writers


@dataclass(frozen=True)
class Staged:
    """A finished set of files, not yet in the table; `rows` is what their writer counted.

    `paths` names the files if attempts of tasks may have left others beside them; otherwise every
    file in the folder counts.
    """

    write: str
    rows: int
    paths: frozenset[str] | None = None

    @property
    def folder(self) -> str:
        """The folder of the files within the table."""
        return f"{DATA}/{self.write}"


def begin(filesystem: pa_fs.FileSystem) -> str:
    """Create the marker of a new write and return the write's name.

    Raises:
        LakeError: as `create_folder`.
    """
    write = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{uuid.uuid4().hex[:12]}"
    create_folder(filesystem, MARKERS)
    marker = f"{MARKERS}/{write}"
    with _creation_errors(filesystem, marker), filesystem.open_output_stream(marker) as stream:
        stream.write(write.encode())
    return write


def create_folder(filesystem: pa_fs.FileSystem, path: str) -> None:
    """Create a folder and its parents in a folder directly below the lake's root.

    This is the first thing that a write does, so it shows whether lake= is writable at all.

    Raises:
        LakeError: lake= does not name a writable folder.
    """
    with _creation_errors(filesystem, path):
        filesystem.create_dir(path, recursive=True)


@contextlib.contextmanager
def _creation_errors(filesystem: pa_fs.FileSystem, path: str) -> Iterator[None]:
    """Report that `path` cannot be created as the user's mistake, unless the storage failed."""
    try:
        yield
    except OSError as error:
        if storage_failure(error) is not None:  # reported as such, whatever job meets it
            raise
        base = getattr(filesystem, "base_path", "")
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise LakeError(
            f"lake={os.path.dirname(base.rstrip('/'))}: {base}{path} cannot be created: {reason}; "
            "expected a folder that can be written to, or one that can be created"
        ) from error


def finish(filesystem: pa_fs.FileSystem, write: str) -> None:
    """Remove the marker once the files are in the table."""
    remove(filesystem, f"{MARKERS}/{write}")


def discard(filesystem: pa_fs.FileSystem, write: str) -> None:
    """Delete the files of a failed write, then its marker."""
    remove(filesystem, f"{DATA}/{write}")
    finish(filesystem, write)


def remove(filesystem: pa_fs.FileSystem, path: str) -> None:
    """Delete a file, or a folder with its content.

    Another writer may be deleting the same, and a killed job's tasks may be adding files to it.
    """
    for _ in range(_DELETIONS):
        kind = filesystem.get_file_info(path).type
        try:
            if kind == pa_fs.FileType.Directory:
                filesystem.delete_dir(path)
            elif kind != pa_fs.FileType.NotFound:
                filesystem.delete_file(path)
            return
        except FileNotFoundError:
            continue  # some or all of it was deleted meanwhile: look again
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:  # a file was added meanwhile
                raise


def clean(
    filesystem: pa_fs.FileSystem,
    committed_writes: Callable[[], Collection[str]],
    older_than: timedelta = LEFTOVER_AGE,
) -> list[str]:
    """Delete the leftovers of killed writes and return the names of those writes.

    A write is kept while its marker or any of its files is younger than `older_than`. If a write is
    among the `committed_writes`, only its marker is deleted; the function is called only for old
    markers.
    """
    limit = datetime.now(UTC) - older_than
    old_writes = [info.base_name for info in listing(filesystem, MARKERS) if info.mtime <= limit]
    known = committed_writes() if old_writes else ()
    removed_writes = []
    for write in old_writes:
        if write in known:
            finish(filesystem, write)
        elif all(file.mtime <= limit for file in listing(filesystem, f"{DATA}/{write}")):
            discard(filesystem, write)
            removed_writes.append(write)
    return removed_writes


def listing(filesystem: pa_fs.FileSystem, folder: str) -> list[pa_fs.FileInfo]:
    """Return the files below a folder; none if it does not exist."""
    selector = pa_fs.FileSelector(folder, recursive=True, allow_not_found=True)
    try:
        entries = filesystem.get_file_info(selector)
    except FileNotFoundError:
        # Despite the selector, Arrow raises this for a folder created while it was listing.
        return []
    return [info for info in _not_by_links(filesystem, entries) if info.is_file]


def _not_by_links(
    filesystem: pa_fs.FileSystem, entries: Sequence[pa_fs.FileInfo]
) -> Iterator[pa_fs.FileInfo]:
    """Keep the files in the table's own folders: Arrow follows links to files that are not ours."""
    if not isinstance(filesystem, pa_fs.SubTreeFileSystem):
        yield from entries
        return
    links: list[str] = []
    for info in sorted(entries, key=lambda info: info.path):
        if any(info.path.startswith(link) for link in links):
            continue
        if not info.is_file and os.path.islink(os.path.join(filesystem.base_path, info.path)):
            links.append(f"{info.path}/")
            continue
        yield info


def parts(rows: pa.Table, partition_by: tuple[str, ...]) -> Iterator[tuple[list[str], pa.Table]]:
    """Yield the rows of each partition and its folder names; a single partition is not copied."""
    if not partition_by:
        yield [], rows
        return
    partitions = rows.group_by(list(partition_by)).aggregate([]).to_pylist()
    for values in partitions:
        part = rows
        if len(partitions) > 1:
            part = rows.filter(
                reduce(pc.and_, (_equals_or_is_null(rows[n], values[n]) for n in partition_by))
            )
        yield folder_names(values), part


def _equals_or_is_null(column: pa.ChunkedArray, value: object) -> pa.ChunkedArray:
    if value is None:
        return pc.is_null(column)
    return pc.equal(column, pa.scalar(value, column.type))


def folder_names(values: Mapping[str, object]) -> list[str]:
    """Return the names of the folders of a partition, one for each of its columns."""
    return [f"{name}={escape(partition_text(value))}" for name, value in values.items()]


def collect(
    filesystem: pa_fs.FileSystem, table_spec: Table, staged_data: Staged
) -> list[AddAction]:
    """Check every file of a staged write by its footer and return its add-actions.

    Files without rows are skipped; files of failed attempts are deleted. Statistics are limited to
    those that all readers understand alike: none for floating point (writers differ on NaN), lists,
    structs and binary.

    Raises:
        LakeError: a file's columns are not as declared, or Delta would store a partition value as
            null.
        LakeFailed: a file is not readable as Parquet, or the row count differs from the writer's.
    """
    files = [
        info
        for info in listing(filesystem, staged_data.folder)
        if not info.base_name.startswith(("_", ".")) and "/_temporary/" not in info.path
    ]
    if (paths := staged_data.paths) is not None:
        for info in files:
            if info.path not in paths:
                filesystem.delete_file(info.path)
        files = [info for info in files if info.path in paths]
    with ThreadPoolExecutor(_THREADS) as pool:
        adds = list(pool.map(lambda info: _add_action(filesystem, table_spec, info), files))
    counted = sum(rows for _, rows in adds)
    if counted != staged_data.rows:
        raise LakeFailed(
            f"{table_spec.name}: {counted} rows in the {len(files)} files of {staged_data.folder}, "
            f"{staged_data.rows} were written: files are missing, or another write is mixed in; "
            "run the job again"
        )
    return sorted((add for add, rows in adds if rows), key=lambda add: str(add.path))


def _add_action(
    filesystem: pa_fs.FileSystem, table_spec: Table, info: pa_fs.FileInfo
) -> tuple[AddAction, int]:
    """The action that adds a staged file to the table, and the number of its rows."""
    path = info.path
    try:
        footer = pq.read_metadata(path, filesystem=filesystem)
    except (OSError, pa.ArrowException) as error:
        raise LakeFailed(
            f"{table_spec.name}: staged file {path} is missing or not readable as Parquet "
            f"({error}); nothing was committed, run the job again"
        ) from error
    file_schema = table_spec.stored_schema
    lines = differences(named_types(file_schema), named_types(footer.schema.to_arrow_schema()))
    if lines:
        raise LakeError(
            f"{table_spec.name}: staged file {path} is not as declared: {'; '.join(lines)}"
        )
    action = AddAction(
        path=path,
        size=info.size,
        partition_values=_partition_values(table_spec, path),
        modification_time=int(info.mtime.timestamp() * 1000),
        data_change=True,
        stats=json.dumps(statistics(footer, file_schema), ensure_ascii=False),
    )
    return action, footer.num_rows


def _partition_values(table_spec: Table, path: str) -> dict[str, str | None]:
    """The partition of a staged file from the folders of its path, as the log writes it."""
    folders = [folder.partition("=") for folder in path.split("/")[2:-1]]
    names = tuple(name for name, _, _ in folders)
    if names != table_spec.partition_by:
        raise LakeError(
            f"{table_spec.name}: staged file {path} is in partitions ({', '.join(names)}), "
            f"declared ({', '.join(table_spec.partition_by)})"
        )
    values: dict[str, str | None] = {}
    for name, _, escaped in folders:
        kind = table_spec.schema.field(name).type
        try:
            values[name] = partition_text(partition_value(unescape(escaped), kind))
        except ValueError as error:
            raise LakeError(f"{table_spec.name}: column {name}: {error}") from error
    return values


def statistics(footer: pq.FileMetaData, schema: pa.Schema) -> dict[str, Any]:
    """Return a file's statistics for the Delta log, from those of its row groups.

    A column has a minimum and maximum only if every row group with values has both. Long text is
    cut to its first characters; in a maximum, the last character is raised, to keep bounds.
    """
    groups = [footer.row_group(index) for index in range(footer.num_row_groups)]
    lows: dict[str, Any] = {}
    highs: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for index in range(footer.num_columns):
        name = footer.schema.column(index).path
        if name not in schema.names:  # inside a list or struct
            continue
        parts = [(group.num_rows, group.column(index).statistics) for group in groups]
        if any(part is None or not part.has_null_count for rows, part in parts if rows):
            continue
        nulls[name] = sum(part.null_count for rows, part in parts if rows)
        valued = [part for rows, part in parts if rows and part.null_count < rows]
        if not valued or not all(part.has_min_max for part in valued):
            continue
        kind = schema.field(name).type
        low = _bound(min(part.min for part in valued), kind, upper=False)
        high = _bound(max(part.max for part in valued), kind, upper=True)
        if low is not None and high is not None:
            lows[name], highs[name] = low, high
    bounds = {"minValues": lows, "maxValues": highs}
    return {"numRecords": footer.num_rows, **bounds, "nullCount": nulls}


def _bound(value: Any, kind: pa.DataType, *, upper: bool) -> Any:
    """Return a bound in the log's spelling, at or beyond `value`; None if there is none."""
    if pa.types.is_integer(kind):
        return value
    if pa.types.is_string(kind):
        return _text_bound(value, upper)
    if pa.types.is_date(kind):
        return value.isoformat()
    if pa.types.is_timestamp(kind):
        # Readers keep milliseconds: the bound moves outwards to the next whole one.
        epoch, step = datetime(1970, 1, 1, tzinfo=value.tzinfo), timedelta(milliseconds=1)
        steps = -((epoch - value) // step) if upper else (value - epoch) // step
        moment = datetime(1970, 1, 1, tzinfo=UTC) + steps * step
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return None


def _text_bound(value: str, upper: bool) -> str | None:
    """A bound of a text by at most `_TEXT_LIMIT` characters: not above it, or not below it.

    An upper bound of a longer text has its last possible character raised by one; None if there is
    none.
    """
    head = value[:_TEXT_LIMIT]
    if len(value) <= _TEXT_LIMIT or not upper:
        return head
    for end in range(len(head) - 1, -1, -1):
        raised = ord(head[end]) + 1
        if 0xD800 <= raised < 0xE000:  # no character has these numbers
            raised = 0xE000
        if raised <= 0x10FFFF:
            return head[:end] + chr(raised)
    return None


def written_by(paths: Sequence[str]) -> set[str]:
    """Return the writes that files of a table (paths within it) came from."""
    return {path.split("/")[1] for path in paths if path.startswith(f"{DATA}/")}
