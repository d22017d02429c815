"""Inputs of the benchmarks: parts in DepCC's layout, and Wikipedia dumps of a given length."""

import bz2
import gzip
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from itertools import count
from pathlib import Path

from adnominal.conf import UserError
from adnominal.etl.corpora import wikipedia
from adnominal.etl.corpora.documents import Document
from adnominal.etl.corpora.files import Unit, open_input, units
from adnominal.etl.corpora.inputs import list_inputs
from benchmarks import synthetic_depcc
from benchmarks.harness import log

NEWDOC = b"\n# newdoc\t"
MULTIPLES = (1, 4, 16)
_BLOCK = 1 << 20
# Wikipedia's streams have 100 pages; with so few articles there would be only one stream.
_PAGES_A_STREAM = 5
_PAGE = re.compile(rb"<page>.*?</page>", re.DOTALL)
_TITLE = re.compile(rb"<title>([^<]*)</title>")


def make_parts(folder: Path, megabytes: float, number: int) -> list[Path]:
    """`number` synthetic parts of at least that size in `folder`, made unless they exist.

    They are consecutive pieces of one corpus, cut between documents: same words, other sentences.
    """
    names = [folder / f"depcc-{megabytes:g}-{i + 1}-of-{number}.gz" for i in range(number)]
    if all(name.exists() for name in names):
        return names
    log.info("making %d parts of %g MB in %s", number, megabytes, folder)
    corpus = folder / "depcc.new"
    synthetic_depcc.write(corpus, megabytes * number)
    content = bytearray()
    with gzip.open(corpus) as stream:
        for i, name in enumerate(names):
            if i + 1 < number:
                content += stream.read(max(0, int(megabytes * 1e6) - len(content)))
                end = content.find(NEWDOC, max(0, len(content) - len(NEWDOC)))
                while end < 0 and (block := stream.read(_BLOCK)):
                    searched = max(0, len(content) - len(NEWDOC))
                    content += block
                    end = content.find(NEWDOC, searched)
            else:
                content += stream.read()
                end = len(content)
            _write_gzip(name, memoryview(content)[:end])
            content = content[end:]
    corpus.unlink()
    return names


def make_slice(part: Path, megabytes: float) -> Path:
    """The first megabytes of `part`, up to the end of a sentence, as a gzip file next to it."""
    piece = part.with_name(f"{part.stem}-first-{megabytes:g}.gz")
    if not piece.exists():
        with gzip.open(part) as stream:
            content = stream.read(int(megabytes * 1e6))
        _write_gzip(piece, content[: content.rfind(b"\n\n") + 2])
    return piece


def _write_gzip(path: Path, content: bytes | memoryview) -> None:
    fresh = path.with_suffix(".new")
    with gzip.GzipFile(fresh, "wb", compresslevel=6, mtime=0) as file:
        file.write(content)
    fresh.replace(path)


@dataclass(frozen=True)
class Dump:
    """A dump made of part of another; `repeated` articles also occur under another title."""

    path: Path
    articles: int
    words: int
    repeated: int


def units_of(path: str) -> list[Unit]:
    """The file as one unit of work."""
    (file,) = list_inputs([path])
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
    """The articles as the job passes them to a parser: with a blank line between paragraphs."""
    return [document.text.replace("\n", "\n\n") for document in documents_of(dump)]


def make_dumps(source: str, folder: Path, words: int) -> dict[int, Dump]:
    """Dumps of 1, 4 and 16 times `words`, each containing the smaller ones.

    Articles are ordered by a hash of their titles, and repeated under other titles when the source
    is exhausted.
    """
    lengths = {document.id: len(document.text.split()) for document in documents_of(source)}
    with open_input(source) as stream:
        content = stream.read()
    pages = []
    for match in _PAGE.finditer(content):
        title = _TITLE.search(match[0])
        if title and (length := lengths.get(unescape(title[1].decode()).strip())):
            pages.append((hashlib.sha256(title[1]).digest(), match[0], title[1], length))
    if not pages:
        raise UserError(f"input={source}: no article in it")
    dumps = {}
    for times in MULTIPLES:
        selected: list[bytes] = []
        total = 0
        for article, length in _endless(sorted(pages)):
            if total >= times * words:
                break
            selected.append(article)
            total += length
        path = folder / f"{times}x.xml.bz2"
        write_multistream(path, selected)
        dumps[times] = Dump(path, len(selected), total, max(0, len(selected) - len(pages)))
    return dumps


def _endless(pages: Sequence[tuple[bytes, bytes, bytes, int]]) -> Iterator[tuple[bytes, int]]:
    for again in count():
        for _, content, title, length in pages:
            if again:
                fresh = b"<title>%s (%d)</title>" % (title, again)
                content = content.replace(b"<title>%s</title>" % title, fresh, 1)
            yield content, length


def write_multistream(path: Path, pages: Sequence[bytes]) -> None:
    """Write pages as a MediaWiki export of independent bz2 streams, as Wikipedia publishes it."""
    with path.open("wb") as file:
        file.write(bz2.compress(b'<mediawiki version="0.11" xml:lang="en">\n'))
        for first in range(0, len(pages), _PAGES_A_STREAM):
            stream = b"".join(b"  %s\n" % article for article in pages[first:][:_PAGES_A_STREAM])
            file.write(bz2.compress(stream))
        file.write(bz2.compress(b"</mediawiki>\n"))
