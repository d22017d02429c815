"""Wikitext to running text: the sentences of an article, without its markup.

The running text contains paragraphs, the labels of links, list items that are sentences, and what
the templates of `etl.corpora.wikitext_templates` add to a sentence (numbers with units, foreign
words, dashes). It does not contain any other template, tables, references, files with their
captions, categories, formulas, code, galleries, headings (they are names of sections, not
sentences), and list items that are not sentences (names, titles, works cited), because a parser
would invent a sentence structure for them.

All passes are linear in the text: every pattern consumes what it scans, braces are matched with
a stack, and templates are expanded for at most `_MAX_DEPTH` levels. Malformed markup costs at most
the rest of its line, never the rest of the article.
"""

import html
import re
from collections import Counter
from collections.abc import Callable

from adnominal.etl.corpora.normalisation import (
    drop_invisible,
    normal_form,
    without_reference_marks,
)
from adnominal.etl.corpora.wikitext_paragraphs import paragraphs_of, without_gaps
from adnominal.etl.corpora.wikitext_templates import (
    PIPE,
    SUPERSCRIPTS,
    function_of,
    is_unknown_function,
    renderer_of,
)

# ------------------------------------------------------------------- comments and elements

# Elements whose content is not running text.
_REMOVED_ELEMENTS = (
    "ref|references|math|chem|ce|gallery|timeline|syntaxhighlight|source|score|imagemap|hiero|"
    "graph|templatedata|templatestyles|mapframe|maplink|pre|style|script|section|indicator|"
    "inputbox|includeonly|categorytree|table|code|del|rt|rp"
)
_ELEMENT = re.compile(
    rf"<(?:!--|(nowiki|{_REMOVED_ELEMENTS})(?=[\s/>])[^<>]*?(/?)>)", re.IGNORECASE
)
# An element that is a word of its sentence: "the <code>for</code> loop", "where <math>x</math> is".
_is_word = re.compile(r"\s*[A-Za-z0-9]+(?:-[A-Za-z]+)*\s*").fullmatch
# If something is removed between a space and one of these, the space is removed too.
_NO_SPACE_BEFORE = frozenset([*" ,;:.!?)\n", ""])
_ZERO_WIDTH = "\u200b"  # removed at the end
_NOWIKI_MARKUP = re.compile(r"[\[\]{}|'<>=*#:;!_&\n]")
_CLOSING: dict[str, re.Pattern[str]] = {
    name: re.compile(rf"</{name}\s*>", re.IGNORECASE)
    for name in ["nowiki", *_REMOVED_ELEMENTS.split("|")]
}
_TABLE_TAG = re.compile(r"<(/?)table\b[^<>]*>", re.IGNORECASE)


def _closing_tag(text: str, name: str, start: int) -> tuple[int, int] | None:
    """The span of the tag that closes an element with content from `start` on, if there is one."""
    if name == "table":
        depth = 1
        for tag in _TABLE_TAG.finditer(text, start):
            depth += -1 if tag[1] else 1
            if depth == 0:
                return tag.span()
        return None
    closing = _CLOSING[name].search(text, start)
    return closing.span() if closing else None


def _separator(text: str, start: int, end: int) -> str:
    """What an empty ``<nowiki/>`` leaves: between apostrophes, it separates them (''Kim''<>'s)."""
    return _ZERO_WIDTH if text[start - 1 : start] == text[end : end + 1] == "'" else ""


def _without_elements(text: str) -> str:
    """`text` without comments and without the elements of `_REMOVED_ELEMENTS`.

    An element that is never closed loses only its tag; a comment runs to the end, as in MediaWiki.
    """
    parts = []
    position = 0
    never_closed = set()
    opening = _ELEMENT.search(text)
    while opening:
        parts.append(text[position : opening.start()])
        position = opening.end()
        name = opening[1]
        if name is None:
            end = text.find("-->", position)
            position = len(text) if end < 0 else end + 3
        elif opening[2]:
            if name.lower() == "nowiki":
                parts.append(_separator(text, opening.start(), position))
        else:
            name = name.lower()
            span = None if name in never_closed else _closing_tag(text, name, position)
            if span is None:
                never_closed.add(name)
            else:
                content_end, tag_end = span
                if name == "nowiki" and position == content_end:
                    parts.append(_separator(text, opening.start(), tag_end))
                elif name == "nowiki":
                    # As entities, its characters pass every later step unchanged.
                    content = _without_entities(text[position:content_end])
                    parts.append(_NOWIKI_MARKUP.sub(lambda m: f"&#{ord(m[0])};", content))
                elif name in ("code", "math") and _is_word(text, position, content_end):
                    parts.append(text[position:content_end].strip())
                elif parts[-1].endswith(" ") and text[tag_end : tag_end + 1] in _NO_SPACE_BEFORE:
                    parts[-1] = parts[-1][:-1]
                position = tag_end
        opening = _ELEMENT.search(text, position)
    if not position:
        return text
    parts.append(text[position:])
    return "".join(parts)


# ------------------------------------------------------------------- templates and tables

_MAX_DEPTH = 8
# Reasons why a construct is left out of the text although it may add to it.
PARSER_FUNCTION = "parser_function"  # its value is not known here: {{#expr:3*4}}
UNCLOSED = "unclosed_template"  # braces that are closed or opened nowhere in the section
TOO_DEEP = "template_too_deep"
_MAX_NAME = 100
# Two patterns that begin with a literal: merging their matches takes a third of the time of one
# pattern with an alternation.
_OPENING_BRACES = re.compile(r"\{(?:\{+|\|)")
_CLOSING_BRACES = re.compile(r"\}\}*")
_SECTION = re.compile(r"\n==(?=[^=\n])")
_span_of: Callable[[re.Match[str]], tuple[int, int]] = re.Match.span
# To the end of the sentence, which is as far as the template can be told from the text.
_OPEN_BRACES = re.compile(r"\{\{(?:[^{}\n.!?]|[.!?](?!\s))*\}?")
_CLOSE_BRACES = re.compile(r"\}\}+")
_LINK_OR_PIPE = re.compile(r"\[\[[^\[\]]*\]\]|\|")


def _closed_braces(text: str) -> list[tuple[int, int, str]]:
    """The templates (``{``) and tables (``|``) of `text` that are closed, as (start, end, kind).

    A heading of the second level discards whatever is still open before it, so that one missing
    brace does not remove the rest of the article.

    Openings wait on a stack. Closing braces close what was opened last: of two or three braces
    (``{{{``) as many as both sides have. A table is closed only by its own ``|}``, which also
    discards the templates that were opened in it and never closed; so does a template with tables.
    """
    spans = []
    stack: list[list[int]] = []  # [start, number of braces; 0 for a table]
    braces = tables = 0  # how many of each kind are on the stack
    sections = [m.start() for m in _SECTION.finditer(text)]
    sections.append(len(text))
    section = 0
    tokens = [*map(_span_of, _OPENING_BRACES.finditer(text))]
    tokens += map(_span_of, _CLOSING_BRACES.finditer(text))
    tokens.sort()
    for start, end in tokens:
        if sections[section] < start:
            while sections[section] < start:
                section += 1
            stack.clear()
            braces = tables = 0
        if text[start] == "}":
            run = end - start
            if text[start - 1] == "|" and run == 1:
                if tables and _begins_line(text, start - 1):
                    while stack[-1][1]:
                        stack.pop()
                        braces -= 1
                    spans.append((stack.pop()[0], end, "|"))
                    tables -= 1
                continue
            while run >= 2 and braces:
                while stack[-1][1] == 0:
                    stack.pop()
                    tables -= 1
                opening = stack[-1]
                matched = min(3, run, opening[1])
                start += matched
                spans.append((opening[0] + opening[1] - matched, start, "{"))
                run -= matched
                opening[1] -= matched
                if opening[1] < 2:
                    stack.pop()
                    braces -= 1
        elif text[end - 1] == "{":
            stack.append([start, end - start])
            braces += 1
        elif _begins_line(text, start):
            stack.append([start, 0])
            tables += 1
    spans.sort()
    return spans


def _begins_line(text: str, position: int) -> bool:
    """Whether only colons and spaces precede `position` on its line."""
    while position and text[position - 1] in ": \t":
        position -= 1
    return position == 0 or text[position - 1] == "\n"


_SPACES_FROM = re.compile(" *")


def _without_templates(text: str, depth: int, unread: Counter[str]) -> str:
    """`text` without tables, and with templates replaced by their text.

    `unread` counts what cannot be read, by reason.
    """
    parts = []
    position = 0
    begins_line = False
    for start, end, kind in _closed_braces(text):
        if start < position:
            continue
        begins_line = text[start - 1 : start] == "\n" or (begins_line and start == position)
        replacement = _template(text, start + 2, end - 2, depth, unread) if kind == "{" else ""
        spaced = text[start - 1 : start] == " " and text[end : end + 1] in _NO_SPACE_BEFORE
        if spaced and not replacement:
            # "word {{citation needed}}." must not leave "word ."
            parts.append(text[position : max(position, start - 1)])
        else:
            parts += [text[position:start], replacement]
        position = end
        if replacement.endswith("\n") or (begins_line and not replacement):
            # The space behind must not become the mark of a preformatted line.
            position = _SPACES_FROM.match(text, end).end()  # type: ignore[union-attr]
    if position:
        parts.append(text[position:])
        text = "".join(parts)
    if "{{" in text:
        text, count = _OPEN_BRACES.subn("", text)
        unread[UNCLOSED] += count
    if "}}" in text:
        text, count = _CLOSE_BRACES.subn("", text)
        unread[UNCLOSED] += count
    return text


def _template(text: str, start: int, end: int, depth: int, unread: Counter[str]) -> str:
    """The text of the template or parser function between `start` and `end` (without braces)."""
    if depth == _MAX_DEPTH:
        unread[TOO_DEEP] += 1
        return ""
    if text[start] == "{":  # {{{parameter|default}}}: articles have no parameters
        default = text[start + 1 : end - 1].partition("|")[2]
        return _without_templates(default, depth + 1, unread)
    name, separator = _name(text, start, end)
    unread_before = unread.total()
    has_inner = "{{" in name
    if has_inner:
        # The argument of a function may be a template: {{formatnum:{{population|12}}}}.
        text = _without_templates(text[start:end], depth + 1, unread)
        start, end = 0, len(text)
        name, separator = _name(text, start, end)
    function, colon, _ = name.partition(":")
    render = function_of(function) if colon else None
    if render is not None:
        separator = start + len(function)
    elif is_unknown_function(name):
        unread[PARSER_FUNCTION] += 1
        return ""
    else:
        render = renderer_of(name)
    if render is None:
        return ""
    arguments: list[str] = []
    named_arguments: dict[str, str] = {}
    if separator >= 0:
        # The pipe of a link inside an argument separates parts of the link, not arguments.
        body = _without_templates(text[separator + 1 : end], depth + 1, unread)
        position = 0
        borders = [m.start() for m in _LINK_OR_PIPE.finditer(body) if m[0] == "|"]
        for border in [*borders, len(body)]:
            argument = body[position:border]
            position = border + 1
            key, equals, value = argument.partition("=")
            # A URL or a tag may contain "="; names of parameters are short words.
            if equals and len(key) < 30 and not any(mark in key for mark in "<[/&"):
                named_arguments[key.strip().lower()] = value.strip()
            else:
                arguments.append(argument.strip())
    for number in range(1, 4):
        if str(number) in named_arguments:
            while len(arguments) < number:
                arguments.append("")
            arguments[number - 1] = named_arguments[str(number)]
    rendered = render(arguments, named_arguments)
    if has_inner and not rendered and unread.total() == unread_before:
        unread[PARSER_FUNCTION] += 1
    return rendered


def _name(text: str, start: int, end: int) -> tuple[str, int]:
    """What is before the first pipe of a template, and the place of the pipe; -1 without one."""
    limit = min(end, start + _MAX_NAME)
    pipe = text.find("|", start, limit)
    return text[start : limit if pipe < 0 else pipe], pipe


# ------------------------------------------------------------------- links

# Labels and targets without a colon have no namespace: the label, or else the target, is the text.
# Splitting at a pattern with one group and joining the parts replaces every link by that group
# without a call of a Python function for each.
_PLAIN_LINK = re.compile(r"\[\[(?:[^\[\]|:\n]*\|)?([^\[\]|:\n]+)\]\]")
_EXTERNAL_LINK = re.compile(
    r"\[(?:(?:https?:|ftps?:|irc:|git:|svn:|gopher:|telnet:)?//|mailto:|news:|urn:|tel:)"
    r'[^\[\]<>"\s]*([^\[\]\n]*)\]',
    re.IGNORECASE,
)
_URL = re.compile(r"https?://[^\s\[\]<>\"{}|]+")
_OTHER_LINK = re.compile(r"\[\[([^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*)\]\]")
_OPEN_FILE = re.compile(r"\[\[\s*(?:file|image|media|category)\s*:[^\n]*", re.IGNORECASE)
_NAMESPACES_WITHOUT_TEXT = {"file", "image", "media", "category"}
_LANGUAGE_CODE = re.compile(r"[a-z]{2,3}(?:-[a-z]+)*|simple").fullmatch


_REMOVED = "\0"  # in place of a link without text, until all links are replaced
# The space behind must not become the mark of a preformatted line.
_REMOVED_AT_LINE_START = re.compile(r"(?<=\n)\0[\0 ]*")


def _link(link: re.Match[str]) -> str:
    """What remains of a link in double brackets: its label, or nothing for a file or category."""
    content = link[1]
    target, pipe, label = content.partition("|")
    target = target.strip()
    namespace, colon, name = target.removeprefix(":").partition(":")
    namespace = namespace.strip()
    if colon and not target.startswith(":"):
        if namespace.lower() in _NAMESPACES_WITHOUT_TEXT:
            # A caption has no blank line: the brackets of this one do not match.
            end = content.find("\n\n")
            return _REMOVED if end < 0 else content[end:]
        if _LANGUAGE_CODE(namespace) and not pipe:
            return _REMOVED  # a link to the article in another language, displayed beside the text
    if label.strip():
        return label
    # The colon of "Dune: Part Two" is one of the title.
    return name if target.startswith(":") else target.removeprefix("#")


def _without_links(text: str) -> str:
    """The text with links replaced by what readers see of them."""
    if "[" in text:
        text = "".join(_PLAIN_LINK.split(text))
        text = "".join(_EXTERNAL_LINK.split(text))
        # Innermost first: captions of files may contain links and files.
        for _ in range(_MAX_DEPTH):
            text, count = _OTHER_LINK.subn(_link, text)
            if not count:
                break
        if _REMOVED in text:
            text = _REMOVED_AT_LINE_START.sub("", text).replace(_REMOVED, "")
        if "[[" in text:
            text = _OPEN_FILE.sub("", text).replace("[[", "")
        text = text.replace("]]", "")
    if "http" in text:
        text = _URL.sub("", text)
    return text


# ------------------------------------------------------------------- tags, quotes, entities

_BLOCK_TAG = re.compile(
    r"</?(?:br|p|div|blockquote|li|ul|ol|dl|dd|dt|center|hr|poem|h[1-6]|tr|td|th|tbody|thead|table"
    r"|caption|references|gallery)(?=[\s/>])[^<>]*>",
    re.IGNORECASE,
)
_INLINE_TAG = re.compile(
    r"</?(?:sub|sup|small|big|span|b|i|u|s|em|strong|tt|kbd|samp|var|cite|font|strike|ins|q|abbr"
    r"|acronym|dfn|mark|bdi|bdo|wbr|time|data|ruby|rb|rt|rp|rtc|noinclude|onlyinclude|translate"
    rf"|tvar|langconvert|nowiki|{_REMOVED_ELEMENTS})(?=[\s/>])[^<>]*>",
    re.IGNORECASE,
)
_SUPERSCRIPT = re.compile(r"<sup>\s*([-+−]?\d{1,3})\s*</sup>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,30});")


def _without_entities(text: str) -> str:
    """`text` with the characters that its entities stand for."""
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)


_BEHAVIOUR_SWITCH = re.compile(r"__[A-Z]{3,}__")
_QUOTES = re.compile(r"''+")
_THREE_IN_WORD = re.compile(r"(?<=[^\s'])'''(?!')")
_FOUR_APOSTROPHES = re.compile(r"''''+")


def _apostrophes_of_run(run: re.Match[str]) -> str:
    """The apostrophes of four or more that are part of the text."""
    length = len(run[0])
    return "&apos;" if length == 4 else "&apos;" * (length - 5)


def _apostrophe_of_line(line: str) -> int:
    """Where a line has three apostrophes of which the first is part of the text; -1 if nowhere.

    They are an apostrophe and the mark of italics if the line has an odd number of threes and of
    twos, as MediaWiki reads ``''Time'''s``, and first those after one letter (``l'''Avenir''``).
    """
    runs = Counter(map(len, _QUOTES.findall(line)))
    if not ((runs[3] + runs[5]) % 2 and (runs[2] + runs[5]) % 2):
        return -1
    places = [three.start() for three in _THREE_IN_WORD.finditer(line)]
    after_letter = [place for place in places if line[place - 2 : place - 1] == " "]
    return next(iter(after_letter or places), -1)


def _without_quotes(text: str) -> str:
    """`text` without the marks of bold and italic letters.

    The first of four apostrophes is part of the text (``l''''Avenir'''``), and of more than five
    all but the last five; of three see `_apostrophe_of_line`.
    """
    if "'''" in text:
        lines = text.split("\n")
        for number, line in enumerate(lines):
            place = _apostrophe_of_line(line) if "'''" in line else -1
            if place >= 0:
                lines[number] = f"{line[:place]}&apos;{line[place + 1 :]}"
        text = "\n".join(lines)
    if "''''" in text:
        text = _FOUR_APOSTROPHES.sub(_apostrophes_of_run, text)
    return _QUOTES.sub("", text)


# Searched for one by one, which is faster than one pass with a set: most texts have few of them.
_SPACES = "\t\r\v\f\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)


def running_text(wikitext: str, unread: Counter[str] | None = None) -> str:
    """The running text of a page's wikitext: one paragraph per line, white space collapsed, in NFC.

    It raises no error for any markup, and takes time linear in the length of the page. `unread`, if
    given, counts the templates and parser functions that could not be read, by reason.
    """
    text = _without_elements(wikitext)
    text = _without_templates("\n" + text, 0, Counter() if unread is None else unread)
    text = text.replace(PIPE, "|")
    text = _without_links(text)
    if "<" in text:
        text = _SUPERSCRIPT.sub(lambda m: m[1].translate(SUPERSCRIPTS), text)
        text = _BLOCK_TAG.sub("\n\n", text)
        text = _INLINE_TAG.sub("", text)
    text = _without_quotes(text)
    if "__" in text:
        text = _BEHAVIOUR_SWITCH.sub("", text)
    text = "\n".join(paragraphs_of(text))
    if "&" in text:
        text = _without_entities(text)
    for character in _SPACES:
        if character in text:
            text = text.replace(character, " ")
    text = drop_invisible(text)
    while "  " in text:
        text = text.replace("  ", " ")
    return normal_form(without_gaps(without_reference_marks(text)))
