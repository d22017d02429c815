"""Files that are replaced as a whole."""

import os
from pathlib import Path


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
