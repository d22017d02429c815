"""The word lists of ``conf/lexicons``: reading, checking and look-up.

A list is a file of tab-separated lines: comments that begin with ``#`` and state version and
source, a line with the names of the two columns, then one word per line. Each word occurs once; its
second column is one of the kinds listed here. A list of adjective classes may have a third column,
tags. Faults are reported together, with file and line.
"""

import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import yaml

from adnominal.conf import ROOT, UserError
from adnominal.conf.texts import decoding_fault
from adnominal.etl.corpora.normalisation import drop_invisible
from adnominal.etl.lake.tables import table

FOLDER = ROOT / "conf" / "lexicons"
# Intersective, subsective, intensional: PLANE, section 3 (its files write N for S).
CLASSES = ("I", "S", "O")
# The tags of Lalisse and Asudeh 2015, from whose list PLANE's adjectives come. A context-dependent
# adjective has another class with other nouns: a deep lake (I), a deep thinker (S).
TAGS = ("weakly-polysemous", "strongly-polysemous", "context-dependent")
_TAG_COLUMN = "tags"
# The two kinds of Nayak et al., and the kind that ADEPT adds.
SUBCLASSES = ("privative", "plain", "extra")
GROUPS = ("gender", "age", "origin", "faith", "health")
OFFENCES = ("profane", "sexual", "slur", "vile")
FORMS = ("verb", "participle", "adjective", "noun", "any")
_MAX_REPORTED_FAULTS = 10  # per error message


@dataclass(frozen=True)
class WordList:
    """A list of words.

    Attributes:
        name: its name.
        version: its version.
        words: the kind of each word, in file order.
        tags: the tags of each word that has any.
    """

    name: str
    version: str
    words: Mapping[str, str]
    tags: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """Name and version, as in table adjective_classes."""
        return f"{self.name} {self.version}".rstrip()


@dataclass(frozen=True)
class Template:
    """A sentence for edges of a relation, in the style of ConceptNet's surface texts.

    Attributes:
        text: the sentence with ``[[{start}]]`` and ``[[{end}]]``.
        end: the form of the words at the end: verb, participle, adjective, noun or any.
    """

    text: str
    end: str

    def fill(self, start: str, end: str) -> str:
        """The surface text with the words of both nodes."""
        return self.text.format(start=start, end=end)


# ---------------------------------------------------------------------------------------- lists


def read_words(
    path: Path, columns: tuple[str, str], kinds: Sequence[str], tagged: bool = False
) -> WordList:
    """The list in a file whose second column contains one of `kinds`.

    A `tagged` list may have a third column with tags of `TAGS`, separated by commas.

    Raises:
        UserError: no such file, not text, other columns, another kind or tag, a word that is empty
            or not lower-cased, a repeated word; with file and line, for at most ten faults.
    """
    version, lines = _read_lines(path)
    has_tags = False
    if lines:
        where, header = lines.pop(0)
        has_tags = tagged and header == (*columns, _TAG_COLUMN)
        if header != columns and not has_tags:
            raise UserError(
                f"{where}: got the columns {', '.join(header)}; expected "
                f"{' and '.join(columns)}, separated by a tab"
            )
    expected = (*columns, _TAG_COLUMN) if has_tags else columns

    words: dict[str, str] = {}
    tags: dict[str, frozenset[str]] = {}
    places: dict[str, str] = {}
    faults: list[str] = []
    for where, fields in lines:
        if len(fields) != len(expected):
            faults.append(f"{where}: got {len(fields)} fields, expected {' and '.join(expected)}")
            continue
        word, kind = fields[:2]
        word_tags = _split_tags(fields[2]) if has_tags else frozenset()
        unknown_tags = sorted(word_tags - set(TAGS))
        if not word or word != word.lower():
            faults.append(f"{where}: got {word!r}, expected a lower-case word")
        elif kind not in kinds:
            faults.append(f"{where}: got {kind!r} for {word}, expected one of {', '.join(kinds)}")
        elif unknown_tags:
            got = ", ".join(unknown_tags)
            faults.append(f"{where}: got the tag {got}, expected tags of {', '.join(TAGS)}")
        elif word in words:
            other = f"as {words[word]} too" if words[word] != kind else "as well"
            line = places[word].rpartition(":")[2]
            faults.append(f"{where}: {word} is in line {line} {other}; keep one of them")
        else:
            words[word] = kind
            places[word] = where
            if word_tags:
                tags[word] = word_tags
    if not words and not faults:
        faults.append(f"{path}: no words; expected lines of {' and '.join(columns)}")
    if faults:
        surplus = len(faults) - _MAX_REPORTED_FAULTS
        more = f"; and {surplus} more" if surplus > 0 else ""
        raise UserError("; ".join(faults[:_MAX_REPORTED_FAULTS]) + more)
    return WordList(path.stem, version, MappingProxyType(words), MappingProxyType(tags))


def _read_lines(path: Path) -> tuple[str, list[tuple[str, tuple[str, ...]]]]:
    """The version that a file states, and place and fields of its lines that are no comments."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UserError(f"no word list at {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: {decoding_fault(path)}") from error
    version = ""
    lines = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("#"):
            name, _, value = line[1:].partition(":")
            version = value.strip() if name.strip() == "version" else version
        elif line.strip():
            fields = tuple(drop_invisible(cell).strip() for cell in line.split("\t"))
            lines.append((f"{path}:{number}", fields))
    return version, lines


def _split_tags(text: str) -> frozenset[str]:
    tags = (tag.strip() for tag in text.split(","))
    return frozenset(tag for tag in tags if tag)


@cache
def _project_list(name: str, column: str, kind_column: str, kinds: tuple[str, ...]) -> WordList:
    return read_words(FOLDER / f"{name}.tsv", (column, kind_column), kinds)


def nonsubsective_adjectives() -> Mapping[str, str]:
    """Non-subsective adjectives: the sixty of Nayak et al. 2014, privative or plain, and *dead*.

    *dead* is extra: it is not one of the sixty, but without it ADEPT's share of non-subsective
    items (section 3, 1:4) is not reached. Prefixes keep their hyphen (*anti-*, *ex-*, *pseudo-*).
    """
    return _project_list("nonsubsective", "adjective", "kind", SUBCLASSES).words


def is_nonsubsective(adjective: str) -> bool:
    """Whether an adjective is on the list, or begins with a prefix of it: *anti-war*, *ex-*."""
    words = nonsubsective_adjectives()
    prefix, hyphen, rest = adjective.partition("-")
    return adjective in words or (bool(rest) and f"{prefix}{hyphen}" in words)


def nonsubsective_among(adjectives: Iterable[str]) -> frozenset[str]:
    """The adjectives, lower-cased, that are non-subsective, as a build of ADEPT decides it."""
    return frozenset(filter(is_nonsubsective, {adjective.lower() for adjective in adjectives}))


def class_list(path: str | Path | None = None) -> WordList:
    """The adjective classes with name and version: those of this project or of a user's file.

    A user's file replaces the file of this project and has the same layout; it may also have the
    column tags.

    Raises:
        UserError: as `read_words`, also for an adjective with two classes.
    """
    if path is None:
        return _project_list("adjective_classes", "adjective", "class", CLASSES)
    return read_words(Path(path), ("adjective", "class"), CLASSES, tagged=True)


def adjective_classes(path: str | Path | None = None) -> Mapping[str, str]:
    """Class of each adjective: I intersective, S subsective, O intensional (`class_list`)."""
    return class_list(path).words


def class_rows(words: WordList) -> pa.Table:
    """Rows of table ``adjective_classes``, sorted."""
    rows = [
        {"adjective": word, "class": kind, "source": words.source}
        for word, kind in sorted(words.words.items())
    ]
    return pa.Table.from_pylist(rows, table("adjective_classes").schema)


def offensive_words(path: str | Path | None = None) -> frozenset[str]:
    """Words that no item may contain: profane, sexual, slurs, vile.

    Those of a user's file, in the same layout, are added to those of this project.

    Raises:
        UserError: as `read_words`.
    """
    words = frozenset(_project_list("offensive", "word", "kind", OFFENCES).words)
    if path is None:
        return words
    return words | frozenset(read_words(Path(path), ("word", "kind"), OFFENCES).words)


def identity() -> Mapping[str, str]:
    """Adjectives of identity by group: gender, age, origin, faith, health.

    ADEPT's ethics section names the harm that such adjectives can cause in its items.
    """
    return _project_list("identity", "adjective", "group", GROUPS).words


# ------------------------------------------------------------------------------------ templates


@cache
def relation_templates() -> Mapping[str, tuple[Template, ...]]:
    """Templates of each relation, the preferred one first; relations without one have no entry."""
    path = FOLDER / "relations.yaml"
    return parse_templates(yaml.safe_load(path.read_text(encoding="utf-8")), str(path))


def parse_templates(data: Any, source: str) -> Mapping[str, tuple[Template, ...]]:
    """The templates in parsed YAML.

    Raises:
        UserError: another layout, an unknown form, a template without one of its arguments.
    """
    if not isinstance(data, dict) or not isinstance(data.get("relations"), dict):
        raise UserError(f"{source}: expected a mapping with version and relations")
    templates: dict[str, tuple[Template, ...]] = {}
    faults: list[str] = []
    for relation, entries in data["relations"].items():
        of_relation = []
        for entry in entries if isinstance(entries, list) else [entries]:
            if not isinstance(entry, dict) or set(entry) != {"end", "text"}:
                faults.append(f"{relation}: got {entry!r}, expected end and text")
                continue
            fields = [name for _, name, _, _ in string.Formatter().parse(entry["text"]) if name]
            if sorted(fields) != ["end", "start"] or entry["text"].count("[[{") != 2:
                faults.append(
                    f"{relation}: {entry['text']!r}: expected [[{{start}}]] and [[{{end}}]] once"
                )
            if entry["end"] not in FORMS:
                faults.append(
                    f"{relation}: end {entry['end']!r}: expected one of {', '.join(FORMS)}"
                )
            of_relation.append(Template(entry["text"], entry["end"]))
        templates[relation] = tuple(of_relation)
    if faults:
        raise UserError(f"{source}: {'; '.join(faults[:_MAX_REPORTED_FAULTS])}")
    return MappingProxyType(templates)
