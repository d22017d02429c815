"""The answered requests of a model: no answered request is computed, or paid for, twice.

One SQLite database holds the answers of one model under one set of settings, so that nothing of
these needs to be part of a request's key. Every answer is committed at once (in write-ahead mode,
this takes microseconds), so that a killed process loses only its requests in flight. Several
processes of one machine may share a database. lm-evaluation-harness's own cache has neither model
nor server in its keys, and stores an empty answer where a server returned none.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any, Self

from adnominal.conf import JobFailed, UserError
from adnominal.training.asking.outcomes import Outcome

_VERSION = 1
# Seconds to wait for another process that writes.
_BUSY_SECONDS = 60.0
# Older builds of SQLite allow 999 parameters in a statement.
_KEYS_PER_QUERY = 900
_TABLES = """
CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, outcome TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS identity (settings TEXT PRIMARY KEY);
"""


def request_key(kind: str, arguments: Sequence[object]) -> bytes:
    """Return the key of a request: a hash of its content.

    Args:
        kind: the harness's method, such as ``generate_until``.
        arguments: its arguments for this request: the context, and the continuation or the
            settings of the generation.
    """
    content = json.dumps([kind, *arguments], sort_keys=True)
    return hashlib.blake2b(content.encode(), digest_size=16).digest()


class Answered:
    """The answered requests of one model, in a database below a folder."""

    def __init__(self, folder: Path, **identity: object) -> None:
        """Open or create the database.

        Args:
            folder: the folder of the databases.
            identity: everything that an answer depends on besides the request: the backend, the
                model (a hash of its content, or its name at a server), the address, the chat
                template, the system instructions and the generation settings. JSON values, without
                secrets: they are written to the database.

        Raises:
            UserError: the folder cannot be used, or the file is not such a database.
        """
        settings = _as_json(identity)
        digest = hashlib.blake2b(settings.encode(), digest_size=16)
        self.path = folder / f"{digest.hexdigest()}-{_VERSION}.sqlite"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
            self._database.execute("PRAGMA journal_mode = WAL")
            # Not a sync of the disk a commit: only a power cut could lose the last answers.
            self._database.execute("PRAGMA synchronous = NORMAL")
            self._database.executescript(_TABLES)
            self._database.execute("INSERT OR IGNORE INTO identity VALUES (?)", (settings,))
        except (sqlite3.Error, OSError) as error:
            raise UserError(
                f"{self.path}: cannot be used as a database of answers ({error}); delete the file, "
                "or choose another folder with cache="
            ) from error

    def lookup(self, keys: Iterable[bytes]) -> dict[bytes, Outcome]:
        """Return the stored outcomes of those of these requests that have been answered."""
        outcomes: dict[bytes, Outcome] = {}
        remaining = iter(sorted(set(keys)))
        while batch := list(islice(remaining, _KEYS_PER_QUERY)):
            places = ",".join("?" * len(batch))
            query = f"SELECT key, outcome FROM answers WHERE key IN ({places})"
            with self._failures():
                rows = self._database.execute(query, batch).fetchall()
            for key, text in rows:
                outcomes[key] = _from_json(text)
        return outcomes

    def add(self, key: bytes, outcome: Outcome) -> None:
        """Store the outcome of an answered request; a failed one is ignored.

        The first stored outcome of a request stays.

        Raises:
            JobFailed: the database cannot be written to.
        """
        if not outcome.is_answered:
            return
        with self._failures():
            self._database.execute(
                "INSERT OR IGNORE INTO answers VALUES (?, ?)", (key, _as_json(asdict(outcome)))
            )

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise JobFailed(
                f"{self.path}: {error}; expected a database of answers on a local disk with free "
                "space: mend it or choose another folder with cache=, then run again"
            ) from error


def _as_json(value: dict[str, Any]) -> str:
    return json.dumps(value, sort_keys=True)


def _from_json(text: str) -> Outcome:
    fields = json.loads(text)
    if fields["likelihood"] is not None:
        fields["likelihood"] = tuple(fields["likelihood"])
    return Outcome(**fields)
