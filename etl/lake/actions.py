"""The actions of single commits of a Delta log, read and written as the protocol has them.

delta-rs gives the table as all commits have made it, and its Python interface cannot replace single
files. What upkeep needs lies here: which files a commit added and removed, and a commit that puts
files in the place of others.
"""

from __future__ import annotations

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
"""A file of the log: its version, and what it is."""
UNNAMED = re.compile(r"#\d+$|^_commit_.*\.tmp$")
"""The name that a file of the log has while it is written."""


def log_path(version: int) -> str:
    """Where the commit of `version` lies within the table."""
    return f"{LOG}/{version:020}.json"


def read(files: pa_fs.FileSystem, version: int) -> list[dict[str, Any]] | None:
    """The actions of the commit that made `version`; None where its file is gone or unreadable."""
    try:
        with files.open_input_stream(log_path(version)) as stream:
            lines = stream.read().decode().splitlines()
        return [json.loads(line) for line in lines if line.strip()]
    except (OSError, ValueError):
        return None


def paths_of(commit: Sequence[Mapping[str, Any]]) -> set[str]:
    """The files that a commit added or removed, by their paths within the table."""
    files = [action.get("add") or action.get("remove") for action in commit]
    return {unquote(file["path"]) for file in files if file}


def encoded_path(path: str) -> str:
    """A path within the table as the log spells it."""
    return quote(path, safe="/=")


def lies_in(file: Mapping[str, Any], partitions: Sequence[Mapping[str, str | None]]) -> bool:
    """Whether a file may lie in one of `partitions`."""
    values = file.get("partitionValues")
    return values is None or any(
        all(values.get(name) == value for name, value in partition.items())
        for partition in partitions
    )


def replaced_partition(action: Mapping[str, Any]) -> dict[str, str] | None:
    """The partition that a commit with this action replaced, as the lake itself noted it."""
    try:
        metadata = json.loads((action.get("commitInfo") or {}).get("userMetadata") or "{}")
        if metadata.get("mode") != "replace":
            return None
        return dict(json.loads(metadata.get("partition", "{}")))
    except (ValueError, AttributeError):
        return None


def put_commit(uri: str, version: int, actions: Sequence[Mapping[str, Any]]) -> bool:
    """Make `actions` the commit of `version`, at once; False where there is such a version already.

    `uri` is the table's (`etl.lake.storage.table_uri`).
    """
    parts = urlsplit(uri)
    store = LocalStore(unquote(parts.path)) if parts.scheme == "file" else from_url(uri)
    data = "".join(json.dumps(action, ensure_ascii=False) + "\n" for action in actions)
    try:
        obstore.put(store, log_path(version), data.encode(), mode="create")
    except AlreadyExistsError:
        return False
    return True
