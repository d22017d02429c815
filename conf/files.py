"""Files that are replaced as a whole, on this machine."""

import os
import re
from pathlib import Path

from adnominal.conf import UserError


def check_local(setting: str, path: Path) -> None:
    """Raise `UserError` for an address such as ``s3://…``, which would be a folder ``s3:`` here."""
    if re.match(r"\w+:/", str(path)):
        address = str(path).replace(":/", "://", 1)
        raise UserError(f"{setting}={address}: an address; expected a path on this machine")


def replace_text(path: Path, text: str) -> None:
    """Write a file so that a reader, a kill or a power cut leaves the old or the new content."""
    path = path.resolve()  # a link stays; the file that it points to is written
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)
