"""The numbers of a section of the report, for assertions."""

from typing import Any, TypeVar

from adnominal.analysis.papers.exhibits import Section
from adnominal.analysis.report_numbers import Row

T = TypeVar("T")


def row_of(section: Section, table: str, row: str, column: str) -> Row:
    """The one row of ``report_numbers`` for a cell; `table` is its name or how the name begins."""
    rows = [
        entry
        for entry in section.rows
        if entry["table_name"].startswith(table)
        and (entry["row"], entry["column"]) == (row, column)
    ]
    exact = [entry for entry in rows if entry["table_name"] == table]
    rows = exact or rows
    known = sorted({(entry["table_name"], entry["row"], entry["column"]) for entry in section.rows})
    assert len(rows) == 1, (table, row, column, known)
    return rows[0]


def ours(section: Section, table: str, row: str, column: str) -> float | None:
    """Our number in a cell."""
    return row_of(section, table, row, column).get("ours")


def status(section: Section, table: str, row: str, column: str) -> str:
    """The status of a cell."""
    return str(row_of(section, table, row, column)["status"])


def findings(section: Section, kind: type[T]) -> list[T]:
    """The findings of a kind, such as charts."""
    return [finding for finding in section.findings if isinstance(finding, kind)]


def examples(section: Section, caption: str) -> list[dict[str, Any]]:
    """The rows of the one table of examples whose caption begins so."""
    from adnominal.analysis.papers.exhibits import Examples

    (entry,) = [e for e in findings(section, Examples) if e.caption.startswith(caption)]
    rows: list[dict[str, Any]] = entry.data.to_pylist()
    return rows
