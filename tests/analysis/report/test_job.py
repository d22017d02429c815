"""The written report of a small lake with runs and of one without."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from adnominal import conf
from adnominal.analysis.editions import Lake, open_lake
from adnominal.analysis.papers import adept, asp, sygns
from adnominal.analysis.papers import report as job
from adnominal.analysis.papers.page import Sources, exhibit
from adnominal.analysis.rendering import figures
from adnominal.analysis.rendering.blocks import (
    Block,
    FigureBlock,
    NotRun,
    Report,
    Table,
    Text,
    blocks_by_anchor,
)
from adnominal.conf import UserError
from adnominal.training.finished_runs import Runs, find_runs
from tests.rows import write

PAGES = "pages=[adept,asp,sygns]"
_VOID = {"meta", "br", "link", "img", "hr", "input"}


class CheckingParser(HTMLParser):
    """Collects ids and references, and checks that elements are closed properly."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []
        self.classes: list[str] = []
        self.boxed: list[bool] = []
        self.figures: list[set[str]] = []
        self.outside: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.add(tag)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        for name in ("href", "xlink:href", "src"):
            if name in attributes:
                link = attributes[name]
                (self.links if link.startswith("#") else self.outside).append(link)
        if tag == "table":
            self.boxed.append("box" in self.classes[-1] if self.classes else False)
        if tag == "figure":
            self.figures.append(set())
        for figure in self.figures[-1:]:
            figure.add(tag)
        if tag not in _VOID:
            self.open.append(tag)
            self.classes.append(attributes.get("class", ""))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (self.open[-3:], tag)
        self.open.pop()
        self.classes.pop()


def parse(text: str) -> CheckingParser:
    parser = CheckingParser()
    parser.feed(text)
    parser.close()
    assert not parser.open
    return parser


@pytest.fixture(scope="module")
def written(built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out") / "report"
    job._write(out, built)
    return out


def test_the_page_is_well_formed_and_self_contained(written):
    text = (written / "report.html").read_text(encoding="utf-8")
    page = parse(text)
    assert len(page.ids) == len(set(page.ids))
    assert {link[1:] for link in page.links} <= set(page.ids)
    # Pixel images are embedded in the page.
    assert all(link.startswith("data:image/png") for link in page.outside)
    assert (
        not {"link", "iframe"} & page.tags and text.count("<script>") == text.count("<script") == 1
    )
    assert len(text.encode()) < 5_000_000
    # Styles load nothing.
    assert "url(http" not in text and "@import" not in text
    assert page.boxed and all(page.boxed)
    assert page.figures and all({"svg", "figcaption"} <= parts for parts in page.figures)


def test_every_block_is_written_to_markdown_and_files(written):
    text = (written / "report.md").read_text(encoding="utf-8")
    manifest = json.loads((written / "report.json").read_text(encoding="utf-8"))
    files = {str(p.relative_to(written)) for p in written.rglob("*") if p.is_file()}
    assert files == {*manifest["files"], "report.json"}
    pictures = [name for name in files if name.endswith(".svg")]
    assert len(pictures) == text.count("![") and all(f"({name})" in text for name in pictures)
    for number in range(1, 19):
        assert f"### Table {number}:" in text
    for heading in ("## ADEPT", "## ASP", "## SyGNS", "### Figure 4: labels by class"):
        assert heading in text


def test_equal_input_gives_equal_blocks_and_figures(report_inputs, built):
    opened, runs = open_lake(report_inputs[0]), find_runs(report_inputs[1])
    for part, module in zip(built.parts, (adept, asp, sygns), strict=True):
        rebuilt = module.PAGE.sections(opened, runs)
        assert len(part.sections) == len(rebuilt) + 1
        for first, second in zip(part.sections[1:], rebuilt, strict=True):
            assert first.title == second.title
            for one, two in zip(first.blocks, second.blocks, strict=True):
                if isinstance(one, NotRun):
                    assert f"lake={report_inputs[0]}" in one.command and "lake=LAKE" in two.command
                elif isinstance(one, FigureBlock):
                    assert (one.caption, one.data) == (two.caption, two.data)
                else:
                    assert one == two
    figure = next(b for _, b in blocks_by_anchor(built) if isinstance(b, FigureBlock)).figure
    assert figures.svg(figure) == figures.svg(figure)


def test_a_report_replaces_an_earlier_one(tmp_path):
    out = tmp_path / "again"
    small = Report("T", [Text("of words")], [])
    job._write(out, small)
    first = {p.name: p.read_bytes() for p in out.iterdir()}
    (out / "stale.txt").write_text("left over")
    job._write(out, small)
    assert {p.name: p.read_bytes() for p in out.iterdir()} == first
    assert [p.name for p in tmp_path.iterdir()] == ["again"]


def test_axes_have_labels_and_tables_have_a_reasonable_size(built):
    figure_count = 0
    for anchor, block in blocks_by_anchor(built):
        if isinstance(block, FigureBlock):
            figure_count += 1
            figure = block.figure
            assert block.caption and block.data.num_rows
            axes = [ax for ax in figure.axes if ax.axison]
            assert figure.get_supxlabel() or all(ax.get_xlabel() for ax in axes), anchor
            # Horizontal bars have their names as tick labels.
            named = all(ax.get_ylabel() or ax.get_yticklabels() for ax in axes)
            assert figure.get_supylabel() or named, anchor
        if isinstance(block, Table):
            assert block.data.num_columns <= 12 and block.data.num_rows, block.caption
    assert figure_count >= 12


def test_an_almost_empty_lake_gives_a_complete_report(tmp_path):
    lake = str(tmp_path / "lake")
    write(lake, "amod_pairs", [{"corpus": "c", "adjective": "red", "noun": "cup", "count": 3}])
    out = tmp_path / "report"
    missing = f"tracking=sqlite:///{tmp_path / 'none.db'}"
    assert conf.run(job.Settings, job.report, [f"lake={lake}", f"out={out}", missing, PAGES]) == 0
    text = (out / "report.md").read_text(encoding="utf-8")
    assert "cannot be read (no file" in text
    assert not (tmp_path / "none.db").exists()
    assert text.count("**Not run:**") > 30
    # The papers' figures are shown nevertheless, in the layout of the papers.
    assert "| EXI | 96.1 | 99.5 | 99.9 |" in text and "| majority | 66.4 | 66.4 |" in text
    parse((out / "report.html").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lake=nowhere"], "lake=nowhere: no table of a lake there"),
        (["out=taken"], "out=taken exists and is not a report"),
        (["out=no/such/folder"], "no folder"),
        (["edition=other"], "edition=other: no table of .* has it; there is demo"),
        (["pages=[asp,asp]"], "pages=.*: the same value twice"),
        (["pages=[adept,poems]"], "pages=poems: expected one of adept"),
        (["prover=oracle"], "oracle"),
    ],
)
def test_mistakes_are_reported_early(tmp_path, monkeypatch, arguments, message, capsys):
    monkeypatch.chdir(tmp_path)
    write("lake", "adept_entries", [{"noun": "dog", "adjectives": [], "edition": "demo"}])
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine.txt").write_text("not a report")
    code = conf.run(job.Settings, job.report, ["tracking=none", PAGES, *arguments])
    last_line = capsys.readouterr().err.splitlines()[-1]
    assert code == 2 and re.search(message, last_line), last_line
    assert (tmp_path / "taken" / "mine.txt").exists() and not (tmp_path / "report").exists()


def test_a_lake_has_a_preferred_edition(tmp_path):
    lake = str(tmp_path)
    for edition in ("mine", "demo", "clean"):
        row: dict[str, Any] = {"noun": "dog", "adjectives": [], "edition": edition}
        write(lake, "adept_entries", [row])
    lake_editions = open_lake(lake)
    assert lake_editions.editions == {"adept_entries": ("clean", "demo", "mine")}
    assert lake_editions.edition("adept_entries") == "clean"
    assert open_lake(lake, "mine").edition("adept_entries") == "mine"
    with pytest.raises(UserError, match="no table adept in"):
        lake_editions.edition("adept_entries", "adept")
    assert lake_editions.contents().to_pylist()[0] == {
        "table": "adept_entries",
        "edition": "clean",
        "rows": 1,
        "version": 2,
    }


def test_exhibits_that_lack_a_table_are_marked_as_not_run():
    @exhibit("Table 1", "rules", command="make it", beside=("table 1",))
    def rules(page: Sources) -> list[Block]:
        raise UserError("no table")

    printed, missing = rules.section("plane", Sources(Lake("lake", {}), Runs(()))).blocks
    # The printed numbers are shown and counted.
    assert isinstance(printed, Table) and printed.caption == "Table 1 (as published)"
    assert printed.printed == {"not run": 9} and printed.data.column("O").to_pylist()[2] == "1"
    assert missing == NotRun("Table 1: rules", "make it", "no table")
