"""The grammar of ``conf/sygns/grammar.yaml``: sentence patterns, parsing, composition of meanings.

A pattern is a sequence of function words and word categories, ``detSing nounSing did not ivInf``.
The patterns of each symbol are numbered, and `Grammar.pattern` gives the derivation with a number,
so that a million sentences at depth 4 need no list of patterns.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import product
from typing import Any, Literal, TypeAlias

import numpy as np
import yaml

from adnominal.etl.sygns import fol, vf
from adnominal.etl.sygns.terms import FreshVariables, compile_fol, compile_vf

Edition: TypeAlias = Literal["clean", "paper"]
Arguments: TypeAlias = Literal["right", "swapped"]
_ARGUMENTS_OF: dict[Edition, Arguments] = {"clean": "right", "paper": "swapped"}
# A resource, not a path: executors of a cluster may import the packages from an archive.
GRAMMAR_FILE = files("adnominal.conf") / "sygns" / "grammar.yaml"
TAGS = (
    "sbj_quant",
    "obj_quant",
    "negation",
    "adjective",
    "peripheral",
    "center",
    "adverb",
    "conjunction",
    "disjunction",
)

_SYMBOL = re.compile(r"([A-Za-z]+)(?:\[([^\]]*)\])?")
# A signature packs the number of words that a pattern has of each category into a 64-bit integer.
_BITS_PER_COUNT = 4


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a category: its surface form, base form and meanings."""

    surface: str
    base: str
    fol: Any
    vf: Any
    tags: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """One instance of a rule; `names` are the right-hand symbols in its lambda terms."""

    left: str
    right: tuple[str, ...]
    names: tuple[str, ...]
    fol: Any
    vf: Any
    tags: frozenset[str]


@dataclass(frozen=True, slots=True)
class Node:
    """A derivation: of a pattern (its leaves are category names) or of a sentence (words)."""

    rule: Rule
    children: tuple[Tree, ...]


Tree: TypeAlias = Node | Word | str


@dataclass(frozen=True, slots=True)
class Meanings:
    """The composed meanings: formula (variables numbered by appearance), term, phenomena."""

    fol: fol.Formula
    vf: vf.Term
    tags: tuple[str, ...]


def _instance(symbol: str, values: Mapping[str, str | int]) -> str:
    """`symbol` with the values of its features: S[2], nounSing."""
    match = _SYMBOL.fullmatch(symbol)
    if match is None:
        raise ValueError(f"{symbol!r}: expected a symbol like NP[d] or noun[n]")
    base, features = match.groups()
    if features is None:
        return base
    instances: list[str] = []
    for feature in features.split(","):
        variable, plus, step = feature.strip().partition("+")
        value = values.get(variable, variable)
        instances.append(str(int(value) + int(step)) if plus else str(value))
    if base[0].islower():
        return base + "".join(instances)
    return f"{base}[{','.join(instances)}]"


def _feature_names(rule: str) -> set[str]:
    lists = re.findall(r"\[([^\]]*)\]", rule)
    return {part.strip().split("+")[0] for features in lists for part in features.split(",")}


class Grammar:
    """One edition's rules and words, up to `max_depth` embedded clauses.

    `adjectives` and `adverbs` limit these categories to their first words: the published data have
    5 and 5, the paper states 10 and 10. `arguments` are those of a subject relative in the
    formulas: "dogs that chased cats" has the dogs chase the cats, or with ``swapped`` (the
    published sample) the cats the dogs; by default as the edition has them.
    """

    def __init__(
        self,
        edition: Edition = "clean",
        adjectives: int = 10,
        adverbs: int = 10,
        max_depth: int = 4,
        arguments: Arguments | None = None,
        file: Traversable = GRAMMAR_FILE,
    ) -> None:
        arguments = arguments or _ARGUMENTS_OF[edition]
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
        self.edition = edition
        self.max_depth = max_depth
        self.kept_shares = [Fraction(share) for share in data["sampling"]["keep"]]
        self._features: dict[str, list[str | int]] = dict(data["features"])
        self._features["d"] = list(range(max_depth + 1))
        self._function_words = frozenset(data["function_words"])
        limits = {"adjectives": adjectives, "adverbs": adverbs}
        self.lexicon: dict[str, dict[str, Word]] = {}
        self.repeating: set[str] = set()  # categories whose words may repeat
        for symbol, entry in data["lexicon"].items():
            for values in self._feature_values(symbol):
                category = _instance(symbol, values)
                self.lexicon[category] = _words(entry, data["vocabulary"], values, limits)
                if symbol.partition("[")[0] in data["sampling"]["repeat"][edition]:
                    self.repeating.add(category)
        self.rules: dict[str, list[Rule]] = {}
        for entry in data["rules"]:
            in_edition = entry.get("only", edition) == edition
            if in_edition and entry.get("arguments", arguments) == arguments:
                for rule in self._instances(entry):
                    self.rules.setdefault(rule.left, []).append(rule)
        self._by_surface: dict[str, dict[str, Word]] = {}
        for category, words in self.lexicon.items():
            for surface, word in words.items():
                self._by_surface.setdefault(surface, {})[category] = word

    def _feature_values(self, text: str) -> Iterator[dict[str, str | int]]:
        """Each assignment of values to the feature variables of a rule or symbol."""
        names = sorted(_feature_names(text) & self._features.keys())
        for values in product(*(self._features[name] for name in names)):
            yield dict(zip(names, values, strict=True))

    def _instances(self, entry: Mapping[str, Any]) -> Iterator[Rule]:
        """The rules that an entry of the grammar stands for, one for each value of its features.

        A symbol that occurs again on the right side is numbered (``N``, ``N2``), for the terms of
        the entry to name it. ``d`` is the depth of embedding; a rule from depth d to ``d+1`` ends
        at `max_depth`.
        """
        left, arrow, right = entry["rule"].partition("->")
        if not arrow:
            raise ValueError(f"{entry['rule']!r}: expected LEFT -> RIGHT")
        symbols = right.split()
        names: list[str] = []
        occurrences: Counter[str] = Counter()
        for symbol in symbols:
            base = symbol.partition("[")[0]
            occurrences[base] += 1
            names.append(base if occurrences[base] == 1 else f"{base}{occurrences[base]}")
        meanings = {
            name: compiler(entry[name], names) if name in entry else None
            for name, compiler in (("fol", compile_fol), ("vf", compile_vf))
        }
        for values in self._feature_values(entry["rule"]):
            # A deeper clause than the grammar has.
            if "d+1" in left and int(values["d"]) + 1 > self.max_depth:
                continue
            yield Rule(
                _instance(left.strip(), values),
                tuple([_instance(symbol, values) for symbol in symbols]),
                tuple(names),
                meanings["fol"],
                meanings["vf"],
                frozenset(entry.get("tags", ())),
            )

    # Patterns

    @cached_property
    def _shifts(self) -> dict[str, int]:
        """The position of each category's number of words in a signature."""
        return {category: _BITS_PER_COUNT * i for i, category in enumerate(self.lexicon)}

    @cache  # noqa: B019  (a grammar lives as long as its process)
    def _signatures(self, symbol: str) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The signature of each pattern of `symbol`."""
        if symbol in self._shifts:
            return np.array([1 << self._shifts[symbol]], dtype=np.int64)
        if symbol in self._function_words:
            return np.zeros(1, dtype=np.int64)
        by_rule = []
        for rule in self.rules.get(symbol, ()):
            signatures = np.zeros(1, dtype=np.int64)
            for child in rule.right:
                signatures = (signatures[:, None] + self._signatures(child)[None, :]).ravel()
            by_rule.append(signatures)
        return np.concatenate(by_rule) if by_rule else np.zeros(0, dtype=np.int64)

    def pattern_count(self, depth: int) -> int:
        """The number of sentence patterns at `depth`."""
        self._check_depth(depth)
        return len(self._signatures(f"S[{depth}]"))

    def word_counts(self, depth: int) -> tuple[np.ndarray[Any, Any], dict[int, dict[str, int]]]:
        """Each pattern's signature, and for each signature its number of words by category."""
        self._check_depth(depth)
        signatures = self._signatures(f"S[{depth}]")
        mask = (1 << _BITS_PER_COUNT) - 1
        unpacked = {}
        for signature in np.unique(signatures).tolist():
            counts = {c: (signature >> shift) & mask for c, shift in self._shifts.items()}
            unpacked[signature] = {category: n for category, n in counts.items() if n}
        return signatures, unpacked

    def pattern(self, depth: int, number: int) -> Node:
        """The derivation of a pattern; `number` is from 0 to ``pattern_count(depth) - 1``."""
        total = self.pattern_count(depth)
        if not 0 <= number < total:
            raise IndexError(f"pattern {number} of depth {depth}; expected 0 to {total - 1}")
        node = self._unrank(f"S[{depth}]", number)
        assert isinstance(node, Node)
        return node

    @cache  # noqa: B019
    def _sizes(self, symbol: str) -> list[tuple[Rule, int, list[int]]]:
        """Each rule of `symbol`, its number of patterns, and that of each of its children."""
        sizes = []
        for rule in self.rules[symbol]:
            child_sizes = [len(self._signatures(child)) for child in rule.right]
            sizes.append((rule, math.prod(child_sizes), child_sizes))
        return sizes

    def _unrank(self, symbol: str, number: int) -> Tree:
        """The derivation with this number among those of `symbol`.

        Numbers run through the rules in order. Within a rule they count as digits do: each child is
        a digit, with as many values as it has derivations, and the last child runs fastest.
        """
        if symbol not in self.rules:
            return symbol
        for rule, size, child_sizes in self._sizes(symbol):
            if number < size:
                children: list[Tree] = []
                for child, child_size in zip(rule.right[::-1], child_sizes[::-1], strict=True):
                    number, child_number = divmod(number, child_size)
                    children.append(self._unrank(child, child_number))
                return Node(rule, tuple(reversed(children)))
            number -= size
        raise IndexError(number)

    def templates(self, depth: int) -> Iterator[str]:
        """The patterns as text, such as ``pn did not tvInf pn``, in order of their numbers."""
        for number in range(self.pattern_count(depth)):
            yield " ".join(str(leaf) for leaf in leaves(self.pattern(depth, number)))

    def _check_depth(self, depth: int) -> None:
        if not 0 <= depth <= self.max_depth:
            raise ValueError(f"depth {depth}: this grammar has depths from 0 to {self.max_depth}")

    # Parsing

    def parse(self, sentence: str) -> tuple[int, Node]:
        """Return the smallest depth at which the grammar has `sentence`, and its derivation.

        Raises:
            ParseError: the grammar does not have the sentence; the message names the first word
                that no rule accepts.
            ValueError: the sentence has several derivations.
        """
        words = sentence.split()
        furthest = 0

        @cache
        def parses(symbol: str, start: int) -> tuple[tuple[int, Tree], ...]:
            """The end and the tree of each derivation of `symbol` from word `start` on."""
            nonlocal furthest
            if symbol not in self.rules:
                if start >= len(words):
                    return ()
                furthest = max(furthest, start)
                if symbol in self._function_words:
                    return ((start + 1, symbol),) if words[start] == symbol else ()
                word = self._by_surface.get(words[start], {}).get(symbol)
                return () if word is None else ((start + 1, word),)
            results: list[tuple[int, Tree]] = []
            for rule in self.rules[symbol]:
                partial: list[tuple[int, tuple[Tree, ...]]] = [(start, ())]
                for child in rule.right:
                    partial = [
                        (end, (*siblings, tree))
                        for middle, siblings in partial
                        for end, tree in parses(child, middle)
                    ]
                results.extend((end, Node(rule, children)) for end, children in partial)
            return tuple(results)

        for depth in range(self.max_depth + 1):
            complete = [t for end, t in parses(f"S[{depth}]", 0) if end == len(words)]
            if len(complete) > 1:
                raise ValueError(f"{sentence!r}: {len(complete)} derivations at depth {depth}")
            if complete:
                node = complete[0]
                assert isinstance(node, Node)
                return depth, node
        got = repr(words[min(furthest, len(words) - 1)]) if words else "no word"
        raise fol.ParseError(f"{sentence!r}: not a sentence of the grammar; stuck at {got}")

    # Meaning

    def meanings(self, node: Node) -> Meanings:
        """The meanings that the rules compose for the derivation of a sentence."""
        fresh = FreshVariables()
        tags: set[str] = set()

        def compose(tree: Tree) -> tuple[Any, Any]:
            if isinstance(tree, Word):
                tags.update(tree.tags)
                return tree.fol({}, fresh), tree.vf
            assert isinstance(tree, Node)
            rule = tree.rule
            tags.update(rule.tags)
            if rule.fol is None:
                return compose(tree.children[0])
            formulas: dict[str, Any] = {}
            terms: dict[str, Any] = {}
            for name, child in zip(rule.names, tree.children, strict=True):
                if not isinstance(child, str):
                    formulas[name], terms[name] = compose(child)
            return rule.fol(formulas, fresh), rule.vf(terms)

        formula, term = compose(node)
        return Meanings(fol.rename(formula), term, tuple([t for t in TAGS if t in tags]))


def leaves(tree: Tree) -> Iterator[Word | str]:
    """The leaves from left to right: words, category names, function words."""
    stack = [tree]
    while stack:
        part = stack.pop()
        if isinstance(part, Node):
            stack.extend(reversed(part.children))
        else:
            yield part


def _words(
    entry: Mapping[str, Any],
    vocabulary: Mapping[str, Any],
    features: Mapping[str, str | int],
    limits: Mapping[str, int],
) -> dict[str, Word]:
    """The words of a lexical entry by surface form.

    An entry has its own words with their meanings, or names a list of the vocabulary, whose words
    differ only in form. Such a list has one form of each word or, of nouns and verbs, a base and an
    inflected form; plural and finite categories (`features`) take the inflected one. `limits` are
    the numbers of words taken from some lists.
    """
    listed = entry["words"]
    if isinstance(listed, Mapping):
        return {
            surface: _word(surface, surface, word, frozenset(word.get("tags", ())))
            for surface, word in listed.items()
        }
    forms = vocabulary[listed]
    if not isinstance(forms, Mapping):
        forms = {form: form for form in forms}
    inflected = "Plur" in features.values() or "Fin" in features.values()
    words = {}
    for base in list(forms)[: limits.get(listed)]:
        surface = forms[base] if inflected else base
        words[surface] = _word(surface, base, entry, frozenset())
    return words


def _word(surface: str, base: str, terms: Mapping[str, Any], tags: frozenset[str]) -> Word:
    formula = compile_fol(terms["fol"].replace("WORD", base), [])
    term = compile_vf(terms["vf"].replace("WORD", base.upper()), [])
    return Word(surface, base, formula, term({}), tags)


@cache
def grammar(
    edition: Edition = "clean",
    adjectives: int = 10,
    adverbs: int = 10,
    max_depth: int = 4,
    arguments: Arguments | None = None,
) -> Grammar:
    """The grammar with these settings; read once per process."""
    return Grammar(edition, adjectives, adverbs, max_depth, arguments)
