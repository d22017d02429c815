"""NLTK's WordNet reader over files that it would not open by itself.

NLTK opens files only below its own data path, follows no links there, and expects two files that
Debian's package lacks. Here it opens none: it parses the lines that `WordNet.lines` reads from any
folder or archive.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from warnings import catch_warnings, simplefilter

from adnominal.conf import UserError
from adnominal.etl.imports import hidden
from adnominal.etl.knowledge.wordnet import WordNet

# NLTK imports both if they are installed, which takes seconds, for parts that are not used here.
with hidden("scipy", "sklearn"):
    import nltk.data
    from nltk.corpus.reader.wordnet import Synset, WordNetCorpusReader

# The names of the lexicographers' files, which only NLTK asks for; Debian has no file of them.
_LEXNAMES = [(number, f"{number:02d} unnamed 0") for number in range(45)]


def data_path() -> list[Path]:
    """NLTK's data path: ``NLTK_DATA``, ``nltk_data`` in the home folder and elsewhere."""
    return [Path(str(folder)) for folder in nltk.data.path]


@dataclass(frozen=True)
class Nouns:
    """WordNet's nouns. Synsets have NLTK's names (``dog.n.01``); words are as in the files.

    Attributes:
        synsets: the synsets of each noun, most frequent first; the nouns are lower-cased.
        lemmas: the lemmas of each synset.
        hypernyms: the direct hypernyms of each synset, of kinds and of instances, by name.
    """

    synsets: dict[str, list[str]]
    lemmas: dict[str, list[str]]
    hypernyms: dict[str, list[str]]


class Reader(WordNetCorpusReader):  # type: ignore[misc]
    """NLTK's reader for the files of `wordnet`.

    Raises:
        UserError: a file cannot be read, or NLTK cannot parse it.
    """

    def __init__(self, wordnet: WordNet) -> None:
        self._wordnet = wordnet
        self.last_line = ("", 0)
        with self._report_damage():
            super().__init__(_NoFolder(), omw_reader=None)

    def nouns(self) -> Nouns:
        """The nouns, sorted, with their synsets and the hypernyms of these.

        Raises:
            UserError: NLTK cannot parse an entry, or an offset has no synset, or no nouns.
        """
        nouns = Nouns({}, {}, {})
        with self._report_damage():
            for noun in sorted(self.all_lemma_names("n")):
                synsets = {}
                for lemma in self.lemmas(noun, "n"):
                    synset = lemma.synset()
                    synsets[synset.name()] = synset
                nouns.synsets[noun] = list(synsets)
                for name, synset in synsets.items():
                    if name not in nouns.lemmas:
                        nouns.lemmas[name] = synset.lemma_names()
                        nouns.hypernyms[name] = _hypernyms(synset)
        if not nouns.synsets:
            place = self._wordnet.place
            raise UserError(f"{place}: index.noun has no nouns; expected WordNet's 117,798")
        return nouns

    def exceptions(self, pos: str) -> dict[str, list[str]]:
        """The irregular forms of a part of speech, each with its lemmas, best first."""
        lemmas_of_form: dict[str, list[str]] = self._exception_map[pos]
        return lemmas_of_form

    def open(self, file: str) -> "_File":
        """A file's lines; NLTK opens every file by this method."""
        if file == "lexnames":
            return _File(self, file, _LEXNAMES)
        if file.endswith(".exc") and not self._wordnet.has(file):
            return _File(self, file, [])
        return _File(self, file, list(self._wordnet.lines(file)))

    def map_wn(self, version: str = "wordnet") -> None:
        """No map from another version: only other languages need it, and it needs index.sense."""

    @contextmanager
    def _report_damage(self) -> Iterator[None]:
        try:
            with catch_warnings():
                # NLTK warns of missing languages, and of some damage beside its errors.
                simplefilter("ignore")
                yield
        except UserError:
            raise
        except Exception as error:
            # NLTK raises nearly anything at a damaged line: ValueError, StopIteration, TypeError.
            file, line = self.last_line
            kind = "a synset" if file.startswith("data.") else "an entry"
            raise self._wordnet.fault(file, line, f"not {kind} in WordNet's format") from error

    def no_synset(self, data_file: str, offset: str) -> UserError:
        """The error for an offset without a synset: it names the line that has the offset."""
        problem = f"{data_file} has no synset at {offset}"
        for file in (data_file.replace("data", "index"), "data.noun"):
            for number, line in self._wordnet.lines(file):
                if offset in line.split():
                    return self._wordnet.fault(file, number, problem)
        raise LookupError(problem)


def _hypernyms(synset: Synset) -> list[str]:
    """The names of its direct hypernyms, sorted: NLTK has them in no order."""
    hypernyms = synset.hypernyms() + synset.instance_hypernyms()
    return sorted(hypernym.name() for hypernym in hypernyms)


class _File:
    """The lines of a file, read in order or by offset.

    A synset is found by the offset that its own line begins with. Glosses are left out: no table
    has them, and NLTK fails if one contains its separator.
    """

    def __init__(self, reader: Reader, name: str, lines: list[tuple[int, str]]) -> None:
        self._reader = reader
        self._name = name
        self._lines = lines
        self._next = 0
        self._positions: dict[str, int] = {}
        if name.startswith("data."):
            self._lines = [(number, _without_gloss(line)) for number, line in lines]
            self._positions = {line[:8]: place for place, (_, line) in enumerate(lines)}

    def seek(self, offset: int) -> None:
        """Go to the line of the synset at `offset`, or to the first line at 0."""
        if not offset:
            self._next = 0
            return
        digits = f"{offset:08d}"
        if digits not in self._positions:
            raise self._reader.no_synset(self._name, digits)
        self._next = self._positions[digits]

    def readline(self) -> str:
        """The next line; empty at the end."""
        if self._next == len(self._lines):
            return ""
        number, line = self._lines[self._next]
        self._next += 1
        self._reader.last_line = (self._name, number)
        return line

    def __iter__(self) -> Iterator[str]:
        return iter(self.readline, "")

    def __enter__(self) -> "_File":
        return self

    def __exit__(self, *_: object) -> None:
        pass


def _without_gloss(line: str) -> str:
    return line.partition(" | ")[0] + " |"


class _NoFolder(nltk.data.PathPointer):  # type: ignore[misc]
    """In place of the folder that NLTK asks for, and in which it opens nothing here."""

    def open(self, encoding: str | None = None) -> None:
        raise NotImplementedError

    join = file_size = open
