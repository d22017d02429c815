"""What ``python -m etl.lake list``, ``show`` and ``history`` print."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from adnominal.conf import JobFailed, UserError
from adnominal.conf.numbers import count_of
from adnominal.etl.lake import arrow, log
from adnominal.etl.lake.columns import Table, meaning
from adnominal.etl.lake.errors import LakeError
from adnominal.etl.lake.log import File
from adnominal.etl.lake.schema import type_name
from adnominal.etl.lake.tables import TABLES
from adnominal.etl.lake.verify import unknown_tables
from adnominal.etl.looking.layout import format_table, number, size

_PARTITIONS = 20


def _rows(files: Iterable[File]) -> int | None:
    counts = [file.rows for file in files]
    return None if any(count is None for count in counts) else sum(c for c in counts if c)


def list_tables(root: str) -> str:
    """One line for each table of the lake: rows, size, version, partitions, last job, meaning.

    Tables that are not declared come last, and are only named.

    Raises:
        UserError: the root is a file.
        JobFailed: the lake has no table.
    """
    if log.is_local_file(root):
        raise UserError(f"lake={root}: a file; expected a folder with the tables of a lake")
    names = arrow.tables(root)
    unknown_names = unknown_tables(root)
    if not names and not unknown_names:
        raise JobFailed(
            f"no tables in lake={root}; build the first with: "
            f"{log.build_command(root, next(iter(TABLES.values())))}"
        )
    header = ("table", "rows", "size", "version", "partitions", "last job", "when", "meaning")
    lines: list[list[Any]] = []
    for name in names:
        try:
            files = arrow.files(root, name)
            last = arrow.history(root, name, 1)[0]
        except LakeError as error:
            lines.append([name, "?", "?", "?", "?", "?", "?", f"not readable: {error}"])
            continue
        partitions = len({file.partition for file in files if file.partition})
        lines.append(
            [
                name,
                number(_rows(files)),
                size(sum(file.size for file in files)),
                str(last.version),
                str(partitions) if TABLES[name].partition_by else "-",
                last.job or last.operation,
                last.when,
                TABLES[name].meaning,
            ]
        )
    for name in unknown_names:
        unknown = ["?"] * (len(header) - 2)
        lines.append([name, *unknown, "unknown table: not declared by this version, left alone"])
    return format_table(header, lines, widest=500)


def sql_names(columns: Iterable[str]) -> str:
    """Return a list of columns as SQL names them (``end`` and ``group`` are SQL keywords)."""
    return ", ".join(f'"{name}"' for name in columns)


def sql_where(where: str | None) -> str:
    """Return the WHERE clause for a user's filter; empty if there is none.

    delta-rs drops a condition that is null (``a <> 1 AND NULL``, as which DataFusion reads
    ``a NOT IN (1, NULL)``) and returns the rows that the other conditions select, unless the whole
    is one expression. An expression cannot skip files by their statistics, so the rest stay as
    they are.
    """
    if not where:
        return ""
    return f" WHERE (\n{where}\n)" + (" IS TRUE" if "null" in where.lower() else "")


def show(root: str, table: str, *, version: int | None, limit: int, where: str | None) -> str:
    """Return a table's meaning, columns, partitions and some of its rows.

    For a table with a column ``count``, these are the rows with the highest counts, found while
    streaming; for any other, the first rows.
    """
    files = arrow.files(root, table, version=version)
    table_spec = TABLES[table]
    newest = arrow.version(root, table)
    version_shown = newest if version is None else version
    blocks = [
        f"{table}: {table_spec.meaning}\n"
        f"version {version_shown}"
        + ("" if version_shown == newest else f" (newest: {newest})")
        + f", {number(_rows(files))} rows in {count_of(len(files), 'file')}, "
        + size(sum(file.size for file in files)),
        format_table(
            ("column", "type", "meaning"),
            [
                [
                    field.name + (" (partition)" if field.name in table_spec.partition_by else ""),
                    type_name(field.type),
                    meaning(field),
                ]
                for field in table_spec.schema
            ],
            widest=100,
        ),
    ]
    if table_spec.partition_by and files:
        blocks.append(_partitions(table_spec, files))
    has_counts = "count" in table_spec.schema.names
    order = ""
    if has_counts:
        tie_breakers = [f'"{name}"' for name in table_spec.schema.names if name != "count"]
        order = f' ORDER BY "count" DESC NULLS LAST, {", ".join(tie_breakers)}'
    columns = sql_names(table_spec.schema.names)
    sql = f"SELECT {columns} FROM {table}{sql_where(where)}{order} LIMIT {limit}"
    rows = [list(row.values()) for row in arrow.records(root, table, sql, version=version)]
    title = "highest counts" if has_counts else "first rows"
    if where:
        title += f" where {where}"
    blocks.append(
        f"{title}\n{format_table(table_spec.schema.names, rows)}" if rows else f"{title}: no rows"
    )
    return "\n\n".join(blocks)


def _partitions(table_spec: Table, files: list[File]) -> str:
    """The largest partitions of a table with their rows and files."""
    groups: dict[tuple[tuple[str, Any], ...], list[File]] = defaultdict(list)
    for file in files:
        groups[file.partition].append(file)
    lines = [
        [*dict(partition).values(), _rows(members), len(members)]
        for partition, members in groups.items()
    ]
    lines.sort(key=lambda line: (-(line[-2] or 0), str(line[:-2])))
    text = format_table((*table_spec.partition_by, "rows", "files"), lines[:_PARTITIONS])
    more = len(lines) - _PARTITIONS
    return f"{text}\n… and {more} more partitions" if more > 0 else text


def history(root: str, table: str, limit: int) -> str:
    """Return one line for each commit of the table, newest first."""
    lines = [
        [
            record.version,
            record.when,
            record.job,
            " ".join(
                [record.mode or record.operation]
                + [f"{name}={value}" for name, value in record.partition.items()]
            ),
            record.rows,
            record.code_version,
            " ".join(f"{name}={value}" for name, value in record.metadata.items()) or "-",
        ]
        for record in arrow.history(root, table, limit)
    ]
    header = ("version", "when (UTC)", "job", "operation", "rows", "code", "metadata")
    return format_table(header, lines, widest=100)
