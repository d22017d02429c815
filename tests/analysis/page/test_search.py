"""The search of the page in a real browser: what is found in a fold is opened.

The browser is the one of the system (Debian's package chromium); nothing is downloaded.
"""

import shutil

import pyarrow as pa
import pytest

from adnominal.analysis.page.rendering import html
from adnominal.analysis.page.view import TextTable, paper_view
from adnominal.analysis.papers.exhibits import Missing, Section
from adnominal.analysis.report_numbers import SCHEMA, Cells, Source, rows_of

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("no chromium on this machine (apt-get install chromium)", allow_module_level=True)


def section(number: int, *findings: Missing, **values: float) -> Section:
    cells = Cells("Ours", {(name, "share"): value for name, value in values.items()})
    rows = rows_of(Source("plane", f"Table {number}"), [cells])
    return Section(f"plane-{number}", f"Table {number}", "What is seen.", rows, (), findings)


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    long = {f"row{number}": 0.5 for number in range(20)}
    sections = [section(1, **long), section(2, Missing("the rest", "python make.py"))]
    paper = paper_view("plane", "PLANE", "", "", sections)
    contents = TextTable("", [], [], [], is_simulated=False)
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(html("Report", {}, "", [paper], contents, pa.Table.from_pylist([], SCHEMA)))
    return path


@pytest.mark.parametrize(
    ("words", "found", "visible"),
    [("row19", "1 of 2", "row19"), ("make.py", "", "python make.py")],
)
def test_search_opens_the_folds_that_have_the_words(page_file, words, found, visible):
    with sync_api.sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        page = browser.new_page()
        page.goto(f"file://{page_file}")
        hidden = page.get_by_text(visible, exact=True)
        assert not hidden.is_visible()
        page.get_by_role("searchbox").fill(words)
        assert hidden.is_visible()
        assert found in page.locator("output").inner_text()
        page.get_by_role("searchbox").fill("")
        assert not hidden.is_visible()
        browser.close()
