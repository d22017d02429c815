"""Keeping tables tidy: small files merged, files that no version needs deleted, everything checked.

Each works while writers write. Compaction puts one file in the place of many, in a commit that
changes no row; the files replaced stay for the versions that name them. Vacuum deletes files that
no version within the retention names and no write under way has staged. Neither keeps state: killed
anywhere, they are run again.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.fs as pa_fs
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from conf import UserError
from etl.lake import actions, log, staging
from etl.lake.actions import LOG, LOG_FILE, UNNAMED
from etl.lake.columns import Table
from etl.lake.errors import LakeFailed
from etl.lake.handles import consistently
from etl.lake.log import Change, File
from etl.lake.partitions import folder_names
from etl.lake.schema import partition_text
from etl.lake.staging import DATA, MARKERS, Staged, listing
from etl.lake.storage import filesystem, table_uri
from etl.lake.writing import clean

SMALL = 4 << 20
"""A file below so many bytes is merged with others of its partition."""
# What files of a table are elsewhere, so that a task that holds one holds no more than before.
MERGED_BYTES, MERGED_ROWS = 32 << 20, 1 << 20
_ATTEMPTS = 50
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def age(text: str) -> timedelta:
    """``7d``, ``12h``, ``30m``, ``0s`` as a length of time.

    Raises:
        UserError: anything else, and a time that begins before the calendar.
    """
    match = re.fullmatch(r"(\d+)([smhdw])", text.strip())
    if match is None:
        raise UserError(f"older_than={text}: expected a number and s, m, h, d or w, as 7d or 12h")
    try:
        length = timedelta(**{_UNITS[match[2]]: int(match[1])})
        datetime.now(UTC) - length  # the calendar begins with the year 1
    except (OverflowError, ValueError) as error:
        raise UserError(f"older_than={text}: too long; expected at most some centuries") from error
    return length


# ---------------------------------------------------------------------------------- compaction


@dataclass(frozen=True)
class Compacted:
    """How many files were (or would be) merged, into how many."""

    merged: int
    merged_into: int


def compact(root: str, table_spec: Table, *, dry_run: bool = False) -> Compacted:
    """Merge the small files of each partition.

    Rows keep the table's order (`Table.sort_by`), else that in which they were written; partition
    values and application transactions stay. Writers that append meanwhile are not disturbed, nor
    do they disturb; a partition that is replaced meanwhile is left as its writer made it.

    Raises:
        LakeError: no such table, or not as declared.
        LakeFailed: a file cannot be read; other writers took every version.
    """
    uri = table_uri(root, table_spec.name)
    handle = log.existing_table(root, table_spec, writing=True)
    groups = _groups(log.active_files(handle))
    plan = Compacted(sum(map(len, groups)), len(groups))
    if dry_run or not groups:
        return plan
    files = filesystem(uri)
    write = staging.begin(files)
    try:
        rows = sum(
            _merge(files, table_spec, group, f"{write}/{number}")
            for number, group in enumerate(groups)
        )
        compacted = _commit_merged(uri, table_spec, groups, write, rows)
    except Exception:
        if log.committed_version(uri, write, handle.version()) is None:
            staging.discard(files, write)
        raise
    if not compacted.merged:
        staging.discard(files, write)
        return compacted
    staging.finish(files, write)
    DeltaTable(uri).create_checkpoint()  # what was merged need not be read any more to open it
    return compacted


def _groups(files: Sequence[File]) -> list[list[File]]:
    """Files to merge: small ones of one partition, in the order of their writing."""
    partitions: dict[tuple[tuple[str, Any], ...], list[File]] = defaultdict(list)
    for file in sorted(files, key=lambda file: file.path):
        if file.size < SMALL and file.rows is not None:
            partitions[file.partition].append(file)
    groups: list[list[File]] = []
    for members in partitions.values():
        group: list[File] = []
        for file in members:
            size = sum(f.size for f in (*group, file))
            rows = sum(f.rows or 0 for f in (*group, file))
            if size > MERGED_BYTES or rows > MERGED_ROWS:
                groups.append(group)
                group = []
            group.append(file)
        groups.append(group)
    return [group for group in groups if len(group) > 1]


def _merge(files: pa_fs.FileSystem, table_spec: Table, group: Sequence[File], name: str) -> int:
    """Write the rows of a group as one file; how many they are. `name` is WRITE/NUMBER."""
    columns = table_spec.stored_schema.remove_metadata()
    tables = []
    for file in group:
        try:
            with files.open_input_file(file.path) as stream:
                tables.append(pq.ParquetFile(stream).read(columns=columns.names).cast(columns))
        except (OSError, pa.ArrowException) as error:
            raise LakeFailed(f"{table_spec.name}: {file.path} cannot be read: {error}") from error
    rows = pa.concat_tables(tables)
    if table_spec.sort_by:
        rows = rows.sort_by([(column, "ascending") for column in table_spec.sort_by])
    write, _, number = name.partition("/")
    folder = "/".join([DATA, write, *folder_names(dict(group[0].partition))])
    files.create_dir(folder, recursive=True)
    with files.open_output_stream(f"{folder}/part-{number}.parquet") as stream:
        pq.write_table(rows, stream, row_group_size=table_spec.group_rows, store_schema=False)
    return int(rows.num_rows)


def _commit_merged(
    uri: str, table_spec: Table, groups: Sequence[Sequence[File]], write: str, rows: int
) -> Compacted:
    files = filesystem(uri)
    adds = staging.collect(files, table_spec, Staged(write, rows))
    by_number = {int(add.path.rsplit("-", 1)[1].split(".")[0]): add for add in adds}
    for _ in range(_ATTEMPTS):
        handle = log.open_table(uri, table_spec, writing=True)
        active = set() if handle is None else {file.path for file in log.active_files(handle)}
        # A group of which a file is gone was replaced by a writer: its rows are no more.
        current = [n for n, group in enumerate(groups) if all(f.path in active for f in group)]
        if handle is None or not current:
            return Compacted(0, 0)
        merged_files = [file for number in current for file in groups[number]]
        written_adds = [by_number[number] for number in current]
        size = sum(add.size for add in written_adds)
        counts = {"rows": 0, "files": len(written_adds), "bytes": size}
        info = log.user_metadata(Change("compact", "etl.lake compact"), write, counts)
        if actions.put_commit(uri, handle.version() + 1, _swap(merged_files, written_adds, info)):
            return Compacted(len(merged_files), len(written_adds))
    raise LakeFailed(
        f"{table_spec.name}: other writers took every version in {_ATTEMPTS} attempts; run "
        "compact again"
    )


def _swap(
    old_files: Sequence[File], new_files: Sequence[Any], user_metadata: str
) -> list[dict[str, Any]]:
    """The actions of a commit that puts files in the place of others, changing no row."""
    timestamp = int(datetime.now(UTC).timestamp() * 1000)
    info = {"timestamp": timestamp, "operation": "OPTIMIZE", "userMetadata": user_metadata}
    commit: list[dict[str, Any]] = [{"commitInfo": info}]
    for file in old_files:
        remove_action = {
            "path": actions.encoded_path(file.path),
            "deletionTimestamp": timestamp,
            "dataChange": False,
            "extendedFileMetadata": True,
            "partitionValues": {name: partition_text(value) for name, value in file.partition},
            "size": file.size,
        }
        commit.append({"remove": remove_action})
    for add in new_files:
        add_action = {
            "path": actions.encoded_path(add.path),
            "partitionValues": add.partition_values,
            "size": add.size,
            "modificationTime": add.modification_time,
            "dataChange": False,
            "stats": add.stats,
        }
        commit.append({"add": add_action})
    return commit


# ---------------------------------------------------------------------------------- vacuum


@dataclass(frozen=True)
class Vacuumed:
    """What was (or would be) deleted: files of rows, files of the log, bytes of both."""

    files: int
    logs: int
    bytes: int


def vacuum(
    root: str, table_spec: Table, older_than: timedelta, *, dry_run: bool = False
) -> Vacuumed:
    """Delete the files that no version of the last `older_than` names, and older logs.

    A version belongs to them if it was the newest at any time since. Files that a write under way
    has staged, and files younger than `older_than`, are left. Earlier versions can no longer be
    read afterwards, and are no longer in the history. Where the log begins within `older_than`, all
    that it has is kept.

    Raises:
        LakeError: no such table.
    """
    uri = table_uri(root, table_spec.name)
    log.existing_table(root, table_spec)
    if not dry_run:
        clean(uri, table_spec)
    files = filesystem(uri)
    limit = datetime.now(UTC) - older_than
    # In this order: a write that commits meanwhile is in the log, another has its marker.
    stored_files = data_files(files)
    writing = {info.base_name for info in listing(files, MARKERS)}
    handle = log.existing_table(root, table_spec)
    oldest = _oldest_kept(handle, limit)
    named_paths = _named_since(handle, files, oldest)
    deletable = [
        info
        for info in stored_files
        if info.mtime <= limit
        and info.path not in named_paths
        and not staging.written_by([info.path]) & writing
    ]
    old_logs = _logs_before(files, oldest)
    logs = [*old_logs, *_unnamed_logs(files)]
    if not dry_run:
        if old_logs:
            _checkpoint(handle, files, oldest)
        for info in (*deletable, *logs):
            staging.remove(files, info.path)
        _remove_empty_folders(files)
    return Vacuumed(len(deletable), len(logs), sum(info.size for info in (*deletable, *logs)))


def data_files(files: pa_fs.FileSystem) -> list[pa_fs.FileInfo]:
    """The files of rows in a table's folder, whoever wrote them."""
    return [
        info
        for info in listing(files, "")
        if not info.path.startswith(("_", ".")) and not info.base_name.startswith(("_", "."))
    ]


def _oldest_kept(handle: DeltaTable, limit: datetime) -> int:
    """The version that was the newest at `limit`; that before the log's first if all are younger.

    (What the first commit of the log replaced was the newest within the time, too.)
    """
    records = log.history(handle)
    old_versions = [record.version for record in records if record.when <= limit]
    return max(old_versions) if old_versions else min(record.version for record in records) - 1


def _named_since(handle: DeltaTable, files: pa_fs.FileSystem, version: int) -> set[str]:
    """Files that the newest version or any since `version` names."""
    named_paths = {file.path for file in log.active_files(handle)}
    for later in range(version + 1, handle.version() + 1):
        commit = actions.read(files, later)
        if commit is None:
            raise LakeFailed(
                f"commit {later} of {handle.table_uri} cannot be read; nothing was deleted"
            )
        named_paths |= actions.paths_of(commit)
    return named_paths


def _logs_before(files: pa_fs.FileSystem, oldest: int) -> list[pa_fs.FileInfo]:
    """Files of the log of versions before `oldest`."""
    old = [
        (int(match[1]), info.path, info)
        for info in listing(files, LOG)
        if (match := LOG_FILE.search(info.path)) and int(match[1]) < oldest
    ]
    # The oldest first: killed in between, the log is one that begins later, without a gap.
    return [info for *_, info in sorted(old)]


def _unnamed_logs(files: pa_fs.FileSystem) -> list[pa_fs.FileInfo]:
    """What commits left that were killed between writing a file and giving it its name."""
    killed_before = datetime.now(UTC) - staging.LEFTOVER_AGE
    return [
        info
        for info in listing(files, LOG)
        if UNNAMED.search(info.base_name) and info.mtime <= killed_before
    ]


def _checkpoint(handle: DeltaTable, files: pa_fs.FileSystem, version: int) -> None:
    """Make checkpoints by which `version` and later ones are read without the log before it."""
    uri, path = handle.table_uri, f"{LOG}/{version:020}.checkpoint.parquet"
    if version < handle.version() and path not in {info.path for info in listing(files, LOG)}:
        try:
            consistently(lambda: DeltaTable(uri, version=version)).create_checkpoint()
        except DeltaError as error:
            raise LakeFailed(
                f"version {version} of {uri} cannot be read; nothing was deleted: {error}"
            ) from error
    handle.create_checkpoint()  # at last that of the newest version: the log names it to readers


def _remove_empty_folders(files: pa_fs.FileSystem) -> None:
    if not isinstance(files, pa_fs.SubTreeFileSystem):
        return  # object stores have none
    # In this order: a write that begins after the folders were listed is not among them, one that
    # has ended before its marker was looked for has its files there.
    folders = files.get_file_info(pa_fs.FileSelector(DATA, allow_not_found=True))
    live = {info.base_name for info in listing(files, MARKERS)}
    live |= staging.written_by([info.path for info in listing(files, DATA)])
    for info in folders:
        if info.type == pa_fs.FileType.Directory and info.base_name not in live:
            staging.remove(files, info.path)
