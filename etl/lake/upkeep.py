"""Maintain tables: merge small files and delete files that no version needs.

Both work while writers write. Compaction replaces many files with one, in a commit that changes no
row; the old files stay for the versions that name them. Vacuum deletes files that no version within
the retention period names and no running write has staged. After a kill, run either again.
"""

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

from adnominal.conf import UserError
from adnominal.etl.lake import actions, doubled, log, staging
from adnominal.etl.lake.actions import LOG, LOG_FILE, UNNAMED
from adnominal.etl.lake.columns import Table
from adnominal.etl.lake.errors import LakeFailed
from adnominal.etl.lake.handles import retry_if_vacuumed
from adnominal.etl.lake.log import Change, File
from adnominal.etl.lake.schema import with_later_columns
from adnominal.etl.lake.staging import DATA, MARKERS, Staged, folder_names, listing
from adnominal.etl.lake.storage import filesystem, table_uri
from adnominal.etl.lake.writing import clean

SMALL = 4 << 20
"""Files below this many bytes are merged with others of their partition."""
# The size of other files of a table, so that a task needs no more memory for a merged one.
MERGED_BYTES, MERGED_ROWS = 32 << 20, 1 << 20
_ATTEMPTS = 50
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def age(text: str) -> timedelta:
    """Parse ``7d``, ``12h``, ``30m`` or ``0s`` as a duration.

    Raises:
        UserError: the text is anything else, or the period begins before the calendar.
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

    Rows keep the table's order (`Table.sort_by`) or else the order in which they were written;
    partition values and application transactions stay. Concurrent appends do not interfere; a
    partition that is replaced meanwhile is left as its writer made it.

    Raises:
        LakeError: the table does not exist or is not as declared.
        LakeFailed: a file cannot be read, or other writers took every version.
    """
    uri = table_uri(root, table_spec.name)
    handle = log.existing_table(root, table_spec, writing=True)
    active_files = log.active_files(handle)
    doubled.refuse(handle, table_spec, active_files)
    groups = _groups(active_files)
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
    DeltaTable(uri).create_checkpoint()  # opening the table skips the commits before it
    return compacted


def _groups(files: Sequence[File]) -> list[list[File]]:
    """Group the files to merge: small files of one partition, in the order of writing."""
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
    """Write the rows of a group as one file; return their number. `name` is WRITE/NUMBER."""
    columns = table_spec.stored_schema
    tables = []
    for file in group:
        try:
            with files.open_input_file(file.path) as stream:
                stored_rows = pq.ParquetFile(stream).read(columns=columns.names)
        except (OSError, pa.ArrowException) as error:
            raise LakeFailed(f"{table_spec.name}: {file.path} cannot be read: {error}") from error
        tables.append(with_later_columns(stored_rows, columns).cast(columns.remove_metadata()))
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
    """Commit the merged files of the groups whose files are all still active.

    Another writer may commit first; then the groups are looked at again.
    """
    files = filesystem(uri)
    adds = staging.collect(files, table_spec, Staged(write, rows))
    by_number = {int(add.path.rsplit("-", 1)[1].split(".")[0]): add for add in adds}
    for _ in range(_ATTEMPTS):
        handle = log.open_table(uri, table_spec, writing=True)
        active = set() if handle is None else {f.log_path for f in log.active_files(handle)}
        # If a file of a group is gone, a writer replaced its rows.
        current = [n for n, group in enumerate(groups) if all(f.log_path in active for f in group)]
        if handle is None or not current:
            return Compacted(0, 0)
        merged_files = [file for number in current for file in groups[number]]
        written_adds = [by_number[number] for number in current]
        size = sum(add.size for add in written_adds)
        counts = {"rows": 0, "files": len(written_adds), "bytes": size}
        info = log.user_metadata(Change("compact", "etl.lake compact"), write, counts)
        is_written = actions.put_commit(
            uri, handle.version() + 1, _swap(merged_files, written_adds, info)
        )
        # A store that lost its answer tries again, and then finds the version taken, by this write.
        if is_written or log.committed_version(uri, write, handle.version()) is not None:
            return Compacted(len(merged_files), len(written_adds))
    raise LakeFailed(
        f"{table_spec.name}: other writers took every version in {_ATTEMPTS} attempts; run "
        "compact again"
    )


def _swap(
    old_files: Sequence[File], new_files: Sequence[Any], user_metadata: str
) -> list[dict[str, Any]]:
    """Return the actions of a commit that replaces files without changing a row."""
    commit = [actions.commit_info("OPTIMIZE", user_metadata)]
    commit += [file.removal(data_change=False) for file in old_files]
    commit += [actions.addition(add, data_change=False) for add in new_files]
    return commit


# ---------------------------------------------------------------------------------- vacuum


@dataclass(frozen=True)
class Vacuumed:
    """What was (or would be) deleted: data files, log files and the bytes of both."""

    files: int
    logs: int
    bytes: int


def vacuum(
    root: str, table_spec: Table, older_than: timedelta, *, dry_run: bool = False
) -> Vacuumed:
    """Delete the files that no version of the last `older_than` names, and older logs.

    These versions are all that were the newest at any time in that period. Files staged by a
    running write and files younger than `older_than` are kept. Earlier versions can no longer be
    read afterwards and disappear from the history. A log that begins within `older_than` is kept
    whole.

    Raises:
        LakeError: the table does not exist.
    """
    uri = table_uri(root, table_spec.name)
    log.existing_table(root, table_spec)
    if not dry_run:
        clean(uri, table_spec)
    files = filesystem(uri)
    limit = datetime.now(UTC) - older_than
    # The order matters: a write that commits meanwhile is in the log, any other has its marker.
    stored_files = data_files(files)
    writing = {info.base_name for info in listing(files, MARKERS)}
    handle = log.existing_table(root, table_spec)
    oldest = _oldest_kept_version(handle, limit)
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
    deletable += _checksums(files, [*deletable, *logs], limit)
    if not dry_run:
        if old_logs:
            _checkpoint(handle, files, oldest)
        for info in (*deletable, *logs):
            staging.remove(files, info.path)
        _remove_empty_folders(files)
    return Vacuumed(len(deletable), len(logs), sum(info.size for info in (*deletable, *logs)))


def data_files(files: pa_fs.FileSystem) -> list[pa_fs.FileInfo]:
    """Return the data files in a table's folder, whoever wrote them."""
    return [
        info
        for info in listing(files, "")
        if not info.path.startswith(("_", ".")) and not info.base_name.startswith(("_", "."))
    ]


def _checksums(
    files: pa_fs.FileSystem, deletable: Sequence[pa_fs.FileInfo], limit: datetime
) -> list[pa_fs.FileInfo]:
    """Return Hadoop's checksums, ``.NAME.crc``, of files that are deletable or gone."""
    if not isinstance(files, pa_fs.SubTreeFileSystem):
        return []  # Hadoop writes them only to local folders
    infos = listing(files, "")
    kept = {info.path for info in infos} - {info.path for info in deletable}
    checksums = []
    for info in infos:
        folder, _, name = info.path.rpartition("/")
        if not name.startswith(".") or not name.endswith(".crc") or info.mtime > limit:
            continue
        subject = f"{folder}/{name[1:-4]}" if folder else name[1:-4]
        if subject not in kept:
            checksums.append(info)
    return checksums


def _oldest_kept_version(handle: DeltaTable, limit: datetime) -> int:
    """Return the version that was the newest at `limit`.

    If all are younger, it is the version before the log's first, which was the newest within the
    time as well.
    """
    records = log.history(handle)
    old_versions = [record.version for record in records if record.when <= limit]
    return max(old_versions) if old_versions else min(record.version for record in records) - 1


def _named_since(handle: DeltaTable, files: pa_fs.FileSystem, version: int) -> set[str]:
    """Return the files that the newest version or any since `version` names."""
    named_paths = {file.path for file in log.active_files(handle)}
    for later in range(version + 1, handle.version() + 1):
        commit = actions.read(files, later)
        if commit is None:
            place = f"commit {later} of {handle.table_uri}"
            raise LakeFailed(f"{place} cannot be read; nothing was deleted")
        named_paths |= actions.paths_of(commit)
    return named_paths


def _logs_before(files: pa_fs.FileSystem, oldest: int) -> list[pa_fs.FileInfo]:
    """Return the log files of versions before `oldest`."""
    old = [
        (int(match[1]), info.path, info)
        for info in listing(files, LOG)
        if (match := LOG_FILE.search(info.path)) and int(match[1]) < oldest
    ]
    # Oldest first: after a kill in between, the log just begins later, without a gap.
    return [info for *_, info in sorted(old)]


def _unnamed_logs(files: pa_fs.FileSystem) -> list[pa_fs.FileInfo]:
    """Return the temporary files of commits that were killed before renaming them."""
    killed_before = datetime.now(UTC) - staging.LEFTOVER_AGE
    return [
        info
        for info in listing(files, LOG)
        if UNNAMED.search(info.base_name) and info.mtime <= killed_before
    ]


def _checkpoint(handle: DeltaTable, files: pa_fs.FileSystem, version: int) -> None:
    """Write checkpoints so that `version` and later ones are read without the log before it."""
    uri, path = handle.table_uri, f"{LOG}/{version:020}.checkpoint.parquet"
    if version < handle.version() and path not in {info.path for info in listing(files, LOG)}:
        try:
            retry_if_vacuumed(lambda: DeltaTable(uri, version=version)).create_checkpoint()
        except DeltaError as error:
            message = f"version {version} of {uri} cannot be read; nothing was deleted: {error}"
            raise LakeFailed(message) from error
    handle.create_checkpoint()  # last, since readers start from the checkpoint written last


def _remove_empty_folders(files: pa_fs.FileSystem) -> None:
    """Delete the folders of writes that have neither files nor a marker."""
    if not isinstance(files, pa_fs.SubTreeFileSystem):
        return  # object stores have none
    # The order matters: a write that begins after the folders were listed is not among them, and
    # one that ended before its marker was looked for has its files there.
    folders = files.get_file_info(pa_fs.FileSelector(DATA, allow_not_found=True))
    live = {info.base_name for info in listing(files, MARKERS)}
    live |= staging.written_by([info.path for info in listing(files, DATA)])
    for info in folders:
        if info.type == pa_fs.FileType.Directory and info.base_name not in live:
            staging.remove(files, info.path)
