"""A section of the report as text for a terminal."""

import textwrap
from collections.abc import Iterator

from adnominal.analysis.page.view import NumberTable, number_tables
from adnominal.analysis.papers.exhibits import Note, Section
from adnominal.etl.looking.layout import format_table

_WIDTH = 100


def terminal_text(section: Section) -> str:
    """The paragraphs and tables of a section; its figures, whose numbers the tables have, are not.

    Numbers have the digits that the report shows.
    """
    notes = [finding.text for finding in section.findings if isinstance(finding, Note)]
    paragraphs = [textwrap.fill(text, _WIDTH) for text in (section.about, *notes)]
    paragraphs += [_table(table) for table in number_tables(section)]
    return "\n\n".join(paragraphs)


def _table(table: NumberTable) -> str:
    caption = textwrap.fill(table.caption, _WIDTH)
    return f"{caption}\n{format_table(['', *table.columns], list(_rows(table)))}"


def _rows(table: NumberTable) -> Iterator[list[str]]:
    for name, cells in table.rows:
        texts = [" ".join(part for part in (cell.ours, cell.bounds) if part) for cell in cells]
        yield [name, *texts]
