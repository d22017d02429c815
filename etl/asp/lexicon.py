"""The lexicon of scales, ``conf/lexicons/scales.yaml``: its content, its reader and its checks.

A scale has two poles, ``positive`` and ``negative``, each a list of steps from weak to strong; a
step is a list of adjectives of equal strength. The fields of a scale:

- ``family``: two scales of one family are related and never serve as two different dimensions;
- ``standards``: the standards of comparison of the two poles, ``relative`` by default. A minimum
  standard (*dirty*) is met from the first degree on, a maximum standard (*clean*) only at the end
  of the scale (Kennedy and McNally 2005);
- ``opposites``: contraries among the first steps; with ``complementary: true`` one of them must
  hold;
- ``graded: false``, or ``ungraded`` for single adjectives: no modifiers, no comparison;
- ``nouns``: classes or single nouns that the scale applies to; ``except`` and ``only`` restrict
  them for single adjectives.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from adnominal.conf import ROOT, UserError

PATH = ROOT / "conf" / "lexicons" / "scales.yaml"
STANDARDS = ("relative", "minimum", "maximum")
DIMENSIONS = ("length", "mass", "temperature", "price")
# What the file holds: a type, [members], (a list of so many), {str: values} or {field: value}.
_PAIR = (str, str)
_SCALE = {
    "family": str, "standards": _PAIR, "positive": [[str]], "negative": [[str]],
    "opposites": [_PAIR], "complementary": bool, "graded": bool, "ungraded": [str], "nouns": [str],
    "except": {str: [str]}, "only": {str: [str]},
}  # fmt: skip
_MEASURE = {
    "dimension": str, "unit": str, "adjectives": _PAIR, "related": [str],
    "nouns": {str: (int, int)},
}  # fmt: skip
_FILE = {
    "version": int, "nouns": {str: [str]}, "mass": [str], "plurals": {str: str},
    "forms": {str: _PAIR}, "boosters": [str], "diminishers": [str], "scales": {str: _SCALE},
    "measures": [_MEASURE],
    "sourced": {"ordering": [{"weak": str, "strong": str, "source": str}]},
    "attested": {
        "ordering": [_PAIR], "complements": [_PAIR], "contraries": [_PAIR], "forms": {str: str},
        **{standard: [str] for standard in STANDARDS},
    },
}  # fmt: skip
_OPTIONAL = {"sourced", "attested", "plurals", "forms", "mass"}
_TYPES = {str: "text", int: "a whole number", bool: "true or false"}


@dataclass(frozen=True)
class Adjective:
    """An adjective on one scale; `step` is its strength within the pole, 0 for the weakest."""

    word: str
    scale: str
    family: str
    pole: str
    step: int
    standard: str
    graded: bool
    nouns: tuple[str, ...]


@dataclass(frozen=True)
class Measure:
    """A physical dimension in one unit, with the range of plausible numbers of each noun.

    `related` are the families of scales that bear on the dimension.
    """

    dimension: str
    unit: str
    positive: str
    negative: str
    related: frozenset[str]
    nouns: Mapping[str, tuple[int, int]] = field(hash=False)


@dataclass(frozen=True)
class Lexicon:
    """The scales, and the meaning of further words, which are used only for labels.

    The meaning of such a word comes from a reference (the origin ``sourced``) or from the
    published rows themselves (``attested``).

    Attributes:
        opposites: (scale, adjective, opposite) of the scales.
        weaker: pairs (weak, strong).
        complementary: of a pair of opposites, in either order, whether one of them must hold.
        standards: the standard of comparison of each adjective.
        forms: comparative and superlative of adjectives that do not take *more* and *most*.
        comparative_bases: the adjective of each comparative; `superlative_bases` likewise.
        mass: the mass nouns.
        plurals: irregular plurals.
        noun_classes: the class of each noun.
        origins: of a pair (weak, strong), a pair of opposites or an adjective's standard that no
            scale decides, whether it is ``sourced`` or ``attested``.
    """

    version: int
    adjectives: tuple[Adjective, ...]
    opposites: tuple[tuple[str, str, str], ...]
    weaker: frozenset[tuple[str, str]]
    complementary: Mapping[tuple[str, str], bool]
    standards: Mapping[str, str]
    forms: Mapping[str, tuple[str, str]]
    comparative_bases: Mapping[str, str]
    superlative_bases: Mapping[str, str]
    mass: frozenset[str]
    plurals: Mapping[str, str]
    boosters: tuple[str, ...]
    diminishers: tuple[str, ...]
    measures: tuple[Measure, ...]
    noun_classes: Mapping[str, str]
    origins: Mapping[tuple[str, str] | str, str] = field(default_factory=dict)

    @property
    def words(self) -> frozenset[str]:
        """The adjectives of the scales."""
        return frozenset(a.word for a in self.adjectives)

    @property
    def nouns(self) -> frozenset[str]:
        """The nouns of all adjectives and measures."""
        nouns = {noun for a in self.adjectives for noun in a.nouns}
        return frozenset(nouns.union(*(m.nouns for m in self.measures)))

    def by_noun(self) -> dict[str, list[Adjective]]:
        """The adjectives of each noun, in the order of the file."""
        adjectives: dict[str, list[Adjective]] = {}
        for adjective in self.adjectives:
            for noun in adjective.nouns:
                adjectives.setdefault(noun, []).append(adjective)
        return adjectives

    def comparative_of(self, word: str) -> str:
        """The comparative: ``bigger``, ``more expensive``."""
        return self.forms[word][0] if word in self.forms else f"more {word}"

    def superlative_of(self, word: str) -> str:
        """The superlative: ``biggest``, ``most expensive``."""
        return self.forms[word][1] if word in self.forms else f"most {word}"

    def restrict_to_pairs(
        self, pairs: Collection[tuple[str, str]]
    ) -> tuple[Lexicon, list[tuple[str, str]], list[tuple[str, str]]]:
        """The lexicon with only the combinations in `pairs` (adjective, noun), and the others.

        A noun keeps a measure that both of its adjectives go with; the others are returned last, as
        (``long/short``, noun). An adjective that has none of its nouns in `pairs`, on any scale or
        measure, keeps them all: a corpus that lacks the adjective says nothing about its nouns.
        """
        known = frozenset(pairs)
        nouns_by_word: defaultdict[str, set[str]] = defaultdict(set)
        for adjective in self.adjectives:
            nouns_by_word[adjective.word].update(adjective.nouns)
        for measure in self.measures:
            for word in (measure.positive, measure.negative):
                nouns_by_word[word].update(measure.nouns)
        attested = {w for w, nouns in nouns_by_word.items() if any((w, n) in known for n in nouns)}

        def is_kept(word: str, noun: str) -> bool:
            return word not in attested or (word, noun) in known

        adjectives, measures = [], []
        dropped, dropped_from_measures = [], []
        for adjective in self.adjectives:
            nouns = tuple([n for n in adjective.nouns if is_kept(adjective.word, n)])
            dropped += [(adjective.word, n) for n in adjective.nouns if n not in set(nouns)]
            adjectives.append(replace(adjective, nouns=nouns))
        for measure in self.measures:
            words = (measure.positive, measure.negative)
            ranges = {n: r for n, r in measure.nouns.items() if all(is_kept(w, n) for w in words)}
            dropped_from_measures += [("/".join(words), n) for n in measure.nouns.keys() - ranges]
            measures.append(replace(measure, nouns=ranges))
        restricted = replace(self, adjectives=tuple(adjectives), measures=tuple(measures))
        return restricted, dropped, sorted(dropped_from_measures)


@cache
def load_lexicon(path: Path = PATH) -> Lexicon:
    """The lexicon of a file; read once per process.

    Raises:
        UserError: no such file, or a file that breaks the rules; its faults are listed.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"no lexicon at {path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise UserError(f"{path} is not YAML: {' '.join(str(error).split())}") from error
    return parse_lexicon(data, str(path))


def parse_lexicon(data: Any, source: str = "lexicon") -> Lexicon:
    """The lexicon in the parsed YAML `data`.

    Raises:
        UserError: unknown fields; unknown standards, nouns or opposites; a word twice on a scale;
            scales that contradict each other; bad ranges of numbers. The faults are listed.
    """
    reader = _Reader()
    result = reader.read(data)
    if reader.faults or result is None:
        listed = "; ".join(reader.faults[:10])
        more = f"; and {len(reader.faults) - 10} more" if len(reader.faults) > 10 else ""
        raise UserError(f"{source}: {listed}{more}")
    return result


class _Reader:
    """Reads a lexicon and collects its faults, so that one run reports them all."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.classes: dict[str, list[str]] = {}
        self.adjectives: list[Adjective] = []
        self.opposites: list[tuple[str, str, str]] = []
        self.weaker: set[tuple[str, str]] = set()
        self.complementary: dict[tuple[str, str], bool] = {}
        self.standards: dict[str, str] = {}
        self.comparative_bases: dict[str, str] = {}
        self.superlative_bases: dict[str, str] = {}
        self.origins: dict[tuple[str, str] | str, str] = {}

    def fault(self, where: str, actual: object, expected: str) -> None:
        self.faults.append(f"{where}: got {actual}, expected {expected}")

    def check(self, where: str, value: Any, shape: Any) -> None:
        """Check that a part of the file has the shape of `_FILE`; fields may be empty."""
        if isinstance(shape, dict):
            if not isinstance(value, dict):
                self.fault(where, type(value).__name__, "a mapping")
                return
            for name, member in value.items():
                part = name if where == "the file" else f"{where}, {name}"
                if str in shape and isinstance(name, str):
                    self.check(part, member, shape[str])
                elif name not in shape:
                    expected = "text" if str in shape else f"one of {', '.join(sorted(shape))}"
                    self.fault(where, f"the field {name!r}", expected)
                elif member is not None:
                    self.check(part, member, shape[name])
        elif isinstance(shape, (list, tuple)):
            size = f" of {len(shape)}" if isinstance(shape, tuple) else ""
            if not isinstance(value, list) or (size and len(value) != len(shape)):
                self.fault(where, repr(value), f"a list{size}")
                return
            shapes = shape if size else shape * len(value)
            for number, (member, shape_of_member) in enumerate(zip(value, shapes, strict=True), 1):
                self.check(f"{where}, {number}", member, shape_of_member)
        elif type(value) is not shape:
            self.fault(where, repr(value), _TYPES[shape])

    def read(self, file: Any) -> Lexicon | None:
        """The lexicon of a parsed file; None if its faults leave nothing to go on with.

        Faults are collected in `faults`, so that a user sees all of them at once.
        """
        self.check("the file", file, _FILE)
        if self.faults:
            return None
        missing = [name for name in sorted(_FILE.keys() - _OPTIONAL) if file.get(name) is None]
        if missing:
            self.fault("the file", f"no {', '.join(missing)}", "all of them")
            return None
        for name in ("boosters", "diminishers"):
            if not file[name]:
                self.fault(name, "an empty list", "one word or more")
        self.classes = {name: list(words) for name, words in file["nouns"].items()}
        for noun, count in Counter(n for words in self.classes.values() for n in words).items():
            if count > 1:
                self.fault("nouns", f"{noun} {count} times", "each noun once, in one class")
        for name, scale in file["scales"].items():
            self.scale(name, scale)
        self.weaker = {
            (weak.word, strong.word)
            for weak, strong in ordered_pairs(self.adjectives)
            if weak.word != strong.word
        }
        for adjective in self.adjectives:
            self.set(self.standards, adjective.word, adjective.standard, adjective.scale)
        measures = tuple(self.measures(file["measures"]))
        forms = {word: (pair[0], pair[1]) for word, pair in (file.get("forms") or {}).items()}
        self.check_forms(forms, measures)
        self.read_sourced_words(file.get("sourced") or {})
        self.read_attested_words(file.get("attested") or {})
        for weak, strong in sorted(self.weaker):
            if (strong, weak) in self.weaker and weak < strong:
                self.fault("scales", f"{weak} and {strong} each weaker", "one direction")
        return Lexicon(
            version=file["version"],
            adjectives=tuple(self.adjectives),
            opposites=tuple(self.opposites),
            weaker=frozenset(self.weaker),
            complementary=self.complementary,
            standards=self.standards,
            forms=forms,
            comparative_bases=self.comparative_bases,
            superlative_bases=self.superlative_bases,
            mass=frozenset(file.get("mass") or ()),
            plurals=dict(file.get("plurals") or {}),
            boosters=tuple(file["boosters"]),
            diminishers=tuple(file["diminishers"]),
            measures=measures,
            noun_classes={noun: name for name, nouns in self.classes.items() for noun in nouns},
            origins=self.origins,
        )

    def check_forms(
        self, forms: Mapping[str, tuple[str, str]], measures: Iterable[Measure]
    ) -> None:
        """Check the comparative forms, and note the adjective of each form."""
        words = {a.word for a in self.adjectives}
        words.update(*((measure.positive, measure.negative) for measure in measures))
        for word in sorted(forms.keys() - words):
            self.fault("forms", word, "an adjective of a scale or a measure")
        for word in {a.word for a in self.adjectives if a.graded}:
            comparative, superlative = forms.get(word, (f"more {word}", f"most {word}"))
            self.comparative_bases[comparative] = word
            self.superlative_bases[superlative] = word

    def read_sourced_words(self, fields: Mapping[str, Any]) -> None:
        """Read what a reference says about words that no scale has."""
        for number, entry in enumerate(fields.get("ordering") or (), 1):
            if len(entry) != 3 or not all(entry.values()):
                self.fault(f"sourced ordering {number}", entry, "weak, strong and source")
            else:
                self.order(entry["weak"], entry["strong"], "sourced")

    def read_attested_words(self, fields: Mapping[str, Any]) -> None:
        """Read what the published rows say about words that no scale has."""
        for weak, strong in fields.get("ordering") or ():
            self.order(weak, strong, "attested")
        for name, complementary in (("complements", True), ("contraries", False)):
            for word, opposite in fields.get(name) or ():
                if (word, opposite) not in self.complementary:
                    self.origins[word, opposite] = "attested"
                for pair in ((word, opposite), (opposite, word)):
                    self.set(self.complementary, pair, complementary, f"attested {name}")
        for standard in STANDARDS:
            for word in fields.get(standard) or ():
                if word not in self.standards:
                    self.origins[word] = "attested"
                self.set(self.standards, word, standard, f"attested {standard}")
                self.comparative_bases.setdefault(f"more {word}", word)
        for comparative, word in (fields.get("forms") or {}).items():
            self.comparative_bases.setdefault(comparative, word)
            irregular = {"better": "best", "worse": "worst"}
            superlative = irregular.get(comparative, f"{comparative[:-1]}st")
            self.superlative_bases.setdefault(superlative, word)

    def order(self, weak: str, strong: str, origin: str) -> None:
        if (weak, strong) not in self.weaker:
            self.origins[weak, strong] = origin
        self.weaker.add((weak, strong))

    def set(self, entries: dict[Any, Any], key: Any, value: Any, where: str) -> None:
        """Enter the value, unless another entry contradicts it."""
        if entries.setdefault(key, value) != value:
            self.fault(where, f"{key} as {value}", f"{entries[key]}, as another entry says")

    def nouns(self, names: Iterable[str], where: str) -> list[str]:
        """The nouns of class names and single nouns, each once."""
        known_nouns = {noun for nouns in self.classes.values() for noun in nouns}
        result: dict[str, None] = {}
        for name in names:
            if name in self.classes:
                result.update(dict.fromkeys(self.classes[name]))
            elif name in known_nouns:
                result[name] = None
            else:
                self.fault(where, f"the noun {name!r}", "a class or member of `nouns`")
        return list(result)

    def scale(self, name: str, fields: Mapping[str, Any]) -> None:
        """Read a scale: its adjectives and its opposites."""
        where = f"scale {name}"
        for required in ("family", "positive", "nouns"):
            if not fields.get(required):
                self.fault(where, f"no {required}", "one")
                return
        standards = fields.get("standards") or ["relative", "relative"]
        if not set(standards) <= set(STANDARDS):
            self.fault(where, f"standards {standards}", f"two of {', '.join(STANDARDS)}")
            return
        nouns = self.nouns(fields["nouns"], where)
        excepted_nouns = {w: self.nouns(n, where) for w, n in (fields.get("except") or {}).items()}
        only_nouns = {w: self.nouns(n, where) for w, n in (fields.get("only") or {}).items()}
        ungraded = set(fields.get("ungraded") or ())
        poles: dict[str, str] = {}
        first_step: set[str] = set()
        for pole, step, word in _words_of_scale(fields):
            if word in poles:
                self.fault(where, f"{word} twice", "each adjective once")
            poles[word] = pole
            if step == 0:
                first_step.add(word)
            nouns_of_word = [
                noun
                for noun in nouns
                if noun not in excepted_nouns.get(word, ()) and noun in only_nouns.get(word, nouns)
            ]
            if not nouns_of_word:
                self.fault(where, f"no noun for {word}", "at least one")
            self.adjectives.append(
                Adjective(
                    word=word,
                    scale=name,
                    family=fields["family"],
                    pole=pole,
                    step=step,
                    standard=standards[pole == "negative"],
                    graded=step == 0 and fields.get("graded") is not False and word not in ungraded,
                    nouns=tuple(nouns_of_word),
                )
            )
        for word in sorted((ungraded | excepted_nouns.keys() | only_nouns.keys()) - poles.keys()):
            self.fault(where, f"{word} in ungraded, except or only", "an adjective of the scale")
        complementary = bool(fields.get("complementary"))
        for word, opposite in fields.get("opposites") or ():
            pair_poles = {poles[w] for w in (word, opposite) if w in first_step}
            if pair_poles != {"positive", "negative"}:
                self.fault(where, f"opposites {word}, {opposite}", "one of each first step")
                continue
            self.opposites.append((name, word, opposite))
            for pair in ((word, opposite), (opposite, word)):
                self.set(self.complementary, pair, complementary, name)

    def measures(self, entries: Iterable[Mapping[str, Any]]) -> Iterator[Measure]:
        """The measures of the file; what is wrong with them is added to the faults."""
        for number, fields in enumerate(entries, 1):
            where = f"measure {number}"
            missing = [name for name in _MEASURE if fields.get(name) is None]
            if missing:
                self.fault(where, f"no {', '.join(missing)}", "all of them")
                continue
            if fields["dimension"] not in DIMENSIONS:
                self.fault(where, fields["dimension"], f"one of {', '.join(DIMENSIONS)}")
            self.nouns(fields["nouns"], where)
            for noun, span in fields["nouns"].items():
                if not 0 < span[0] < span[1]:
                    self.fault(where, f"{noun} {span}", "[least, greatest], both above 0")
            positive, negative = fields["adjectives"]
            yield Measure(
                fields["dimension"],
                fields["unit"],
                positive,
                negative,
                frozenset(fields["related"]),
                {noun: (span[0], span[1]) for noun, span in fields["nouns"].items()},
            )


def _words_of_scale(fields: Mapping[str, Any]) -> Iterator[tuple[str, int, str]]:
    """Pole, step and word of each adjective of a scale."""
    for pole in ("positive", "negative"):
        for step, words in enumerate(fields.get(pole) or ()):
            for word in words:
                yield pole, step, word


def ordered_pairs(adjectives: Sequence[Adjective]) -> Iterator[tuple[Adjective, Adjective]]:
    """The pairs (weaker, stronger) on one pole of one scale."""
    for weak in adjectives:
        for strong in adjectives:
            same_pole = (weak.scale, weak.pole) == (strong.scale, strong.pole)
            if same_pole and weak.step < strong.step:
                yield weak, strong


def plural(noun: str, irregular: Mapping[str, str]) -> str:
    """The plural by English spelling, unless `irregular` has another one."""
    if noun in irregular:
        return irregular[noun]
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"
