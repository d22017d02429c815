"""Ways of finding the pairs of a Wikipedia dump: spaCy alone, and the tasks of the job.

The time excludes loading the model and, except for the side ``task``, reading the dump.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from adnominal.etl.amod import reading, tasks
from adnominal.etl.amod.columns import HYPHENS, occurrences, pairs
from adnominal.etl.amod.rules import CLEAN, ReadingRules, Token
from adnominal.etl.amod.settings import Settings
from adnominal.etl.corpora import wikipedia
from adnominal.etl.corpora.files import open_input
from adnominal.etl.corpora.wikitext import running_text
from adnominal.etl.parsing import load_parser
from adnominal.etl.parsing.spacy_parser import PARAGRAPHS_PER_BATCH, SpacyParser, find_model
from adnominal.etl.parsing.tokens import paragraphs
from benchmarks.inputs import texts_of, units_of
from benchmarks.processes import planted_loss, timed
from benchmarks.sides import Pairs, Reading, digest, measure


def pipe(texts: list[str], *, by_document: bool = False) -> Reading:
    """spaCy's `nlp.pipe` with only tagger and parser; tokens are counted, no pairs extracted.

    The texts come as the job's paragraphs, or as whole documents.
    """
    import spacy

    nlp = spacy.load(find_model(None), exclude=["ner", "senter", "attribute_ruler", "lemmatizer"])
    pieces = texts if by_document else [p for text in texts for p in paragraphs(text)]
    with timed() as timing:
        docs = list(nlp.pipe(pieces, batch_size=PARAGRAPHS_PER_BATCH))
    return Reading(timing.cpu, tokens=sum(not token.is_space for doc in docs for token in doc))


def full(texts: list[str], rules: ReadingRules = CLEAN) -> Reading:
    """The model's whole pipeline, with pairs read from its `Doc` objects one by one."""
    import spacy

    nlp = spacy.load(find_model(None))
    pieces = [p for text in texts for p in paragraphs(text)]
    counts: Pairs = Counter()
    tokens = 0
    with timed() as timing:
        for doc in nlp.pipe(pieces, batch_size=PARAGRAPHS_PER_BATCH):
            tokens += sum(not token.is_space for token in doc)
            for token in doc:
                if token.dep_ == "amod" and not token.is_space:
                    head = token.head
                    pair = rules.read(
                        Token(token.text, token.lemma_, "", token.tag_),
                        Token(head.text, head.lemma_, "", head.tag_),
                    )
                    if isinstance(pair, tuple) and not (is_fragment(token) or is_fragment(head)):
                        counts[pair] += 1
    return counted(timing.cpu, tokens, counts)


def counted(seconds: float, tokens: int, counts: Pairs) -> Reading:
    """The reading of a side that found these pairs."""
    return Reading(
        seconds, tokens=tokens, pairs=counts.total(), distinct=len(counts), digest=digest(counts)
    )


def is_fragment(token: Any) -> bool:
    """Whether a spaCy token is next to a hyphen without white space between them."""
    doc, at = token.doc, token.i
    left = at > 0 and doc[at - 1].text in HYPHENS and not doc[at - 1].whitespace_
    right = at + 1 < len(doc) and doc[at + 1].text in HYPHENS and not token.whitespace_
    return left or right


def through_columns(texts: list[str], *, lean: bool) -> Reading:
    """The job's parser and pair rule, with the lean or the full pipeline."""
    parser = SpacyParser(lean=lean)
    counts: Pairs = Counter()
    tokens = 0
    with timed() as timing:
        for parsed in parser.parse(texts):
            tokens += parsed.tokens.num_rows
            rows = pairs(occurrences(parsed.tokens, CLEAN)).to_pylist()
            counts.update((row["adjective"], row["noun"]) for row in rows)
    return counted(timing.cpu, tokens, counts)


def task(dump: str) -> Reading:
    """All work of the job's Python workers on a dump, in this process, by stage (`parse.STAGES`).

    Decompression is measured separately; ``pages`` is the rest of reading, ``columns`` the rest of
    parsing, and ``pairs`` the rest of all.
    """
    settings = Settings(source="wikipedia", input=[dump])
    parser = load_parser("spacy", None)  # the same parser object as in the tasks
    parts = ("decompress", "pages", "wikitext", "pipe", "columns", "pairs")
    stages = dict.fromkeys(parts, 0.0)
    parsing = {"parse": 0.0}
    with timed() as decompression, open_input(dump) as stream:
        while stream.read(1 << 20):
            pass
    setattr(wikipedia, "running_text", _timed(running_text, stages, "wikitext"))  # noqa: B010
    setattr(parser, "parse", _timed_iterator(parser.parse, parsing, "parse"))  # noqa: B010
    nlp = vars(parser)["_nlp"]
    nlp.pipe = _timed_iterator(nlp.pipe, stages, "pipe")
    file_units = list(enumerate(units_of(dump)))
    with timed() as documents_read:
        documents = list(reading.read_units(file_units, settings))
    with timed(subject=True) as parsed:
        staged = pa.Table.from_batches(list(tasks.parse_documents(documents, settings)))
    stages["decompress"] = decompression.cpu
    stages["pages"] = documents_read.cpu - stages["decompress"] - stages["wikitext"]
    stages["columns"] = parsing["parse"] - stages["pipe"]
    stages["pairs"] = parsed.cpu - parsing["parse"]
    counts: Pairs = Counter()
    tokens = 0
    for row in staged.select(["kind", "adjective", "noun", "reason", "count"]).to_pylist():
        if row["kind"] == "pair":
            counts[row["adjective"], row["noun"]] += row["count"]
        elif row["kind"] == "stat" and row["reason"] == "tokens":
            tokens += row["count"]
    counts = planted_loss(counts)
    seconds = documents_read.cpu + parsed.cpu
    return replace(counted(seconds, tokens, counts), stages=stages)


def _timed(function: Callable[[str], str], stages: dict[str, float], name: str) -> Any:
    def call(text: str) -> str:
        with timed() as timing:
            result = function(text)
        stages[name] += timing.cpu
        return result

    return call


def _timed_iterator(function: Any, stages: dict[str, float], name: str) -> Any:
    def iterate(texts: Iterable[str], **settings: Any) -> Iterator[Any]:
        results = iter(function(texts, **settings))
        while True:
            with timed() as timing:
                result = next(results, None)
            stages[name] += timing.cpu
            if result is None:
                return
            yield result

    return iterate


def read(side: str, dump: str) -> Reading:
    """Read `dump` with `side` in this process."""
    if side == "task":
        return task(dump)
    texts = texts_of(dump)
    if side.startswith("pipe"):
        return pipe(texts, by_document=side == "pipe_documents")
    if side == "full":
        return full(texts)
    return through_columns(texts, lean=side == "lean")


measure_side = partial(measure, "benchmarks.parse_sides:read")
"""Read a dump with a side in a new process on one core."""
