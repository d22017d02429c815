"""Which columns of a table are an item's id and its texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from conf import UserError
from etl.lake import tables
from training.loading import ModelSource
from training.tasks import reading


class _Known(NamedTuple):
    """What a table's models are taught: two texts, one text, or noun and adjective alone."""

    item: str
    pair: tuple[str, str] | None = None
    single: str | None = None
    no_context: tuple[str, str] | None = None


_NLI = _Known("item_id", pair=("premise", "hypothesis"))
# As the modules of `training.tasks` have them.
_KNOWN = {
    "adept": _Known("item_id", ("sentence1", "sentence2"), no_context=("noun", "modifier")),
    "adept_items": _Known(
        "item_id", ("sentence", "modified_sentence"), no_context=("noun", "adjective")
    ),
    "plane_items": _Known("item_id", ("premise", "conclusion"), "sentence"),
    "asp_entailment": _NLI,
    "asp_degree": _NLI,
    "nli": _NLI,
    "sentences": _Known("sentence_id", single="text"),
    "sygns": _Known("sentence_id", single="sentence"),
}


@dataclass(frozen=True)
class Columns:
    """The columns of a table that a model is asked about; `second` is None for one text.

    `edition` is the partition column that predictions call edition, None where a table has none.
    `full_stops` adds the one that a text lacks.
    """

    item: str
    edition: str | None
    first: str
    second: str | None
    full_stops: bool = False

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns of text."""
        return (self.first,) if self.second is None else (self.first, self.second)


def columns(
    table: str,
    source: ModelSource,
    *,
    item: str | None = None,
    first: str | None = None,
    second: str | None = None,
) -> Columns:
    """The columns that the model was taught, or those named.

    Raises:
        UserError: no such table or column, one that holds no text, no columns known for the table,
            or one text for a model of two, and the reverse.
    """
    if table not in tables.TABLES:
        raise UserError(f"table={table}: expected one of {', '.join(tables.TABLES)}")
    declared = tables.table(table)
    known = _KNOWN.get(table)
    item = item or (known.item if known is not None else "item_id")
    task = source.trained.task if source.trained is not None else {}
    if first is None:
        first, second = _taught(table, source, known)
    elif source.pair is not None and source.pair != (second is not None):
        raise UserError(
            f"first={first}{f' second={second}' if second else ''}: {source.name} was trained on "
            f"{'two texts' if source.pair else 'one text'}; expected "
            f"{'second= too' if source.pair else 'first= alone'}"
        )
    for name, column in (("item", item), ("first", first), ("second", second)):
        _check(table, declared.schema, name, column)
    full_stops = task.get("full_stops") == "normalised"
    return Columns(item, reading.partition(table), first, second, full_stops)


def _taught(table: str, source: ModelSource, known: _Known | None) -> tuple[str, str | None]:
    if known is None:
        raise UserError(
            f"table={table}: its texts are not known; expected first= (and second=), of "
            f"{', '.join(tables.table(table).schema.names)}"
        )
    task = source.trained.task if source.trained is not None else {}
    if task.get("name") == "adept" and task.get("context") is False and known.no_context:
        return known.no_context
    if source.pair is None and known.pair is not None and known.single is not None:
        raise UserError(
            f"table={table}: nobody says whether {source.name} takes one text or two; expected "
            f"first={known.single}, or first={known.pair[0]} second={known.pair[1]}"
        )
    pair = source.pair if source.pair is not None else known.pair is not None
    if pair and known.pair is not None:
        return known.pair
    if not pair and known.single is not None:
        return known.single, None
    raise UserError(
        f"table={table}: {source.name} was trained on {'two texts' if pair else 'one text'}, the "
        f"table has {'one' if pair else 'two'}; expected first={' and second=' if pair else ''}"
    )


def _check(table: str, schema: pa.Schema, name: str, column: str | None) -> None:
    if column is None:
        return
    if column not in schema.names:
        raise UserError(
            f"{name}={column}: not a column of {table}; expected one of {', '.join(schema.names)}"
        )
    if schema.field(column).type != pa.string():
        raise UserError(
            f"{name}={column}: a column of {schema.field(column).type}; expected one of text"
        )
