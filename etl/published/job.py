"""``etl/import_published.py``: import of releases as tables, edition ``published``."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc

from conf import UserError, setting
from etl.lake import arrow
from etl.lake.tables import table
from etl.published import adept, asp, nli, plane, sygns
from etl.published.adept import DUPLICATES
from etl.published.reading import Reading, write_dropped

log = logging.getLogger("adnominal")

# A new dataset needs a module, a line here, and a setting with its name for its folder.
READERS: dict[str, Callable[..., Reading]] = {
    "adept": adept.read,
    "asp": asp.read,
    "sygns": sygns.read,
    "nli": nli.read,
    "addone": nli.read_addone,
    "plane": plane.read,
}


@dataclass(frozen=True)
class Settings:
    """Settings of ``etl/import_published.py``."""

    adept: str | None = setting(
        None, help="release of ADEPT: the folder of its JSON files", example="adept=adept/"
    )
    adept_duplicates: str = setting(
        "keep",
        help="ADEPT's repeated sentence pairs: all rows, or one row with the most frequent label",
        choices=DUPLICATES,
    )
    asp: str | None = setting(
        None,
        help="release of ASP: its repository, or the folder data/ in it",
        example="asp=AdjectiveScaleProbe/",
    )
    sygns: str | None = setting(
        None, help="release of SyGNS: its repository, or a TSV file", example="sygns=SyGNS/"
    )
    nli: str | None = setting(
        None, help="MultiNLI, SNLI, or a folder with both", example="nli=multinli_1.0/"
    )
    addone: str | None = setting(
        None, help="AddOne: the folder of its splits", example="addone=addone-entailment/splits/"
    )
    plane: str | None = setting(
        None,
        help="release of PLANE: its repository, or the folder of its splits",
        example="plane=PLANE/",
    )
    lake: str = setting("lake", help="folder or URI of the lake", example="lake=/data/lake")

    def __post_init__(self) -> None:
        if not self.releases:
            expected = ", ".join(f"{name}=FOLDER" for name in READERS)
            raise UserError(f"nothing to import; expected {expected}")

    @property
    def releases(self) -> dict[str, Path]:
        """The folders in the settings, by dataset."""
        folders = {name: getattr(self, name) for name in READERS}
        return {name: Path(path) for name, path in folders.items() if path is not None}


def import_published(settings: Settings) -> None:
    """Import published releases of the datasets into the tables of the lake, as edition published.

    Reads each release, replaces its editions in their tables (published, and published_tuning for
    the training data of a release), and counts in the table dropped what could not be read. Each
    setting names a release in the layout of its authors, such as an unchanged clone of their
    repository. The last lines of the log are the rows read and not read of every file.
    """
    # Everything is read, and every mistake in a path is found, before anything is written.
    options = {"adept": {"duplicates": settings.adept_duplicates}}
    readings = {
        name: READERS[name](path, **options.get(name, {}))
        for name, path in settings.releases.items()
    }
    for dataset, reading in readings.items():
        job = f"import_published/{dataset}"
        for line in reading.notes:
            log.info("%s: %s", dataset, line)
        for name, rows in reading.tables.items():
            # The partition column is the edition or its equivalent; each of its values is replaced.
            column = table(name).partition_by[0]
            for value in pc.unique(rows[column]).to_pylist():
                edition_rows = rows.filter(pc.equal(rows[column], value))
                arrow.replace(settings.lake, name, edition_rows, {column: value}, job=job)
                log.info("%s: %d rows of %s", name, edition_rows.num_rows, value)
        write_dropped(settings.lake, job, reading)
    for dataset, reading in readings.items():
        for line in reading.account():
            log.info("%s: %s", dataset, line)
