"""The explorer on a large lake: how long a page takes while many users look words up at once.

Pairs are generated: nouns and adjectives with frequencies that follow Zipf's law, distributed over
files as in both tables of the extraction job; parts that the lake already has are not made again.
Then the server runs in its own process, and each user requests one view after another:
suggestions, a noun's adjectives, an adjective's nouns, differences of two nouns, with words drawn
by frequency. One measurement has a short pause after each view; one has none, which shows the
capacity of the machine. The lists of words are made once for each version of a lake; that time is
reported separately.
"""

import http.client
import random
import re
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from adnominal import conf
from adnominal.conf import ROOT, JobFailed, UserError, setting
from adnominal.etl.amod.measures import measures
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table as declaration
from benchmarks.harness import Bound, Case, CaseSettings, Exact, Measurement, log
from benchmarks.processes import proportional_bytes
from benchmarks.results import Figures

CORPUS = "generated"
_SYLLABLES = [consonant + vowel for consonant in "bcdfghjklmnprstvwxyz" for vowel in "aeiou"]

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Settings(CaseSettings):
    pairs: int = setting(100_000_000, help="approximate number of generated pairs")
    files: int = setting(100, help="files of each table")
    nouns: int = setting(999_983, help="distinct nouns; a prime number")
    adjectives: int = setting(199_999, help="distinct adjectives; a prime number")
    users: int = setting(20, help="concurrent users")
    seconds: int = setting(60, help="how long they look up words")
    pause: float = setting(0.5, help="seconds that a user looks at a view before the next one")
    only_generate: bool = setting(False, help="stop when the lake is complete")

    def __post_init__(self) -> None:
        for name in ("nouns", "adjectives"):
            number = getattr(self, name)
            if any(number % divisor == 0 for divisor in range(2, int(number**0.5) + 1)):
                raise UserError(f"{name}={number}: expected a prime number")


def word_of(number: int) -> str:
    """A pronounceable word for a number, unique for each."""
    base = len(_SYLLABLES)
    return "".join(_SYLLABLES[number // base**place % base] for place in range(3))


class Role:
    """The words of a role, their counts, and their numbers of partners in the other role."""

    def __init__(self, name: str, words: int, partners: int, pairs: int) -> None:
        self.name = name
        ranks = np.arange(1, words + 1, dtype=np.float64)
        shape = ranks**-0.9
        most = partners * 0.5
        partner_counts = np.clip(shape * (pairs / shape.sum()), 1, most)
        # What exceeds the limit of the most frequent words goes to all others.
        free = partner_counts < most
        partner_counts[free] *= (pairs - partner_counts[~free].sum()) / partner_counts[free].sum()
        self.partner_counts: Numbers = np.clip(partner_counts, 1, most).astype(np.int64)
        self.counts: Numbers = self.partner_counts * 12
        self.words = pa.array([word_of(number) for number in range(words)])

    def draw(self, chance: random.Random) -> str:
        """A word drawn by frequency."""
        rank = int(len(self.words) ** chance.random()) - 1
        return str(self.words[rank].as_py())


def part_of(role: Role, other: Role, members: Numbers, total: int) -> pa.Table:
    """Rows of the words `members` for the table sorted by `role`; words are numbered in order."""
    size = role.partner_counts[members]
    first = np.repeat(members, size)
    place = np.arange(len(first)) - np.repeat(np.cumsum(size) - size, size)
    # Steps through a prime number of words reach none of them twice.
    count_of = np.uint64(len(other.words))
    mixed = first.astype(np.uint64) * np.uint64(2_654_435_761)
    step = mixed % (count_of - np.uint64(1)) + np.uint64(1)
    second = ((mixed + place.astype(np.uint64) * step) % count_of).astype(np.int64)
    chance = np.random.default_rng(int(members[0]))
    counts = np.minimum(1 / chance.random(len(first)) ** 1.2, 1e5).astype(np.int64)
    columns = {
        "corpus": pa.repeat(CORPUS, len(first)),
        role.name: role.words.take(pa.array(first)),
        other.name: other.words.take(pa.array(second)),
        "count": counts,
        f"{role.name}_count": role.counts[first],
        f"{other.name}_count": other.counts[second],
    }
    columns |= measures(counts, columns["adjective_count"], columns["noun_count"], total)
    schema = declaration("amod_association").schema
    return pa.table([columns[name] for name in schema.names], schema=schema)


def members_of(role: Role, parts: int) -> Iterator[Numbers]:
    """The words of each part, sorted: nouns distributed by hash, adjectives by range."""
    words = role.words.to_pylist()
    order = np.array(sorted(range(len(words)), key=words.__getitem__))
    if role.name == "noun":
        hashed = np.array([crc32(words[place].encode()) % parts for place in order])
        for number in range(parts):
            yield order[hashed == number]
        return
    sizes = np.cumsum(role.partner_counts[order])
    bounds = np.searchsorted(sizes, np.linspace(0, sizes[-1], parts + 1)[1:-1])
    yield from np.split(order, bounds)


def generate(settings: Settings, lake: str) -> dict[str, Role]:
    """Make the parts that the lake lacks; return the words by role."""
    noun = Role("noun", settings.nouns, settings.adjectives, settings.pairs)
    adjective = Role("adjective", settings.adjectives, settings.nouns, settings.pairs)
    for role, other, stored in (
        (noun, adjective, "amod_association"),
        (adjective, noun, "amod_by_adjective"),
    ):
        for number, members in enumerate(members_of(role, settings.files)):
            transaction = (f"part-{number}", 0)
            if not len(members) or arrow.committed(lake, stored, [transaction]):
                continue
            rows = part_of(role, other, members, settings.pairs * 12)
            arrow.append(lake, stored, rows, job="benchmark", transaction=transaction)
            log.info("%s: part %d of %d", stored, number + 1, settings.files)
    return {"noun": noun, "adjective": adjective}


def views(roles: dict[str, Role], chance: random.Random) -> Iterator[tuple[str, str]]:
    """An endless sequence of URLs, each with its kind of view."""
    noun, adjective = roles["noun"], roles["adjective"]
    while True:
        word = noun.draw(chance)
        yield "suggestions", "/api/suggest?" + urlencode({"role": "noun", "word": word[:3]})
        yield "a noun's adjectives", "/api/rows?" + urlencode({"role": "noun", "word": word})
        word = adjective.draw(chance)
        values = {"role": "adjective", "word": word, "measure": "pmi", "floor": 3}
        yield "an adjective's nouns", "/api/rows?" + urlencode(values)
        values = {"role": "noun", "word": noun.draw(chance), "other": noun.draw(chance)}
        yield "a difference", "/api/rows?" + urlencode(values)


@dataclass(frozen=True)
class Visit:
    """The activity of users: the server, end time, pause and words; and as results, the seconds of
    each kind of view, and the failed answers."""

    port: int
    until: float
    pause: float
    roles: dict[str, Role]
    seconds: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: list[str] = field(default_factory=list)

    def user(self, number: int) -> None:
        """Look up words until the time is over."""
        time.sleep(random.Random(-number).random() * self.pause)  # not all at the same moment
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        for kind, address in views(self.roles, random.Random(number)):
            if time.monotonic() > self.until:
                return
            begun = time.monotonic()
            try:
                connection.request("GET", address)
                answer = connection.getresponse()
                answer.read()
                if answer.status != 200:
                    self.errors.append(f"{address}: {answer.status}")
            except (OSError, http.client.HTTPException) as error:
                self.errors.append(f"{address}: {error}")
                connection.close()
            self.seconds[kind].append(time.monotonic() - begun)
            time.sleep(self.pause)


def measure(settings: Settings, lake: str, roles: dict[str, Role]) -> Figures:
    """Start the server, run the users, stop the server; return the figures."""
    command = [sys.executable, "-m", "analysis.explore", f"lake={lake}", "port=0"]
    command.append(f"cache={Path(lake).parent / 'words'}")
    begun = time.monotonic()
    server = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    try:
        addresses = (re.search(r"http://127\.0\.0\.1:(\d+)", line) for line in server.stderr)
        if (address := next(filter(None, addresses), None)) is None:
            raise JobFailed("the server did not start")
        ready = time.monotonic() - begun
        visit = Visit(int(address[1]), time.monotonic() + settings.seconds, settings.pause, roles)
        threads = [
            threading.Thread(target=visit.user, args=(number,)) for number in range(settings.users)
        ]
        peak = 0
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            peak = max(peak, proportional_bytes(server.pid))
            time.sleep(0.1)
    finally:
        server.terminate()
        server.wait()
    every = [second for kind in visit.seconds.values() for second in kind]
    figures: Figures = {"ready_s": ready, "views": len(every), "errors": len(visit.errors)}
    figures |= {"memory_mb": peak / 1e6, "users": settings.users}
    figures |= {"seconds": settings.seconds, "pause": settings.pause}
    for kind, seconds in {**visit.seconds, "all": every}.items():
        for percent in (50, 95):
            figures[f"{kind}: p{percent}_ms"] = 1000 * float(np.percentile(seconds, percent))
    for error in visit.errors[:3]:
        log.error("%s", error)
    return figures


def measured(settings: Settings, folder: Path) -> Figures:
    """Lookups of many concurrent users in the generated lake, with and without a pause."""
    lake = str(folder / "lake")
    roles = generate(settings, lake)
    marker = folder / "first_ready_s"
    if not marker.exists():
        first = measure(conf.with_changes(settings, {"seconds": 1}), lake, roles)
        marker.write_text(str(first["ready_s"]))
    figures = measure(settings, lake, roles)
    without = conf.with_changes(settings, {"pause": 0.0, "seconds": max(1, settings.seconds // 3)})
    saturated = measure(without, lake, roles)
    files = [file for name in arrow.tables(lake) for file in arrow.files(lake, name)]
    return figures | {
        "first_ready_s": float(marker.read_text()),
        "saturated_p95_ms": saturated["all: p95_ms"],
        "saturated_views_s": saturated["views"] / saturated["seconds"],
        "saturated_memory_mb": saturated["memory_mb"],
        "errors": figures["errors"] + saturated["errors"],
        "pairs": arrow.row_count(lake, "amod_association"),
        "gigabytes": sum(file.size for file in files) / 1e9,
    }


def measurements(settings: Settings) -> dict[str, Measurement]:
    """The only measurement; none if only the lake is generated."""
    folder = settings.place("explore")
    if settings.only_generate:
        generate(settings, str(folder / "lake"))
        return {}
    return {"": partial(measured, settings, folder)}


def context(figures: Figures) -> dict[str, Any]:
    end = ": p95_ms"
    kinds = [name.removesuffix(end) for name in figures if name.endswith(end)]
    return {"kinds": sorted(kinds, key=lambda kind: (kind == "all", kind))}


CASE = Case(
    "explore",
    measurements,
    settings=Settings,
    packages=("starlette", "uvicorn", "pyarrow", "deltalake"),
    bounds={
        "views": Bound("figures['all: p95_ms']", most=300),
        "memory": Bound("memory_mb", most=500),
    },
    exact={"views that failed": Exact("errors", 0)},
    context=context,
)
