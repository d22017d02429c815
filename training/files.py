"""Atomic replacement of files, and checks of disk space."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from adnominal.conf import UserError
from adnominal.conf.files import check_local, replace_text


def check_folder(setting: str, folder: Path) -> Path:
    """Return the existing part of the path of `folder`; `setting` names the setting for errors.

    Raises:
        UserError: the path is an address, a file or below one, or cannot be created.
    """
    check_local(setting, folder)
    existing = folder.absolute()
    while not existing.exists():
        existing = existing.parent
    if not existing.is_dir():
        raise UserError(
            f"{setting}={folder}: {existing} is a file; expected a folder, or a path where one can "
            "be created"
        )
    if existing != folder.absolute():
        try:
            # Modes do not tell: nobody can write to /proc, or to a file system mounted read-only.
            tempfile.TemporaryFile(dir=existing).close()
        except OSError as error:
            raise UserError(
                f"{setting}={folder}: {existing} cannot be written to ({error.strerror}); expected "
                "a folder, or a path where one can be created"
            ) from error
    return existing


def check_space(folder: Path, needed_bytes: int) -> None:
    """Raise `UserError` if `folder` is not possible or its disk has too few free bytes."""
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


def replace_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write JSON by `replace_text`."""
    replace_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


@contextmanager
def complete_folder(folder: Path, setting: str = "out") -> Iterator[Path]:
    """Provide a folder to write to, which is renamed to `folder` once it is complete.

    After an error or a kill there is no `folder`; the next attempt deletes what a kill left.
    `setting` is what the user set to `folder`.

    Raises:
        UserError: `folder` is not empty, is a file, or is below one.
    """
    check_folder(setting, folder)
    if folder.exists() and any(folder.iterdir()):
        raise UserError(f"{setting}={folder}: not empty; expected another folder")
    folder = folder.resolve()  # a link stays; the folder that it points to is written
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
        os.replace(partial, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
