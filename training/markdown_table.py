"""Tables in Markdown, for the terminal and MLflow."""

from __future__ import annotations

import pyarrow as pa


def markdown(table: pa.Table, digits: int = 1) -> str:
    """A table in Markdown; null is an en dash."""

    def text(value: object) -> str:
        if value is None:
            return "–"
        return f"{value:.{digits}f}" if isinstance(value, float) else str(value)

    lines = [table.column_names, ["---"] * table.num_columns]
    lines += [[text(value) for value in row.values()] for row in table.to_pylist()]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
