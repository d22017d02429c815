"""``python -m analysis.report``: the four papers' tables and figures, compared with ours.

The report is a folder: ``report.html``, one self-contained page, and ``report_numbers`` as Parquet
and as TSV, a row for each number. The page is made from the same rows (`analysis.report_numbers`).
"""

import dataclasses
import datetime
import importlib
import json
import logging
import os
import platform
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from adnominal import conf
from adnominal.analysis.editions import Lake, open_lake
from adnominal.analysis.external import with_external_runs
from adnominal.analysis.page.rendering import html, tsv
from adnominal.analysis.page.view import PaperView, contents, paper_view
from adnominal.analysis.papers.commands import Commands
from adnominal.analysis.papers.exhibits import Page, Section
from adnominal.analysis.papers.published import PAPERS, citation
from adnominal.analysis.report_numbers import table_of
from adnominal.analysis.semantics.prover import provers
from adnominal.conf import UserError, setting
from adnominal.conf.checks import check_distinct, check_tracking
from adnominal.etl.external import JOB as EXTERNAL
from adnominal.etl.lake import arrow
from adnominal.training.finished_runs import Runs, find_runs

log = logging.getLogger("adnominal")

# The module that declares each page; it is imported when the page is made.
PAGES = {
    **{name: f"adnominal.analysis.papers.{name}" for name in PAPERS},
    "across": "adnominal.analysis.across",
}
NUMBERS = "report_numbers"
# The file that marks a folder as a report.
MANIFEST = "report.json"
_KIND = "adnominal report"


@dataclass(frozen=True)
class Settings:
    lake: str = setting("lake", help="folder or URI of the lake", example="lake=/data/lake")
    tracking: str | None = setting(
        "sqlite:///mlflow.db",
        help="MLflow tracking store with the runs to show; none for a report of only the lake",
        example="tracking=http://tracker:5000",
    )
    out: str = setting(
        "report", help="output folder; an existing report is replaced", example="out=report"
    )
    edition: str | None = setting(
        None,
        help="edition of the tables to show; default: published, else paper, clean, demo",
        example="edition=clean",
    )
    other_lake: str | None = setting(
        None,
        help="lake to compare with: corpora of the same names, read by another parser",
        example="other_lake=/data/lake-fast",
    )
    pages: list[str] = setting(
        list(PAGES), help="pages to make", choices=tuple(PAGES), example="pages=[adept,asp]"
    )
    save: bool = setting(
        False, help=f"whether the numbers also replace the table {NUMBERS} of the lake"
    )
    prover: str = setting(
        "none",
        help="provers for the entailments of SyGNS's table 6, as in analysis.semantics "
        "(eprover, vampire, cvc5); they take minutes per run",
        example="prover=eprover",
    )
    cache: str | None = setting(None, help="SQLite file that keeps the provers' answers")
    seed: int = setting(0, help="seed that draws the examples")

    def __post_init__(self) -> None:
        check_tracking(self.tracking)
        out = Path(self.out).resolve()
        if not out.parent.is_dir():
            raise UserError(f"out={self.out}: no folder {out.parent}; make it first")
        if out.exists() and not _is_report(out):
            raise UserError(
                f"out={self.out} exists and is not a report (it has no {MANIFEST} of one); choose "
                "another name or remove it"
            )
        if not self.pages:
            raise UserError(f"pages=[]: expected one or more of {', '.join(PAGES)}")
        check_distinct(self, "pages")


def _is_report(folder: Path) -> bool:
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(manifest, dict) and manifest.get("kind") == _KIND


def report(settings: Settings) -> None:
    """Write report.html, a self-contained page with what the four papers print beside the numbers
    of the lake and of the runs of an MLflow store, and report_numbers.parquet and .tsv, a row for
    each number. What has not been run stands there with the command for it.

    The folder appears when it is complete and replaces an earlier report.
    """
    if settings.prover != "none":
        provers(settings.prover.split(","))
    if settings.other_lake is not None and not arrow.tables(settings.other_lake):
        raise UserError(
            f"other_lake={settings.other_lake}: no table of a lake there; expected another lake"
        )
    lake = dataclasses.replace(
        open_lake(settings.lake, settings.edition, settings.seed), other_root=settings.other_lake
    )
    runs = with_external_runs(find_runs(settings.tracking), settings.lake)
    if runs.runs:
        log.info("%d finished runs", len(runs.runs))
    sections = dict(sections_of_pages(settings, lake, runs))
    numbers = table_of([row for page in sections.values() for s in page for row in s.rows])
    page = html(
        "Adnominal: four papers and ours",
        _facts(settings, lake, runs),
        runs.note,
        [_paper_view(name, page) for name, page in sections.items()],
        contents(lake.contents()),
        numbers,
    )
    # A link stays; the folder that it points to is replaced.
    _write(Path(settings.out).resolve(), page, numbers)
    log.info("%s/report.html written, with %d numbers beside it", settings.out, numbers.num_rows)
    if settings.save:
        _save(settings, numbers)


def page_of(name: str) -> Page[Any]:
    """The declaration of a page."""
    page: Page[Any] = importlib.import_module(PAGES[name]).PAGE
    return page


def sections_of_pages(
    settings: Settings, lake: Lake, runs: Runs
) -> Iterator[tuple[str, Sequence[Section]]]:
    """Each page's sections, with commands for this lake."""
    commands = Commands(lake)
    for number, name in enumerate(settings.pages, 1):
        started = time.monotonic()
        options = {"prover": settings.prover, "cache": settings.cache} if name == "sygns" else {}
        sections = page_of(name).sections(lake, runs, **options)
        seconds = time.monotonic() - started
        progress = (number, len(settings.pages), name, len(sections), seconds)
        log.info("page %d of %d, %s: %d exhibits in %.0f s", *progress)
        yield name, [commands.completed(section) for section in sections]


def _paper_view(name: str, sections: Sequence[Section]) -> PaperView:
    page = page_of(name)
    rows = [row for section in sections for row in section.rows]
    headline = page.headline(rows) or ""
    return paper_view(
        name, page.title, citation(name) if name in PAPERS else "", headline, sections
    )


def _facts(settings: Settings, lake: Lake, runs: Runs) -> dict[str, str]:
    """What the first screen says of the report."""
    return {
        "Lake": settings.lake,
        "Edition": settings.edition or "the papers' own where the lake has it",
        "Runs": _counted_runs(runs),
        "Date": datetime.datetime.now(datetime.UTC).strftime("%d %B %Y, %H:%M UTC"),
        "Code": conf.code_version(),
        "Machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def _counted_runs(runs: Runs) -> str:
    imported = len(runs.of(EXTERNAL))
    finished = f"{len(runs.runs) - imported:,} finished"
    return f"{finished}, {imported:,} imported" if imported else finished


def _write(out: Path, page: str, numbers: pa.Table) -> None:
    """Write the files into a new folder, which replaces the old one at the end."""
    partial = out.with_name(f".{out.name}.{os.getpid()}.partial")
    previous = out.with_name(f".{out.name}.{os.getpid()}.previous")
    files = ("report.html", f"{NUMBERS}.parquet", f"{NUMBERS}.tsv")
    try:
        partial.mkdir()
        (partial / "report.html").write_text(page, encoding="utf-8")
        (partial / f"{NUMBERS}.tsv").write_text(tsv(numbers), encoding="utf-8")
        pq.write_table(numbers, partial / f"{NUMBERS}.parquet")
        manifest = {"kind": _KIND, "files": sorted(files)}
        (partial / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
        if out.exists():
            out.rename(previous)
        partial.rename(out)
    finally:
        if previous.exists() and not out.exists():
            previous.rename(out)
        shutil.rmtree(partial, ignore_errors=True)
        shutil.rmtree(previous, ignore_errors=True)


def _save(settings: Settings, numbers: pa.Table) -> None:
    """Replace the table of the lake; all papers and editions in one commit."""
    arrow.replace(settings.lake, NUMBERS, numbers, {}, job="report")
    log.info("table %s of %s replaced", NUMBERS, settings.lake)
