"""Writers, compaction and vacuum of one table in random order, each nested in another."""

import random
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pa_fs
import pyarrow.parquet as pq

from adnominal.etl.lake import arrow, upkeep
from adnominal.etl.lake.errors import LakeConflict
from adnominal.etl.lake.log import Change
from adnominal.etl.lake.staging import Staged
from adnominal.etl.lake.storage import table_uri
from adnominal.etl.lake.tables import TABLES
from adnominal.etl.lake.writing import publish

TABLE = "amod_pairs"
_DECLARED = TABLES[TABLE]
_OPERATIONS = ("append", "append", "append", "replace", "compact", "vacuum")
_DEPTH = 2  # nesting depth of operations


def run_interleaved(root: str, chance: random.Random, turns: int) -> None:
    """Do `turns` random operations on a new table in `root`; others may run in the middle of each.
    `AssertionError` if a row is lost or doubled, or a file remains that no version names."""
    run = _Run(root, chance)
    run.write("append", _DEPTH)
    for _ in range(turns):
        run.act(0)
    run.check()
    upkeep.compact(root, _DECLARED)
    upkeep.vacuum(root, _DECLARED, timedelta(0))
    run.check()
    folder = Path(root, TABLE, "data")
    assert len(list(folder.rglob("*.parquet"))) == len(arrow.files(root, TABLE))


class _Run:
    def __init__(self, root: str, chance: random.Random) -> None:
        self._root = root
        self._chance = chance
        self._rows: dict[str, Counter[str]] = {"uk": Counter(), "de": Counter()}
        self._number = 0

    def act(self, depth: int) -> None:
        """One random operation."""
        kind = self._chance.choice(_OPERATIONS)
        if kind == "compact":
            upkeep.compact(self._root, _DECLARED)
        elif kind == "vacuum":
            upkeep.vacuum(self._root, _DECLARED, timedelta(0))
        else:
            self.write(kind, depth)

    def write(self, kind: str, depth: int) -> None:
        """Append a row or replace a partition by it, while others work before the commit."""
        self._number += 1
        adjective = f"a{self._number}"
        corpus = self._chance.choice(list(self._rows))
        row = {"corpus": corpus, "adjective": adjective, "noun": "key", "count": 1}
        rows = pa.Table.from_pylist([row], _DECLARED.schema).drop_columns(["corpus"])

        def meanwhile() -> None:
            while depth < _DEPTH and self._chance.random() < 0.5:
                self.act(depth + 1)

        def stage(files: pa_fs.FileSystem, name: str) -> Staged:
            folder = f"data/{name}/corpus={corpus}"
            files.create_dir(folder, recursive=True)
            meanwhile()
            with files.open_output_stream(f"{folder}/part.parquet") as stream:
                pq.write_table(rows, stream)
            meanwhile()
            return Staged(name, 1)

        change = Change(kind, "test", {"corpus": corpus} if kind == "replace" else {})
        try:
            publish(table_uri(self._root, TABLE), _DECLARED, stage, change)
        except LakeConflict:
            return  # the table is in the state of the other writer
        if kind == "replace":
            self._rows[corpus].clear()
        self._rows[corpus][adjective] += 1

    def check(self) -> None:
        """Raise `AssertionError` if the table's rows are not those that were written."""
        stored: dict[str, Counter[str]] = {corpus: Counter() for corpus in self._rows}
        for row in arrow.read(self._root, TABLE).to_pylist():
            stored[row["corpus"]][row["adjective"]] += 1
        assert stored == self._rows, f"the table holds {stored}, its writers wrote {self._rows}"
