"""A corpus in the lake: its transactions, its ledger of input files, and restart=true."""

import dataclasses
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from adnominal.conf import JobFailed, UserError, settings_hash
from adnominal.etl.amod import plan
from adnominal.etl.amod.plan import Entry
from adnominal.etl.amod.settings import Settings, decisive_settings, earlier_identities
from adnominal.etl.amod.staging import Staging, forget_job
from adnominal.etl.corpora.inputs import InputFile
from adnominal.etl.lake import arrow
from adnominal.etl.lake.errors import LakeConflict
from adnominal.etl.lake.log import Record
from adnominal.etl.lake.spark import Lake
from adnominal.etl.lake.tables import table as declaration

# The tables that restart=true empties. The counts come first: that commit numbers the restart, so
# after it no run continues with earlier rows, even if the emptying is incomplete.
EMPTIED_BY_RESTART = (
    "amod_counts",
    "amod_seen",
    "amod_examples",
    "sentences",
    "dropped",
    "relation_pairs",
    "relation_association",
    "amod_pairs",
    "amod_association",
    "amod_by_adjective",
)
_ATTEMPTS = 20  # to write the ledger while other runs write it

log = logging.getLogger("adnominal")


def settings_of_corpus(history: Iterable[Record], name: str) -> dict[str, Any]:
    """The decisive settings that corpus `name` was last read with, by the commits of its ledger."""
    for commit in history:
        if commit.metadata.get("corpus") == name:
            settings: dict[str, Any] = json.loads(commit.metadata.get("settings", "{}"))
            return settings
    return {}


def parser_of_corpus(root: str, name: str) -> str | None:
    """The parser that the corpus `name` of a lake was begun with; None for a new corpus."""
    if arrow.version(root, "amod_files") is None:
        return None
    return settings_of_corpus(arrow.history(root, "amod_files"), name).get("parser")


class Corpus:
    """One corpus of a lake under the settings of a job.

    Attributes:
        partition: the partition of the tables that holds the corpus.
        job: name of the job in commits and in the table ``dropped``.
        app: application id of the job's transactions; it changes with the settings that decide the
            rows, and with each restart.
    """

    def __init__(self, lake: Lake, settings: Settings) -> None:
        self.settings = settings
        self.lake = lake
        self.root = settings.lake
        self.name = settings.name
        self.partition = {"corpus": settings.name}
        self.job = f"extract_amod/{settings.name}"
        self._restart_number = self._restarts()
        self.app = self._app(decisive_settings(settings))

    def _restarts(self) -> int:
        return self.lake.transaction_version("amod_counts", f"{self.job}/restarts") or 0

    def _app(self, identity: Mapping[str, Any]) -> str:
        """The application id of commits: it changes with the settings and with each restart."""
        return f"{self.job}/{settings_hash(identity)}/{self._restart_number}"

    def refuse_restarted(self) -> None:
        """Raise `JobFailed` if another run has restarted the corpus since this one started."""
        if self._restarts() != self._restart_number:
            raise JobFailed(
                f"another extraction has restarted corpus {self.name!r} (restart=true) while this "
                "one was running; run the same command again once that one has ended"
            )

    def bases(self) -> dict[str, int]:
        """The current versions of the tables of the corpus, -1 for missing ones.

        A write with one of them as its base fails if another run restarts the corpus.
        """
        versions = {name: self.lake.version(name) for name in EMPTIED_BY_RESTART}
        self.refuse_restarted()
        return {name: -1 if version is None else version for name, version in versions.items()}

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
                "settings": json.dumps(decisive_settings(self.settings), sort_keys=True),
                "settings_hash": settings_hash(decisive_settings(self.settings)),
                "input_fingerprint": settings_hash({"files": files}),
            },
        }

    def planned_entries(self, files: Sequence[InputFile]) -> list[Entry]:
        """Plan the input files into waves, write the ledger and return it.

        Raises:
            UserError: the corpus was read with other settings, or a file has changed since.
            JobFailed: another run is working on the corpus; the ledger lacks a counted wave.
        """
        # Read before the ledger, since every wave is planned there before it is counted.
        last_counted = self.lake.transaction_version("amod_counts", self.app)

        def plan_waves(ledger: list[Entry]) -> list[Entry]:
            if self.settings.restart and (ledger or self.row_count("amod_counts")):
                self.empty()
                ledger = []
            else:
                self._check_ledger(ledger, last_counted)
            return plan.plan(ledger, files, self.settings.wave_bytes)

        return self._update_ledger(plan_waves)

    def _check_ledger(self, ledger: Sequence[Entry], last_counted: int | None) -> None:
        """Raise if the ledger has other settings or lacks the wave `last_counted`."""
        if ledger and self.lake.transaction_version("amod_files", self.app) is None:
            if self._begun_by_earlier_version():
                self._check_continuation(ledger)
                return
            if difference := self._difference():
                raise UserError(
                    f"corpus {self.name!r} was read with other settings{difference}; give another "
                    "corpus= name, or restart=true to read everything again"
                )
            raise JobFailed(
                f"another extraction is restarting corpus {self.name!r} (restart=true), or was "
                "stopped; run the same command again once it has ended, or with restart=true"
            )
        if last_counted is not None and all(entry.wave < last_counted for entry in ledger):
            raise JobFailed(
                f"amod_counts has wave {last_counted + 1} of corpus {self.name!r}, whose files are "
                "not in amod_files; give restart=true to read everything again"
            )

    def _begun_by_earlier_version(self) -> bool:
        """Whether the ledger has these settings, but of an earlier version of the pairs."""
        apps = [self._app(identity) for identity in earlier_identities(self.settings)]
        return any(self.lake.transaction_version("amod_files", app) is not None for app in apps)

    def _check_continuation(self, ledger: Sequence[Entry]) -> None:
        """Raise `UserError` unless the user continues the corpus, and no wave of it is unfinished.

        From the next ledger on, the corpus has the settings of this version.
        """
        if not self.settings.continue_earlier:
            raise UserError(
                f"corpus {self.name!r} was begun by an earlier version, which read other pairs "
                "from the same text (docs/extraction.md); give restart=true to read everything "
                "again, another corpus= name, or continue_earlier=true, once, to add to it as it is"
            )
        planned = [entry.path for entry in ledger if entry.status == plan.PLANNED]
        if planned:
            raise UserError(
                f"continue_earlier=true: the earlier version was stopped before it had read "
                f"{len(planned)} planned files of corpus {self.name!r}, such as {planned[0]}; let "
                "it end with that version, or give restart=true"
            )
        log.warning("corpus %s has pairs of an earlier version (continue_earlier=true)", self.name)

    def _difference(self) -> str:
        """The differences from the settings that the corpus was read with, as text."""
        then = settings_of_corpus(self.lake.history("amod_files"), self.name)
        if not then:
            return ""
        now = decisive_settings(self.settings)
        changed = [
            f"{key}: {then.get(key)} then, {now.get(key)} now"
            for key in sorted(then.keys() | now.keys())
            if then.get(key) != now.get(key)
        ]
        return f" ({'; '.join(changed)})" if changed else ""

    def ledger(self) -> list[Entry]:
        """The entries of the corpus in ``amod_files``, sorted by wave and path."""
        rows = self.rows("amod_files", {"corpus": self.name})
        for row in rows:
            del row["corpus"]
        entries = [Entry(**row) for row in rows]
        return sorted(entries, key=lambda entry: (entry.wave, entry.path))

    def record(self, outcomes: Sequence[Entry]) -> None:
        """Write the outcomes of a wave to the ledger, and keep the entries of other runs."""
        self._update_ledger(lambda ledger: plan.updated_ledger(ledger, outcomes))

    def _update_ledger(self, change: Callable[[list[Entry]], list[Entry]]) -> list[Entry]:
        """Replace the ledger with the result of `change` and return it.

        If another run has written the ledger in the meantime, `change` is called again.
        """
        for _ in range(_ATTEMPTS):
            version = self.lake.version("amod_files")
            ledger = self.ledger()
            self.refuse_restarted()
            changed = change(ledger)
            last = self.lake.transaction_version("amod_files", self.app)
            if changed == ledger and last is not None:
                return changed
            if self._write_ledger(
                changed, -1 if version is None else version, 0 if last is None else last + 1
            ):
                return changed
        raise JobFailed(
            f"other extractions of corpus {self.name!r} are running; run the same command again "
            "once they have ended"
        )

    def _write_ledger(self, ledger: Sequence[Entry], base: int, number: int) -> bool:
        """Replace version `base` of the ledger; return False if another run wrote it first."""
        schema = declaration("amod_files").schema.remove_metadata()
        # The table has the fields of the entries, and the name of their corpus.
        columns: dict[str, list[Any]] = {"corpus": [self.name] * len(ledger)}
        for field in dataclasses.fields(Entry):
            columns[field.name] = [getattr(entry, field.name) for entry in ledger]
        rows = pa.Table.from_pydict(columns, schema=schema)
        # The number identifies this ledger and the tables derived from it.
        commit = self.commit(ledger, number)
        try:
            written = arrow.replace(
                self.root, "amod_files", rows, self.partition, base=base, **commit
            )
        except LakeConflict:
            return False
        return not written.skipped

    def empty(self) -> None:
        """Empty the corpus's partitions; later commits get a new application id."""
        number = self._restart_number + 1
        log.info("restart=true: forgetting what was read of %s", self.name)
        for name in EMPTIED_BY_RESTART:
            # Always replace the counts: their commit has the number of the restart.
            if name == "amod_counts" or self.lake.exists(name):
                emptied = arrow.replace(
                    self.root,
                    name,
                    declaration(name).schema.empty_table(),
                    {"job": self.job} if name == "dropped" else self.partition,
                    job=self.job,
                    metadata=self.commit([], 0)["metadata"],
                    transaction=(f"{self.job}/restarts", number),
                    allow_empty=True,
                )
                if emptied.skipped:
                    self.refuse_restarted()
        forget_job(self.root, self.job)
        self._restart_number = number
        self.app = self._app(decisive_settings(self.settings))

    def rows(self, table: str, partition: Mapping[str, str]) -> list[dict[str, Any]]:
        """The rows of a partition of a small table, without Spark; none if the table is missing."""
        if not self.lake.exists(table):
            return []
        where = [(name, "=", value) for name, value in partition.items()]
        return list(arrow.read(self.root, table, where=where).to_pylist())

    def row_count(self, table: str) -> int:
        """The number of the corpus's rows in a table, from its log; 0 if the table is missing."""
        if not self.lake.exists(table):
            return 0
        files = arrow.files(self.root, table)
        rows = [file.rows for file in files if file.lies_in(self.partition)]
        if None in rows:
            return int(self.lake.read(table, where=self.partition).count())
        return sum(filter(None, rows))
