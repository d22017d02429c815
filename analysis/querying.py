"""Questions in SQL about the numbers of a written report."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from adnominal.conf import UserError, setting

USAGE = 'adnominal report query "SELECT … FROM report_numbers …" [out=DIR]'
NUMBERS = "report_numbers"
_MOST_ROWS = 1000
# Of a cell: remarks and commands are sentences.
_MOST_LETTERS = 120


@dataclass(frozen=True)
class Settings:
    out: str = setting("report", help="folder of the report", example="out=report")


def query(sql: str, settings: Settings) -> str:
    """The answer to a query over the table ``report_numbers``, as text in columns.

    Raises:
        UserError: there is no whole report in the folder, or the query is not valid.
    """
    path = Path(settings.out) / f"{NUMBERS}.parquet"
    if not path.is_file():
        raise UserError(
            f"out={settings.out}: no {path.name} there; expected the folder of a report "
            "(adnominal report out=DIR writes one)"
        )
    # DataFusion would also write files (COPY), and it answers DROP with no rows.
    words = sql.replace("(", " ").split()
    first_word = words[0] if words else ""
    if first_word.upper() not in ("SELECT", "WITH"):
        raise UserError(f"the query failed: it begins with {first_word!r}, not SELECT or WITH")
    try:
        numbers = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        reason = " ".join(str(error).split())
        raise UserError(
            f"out={settings.out}: {path.name} cannot be read ({reason}); write the report again"
        ) from error
    rows = _run(sql, numbers)
    if not rows.num_rows:
        return "no rows"
    shown = rows.slice(0, _MOST_ROWS)
    frame = shown.to_pandas()
    for name in frame.select_dtypes("object").columns:
        frame[name] = frame[name].fillna("–")
    text: str = frame.to_string(index=False, na_rep="–", max_colwidth=_MOST_LETTERS)
    hidden = rows.num_rows - shown.num_rows
    return text + (f"\n… and {hidden:,} more rows; add a LIMIT or a WHERE" if hidden else "")


def _run(sql: str, numbers: pa.Table) -> pa.Table:
    """The rows that DataFusion returns; its query builder reads Delta tables, so the numbers become
    one for the time of the query."""
    from deltalake import DeltaTable, QueryBuilder, write_deltalake

    with tempfile.TemporaryDirectory(prefix="adnominal-") as folder:
        write_deltalake(folder, numbers)
        try:
            reader = QueryBuilder().register(NUMBERS, DeltaTable(folder)).execute(sql)
            return _without_views(pa.table(reader.read_all()))
        except Exception as error:  # DataFusion's errors come as several unrelated types
            reason = " ".join(str(error).split())
            columns = ", ".join(numbers.column_names)
            raise UserError(
                f"the query failed: {reason} (columns of {NUMBERS}: {columns})"
            ) from error


def _without_views(rows: pa.Table) -> pa.Table:
    """The rows with plain strings, which pandas takes in lists, too; DataFusion returns views."""
    fields = [field.with_type(_without_view(field.type)) for field in rows.schema]
    return rows.cast(pa.schema(fields))


def _without_view(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(_without_view(kind.value_type))
    return kind
