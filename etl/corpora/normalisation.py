"""What the readers of text do to the characters of a text before it is parsed.

A parser reads a text as it is written for people: without invisible characters, without the marks
of references and links, and with words that a line end has cut in one piece. The names of documents
(``path#byte=N``) are those of the file as it is.
"""

import re
import unicodedata
from functools import lru_cache
from html import unescape

# Soft hyphen; grapheme joiner; selectors of a character's variant; zero-width spaces, joiners and
# direction marks; isolates and embeddings; word joiner and invisible operators; byte order mark
# inside of a text, and its reverse, which PDF readers have for hyphens; anchors of annotations;
# tags.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufe00-\ufe0f\ufeff\ufffe\ufff9-\ufffb\U000e0000-\U000e007f]"
)
# Those that `str.isprintable` takes for visible marks, as far as they are common.
_INVISIBLE_MARKS = ("\u034f", "\ufe0f")
# Dashes and quotes of Windows' code page where a text was read as Latin-1: control characters.
_WINDOWS = dict(zip("\x91\x92\x93\x94\x96\x97", "‘’“”–—", strict=True))
_WINDOWS_CHARACTER = re.compile("[" + "".join(_WINDOWS) + "]")
SOFT_HYPHEN = "\u00ad"
# (The sign "¬" stands for it in transcriptions of old prints.)
_LINE_END_HYPHENS = frozenset(("-", "\u2010", SOFT_HYPHEN, "¬"))
_PAGE_NUMBER = re.compile(r"(?<=[a-z][-\u2010\u00ad¬])\n[-–—\[( ]*\d{1,4}[-–—\]) ]*(?=\n[a-z])")

# The patterns begin with the characters that they search for, which is many times faster than with
# what must be before them.
#
# [1], [2, 3], [4][5], [1]:27, [^6], [note 7], [citation needed], and [a] behind punctuation, where
# no space is before the mark and no letter follows.
_NUMBERS = r"\^?[1-9]\d{0,2}(?: ?[-–,;] ?\d{1,3})*"
_NOTES = r"(?:note|nb|n|fn|lower-alpha|upper-alpha) ?\d{1,3}"
_NOTICES = (
    r"[a-z ]{3,20} needed|(?:when|who|which|where|by whom|according to whom|original research)\?"
    r"|failed verification|not in citation given|dubious"
)
_PAGES = r":\d{1,4}(?:[-–]\d{1,4})?(?!\w)"
_NUMBERED_MARK = rf"\[(?<=\S\[)(?:{_NUMBERS}|{_NOTES}|{_NOTICES})\](?:{_PAGES}|(?!\w))"
# (An opening quote is before "[A] trial …", where letters in brackets are words.)
_BEHIND_PUNCTUATION = r"(?:(?<=[.,;:!?”’)]\[)|(?<=[^\s(\[]\"\[))"
_LETTER_MARK = rf"\[{_BEHIND_PUNCTUATION}[a-z]{{1,2}}\](?!\w)"
_REFERENCE_MARK = re.compile(f"{_NUMBERED_MARK}|{_LETTER_MARK}", re.IGNORECASE)
# Behind punctuation or a word of four letters; "m²" and "km²" are units.
_OTHER_RAISED = "⁴".encode()[:2]
_RAISED_MARKS = re.compile(
    r"[¹²³⁰⁴-⁹](?:(?<=[.,;:!?\"”’)].)|(?<=[a-z]{4}.))[¹²³⁰⁴-⁹]*(?:[,–⁻][¹²³⁰⁴-⁹]+)*"
)
# Links and images of Markdown, ![label](address "title"); an address has a dot, a slash or a hash.
_LINK = re.compile(
    r"!?\[([^\[\]\n]*)\]\(\s*(?:<[^<>\n]*>|(?=[^\s()]*[./#])[^\s()<>]*(?:\([^\s()]*\)[^\s()]*)*)"
    r"(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'))?\s*\)"
)
# Tags of HTML in a line, and addresses in angle brackets.
_TAG = re.compile(
    r"</?(?:a|abbr|b|cite|code|del|em|font|i|ins|mark|s|small|span|strong|sub|sup|u)"
    r"(?:\s[^<>\n]*=[^<>\n]*)?>|<https?://[^<>\s]*>",
    re.IGNORECASE,
)
# Entities of HTML that are left in text: "an old&nbsp;key", "Smith &amp; Sons".
_ENTITY = re.compile(r"&(?:nbsp|amp|quot|apos|lt|gt|shy|[lr][sd]quo|[nm]dash|hellip|#\d{2,5});")
_LINE_BREAK = re.compile(r" ?<br ?/?> ?", re.IGNORECASE)
# Daggers of footnotes behind a word or its full stop; before a word they mean "died".
_DAGGERS = re.compile(r"[†‡](?<=[\w.,;:!?\"”’)†‡].)[†‡]*(?!\w)")
# Emphasis and code of Markdown: **old**, __old__, ~~old~~, _old_, `old`.
_EMPHASIS = re.compile(
    r"([*_~`])(?<![\w*_~`].)(\1{0,2})(?=[^\s*_~`])([^*_~`\n]*)(?<=[^\s*_~`])\1\2(?![\w*_~`]|\.\w)"
)


def drop_invisible(text: str) -> str:
    """`text` without the characters that have no width, and with Windows' dashes and quotes."""
    # `isprintable` is several times as fast as the search, and true for nearly every line.
    if text.isascii():
        return text
    has_marks = any(mark in text for mark in _INVISIBLE_MARKS)
    if not has_marks and text.replace("\n", "").isprintable():
        return text
    text = _WINDOWS_CHARACTER.sub(lambda character: _WINDOWS[character[0]], text)
    return _INVISIBLE.sub("", text)


def normal_form(text: str) -> str:
    """`text` in Unicode normal form C, without invisible characters.

    NFC changes no word: it only joins a letter and its combining marks into the single code point
    that MediaWiki, most keyboards and the training data of parsers use, so that one word is not
    counted under two encodings. NFKC is not applied: it would change the text (``m²`` -> ``m2``).
    """
    return text if text.isascii() else unicodedata.normalize("NFC", drop_invisible(text))


def without_reference_marks(text: str) -> str:
    """`text` without marks of references in brackets."""
    return _REFERENCE_MARK.sub("", text) if "[" in text else text


def without_marks(text: str) -> str:
    """`text` without marks of references, the markup of links and emphasis, and entities."""
    if "<" in text and ("</" in text or "/>" in text or "<http" in text):
        text = _LINE_BREAK.sub(" ", _TAG.sub("", text))
    if "&" in text:
        text = _ENTITY.sub(lambda entity: unescape(entity[0]).replace("\u00a0", " "), text)
    if "](" in text:
        # Twice, since an image may be the label of a link.
        text = _LINK.sub(r"\1", _LINK.sub(r"\1", text))
    text = without_reference_marks(text)
    if not text.isascii() and _may_have_raised_marks(text):
        text = _RAISED_MARKS.sub("", text)
    if "†" in text or "‡" in text:
        text = _DAGGERS.sub("", text)
    if "*" in text or "_" in text or "~" in text or "`" in text:
        text = _EMPHASIS.sub(r"\3", text)
    return text


def _may_have_raised_marks(text: str) -> bool:
    return "¹" in text or "²" in text or "³" in text or _OTHER_RAISED in text.encode()


def has_line_end_hyphen(text: str) -> bool:
    """Whether a line of `text`, but for the last, ends with a hyphen."""
    if "-\n" in text or text.isascii():
        return "-\n" in text
    return "\u2010\n" in text or "\u00ad\n" in text or "¬\n" in text


def is_cut(line: str, following: str) -> bool:
    """Whether a line ends within a word that the `following` line continues.

    The hyphen of "pre-" before "and post-war" stands for a word that is not repeated.
    """
    mark = line[-1:]
    if mark not in _LINE_END_HYPHENS:
        return False
    is_suspended = following.partition(" ")[0] in ("and", "or", "to")
    is_broken = line[-2:-1].isalpha() and following[:1].islower() and not is_suspended
    return is_broken or mark == SOFT_HYPHEN


def without_page_numbers(lines: list[str]) -> list[str]:
    """`lines` without page numbers between the parts of a word that the end of a page cuts."""
    return _PAGE_NUMBER.sub("", "\n".join(lines)).split("\n")


def join_lines(line: str, following: str) -> str:
    """A line that `is_cut` and the following one.

    The hyphen goes if it is a soft one, if the dictionary has the whole word ("eco-", "nomic"), if
    the next line cuts the word once more ("nom-"), or if the word is a name ("Euro-", "pean"); else
    it is one of the word ("well-", "known").
    """
    stem = line[:-1]
    part = following[:-1]
    if following[-1:] in _LINE_END_HYPHENS and part.isalpha() and not _is_word(part):
        return stem + following
    start = drop_invisible(stem.rpartition(" ")[2].lstrip("([{\"'“‘").rpartition("-")[2])
    end = drop_invisible(re.match(r"\w*", following)[0])  # type: ignore[index]
    is_whole = _is_word((start + end).lower()) or _is_name(start, end)
    if line[-1] in (SOFT_HYPHEN, "¬") or is_whole:
        return stem + following
    return line + following


def _is_name(start: str, end: str) -> bool:
    """Whether two parts are a name, which the dictionary lacks: not both are words ("Vice-")."""
    if len(start) < 2 or not start[0].isupper():
        return False
    return not (_is_word(start.lower()) and _is_word(end))


# Words of closed classes, which the dictionary lacks, that are long enough to be cut.
_CLOSED_WORDS = (
    "about above across after against although among another around because before behind below "
    "beneath beside besides between beyond during either except himself herself itself myself "
    "ourselves themselves yourself neither nobody nothing should someone something through "
    "throughout together toward towards under until unless upon whatever whenever where whereas "
    "whether which whoever whose within without would anything everything everyone"
)
_CLOSED_CLASSES = frozenset(_CLOSED_WORDS.split())


@lru_cache(maxsize=1 << 14)
def _is_word(word: str) -> bool:
    # Imported here because unpacking the dictionary takes most of a second.
    from adnominal.etl.knowledge.inflection import getAllLemmas

    return word in _CLOSED_CLASSES or bool(getAllLemmas(word))
