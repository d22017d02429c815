"""The written report of a small lake with runs and of one without."""

import html
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from adnominal import conf
from adnominal.analysis import reporting
from adnominal.analysis.editions import open_lake
from adnominal.analysis.report_numbers import SCHEMA, STATUSES
from adnominal.conf import UserError
from adnominal.etl.lake import arrow
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
        if tag == "table" and attributes.get("class") != "papers":
            self.boxed.append("box" in self.classes[-1] if self.classes else False)
        if tag == "figure":
            self.figures.append(set())
        for figure in self.figures[-1:]:
            figure.add(tag)
        if tag not in _VOID:
            self.open.append(tag)
            self.classes.append(attributes.get("class") or "")

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
def written_report(report_inputs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake, uri = report_inputs
    out = tmp_path_factory.mktemp("out") / "report"
    words = [f"lake={lake}", f"tracking={uri}", f"out={out}", PAGES]
    assert conf.run(reporting.Settings, reporting.report, words) == 0
    return out


def test_the_page_is_well_formed_and_self_contained(written_report):
    text = (written_report / "report.html").read_text(encoding="utf-8")
    page = parse(text)
    assert len(page.ids) == len(set(page.ids))
    assert {link[1:] for link in page.links} <= set(page.ids)
    # Pixel images are embedded in the page.
    assert all(link.startswith("data:image/png") for link in page.outside)
    assert not {"link", "iframe"} & page.tags
    assert len(text.encode()) < 3_000_000
    # Styles load nothing.
    assert "url(http" not in text and "@import" not in text
    assert page.boxed and all(page.boxed)
    assert len(page.figures) >= 12
    assert all({"svg", "figcaption"} <= parts for parts in page.figures)
    # Models and runs have names.
    assert not re.search(r"\b[0-9a-f]{32}\b", text.partition('id="numbers-data"')[0])


def test_the_first_screen_has_a_line_for_each_paper(written_report):
    text = (written_report / "report.html").read_text(encoding="utf-8")
    first_screen = html.unescape(text.partition("</header>")[0])
    for paper in ("ADEPT", "ASP", "SyGNS"):
        assert f">{paper}</a>" in first_screen
    assert re.search(r"\d+ of 13 exhibits reproduced, \d+ compared", first_screen)
    assert "accuracy 88.0 % [37.2, 100.0] on val, five classes (the paper's RoBERTa" in first_screen
    assert "finished" in first_screen and "Machine" in first_screen


def test_the_numbers_are_written_beside_the_page(written_report):
    manifest = json.loads((written_report / "report.json").read_text(encoding="utf-8"))
    files = {str(p.relative_to(written_report)) for p in written_report.rglob("*") if p.is_file()}
    assert files == {*manifest["files"], "report.json"}
    numbers = pq.read_table(written_report / "report_numbers.parquet")
    assert numbers.schema.names == SCHEMA.names
    assert set(numbers["status"].to_pylist()) <= set(STATUSES)
    assert set(numbers["paper"].to_pylist()) == {"adept", "asp", "sygns"}
    lines = (written_report / "report_numbers.tsv").read_text(encoding="utf-8").splitlines()
    assert lines[0].split("\t") == numbers.column_names
    assert len(lines) == numbers.num_rows + 1
    printed = {(row["paper"], row["exhibit"]) for row in numbers.to_pylist() if row["printed"]}
    assert {("sygns", f"Table {number}") for number in (4, 5, 6, 8, 9, 10, 11, 14)} <= printed


def test_a_report_replaces_an_earlier_one_and_equal_input_gives_equal_numbers(
    written_report, report_inputs, tmp_path
):
    lake, uri = report_inputs
    out = tmp_path / "again"
    words = [f"lake={lake}", f"tracking={uri}", f"out={out}", "pages=[adept]"]
    assert conf.run(reporting.Settings, reporting.report, words) == 0
    first = (out / "report_numbers.tsv").read_bytes()
    (out / "stale.txt").write_text("left over")
    link = tmp_path / "link"
    link.symlink_to(out)
    words[2] = f"out={link}"
    assert conf.run(reporting.Settings, reporting.report, words) == 0
    assert (out / "report_numbers.tsv").read_bytes() == first
    assert not (out / "stale.txt").exists()
    assert link.is_symlink() and not out.is_symlink()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again", "link"]


def test_the_numbers_can_replace_a_table_of_the_lake(tmp_path):
    lake = str(tmp_path / "lake")
    write(lake, "amod_pairs", [{"corpus": "c", "adjective": "red", "noun": "cup", "count": 3}])
    words = [f"lake={lake}", f"out={tmp_path / 'r'}", "tracking=none", "pages=[adept]"]
    assert conf.run(reporting.Settings, reporting.report, words) == 0
    assert "report_numbers" not in arrow.tables(lake)
    for _ in range(2):
        assert conf.run(reporting.Settings, reporting.report, [*words, "save=true"]) == 0
    saved = arrow.read(lake, "report_numbers")
    assert saved.num_rows == pq.read_table(tmp_path / "r" / "report_numbers.parquet").num_rows
    # The copy is no table that the report reads.
    assert "report_numbers" not in open_lake(lake).editions


def test_a_lake_without_write_permission_can_be_reported(tmp_path, monkeypatch):
    lake = tmp_path / "lake"
    write(str(lake), "amod_pairs", [{"corpus": "c", "adjective": "a", "noun": "n", "count": 3}])

    def refuse(*_: Any, **__: Any) -> None:
        pytest.fail("the report wrote to the lake")

    monkeypatch.setattr(arrow, "write", refuse)
    words = [f"lake={lake}", f"out={tmp_path / 'r'}", "tracking=none", "pages=[plane]"]
    assert conf.run(reporting.Settings, reporting.report, words) == 0


def test_an_almost_empty_lake_gives_a_complete_report(tmp_path):
    lake = str(tmp_path / "lake")
    write(lake, "amod_pairs", [{"corpus": "c", "adjective": "red", "noun": "cup", "count": 3}])
    out = tmp_path / "report"
    missing = f"tracking=sqlite:///{tmp_path / 'none.db'}"
    words = [f"lake={lake}", f"out={out}", missing, PAGES]
    assert conf.run(reporting.Settings, reporting.report, words) == 0
    text = (out / "report.html").read_text(encoding="utf-8")
    assert "cannot be read (no file" in text
    assert not (tmp_path / "none.db").exists()
    assert text.count("<code>python") + text.count("<code>deepspeed") >= 30
    parse(text)
    # The papers' figures are there nevertheless.
    numbers = pq.read_table(out / "report_numbers.parquet").to_pylist()
    cells = {(row["table_name"], row["row"], row["column"]): row["printed"] for row in numbers}
    assert cells["table 5", "majority", "5-class"] == "66.4"
    assert cells["table 4, one", "EXI", "GRU FOL"] == "96.1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lake=nowhere"], "lake=nowhere: no table of a lake there"),
        (["other_lake=nowhere"], "other_lake=nowhere: no table of a lake there"),
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
    words = ["tracking=none", PAGES, *arguments]
    code = conf.run(reporting.Settings, reporting.report, words)
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
