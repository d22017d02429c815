"""How far two DRSs in clause form agree: precision, recall and F over matching clauses.

Clauses of the prediction match clauses of the gold standard under a mapping of variables: boxes to
boxes, entities to entities, one to one (van Noord et al. 2018, COUNTER). The score is that of the
best mapping. `matching` finds it exactly, by branch and bound; `hill_climbing` follows COUNTER's
definition, with its restarts, and finds a lower bound.

SyGNS used a copy of COUNTER that interprets the first argument of a transitive verb
(``b2 lick x1 x2``) as the sense of a concept, so that its name has to be equal and is not mapped.
`match` with ``variant="sygns"`` does the same, for comparison with the paper's "(cnt)" columns.

Both searches work on *pairs*: a predicted and a gold clause that some mapping makes equal. Sets of
pairs are the bits of Python integers.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import NamedTuple

from adnominal.etl.sygns.drs import Clause, parse_clauses, rename
from adnominal.etl.sygns.fol import ParseError

RESTARTS = 20
VARIANTS = ("exact", "sygns")
# Meanings of the fragment take tens of steps. Degenerate output (a clause repeated over dozens of
# variables) might never finish. After this many steps the best mapping found so far counts, and the
# score says that it may be too low.
STEPS = 200_000


@dataclass(frozen=True, slots=True)
class Score:
    """Clauses matched, predicted and gold; sums of scores are micro-averages.

    `ill_formed` counts predictions that are not in clause form, `unproven` those whose search was
    cut off, so that more clauses might match.
    """

    matched: int = 0
    predicted: int = 0
    gold: int = 0
    ill_formed: int = 0
    unproven: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(*map(sum, zip(astuple(self), astuple(other), strict=True)))

    @property
    def precision(self) -> float:
        return self.matched / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        return self.matched / self.gold if self.gold else 0.0

    @property
    def f(self) -> float:
        """Harmonic mean of precision and recall, 0 where nothing matches."""
        total = self.predicted + self.gold
        return 2 * self.matched / total if total else 0.0


def without_redundant_referents(clauses: Sequence[Clause]) -> list[Clause]:
    """The clauses without each ``b REF x`` whose x occurs again in the same box b.

    Such a REF adds nothing to the other clause, and would count every entity twice.
    """
    used = {(c.box, a) for c in clauses if c.symbol != "REF" for a in c.arguments}
    return [c for c in clauses if c.symbol != "REF" or (c.box, c.arguments[0]) not in used]


def as_sygns(clauses: Sequence[Clause]) -> list[Clause]:
    """The clauses as SyGNS's copy of COUNTER interprets them, each once.

    A predicate of two arguments is a concept whose sense is the first argument, which becomes part
    of the symbol here.
    """
    concepts = [
        Clause(c.box, f"{c.symbol} {c.arguments[0]}", c.arguments[1:])
        if len(c.arguments) == 2 and not c.symbol.isupper()
        else c
        for c in clauses
    ]
    return list(dict.fromkeys(concepts))


class Match(NamedTuple):
    """The number of matched clauses, and whether it is proven that no mapping matches more."""

    clauses: int
    proven: bool


class _Problem:
    """The pairs of two clause lists, and which of them exclude each other."""

    def __init__(self, predicted: Sequence[Clause], gold: Sequence[Clause]) -> None:
        # The n-th copy of a clause may only match the n-th copy of another: equal clauses match as
        # often as both sides have them.
        gold_of: dict[tuple[str, int, int], list[tuple[int, Clause]]] = {}
        copies: Counter[Clause] = Counter()
        for j, clause in enumerate(gold):
            copies[clause] += 1
            key = (clause.symbol, len(clause.arguments), copies[clause])
            gold_of.setdefault(key, []).append((j, clause))
        copies.clear()
        self.count = 0
        self.of_assignment: dict[tuple[str, str], int] = {}
        self.of_predicted: dict[str, int] = {}
        self.of_gold: dict[str, int] = {}
        # For each symbol, the pairs by predicted clause and by gold clause.
        groups: dict[tuple[str, int, int], tuple[dict[int, int], dict[int, int]]] = {}
        for i, clause in enumerate(predicted):
            copies[clause] += 1
            key = (clause.symbol, len(clause.arguments), copies[clause])
            for j, other in gold_of.get(key, ()):
                assignments = {(clause.box, other.box)}
                assignments.update(zip(clause.arguments, other.arguments, strict=True))
                if not _one_to_one(assignments):
                    continue
                bit = 1 << self.count
                self.count += 1
                for u, v in assignments:
                    self.of_assignment[u, v] = self.of_assignment.get((u, v), 0) | bit
                    self.of_predicted[u] = self.of_predicted.get(u, 0) | bit
                    self.of_gold[v] = self.of_gold.get(v, 0) | bit
                rows, columns = groups.setdefault(key, ({}, {}))
                rows[i] = rows.get(i, 0) | bit
                columns[j] = columns.get(j, 0) | bit
        self.groups = [
            (tuple(rows.values()), tuple(columns.values())) for rows, columns in groups.values()
        ]
        self.excluded = {
            (u, v): (self.of_predicted[u] | self.of_gold[v]) & ~pairs
            for (u, v), pairs in self.of_assignment.items()
        }

    def bound(self, pairs: int) -> int:
        """No mapping matches more of `pairs`, a set of bits: each clause matches once.

        A group has the clauses of one symbol, as sets of the pairs of each predicted clause (rows)
        and of each gold clause (columns). It has no more matches than rows that still have a pair,
        nor than columns.
        """
        total = 0
        for rows, columns in self.groups:
            left = 0
            for row in rows:
                if row & pairs:
                    left += 1
            right = 0
            for column in columns:
                if column & pairs:
                    right += 1
            total += left if left < right else right
        return total


def _one_to_one(assignments: set[tuple[str, str]]) -> bool:
    return len({u for u, _ in assignments}) == len(assignments) == len({v for _, v in assignments})


def matching(predicted: Sequence[Clause], gold: Sequence[Clause], steps: int = STEPS) -> Match:
    """The greatest number of clauses that one mapping of variables makes equal.

    Branch and bound over assignments of a predicted to a gold variable: the one that most pairs
    need is either made (pairs that contradict it are dropped) or not made (pairs that need it are
    dropped). After that many `steps` the best mapping so far is returned, not proven.
    """
    if len(predicted) == len(gold) and rename(predicted) == rename(gold):
        return Match(len(gold), True)
    problem = _Problem(predicted, gold)
    best = 0
    masks = problem.of_assignment
    excluded = problem.excluded
    bound = problem.bound
    stack = [((1 << problem.count) - 1, tuple(masks))]
    while stack:
        if not steps:
            climbed = hill_climbing(predicted, gold)
            return Match(max(best, climbed), False)
        steps -= 1
        pairs, assignments = stack.pop()
        if pairs.bit_count() <= best or bound(pairs) <= best:
            continue
        branching = None
        most = 0
        open_assignments = []
        for assignment in assignments:
            needing_it = masks[assignment] & pairs
            if needing_it and excluded[assignment] & pairs:
                open_assignments.append(assignment)
                size = needing_it.bit_count()
                if size > most:
                    branching, most = assignment, size
        if branching is None:  # no two pairs contradict each other
            best = pairs.bit_count()
            continue
        remaining = tuple(open_assignments)
        stack.append((pairs & ~masks[branching], remaining))
        stack.append((pairs & ~excluded[branching], remaining))
    return Match(best, True)


def hill_climbing(
    predicted: Sequence[Clause], gold: Sequence[Clause], restarts: int = RESTARTS
) -> int:
    """Matching clauses by COUNTER's search: the best of `restarts` climbs.

    The first climb starts from a mapping that pairs variables by the clauses they share, the others
    from random ones. A step moves one variable to a free gold variable, or swaps the images of two,
    whichever gains most; the climb ends where no step gains.
    """
    problem = _Problem(predicted, gold)
    all_pairs = (1 << problem.count) - 1
    generator = random.Random(f"0\t{len(predicted)}\t{' '.join(map(str, gold))}")
    sources = sorted(problem.of_predicted)
    targets = {kind: [v for v in sorted(problem.of_gold) if v[0] == kind] for kind in "bx"}
    lost = {
        u: {
            v: problem.of_predicted[u] & ~problem.of_assignment.get((u, v), 0)
            for v in [*targets[u[0]], ""]
        }
        for u in sources
    }
    best = 0
    for climb in range(restarts):
        mapping = _start(problem, sources, targets, generator if climb else None)
        value = _value(mapping, lost, all_pairs)
        while True:
            step, gain = _best_step(mapping, targets, lost, all_pairs, value)
            if not gain:
                break
            mapping.update(step)
            value += gain
        best = max(best, value)
    return best


def _value(mapping: dict[str, str], lost: dict[str, dict[str, int]], all_pairs: int) -> int:
    lost_pairs = 0
    for u, v in mapping.items():
        lost_pairs |= lost[u][v]
    return (all_pairs & ~lost_pairs).bit_count()


def _start(
    problem: _Problem,
    sources: list[str],
    targets: dict[str, list[str]],
    generator: random.Random | None,
) -> dict[str, str]:
    """A first assignment of variables: the most promising one, or a random one."""
    mapping = dict.fromkeys(sources, "")
    free = {kind: set(names) for kind, names in targets.items()}
    if generator is None:
        order = sorted(problem.of_assignment.items(), key=lambda item: (-item[1].bit_count(), item))
        for (u, v), _ in order:
            if not mapping[u] and v in free[v[0]]:
                mapping[u] = v
                free[v[0]].discard(v)
        return mapping
    for u in generator.sample(sources, len(sources)):
        choices = sorted(free[u[0]])
        if choices:
            mapping[u] = generator.choice(choices)
            free[u[0]].discard(mapping[u])
    return mapping


def _best_step(
    mapping: dict[str, str],
    targets: dict[str, list[str]],
    lost: dict[str, dict[str, int]],
    all_pairs: int,
    value: int,
) -> tuple[dict[str, str], int]:
    """The move or swap that gains most, with its gain; no step and 0 where none gains."""
    images = set(mapping.values())
    best: dict[str, str] = {}
    gain = 0
    names = list(mapping)
    for position, u in enumerate(names):
        steps = [{u: v} for v in targets[u[0]] if v not in images]
        steps += [
            {u: mapping[w], w: mapping[u]}
            for w in names[position + 1 :]
            if w[0] == u[0] and mapping[w] != mapping[u]
        ]
        for step in steps:
            step_gain = _value({**mapping, **step}, lost, all_pairs) - value
            if step_gain > gain:
                best, gain = step, step_gain
    return best, gain


def match(gold: str, predicted: str, *, search: str = "exact", variant: str = "exact") -> Score:
    """The score of one prediction against its gold clauses, both as text.

    A prediction that is not in clause form counts as one clause that matches nothing
    (`ill_formed`), like COUNTER's dummy. `search` is ``exact`` or ``hill_climbing``; `variant` is
    ``exact`` (every variable is mapped) or ``sygns`` (`as_sygns`).

    Raises:
        ParseError: the gold text is ill-formed, which is a fault of the data.
    """
    if variant not in VARIANTS:
        raise ValueError(f"variant={variant!r}; expected one of {', '.join(VARIANTS)}")

    def clauses_of(text: str) -> list[Clause]:
        clauses = without_redundant_referents(parse_clauses(text))
        return as_sygns(clauses) if variant == "sygns" else clauses

    gold_clauses = clauses_of(gold)
    try:
        predicted_clauses = clauses_of(predicted)
    except ParseError:
        return Score(0, 1, len(gold_clauses), 1)
    if search == "exact":
        matched, proven = matching(predicted_clauses, gold_clauses)
    elif search == "hill_climbing":
        matched, proven = hill_climbing(predicted_clauses, gold_clauses), True
    else:
        raise ValueError(f"search={search!r}; expected exact or hill_climbing")
    return Score(matched, len(predicted_clauses), len(gold_clauses), unproven=int(not proven))
