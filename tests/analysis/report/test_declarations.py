"""Exhibits read exactly the tables and compare exactly the published numbers they declare."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from adnominal.analysis.editions import open_lake
from adnominal.analysis.papers import published
from adnominal.analysis.papers.exhibits import Exhibit, Sources, exhibit
from adnominal.analysis.papers.published import PAPERS, load
from adnominal.analysis.reporting import PAGES, page_of
from adnominal.conf import UserError
from adnominal.etl.lake import arrow
from adnominal.training.finished_runs import Runs, find_runs
from tests.analysis.report.small_lake import SmallLake

Names = set[str]
MEANINGS = {"sygns", "sygns_splits"}
# Declared tables that are not read here because the lakes lack pairs, labels or runs.
NOT_READ: dict[tuple[str, str], Names] = {
    ("adept", "Figure 1"): {"amod_pairs"},
    ("adept", "Table 2"): {"adept"},
    ("across", "leak-free splits against published ones"): {"plane_items"},
    **{("sygns", f"Table {number}"): MEANINGS for number in (6, 10, 14, 16, 17)},
}

# Published numbers that an exhibit computes with, beside those that ours are compared with.
ALSO_READ: dict[tuple[str, str], Names] = {
    ("asp", "degree estimation against comparing numbers"): {"table 3, degree estimation"},
}


@contextmanager
def record_tables() -> Iterator[tuple[Names, Names]]:
    """Record the tables of the lake and the published tables that the block reads."""
    tables: Names = set()
    printed: Names = set()

    def record(function: Any, names: Names) -> Any:
        def call(first: Any, name: str, *arguments: Any, **options: Any) -> Any:
            names.add(name)
            return function(first, name, *arguments, **options)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in ("read", "batches", "dataset"):
            patch.setattr(arrow, name, record(getattr(arrow, name), tables))
        patch.setattr(published, "table", record(published.table, printed))
        yield tables, printed


@pytest.fixture(scope="module")
def observed_tables(report_inputs, tmp_path_factory) -> dict[tuple[str, str], tuple[Names, Names]]:
    """The tables that each exhibit read and compared in two lakes, by page and title."""
    small = SmallLake(tmp_path_factory.mktemp("declared"))
    names_read: dict[tuple[str, str], tuple[Names, Names]] = defaultdict(lambda: (set(), set()))
    for root, runs in ((report_inputs[0], find_runs(report_inputs[1])), (small.root, small.all)):
        lake = open_lake(root)
        for name in PAGES:
            page = page_of(name)
            for entry in page.exhibits:
                # With a new context, tables that another exhibit has read are read again.
                with record_tables() as (tables, printed), suppress(UserError):
                    list(entry.section(name, page.context(lake, runs)).rows)
                names_read[name, entry.title][0].update(tables)
                names_read[name, entry.title][1].update(printed)
    return names_read


def exhibits() -> Iterator[tuple[str, Exhibit[Any]]]:
    for name in PAGES:
        for entry in page_of(name).exhibits:
            yield name, entry


@pytest.mark.parametrize(
    ("name", "entry"), [pytest.param(n, e, id=f"{n}-{e.number or e.title}") for n, e in exhibits()]
)
def test_exhibits_read_exactly_what_they_declare(observed_tables, name, entry):
    tables, printed = observed_tables[name, entry.title]
    assert printed == {*entry.printed, *ALSO_READ.get((name, entry.title), ())}
    assert tables <= set(entry.reads)
    assert set(entry.reads) - tables == NOT_READ.get((name, entry.number or entry.title), set())


def test_every_published_table_is_compared():
    tables = Counter((name, table) for name, entry in exhibits() for table in entry.printed)
    assert {(paper, number.table) for paper in PAPERS for number in load(paper)} == set(tables)


def test_the_record_includes_undeclared_tables(report_inputs):
    @exhibit("", "undeclared", fills="none")
    def undeclared(page: Sources) -> list[Any]:
        assert arrow.read(page.lake.root, "adept").num_rows
        return []

    with record_tables() as (tables, _):
        undeclared.section("page", Sources(open_lake(report_inputs[0]), Runs()))
    assert tables == {"adept"} != set(undeclared.reads)
