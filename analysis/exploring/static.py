"""The page with its data as a folder of files that works from disk and on any web server.

The data are scripts of at most 200 kB, because a page opened from disk can read nothing else. Files
are filled with the words in sorted order, and ``about.js`` has the first word of each, so that the
page reads only the file that must contain a word.
"""

import json
import logging
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from adnominal.analysis.exploring.adjectives import determiners
from adnominal.analysis.exploring.pairs import pairs
from adnominal.analysis.exploring.queries import CLASSES, MEASURES
from adnominal.analysis.exploring.sketches import Sketches
from adnominal.analysis.exploring.words import ROLES
from adnominal.analysis.rows import tuples
from adnominal.conf import JobFailed, UserError
from adnominal.conf.numbers import count_of
from adnominal.etl.lake import arrow
from adnominal.training.files import complete_folder

MOST_BYTES = 200_000
_FULL = 150_000  # bytes in a file after which the next one is started
_DIGITS = 8  # of measures; the page rounds them to two, as it does those of the server
_COLUMNS = (
    "corpus",
    "adjective",
    "noun",
    "count",
    "adjective_count",
    "noun_count",
    "pmi",
    "npmi",
    "log_dice",
)

log = logging.getLogger("adnominal")


def _utf16(word: str) -> bytes:
    """The key by which JavaScript sorts strings."""
    return word.encode("utf-16-be", "surrogatepass")


def write(sketches: Sketches, target: Path, min_count: int) -> None:
    """Write the page and the pairs with at least `min_count`, which are held in memory.

    The folder appears under its name when it is complete.

    Raises:
        JobFailed: no pair reaches the minimum count.
        UserError: the folder cannot be created, or there are more data than the page's index holds.
    """
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(complete_folder(target, "export"))
        except OSError as error:
            raise UserError(f"export={target}: {error.strerror or error}") from error
        _write(sketches, folder, min_count)
    files = [file for file in target.rglob("*") if file.is_file()]
    size = sum(file.stat().st_size for file in files)
    log.info("%s written: %s, %.1f MB", target, count_of(len(files), "file"), size / 1e6)


def _write(sketches: Sketches, folder: Path, min_count: int) -> None:
    """Write the explorer's page and its data, as files that a browser reads without a server."""
    from adnominal.analysis.exploring.server import PAGE

    where = pc.field("count") >= min_count
    rows = arrow.read(sketches.lake, "amod_association", where=where, columns=_COLUMNS)
    if not rows.num_rows:
        raise JobFailed(f"no pair with a count of {min_count} or more; expected a lower min_count=")
    first: dict[str, list[str]] = {}
    corpora = sorted(sketches.corpora)
    for role in ROLES:
        counts = _counts(rows, role)
        entries = _entries(sketches, rows, role, corpora)
        first[role] = _shards(folder, role, entries)
        frequencies = ((word, counts[word]) for word in sorted(counts, key=_utf16))
        first[f"{role}-words"] = _shards(folder, f"{role}-words", frequencies)
    first["pair"] = _shards(folder, "pair", _pair_entries(sketches, rows))
    about = {
        "corpora": corpora,
        "measures": MEASURES,
        "classes": CLASSES,
        "tokens": sketches.tokens,
        "determiners": determiners(),
        "min_count": min_count,
        "first": first,
    }
    text = f"window.adnominalData({json.dumps('about')},{_json(about)});\n"
    if len(text) > MOST_BYTES:
        raise UserError(
            f"min_count={min_count}: {rows.num_rows:,} pairs are too many for a folder of files; "
            f"expected a higher min_count="
        )
    (folder / "data" / "about.js").write_text(text, encoding="ascii")
    for file in PAGE.iterdir():
        if file.suffix in (".js", ".css"):
            shutil.copyfile(file, folder / file.name)
    page = (PAGE / "index.html").read_text(encoding="utf-8")
    marked_page = page.replace("<html ", "<html data-static ", 1)
    (folder / "index.html").write_text(marked_page, encoding="utf-8")


def _json(value: Any) -> str:
    # Escaped to ASCII, because two Unicode line separators also end a line of a script.
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def _shards(folder: Path, name: str, entries: Iterable[tuple[str, Any]]) -> list[str]:
    """Write entries into files, sorted by word; return the first word of each file."""
    (folder / "data" / name).mkdir(parents=True)
    first: list[str] = []
    entries_of_file: list[str] = []
    size = 0

    def flush() -> None:
        nonlocal entries_of_file, size
        number = len(first) - 1
        script, data = json.dumps(f"{name}/{number}"), ",".join(entries_of_file)
        text = f"window.adnominalData({script},{{{data}}});\n"
        (folder / "data" / name / f"{number}.js").write_text(text, encoding="ascii")
        entries_of_file, size = [], 0

    for word, value in entries:
        # In brackets, because __proto__ would otherwise set the prototype instead of a key.
        key = f"[{_json(word)}]" if word == "__proto__" else _json(word)
        text = f"{key}:{_fitting(value)}"
        if entries_of_file and size + len(text) > _FULL:
            flush()
        if not entries_of_file:
            first.append(word)
        entries_of_file.append(text)
        size += len(text) + 1
    if entries_of_file:
        flush()
    return first


def _fitting(value: Any) -> str:
    """A value as JSON; lists are shortened until it fits into a file, if need be to none."""
    text = _json(value)
    while len(text) > _FULL:
        value = {
            name: part[: len(part) // 2] if isinstance(part, list) else part
            for name, part in value.items()
        }
        if text == (shorter := _json(value)):
            break
        text = shorter
    return text


def _counts(rows: pa.Table, role: str) -> dict[str, int]:
    """The total count of each word of a role over all corpora."""
    by_corpus = rows.group_by([role, "corpus"]).aggregate([(f"{role}_count", "max")])
    total = by_corpus.group_by(role).aggregate([(f"{role}_count_max", "sum")])
    return dict(tuples(total, role, f"{role}_count_max_sum"))


def _entries(
    sketches: Sketches, rows: pa.Table, role: str, corpora: list[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each word with its rows, most frequent first, so that shortened lists keep frequent rows."""
    partner = ROLES[1 - ROLES.index(role)]
    ordered = rows.sort_by([(role, "ascending"), ("count", "descending"), (partner, "ascending")])
    words = ordered.column(role).to_pylist()
    starts = [place for place, word in enumerate(words) if place == 0 or word != words[place - 1]]
    spans = sorted(
        zip(starts, [*starts[1:], len(words)], strict=True), key=lambda span: _utf16(words[span[0]])
    )
    for start, end in spans:
        part = ordered.slice(start, end - start).to_pylist()
        counts = {row["corpus"]: row[f"{role}_count"] for row in part}
        lines = [
            [
                corpora.index(row["corpus"]),
                row[partner],
                row["count"],
                row[f"{partner}_count"],
                round(row["pmi"], _DIGITS),
                round(row["npmi"], _DIGITS),
                round(row["log_dice"], _DIGITS),
                sketches.lexicon.class_of(row["adjective"]),
            ]
            for row in part
        ]
        yield words[start], {"words": counts, "rows": lines}


def _pair_entries(sketches: Sketches, rows: pa.Table) -> Iterator[tuple[str, dict[str, Any]]]:
    """The details of the pairs that have more than their counts."""
    known_pairs = set(tuples(rows, "adjective", "noun"))
    details = {" ".join(pair): value for pair, value in pairs(sketches.lake, known_pairs)}
    for name in sorted(details, key=_utf16):
        yield name, details[name]
