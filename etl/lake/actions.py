"""Read and write the actions of single commits of a Delta log.

delta-rs shows the table as the sum of all commits, and its Python interface cannot replace single
files. Upkeep needs what is here: the files that a commit added and removed, and a commit that
replaces files, which names them as the log spells them.
"""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import obstore
import pyarrow.fs as pa_fs
from deltalake.transaction import AddAction
from obstore.exceptions import AlreadyExistsError
from obstore.store import LocalStore, from_url

LOG = "_delta_log"
LOG_FILE = re.compile(r"(\d{20})\.(json|checkpoint(\..*)?\.parquet|crc)$")
"""The name of a file of the log: its version and its kind."""
_PLAIN_PATH = re.compile(r"[\w./=-]*", re.ASCII)
UNNAMED = re.compile(r"#\d+$|^_commit_.*\.tmp$")
"""The name of a file of the log while it is being written."""


def log_path(version: int) -> str:
    """Return the path, within the table, of the commit of `version`."""
    return f"{LOG}/{version:020}.json"


def read(files: pa_fs.FileSystem, version: int) -> list[dict[str, Any]] | None:
    """Return the actions of the commit of `version`; None if its file is gone or unreadable."""
    try:
        with files.open_input_stream(log_path(version)) as stream:
            lines = stream.read().splitlines()  # text has ends of lines that JSON does not escape
        return [json.loads(line) for line in lines if line.strip()]
    except (OSError, ValueError):
        return None


def paths_of(commit: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the paths, within the table, of the files that a commit added or removed."""
    files = [action.get("add") or action.get("remove") for action in commit]
    return {unquote(file["path"]) for file in files if file}


def encoded_path(path: str) -> str:
    """Return a path within the table as this package spells it in the log."""
    return quote(path, safe="/=")


def is_plain(log_path: str) -> bool:
    """Whether every writer spells this path of the log alike.

    A removal counts only if it spells the path as the addition did. The connector in the JVM leaves
    letters beyond ASCII as they are, delta-rs encodes them.
    """
    return _PLAIN_PATH.fullmatch(log_path) is not None


def removal(
    log_path: str, partition_values: Mapping[str, str | None], size: int, *, data_change: bool
) -> dict[str, Any]:
    """Return the action that removes a file, whose path is `log_path` as the log spells it."""
    return {
        "remove": {
            "path": log_path,
            "deletionTimestamp": current_milliseconds(),
            "dataChange": data_change,
            "extendedFileMetadata": True,
            "partitionValues": dict(partition_values),
            "size": size,
        }
    }


def addition(add: AddAction, *, data_change: bool) -> dict[str, Any]:
    """Return delta-rs's add-action as an action of the log."""
    return {
        "add": {
            "path": encoded_path(add.path),
            "partitionValues": add.partition_values,
            "size": add.size,
            "modificationTime": add.modification_time,
            "dataChange": data_change,
            "stats": add.stats,
        }
    }


def commit_info(operation: str, user_metadata: str) -> dict[str, Any]:
    """Return the action that describes a commit."""
    info = {
        "timestamp": current_milliseconds(),
        "operation": operation,
        "userMetadata": user_metadata,
    }
    return {"commitInfo": info}


def current_milliseconds() -> int:
    """Return the time of an action, in milliseconds."""
    return int(datetime.now(UTC).timestamp() * 1000)


def lies_in(file: Mapping[str, Any], partitions: Sequence[Mapping[str, str | None]]) -> bool:
    """Whether a file may be in one of `partitions`."""
    values = file.get("partitionValues")
    return values is None or any(
        all(values.get(name) == value for name, value in partition.items())
        for partition in partitions
    )


def stored_metadata(commit_info: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the lake recorded with a commit; nothing for the commits of other programs."""
    try:
        metadata = json.loads(commit_info.get("userMetadata") or "{}")
    except ValueError:
        return {}
    return metadata if isinstance(metadata, dict) else {}


def replaced_partition(action: Mapping[str, Any]) -> dict[str, str] | None:
    """The partition that a commit with this action replaced, as the lake recorded it."""
    metadata = stored_metadata(action.get("commitInfo") or {})
    if metadata.get("mode") != "replace":
        return None
    try:
        return dict(json.loads(metadata.get("partition", "{}")))
    except (TypeError, ValueError):
        return None


def put_commit(uri: str, version: int, actions: Sequence[Mapping[str, Any]]) -> bool:
    """Atomically commit `actions` as `version`; return False if the version exists already.

    `uri` is the table's address (`etl.lake.storage.table_uri`).
    """
    parts = urlsplit(uri)
    store = LocalStore(unquote(parts.path)) if parts.scheme == "file" else from_url(uri)
    data = "".join(json.dumps(action, ensure_ascii=False) + "\n" for action in actions)
    try:
        obstore.put(store, log_path(version), data.encode(), mode="create")
    except AlreadyExistsError:
        return False
    return True
