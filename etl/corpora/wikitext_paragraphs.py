"""Find the paragraphs of an article after templates, links and tags were removed."""

import re

_MARKUP_CHARACTERS = frozenset("=*#:;|!{}-")
_LIST_MARK = re.compile(r"[*#:;]+\s*")
_CLOSING_MARKS = "\"'”’)]"
_SENTENCE_END = frozenset(".!?…")
_MIN_WORDS = 5
_WORK_CITED = re.compile(r"\bISBN\b|\bISSN\b|\bOCLC\b|\bdoi:", re.IGNORECASE)
# Sections that list works and links; their list items are not running text.
_WORKS_HEADINGS = (
    "references; reference; notes; footnotes; citations; sources; bibliography; "
    "selected bibliography; further reading; external links; see also; works cited; "
    "literature; notes and references; references and notes; references and further "
    "reading; publications; primary sources; secondary sources; filmography; "
    "discography; gallery"
)
_SECTIONS_OF_WORKS = frozenset(_WORKS_HEADINGS.split("; "))


def _ends_sentence(text: str) -> bool:
    return text.rstrip(_CLOSING_MARKS)[-1:] in _SENTENCE_END


def _is_like_a_sentence(text: str) -> bool:
    return (
        text.count(" ") >= _MIN_WORDS - 1 and _ends_sentence(text) and not _WORK_CITED.search(text)
    )


def _paragraph_of(lines: list[str]) -> list[str]:
    """The paragraph that `lines` form, in a list that is empty if they are a label.

    A label has no sentence end and has fewer than `_MIN_WORDS` words or is data of a book.
    """
    text = " ".join(lines)
    if text[-1] == ":" or _ends_sentence(text):
        return [text]
    if text.count(" ") < _MIN_WORDS - 1 or (len(text) < 200 and _WORK_CITED.search(text)):
        return []
    return [text]


def _text_of_marked_line(raw: str, line: str, in_works: bool) -> str:
    """The part of a line that begins with markup which may be a sentence; else empty.

    `line` is `raw` without the white space around it; `in_works` tells whether it is in a section
    that lists works.
    """
    mark = line[0]
    if raw[0] == " " and mark not in "=|!{}":
        return line  # preformatted: mostly code and diagrams, at times a paragraph by mistake
    if mark in "*#:;":
        item = _LIST_MARK.sub("", line, count=1)
        if mark == ";":
            # ; term : explanation
            item = item.partition(" : ")[2] or item
        return "" if in_works else item
    if mark != "=" and (mark == "|" or "|" in line or "!!" in line[1:]):
        return ""
    # !, { and } are marks of tables, and ---- is a rule, but a sentence may begin with them.
    return line


def paragraphs_of(text: str) -> list[str]:
    """The paragraphs of `text`: adjoining lines are one, as in MediaWiki; list items are not.

    A line with markup at its beginning (a list item, an indented line) is kept only if it is like a
    sentence. A section of works (discography, bibliography) lists titles, so less is kept there.
    """
    paragraphs: list[str] = []
    lines: list[str] = []
    works_level = 0  # level of the heading of the current section of works; 0 outside of one

    for raw in text.split("\n"):
        line = raw.strip()
        if line and line[0] not in _MARKUP_CHARACTERS and raw[0] != " ":
            lines.append(line)
            continue
        if lines:
            paragraphs += _paragraph_of(lines)
            lines.clear()
        if not line:
            continue
        if line[0] == "=" and line[-1] == "=":
            level = len(line) - len(line.lstrip("="))
            if not works_level or level <= works_level:
                is_works = line.strip("= '").lower() in _SECTIONS_OF_WORKS
                works_level = level if is_works else 0
        else:
            candidate = _text_of_marked_line(raw, line, works_level > 0)
            if _is_like_a_sentence(candidate):
                paragraphs.append(candidate)
    if lines:
        paragraphs += _paragraph_of(lines)
    return paragraphs


# What removed templates leave in parentheses: nothing, a word that introduced them, separators.
_INTRODUCTORY_WORDS = (
    r"(?:pronounced|pronunciation|IPA|listen|audio|literally|lit\.|transliteration|transliterated"
    r"|romanized|[A-Z][a-z]+(?: [A-Z][a-z]+)?:)"
)
_EMPTY_PARENTHESES = re.compile(rf"\((?:\s|[;,:–—/]|\b{_INTRODUCTORY_WORDS}(?=[;,:)\s]))*\)")
_AFTER_OPENING = re.compile(r"\(\s*(?:[;,:]\s*)+|\(\s+")
_REPEATED_SEPARATORS = [re.compile(r",(?: *[;,])+"), re.compile(r";(?: *[;,])+")]
_SPACE_BEFORE_GAP = re.compile(r" *\0+(?=[\s,;:.!?)]|\Z)")


def without_gaps(text: str) -> str:
    """`text` without the punctuation that removed templates leave behind."""
    if "(" in text:
        *inside, last = text.split(")")
        text = ")".join([*[part.rstrip(" ,;:") for part in inside], last])
        text = _AFTER_OPENING.sub("(", text)
        text, count = _EMPTY_PARENTHESES.subn("\0", text)
        if count:
            text = _SPACE_BEFORE_GAP.sub("", text).replace("\0", "")
    for mark, repeated in zip(",;", _REPEATED_SEPARATORS, strict=True):
        text = repeated.sub(mark, text)
    return text
