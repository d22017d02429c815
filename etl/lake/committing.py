"""Commits to the Delta log that are safe to repeat: the delta-rs engine and the Spark-free writer.

delta-rs never retries by itself here: a commit either takes the next version or fails. Between
attempts, the log is read again to see what happened meanwhile (our transaction is already in it,
our partition changed).
"""

import json
import random
import time
from collections.abc import Sequence

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.transaction import AddAction, create_table_with_add_actions

from adnominal.etl.lake import actions, log
from adnominal.etl.lake.columns import Table
from adnominal.etl.lake.errors import LakeFailed
from adnominal.etl.lake.log import Change, Commit, File

_ATTEMPTS = 50


def commit_files(
    uri: str,
    table_spec: Table,
    adds: Sequence[AddAction],
    write: str,
    change: Change,
) -> Commit:
    """Add files in the table's folder to the table, in one atomic commit.

    The caller has checked the files (`etl.lake.staging.collect`). No base means no previous table.

    Raises:
        LakeConflict: the partition was changed after the base.
        LakeFailed: the log could not be written.
    """
    _check_partition(table_spec, adds, change)
    counts = {
        "rows": sum(json.loads(add.stats)["numRecords"] for add in adds),
        "files": len(adds),
        "bytes": sum(add.size for add in adds),
    }
    properties = CommitProperties(
        custom_metadata={"userMetadata": log.user_metadata(change, write, counts)},
        max_commit_retries=0,
        app_transactions=[Transaction(*change.transaction)] if change.transaction else None,
    )
    partitions = {json.dumps(add.partition_values): add.partition_values for add in adds}
    failure: Exception | None = None
    for attempt in range(_ATTEMPTS):
        handle = log.open_table(uri, table_spec, writing=True)
        if handle is not None:
            if log.done_already(handle, change.transaction):
                return Commit(table_spec.name, handle.version(), 0, 0, 0, skipped=True)
            log.refuse_stale(handle, table_spec, change, list(partitions.values()))
        try:
            version = _commit(handle, uri, table_spec, adds, change, properties)
            return Commit(table_spec.name, version, **counts)
        except (DeltaError, OSError) as error:
            # The commit may have succeeded all the same: the answer was lost, or the checkpoint
            # after it failed. Trying again would add the rows twice.
            committed = log.committed_version(uri, write, change.base)
            if committed is not None:
                return Commit(table_spec.name, committed, **counts)
            is_conflict = isinstance(error, CommitFailedError) or "already exists" in str(error)
            if not is_conflict:
                raise LakeFailed(f"{table_spec.name}: commit failed: {error}") from error
            failure = error
            time.sleep(random.uniform(0, 0.02 * (attempt + 1)))
    raise LakeFailed(
        f"{table_spec.name}: other writers took every version in {_ATTEMPTS} attempts; run the job "
        f"again ({failure})"
    )


def add_later_columns(handle: DeltaTable, table_spec: Table) -> DeltaTable:
    """Add the declared later columns that a table lacks; return its newest version.

    Raises:
        LakeFailed: the log could not be written.
    """
    stored_names = {field.name for field in handle.schema().fields}
    missing = [field for field in table_spec.schema if field.name not in stored_names]
    if not missing:
        return handle
    fields = Schema.from_arrow(pa.schema(missing)).fields
    try:
        handle.alter.add_columns(fields)
    except (DeltaError, OSError) as error:
        # Another writer may have added them meanwhile.
        newest = DeltaTable(handle.table_uri)
        names = {field.name for field in newest.schema().fields}
        if any(field.name not in names for field in missing):
            raise LakeFailed(
                f"{table_spec.name}: the columns {', '.join(field.name for field in missing)} "
                f"could not be added: {error}; run the job again"
            ) from error
    return DeltaTable(handle.table_uri)


def _check_partition(table_spec: Table, adds: Sequence[AddAction], change: Change) -> None:
    """Raise `LakeFailed` for a file outside the partition that the change replaces."""
    for add in adds:
        for name, value in change.partition.items():
            if add.partition_values.get(name) != value:
                raise LakeFailed(
                    f"{table_spec.name}: {add.path} holds {name}={add.partition_values.get(name)}; "
                    f"this write replaces only {name}={value}"
                )


def _commit(
    handle: DeltaTable | None,
    uri: str,
    table_spec: Table,
    adds: Sequence[AddAction],
    change: Change,
    properties: CommitProperties,
) -> int:
    """Try one commit, which creates the table if there is no handle.

    Return its version: without retries, the one after the version that was read.
    """
    schema = Schema.from_arrow(table_spec.schema)
    partition_by = list(table_spec.partition_by)
    if handle is None:
        create_table_with_add_actions(
            uri,
            schema,
            list(adds),
            mode="error",
            partition_by=partition_by,
            name=table_spec.name,
            description=table_spec.meaning,
            configuration=log.PROPERTIES,
            commit_properties=properties,
        )
        return 0
    if change.mode == "replace":
        replaced_files = log.active_files(handle, change.partition)
        if not all(actions.is_plain(file.log_path) for file in replaced_files):
            return _commit_replacement(handle, replaced_files, adds, change, properties)
    handle.create_write_transaction(
        list(adds),
        "overwrite" if change.mode == "replace" else "append",
        schema,
        partition_by,
        [(name, "=", value) for name, value in change.partition.items()] or None,
        commit_properties=properties,
    )
    return int(handle.version()) + 1


def _commit_replacement(
    handle: DeltaTable,
    replaced_files: Sequence[File],
    adds: Sequence[AddAction],
    change: Change,
    properties: CommitProperties,
) -> int:
    """Commit a replacement that removes files by their paths as the log spells them.

    delta-rs spells paths in its own way; the files would then stay in the table.
    """
    commit = [actions.commit_info("WRITE", properties.custom_metadata["userMetadata"])]
    if change.transaction is not None:
        application, number = change.transaction
        moment = actions.current_milliseconds()
        commit.append({"txn": {"appId": application, "version": number, "lastUpdated": moment}})
    commit += [file.removal(data_change=True) for file in replaced_files]
    commit += [actions.addition(add, data_change=True) for add in adds]
    version = int(handle.version()) + 1
    if not actions.put_commit(handle.table_uri, version, commit):
        raise CommitFailedError(f"version {version} already exists")
    return version
