"""Rows that stayed in a table although their file was removed, under another spelling of its path.

A removal counts only if it spells the path as the addition did. Delta's connector leaves letters
beyond ASCII as they are (``corpus=Zürich/…``), delta-rs encodes them: earlier versions of this
package removed files of such partitions through delta-rs, without effect. The new rows were then
beside the old ones. Reading such a table is refused; `repair` removes the old files.
"""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from deltalake import DeltaTable

from adnominal.etl.lake import actions, log
from adnominal.etl.lake.actions import LOG, LOG_FILE
from adnominal.etl.lake.columns import Table
from adnominal.etl.lake.errors import LakeError, LakeFailed
from adnominal.etl.lake.log import Change, File
from adnominal.etl.lake.staging import listing
from adnominal.etl.lake.storage import filesystem, table_uri

_ATTEMPTS = 50
_MODE = "repair"


@dataclass(frozen=True)
class Doubled:
    """An active file whose rows are in the table once too often.

    `removed_by` is the version that removed it in another spelling; None if the path is active in
    two spellings.
    """

    file: File
    removed_by: int | None

    def __str__(self) -> str:
        partition = ", ".join(f"{name}={value}" for name, value in self.file.partition)
        cause = "is active in two spellings of its path"
        if self.removed_by is not None:
            cause = f"is active, although version {self.removed_by} removed it in another spelling"
        return f"{self.file.path} {cause}: its {self.file.rows} rows ({partition}) are doubled"


def doubled_files(handle: DeltaTable, files: Sequence[File]) -> list[Doubled]:
    """Return those of the active `files` whose rows are doubled, as far as the log goes back."""
    # Only a path with letters that are encoded or not has two spellings.
    suspects = {file.path: file for file in files if not actions.is_plain(file.log_path)}
    if not suspects:
        return []
    spellings = Counter(file.path for file in files)
    doubled = [Doubled(file, None) for path, file in suspects.items() if spellings[path] > 1]
    table_files = filesystem(handle.table_uri)
    for version in _versions(handle):
        commit = actions.read(table_files, version) or []
        if _is_repair(commit):
            continue
        for action in commit:
            removed_path = (action.get("remove") or {}).get("path", "")
            # Removed under another spelling than it was added: the removal had no effect.
            suspect = suspects.get(unquote(removed_path))
            if suspect is not None and suspect.log_path != removed_path:
                doubled.append(Doubled(suspect, version))
    return doubled


def _is_repair(commit: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a commit removed one of two spellings of a path on purpose."""
    infos = [action.get("commitInfo") or {} for action in commit]
    return any(actions.stored_metadata(info).get("mode") == _MODE for info in infos)


def _versions(handle: DeltaTable) -> list[int]:
    """Return the versions whose commits are in the log."""
    matches = [LOG_FILE.search(info.path) for info in listing(filesystem(handle.table_uri), LOG)]
    versions = [int(match[1]) for match in matches if match and match[2] == "json"]
    return sorted(version for version in versions if version <= handle.version())


def refuse(handle: DeltaTable, table_spec: Table, files: Sequence[File]) -> None:
    """Raise `LakeError` if rows of the active `files` are doubled."""
    doubled = doubled_files(handle, files)
    if doubled:
        raise LakeError(f"{table_spec.name}: {doubled[0]}; {_command(handle, table_spec)}")


def _command(handle: DeltaTable, table_spec: Table) -> str:
    root = handle.table_uri.rstrip("/").rpartition("/")[0]
    lake = shlex.quote(unquote(root.removeprefix("file://")))
    return f"mend the table with: python -m etl.lake repair {table_spec.name} lake={lake}"


def repair(root: str, table_spec: Table, *, dry_run: bool = False) -> list[Doubled]:
    """Remove the doubled rows from a table in one commit; return what was (or would be) removed.

    Raises:
        LakeError: the table does not exist or is not as declared.
        LakeFailed: other writers took every version.
    """
    uri = table_uri(root, table_spec.name)
    for _ in range(_ATTEMPTS):
        handle = log.existing_table(root, table_spec, writing=True)
        doubled = doubled_files(handle, log.active_files(handle))
        if dry_run or not doubled:
            return doubled
        write = f"repair-{actions.current_milliseconds()}"
        counts = {"rows": 0, "files": 0, "bytes": 0}
        info = log.user_metadata(Change(_MODE, "etl.lake repair"), write, counts)
        paths = {entry.file.log_path: entry.file for entry in doubled}
        removals = [file.removal(data_change=True) for file in paths.values()]
        commit = [actions.commit_info("WRITE", info), *removals]
        if actions.put_commit(uri, handle.version() + 1, commit):
            return doubled
    raise LakeFailed(
        f"{table_spec.name}: other writers took every version in {_ATTEMPTS} attempts; run repair "
        "again"
    )
