"""Inputs of the benchmarks: parts in DepCC's layout, Wikipedia dumps and texts of a given size."""

import bz2
import gzip
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from adnominal.conf import UserError
from adnominal.etl.corpora import wikipedia
from adnominal.etl.corpora.documents import Document
from adnominal.etl.corpora.files import Unit, open_input, units
from adnominal.etl.corpora.inputs import list_inputs
from benchmarks import synthetic_depcc

# Wikipedia's streams have 100 pages; with so few articles there would be only one stream.
PAGES_PER_STREAM = 5
PAGE = re.compile(rb"<page>.*?</page>", re.DOTALL)
TITLE = re.compile(rb"<title>([^<]*)</title>")


def make_parts(folder: Path, megabytes: float, number: int) -> list[Path]:
    """Consecutive synthetic parts of at least that size each, written unless they exist."""
    names = [f"depcc-{megabytes:g}-{place}-of-{number}.gz" for place in range(1, number + 1)]
    paths = [folder / name for name in names]
    if not all(path.exists() for path in paths):
        unfinished = [path.with_suffix(".new") for path in paths]
        synthetic_depcc.write_parts(unfinished, megabytes)
        for source, path in zip(unfinished, paths, strict=True):
            source.replace(path)
    return paths


def make_slice(part: Path, megabytes: float) -> Path:
    """The first megabytes of `part`, up to the end of a sentence, as a gzip file beside it."""
    path = part.with_name(f"{part.stem}-first-{megabytes:g}.gz")
    if not path.exists():
        with gzip.open(part) as stream:
            content = stream.read(int(megabytes * 1e6))
        whole_sentences = content[: content.rfind(b"\n\n") + 2]
        path.write_bytes(gzip.compress(whole_sentences, mtime=0))
    return path


def units_of(path: str) -> list[Unit]:
    """A file as one unit of work."""
    (file,) = list_inputs([path])
    return units(file, "whole")


def documents_of(dump: str) -> list[Document]:
    """The articles of a dump, as running text."""
    (unit,) = units_of(dump)
    return [event for event in wikipedia.read_unit(unit) if isinstance(event, Document)]


def texts_of(dump: str) -> list[str]:
    """The articles as the job passes them to a parser: with a blank line between paragraphs."""
    return [document.text.replace("\n", "\n\n") for document in documents_of(dump)]


@dataclass(frozen=True)
class Dump:
    """A dump with the articles of another one, several times; all but the first time under other
    titles."""

    path: Path
    articles: int
    words: int
    repeated: int


def copy_dump(source: str, path: Path, copies: int) -> Dump:
    """Write the articles of a dump so many times as a bz2 multistream; `UserError` if there are
    none."""
    articles = documents_of(source)
    if not articles:
        raise UserError(f"input={source}: no article in it")
    with open_input(source) as stream:
        pages = PAGE.findall(stream.read())
    all_pages = list(pages)
    for number in range(1, copies):
        title = b"<title>\\1 (%d)</title>" % number
        all_pages += [TITLE.sub(title, page, count=1) for page in pages]
    write_multistream(path, all_pages)
    words = sum(len(article.text.split()) for article in articles)
    size = len(articles)
    return Dump(path, copies * size, copies * words, (copies - 1) * size)


def write_multistream(path: Path, pages: Sequence[bytes]) -> None:
    """Write pages as a MediaWiki export of independent bz2 streams, as Wikipedia publishes it."""
    with path.open("wb") as file:
        file.write(bz2.compress(b'<mediawiki version="0.11" xml:lang="en">\n'))
        for first in range(0, len(pages), PAGES_PER_STREAM):
            stream = b"".join(b"  %s\n" % page for page in pages[first : first + PAGES_PER_STREAM])
            file.write(bz2.compress(stream))
        file.write(bz2.compress(b"</mediawiki>\n"))


def write_texts(path: Path, megabytes: float) -> None:
    """Write a Parquet file like those of web corpora: the texts of synthetic documents, ids,
    URLs, and an unused column."""
    corpus = synthetic_depcc.Corpus(seed=1)
    texts: list[str] = []
    size = 0
    while size < megabytes * 1e6:
        for document in corpus.next_documents().split("# newdoc")[1:]:
            sentences = re.findall(r"^# text = (.+)$", document, re.MULTILINE)
            texts.append("\n".join(sentences))
            size += len(texts[-1].encode())
    numbers = range(len(texts))
    columns = {
        "text": texts,
        "id": [f"<urn:uuid:{number:032x}>" for number in numbers],
        "url": [f"http://example.org/{number}" for number in numbers],
        "token_count": list(numbers),
    }
    pq.write_table(pa.table(columns), path, row_group_size=1000, compression="zstd")
