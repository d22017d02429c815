"""Files that are replaced whole, and room for them on the disk."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conf import UserError


def check_space(folder: Path, needed_bytes: int) -> None:
    """Raise `UserError` where the disk of `folder` has less than `needed_bytes` free."""
    existing = folder.absolute()
    while not existing.exists():
        existing = existing.parent
    free = shutil.disk_usage(existing).free
    if free < needed_bytes:
        raise UserError(
            f"out={folder}: {free / 1e9:.1f} GB free, but checkpoints and weights need "
            f"{needed_bytes / 1e9:.1f} GB; make room or choose another folder with out="
        )


def replace_text(path: Path, text: str) -> None:
    """Write a file so that a reader, or a kill, sees the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(text, encoding="utf-8")
    os.replace(fresh, path)


def replace_json(path: Path, value: Mapping[str, Any]) -> None:
    """`replace_text` with JSON."""
    replace_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


@contextmanager
def complete_folder(folder: Path) -> Iterator[Path]:
    """A folder to write to, which gets the name of `folder` once all of it is written.

    After an error or a kill there is no `folder`; the next attempt deletes what a kill left.

    Raises:
        UserError: `folder` has files already.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"out={folder}: has files already; expected another folder")
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
        os.replace(partial, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
