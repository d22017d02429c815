"""WordNet 3.0's database files: finding them, their lemmas, exceptional forms and hypernyms.

The files are read as the WordNet manual has them (wndb(5WN), morphy(7WN)), from a folder or from
the zip archive that NLTK downloads. Synsets are named as NLTK names them: first lemma, part of
speech, number of the sense (dog.n.01).
"""

from __future__ import annotations

import logging
import os
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa

from conf import UserError
from etl.lake.tables import table

__all__ = ["POS", "WordNet", "base_forms", "exceptions", "find", "hypernyms", "lemmas"]

VERSION = "3.0"
Pos = Literal["n", "v", "a", "r"]
POS: dict[Pos, str] = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
# What is read; a folder that has these is taken for WordNet.
_NEEDED = ("data.noun", *(f"index.{name}" for name in POS.values()))
_COPYRIGHT = re.compile(r"WordNet (\S+) Copyright")
_MOST_BYTES = 256 << 20  # of a file in an archive; the largest of WordNet has 15 MB
DEBIAN = Path("/usr/share/wordnet")
# Hypernyms of a kind (@) and of an instance (@i), as PLANE takes them.
_UP = ("@", "@i")
DISTANCE = 3

log = logging.getLogger("adnominal")

# Endings that morphy detaches, in its order (7WN, "Rules of Detachment").
_DETACHED: dict[Pos, tuple[tuple[str, str], ...]] = {
    "n": (
        ("s", ""),
        ("ses", "s"),
        ("ves", "f"),
        ("xes", "x"),
        ("zes", "z"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("men", "man"),
        ("ies", "y"),
    ),
    "v": (
        ("s", ""),
        ("ies", "y"),
        ("es", "e"),
        ("es", ""),
        ("ed", "e"),
        ("ed", ""),
        ("ing", "e"),
        ("ing", ""),
    ),
    "a": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "r": (),
}


def base_forms(form: str, pos: Pos, exceptions: Mapping[str, Sequence[str]]) -> list[str]:
    """What a lower-cased `form` may be an inflection of, best first, itself in the first place.

    `exceptions` are the irregular forms of `pos` with their lemmas, as table wordnet_exceptions has
    them. The first candidate that WordNet has as a lemma of `pos` is what morphy (and NLTK's
    ``morphy``) gives; where it has none of them, so does morphy. A join of the candidates with
    wordnet_lemmas therefore does what morphy does.
    """
    if form in exceptions:
        found = list(exceptions[form])
    else:
        found = [form[: -len(old)] + new for old, new in _DETACHED[pos] if form.endswith(old)]
    return list(dict.fromkeys(candidate for candidate in (form, *found) if candidate))


# -------------------------------------------------------------------------------------- finding


@dataclass(frozen=True)
class WordNet:
    """Where the files lie: `folder`, or inside the zip archive `archive`; and their version."""

    folder: str
    archive: Path | None
    version: str

    @property
    def place(self) -> str:
        """The folder or archive."""
        return str(self.archive or self.folder)

    def lines(self, name: str) -> Iterator[tuple[int, str]]:
        """Number and text of a file's lines, those of the licence at its head left out.

        Raises:
            UserError: the file cannot be read.
        """
        try:
            for number, line in enumerate(self._text(name).splitlines(), 1):
                if line and not line.startswith(" "):
                    yield number, line
        except (OSError, KeyError, zipfile.BadZipFile, UnicodeDecodeError) as error:
            raise UserError(f"{self.place}: {name} cannot be read: {error}") from error

    def _text(self, name: str) -> str:
        # 3.0 is ASCII; 3.1 has a few letters of Latin-1, which NLTK reads as UTF-8.
        return _read(self.folder, self.archive, name).decode("utf-8")

    def has(self, name: str) -> bool:
        """Whether a file is there."""
        if self.archive is None:
            return (Path(self.folder) / name).is_file()
        with zipfile.ZipFile(self.archive) as opened:
            return f"{self.folder}/{name}" in opened.namelist()

    def fault(self, name: str, line: int, problem: str) -> UserError:
        """The error on a line that is not as the format has it."""
        return UserError(f"{self.place}: {name}:{line}: {problem}; the file is damaged")


def _read(folder: str, archive: Path | None, name: str) -> bytes:
    if archive is None:
        return (Path(folder) / name).read_bytes()
    with zipfile.ZipFile(archive) as opened:
        # No more than this is ever read of a member, whatever it would unpack to.
        size = opened.getinfo(f"{folder}/{name}").file_size
        if size > _MOST_BYTES:
            raise UserError(
                f"wordnet={archive}: {name} unpacks to {size} bytes; expected at most {_MOST_BYTES}"
            )
        return opened.read(f"{folder}/{name}")


def find(where: str = "auto") -> WordNet:
    """The database files at `where`, a folder or zip archive; ``auto`` looks in the usual places.

    These are NLTK's data path (``NLTK_DATA``, ``nltk_data`` in the home folder and elsewhere),
    ``WNSEARCHDIR``, ``WNHOME`` and Debian's ``/usr/share/wordnet``. Releases differ in synsets and
    their order, so ``auto`` takes version 3.0 alone; another version is read on request, with a
    warning that results will differ.

    Raises:
        UserError: no WordNet there; the message names each place and how to get the files.
    """
    if where != "auto":
        path = Path(where).expanduser()
        if not path.exists():
            raise UserError(f"wordnet={where}: no such folder or archive")
        found = _open(path)
        if found is None:
            raise UserError(
                f"wordnet={where}: no WordNet there; expected a folder, or NLTK's wordnet.zip, "
                f"with {', '.join(_NEEDED)}"
            )
        if found.version != VERSION:
            log.warning(
                "WordNet %s at %s, where 3.0 is expected: senses, their order and hypernyms differ "
                "from those of the published datasets",
                found.version,
                where,
            )
        return found
    passed: list[str] = []
    for place in _places():
        found = _open(place)
        if found is not None and found.version == VERSION:
            return found
        passed.append(f"{place} ({f'version {found.version}' if found else 'none'})")
    raise UserError(
        f"no WordNet 3.0; looked in {', '.join(passed)}. Install it (Debian: apt-get install "
        "wordnet-base; NLTK: python -m nltk.downloader wordnet), set WNHOME or WNSEARCHDIR, or "
        "give wordnet=FOLDER"
    )


def _places() -> list[Path]:
    """The usual places, each once."""
    data = [part for part in os.environ.get("NLTK_DATA", "").split(os.pathsep) if part]
    data += ["~/nltk_data"]
    data += [f"{sys.prefix}/{inside}nltk_data" for inside in ("", "share/", "lib/")]
    data += [f"{root}/nltk_data" for root in ("/usr/share", "/usr/local/share")]
    data += [f"{root}/nltk_data" for root in ("/usr/lib", "/usr/local/lib")]
    found = [
        Path(root).expanduser() / "corpora" / name
        for root in data
        for name in ("wordnet", "wordnet.zip")
    ]
    if search := os.environ.get("WNSEARCHDIR"):
        found.append(Path(search))
    if home := os.environ.get("WNHOME"):
        found += [Path(home) / "dict", Path(home)]
    return list(dict.fromkeys([*found, DEBIAN]))


def _open(path: Path) -> WordNet | None:
    """The WordNet in a folder, its folder ``dict``, or an archive; None where there is none."""
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as opened:
                names = opened.namelist()
            folders = [name.rpartition("/")[0] for name in names if name.endswith("/data.noun")]
            if not folders:
                return None
            return WordNet(folders[0], path, _version(folders[0], path))
        for folder in (path, path / "dict"):
            if all((folder / name).is_file() for name in _NEEDED):
                return WordNet(str(folder), None, _version(str(folder), None))
    except OSError as error:
        raise UserError(f"wordnet={path}: cannot be read: {error.strerror or error}") from error
    return None


def _version(folder: str, archive: Path | None) -> str:
    head = _read(folder, archive, "data.noun")[:4096].decode("utf-8", "replace")
    found = _COPYRIGHT.search(head)
    return found[1] if found else "of unknown version"


# -------------------------------------------------------------------------------------- reading


def _spaced(lemma: str) -> str:
    return lemma.replace("_", " ")


def lemmas(wordnet: WordNet) -> pa.Table:
    """Rows of table ``wordnet_lemmas``, sorted; adjectives include satellites."""
    rows = sorted(
        (_spaced(line.partition(" ")[0]), pos)
        for pos, name in POS.items()
        for _, line in wordnet.lines(f"index.{name}")
    )
    return _table(table("wordnet_lemmas").schema, rows)


def exceptions(wordnet: WordNet) -> pa.Table:
    """Rows of table ``wordnet_exceptions``, sorted by form and place.

    Releases without lists of exceptions (npm's) give an empty table, with a warning.
    """
    rows: list[tuple[str, str, int, str]] = []
    for pos, name in POS.items():
        if not wordnet.has(f"{name}.exc"):
            log.warning("no %s.exc at %s: irregular forms stay unknown", name, wordnet.place)
            continue
        found: dict[str, list[str]] = {}
        for number, line in wordnet.lines(f"{name}.exc"):
            form, *listed = (_spaced(part) for part in line.split())
            if not listed:
                raise wordnet.fault(f"{name}.exc", number, f"the form {form!r} without a lemma")
            # Of five forms with two lines the last counts, as in NLTK.
            found[form] = list(dict.fromkeys(listed))
        rows += [
            (form, pos, place, lemma)
            for form, listed in found.items()
            for place, lemma in enumerate(listed)
        ]
    schema = table("wordnet_exceptions").schema
    return _table(schema, [(form, lemma, pos, place) for form, pos, place, lemma in sorted(rows)])


def hypernyms(wordnet: WordNet, distance: int = DISTANCE) -> pa.Table:
    """Rows of table ``wordnet_hypernyms``: what each sense of each noun is a kind or instance of.

    Both relations lead up, as in PLANE, whose published hypernyms they give. A synset that several
    ways lead to stands once, at its shortest distance. Words are lower-cased, as there; those of
    several parts are the reader's to leave out.
    """
    synsets = _nouns(wordnet)
    senses = _senses(wordnet)
    # A synset is named by its first lemma and the number of the sense that it is of that lemma.
    places = {
        (lemma, offset): place
        for lemma, offsets in senses.items()
        for place, offset in enumerate(offsets, 1)
    }
    names = {}
    for offset, (words, _) in synsets.items():
        first = words[0].replace(" ", "_")
        names[offset] = f"{first}.n.{places.get((first, offset), 0):02d}"
    # What lies above each synset is listed once; the rows then only say which noun takes which.
    above: list[tuple[int, str, str, str, bool]] = []
    spans: dict[str, range] = {}
    nouns: list[tuple[str, int]] = []
    left: list[int] = []
    right: list[int] = []
    for lemma in sorted(senses):
        for sense, offset in enumerate(senses[lemma], 1):
            if offset not in synsets:
                raise UserError(
                    f"{wordnet.place}: index.noun has {lemma} at {offset}, where data.noun has no "
                    "synset; the files are not of one release"
                )
            if offset not in spans:
                start = len(above)
                above += [
                    (steps, word, names[offset], names[higher], place == 0)
                    for steps, higher in _above(offset, synsets, distance)
                    for place, word in enumerate(synsets[higher][0])
                ]
                spans[offset] = range(start, len(above))
            left += [len(nouns)] * len(spans[offset])
            right += spans[offset]
            nouns.append((_spaced(lemma), sense))
    schema = table("wordnet_hypernyms").schema
    own = [schema.field(name) for name in ("noun", "sense")]
    joined = [field for field in schema if field not in own]
    one = _table(pa.schema(own), nouns).take(left)
    two = _table(pa.schema(joined), above).take(right)
    return pa.table([(one if field in own else two)[field.name] for field in schema], schema=schema)


_Synsets = dict[str, tuple[tuple[str, ...], tuple[str, ...]]]


def _nouns(wordnet: WordNet) -> _Synsets:
    """The noun synsets by offset: their lemmas, lower-cased, and the offsets of their hypernyms."""
    found: _Synsets = {}
    for number, line in wordnet.lines("data.noun"):
        fields = line.partition(" | ")[0].split(" ")
        try:
            size = int(fields[3], 16)
            start = 4 + 2 * size
            end = start + 1 + 4 * int(fields[start])
            words = tuple(dict.fromkeys(_spaced(word.lower()) for word in fields[4:start:2]))
            pointers = fields[start + 1 : end]
            up = tuple(
                target
                for kind, target in zip(pointers[::4], pointers[1::4], strict=True)
                if kind in _UP
            )
        except (ValueError, IndexError) as error:
            raise wordnet.fault("data.noun", number, "no synset as the format has it") from error
        if not words or len(pointers) != end - start - 1:
            raise wordnet.fault("data.noun", number, "fewer words or pointers than it says")
        found[fields[0]] = (words, up)
    return found


def _senses(wordnet: WordNet) -> dict[str, list[str]]:
    """The offsets of each noun's synsets, most frequent first."""
    found = {}
    for number, line in wordnet.lines("index.noun"):
        fields = line.split()
        try:
            offsets = fields[-int(fields[2]) :]
            if len(fields) != 6 + int(fields[3]) + len(offsets):
                raise ValueError
        except (ValueError, IndexError) as error:
            raise wordnet.fault("index.noun", number, "no entry as the format has it") from error
        found[fields[0]] = offsets
    return found


def _above(start: str, synsets: _Synsets, distance: int) -> list[tuple[int, str]]:
    """(distance, offset) of what lies above a synset, nearest first, in the file's order."""
    seen = {start}
    found: list[tuple[int, str]] = []
    level = [start]
    for steps in range(1, distance + 1):
        higher = [target for offset in level for target in synsets[offset][1]]
        level = [offset for offset in dict.fromkeys(higher) if offset not in seen]
        seen.update(level)
        found += [(steps, offset) for offset in level]
    return found


def _table(schema: pa.Schema, rows: Sequence[tuple[object, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pa.table(
        [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)],
        schema=schema,
    )
