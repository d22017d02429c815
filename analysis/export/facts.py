"""The facts of a dataset card: counts of an edition's rows, what was dropped, and its commits.

Every figure comes from a query over one version of a table, or from a table's log. The card cites
these sources by number and lists them at its end, after the datasheets of Gebru et al. (2021).
Which columns are counted is declared with the table (`etl.declaration.Facts`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adnominal.analysis.editions import rows_by_edition
from adnominal.analysis.export.content import Content
from adnominal.analysis.export.provenance import edition_commits
from adnominal.conf.markdown import table_text
from adnominal.etl.declaration import RELEASED, ItemTable
from adnominal.etl.lake import arrow
from adnominal.etl.lake.log import Record
from adnominal.etl.lake.tables import table as declared_table
from adnominal.etl.registry import dataset


@dataclass
class EditionFacts:
    """The facts of one edition of a dataset, as lines of Markdown.

    Attributes:
        lake: root of the lake.
        exported: the export whose card states the facts.
        sources: the sources in the order of first use, each with its number in the card.
    """

    lake: str
    exported: Content
    sources: dict[str, int] = field(default_factory=dict)

    def reference(self, source: str) -> str:
        """Return a reference to a source, such as [2]."""
        next_number = len(self.sources) + 1
        number = self.sources.setdefault(source, next_number)
        return f"[{number}]"

    def query(self, table: str, select: str, tail: str = "") -> tuple[list[dict[str, Any]], str]:
        """Return the rows of a query over the edition in `table`, and the reference to it."""
        version = arrow.version(self.lake, table)
        edition = self.exported.edition.replace("'", "''")
        sql = f"SELECT {select} FROM {table} WHERE edition = '{edition}' {tail}".strip()
        rows = arrow.records(self.lake, table, sql, version=version)
        return rows, self.reference(f"`{sql}`, version {version}")

    def counts(self) -> list[str]:
        """Return the counts of each table of items that has rows of the edition."""
        declaration = dataset(self.exported.dataset)
        lines = []
        for table in (*declaration.tables, *declaration.unlabelled):
            if self._has(table.name):
                lines += self._counts_of(table)
        return lines

    def _has(self, table: str) -> bool:
        if table not in arrow.tables(self.lake):
            return False
        return self.exported.edition in rows_by_edition(self.lake, table)

    def _counts_of(self, table: ItemTable) -> list[str]:
        """The section on a table: its size, rows by value, different values, lengths of texts."""
        meaning = declared_table(table.name).meaning
        size, source = self._number(table.name, "count(*) AS rows")
        lines = [f"### Table {table.name}", "", meaning, "", f"{size:,} rows {source}.", ""]
        for column in table.facts.counted:
            lines += self._rows_by_value(table.name, column)
        for column in table.facts.distinct:
            values, source = self._number(table.name, f'count(DISTINCT "{column}") AS n')
            lines.append(f"- different values of `{column}`: {values:,} {source}")
        for column in table.facts.texts:
            lengths = self._text_lengths(table.name, column)
            lines.append(f"- words of `{column}`: {lengths}")
        return [*lines, ""]

    def _number(self, table: str, select: str) -> tuple[int, str]:
        """The only value that a query over the edition selects, and the reference to it."""
        rows, source = self.query(table, select)
        (number,) = rows[0].values()
        return number, source

    def _rows_by_value(self, table: str, column: str) -> list[str]:
        select = f'"{column}", count(*) AS rows'
        rows, source = self.query(table, select, f'GROUP BY "{column}"')
        return [f"By `{column}` {source}:", "", _counts_table(column, rows), ""]

    def _text_lengths(self, table: str, column: str) -> str:
        words = f"array_length(string_to_array(\"{column}\", ' '))"
        rows, source = self.query(table, f"avg({words}) AS mean, max({words}) AS most")
        mean, most = rows[0]["mean"], rows[0]["most"]
        if mean is None:
            return f"no row has a text {source}"
        return f"{mean:.2f} on average, at most {most} {source}"

    def drops(self) -> list[str]:
        """Return the rows that the edition's jobs dropped, by table and reason."""
        version = arrow.version(self.lake, "dropped")
        if version is None:
            return ["The lake has no record of dropped rows (no table dropped)."]
        dropped_rows = arrow.read(self.lake, "dropped", version=version).to_pylist()
        of_edition = [row for row in dropped_rows if self._is_dropped_here(row)]
        source = self.reference(f"table dropped, version {version}")
        if not of_edition:
            return [f"No row was dropped {source}."]
        of_edition.sort(key=lambda row: (row["table"], -row["count"], row["reason"]))
        cells = [
            (row["table"], row["reason"], f"{row['count']:,}", _cell(row["sample"]))
            for row in of_edition
        ]
        names = ("table", "reason", "rows", "sample")
        rules = ("---", "---", "---:", "---")
        return [
            f"Rows by reason, each with one of them {source}:",
            "",
            table_text(names, rules, cells),
        ]

    def _is_dropped_here(self, row: Mapping[str, Any]) -> bool:
        """Whether a row of the table dropped is about this edition.

        A build drops under the name of its edition; the import of a release, which makes several
        editions at once, under the name of the dataset.
        """
        name, edition = self.exported.dataset, self.exported.edition
        if str(row["table"]).split("_")[0] != name:
            return False
        job = str(row["job"])
        is_imported = edition in RELEASED and job.startswith("import_published/")
        return is_imported or job.endswith(f"/{edition}")

    def commits(self) -> list[str]:
        """Return the commits that made the exported tables, oldest first."""
        cells = []
        logs = []
        for table in self.exported.tables:
            version = arrow.version(self.lake, table)
            logs.append(self.reference(f"log of the table {table}, version {version}"))
            table_commits = edition_commits(self.lake, table, self.exported.edition)
            cells += [[table, *_commit_cells(commit)] for commit in table_commits]
        names = ("table", "version", "job", "code", "time (UTC)", "rows", "stated by the job")
        rules = ("---", "---:", "---", "---", "---", "---:", "---")
        introduction = f"The commits that made the tables, from their logs {' '.join(logs)}:"
        return [introduction, "", table_text(names, rules, cells)]

    def source_list(self) -> list[str]:
        """Return the sources as a numbered list."""
        return [f"{number}. {source}" for source, number in self.sources.items()]


def _commit_cells(commit: Record) -> list[str]:
    """The cells of a commit in the table of versions."""
    details = [f"{name} {value}" for name, value in sorted(commit.metadata.items())]
    return [
        str(commit.version),
        commit.job or "",
        commit.code_version or "",
        f"{commit.when:%Y-%m-%d %H:%M}",
        "" if commit.rows is None else f"{commit.rows:,}",
        _cell(", ".join(details)),
    ]


def _counts_table(column: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Counts as a Markdown table, sorted by the values of the column; null comes last."""
    ordered = sorted(rows, key=lambda row: (row[column] is None, str(row[column])))
    cells = []
    for row in ordered:
        value = "(none)" if row[column] is None else str(row[column])
        cells.append([_cell(value), f"{row['rows']:,}"])
    return table_text([column, "rows"], ["---", "---:"], cells)


def _cell(text: str) -> str:
    """A text in one line of a table."""
    return " ".join(text.split()).replace("|", "\\|")
