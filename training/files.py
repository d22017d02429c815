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


def check_folder(setting: str, folder: Path) -> Path:
    """What there is of the path of `folder`; `setting` is the name of what gives it.

    Raises:
        UserError: it is a file, or below one.
    """
    existing = folder.absolute()
    while not existing.exists():
        existing = existing.parent
    if not existing.is_dir():
        raise UserError(
            f"{setting}={folder}: {existing} is a file; expected a folder, or where one can be made"
        )
    return existing


def cache_folder(cache: str | None) -> Path | None:
    """The folder that ``cache=`` gives; None for none.

    Raises:
        UserError: it is a file, or below one.
    """
    if not cache:
        return None
    folder = Path(cache).expanduser()
    check_folder("cache", folder)
    return folder


def check_space(folder: Path, needed_bytes: int) -> None:
    """Raise `UserError` where `folder` cannot be, or its disk has too few bytes free."""
    free = shutil.disk_usage(check_folder("out", folder)).free
    if free < needed_bytes:
        raise UserError(
            f"out={folder}: {free / 1e9:.1f} GB free, but checkpoints and weights need "
            f"{needed_bytes / 1e9:.1f} GB; make room or choose another folder with out="
        )


def sync(folder: Path) -> None:
    """Wait until the files of a folder are on the disk, to be done before it gets its name.

    Otherwise a power cut may leave the name with empty files.
    """
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())


def replace_text(path: Path, text: str) -> None:
    """Write a file so that a reader, a kill or a power cut leaves the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)


def replace_json(path: Path, value: Mapping[str, Any]) -> None:
    """`replace_text` with JSON."""
    replace_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


@contextmanager
def complete_folder(folder: Path) -> Iterator[Path]:
    """A folder to write to, which gets the name of `folder` once all of it is written.

    After an error or a kill there is no `folder`; the next attempt deletes what a kill left.

    Raises:
        UserError: `folder` has files already, is a file, or is below one.
    """
    check_folder("out", folder)
    if folder.exists() and any(folder.iterdir()):
        raise UserError(f"out={folder}: has files already; expected another folder")
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
        os.replace(partial, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
