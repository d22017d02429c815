"""The search of the page in a real browser: what is found in a fold is opened."""

import pyarrow as pa
import pytest

from adnominal.analysis.page.rendering import html
from adnominal.analysis.page.view import TextTable, paper_view
from adnominal.analysis.papers.exhibits import Missing, Section
from adnominal.analysis.report_numbers import SCHEMA, Cells, Source, rows_of
from tests.browser import launch


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


@pytest.fixture(scope="module")
def page(page_file):
    with launch() as browser:
        page = browser.new_page()
        page.goto(f"file://{page_file}")
        yield page


@pytest.mark.parametrize(
    ("words", "found", "visible"),
    [("row19", "1 of 2", "row19"), ("make.py", "", "python make.py")],
)
def test_search_opens_the_folds_that_have_the_words(page, words, found, visible):
    hidden = page.get_by_text(visible, exact=True)
    assert not hidden.is_visible()
    page.get_by_role("searchbox").fill(words)
    assert hidden.is_visible()
    assert found in page.locator("output").inner_text()
    page.get_by_role("searchbox").fill("")
    assert not hidden.is_visible()
