"""A corpus in the lake: who writes it, its ledger of input files, and what restart=true empties."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from conf import UserError, settings_hash
from etl.amod import plan
from etl.amod.plan import Entry
from etl.amod.settings import Settings, decisive
from etl.amod.staging import Staging
from etl.corpora.inputs import InputFile
from etl.lake import arrow
from etl.lake.spark import Lake
from etl.lake.tables import table as declaration

# What restart=true empties; the counts last.
EMPTIED_BY_RESTART = (
    "sentences",
    "amod_examples",
    "amod_seen",
    "relation_pairs",
    "relation_association",
    "dropped",
    "amod_counts",
)

log = logging.getLogger("adnominal")


class Corpus:
    """One corpus of a lake under the settings of a job.

    Attributes:
        partition: the partition of the tables that holds the corpus.
        job: name of the job in commits and in the table ``dropped``.
        app: application id of the job's transactions; it changes with the settings that decide on
            the rows, and with each restart.
    """

    def __init__(self, lake: Lake, settings: Settings) -> None:
        self.settings = settings
        self.lake = lake
        self.root = settings.lake
        self.name = settings.name
        self.partition = {"corpus": settings.name}
        self.job = f"extract_amod/{settings.name}"
        self.app = self._app(self._restarts())

    def _restarts(self) -> int:
        return self.lake.transaction_version("amod_counts", f"{self.job}/restarts") or 0

    def _app(self, restarts: int) -> str:
        """The application id of commits: it changes with the settings and with each restart."""
        return f"{self.job}/{settings_hash(decisive(self.settings))}/{restarts}"

    @property
    def staging(self) -> Staging:
        """The staged waves of this corpus under these settings."""
        return Staging(self.root, self.app)

    def commit(self, entries: Sequence[Entry], number: int) -> dict[str, Any]:
        """Job, transaction and metadata of every commit of wave `number`."""
        files = [(entry.path, entry.bytes, entry.modified.isoformat()) for entry in entries]
        return {
            "job": self.job,
            "transaction": (self.app, number),
            "metadata": {
                "corpus": self.name,
                "settings": json.dumps(decisive(self.settings), sort_keys=True),
                "settings_hash": settings_hash(decisive(self.settings)),
                "input_fingerprint": settings_hash({"files": files}),
            },
        }

    def planned_entries(self, files: Sequence[InputFile]) -> list[Entry]:
        """The ledger with the input files planned into waves, as it now stands in the lake.

        Raises:
            UserError: the corpus was read with other settings, or a file has changed since.
        """
        ledger = self.ledger()
        is_ours = self.lake.transaction_version("amod_files", self.app) is not None
        if self.settings.restart and ledger:
            self.empty()
            ledger = []
        elif ledger and not is_ours:
            raise UserError(
                f"corpus {self.name!r} was read with other settings{self._difference()}; "
                "give another corpus= name, or restart=true to read everything anew"
            )
        planned_entries = plan.plan(ledger, files, self.settings.wave_bytes)
        if planned_entries != ledger:
            self.write_ledger(planned_entries)
        return planned_entries

    def _difference(self) -> str:
        """How the settings differ from those that the corpus was read with."""
        for commit in self.lake.history("amod_files"):
            if commit.metadata.get("corpus") == self.name:
                then = json.loads(commit.metadata.get("settings", "{}"))
                now = decisive(self.settings)
                changed = [
                    f"{key}: {then.get(key)} then, {now.get(key)} now"
                    for key in sorted(then.keys() | now.keys())
                    if then.get(key) != now.get(key)
                ]
                return f" ({'; '.join(changed)})" if changed else ""
        return ""

    def ledger(self) -> list[Entry]:
        """The files of the corpus as the lake now has them, by wave and path."""
        rows = self.rows("amod_files", {"corpus": self.name})
        for row in rows:
            del row["corpus"]
        entries = [Entry(**row) for row in rows]
        return sorted(entries, key=lambda entry: (entry.wave, entry.path))

    def write_ledger(self, ledger: Sequence[Entry]) -> None:
        """Replace the ledger of the corpus."""
        schema = declaration("amod_files").schema.remove_metadata()
        columns = {
            name: [getattr(entry, name, self.name) for entry in ledger] for name in schema.names
        }
        last = self.lake.transaction_version("amod_files", self.app)
        # The ledger is written whole, so its number guards nothing: it marks whose ledger it is.
        commit = self.commit(ledger, 0 if last is None else last + 1)
        rows = pa.Table.from_pydict(columns, schema=schema)
        arrow.replace(self.root, "amod_files", rows, self.partition, **commit)

    def empty(self) -> None:
        """Empty the corpus's partitions; the application id of later commits is a new one."""
        restarts = self._restarts() + 1
        log.info("restart=true: forgetting what was read of %s", self.name)
        self.staging.forget_all()
        for name in EMPTIED_BY_RESTART:
            if self.lake.exists(name):
                arrow.replace(
                    self.root,
                    name,
                    declaration(name).schema.empty_table(),
                    {"job": self.job} if name == "dropped" else self.partition,
                    job=self.job,
                    metadata=self.commit([], 0)["metadata"],
                    transaction=(f"{self.job}/restarts", restarts),
                    allow_empty=True,
                )
        self.app = self._app(restarts)

    def rows(self, table: str, partition: Mapping[str, str]) -> list[dict[str, Any]]:
        """The rows of a partition of a table of few rows, if there is one, without Spark."""
        if not self.lake.exists(table):
            return []
        where = [(name, "=", value) for name, value in partition.items()]
        return list(arrow.read(self.root, table, where=where).to_pylist())

    def row_count(self, table: str) -> int:
        """The corpus's rows in a table, from the statistics of its log; 0 where there is none."""
        if not self.lake.exists(table):
            return 0
        files = arrow.files(self.root, table)
        rows = [file.rows for file in files if file.lies_in(self.partition)]
        if None in rows:
            return int(self.lake.read(table, where=self.partition).count())
        return sum(filter(None, rows))
