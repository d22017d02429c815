"""WordNet 3.0: finding its files, and its lemmas, exceptional forms and hypernyms as tables.

NLTK parses the files (`wordnet_reader`), which are in a folder or in the zip archive that NLTK
downloads. Synsets have NLTK's names: first lemma, part of speech, number of the sense (dog.n.01).
"""

import gc
import logging
import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from adnominal.conf import UserError
from adnominal.etl.lake.schema import batch_of
from adnominal.etl.lake.tables import table

# The reader imports NLTK, which takes half a second, so it is imported where WordNet is read.
if TYPE_CHECKING:
    from adnominal.etl.knowledge.wordnet_reader import Reader

VERSION = "3.0"
Pos = Literal["n", "v", "a", "r"]
POS: dict[Pos, str] = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
# A folder that has these files is recognised as WordNet.
_REQUIRED_FILES = ("data.noun", "data.adj", *(f"index.{name}" for name in POS.values()))
_COPYRIGHT = re.compile(r"WordNet (\S+) Copyright")
_MOST_BYTES = 256 << 20  # limit for a file in an archive; WordNet's largest has 15 MB
DEBIAN = Path("/usr/share/wordnet")
MAX_DISTANCE = 3

log = logging.getLogger("adnominal")


def base_forms(form: str, pos: Pos, exceptions: Mapping[str, Sequence[str]]) -> list[str]:
    """The possible base forms of a lower-cased `form`, best first; the first is `form` itself.

    `exceptions` are the irregular forms of `pos` with their lemmas, as in table wordnet_exceptions.
    The first candidate that is a lemma of `pos` in WordNet is the result of NLTK's ``morphy``; if
    no candidate is a lemma, morphy has no result either. Therefore a join of the candidates with
    wordnet_lemmas is equivalent to morphy.
    """
    if form in exceptions:
        candidates = list(exceptions[form])
    else:
        endings = _detachment_rules()[pos]
        candidates = [form[: -len(old)] + new for old, new in endings if form.endswith(old)]
    return list(dict.fromkeys(candidate for candidate in (form, *candidates) if candidate))


@cache
def _detachment_rules() -> Mapping[str, Sequence[tuple[str, str]]]:
    """NLTK's: the endings that morphy replaces in each part of speech, in its order."""
    from adnominal.etl.knowledge.wordnet_reader import Reader

    rules: Mapping[str, Sequence[tuple[str, str]]] = Reader.MORPHOLOGICAL_SUBSTITUTIONS
    return rules


# -------------------------------------------------------------------------------------- finding

_Folder = Path | zipfile.Path
_UNREADABLE = (
    OSError,
    EOFError,
    KeyError,
    RuntimeError,  # of an archive with a password
    UnicodeDecodeError,
    zipfile.BadZipFile,
    zlib.error,
)


@dataclass(frozen=True)
class WordNet:
    """The folder of the files, which may be in a zip archive, and their version.

    Attributes:
        folder: folder of the files.
        place: the folder or the archive, for messages.
        version: version of WordNet.
    """

    folder: _Folder
    place: str
    version: str

    @cached_property
    def reader(self) -> "Reader":
        """NLTK's reader of the files.

        Raises:
            UserError: a file cannot be read or is damaged.
        """
        from adnominal.etl.knowledge.wordnet_reader import Reader

        return Reader(self)

    def lines(self, name: str) -> list[str]:
        """The lines of a file; none of a list of exceptions that is missing.

        Raises:
            UserError: the file cannot be read.
        """
        if name.endswith(".exc") and not (self.folder / name).is_file():
            log.warning("no %s at %s: irregular forms stay unknown", name, self.place)
            return []
        try:
            # 3.0 is ASCII; other versions are read as UTF-8, as NLTK does.
            return _read(self.folder, name).decode("utf-8-sig").replace("\r\n", "\n").split("\n")
        except _UNREADABLE as error:
            raise UserError(f"{self.place}: {name} cannot be read: {error}") from error


def _read(folder: _Folder, name: str) -> bytes:
    """A file of a folder or archive; `UserError` if it unpacks to more than `_MOST_BYTES`."""
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
    if location == "auto":
        return _find_expected_version()
    path = Path(location).expanduser()
    if not path.exists():
        raise UserError(f"wordnet={location}: no such folder or archive")
    try:
        wordnet = _open(path)
    except LookupError as absence:
        raise UserError(
            f"wordnet={location}: no WordNet there ({absence}); expected a folder, or NLTK's "
            f"wordnet.zip, with {', '.join(_REQUIRED_FILES)}"
        ) from None
    if wordnet.version != VERSION:
        log.warning(
            "WordNet %s at %s, where 3.0 is expected: senses, their order and hypernyms differ "
            "from those of the published datasets",
            wordnet.version,
            location,
        )
    return wordnet


def _find_expected_version() -> WordNet:
    """WordNet 3.0 from one of the usual places; `UserError` lists what is in each."""
    rejected_places: list[str] = []
    for place in _usual_places():
        try:
            wordnet = _open(place)
        except LookupError as absence:
            rejected_places.append(f"{place} ({absence})")
            continue
        if wordnet.version == VERSION:
            return wordnet
        rejected_places.append(f"{place} (version {wordnet.version})")
    raise UserError(
        f"no WordNet 3.0; looked in {', '.join(rejected_places)}. Install it (Debian: apt-get "
        "install wordnet-base; NLTK: python -m nltk.downloader wordnet), set WNHOME or "
        "WNSEARCHDIR, or give wordnet=FOLDER"
    )


def _usual_places() -> list[Path]:
    """The usual places, each once."""
    from adnominal.etl.knowledge.wordnet_reader import data_path

    places: list[Path] = []
    for folder in data_path():
        places += [folder / "corpora" / "wordnet", folder / "corpora" / "wordnet.zip"]
    if search := os.environ.get("WNSEARCHDIR"):
        places.append(Path(search))
    if home := os.environ.get("WNHOME"):
        places += [Path(home) / "dict", Path(home)]
    places.append(DEBIAN)
    return list(dict.fromkeys(places))


def _open(path: Path) -> WordNet:
    """The WordNet in a folder, in its folder ``dict``, or in an archive.

    Raises:
        LookupError: there is none; the message says which files are missing.
        UserError: the archive cannot be read.
    """
    try:
        folder = min(_folders(path), key=lambda folder: len(_missing_files(folder)))
        missing = _missing_files(folder)
        if len(missing) == len(_REQUIRED_FILES):
            raise LookupError("none")
        if missing:
            raise LookupError(f"without {', '.join(missing)}")
        place = path if isinstance(folder, zipfile.Path) else folder
        return WordNet(folder, str(place), _version(folder))
    except _UNREADABLE as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"wordnet={path}: cannot be read: {reason}") from error


def _folders(path: Path) -> list[_Folder]:
    """The folders at a place that may have the files."""
    if not zipfile.is_zipfile(path):
        return [path, path / "dict"]
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    folders = [
        name.removesuffix("data.noun") for name in names if f"/{name}".endswith("/data.noun")
    ]
    return [zipfile.Path(path, folder) for folder in folders] or [path]


def _missing_files(folder: _Folder) -> list[str]:
    return [name for name in _REQUIRED_FILES if not (folder / name).is_file()]


def _version(folder: _Folder) -> str:
    head = _read(folder, "data.noun")[:4096].decode("utf-8", "replace")
    copyright_line = _COPYRIGHT.search(head)
    return copyright_line[1] if copyright_line else "of unknown version"


# ----------------------------------------------------------------------------------- flattening


def tables(wordnet: WordNet) -> dict[str, pa.Table]:
    """The rows of all tables of WordNet, by the table's name.

    Raises:
        UserError: a file cannot be read or is damaged.
    """
    return {
        "wordnet_lemmas": lemmas(wordnet),
        "wordnet_exceptions": exceptions(wordnet),
        "wordnet_hypernyms": hypernyms(wordnet),
    }


def lemmas(wordnet: WordNet) -> pa.Table:
    """Rows of table ``wordnet_lemmas``, sorted; adjectives include satellites.

    Raises:
        UserError: a file without words, as a copy that failed leaves it.
    """
    rows: list[tuple[str, str]] = []
    for pos, name in POS.items():
        words = [_with_spaces(lemma) for lemma in wordnet.reader.all_lemma_names(pos)]
        if not words:
            raise UserError(f"{wordnet.place}: index.{name} has no words; the file is damaged")
        rows += [(word, pos) for word in words]
    return _table("wordnet_lemmas", sorted(rows))


def exceptions(wordnet: WordNet) -> pa.Table:
    """Rows of table ``wordnet_exceptions``, sorted by form, part of speech and place."""
    rows: list[tuple[str, str, str, int]] = []
    for pos in POS:
        # Five forms have two lines; NLTK uses the last one.
        for form, base_lemmas in wordnet.reader.exceptions(pos).items():
            for place, lemma in enumerate(dict.fromkeys(base_lemmas)):
                rows.append((_with_spaces(form), _with_spaces(lemma), pos, place))
    rows.sort(key=lambda row: (row[0], row[2], row[3]))
    return _table("wordnet_exceptions", rows)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Skip the search for garbage: millions of objects are made, and nearly all are kept."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@_no_garbage_collection()
def hypernyms(wordnet: WordNet, distance: int = MAX_DISTANCE) -> pa.Table:
    """Rows of table ``wordnet_hypernyms``: the hypernyms of each sense of each noun.

    Hypernyms of kinds and of instances are used, as in PLANE, whose published hypernyms result. A
    synset that is reached by several paths has one row, with its shortest distance; the nearest
    come first, those at one distance by name. Words are lower-cased, as in PLANE; the reader of
    the table drops words of several parts.
    """
    nouns = wordnet.reader.nouns()
    lemmas_of = {
        synset: [_with_spaces(lemma) for lemma in lemmas] for synset, lemmas in nouns.lemmas.items()
    }
    rows_of_synset: dict[str, list[tuple[object, ...]]] = {}
    for synset in nouns.lemmas:
        rows_of_synset[synset] = [
            (steps, lemma, synset, ancestor, place == 0)
            for steps, ancestor in _ancestors(synset, nouns.hypernyms, distance)
            for place, lemma in enumerate(lemmas_of[ancestor])
        ]
    rows: list[tuple[object, ...]] = []
    for noun, synsets in nouns.synsets.items():
        word = _with_spaces(noun)
        for sense, synset in enumerate(synsets, 1):
            rows += [(word, sense, *row) for row in rows_of_synset[synset]]
    return _table("wordnet_hypernyms", rows)


def _ancestors(
    synset: str, hypernyms: Mapping[str, Sequence[str]], distance: int
) -> list[tuple[int, str]]:
    """(distance, synset) of the hypernyms up to a distance, by distance and name."""
    visited = {synset}
    ancestors: list[tuple[int, str]] = []
    level = [synset]
    for steps in range(1, distance + 1):
        above = {hypernym for lower in level for hypernym in hypernyms[lower]}
        level = sorted(above - visited)
        visited.update(level)
        ancestors += [(steps, hypernym) for hypernym in level]
    return ancestors


def _with_spaces(lemma: str) -> str:
    return lemma.replace("_", " ")


def _table(name: str, rows: Sequence[tuple[object, ...]]) -> pa.Table:
    return pa.Table.from_batches([batch_of(rows, table(name).schema)])
