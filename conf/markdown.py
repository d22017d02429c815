"""Tables in Markdown, for the terminal, MLflow, reports and benchmarks."""

from collections.abc import Iterable, Sequence
from typing import Any


def table_text(names: Sequence[str], rules: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; a rule is ``---``, or ``--:`` for a column aligned to the right."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (names, rules, *rows))


def markdown(table: Any, digits: int = 1) -> str:
    """An Arrow table in Markdown; null is an en dash."""

    def text(value: object) -> str:
        if value is None:
            return "–"
        return f"{value:.{digits}f}" if isinstance(value, float) else str(value)

    rows = [[text(value) for value in row.values()] for row in table.to_pylist()]
    return table_text(table.column_names, ["---"] * table.num_columns, rows)
