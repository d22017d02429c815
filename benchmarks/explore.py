"""The explorer on a large lake: how long a view takes while many users look words up at once.

Pairs are generated: nouns and adjectives with frequencies that follow Zipf's law, in files sorted
like those of both tables of the extraction job; files that the lake already has are not made again.
Then the server runs in its own process, and each user requests one view after another: suggestions,
a noun's adjectives, an adjective's nouns, differences of two nouns, with words drawn by frequency.
Once the users pause after each view; once they do not, which shows the capacity of the machine.
Words with similar collocates, which take many times as long, are requested by one user alone.
"""

import http.client
import random
import re
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import numpy.typing as npt
import psutil
import pyarrow as pa
import pyarrow.compute as pc

from adnominal.conf import ROOT, JobFailed, UserError, setting
from adnominal.etl.amod.measures import measures
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table as declaration
from benchmarks.cases import Bound, Case, CaseSettings, in_parts
from benchmarks.pairs_generator import words_of
from benchmarks.processes import memory_mb
from benchmarks.results import Figures

MEAN_COUNT = 12  # occurrences of a pair

Numbers = npt.NDArray[np.int64]
Views = Iterator[tuple[str, str]]  # each a kind of view and its URL


@dataclass(frozen=True)
class Settings(CaseSettings):
    pairs: int = setting(100_000_000, help="approximate number of generated pairs")
    files: int = setting(100, help="files of each table")
    nouns: int = setting(999_983, help="distinct nouns; a prime number")
    adjectives: int = setting(199_999, help="distinct adjectives; a prime number")
    users: int = setting(20, help="concurrent users")
    seconds: int = setting(60, help="how long they look up words")
    pause: float = setting(0.5, help="seconds that a user looks at a view before the next one")

    def __post_init__(self) -> None:
        for name in ("nouns", "adjectives"):
            number = getattr(self, name)
            if any(number % divisor == 0 for divisor in range(2, int(number**0.5) + 1)):
                raise UserError(f"{name}={number}: expected a prime number")


class Role:
    """The words of a role, and the number of partners of each in the other role, by Zipf's law."""

    def __init__(self, name: str, words: int, partners: int, pairs: int) -> None:
        self.name = name
        self.words = words_of(np.arange(words))
        shares = np.arange(1, words + 1, dtype=np.float64) ** -0.9
        most = partners / 2
        numbers = np.clip(pairs * shares / shares.sum(), 1, most)
        # What exceeds the limit of the most frequent words goes to all others.
        is_free = numbers < most
        limited = numbers[~is_free].sum()
        numbers[is_free] *= (pairs - limited) / numbers[is_free].sum()
        self.partners: Numbers = np.clip(numbers, 1, most).astype(np.int64)
        self.counts: Numbers = self.partners * MEAN_COUNT

    def draw(self, rng: random.Random) -> str:
        """A word drawn by frequency."""
        rank = int(len(self.words) ** rng.random()) - 1
        return str(self.words[rank].as_py())

    def split(self, files: int) -> list[Numbers]:
        """The numbers of the words of each file: ranges of the sorted words, of equal size."""
        order = pc.sort_indices(self.words).to_numpy()
        ends = np.cumsum(self.partners[order])
        bounds = np.searchsorted(ends, np.linspace(0, ends[-1], files + 1))
        return np.split(order, bounds[1:-1])


def rows_of(role: Role, other: Role, members: Numbers, total: int) -> pa.Table:
    """Rows of the words `members` for the table sorted by `role`."""
    sizes = role.partners[members]
    first = np.repeat(members, sizes)
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = (np.arange(len(first)) - starts).astype(np.uint64)
    # Steps through a prime number of words reach none of them twice.
    prime = np.uint64(len(other.words))
    mixed = first.astype(np.uint64) * np.uint64(2_654_435_761)
    step = mixed % (prime - np.uint64(1)) + np.uint64(1)
    second = ((mixed + places * step) % prime).astype(np.int64)
    rng = np.random.default_rng(int(members[0]))
    counts = np.minimum(1 / rng.random(len(first)) ** 1.2, 1e5).astype(np.int64)
    columns = {
        "corpus": pa.repeat("generated", len(first)),
        role.name: role.words.take(pa.array(first)),
        other.name: other.words.take(pa.array(second)),
        "count": counts,
        f"{role.name}_count": role.counts[first],
        f"{other.name}_count": other.counts[second],
    }
    columns |= measures(counts, columns["adjective_count"], columns["noun_count"], total)
    schema = declaration("amod_association").schema
    return pa.table([columns[name] for name in schema.names], schema=schema)


def generate(settings: Settings, lake: str) -> dict[str, Role]:
    """Make the files that the lake lacks; the words by role."""
    noun = Role("noun", settings.nouns, settings.adjectives, settings.pairs)
    adjective = Role("adjective", settings.adjectives, settings.nouns, settings.pairs)
    tables = {"amod_association": (noun, adjective), "amod_by_adjective": (adjective, noun)}
    for table, (role, other) in tables.items():
        for number, members in enumerate(role.split(settings.files)):
            transaction = (f"part-{number}", 0)
            if len(members) and not arrow.committed_transactions(lake, table, [transaction]):
                rows = rows_of(role, other, members, settings.pairs * MEAN_COUNT)
                arrow.append(lake, table, rows, job="benchmark", transaction=transaction)
    return {"noun": noun, "adjective": adjective}


def views(roles: dict[str, Role], rng: random.Random) -> Views:
    """An endless sequence of views of words, their collocates and differences."""
    noun, adjective = roles["noun"], roles["adjective"]
    while True:
        word = noun.draw(rng)
        yield "suggestions", f"/api/suggest?{urlencode({'role': 'noun', 'word': word[:3]})}"
        yield "a noun's adjectives", f"/api/rows?{urlencode({'role': 'noun', 'word': word})}"
        nouns = {"role": "adjective", "word": adjective.draw(rng), "measure": "pmi", "floor": 3}
        yield "an adjective's nouns", f"/api/rows?{urlencode(nouns)}"
        difference = {"role": "noun", "word": noun.draw(rng), "other": noun.draw(rng)}
        yield "a difference", f"/api/rows?{urlencode(difference)}"


def similar_words_views(roles: dict[str, Role], rng: random.Random) -> Views:
    """An endless sequence of views of the words with similar collocates."""
    while True:
        for name, role in roles.items():
            query = {"role": name, "word": role.draw(rng)}
            yield f"words similar to {name}s", f"/api/similar?{urlencode(query)}"


def request(connection: http.client.HTTPConnection, address: str) -> bool:
    """Request a view; whether it was answered."""
    try:
        connection.request("GET", address)
        answer = connection.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException):
        connection.close()
        return False
    return answer.status == 200


def start_server(lake: str) -> tuple[subprocess.Popen[str], int]:
    """Start the explorer; its process and port. `JobFailed` if it does not start."""
    command = [sys.executable, "-m", "analysis.explore", f"lake={lake}", "port=0"]
    command.append(f"cache={Path(lake).parent / 'words'}")
    server = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    for line in server.stderr:
        match = re.search(r"http://127\.0\.0\.1:(\d+)", line)
        if match:
            return server, int(match[1])
    raise JobFailed("the server did not start")


def visit(
    settings: Settings,
    lake: str,
    roles: dict[str, Role],
    requested: Callable[[dict[str, Role], random.Random], Views] = views,
) -> Figures:
    """Start the server, let users request views, stop the server; the figures."""
    begun = time.monotonic()
    server, port = start_server(lake)
    ready_seconds = time.monotonic() - begun
    end = time.monotonic() + settings.seconds
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    failed: list[str] = []

    def user(number: int) -> None:
        time.sleep(random.Random(-number).random() * settings.pause)  # not all at once
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for kind, address in requested(roles, random.Random(number)):
            if time.monotonic() > end:
                return
            asked = time.monotonic()
            if not request(connection, address):
                failed.append(address)
            seconds[kind].append(time.monotonic() - asked)
            time.sleep(settings.pause)

    users = [threading.Thread(target=user, args=(number,)) for number in range(settings.users)]
    memory = 0.0
    process = psutil.Process(server.pid)
    try:
        for thread in users:
            thread.start()
        while any(thread.is_alive() for thread in users):
            memory = max(memory, memory_mb([process]))
            time.sleep(0.1)
    finally:
        server.terminate()
        server.wait()
    seconds["all"] = [value for values in list(seconds.values()) for value in values]
    return {
        "ready_s": ready_seconds,
        "views": len(seconds["all"]),
        "errors": len(failed),
        "memory_mb": memory,
        "p50_ms": {kind: 1000 * float(np.median(values)) for kind, values in seconds.items()},
        "p95_ms": {kind: 1000 * float(np.percentile(v, 95)) for kind, v in seconds.items()},
    }


def measure_lookups(settings: Settings) -> Figures:
    """Lookups of many concurrent users in the generated lake, with and without a pause."""
    lake = str(settings.place("explore") / "lake")
    roles = generate(settings, lake)
    visit(replace(settings, seconds=1), lake, roles)  # its start makes the lists of words
    with_pause = visit(settings, lake, roles)
    without_pause = visit(replace(settings, pause=0.0), lake, roles)
    files = [file for name in arrow.tables(lake) for file in arrow.files(lake, name)]
    return {
        "pairs": arrow.row_count(lake, "amod_association"),
        "gigabytes": sum(file.size for file in files) / 1e9,
        "users": settings.users,
        "seconds": settings.seconds,
        "pause": settings.pause,
        **with_pause,
        "errors": with_pause["errors"] + without_pause["errors"],
        "saturated_p95_ms": without_pause["p95_ms"]["all"],
        "saturated_views_s": without_pause["views"] / settings.seconds,
        "saturated_memory_mb": without_pause["memory_mb"],
    }


def measure_similar_words(settings: Settings) -> Figures:
    """One user's requests for the words with similar collocates, one after another."""
    lake = str(settings.place("explore") / "lake")
    roles = generate(settings, lake)
    return visit(replace(settings, users=1, pause=0.0), lake, roles, similar_words_views)


CASE = Case(
    "explore",
    "Word sketches",
    in_parts(lookups=measure_lookups, similar=measure_similar_words),
    settings=Settings,
    packages=("starlette", "uvicorn", "pyarrow", "deltalake"),
    bounds={
        "views": Bound("lookups.p95_ms.all", most=300),
        "memory": Bound("lookups.memory_mb", most=500),
        "similar": Bound("similar.p95_ms.all", most=2000),
    },
    exact={"lookups.errors": 0, "similar.errors": 0},
)
