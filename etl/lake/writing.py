"""The write shared by the delta-rs engine and the Spark-free writer: stage, check, commit."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pyarrow.fs as pa_fs

from adnominal.etl.lake import committing, handles, log, staging
from adnominal.etl.lake.columns import Table
from adnominal.etl.lake.errors import LakeFailed
from adnominal.etl.lake.log import Change, Commit
from adnominal.etl.lake.staging import Staged
from adnominal.etl.lake.storage import filesystem


def publish(
    uri: str,
    table_spec: Table,
    stage: Callable[[pa_fs.FileSystem, str], Staged],
    change: Change,
) -> Commit:
    """Let `stage` write its files under the write's name, then check and commit them.

    If the table already has the transaction, `stage` is not called. If the commit fails, the staged
    files are deleted and the table is unchanged.

    Raises:
        LakeFailed: there are no rows and `allow_empty` is false; also what `staging.collect` and
            `committing.commit_files` raise.
    """
    log.check_metadata(change.metadata)
    handle = log.open_table(uri, table_spec, writing=True)
    if handle is not None:
        if log.done_already(handle, change.transaction):
            return Commit(table_spec.name, handle.version(), 0, 0, 0, skipped=True)
        handle = committing.add_later_columns(handle, table_spec)
        if change.base is None:
            change = replace(change, base=handle.version())
    clean(uri, table_spec)
    files = filesystem(uri)
    write = staging.begin(files)
    try:
        staged = stage(files, write)
        adds = staging.collect(files, table_spec, staged)
        if not adds and not change.allow_empty:
            where = ", ".join(f"{name}={value}" for name, value in change.partition.items())
            raise LakeFailed(
                f"{table_spec.name}: no rows to replace {where or 'the table'} with; nothing was "
                "changed"
            )
        commit = committing.commit_files(uri, table_spec, adds, write, change)
    except Exception:
        # Interrupts are not caught: tasks may still be writing; `clean` comes later.
        if log.committed_version(uri, write, change.base) is None:
            staging.discard(files, write)
        raise
    if commit.skipped:
        staging.discard(files, write)
    else:
        staging.finish(files, write)
    return commit


def clean(uri: str, table_spec: Table, older_than: timedelta = staging.LEFTOVER_AGE) -> list[str]:
    """Delete the leftovers of killed writes in the table's folder; return those writes' names.

    Files that any version still in the log names are never touched.
    """

    def committed_writes() -> set[str]:
        handle = log.open_table(uri, table_spec)
        if handle is None:
            return set()
        writes = staging.written_by([file.path for file in log.active_files(handle)])
        return writes | {record.write for record in log.history(handle) if record.write}

    return staging.clean(
        filesystem(uri), lambda: handles.retry_if_vacuumed(committed_writes), older_than
    )
