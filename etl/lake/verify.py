"""Verify that tables are what their logs say: read every log and check every file.

For each table, the commits of the log exist and can be read, its schema and partitioning are as
declared, and each file exists with the size, rows, columns and bounds that the log states. Only
footers are read, not contents.
"""

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs as pa_fs
import pyarrow.parquet as pq
from deltalake import DeltaTable

from adnominal.conf.numbers import count_of
from adnominal.etl.lake import actions, doubled, log
from adnominal.etl.lake.actions import LOG, LOG_FILE
from adnominal.etl.lake.columns import Table
from adnominal.etl.lake.errors import LakeError
from adnominal.etl.lake.schema import differences, named_types, stored_columns
from adnominal.etl.lake.staging import MARKERS, listing, written_by
from adnominal.etl.lake.storage import filesystem, local_path, table_uri
from adnominal.etl.lake.tables import TABLES
from adnominal.etl.lake.upkeep import data_files

_THREADS = 16


@dataclass(frozen=True)
class Verified:
    """What was checked, what is wrong, and what is superfluous (files that vacuum removes)."""

    table: str
    files: int
    commits: int
    faults: tuple[str, ...]
    notes: tuple[str, ...] = ()


def verify(root: str, table_spec: Table) -> Verified:
    """Verify one table.

    Raises:
        LakeError: the table does not exist.
    """
    uri = table_uri(root, table_spec.name)
    files = filesystem(uri)
    faults, commits = _log_faults(files)
    try:
        handle = log.open_table(uri, table_spec)
    except LakeError as error:
        return Verified(table_spec.name, 0, commits, (*faults, str(error)))
    if handle is None:
        raise log.missing_table(root, table_spec)
    stored_files = {info.path: info for info in data_files(files)}
    writing = {info.base_name for info in listing(files, MARKERS)}
    add_actions = pa.table(handle.get_add_actions(flatten=True)).to_pylist()
    with ThreadPoolExecutor(_THREADS) as pool:
        for file_faults in pool.map(
            lambda add: list(_file_faults(files, table_spec, add, stored_files)), add_actions
        ):
            faults += file_faults
    faults += [str(entry) for entry in doubled.doubled_files(handle, log.active_files(handle))]
    named_paths = {unquote(add["path"]) for add in add_actions}
    staged_files = [
        path for path in stored_files if path not in named_paths and written_by([path]) & writing
    ]
    unnamed = len(stored_files.keys() - named_paths) - len(staged_files)
    notes = []
    if unnamed:
        files = count_of(unnamed, "file")
        notes.append(f"{files} of earlier versions, or of none (vacuum removes them)")
    if writing:
        writes, files = count_of(len(writing), "write"), count_of(len(staged_files), "file")
        notes.append(f"{writes} running or killed, with {files}")
    return Verified(table_spec.name, len(add_actions), commits, tuple(faults), tuple(notes))


def undeclared_entries(root: str) -> list[str]:
    """Return what is in the lake's folder but is not a declared table."""
    files = filesystem(table_uri(root, "").rstrip("/"))
    entries = files.get_file_info(pa_fs.FileSelector("", allow_not_found=True))
    names = {info.path.strip("/").split("/")[0] for info in entries}
    return sorted(name for name in names if name not in TABLES and not name.startswith("_"))


def unknown_tables(root: str) -> list[str]:
    """Return the Delta tables in the lake's folder that this version does not declare.

    Another version wrote them, or another program. Every command leaves them alone.
    """
    return [name for name in undeclared_entries(root) if _has_log(table_uri(root, name))]


def _has_log(uri: str) -> bool:
    """Whether a Delta table is at `uri`; delta-rs fails at a file and at a forbidden folder."""
    path = local_path(uri)
    if path is not None and not os.path.isdir(path / LOG):
        return False
    return bool(DeltaTable.is_deltatable(uri))


def _log_faults(files: pa_fs.FileSystem) -> tuple[list[str], int]:
    """Return the faults of the log's files and the number of its commits.

    Commits have consecutive numbers from 0. A vacuum deletes the first ones when a checkpoint has
    their sum, so a log that begins later needs a checkpoint of the commit before its first.
    """
    commits, checkpoints = _log_versions(files)
    if not commits:
        return [], 0
    first, last = commits[0], commits[-1]
    unreadable = [version for version in commits if not actions.read(files, version)]
    present = set(commits)
    missing = [version for version in range(first, last) if version not in present]
    faults = [f"commit {version} cannot be read" for version in unreadable]
    faults += [f"commit {version} is missing" for version in missing]
    newest_checkpoint = max(checkpoints, default=-1)
    if newest_checkpoint < first - 1:
        faults.append(f"the log begins at commit {first} without a checkpoint")
    return faults, len(commits)


def _log_versions(files: pa_fs.FileSystem) -> tuple[list[int], list[int]]:
    """Return the sorted versions of the log's commits, and the versions of its checkpoints."""
    commits = []
    checkpoints = []
    for info in listing(files, LOG):
        match = LOG_FILE.search(info.path)
        if match is None:
            continue
        version = int(match[1])
        if match[2] == "json":
            commits.append(version)
        elif "checkpoint" in match[2]:
            checkpoints.append(version)
    return sorted(commits), checkpoints


def _file_faults(
    files: pa_fs.FileSystem,
    table_spec: Table,
    add: Mapping[str, Any],
    stored_files: Mapping[str, pa_fs.FileInfo],
) -> Iterator[str]:
    """What is wrong with a file that the log names: missing, changed, or not as declared."""
    path = unquote(add["path"])
    info = stored_files.get(path)
    if info is None:
        yield f"{path} is missing"
        return
    if info.size != add["size_bytes"]:
        yield f"{path} has {info.size} bytes, the log says {add['size_bytes']}"
        return
    try:
        footer = pq.read_metadata(path, filesystem=files)
    except (OSError, pa.ArrowException) as error:
        yield f"{path} is not readable as Parquet: {' '.join(str(error).split())}"
        return
    rows = add.get("num_records")
    if rows is not None and rows != footer.num_rows:
        yield f"{path} has {footer.num_rows} rows, the log says {rows}"
    names = footer.schema.to_arrow_schema().names
    expected = stored_columns(table_spec.stored_schema, names)
    lines = differences(named_types(expected), named_types(footer.schema.to_arrow_schema()))
    if lines:
        yield f"{path} is not as declared: {'; '.join(lines)}"
        return
    yield from _bound_faults(path, footer, expected, add)


def _bound_faults(
    path: str, footer: pq.FileMetaData, schema: pa.Schema, add: Mapping[str, Any]
) -> Iterator[str]:
    """Yield columns of text and integers with values outside the bounds in the log."""
    for index in range(footer.num_columns):
        name = footer.schema.column(index).path
        if name not in schema.names:
            continue
        kind = schema.field(name).type
        parts = [footer.row_group(g).column(index).statistics for g in range(footer.num_row_groups)]
        if not parts or any(part is None for part in parts):
            continue
        nulls = add.get(f"null_count.{name}")
        if nulls is not None and all(part.has_null_count for part in parts):
            counted = sum(part.null_count for part in parts)
            if counted != nulls:
                yield f"{path}: {name} has {counted} nulls, the log says {nulls}"
        if not (pa.types.is_string(kind) or pa.types.is_integer(kind)):
            continue
        valued = [part for part in parts if part.has_min_max]
        low, high = add.get(f"min.{name}"), add.get(f"max.{name}")
        if valued and low is not None and min(part.min for part in valued) < low:
            yield f"{path}: {name} has values below {low!r}, which the log says is the least"
        if valued and high is not None and max(part.max for part in valued) > high:
            yield f"{path}: {name} has values above {high!r}, which the log says is the greatest"
