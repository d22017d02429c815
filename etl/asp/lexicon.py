"""The lexicon of scales, ``conf/lexicons/scales.yaml``: read, checked, and asked.

A scale has two poles, ``positive`` and ``negative``, each a list of steps from weak to strong, each
step a list of adjectives of equal strength. Its fields:

- ``family``: scales of one family bear upon each other and are never contrasted as two dimensions;
- ``standards``: of the two poles, ``relative`` by default. A minimum standard (*dirty*) holds from
  the first degree on, a maximum standard (*clean*) only at the end (Kennedy and McNally 2005);
- ``opposites``: contraries of the first steps; with ``complementary: true`` one of them must hold;
- ``graded: false``, or ``ungraded`` for single adjectives: no modifiers, comparison, superlative;
- ``nouns``: classes or single nouns that can carry the scale; ``except`` and ``only`` narrow this
  for single adjectives.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from conf import ROOT, UserError

__all__ = ["Adjective", "Lexicon", "Measure", "lexicon", "parse_lexicon", "plural"]

PATH = ROOT / "conf" / "lexicons" / "scales.yaml"
STANDARDS = ("relative", "minimum", "maximum")
DIMENSIONS = ("length", "mass", "temperature", "price")
_TOP = {
    "version",
    "nouns",
    "mass",
    "plurals",
    "forms",
    "boosters",
    "diminishers",
    "scales",
    "measures",
    "sourced",
    "attested",
}
_SCALE = {
    "family",
    "standards",
    "positive",
    "negative",
    "opposites",
    "complementary",
    "graded",
    "ungraded",
    "nouns",
    "except",
    "only",
}
_MEASURE = {"dimension", "unit", "adjectives", "related", "nouns"}
_SOURCED = {"ordering"}
_ATTESTED = {"ordering", "complements", "contraries", "minimum", "maximum", "relative", "forms"}


@dataclass(frozen=True)
class Adjective:
    """An adjective on one scale; `step` counts from 0, the weakest, within its pole."""

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
    """A physical dimension in one unit, with the range of numbers that each noun takes."""

    dimension: str
    unit: str
    positive: str
    negative: str
    related: frozenset[str]
    nouns: Mapping[str, tuple[int, int]] = field(hash=False)


@dataclass(frozen=True)
class Lexicon:
    """The scales, and what other words mean, for labels alone: by a reference (`sourced`), or by
    the published rows themselves (`attested`).

    `weaker` holds (weak, strong) pairs, `opposites` the pairs (adjective, opposite) of the scales
    by scale, `complementary` whether a pair of opposites leaves nothing between, `standards` the
    standard of each adjective, `comparative` the base of each comparative form, `kinds` the class
    of each noun. `origins` says of a pair (weak, strong), a pair of opposites or an adjective's
    standard that no scale decides whether it is sourced or attested.
    """

    version: int
    adjectives: tuple[Adjective, ...]
    opposites: tuple[tuple[str, str, str], ...]
    weaker: frozenset[tuple[str, str]]
    complementary: Mapping[tuple[str, str], bool]
    standards: Mapping[str, str]
    forms: Mapping[str, tuple[str, str]]
    comparative: Mapping[str, str]
    superlative: Mapping[str, str]
    mass: frozenset[str]
    plurals: Mapping[str, str]
    boosters: tuple[str, ...]
    diminishers: tuple[str, ...]
    measures: tuple[Measure, ...]
    kinds: Mapping[str, str]
    origins: Mapping[tuple[str, str] | str, str] = field(default_factory=dict)

    @property
    def words(self) -> frozenset[str]:
        """The adjectives of the scales."""
        return frozenset(a.word for a in self.adjectives)

    @property
    def nouns(self) -> frozenset[str]:
        """Every noun that some adjective or measure takes."""
        carried = {noun for a in self.adjectives for noun in a.nouns}
        return frozenset(carried.union(*(m.nouns for m in self.measures)))

    def by_noun(self) -> dict[str, list[Adjective]]:
        """The adjectives that each noun takes, in the order of the file."""
        found: dict[str, list[Adjective]] = {}
        for adjective in self.adjectives:
            for noun in adjective.nouns:
                found.setdefault(noun, []).append(adjective)
        return found

    def compared(self, word: str) -> str:
        """The comparative: ``bigger``, ``more expensive``."""
        return self.forms[word][0] if word in self.forms else f"more {word}"

    def topmost(self, word: str) -> str:
        """The superlative: ``biggest``, ``most expensive``."""
        return self.forms[word][1] if word in self.forms else f"most {word}"

    def backed(self, pairs: Collection[tuple[str, str]]) -> tuple[Lexicon, list[tuple[str, str]]]:
        """The lexicon with only such combinations as `pairs` (adjective, noun) has, and the rest.

        An adjective that stands with none of its nouns in `pairs` keeps them all: the corpus does
        not know it, and so says nothing of where it goes.
        """
        kept, dropped = [], []
        known = frozenset(pairs)
        for adjective in self.adjectives:
            nouns = tuple([n for n in adjective.nouns if (adjective.word, n) in known])
            if nouns:
                dropped += [(adjective.word, n) for n in adjective.nouns if n not in set(nouns)]
                adjective = replace(adjective, nouns=nouns)
            kept.append(adjective)
        return replace(self, adjectives=tuple(kept)), dropped


@cache
def lexicon(path: Path = PATH) -> Lexicon:
    """The lexicon of the file; read once.

    Raises:
        UserError: no such file, or one that breaks the rules; all faults are listed.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"no lexicon at {path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise UserError(f"{path} is no YAML: {' '.join(str(error).split())}") from error
    return parse_lexicon(data, str(path))


def parse_lexicon(data: Any, source: str = "lexicon") -> Lexicon:
    """The lexicon that the parsed YAML `data` states.

    Raises:
        UserError: unknown fields, unknown standards, nouns or opposites, a word twice on a scale,
            scales that contradict each other, ranges without numbers; all faults are listed.
    """
    reader = _Reader()
    result = reader.read(data)
    if reader.faults or result is None:
        listed = "; ".join(reader.faults[:10])
        more = f"; and {len(reader.faults) - 10} more" if len(reader.faults) > 10 else ""
        raise UserError(f"{source}: {listed}{more}")
    return result


class _Reader:
    """Collects faults, so that one run shows them all."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.classes: dict[str, list[str]] = {}

    def fault(self, where: str, got: object, expected: str) -> None:
        self.faults.append(f"{where}: got {got}, expected {expected}")

    def fields(self, where: str, given: Any, known: set[str]) -> dict[str, Any]:
        if not isinstance(given, dict):
            self.fault(where, type(given).__name__, "a mapping")
            return {}
        for name in given:
            if name not in known:
                self.fault(where, f"the field {name!r}", f"one of {', '.join(sorted(known))}")
        return given

    def read(self, data: Any) -> Lexicon | None:
        top = self.fields("the file", data, _TOP)
        missing = sorted(_TOP - {"sourced", "attested", "plurals", "forms", "mass"} - set(top))
        if missing:
            self.fault("the file", f"no {', '.join(missing)}", "all of them")
        if self.faults:
            return None
        self.classes = {name: list(words) for name, words in top["nouns"].items()}
        adjectives: list[Adjective] = []
        opposites: list[tuple[str, str, str]] = []
        complementary: dict[tuple[str, str], bool] = {}
        for name, scale in top["scales"].items():
            own = self.scale(name, self.fields(f"scale {name}", scale, _SCALE))
            adjectives += own
            pairs = self.opposites(name, scale, own)
            opposites += pairs
            for _, one, other in pairs:
                for pair in ((one, other), (other, one)):
                    self.set(complementary, pair, bool(scale.get("complementary")), name)
        weaker = {
            (weak.word, strong.word)
            for weak, strong in _ordered(adjectives)
            if weak.word != strong.word
        }
        standards: dict[str, str] = {}
        for adjective in adjectives:
            self.set(standards, adjective.word, adjective.standard, adjective.scale)
        forms = {word: (pair[0], pair[1]) for word, pair in (top.get("forms") or {}).items()}
        measures = tuple(self.measures(top["measures"]))
        words = {a.word for a in adjectives}.union(*((m.positive, m.negative) for m in measures))
        for word in sorted(forms.keys() - words):
            self.fault("forms", word, "an adjective of a scale or a measure")
        gradable = {a.word for a in adjectives if a.graded}
        comparative = {forms[w][0] if w in forms else f"more {w}": w for w in gradable}
        superlative = {forms[w][1] if w in forms else f"most {w}": w for w in gradable}
        origins: dict[tuple[str, str] | str, str] = {}
        sourced = self.fields("sourced", top.get("sourced") or {}, _SOURCED)
        for number, entry in enumerate(sourced.get("ordering", ()), 1):
            if set(entry) != {"weak", "strong", "source"} or not all(entry.values()):
                self.fault(f"sourced ordering {number}", entry, "weak, strong and source")
                continue
            pair = (entry["weak"], entry["strong"])
            if pair not in weaker:
                origins[pair] = "sourced"
            weaker.add(pair)
        attested = self.fields("attested", top.get("attested") or {}, _ATTESTED)
        for weak, strong in attested.get("ordering", ()):
            if (weak, strong) not in weaker:
                origins[weak, strong] = "attested"
            weaker.add((weak, strong))
        for listed, value in (("complements", True), ("contraries", False)):
            for one, other in attested.get(listed, ()):
                if (one, other) not in complementary:
                    origins[one, other] = "attested"
                self.set(complementary, (one, other), value, f"attested {listed}")
        for standard in STANDARDS:
            for word in attested.get(standard, ()):
                if word not in standards:
                    origins[word] = "attested"
                self.set(standards, word, standard, f"attested {standard}")
                comparative.setdefault(f"more {word}", word)
        for form, word in (attested.get("forms") or {}).items():
            comparative.setdefault(form, word)
            top_form = {"better": "best", "worse": "worst"}.get(form, f"{form[:-1]}st")
            superlative.setdefault(top_form, word)
        for weak, strong in sorted(weaker):
            if (strong, weak) in weaker and weak < strong:
                self.fault("scales", f"{weak} and {strong} each weaker", "one direction")
        return Lexicon(
            version=top["version"],
            adjectives=tuple(adjectives),
            opposites=tuple(opposites),
            weaker=frozenset(weaker),
            complementary=complementary,
            standards=standards,
            forms=forms,
            comparative=comparative,
            superlative=superlative,
            mass=frozenset(top.get("mass") or ()),
            plurals=dict(top.get("plurals") or {}),
            boosters=tuple(top["boosters"]),
            diminishers=tuple(top["diminishers"]),
            measures=measures,
            kinds={noun: kind for kind, nouns in self.classes.items() for noun in nouns},
            origins=origins,
        )

    def set(self, known: dict[Any, Any], key: Any, value: Any, where: str) -> None:
        if known.setdefault(key, value) != value:
            self.fault(where, f"{key} as {value}", f"{known[key]}, as another entry says")

    def words(self, names: Iterable[str], where: str) -> list[str]:
        """Nouns for class names and single nouns, each once."""
        known = {noun for words in self.classes.values() for noun in words}
        found: dict[str, None] = {}
        for name in names:
            if name in self.classes:
                found.update(dict.fromkeys(self.classes[name]))
            elif name in known:
                found[name] = None
            else:
                self.fault(where, f"the noun {name!r}", "a class or member of `nouns`")
        return list(found)

    def scale(self, name: str, scale: Mapping[str, Any]) -> list[Adjective]:
        where = f"scale {name}"
        for needed in ("family", "positive", "nouns"):
            if needed not in scale:
                self.fault(where, f"no {needed}", "one")
                return []
        standards = scale.get("standards", ["relative", "relative"])
        if len(standards) != 2 or not set(standards) <= set(STANDARDS):
            self.fault(where, f"standards {standards}", f"two of {', '.join(STANDARDS)}")
            return []
        nouns = self.words(scale["nouns"], where)
        excepted = {w: self.words(n, where) for w, n in (scale.get("except") or {}).items()}
        only = {w: self.words(n, where) for w, n in (scale.get("only") or {}).items()}
        ungraded = set(scale.get("ungraded") or ())
        found: list[Adjective] = []
        for pole, standard in zip(("positive", "negative"), standards, strict=True):
            for step, words in enumerate(scale.get(pole) or ()):
                for word in words:
                    if any(a.word == word for a in found):
                        self.fault(where, f"{word} twice", "each adjective once")
                    chosen = [
                        noun
                        for noun in nouns
                        if noun not in excepted.get(word, ()) and noun in only.get(word, nouns)
                    ]
                    if not chosen:
                        self.fault(where, f"no noun for {word}", "at least one")
                    graded = step == 0 and scale.get("graded", True) and word not in ungraded
                    found.append(
                        Adjective(
                            word, name, scale["family"], pole, step, standard, graded, tuple(chosen)
                        )
                    )
        own = {a.word for a in found}
        for word in sorted((ungraded | excepted.keys() | only.keys()) - own):
            self.fault(where, f"{word} in ungraded, except or only", "an adjective of the scale")
        return found

    def opposites(
        self, name: str, scale: Mapping[str, Any], own: Sequence[Adjective]
    ) -> list[tuple[str, str, str]]:
        first = {a.word: a.pole for a in own if a.step == 0}
        pairs = []
        for one, other in scale.get("opposites") or ():
            if {first.get(one), first.get(other)} != {"positive", "negative"}:
                self.fault(f"scale {name}", f"opposites {one}, {other}", "one of each first step")
            else:
                pairs.append((name, one, other))
        return pairs

    def measures(self, given: Iterable[Any]) -> Iterator[Measure]:
        for number, entry in enumerate(given, 1):
            where = f"measure {number}"
            fields = self.fields(where, entry, _MEASURE)
            if set(fields) != _MEASURE:
                self.fault(where, sorted(fields), f"the fields {', '.join(sorted(_MEASURE))}")
                continue
            if fields["dimension"] not in DIMENSIONS:
                self.fault(where, fields["dimension"], f"one of {', '.join(DIMENSIONS)}")
            self.words(fields["nouns"], where)
            for noun, span in fields["nouns"].items():
                if not (len(span) == 2 and 0 < span[0] < span[1]):
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


def _ordered(adjectives: Sequence[Adjective]) -> Iterator[tuple[Adjective, Adjective]]:
    """Pairs (weaker, stronger) of one pole of one scale."""
    for weak in adjectives:
        for strong in adjectives:
            same = (weak.scale, weak.pole) == (strong.scale, strong.pole)
            if same and weak.step < strong.step:
                yield weak, strong


def plural(noun: str, irregular: Mapping[str, str]) -> str:
    """The plural by English spelling; `irregular` goes before the rules."""
    if noun in irregular:
        return irregular[noun]
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"
