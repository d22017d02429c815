"""A datasheet (Gebru et al. 2021) of a built dataset: facts from its tables, the rest to fill in.

Every figure comes from a query over a version of a table, or from its log, and names that source.
Users may write their own template; a literal number or an unknown figure in it is an error, so that
every number in a datasheet has a source.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from adnominal.conf import ROOT, UserError
from adnominal.conf.markdown import table_text
from adnominal.etl.declaration import RELEASED
from adnominal.etl.lake import arrow
from adnominal.etl.lake.columns import meaning
from adnominal.etl.lake.log import Record, build_command
from adnominal.etl.lake.tables import table as declared_table
from adnominal.etl.registry import DATASET_OF, ITEM_TABLES

TEMPLATE = ROOT / "conf" / "datasheet" / "template.md"
_FIGURE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_NUMBER = re.compile(r"\d")
_SOURCED = re.compile(r"\(source: [^)]+\)")


def datasheet(lake: str, table: str, edition: str, template: Path = TEMPLATE) -> str:
    """Return the datasheet of one edition of a table as Markdown.

    Raises:
        UserError: the table has no datasheet, the edition has no rows, or the template is missing,
            names an unknown figure or contains a number without a source.
        LakeError: the lake has no such table.
    """
    if table not in ITEM_TABLES:
        raise UserError(f"table={table}: expected one of {', '.join(ITEM_TABLES)}")
    text = _template(template)
    facts = _Edition(lake, table, edition)
    figures = facts.figures()
    unknown = sorted({name for name in _FIGURE.findall(text) if name not in (*figures, "sources")})
    if unknown:
        raise UserError(
            f"{template}: no figure {', '.join(unknown)}; known: {', '.join([*figures, 'sources'])}"
        )
    text = _FIGURE.sub(lambda match: figures.get(match[1], match[0]), text)
    numbered = [f"{at}. {line}" for line, at in facts.sources.items()]
    return re.sub(r"\{\{\s*sources\s*\}\}", "\n".join(numbered).replace("\\", r"\\"), text)


def _template(path: Path) -> str:
    """Return the template's text after checking that every number in it has a source."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"template={path}: {error.strerror or error}") from error
    for number, line in enumerate(text.split("\n"), 1):
        if _NUMBER.search(_FIGURE.sub("", line)) and not _SOURCED.search(line):
            raise UserError(
                f"{path}:{number}: a number without a source: {line.strip()!r}; use a figure "
                "({{rows}}, …) or add (source: …) on the same line"
            )
    return text


@dataclass
class _Edition:
    """An edition of an item table, queried in SQL; every result records its source.

    `sources` are the sources with their numbers, in the order of first use.
    """

    lake: str
    table: str
    edition: str
    sources: dict[str, int] = field(default_factory=dict)

    def note(self, source: str) -> str:
        """Return a reference to a source, such as [2]."""
        return f"[{self.sources.setdefault(source, len(self.sources) + 1)}]"

    def ask(self, table: str, select: str, tail: str = "") -> tuple[list[dict[str, Any]], str]:
        """Return the rows of a query over the edition in `table` and the reference to it."""
        version = arrow.version(self.lake, table)
        edition = self.edition.replace("'", "''")
        sql = f"SELECT {select} FROM {table} WHERE edition = '{edition}' {tail}".strip()
        rows = arrow.records(self.lake, table, sql, version=version)
        return rows, self.note(f"`{sql}`, version {version}")

    def figures(self) -> dict[str, str]:
        """Return the Markdown for each name in the template."""
        table_spec = declared_table(self.table)
        columns = [f"- `{field.name}`: {meaning(field)}" for field in table_spec.schema]
        return {
            "name": f"{self.table}, edition {self.edition}",
            "meaning": table_spec.meaning,
            "rows": self._rows(),
            "columns": "\n".join(columns),
            "counts": self._counts(),
            "texts": self._texts(),
            "splits": self._splits(),
            "commits": self._commits(),
            "drops": self._drops(),
        }

    def _rows(self) -> str:
        rows, source = self.ask(self.table, "count(*) AS rows")
        if rows and rows[0]["rows"]:
            return f"{rows[0]['rows']:,} {source}"
        sql = f"SELECT DISTINCT edition FROM {self.table}"
        editions = sorted(str(row["edition"]) for row in arrow.records(self.lake, self.table, sql))
        raise UserError(
            f"edition={self.edition}: no rows in {self.table}, which has {', '.join(editions)}"
        )

    def _counts(self) -> str:
        blocks = []
        for name in ITEM_TABLES[self.table].facts.counted:
            rows, source = self.ask(self.table, f'"{name}", count(*) AS rows', f'GROUP BY "{name}"')
            blocks.append(f"By `{name}` {source}:\n\n{_table((name,), rows)}")
        return "\n\n".join(blocks)

    def _texts(self) -> str:
        facts = ITEM_TABLES[self.table].facts
        lines = []
        for name in facts.distinct:
            rows, source = self.ask(self.table, f'count(DISTINCT "{name}") AS n')
            lines.append(f"- different values of `{name}`: {rows[0]['n']:,} {source}")
        for name in facts.texts:
            words = f"array_length(string_to_array(\"{name}\", ' '))"
            rows, source = self.ask(self.table, f"avg({words}) AS mean, max({words}) AS most")
            mean, most = rows[0]["mean"], rows[0]["most"]
            lines.append(f"- words of `{name}`: {mean:.2f} on average, at most {most} {source}")
        return "\n".join(lines)

    def _splits(self) -> str:
        dataset = DATASET_OF[self.table]
        splits = dataset.splits
        if ITEM_TABLES[self.table] not in dataset.tables:
            return "None: the rows are split after they have been labelled."
        if splits.table is None:
            return "The columns named split_… above say who trains and who tests."
        if arrow.version(self.lake, splits.table) is not None:
            keys = ", ".join(f'"{key}"' for key in splits.keys)
            rows, source = self.ask(splits.table, f"{keys}, count(*) AS rows", f"GROUP BY {keys}")
            if rows:
                return f"Table `{splits.table}` {source}:\n\n{_table(splits.keys, rows)}"
        return f"No split is in the lake (table {splits.table})."

    def _commits(self) -> str:
        """Return the commits that made the edition: the newest that replaced it and those since."""
        commits: list[Record] = []
        for record in arrow.history(self.lake, self.table):
            if record.partition.get("edition", self.edition) != self.edition or record.job is None:
                continue
            commits.append(record)
            if record.mode == "replace":
                break
        if not commits:
            raise UserError(
                f"no commit in the log of {self.table} made edition={self.edition}: its figures "
                "have no source; build it again: "
                f"{build_command(self.lake, declared_table(self.table))}"
            )
        source = self.note(
            f"log of the table {self.table}, version {arrow.version(self.lake, self.table)}"
        )
        lines = []
        for record in reversed(commits):
            stated = ", ".join(f"{name} {value}" for name, value in sorted(record.metadata.items()))
            lines.append(
                f"- {record.when:%Y-%m-%d %H:%M} UTC, job {record.job}, code {record.code_version}"
                f"{', ' + stated if stated else ''}: {record.rows or 0:,} rows, version "
                f"{record.version} {source}"
            )
        return "\n".join(lines)

    def _drops(self) -> str:
        """Return the rows that the edition's jobs dropped from the tables of the dataset."""
        version = arrow.version(self.lake, "dropped")
        if version is None:
            return "No drops are recorded (no table dropped)."
        dropped: pa.Table = arrow.read(self.lake, "dropped", version=version)
        dataset = DATASET_OF[self.table].name
        drops = [
            row
            for row in dropped.to_pylist()
            if str(row["table"]).split("_")[0] == dataset
            and (
                row["job"].endswith(f"/{self.edition}")
                or (self.edition in RELEASED and row["job"].startswith("import_published/"))
            )
        ]
        if not drops:
            return "Nothing."
        source = self.note(f"table dropped, version {version}")
        drops.sort(key=lambda row: (row["table"], -row["count"], row["reason"]))
        names, rules = ("table", "reason", "count", "sample"), ("---", "---", "---:", "---")
        cells = [
            (r["table"], r["reason"], f"{r['count']:,}", str(r["sample"]).replace("|", "\\|"))
            for r in drops
        ]
        return f"Counts and samples {source}:\n\n{table_text(names, rules, cells)}"


def _table(keys: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Counts as a Markdown table, sorted by the values of the keys."""
    cells = [
        [*("(none)" if row[k] is None else str(row[k]) for k in keys), f"{row['rows']:,}"]
        for row in sorted(rows, key=lambda row: [(row[k] is None, str(row[k])) for k in keys])
    ]
    return table_text([*keys, "rows"], [*("---" for _ in keys), "---:"], cells)
