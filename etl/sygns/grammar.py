"""The grammar of ``conf/sygns/grammar.yaml``: sentence patterns, parsing, composition of meanings.

A pattern (template) is a sequence of function words and word categories, ``detSing nounSing did not
ivInf``. The patterns of each symbol are numbered, so that a number stands for a derivation
(`Grammar.pattern`) and a million sentences at depth 4 need no list of patterns.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import product
from typing import Any, Literal, TypeAlias

import numpy as np
import yaml

from etl.sygns import fol, vf
from etl.sygns.terms import Fresh, compile_fol, compile_vf

__all__ = ["Edition", "Grammar", "Meanings", "Node", "Rule", "Tree", "Word", "grammar"]

Edition: TypeAlias = Literal["clean", "paper"]
# A resource, not a path: executors of a cluster may import the packages from an archive.
RULES = files("conf") / "sygns" / "grammar.yaml"
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
# Each category's number of words in a pattern takes four bits of one 64-bit integer.
_BITS = 4


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
    """One instance of a rule; `names` are the right-hand symbols' names in the lambda terms."""

    left: str
    right: tuple[str, ...]
    names: tuple[str, ...]
    fol: Any
    vf: Any
    tags: frozenset[str]


@dataclass(frozen=True, slots=True)
class Node:
    """A derivation: of a pattern where the leaves are category names, of a sentence where words."""

    rule: Rule
    children: tuple[Tree, ...]


Tree: TypeAlias = Node | Word | str


@dataclass(frozen=True, slots=True)
class Meanings:
    """What composition gives: formula (variables numbered by appearance), term, phenomena."""

    fol: fol.Formula
    vf: vf.Term
    tags: tuple[str, ...]


def _instances(symbol: str, values: Mapping[str, str | int]) -> str | None:
    """`symbol` with its features filled in: S[2], nounSing; None where a depth is out of range."""
    found = _SYMBOL.fullmatch(symbol)
    if found is None:
        raise ValueError(f"{symbol!r}: expected a symbol like NP[d] or noun[n]")
    base, features = found.groups()
    if features is None:
        return base
    filled: list[str] = []
    for feature in features.split(","):
        variable, plus, step = feature.strip().partition("+")
        value = values.get(variable, variable)
        filled.append(str(int(value) + int(step)) if plus else str(value))
    if base[0].islower():
        return base + "".join(filled)
    return f"{base}[{','.join(filled)}]"


def _variables(rule: str) -> set[str]:
    inside = re.findall(r"\[([^\]]*)\]", rule)
    return {part.strip().split("+")[0] for found in inside for part in found.split(",")}


class Grammar:
    """One edition's rules and words, up to `max_depth` embedded clauses.

    `adjectives` and `adverbs` limit these categories to their first words: 5 and 5 are those of the
    published data, 10 and 10 the paper's statement.
    """

    def __init__(
        self,
        edition: Edition = "clean",
        adjectives: int = 10,
        adverbs: int = 10,
        max_depth: int = 4,
        rules: Traversable = RULES,
    ) -> None:
        data = yaml.safe_load(rules.read_text(encoding="utf-8"))
        self.edition = edition
        self.max_depth = max_depth
        self.keep = [Fraction(share) for share in data["sampling"]["keep"]]
        self._features: dict[str, list[str | int]] = dict(data["features"])
        self._features["d"] = list(range(max_depth + 1))
        self._function_words = frozenset(data["function_words"])
        limits = {"adjectives": adjectives, "adverbs": adverbs}
        self.lexicon: dict[str, dict[str, Word]] = {}
        self.repeating: frozenset[str] = frozenset()
        repeating = set()
        for symbol, entry in data["lexicon"].items():
            for values in self._assignments(symbol):
                category = _instances(symbol, values) or ""
                self.lexicon[category] = _words(entry, data["vocabulary"], values, limits)
                if _SYMBOL.fullmatch(symbol)[1] in data["sampling"]["repeat"][edition]:  # type: ignore[index]
                    repeating.add(category)
        self.repeating = frozenset(repeating)
        self.categories = tuple(self.lexicon)
        self.rules: dict[str, list[Rule]] = {}
        for entry in data["rules"]:
            if entry.get("only", edition) == edition:
                for rule in self._expand(entry):
                    self.rules.setdefault(rule.left, []).append(rule)
        self._category_of: dict[str, dict[str, Word]] = {}
        for category, words in self.lexicon.items():
            for surface, word in words.items():
                self._category_of.setdefault(surface, {})[category] = word

    def _assignments(self, text: str) -> Iterator[dict[str, str | int]]:
        names = sorted(_variables(text) & self._features.keys())
        for values in product(*(self._features[name] for name in names)):
            yield dict(zip(names, values, strict=True))

    def _expand(self, entry: Mapping[str, Any]) -> Iterator[Rule]:
        left, arrow, right = entry["rule"].partition("->")
        if not arrow:
            raise ValueError(f"{entry['rule']!r}: expected LEFT -> RIGHT")
        symbols = right.split()
        names: list[str] = []
        seen: Counter[str] = Counter()
        for symbol in symbols:
            base = symbol.partition("[")[0]
            seen[base] += 1
            names.append(base if seen[base] == 1 else f"{base}{seen[base]}")
        meaning = {
            name: compiler(entry[name], names) if name in entry else None
            for name, compiler in (("fol", compile_fol), ("vf", compile_vf))
        }
        for values in self._assignments(entry["rule"]):
            if "d+1" in left and int(values["d"]) + 1 > self.max_depth:
                continue
            yield Rule(
                _instances(left.strip(), values) or "",
                tuple([_instances(symbol, values) or "" for symbol in symbols]),
                tuple(names),
                meaning["fol"],
                meaning["vf"],
                frozenset(entry.get("tags", ())),
            )

    # Patterns

    @cached_property
    def _position(self) -> dict[str, int]:
        return {category: _BITS * i for i, category in enumerate(self.categories)}

    @cache  # noqa: B019  (a grammar lives as long as its process)
    def _signatures(self, symbol: str) -> np.ndarray[Any, np.dtype[np.int64]]:
        """For each pattern of `symbol`, how many words of each category it has, packed."""
        if symbol in self._position:
            return np.array([1 << self._position[symbol]], dtype=np.int64)
        if symbol in self._function_words:
            return np.zeros(1, dtype=np.int64)
        parts = []
        for rule in self.rules.get(symbol, ()):
            total = np.zeros(1, dtype=np.int64)
            for child in rule.right:
                total = (total[:, None] + self._signatures(child)[None, :]).ravel()
            parts.append(total)
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    def patterns(self, depth: int) -> int:
        """How many sentence patterns there are at `depth`."""
        self._check_depth(depth)
        return len(self._signatures(f"S[{depth}]"))

    def word_counts(self, depth: int) -> tuple[np.ndarray[Any, Any], dict[int, dict[str, int]]]:
        """Each pattern's signature, and for each signature the words of each category it takes."""
        self._check_depth(depth)
        signatures = self._signatures(f"S[{depth}]")
        mask = (1 << _BITS) - 1
        unpacked = {}
        for value in np.unique(signatures).tolist():
            counts = {c: (value >> at) & mask for c, at in self._position.items()}
            unpacked[value] = {category: n for category, n in counts.items() if n}
        return signatures, unpacked

    def pattern(self, depth: int, number: int) -> Node:
        """The derivation of the pattern with this `number`, from 0 to ``patterns(depth) - 1``."""
        total = self.patterns(depth)
        if not 0 <= number < total:
            raise IndexError(f"pattern {number} of depth {depth}; expected 0 to {total - 1}")
        node = self._unrank(f"S[{depth}]", number)
        assert isinstance(node, Node)
        return node

    def _unrank(self, symbol: str, number: int) -> Tree:
        if symbol not in self.rules:
            return symbol
        for rule in self.rules[symbol]:
            sizes = [len(self._signatures(child)) for child in rule.right]
            size = int(np.prod(sizes))
            if number < size:
                children: list[Tree] = []
                for child, width in zip(reversed(rule.right), reversed(sizes), strict=True):
                    number, own = divmod(number, width)
                    children.append(self._unrank(child, own))
                return Node(rule, tuple(reversed(children)))
            number -= size
        raise IndexError(number)

    def templates(self, depth: int) -> Iterator[str]:
        """The patterns as text, ``pn did not tvInf pn``, in order of their numbers."""
        for number in range(self.patterns(depth)):
            yield " ".join(str(leaf) for leaf in leaves(self.pattern(depth, number)))

    def _check_depth(self, depth: int) -> None:
        if not 0 <= depth <= self.max_depth:
            raise ValueError(f"depth {depth}: this grammar goes from 0 to {self.max_depth}")

    # Parsing

    def parse(self, sentence: str) -> tuple[int, Node]:
        """The least depth at which `sentence` is one of the grammar's, and its derivation.

        Raises `ParseError` where it is not, naming the first word that no rule can take.
        """
        words = sentence.split()
        furthest = 0

        @cache
        def parses(symbol: str, start: int) -> tuple[tuple[int, Tree], ...]:
            nonlocal furthest
            if symbol not in self.rules:
                if start >= len(words):
                    return ()
                furthest = max(furthest, start)
                if symbol in self._function_words:
                    return ((start + 1, symbol),) if words[start] == symbol else ()
                word = self._category_of.get(words[start], {}).get(symbol)
                return () if word is None else ((start + 1, word),)
            found: list[tuple[int, Tree]] = []
            for rule in self.rules[symbol]:
                partial: list[tuple[int, tuple[Tree, ...]]] = [(start, ())]
                for child in rule.right:
                    partial = [
                        (end, (*before, tree))
                        for middle, before in partial
                        for end, tree in parses(child, middle)
                    ]
                found.extend((end, Node(rule, children)) for end, children in partial)
            return tuple(found)

        for depth in range(self.max_depth + 1):
            whole = [t for end, t in parses(f"S[{depth}]", 0) if end == len(words)]
            if whole:
                if len(whole) > 1:
                    raise ValueError(f"{sentence!r}: {len(whole)} derivations at depth {depth}")
                node = whole[0]
                assert isinstance(node, Node)
                return depth, node
        at = min(furthest, len(words) - 1)
        got = repr(words[at]) if words else "no word"
        raise fol.ParseError(f"{sentence!r}: not a sentence of the grammar; stuck at {got}")

    # Meaning

    def meanings(self, node: Node) -> Meanings:
        """The formula, term and phenomena that the rules compose for a sentence's derivation."""
        fresh = Fresh()
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
        item = stack.pop()
        if isinstance(item, Node):
            stack.extend(reversed(item.children))
        else:
            yield item


def _words(
    entry: Mapping[str, Any],
    vocabulary: Mapping[str, Any],
    features: Mapping[str, str | int],
    limits: Mapping[str, int],
) -> dict[str, Word]:
    listed = entry["words"]
    result = {}
    if isinstance(listed, Mapping):
        for surface, own in listed.items():
            tags = frozenset(own.get("tags", ()))
            result[surface] = _word(surface, surface, own["fol"], own["vf"], tags)
        return result
    forms = vocabulary[listed]
    if not isinstance(forms, Mapping):
        forms = {form: form for form in forms}
    inflected = "Plur" in features.values() or "Fin" in features.values()
    bases: Sequence[str] = list(forms)[: limits.get(listed)]
    for base in bases:
        surface = forms[base] if inflected else base
        result[surface] = _word(surface, base, entry["fol"], entry["vf"], frozenset())
    return result


def _word(surface: str, base: str, fol_term: str, vf_term: str, tags: frozenset[str]) -> Word:
    formula = compile_fol(fol_term.replace("WORD", base), [])
    term = compile_vf(vf_term.replace("WORD", base.upper()), [])
    return Word(surface, base, formula, term({}), tags)


@cache
def grammar(
    edition: Edition = "clean", adjectives: int = 10, adverbs: int = 10, max_depth: int = 4
) -> Grammar:
    """The grammar with these settings, read once per process."""
    return Grammar(edition, adjectives, adverbs, max_depth)
