"""The Delta log: open a table, list its files and commits, and find what changed since a version.

Both engines and the Spark-free writer read the log here; `etl.lake.committing` writes it.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Required, TypedDict
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from adnominal import conf
from adnominal.etl.lake import actions
from adnominal.etl.lake.columns import Table
from adnominal.etl.lake.errors import (
    LakeConflict,
    LakeError,
    LakeFailed,
    UnsupportedFeature,
    storage_failure,
)
from adnominal.etl.lake.handles import retry_if_vacuumed, safe_path, transaction_version
from adnominal.etl.lake.schema import differences, named_types, partition_text, stored_columns
from adnominal.etl.lake.staging import listing
from adnominal.etl.lake.storage import filesystem, table_uri

# Features that leave a table readable as plain Parquet files by the list of active files.
_READABLE = {"timestampNtz"}
_WRITABLE = _READABLE | {"appendOnly", "invariants"}
# Features that tables of other programs have, and the properties that turn them on.
_FEATURES = {
    "deletionVectors": "delta.enableDeletionVectors",
    "columnMapping": "delta.columnMapping.mode",
}
_FILE_COLUMNS = ("path", "size_bytes", "num_records", "partition")
PROPERTIES = {
    "delta.enableDeletionVectors": "false",
    # Without it, the connector names the folder of a file after the partition, in its own spelling;
    # that for Spark 3.5 does so with it as well.
    "delta.randomizeFilePrefixes": "true",
}
"""The properties of new tables, whichever engine creates them."""
_OURS = ("job", "code_version", "write", "mode", "partition", "rows", "files", "bytes")


@dataclass(frozen=True)
class Commit:
    """The result of a write: the table's version after it and what was added.

    `skipped`: the transaction was already in the table and nothing was written.
    """

    table: str
    version: int
    rows: int
    files: int
    bytes: int
    skipped: bool = False


class CommitOptions(TypedDict, total=False):
    """Commit options shared by appends and replacements.

    Attributes:
        job: name of the job, stored with the commit.
        metadata: the caller's metadata, stored with the commit.
        transaction: application id and number. They make a repeated write harmless: if the table
            has this number or a later one of the same id, the write adds nothing.
        base: the version that the writer planned from, by default the newest.
    """

    job: Required[str]
    metadata: Mapping[str, str]
    transaction: tuple[str, int] | None
    base: int | None


@dataclass(frozen=True)
class Change:
    """The change that a write makes, whoever stages its files; see also `CommitOptions`.

    Attributes:
        mode: ``append``, or ``replace``, which removes the active files of `partition` in the same
            commit.
        partition: values of partition columns that every row of a replacement has.
        allow_empty: whether a replacement may have no rows.
    """

    mode: str
    job: str
    partition: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    transaction: tuple[str, int] | None = None
    base: int | None = None
    allow_empty: bool = False


@dataclass(frozen=True)
class File:
    """An active file: path within the table, bytes, rows (None if not recorded), partition.

    `log_path` is the path as the log spells it, which a commit that removes the file must repeat.
    """

    path: str
    size: int
    rows: int | None
    partition: tuple[tuple[str, Any], ...]
    log_path: str

    def lies_in(self, partition: Mapping[str, str | None]) -> bool:
        """Whether the file's partition has all the values of `partition`."""
        values = {name: partition_text(value) for name, value in self.partition}
        return all(values[name] == value for name, value in partition.items())

    def removal(self, *, data_change: bool) -> dict[str, Any]:
        """Return the action that removes the file."""
        values = {name: partition_text(value) for name, value in self.partition}
        return actions.removal(self.log_path, values, self.size, data_change=data_change)


@dataclass(frozen=True)
class Record:
    """One commit of a table's history; `metadata` is what the job passed besides its name."""

    version: int
    when: datetime
    operation: str
    job: str | None
    mode: str | None
    rows: int | None
    code_version: str | None
    partition: Mapping[str, str]
    write: str | None
    metadata: Mapping[str, str] = field(default_factory=dict)


_code_version = cache(conf.code_version)


def build_command(root: str, table_spec: Table) -> str:
    """The command that builds a table of the lake at `root`."""
    return f"python {table_spec.built_by} lake={shlex.quote(root)}"


def is_local_file(root: str) -> bool:
    """Whether the root of a lake is a file of this machine."""
    return "://" not in root and Path(root).is_file()


def missing_table(root: str, table_spec: Table, existing: Sequence[str] | None = None) -> LakeError:
    """Return the error for a missing table, with the command that builds it.

    It lists the `existing` tables of the lake, if they are given.
    """
    if is_local_file(root):
        return LakeError(f"lake={root}: a file; expected a folder with the tables of a lake")
    contents = ""
    if existing is not None:
        contents = f", which has {', '.join(existing) or 'no tables'}"
    return LakeError(
        f"no table {table_spec.name} in lake={root}{contents}; build it with: "
        f"{build_command(root, table_spec)}"
    )


def open_table(
    uri: str, table_spec: Table, *, version: int | None = None, writing: bool = False
) -> DeltaTable | None:
    """Open the table at `uri` and check it against its declaration; None if there is none.

    Raises:
        LakeError: the version does not exist, the table uses a feature that makes its plain files
            wrong to read (deletion vectors, column mapping, …), or schema or partitioning differ.
        LakeFailed: the storage failed.
    """
    if version is not None and version < 0:
        raise LakeError(f"version={version} of {table_spec.name}: expected 0 or more")
    # Asked for a later version, delta-rs searches for each one up to it: minutes for a date.
    if version is not None and _is_after_newest(uri, version):
        raise _no_version(uri, table_spec, version)
    try:
        handle = retry_if_vacuumed(lambda: DeltaTable(uri, version=version))
    except TableNotFoundError:
        if version is not None and DeltaTable.is_deltatable(uri):
            raise _no_version(uri, table_spec, version) from None
        return None
    except DeltaError as error:
        if (reason := storage_failure(error)) is not None:
            raise LakeFailed(f"{table_spec.name}: {reason}") from error
        text = " ".join(str(error).split())
        remark = (
            " (tables with column mapping are not supported)" if "olumn mapping" in text else ""
        )
        message = f"{table_spec.name} at {uri}: the table's log cannot be read{remark}: {text}"
        raise (UnsupportedFeature if remark else LakeError)(message) from error
    _refuse_features(handle, table_spec, writing)
    stored_schema = pa.schema(handle.schema().to_arrow())
    declared_columns = stored_columns(table_spec.schema, stored_schema.names)
    lines = differences(named_types(declared_columns), named_types(stored_schema))
    partition_by = tuple(handle.metadata().partition_columns)
    if partition_by != table_spec.partition_by:
        lines.append(
            f"partitioned by ({', '.join(partition_by)}), "
            f"declared ({', '.join(table_spec.partition_by)})"
        )
    if lines:
        raise LakeError(
            f"{table_spec.name} version {handle.version()} at {uri} is not as declared: "
            f"{'; '.join(lines)}; build it again in a new lake"
        )
    return handle


def existing_table(
    root: str, table_spec: Table, *, version: int | None = None, writing: bool = False
) -> DeltaTable:
    """Open the table of the lake at `root` with the checks of `open_table`.

    Raises:
        LakeError: as `open_table`; also if the table does not exist (`missing_table`).
    """
    uri = table_uri(root, table_spec.name)
    handle = open_table(uri, table_spec, version=version, writing=writing)
    if handle is None:
        raise missing_table(root, table_spec)
    return handle


def _is_after_newest(uri: str, version: int) -> bool:
    """Whether the version is later than all in the names of the log's files, if it has any."""
    files = filesystem(uri)
    if files.get_file_info(f"{actions.LOG}/{version:020}.json").is_file:
        return False  # the usual case, without a listing of the log
    matches = (actions.LOG_FILE.search(info.path) for info in listing(files, actions.LOG))
    newest = max((int(match[1]) for match in matches if match), default=version)
    return newest < version


def _no_version(uri: str, table_spec: Table, version: int) -> LakeError:
    handle = retry_if_vacuumed(lambda: DeltaTable(uri))
    newest = handle.version()
    oldest = min((record.version for record in history(handle)), default=newest)
    gone = " any more (vacuum has removed it)" if version < oldest else ""
    return LakeError(
        f"{table_spec.name} has no version {version}{gone}; expected {oldest} to {newest}"
    )


def _refuse_features(handle: DeltaTable, table_spec: Table, writing: bool) -> None:
    """Raise `UnsupportedFeature` if the table needs more than delta-rs can do."""
    protocol = handle.protocol()
    properties = handle.metadata().configuration
    refused = set(protocol.reader_features or ()) - _READABLE
    if writing:
        refused |= set(protocol.writer_features or ()) - _WRITABLE
    if properties.get("delta.enableDeletionVectors", "false") == "true":
        refused.add("deletionVectors")
    if properties.get("delta.columnMapping.mode", "none") != "none":
        refused.add("columnMapping")
    if refused:
        properties_to_unset = [_FEATURES[name] for name in sorted(refused) if name in _FEATURES]
        unset = f"unset {' and '.join(properties_to_unset)}, " if properties_to_unset else ""
        raise UnsupportedFeature(
            f"{table_spec.name}: the table uses {', '.join(sorted(refused))}, which the delta-rs "
            f"engine does not {'write' if writing else 'read'}; read it with the connector's "
            f"classes on Spark's classpath (docs/cluster.md), or {unset}drop the feature (ALTER "
            "TABLE … DROP FEATURE) or rewrite the table without it"
        )


def active_files(handle: DeltaTable, partition: Mapping[str, str] | None = None) -> list[File]:
    """Return the files that make up the table, or those of `partition` if given."""
    add_actions = pa.table(handle.get_add_actions())
    columns = [name for name in _FILE_COLUMNS if name in add_actions.column_names]
    files = [
        File(
            safe_path(unquote(add["path"])),
            add["size_bytes"],
            add.get("num_records"),
            tuple((add.get("partition") or {}).items()),
            add["path"],
        )
        for add in add_actions.select(columns).to_pylist()
    ]
    return [file for file in files if file.lies_in(partition or {})]


def history(handle: DeltaTable, limit: int | None = None) -> list[Record]:
    """Return the commits of a table, newest first."""
    return [_record(entry) for entry in handle.history(limit)]


def _record(entry: Mapping[str, Any]) -> Record:
    """A commit of the history as a `Record`."""
    metadata = actions.stored_metadata(entry)
    rows = metadata.get("rows", (entry.get("operationMetrics") or {}).get("numOutputRows"))
    return Record(
        version=int(entry["version"]),
        when=datetime.fromtimestamp(entry.get("timestamp", 0) / 1000, UTC),
        operation=str(entry.get("operation", "")),
        job=metadata.get("job"),
        mode=metadata.get("mode"),
        rows=None if rows is None else int(rows),
        code_version=metadata.get("code_version"),
        partition=json.loads(metadata.get("partition", "{}")),
        write=metadata.get("write"),
        metadata={key: str(value) for key, value in metadata.items() if key not in _OURS},
    )


def check_metadata(metadata: Mapping[str, str]) -> None:
    """Raise `ValueError` if `metadata` names a key that the lake itself fills."""
    clash = sorted(set(metadata) & set(_OURS))
    if clash:
        raise ValueError(f"commit metadata may not name {', '.join(clash)}: the lake fills them")


def user_metadata(change: Change, write: str, counts: Mapping[str, int]) -> str:
    """The JSON that both engines store as a commit's ``userMetadata``; every value is text."""
    check_metadata(change.metadata)
    metadata = {
        "job": change.job,
        "code_version": _code_version(),
        "write": write,
        "mode": change.mode,
        "partition": json.dumps(dict(change.partition), ensure_ascii=False),
        **{key: str(value) for key, value in (*counts.items(), *change.metadata.items())},
    }
    return json.dumps(metadata, ensure_ascii=False)


def done_already(handle: DeltaTable, transaction: tuple[str, int] | None) -> bool:
    """Whether the table has `transaction` (application id, number) or a later one of its id."""
    if transaction is None:
        return False
    newest = transaction_version(handle, transaction[0])
    return newest is not None and newest >= transaction[1]


def committed_version(uri: str, write: str, since: int | None) -> int | None:
    """Return the version after `since` that write `write` made; None if it made none."""

    def find() -> int | None:
        handle = DeltaTable(uri)
        later = handle.version() - (-1 if since is None else since)
        records = history(handle, later) if later > 0 else []
        return next((record.version for record in records if record.write == write), None)

    try:
        return retry_if_vacuumed(find)
    except TableNotFoundError:
        return None


def refuse_stale(
    handle: DeltaTable,
    table_spec: Table,
    change: Change,
    partitions: Sequence[Mapping[str, str | None]],
) -> None:
    """Raise `LakeConflict` if the partition was changed after the base (None: no table).

    A replacement requires that the partition's files are exactly as they were. An append (into
    `partitions`) requires that none of them was removed and that the partition was not replaced
    since: its rows belong to the previous content.
    """
    base, partition = change.base, change.partition
    if base == handle.version():
        return
    since = -1 if base is None else base
    files = filesystem(handle.table_uri)
    changing_commits = [
        version
        for version in range(since + 1, handle.version() + 1)
        if _disturbs(actions.read(files, version), change, partitions)
    ]
    if changing_commits:
        commits = retry_if_vacuumed(lambda: history(DeltaTable(handle.table_uri)))
        records = [record for record in commits if record.version in changing_commits]
        place = ", ".join(f"{k}={v}" for k, v in partition.items()) or "the partition written"
        by = "; ".join(f"version {r.version} by {r.job or 'another program'}" for r in records[:3])
        by = by or f"version {changing_commits[-1]}"
        raise LakeConflict(
            f"{table_spec.name}: {place} was changed by another writer while this {change.mode} "
            f"ran ({by}); a partition has one writer at a time: run the job again"
        )


def _disturbs(
    commit: Sequence[Mapping[str, Any]] | None,
    change: Change,
    committed_partitions: Sequence[Mapping[str, str | None]],
) -> bool:
    """Whether a commit changed what `change` was planned from; an unreadable commit may have.

    Compaction, which moves rows to other files, changes nothing.
    """
    if commit is None:
        return True
    replacing = change.mode == "replace"
    partitions = [change.partition] if replacing else committed_partitions
    for action in commit:
        for kind in ("add", "remove") if replacing else ("remove",):
            file = action.get(kind)
            if file and file.get("dataChange", True) and actions.lies_in(file, partitions):
                return True
        replaced = actions.replaced_partition(action)
        if replaced is not None and not replacing:
            return any(
                all(values.get(name) == value for name, value in replaced.items())
                for values in committed_partitions
            )
    return False
