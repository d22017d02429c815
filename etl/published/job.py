"""``etl/import_published.py``: import of releases as tables, edition ``published``."""

import logging
from collections.abc import Callable
from dataclasses import make_dataclass
from importlib import import_module
from pathlib import Path

import pyarrow.compute as pc

from adnominal.conf import UserError, setting
from adnominal.conf.numbers import count_of
from adnominal.etl.declaration import Release
from adnominal.etl.dropped import write_dropped
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table
from adnominal.etl.published import nli
from adnominal.etl.published.adept import DUPLICATES
from adnominal.etl.published.reading import Reading
from adnominal.etl.registry import DATASETS

log = logging.getLogger("adnominal")

# Releases that are not datasets of their own: training data for the table nli.
_OTHERS: dict[str, tuple[Release, Callable[..., Reading]]] = {
    "nli": (Release("MultiNLI, SNLI, or a folder with both", "nli=multinli_1.0/"), nli.read),
    "addone": (
        Release("AddOne: the folder of its splits", "addone=addone-entailment/splits/"),
        nli.read_addone,
    ),
}


def _readers() -> dict[str, tuple[Release, Callable[..., Reading]]]:
    """The releases that can be imported, with the functions that read them."""
    declared: dict[str, tuple[Release, Callable[..., Reading]]] = {
        name: (dataset.release, import_module(f"adnominal.etl.published.{name}").read)
        for name, dataset in sorted(DATASETS.items())
        if dataset.release is not None
    }
    return declared | _OTHERS


READERS = _readers()


class ImportSettings:
    """Settings of ``etl/import_published.py``: folders of the releases, and these."""

    adept_duplicates: str
    addone_labels: str
    lake: str

    def __post_init__(self) -> None:
        if not self.releases:
            expected = ", ".join(f"{name}=FOLDER" for name in READERS)
            raise UserError(f"nothing to import; expected {expected}")

    @property
    def releases(self) -> dict[str, Path]:
        """The folders in the settings, by dataset."""
        folders = {name: getattr(self, name) for name in READERS}
        return {name: Path(path) for name, path in folders.items() if path is not None}


_duplicates: str = setting(
    "keep",
    help="ADEPT's repeated sentence pairs: all rows, or one row with the most frequent label",
    choices=DUPLICATES,
)
_labels: str = setting(
    "two",
    help="AddOne's labels: entailment and not_entailment, or with three entailment, neutral and "
    "contradiction, as the source addone_three",
    choices=tuple(nli.ADDONE_SOURCES),
)
_lake: str = setting("lake", help="folder or URI of the lake", example="lake=/data/lake")
Settings = make_dataclass(
    "Settings",
    [
        *(
            (name, str | None, setting(None, help=release.meaning, example=release.example))
            for name, (release, _) in READERS.items()
        ),
        ("adept_duplicates", str, _duplicates),
        ("addone_labels", str, _labels),
        ("lake", str, _lake),
    ],
    bases=(ImportSettings,),
    frozen=True,
)


def import_published(settings: ImportSettings) -> None:
    """Import published releases of the datasets into the tables of the lake, as edition published.

    Reads each release, replaces its editions in their tables (published, and published_tuning for
    the training data of a release), and counts in the table dropped what could not be read. Each
    setting names a release in the layout of its authors, such as an unchanged clone of their
    repository. The last lines of the log are the rows read and not read of every file.
    """
    # Everything is read, and every mistake in a path is found, before anything is written.
    options: dict[str, dict[str, str]] = {
        "adept": {"duplicates": settings.adept_duplicates},
        "addone": {"labels": settings.addone_labels},
    }
    readings = {
        name: READERS[name][1](path, **options.get(name, {}))
        for name, path in settings.releases.items()
    }
    for dataset, reading in readings.items():
        if not any(rows.num_rows for rows in reading.tables.values()):
            reasons = ", ".join(dict.fromkeys(reason for _, reason in reading.dropped))
            raise UserError(
                f"{dataset}={settings.releases[dataset]}: no row of the files can be read: "
                f"{reasons or 'all empty'}"
            )
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
                log.info("%s: %s of %s", name, count_of(edition_rows.num_rows, "row"), value)
        if not reading.dropped_of:
            write_dropped(settings.lake, job, reading.drops())
        for source in reading.dropped_of:
            # One job name per source, so that importing another keeps the drops of the first.
            write_dropped(settings.lake, f"{job}/{source}", reading.drops(source))
    for dataset, reading in readings.items():
        for line in reading.account():
            log.info("%s: %s", dataset, line)
