"""The model of `parser=fast` as data: one file of named tables, checked when it is read.

The file is a line of JSON (names, lengths and checksums of the tables, and how the model was
trained) and the tables, compressed together; it contains no code. `MODEL` is the model of the
package; its card is ``MODEL_CARD.md`` in the same folder.
"""

import gzip
import hashlib
import importlib.util
import json
import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from adnominal.conf import UserError

MODEL = Path(__file__).with_name("english.model")
FORMAT = "adnominal-fast-2"

# The Penn tags that the model distinguishes, in the order of the numbers in _model.h, and the tags
# with which rarer ones are merged.
_TAG_LIST = (
    "CC CD DT EX FW IN JJ JJR JJS MD NN NNS NNP POS PRP PRP$ RB RBR RP TO UH VB VBD "
    "VBG VBN VBP VBZ WDT WRB . , :"
)
TAGS = tuple(_TAG_LIST.split())
_PUNCTUATION_AND_SYMBOLS = "`` '' ( ) -LRB- -RRB- -LSB- -RSB- -LCB- -RCB- HYPH NFP SYM # $"
_MERGED = "PDT:DT NNPS:NNP RBS:RBR WP:WDT WP$:WDT GW:FW XX:FW AFX:FW ADD:FW LS:CD"
_MERGED_TAGS = dict(tags.split(":") for tags in _MERGED.split()) | dict.fromkeys(
    _PUNCTUATION_AND_SYMBOLS.split(), ":"
)
CLASS_OF = {tag: number for number, tag in enumerate(TAGS)} | {
    tag: TAGS.index(read) for tag, read in _MERGED_TAGS.items()
}

# The bits of a word's parts of speech in the lexicon; _fast.c reads that of JJ.
_MASK_TAGS = ("NN", "NNS", "JJ", "JJR", "JJS", "RB", "RBR", "VB", "VBD", "VBG", "VBN", "VBZ", "NNP")


def checksum(content: bytes) -> str:
    """SHA-256, which detects a damaged table."""
    return hashlib.sha256(content).hexdigest()


def save(path: Path, tables: dict[str, bytes], metadata: dict[str, Any]) -> None:
    """Write the tables of a model, and its `metadata`."""
    tables = dict(sorted(tables.items()))
    head = {
        "format": FORMAT,
        "tables": {name: [len(table), checksum(table)] for name, table in tables.items()},
        **metadata,
    }
    body = json.dumps(head, sort_keys=True).encode() + b"\n" + b"".join(tables.values())
    path.write_bytes(zlib.compress(body, 9))


def load(path: Path = MODEL) -> dict[str, bytes]:
    """The tables of a model.

    Raises:
        UserError: the file does not exist, is not a model of this format, or is damaged.
    """
    try:
        # No model is longer: a hostile file must not exhaust the memory.
        body = zlib.decompressobj().decompress(path.read_bytes(), 64 << 20)
        line, _, content = body.partition(b"\n")
        head = json.loads(line)
        tables, offset = {}, 0
        for name, (size, digest) in head["tables"].items():
            tables[name] = content[offset : offset + size]
            offset += size
            if checksum(tables[name]) != digest:
                raise UserError(f"parser=fast: table {name} of {path} is damaged; get it again")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, zlib.error) as error:
        raise UserError(
            f"parser=fast: {path} is not a model of this parser ({error}); give parser_model= a "
            "file that `python -m etl.parsing.fast.train` wrote, or leave it out; models of spaCy "
            "need parser=spacy"
        ) from error
    if head.get("format") != FORMAT:
        raise UserError(
            f"parser=fast: {path} has the format {head.get('format')!r}, expected {FORMAT!r}; "
            "train it again with this version"
        )
    return tables


# ---------------------------------------------------------------------- tables that are not learned


def characters() -> dict[str, bytes]:
    """Classes and lower-case forms of the characters of Unicode's basic plane."""
    classes = np.zeros(65536, dtype=np.uint8)
    lower_case_of = np.arange(65536, dtype=np.uint16)
    for code in [*range(0xD800), *range(0xE000, 0x10000)]:
        character = chr(code)
        # Marks that combine with a letter belong to its word.
        is_letter = character.isalpha() or 0x300 <= code < 0x370
        classes[code] = (
            is_letter
            | character.isnumeric() << 1
            | character.isupper() << 2
            | character.islower() << 3
            | character.isalnum() << 4
        )
        if len(character.lower()) == 1:
            lower_case_of[code] = ord(character.lower())
    return {"classes": classes.tobytes(), "lowered": lower_case_of.tobytes()}


@cache
def word_masks() -> dict[str, int]:
    """The parts of speech of lemminflect's lower-cased words (`_MASK_TAGS`)."""
    package = importlib.util.find_spec("lemminflect")
    if package is None or package.origin is None:
        raise UserError("training parser=fast needs lemminflect; pip install lemminflect")
    table = Path(package.origin).parent / "resources" / "infl_lu.csv.gz"
    places: dict[str, tuple[str, ...]] = {"adj": ("JJ", "JJR", "JJS"), "adv": ("RB", "RBR", "RBR")}
    places |= {"noun": ("NN", "NNS"), "verb": ("VB", "VBD", "VBN", "VBG", "VBZ")}
    masks: dict[str, int] = {}

    def add(word: str, tag: str) -> None:
        if word:
            masks[word.lower()] = masks.get(word.lower(), 0) | 1 << _MASK_TAGS.index(tag)

    for line in gzip.decompress(table.read_bytes()).decode().splitlines():
        lemma, part, *forms = line.split(",")
        add(lemma, "NNP" if part == "noun" and lemma[:1].isupper() else places[part][0])
        for tag, spellings in zip(places[part][1:], forms, strict=False):
            for form in spellings.split("/"):
                add(form, tag)
        if part == "verb" and not forms[1]:  # one form is past tense and participle
            for form in forms[0].split("/"):
                add(form, "VBN")
    return masks


def lexicon() -> dict[str, bytes]:
    """lemminflect's words as sorted hashes with the parts of speech of each."""
    return _by_hash("lexicon", "masks", word_masks())


def cluster_tables(clusters: Mapping[str, int]) -> dict[str, bytes]:
    """The clusters of lower-cased words (`etl.parsing.fast.clusters`) as sorted hashes."""
    return _by_hash("cluster_hash", "clusters", clusters)


def _by_hash(hashes: str, values: str, value_of: Mapping[str, int]) -> dict[str, bytes]:
    """Two tables: the sorted hashes of words, and the value of each."""
    from adnominal.etl.parsing.fast import _fast

    entries = sorted({_fast.word_hash(w.encode()): v for w, v in value_of.items()}.items())
    return {
        hashes: np.array([hash_ for hash_, _ in entries], dtype=np.uint32).tobytes(),
        values: np.array([value for _, value in entries], dtype=np.uint16).tobytes(),
    }


def lemma_exceptions() -> dict[str, bytes]:
    """The inflected forms whose lemma by the rules of _fast.c differs from lemminflect's.

    ``words`` has each form and its lemma, both ended by a zero byte; ``word_hash`` has the sorted
    hashes of the forms and ``word_at`` the place of each in ``words``.
    """
    from adnominal.etl.parsing.fast import _fast

    empty = {"words": b"", "word_hash": b"", "word_at": b""}
    rules_only = _fast.Extractor({**characters(), **lexicon(), **cluster_tables({}), **empty})
    entries = []
    for kind, tag, form, lemma in inflected_forms():
        if rules_only.lemmatize(form.encode(), CLASS_OF[tag]) != lemma:
            number = _fast.word_hash(form.encode(), kind)
            entries.append((number, f"{kind}{form}\0{lemma}\0".encode()))
    entries.sort()
    ends = np.cumsum([0, *(len(entry) for _, entry in entries)], dtype=np.uint32)
    return {
        "words": b"".join(entry for _, entry in entries),
        "word_hash": np.array([number for number, _ in entries], dtype=np.uint32).tobytes(),
        "word_at": ends[:-1].tobytes(),
    }


# The forms whose lemma is not the first that lemminflect names. The degrees of "much" and "little"
# are their own lemmas in the treebanks and in spaCy, in text "leaves" are those of trees, and
# "regalia" have no singular "regale".
_LEMMA_OF = {
    **{degree: degree for degree in ("more", "most", "less", "least")},
    "leaves": "leaf",
    "regalia": "regalia",
}


def inflected_forms() -> list[tuple[str, str, str, str]]:
    """(kind, tag, form, lemma) of the plurals, comparatives and superlatives of lemminflect.

    A form with several lemmas has the first that lemminflect names, except those of `_LEMMA_OF`.
    """
    from adnominal.etl.knowledge.inflection import getAllLemmas

    forms = []
    for word, mask in sorted(word_masks().items()):
        for kind, tag, part in (("n", "NNS", "NOUN"), ("r", "JJR", "ADJ"), ("s", "JJS", "ADJ")):
            if mask >> _MASK_TAGS.index(tag) & 1:
                lemmas = getAllLemmas(word, upos=part).get(part, ())
                if lemmas:
                    forms.append((kind, tag, word, _LEMMA_OF.get(word, lemmas[0].lower())))
    return forms
