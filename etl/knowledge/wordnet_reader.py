"""NLTK's WordNet reader over files that it would not open by itself.

NLTK opens files only below its own data path, follows no links there, and expects two files that
Debian's package lacks. Here it opens none: it parses the lines that `WordNet.lines` reads from any
folder or archive.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from warnings import catch_warnings, simplefilter

from adnominal.conf import UserError
from adnominal.etl.knowledge.wordnet import POS, Pos, WordNet
from adnominal.etl.optional_imports import hide_modules

# NLTK imports both if they are installed, which takes seconds, for parts that are not used here.
with hide_modules("scipy", "sklearn"):
    import nltk.data
    from nltk.corpus.reader.wordnet import Synset, WordNetCorpusReader

# The names of the lexicographers' files, which only NLTK asks for; Debian has no file of them.
_LEXNAMES = [f"{number:02d} unnamed 0" for number in range(45)]


def data_path() -> list[Path]:
    """NLTK's data path: ``NLTK_DATA``, ``nltk_data`` in the home folder and elsewhere."""
    return [Path(str(folder)) for folder in nltk.data.path]


@dataclass(frozen=True)
class Nouns:
    """WordNet's nouns. Words are in lower case, synsets have NLTK's names (``dog.n.01``).

    Attributes:
        synsets: the synsets of each noun, most frequent first; the nouns are sorted.
        lemmas: the lemmas of each synset, each once.
        hypernyms: the direct hypernyms of each synset, of kinds and of instances, sorted.
    """

    synsets: dict[str, list[str]] = field(default_factory=dict)
    lemmas: dict[str, list[str]] = field(default_factory=dict)
    hypernyms: dict[str, list[str]] = field(default_factory=dict)


class Reader(WordNetCorpusReader):  # type: ignore[misc]
    """NLTK's reader for the files of `wordnet`.

    Raises:
        UserError: a file cannot be read or is damaged.
    """

    def __init__(self, wordnet: WordNet) -> None:
        self._wordnet = wordnet
        self.last_line = ("", "")
        with self._report_damage():
            super().__init__(_NoFolder(), omw_reader=None)

    def nouns(self) -> Nouns:
        """The nouns with their synsets and the hypernyms of these.

        Raises:
            UserError: a line is damaged, or an offset has no synset.
        """
        nouns = Nouns()
        with self._report_damage():
            for noun in sorted(self.all_lemma_names("n")):
                synsets = self._synsets(noun)
                nouns.synsets[noun] = [synset.name() for synset in synsets]
                for synset in synsets:
                    if synset.name() not in nouns.lemmas:
                        nouns.lemmas[synset.name()] = _lemmas(synset)
                        nouns.hypernyms[synset.name()] = _hypernyms(synset)
        return nouns

    def _synsets(self, noun: str) -> list[Synset]:
        """The synsets of a noun; NLTK's `synsets` has those of its base forms as well."""
        offsets = self._lemma_pos_offset_map[noun]["n"]
        return [self.synset_from_pos_and_offset("n", offset) for offset in offsets]

    def exceptions(self, pos: Pos) -> dict[str, list[str]]:
        """The irregular forms of a part of speech, each with its lemmas, best first.

        Raises:
            UserError: a form without a lemma.
        """
        lemmas_of_form: dict[str, list[str]] = self._exception_map[pos]
        for form, lemmas in lemmas_of_form.items():
            if not lemmas:
                raise self._fault(f"{POS[pos]}.exc", form, f"the form {form!r} without a lemma")
        return lemmas_of_form

    def open(self, file: str) -> "_Lines":
        """A file's lines; NLTK opens every file by this method."""
        return _Lines(self, file, _LEXNAMES if file == "lexnames" else self._wordnet.lines(file))

    def map_wn(self, version: str = "wordnet") -> None:
        """No map from another version: only other languages need it, and it needs index.sense."""

    @contextmanager
    def _report_damage(self) -> Iterator[None]:
        """Whatever NLTK raises becomes an error that names the line it read last."""
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
            raise self._fault(file, line, f"not {kind} in WordNet's format") from error

    def _fault(self, file: str, start: str, problem: str) -> UserError:
        """The error for the last line of a file that begins with `start`, perhaps after a tab."""
        lines = self._wordnet.lines(file)
        number = max(
            number
            for number, line in enumerate(lines, 1)
            if line.startswith(start) or line.split()[:1] == [start]
        )
        return UserError(
            f"{self._wordnet.place}: {file}:{number}: {problem}; the file is damaged or not of one "
            "release with the others"
        )

    def no_synset(self, data_file: str, offset: str) -> UserError:
        """The error for an offset without a synset: it names the line that has the offset."""
        problem = f"{data_file} has no synset at {offset}"
        for file in (data_file.replace("data", "index"), "data.noun"):
            for line in self._wordnet.lines(file):
                if offset in line.split():
                    return self._fault(file, line, problem)
        raise LookupError(problem)


def _lemmas(synset: Synset) -> list[str]:
    return list(dict.fromkeys(lemma.lower() for lemma in synset.lemma_names()))


def _hypernyms(synset: Synset) -> list[str]:
    hypernyms = synset.hypernyms() + synset.instance_hypernyms()
    # NLTK has them in a set.
    return sorted(hypernym.name() for hypernym in hypernyms)


class _Lines(io.StringIO):
    """The lines of a file, of which a synset's is found by the offset that it begins with.

    Licences, blank lines and glosses are left out: no table has glosses, and NLTK fails if one
    contains its separator.
    """

    def __init__(self, reader: Reader, file: str, lines: list[str]) -> None:
        entries = [line for line in lines if line and not line.startswith(" ")]
        if file.startswith("data."):
            entries = [_without_gloss(line) for line in entries]
        super().__init__("".join(f"{entry}\n" for entry in entries))
        self._reader = reader
        self._file = file
        self._positions: dict[str, int] = {}
        position = 0
        for entry in entries:
            self._positions[entry[:8]] = position
            position += len(entry) + 1

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to the synset at `offset`, or to the first line at 0."""
        digits = f"{offset:08d}"
        if offset and digits not in self._positions:
            raise self._reader.no_synset(self._file, digits)
        return super().seek(self._positions[digits] if offset else 0, whence)

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
        """The next line, of which the reader takes note."""
        line = super().readline(size)
        self._reader.last_line = (self._file, line.removesuffix("\n"))
        return line


def _without_gloss(line: str) -> str:
    synset, separator, _ = line.partition("|")
    return synset + separator


class _NoFolder(nltk.data.PathPointer):  # type: ignore[misc]
    """In place of the folder that NLTK asks for, and in which it opens nothing here."""

    def open(self, encoding: str | None = None) -> None:
        raise NotImplementedError

    join = file_size = open
