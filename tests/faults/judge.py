"""What must hold after a fault: which rows are visible, and which files remain."""

import hashlib
import re
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from adnominal.etl.lake import actions, arrow, scratch, staging, writing
from adnominal.etl.lake.storage import filesystem, table_uri
from adnominal.etl.lake.tables import table as declaration
from adnominal.etl.lake.verify import verify
from tests.faults import scenarios
from tests.faults.scenarios import Place

_LOG = re.compile(r"\d{20}\.(json|checkpoint(\..*)?\.parquet)$|_last_checkpoint$")
_OUTSIDE = "pairs.tsv"


def digest(rows: list[dict[str, Any]]) -> str:
    """A hash of the rows in any order."""
    return hashlib.sha256("\n".join(sorted(map(repr, rows))).encode()).hexdigest()[:16]


def contents(place: Place) -> dict[str, str]:
    """A hash of the content of each table of the lake, and of the exported file."""
    digests = {
        name: digest(arrow.read(place.lake, name).to_pylist()) for name in arrow.tables(place.lake)
    }
    exported = place.root / _OUTSIDE
    if exported.exists():
        digests[_OUTSIDE] = hashlib.sha256(exported.read_bytes()).hexdigest()[:16]
    return digests


def states(place: Place, initial: dict[str, str]) -> dict[str, list[str]]:
    """The hashes of each table from the `initial` one to now, after each commit."""
    digests = {name: [digest_] for name, digest_ in initial.items()}
    for name, current in contents(place).items():
        history = digests.setdefault(name, [])
        if name != _OUTSIDE:
            for version in range(arrow.version(place.lake, name) or 0):
                try:
                    rows = arrow.read(place.lake, name, version=version).to_pylist()
                except Exception:  # vacuumed
                    continue
                history.append(digest(rows))
        history.append(current)
    return digests


def visible_faults(place: Place, allowed: dict[str, list[str]]) -> list[str]:
    """Tables that are broken, or in a state that no undisturbed run shows."""
    faults = []
    for name, content in contents(place).items():
        if content not in allowed.get(name, []):
            faults.append(f"{name} is in a state that no undisturbed run shows")
    return faults + table_faults(place)


def table_faults(place: Place) -> list[str]:
    """The faults in the logs and files of the tables."""
    return [
        f"{name}: {fault}"
        for name in arrow.tables(place.lake)
        for fault in verify(place.lake, declaration(name)).faults
    ]


def leftovers(place: Place) -> list[str]:
    """Files that no table needs and that a vacuum eight days later does not delete."""
    scenarios.age(place.root, days=8)
    # The names of these files contain their age.
    scratch._LEFTOVER_AGE = timedelta(seconds=-5)
    with scratch.scratch(place.lake):
        pass
    for name in arrow.tables(place.lake):
        declared = declaration(name)
        writing.clean(table_uri(place.lake, name), declared, staging.LEFTOVER_AGE)
    if Path(place.lake).exists() and arrow.tables(place.lake):
        assert scenarios.vacuum(place) == 0
    if any(place.root.glob("*pairs.tsv*")):
        assert scenarios.export(place) == 0
    needed = {
        str(Path(place.lake, name, path))
        for name in arrow.tables(place.lake)
        for path in named_paths(place, name)
    }
    return [
        str(path.relative_to(place.root))
        for path in sorted(place.root.rglob("*"))
        if path.is_file()
        and str(path) not in needed
        and not (path.parent.name == "_delta_log" and _LOG.match(path.name))
        and path.name != _OUTSIDE
    ]


def named_paths(place: Place, table: str) -> set[str]:
    """The paths that the log of a table names, in any version."""
    uri = table_uri(place.lake, table)
    files = filesystem(uri)
    names = {file.path for file in arrow.files(place.lake, table)}
    for version in range((arrow.version(place.lake, table) or 0) + 1):
        names |= {unquote(path) for path in actions.paths_of(actions.read(files, version) or [])}
    return names
