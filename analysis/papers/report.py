"""``python -m analysis.report``: the published tables and figures, compared with ours."""

import dataclasses
import importlib
import json
import logging
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adnominal.analysis.editions import Lake, open_lake
from adnominal.analysis.papers.commands import Commands
from adnominal.analysis.papers.overview import overview, summary
from adnominal.analysis.papers.page import Page
from adnominal.analysis.papers.published import PAPERS, citation
from adnominal.analysis.rendering import figures
from adnominal.analysis.rendering.blocks import (
    Block,
    FigureBlock,
    NotRun,
    Part,
    Report,
    Section,
    Table,
    Text,
    blocks_by_anchor,
)
from adnominal.analysis.rendering.html import html
from adnominal.analysis.rendering.markdown import files, markdown
from adnominal.analysis.semantics.prover import provers
from adnominal.conf import UserError, setting
from adnominal.conf.checks import check_distinct
from adnominal.training.finished_runs import Runs, find_runs

log = logging.getLogger("adnominal")

# The module that declares each page; it is imported when the page is made.
PAGES = {name: f"adnominal.analysis.papers.{name}" for name in PAPERS} | {
    "cross_task": "adnominal.analysis.across"
}
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
    prover: str = setting(
        "none",
        help="provers for the entailments of SyGNS's table 6, as in analysis.semantics "
        "(eprover, vampire, cvc5); they take minutes per run",
        example="prover=eprover",
    )
    cache: str | None = setting(None, help="SQLite file that keeps the provers' answers")
    seed: int = setting(0, help="seed that draws the examples")

    def __post_init__(self) -> None:
        out = Path(self.out)
        if not out.absolute().parent.is_dir():
            raise UserError(f"out={self.out}: no folder {out.absolute().parent}; make it first")
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
    """Write report.html (a self-contained file), report.md, every figure as SVG and every table as
    TSV. The report has what the four papers print, the corresponding numbers of the lake and the
    runs of an MLflow store, and the commands for whatever has not been run.

    The folder appears when it is complete and replaces an earlier report.
    """
    if settings.prover != "none":
        provers(settings.prover.split(","))
    lake = dataclasses.replace(
        open_lake(settings.lake, settings.edition, settings.seed), other_root=settings.other_lake
    )
    runs = find_runs(settings.tracking)
    if runs.runs:
        log.info("%d finished runs", len(runs.runs))
    parts = list(_parts(settings, lake, runs))
    document = Report(
        "Adnominal: the papers' tables and figures, and ours", _opening(lake, runs, parts), parts
    )
    number = _write(Path(settings.out), document)
    log.info("%s/report.html and %d other files written", settings.out, number)


def page_of(name: str) -> Page[Any]:
    """The declaration of a page."""
    page: Page[Any] = importlib.import_module(PAGES[name]).PAGE
    return page


def _parts(settings: Settings, lake: Lake, runs: Runs) -> Iterator[Part]:
    commands = Commands(lake)
    for number, name in enumerate(settings.pages, 1):
        started = time.monotonic()
        page = page_of(name)
        options = {"prover": settings.prover, "cache": settings.cache} if name == "sygns" else {}
        sections = page.sections(lake, runs, **options)
        if name in PAPERS:
            sections = [Section(f"{name}-paper", "The paper", [Text(citation(name))]), *sections]
        seconds = time.monotonic() - started
        progress = (number, len(settings.pages), name, len(sections), seconds)
        log.info("page %d of %d, %s: %d sections in %.0f s", *progress)
        yield Part(name, page.title, [_of_lake(section, commands) for section in sections])


def _of_lake(section: Section, commands: Commands) -> Section:
    """The section with commands for this lake."""
    blocks = [
        commands.completed(block) if isinstance(block, NotRun) else block
        for block in section.blocks
    ]
    return dataclasses.replace(section, blocks=blocks)


def _opening(lake: Lake, runs: Runs, parts: Sequence[Part]) -> list[Block]:
    return [
        Text(runs.note or f"{len(runs.runs)} finished runs were found in the tracking store."),
        *summary(parts),
        *overview(parts),
        Text(
            "Every table and figure of the four papers, as published and as recomputed from this "
            "lake and these runs. In tables of numbers, the first line of a cell is the published "
            "number, the second ours with its 95 % interval, the third ours minus published, with "
            "the same interval (equal: to the printed digit); a star marks a published number "
            "outside our interval. The interval is Wilson's (or a bootstrap over rows grouped by "
            "premise) for one run, and Student's t over runs that differ only by seed or round."
        ),
        Table("Contents of the lake", lake.contents(), folded=True),
    ]


def _write(out: Path, document: Report) -> int:
    """Write the files into a new folder, which replaces the old one at the end."""
    pictures = {
        anchor: figures.svg(block.figure)
        for anchor, block in blocks_by_anchor(document)
        if isinstance(block, FigureBlock)
    }
    texts = {"report.html": html(document, pictures), "report.md": markdown(document)}
    texts |= files(document, pictures)
    manifest = {"kind": _KIND, "files": sorted(texts)}
    texts[MANIFEST] = json.dumps(manifest, indent=1) + "\n"
    partial = out.with_name(f".{out.name}.{os.getpid()}.partial")
    previous = out.with_name(f".{out.name}.{os.getpid()}.previous")
    try:
        for path, text in texts.items():
            target = partial / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        if out.exists():
            out.rename(previous)
        partial.rename(out)
    finally:
        if previous.exists() and not out.exists():
            previous.rename(out)
        shutil.rmtree(partial, ignore_errors=True)
        shutil.rmtree(previous, ignore_errors=True)
    return len(texts) - 1
