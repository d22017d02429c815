"""Ways of finding the pairs of a Wikipedia dump: spaCy by itself, and the tasks of the job.

    python -m benchmarks.parse_sides SIDE DUMP              (what `measure` runs)

Every side is a process of its own on one core, timed by its CPU time; starting Python, importing,
loading the model and (but for the side ``task``) reading the dump are left out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.peers import Pairs, digest, pairs_of
from conf import ROOT
from etl.amod import reading, tasks
from etl.amod.columns import HYPHENS, count_pairs, occurrences
from etl.amod.rules import CLEAN, ReadingRules, Token
from etl.amod.settings import Settings
from etl.corpora import wikipedia
from etl.corpora.documents import Document
from etl.corpora.files import Unit, list_inputs, open_input, units
from etl.corpora.wikitext import running_text
from etl.parsing import load_parser
from etl.parsing.spacy_parser import PARAGRAPHS_PER_BATCH, SpacyParser, find_model
from etl.parsing.tokens import paragraphs

SIDES = ("pipe", "pipe_documents", "full", "full_without_ner", "lean", "task")


@dataclass(frozen=True)
class Reading:
    """One reading of a dump by one side.

    seconds  CPU time of the process; of parsing alone, but for the side ``task``
    tokens   tokens, white space not counted
    pairs    occurrences, and the digest of their counts, where the side finds pairs
    stages   CPU seconds of parts of `seconds`, by name (side ``task``)
    """

    seconds: float
    tokens: int
    pairs: int | None = None
    digest: str | None = None
    stages: dict[str, float] = field(default_factory=dict)


def units_of(dump: str) -> list[Unit]:
    """The dump as one unit of work."""
    (file,) = list_inputs([dump])
    return units(file, "whole")


def documents_of(dump: str) -> list[Document]:
    """The articles of a dump, as running text."""
    return [
        event
        for unit in units_of(dump)
        for event in wikipedia.read_unit(unit)
        if isinstance(event, Document)
    ]


def texts_of(dump: str) -> list[str]:
    """The articles as the job hands them to a parser: a blank line between paragraphs."""
    return [document.text.replace("\n", "\n\n") for document in documents_of(dump)]


# ------------------------------------------------------------------------------------- the sides


def pipe(texts: list[str], *, by_document: bool = False) -> Reading:
    """spaCy's own `nlp.pipe`, lean: tagger and parser only; tokens are counted, no pairs found.

    The texts come as the job's paragraphs, or as whole documents.
    """
    import spacy

    nlp = spacy.load(find_model(None), exclude=["ner", "senter", "attribute_ruler", "lemmatizer"])
    pieces = texts if by_document else [p for text in texts for p in paragraphs(text)]
    start = time.process_time()
    docs = list(nlp.pipe(pieces, batch_size=PARAGRAPHS_PER_BATCH))
    seconds = time.process_time() - start
    return Reading(seconds, sum(not token.is_space for doc in docs for token in doc))


def full(texts: list[str], rules: ReadingRules = CLEAN) -> Reading:
    """The model's whole pipeline, pairs read from its `Doc` objects one by one."""
    import spacy

    nlp = spacy.load(find_model(None))
    pieces = [p for text in texts for p in paragraphs(text)]
    start = time.process_time()
    counts: Pairs = Counter()
    tokens = 0
    for doc in nlp.pipe(pieces, batch_size=PARAGRAPHS_PER_BATCH):
        tokens += sum(not token.is_space for token in doc)
        for token in doc:
            if token.dep_ == "amod" and not token.is_space:
                head = token.head
                read = rules.read(
                    Token(token.text, token.lemma_, "", token.tag_),
                    Token(head.text, head.lemma_, "", head.tag_),
                )
                if isinstance(read, tuple) and not (is_fragment(token) or is_fragment(head)):
                    counts[read] += 1
    seconds = time.process_time() - start
    return Reading(seconds, tokens, counts.total(), digest(counts))


def is_fragment(token: Any) -> bool:
    """Whether a spaCy token touches a hyphen, without white space between."""
    doc, at = token.doc, token.i
    before = at > 0 and doc[at - 1].text in HYPHENS and not doc[at - 1].whitespace_
    after = at + 1 < len(doc) and doc[at + 1].text in HYPHENS and not token.whitespace_
    return before or after


def through_columns(texts: list[str], *, lean: bool) -> Reading:
    """The job's parser and pair rule, with the lean pipeline or without its savings."""
    parser = SpacyParser(lean=lean)
    start = time.process_time()
    counts: Pairs = Counter()
    tokens = 0
    for parsed in parser.parse(texts):
        tokens += parsed.tokens.num_rows
        counts.update(pairs_of(count_pairs(occurrences(parsed.tokens, CLEAN))))
    seconds = time.process_time() - start
    return Reading(seconds, tokens, counts.total(), digest(counts))


def task(dump: str) -> Reading:
    """All that the job's Python workers do with a dump, in this process, by stages.

    decompress  the stored bytes to XML, by itself
    wikitext    wikitext to running text
    pages       the rest of reading: finding pages, decoding, rows for Spark
    pipe        spaCy's `nlp.pipe`, as the parser calls it
    columns     the rest of parsing: its output as columns
    pairs       the rest: pairs, sums, rows for Spark
    """
    settings = tasks.Task.of(Settings(source="wikipedia", input=[dump]))
    parser = load_parser("spacy", None)  # as the tasks call it: the very same parser
    parts = ("decompress", "pages", "wikitext", "pipe", "columns", "pairs")
    stages = dict.fromkeys(parts, 0.0)
    parsing = {"parse": 0.0}

    start = time.process_time()
    with open_input(dump) as stream:
        while stream.read(1 << 20):
            pass
    stages["decompress"] = time.process_time() - start

    setattr(wikipedia, "running_text", _timed(running_text, stages, "wikitext"))  # noqa: B010
    setattr(parser, "parse", _timed_iterator(parser.parse, parsing, "parse"))  # noqa: B010
    nlp = vars(parser)["_nlp"]
    nlp.pipe = _timed_iterator(nlp.pipe, stages, "pipe")
    rows = [{"file": 0, **asdict(unit)} for unit in units_of(dump)]
    batch = pa.RecordBatch.from_pylist(rows, schema=tasks.UNITS)
    start = time.process_time()
    read = list(reading.read_units([batch], settings))
    middle = time.process_time()
    staged = pa.Table.from_batches(list(tasks.parse_documents(read, settings)))
    end = time.process_time()

    stages["pages"] = middle - start - stages["decompress"] - stages["wikitext"]
    stages["columns"] = parsing["parse"] - stages["pipe"]
    stages["pairs"] = end - middle - parsing["parse"]
    counts: Pairs = Counter()
    tokens = 0
    for row in staged.select(["kind", "adjective", "noun", "reason", "count"]).to_pylist():
        if row["kind"] == "pair":
            counts[row["adjective"], row["noun"]] += row["count"]
        elif row["kind"] == "stat" and row["reason"] == "tokens":
            tokens += row["count"]
    return Reading(end - start, tokens, counts.total(), digest(counts), stages)


def _timed(function: Callable[[str], str], stages: dict[str, float], name: str) -> Any:
    def timed(text: str) -> str:
        start = time.process_time()
        try:
            return function(text)
        finally:
            stages[name] += time.process_time() - start

    return timed


def _timed_iterator(function: Any, stages: dict[str, float], name: str) -> Any:
    def timed(texts: Iterable[str], **settings: Any) -> Iterator[Any]:
        results = iter(function(texts, **settings))
        while True:
            start = time.process_time()
            result = next(results, None)
            stages[name] += time.process_time() - start
            if result is None:
                return
            yield result

    return timed


def read(side: str, dump: str) -> Reading:
    """Read `dump` by `side` in this process."""
    if side == "task":
        return task(dump)
    texts = texts_of(dump)
    if side == "pipe":
        return pipe(texts)
    if side == "pipe_documents":
        return pipe(texts, by_document=True)
    if side == "full":
        return full(texts)
    return through_columns(texts, lean=side == "lean")


def measure(side: str, dump: Path) -> Reading:
    """Read `dump` by `side` in a fresh process on one core.

    Raises `RuntimeError`, with what the process wrote, if it fails.
    """
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.parse_sides", side, str(dump)],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{side} failed on {dump}:\n{done.stderr[-2000:]}")
    return Reading(**json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    print(json.dumps(asdict(read(sys.argv[1], sys.argv[2]))))
