"""Read and write the actions of single commits of a Delta log.

delta-rs shows the table as the sum of all commits, and its Python interface cannot replace single
files. Upkeep needs what is here: the files that a commit added and removed, and a commit that
replaces files.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import obstore
import pyarrow.fs as pa_fs
from obstore.exceptions import AlreadyExistsError
from obstore.store import LocalStore, from_url

LOG = "_delta_log"
LOG_FILE = re.compile(r"(\d{20})\.(json|checkpoint(\..*)?\.parquet|crc)$")
"""The name of a file of the log: its version and its kind."""
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
    """Return a path within the table as the log spells it."""
    return quote(path, safe="/=")


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
