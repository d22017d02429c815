"""The lake of a report, and which edition of each table it shows."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from adnominal.analysis.rows import schema
from adnominal.conf import UserError
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import TABLES

# The papers' rows first, then the editions that are most comparable with them.
PREFERRED = ("published", "paper", "clean", "demo")


@dataclass(frozen=True)
class Lake:
    """A lake's root and contents.

    `editions` has the editions of every table in the lake (none for tables without editions), the
    preferred one first; `requested_edition` is the edition given by the user, if any. `seed` is
    used to draw examples. `other_root` is a lake made from the same text with another parser.
    """

    root: str
    editions: Mapping[str, tuple[str, ...]]
    requested_edition: str | None = None
    seed: int = 0
    other_root: str | None = None

    def has(self, table: str) -> bool:
        """Whether the lake has the table."""
        return table in self.editions

    def edition(self, *tables: str) -> str:
        """The displayed edition of these tables: the first of `shown_editions`.

        Raises:
            UserError: a missing table, or no such edition.
        """
        return self.shown_editions(*tables)[0]

    def shown_editions(self, *tables: str) -> list[str]:
        """The requested edition, or else those that all these tables have, preferred one first.

        Raises:
            UserError: a missing table, or no such edition.
        """
        for name in tables:
            if name not in self.editions:
                raise UserError(f"no table {name} in {self.root}; {TABLES[name].built_by} makes it")
        common = [
            edition
            for edition in self.editions[tables[0]]
            if all(edition in self.editions[name] for name in tables)
        ]
        if self.requested_edition is not None:
            if self.requested_edition not in common:
                names = ", ".join(common) or "none"
                raise UserError(
                    f"edition={self.requested_edition}: not in {' and '.join(tables)}; there is "
                    f"{names}"
                )
            return [self.requested_edition]
        if not common:
            raise UserError(f"no edition in {' and '.join(tables)} of {self.root}")
        return common

    def contents(self) -> pa.Table:
        """The lake's contents: table, edition, rows, version of the table."""
        rows = [
            {"table": name, "edition": edition, "rows": count, "version": version}
            for name in self.editions
            for version in [arrow.version(self.root, name)]
            for edition, count in rows_by_edition(self.root, name).items()
        ]
        return pa.Table.from_pylist(rows, schema("table edition rows:int version:int"))


def rows_by_edition(root: str, table: str) -> dict[str, int]:
    """The number of rows of each edition of a table, the preferred edition first; a table without
    editions has a single empty name."""
    counts: Counter[str] = Counter()
    for file in arrow.files(root, table):
        counts[str(dict(file.partition).get("edition", ""))] += file.rows or 0
    return {edition: counts[edition] for edition in sorted(counts, key=_preference)}


def _preference(edition: str) -> tuple[int, str]:
    return PREFERRED.index(edition) if edition in PREFERRED else len(PREFERRED), edition


def read_edition(
    root: str, table: str, edition: str, columns: Sequence[str] | None = None, **conditions: str
) -> pa.Table:
    """The rows of an edition of a table that match `conditions`, a value for each column.

    Raises:
        UserError: there are no such rows.
    """
    values = {"edition": edition, **conditions}
    where = [(column, "=", value) for column, value in values.items()]
    rows = arrow.read(root, table, where=where, columns=columns)
    if not rows.num_rows:
        text = " ".join(f"{column}={value}" for column, value in values.items())
        raise UserError(
            f"{text}: no rows in the table {table} of {root}; {TABLES[table].built_by} makes it"
        )
    return rows


def open_lake(root: str, edition: str | None = None, seed: int = 0) -> Lake:
    """Open the lake at `root`.

    Raises:
        UserError: the folder is not a lake, or none of its tables has the edition.
    """
    # The report reads the tables, not its own numbers of earlier.
    names = [name for name in arrow.tables(root) if name != "report_numbers"]
    editions = {name: tuple(filter(None, rows_by_edition(root, name))) for name in names}
    if not editions:
        raise UserError(
            f"lake={root}: no table of a lake there; expected the folder that the jobs wrote to "
            "(lake=DIR), such as the one that `make demo` makes"
        )
    known = sorted({edition for names in editions.values() for edition in names}, key=_preference)
    if edition is not None and edition not in known:
        raise UserError(
            f"edition={edition}: no table of {root} has it; there is {', '.join(known)}"
        )
    return Lake(root, editions, edition, seed)
