"""WordNet 3.0's database files: finding them, their lemmas, exceptional forms and hypernyms.

The formats are those of the WordNet manual (wndb(5WN), morphy(7WN)); the files are in a folder or
in the zip archive that NLTK downloads. Synsets have NLTK's names: first lemma, part of speech,
number of the sense (dog.n.01).
"""

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

from adnominal.conf import UserError
from adnominal.etl.lake.schema import batch_of
from adnominal.etl.lake.tables import table

VERSION = "3.0"
Pos = Literal["n", "v", "a", "r"]
POS: dict[Pos, str] = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
# A folder that has these files is recognised as WordNet.
_REQUIRED_FILES = ("data.noun", *(f"index.{name}" for name in POS.values()))
_COPYRIGHT = re.compile(r"WordNet (\S+) Copyright")
_MOST_BYTES = 256 << 20  # limit for a file in an archive; WordNet's largest has 15 MB
DEBIAN = Path("/usr/share/wordnet")
# Hypernyms of a kind (@) and of an instance (@i), both of which PLANE uses.
_HYPERNYM_POINTERS = ("@", "@i")
MAX_DISTANCE = 3

log = logging.getLogger("adnominal")

# Endings that morphy replaces, in its order (7WN, "Rules of Detachment").
_DETACHMENT_RULES: dict[Pos, tuple[tuple[str, str], ...]] = {
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
    """The possible base forms of a lower-cased `form`, best first; the first is `form` itself.

    `exceptions` are the irregular forms of `pos` with their lemmas, as in table wordnet_exceptions.
    The first candidate that is a lemma of `pos` in WordNet is the result of morphy (and of NLTK's
    ``morphy``); if no candidate is a lemma, morphy has no result either. Therefore a join of the
    candidates with wordnet_lemmas is equivalent to morphy.
    """
    if form in exceptions:
        candidates = list(exceptions[form])
    else:
        rules = _DETACHMENT_RULES[pos]
        candidates = [form[: -len(old)] + new for old, new in rules if form.endswith(old)]
    return list(dict.fromkeys(candidate for candidate in (form, *candidates) if candidate))


# -------------------------------------------------------------------------------------- finding


@dataclass(frozen=True)
class WordNet:
    """The folder of the files, which may be in a zip archive, and their version.

    Attributes:
        folder: folder of the files.
        place: the folder or the archive, for messages.
        version: version of WordNet.
    """

    folder: Path | zipfile.Path
    place: str
    version: str

    def lines(self, name: str) -> Iterator[tuple[int, str]]:
        """Number and text of the lines of a file, without the licence at its beginning.

        Raises:
            UserError: the file cannot be read.
        """
        try:
            # 3.0 is ASCII; 3.1 has a few letters of Latin-1, which NLTK reads as UTF-8.
            text = _read(self.folder, name).decode("utf-8")
            for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
                if line and not line.startswith(" "):
                    yield number, line
        except (OSError, KeyError, zipfile.BadZipFile, UnicodeDecodeError) as error:
            raise UserError(f"{self.place}: {name} cannot be read: {error}") from error

    def has(self, name: str) -> bool:
        """Whether a file exists."""
        return (self.folder / name).is_file()

    def fault(self, name: str, line: int, problem: str) -> UserError:
        """The error for a line that violates the format."""
        return UserError(f"{self.place}: {name}:{line}: {problem}; the file is damaged")


def _read(folder: Path | zipfile.Path, name: str) -> bytes:
    if isinstance(folder, zipfile.Path):
        # At most this much of a member is read, whatever it would unpack to.
        size = folder.root.getinfo(f"{folder.at}{name}").file_size
        if size > _MOST_BYTES:
            raise UserError(
                f"wordnet={folder.root.filename}: {name} unpacks to {size} bytes; expected at most "
                f"{_MOST_BYTES}"
            )
    return (folder / name).read_bytes()


def find(location: str = "auto") -> WordNet:
    """Find the files at `location`, a folder or zip archive; ``auto`` looks in the usual places.

    These are NLTK's data path (``NLTK_DATA``, ``nltk_data`` in the home folder and elsewhere),
    ``WNSEARCHDIR``, ``WNHOME`` and Debian's ``/usr/share/wordnet``. Releases differ in synsets and
    their order, so ``auto`` accepts only version 3.0; another version is read on request, with a
    warning that results will differ.

    Raises:
        UserError: no WordNet there; the message names each place and how to get the files.
    """
    if location != "auto":
        path = Path(location).expanduser()
        if not path.exists():
            raise UserError(f"wordnet={location}: no such folder or archive")
        wordnet = _open(path)
        if wordnet is None:
            raise UserError(
                f"wordnet={location}: no WordNet there; expected a folder, or NLTK's wordnet.zip, "
                f"with {', '.join(_REQUIRED_FILES)}"
            )
        if wordnet.version != VERSION:
            log.warning(
                "WordNet %s at %s, where 3.0 is expected: senses, their order and hypernyms differ "
                "from those of the published datasets",
                wordnet.version,
                location,
            )
        return wordnet
    rejected: list[str] = []
    for place in _places():
        wordnet = _open(place)
        if wordnet is not None and wordnet.version == VERSION:
            return wordnet
        rejected.append(f"{place} ({f'version {wordnet.version}' if wordnet else 'none'})")
    raise UserError(
        f"no WordNet 3.0; looked in {', '.join(rejected)}. Install it (Debian: apt-get "
        "install wordnet-base; NLTK: python -m nltk.downloader wordnet), set WNHOME or "
        "WNSEARCHDIR, or give wordnet=FOLDER"
    )


def _places() -> list[Path]:
    """The usual places, each once."""
    nltk_path = os.environ.get("NLTK_DATA", "")
    nltk_data_folders = [folder for folder in nltk_path.split(os.pathsep) if folder]
    nltk_data_folders += ["~/nltk_data"]
    nltk_data_folders += [f"{sys.prefix}/{inside}nltk_data" for inside in ("", "share/", "lib/")]
    shared_folders = ("/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib")
    nltk_data_folders += [f"{root}/nltk_data" for root in shared_folders]
    places = [
        Path(root).expanduser() / "corpora" / name
        for root in nltk_data_folders
        for name in ("wordnet", "wordnet.zip")
    ]
    if search := os.environ.get("WNSEARCHDIR"):
        places.append(Path(search))
    if home := os.environ.get("WNHOME"):
        places += [Path(home) / "dict", Path(home)]
    return list(dict.fromkeys([*places, DEBIAN]))


def _open(path: Path) -> WordNet | None:
    """The WordNet in a folder, in its folder ``dict``, or in an archive; None if there is none."""
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as opened:
                names = opened.namelist()
            folders = [name.rpartition("/")[0] for name in names if name.endswith("/data.noun")]
            if not folders:
                return None
            inside = zipfile.Path(path, f"{folders[0]}/")
            return WordNet(inside, str(path), _version(inside))
        for folder in (path, path / "dict"):
            if all((folder / name).is_file() for name in _REQUIRED_FILES):
                return WordNet(folder, str(folder), _version(folder))
    except (OSError, zipfile.BadZipFile) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"wordnet={path}: cannot be read: {reason}") from error
    return None


def _version(folder: Path | zipfile.Path) -> str:
    head = _read(folder, "data.noun")[:4096].decode("utf-8", "replace")
    copyright_line = _COPYRIGHT.search(head)
    return copyright_line[1] if copyright_line else "of unknown version"


# -------------------------------------------------------------------------------------- reading


def _with_spaces(lemma: str) -> str:
    return lemma.replace("_", " ")


def lemmas(wordnet: WordNet) -> pa.Table:
    """Rows of table ``wordnet_lemmas``, sorted; adjectives include satellites."""
    rows = sorted(
        (_with_spaces(line.partition(" ")[0]), pos)
        for pos, name in POS.items()
        for _, line in wordnet.lines(f"index.{name}")
    )
    return _table(table("wordnet_lemmas").schema, rows)


def exceptions(wordnet: WordNet) -> pa.Table:
    """Rows of table ``wordnet_exceptions``, sorted by form and place.

    Releases without lists of exceptions (npm's) yield an empty table and a warning.
    """
    rows: list[tuple[str, str, int, str]] = []
    for pos, name in POS.items():
        if not wordnet.has(f"{name}.exc"):
            log.warning("no %s.exc at %s: irregular forms stay unknown", name, wordnet.place)
            continue
        lemmas_of_form: dict[str, list[str]] = {}
        for number, line in wordnet.lines(f"{name}.exc"):
            form, *base_lemmas = (_with_spaces(part) for part in line.split())
            if not base_lemmas:
                raise wordnet.fault(f"{name}.exc", number, f"the form {form!r} without a lemma")
            # Five forms have two lines; the last one is used, as in NLTK.
            lemmas_of_form[form] = list(dict.fromkeys(base_lemmas))
        rows += [
            (form, pos, place, lemma)
            for form, base_lemmas in lemmas_of_form.items()
            for place, lemma in enumerate(base_lemmas)
        ]
    schema = table("wordnet_exceptions").schema
    return _table(schema, [(form, lemma, pos, place) for form, pos, place, lemma in sorted(rows)])


def hypernyms(wordnet: WordNet, distance: int = MAX_DISTANCE) -> pa.Table:
    """Rows of table ``wordnet_hypernyms``: the hypernyms of each sense of each noun.

    Hypernyms of kinds and of instances are used, as in PLANE, whose published hypernyms result. A
    synset that is reached by several paths has one row, with its shortest distance. Words are
    lower-cased, as in PLANE; the reader of the table drops words of several parts.
    """
    synsets = _nouns(wordnet)
    senses = _senses(wordnet)
    # The name of a synset has its first lemma and the number of its sense of that lemma.
    places = {
        (lemma, offset): place
        for lemma, offsets in senses.items()
        for place, offset in enumerate(offsets, 1)
    }
    names = {}
    for offset, (words, _) in synsets.items():
        first = words[0].replace(" ", "_")
        names[offset] = f"{first}.n.{places.get((first, offset), 0):02d}"
    # The hypernyms of each synset are listed once; row numbers then assign them to the nouns.
    ancestors: list[tuple[int, str, str, str, bool]] = []
    spans: dict[str, range] = {}
    nouns: list[tuple[str, int]] = []
    noun_rows: list[int] = []
    hypernym_rows: list[int] = []
    for lemma in sorted(senses):
        for sense, offset in enumerate(senses[lemma], 1):
            if offset not in synsets:
                raise UserError(
                    f"{wordnet.place}: index.noun has {lemma} at {offset}, where data.noun has no "
                    "synset; the files are not of one release"
                )
            if offset not in spans:
                start = len(ancestors)
                ancestors += [
                    (steps, word, names[offset], names[higher], place == 0)
                    for steps, higher in _ancestors(offset, synsets, distance)
                    for place, word in enumerate(synsets[higher][0])
                ]
                spans[offset] = range(start, len(ancestors))
            noun_rows += [len(nouns)] * len(spans[offset])
            hypernym_rows += spans[offset]
            nouns.append((_with_spaces(lemma), sense))
    schema = table("wordnet_hypernyms").schema
    noun_fields = [schema.field(name) for name in ("noun", "sense")]
    hypernym_fields = [field for field in schema if field not in noun_fields]
    rows = _table(pa.schema(noun_fields), nouns).take(noun_rows)
    hypernym_columns = _table(pa.schema(hypernym_fields), ancestors).take(hypernym_rows)
    for field in hypernym_fields:
        rows = rows.append_column(field, hypernym_columns[field.name])
    return rows.select(schema.names).cast(schema)


_Synsets = dict[str, tuple[tuple[str, ...], tuple[str, ...]]]


def _nouns(wordnet: WordNet) -> _Synsets:
    """The noun synsets by offset: their lemmas, lower-cased, and the offsets of their hypernyms."""
    synsets: _Synsets = {}
    line_of_target: dict[str, int] = {}
    for number, line in wordnet.lines("data.noun"):
        fields = line.partition(" | ")[0].split(" ")
        try:
            size = int(fields[3], 16)
            start = 4 + 2 * size
            end = start + 1 + 4 * int(fields[start])
            words = tuple(dict.fromkeys(_with_spaces(word.lower()) for word in fields[4:start:2]))
            pointers = fields[start + 1 : end]
            hypernym_offsets = tuple(
                target
                for kind, target in zip(pointers[::4], pointers[1::4], strict=True)
                if kind in _HYPERNYM_POINTERS
            )
        except (ValueError, IndexError) as error:
            raise wordnet.fault("data.noun", number, "not a synset in WordNet's format") from error
        if not words or len(pointers) != end - start - 1:
            raise wordnet.fault("data.noun", number, "fewer words or pointers than it says")
        synsets[fields[0]] = (words, hypernym_offsets)
        for target in hypernym_offsets:
            line_of_target.setdefault(target, number)
    for target, number in line_of_target.items():
        if target not in synsets:
            raise wordnet.fault(
                "data.noun", number, f"no synset at {target}, its hypernym's offset"
            )
    return synsets


def _senses(wordnet: WordNet) -> dict[str, list[str]]:
    """The offsets of each noun's synsets, most frequent first."""
    offsets_of_noun = {}
    for number, line in wordnet.lines("index.noun"):
        fields = line.split()
        try:
            offsets = fields[-int(fields[2]) :]
            if len(fields) != 6 + int(fields[3]) + len(offsets):
                raise ValueError
        except (ValueError, IndexError) as error:
            raise wordnet.fault("index.noun", number, "not an entry in WordNet's format") from error
        offsets_of_noun[fields[0]] = offsets
    return offsets_of_noun


def _ancestors(start: str, synsets: _Synsets, distance: int) -> list[tuple[int, str]]:
    """(distance, offset) of the hypernyms of a synset, nearest first, in the order of the file."""
    visited = {start}
    ancestors: list[tuple[int, str]] = []
    level = [start]
    for steps in range(1, distance + 1):
        higher = [target for offset in level for target in synsets[offset][1]]
        level = [offset for offset in dict.fromkeys(higher) if offset not in visited]
        visited.update(level)
        ancestors += [(steps, offset) for offset in level]
    return ancestors


def _table(schema: pa.Schema, rows: Sequence[tuple[object, ...]]) -> pa.Table:
    return pa.Table.from_batches([batch_of(rows, schema)])
