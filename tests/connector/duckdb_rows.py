"""Print the rows of a Delta table as DuckDB's own reader finds them; run in an environment of its
own, since the reader is published for another version of DuckDB than the tested one."""

import json
import sys
from pathlib import Path

import duckdb

FOLDER = Path(sys.prefix) / "lib"


def main(table: str) -> None:
    """Print a JSON list of lists."""
    (extension,) = FOLDER.rglob("delta.duckdb_extension")
    connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    connection.execute(f"LOAD '{extension}'")
    print(json.dumps(connection.execute("SELECT * FROM delta_scan($1)", [table]).fetchall()))


if __name__ == "__main__":
    main(sys.argv[1])
