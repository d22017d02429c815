"""Wikitext to running text: the sentences of an article, without its markup.

Kept: paragraphs, the labels of links, list items that are sentences, and what the templates of
`_TEMPLATES` put into a sentence (numbers with units, foreign words, dashes). Left out: every other
template, tables, references, files with their captions, categories, formulas, code, galleries,
headings (names of sections, no sentences), and list items that are no sentences (names, titles,
works cited), since a parser would make up a sentence structure for them.

All passes are linear in the text: every pattern consumes what it scans, braces are matched with
a stack, and templates are put in for at most `_MAX_DEPTH` levels. Malformed markup costs at most
the rest of its line, never the rest of the article.
"""

from __future__ import annotations

import functools
import html
import re
from collections import Counter
from collections.abc import Callable

from etl.corpora.documents import normal_form

# ------------------------------------------------------------------- comments and elements

# Elements whose content is no running text.
_REMOVED = (
    "ref|references|math|chem|ce|gallery|timeline|syntaxhighlight|source|score|imagemap|hiero|"
    "graph|templatedata|templatestyles|mapframe|maplink|pre|style|script|section|indicator|"
    "inputbox|includeonly|categorytree|table|code|del"
)
_ELEMENT = re.compile(rf"<(?:!--|(nowiki|{_REMOVED})(?=[\s/>])[^<>]*?(/?)>)", re.IGNORECASE)
# What stands for a word in its sentence: "the <code>for</code> loop", "where <math>x</math> is".
_WORD = re.compile(r"\s*[A-Za-z0-9]+(?:-[A-Za-z]+)*\s*").fullmatch
# Where something was removed after a space and one of these follows, the space goes too.
_NO_SPACE_BEFORE = frozenset([*" ,;:.!?)\n", ""])
_NOWIKI_MARKUP = re.compile(r"[\[\]{}|'<>=*#:;!_\n]")
_CLOSING: dict[str, re.Pattern[str]] = {
    name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in ["nowiki", *_REMOVED.split("|")]
}
_TABLE_TAG = re.compile(r"<(/?)table\b[^<>]*>", re.IGNORECASE)


def _close(text: str, name: str, start: int) -> tuple[int, int] | None:
    """Where the content of an element that opens before `start` ends, and where its tag ends."""
    if name == "table":
        depth = 1
        for tag in _TABLE_TAG.finditer(text, start):
            depth += -1 if tag[1] else 1
            if depth == 0:
                return tag.span()
        return None
    closing = _CLOSING[name].search(text, start)
    return closing.span() if closing else None


def _without_elements(text: str) -> str:
    """`text` without comments and without the elements of `_REMOVED`.

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
        elif not opening[2]:
            name = name.lower()
            ends = None if name in never_closed else _close(text, name, position)
            if ends is None:
                never_closed.add(name)
            else:
                if name == "nowiki":
                    # As entities its characters pass every later step and come out as they are.
                    content = text[position : ends[0]]
                    parts.append(_NOWIKI_MARKUP.sub(lambda m: f"&#{ord(m[0])};", content))
                elif name in ("code", "math") and _WORD(text, position, ends[0]):
                    parts.append(text[position : ends[0]].strip())
                elif parts[-1].endswith(" ") and text[ends[1] : ends[1] + 1] in _NO_SPACE_BEFORE:
                    parts[-1] = parts[-1][:-1]
                position = ends[1]
        opening = _ELEMENT.search(text, position)
    if not position:
        return text
    parts.append(text[position:])
    return "".join(parts)


# ------------------------------------------------------------------- templates and tables

_MAX_DEPTH = 8
_MAX_NAME = 100
# Two patterns that begin with a literal: their matches, merged, cost a third of one alternation.
_OPENING_BRACES = re.compile(r"\{(?:\{+|\|)")
_CLOSING_BRACES = re.compile(r"\}\}*")
_SECTION = re.compile(r"\n==(?=[^=\n])")
_SPAN: Callable[[re.Match[str]], tuple[int, int]] = re.Match.span
_OPEN_BRACES = re.compile(r"\{\{[^{}\n]*\}?")
_LINK_OR_PIPE = re.compile(r"\[\[[^\[\]]*\]\]|\|")


def _balanced(text: str) -> list[tuple[int, int, str]]:
    """The templates (``{``) and tables (``|``) of `text` that are closed, as (start, end, kind).

    A heading of the second level closes nothing but ends what was forgotten open before it: one
    missing brace must not take the rest of the article along.
    """
    closed = []
    stack: list[list[int]] = []  # [start, number of braces; 0 for a table]
    braces = tables = 0  # frames of each kind on the stack
    sections = [m.start() for m in _SECTION.finditer(text)]
    sections.append(len(text))
    section = 0
    tokens = [*map(_SPAN, _OPENING_BRACES.finditer(text))]
    tokens += map(_SPAN, _CLOSING_BRACES.finditer(text))
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
                    closed.append((stack.pop()[0], end, "|"))
                    tables -= 1
                continue
            while run >= 2 and braces:
                while stack[-1][1] == 0:
                    stack.pop()
                    tables -= 1
                frame = stack[-1]
                matched = min(3, run, frame[1])
                start += matched
                closed.append((frame[0] + frame[1] - matched, start, "{"))
                run -= matched
                frame[1] -= matched
                if frame[1] < 2:
                    stack.pop()
                    braces -= 1
        elif text[end - 1] == "{":
            stack.append([start, end - start])
            braces += 1
        elif _begins_line(text, start):
            stack.append([start, 0])
            tables += 1
    closed.sort()
    return closed


_TextOf = Callable[[list[str], dict[str, str]], str]


def _begins_line(text: str, position: int) -> bool:
    """Whether only colons and spaces stand between the beginning of the line and `position`."""
    while position and text[position - 1] in ": \t":
        position -= 1
    return position == 0 or text[position - 1] == "\n"


def _without_templates(text: str, depth: int = 0) -> str:
    """`text` without tables, and with templates replaced by what they put into a sentence."""
    parts = []
    position = 0
    for start, end, kind in _balanced(text):
        if start < position:
            continue
        shown = _template(text, start + 2, end - 2, depth) if kind == "{" else ""
        if shown or text[start - 1 : start] != " " or text[end : end + 1] not in _NO_SPACE_BEFORE:
            parts.append(text[position:start])
            parts.append(shown)
        else:
            # "word {{citation needed}}." must not leave "word ."
            parts.append(text[position : max(position, start - 1)])
        position = end
    if position:
        parts.append(text[position:])
        text = "".join(parts)
    if "{{" in text:
        text = _OPEN_BRACES.sub("", text)
    return text


@functools.lru_cache(maxsize=1 << 14)
def _text_of(name: str) -> _TextOf | None:
    """What shows the template of that name, as it is written; None if nothing does."""
    name = " ".join(name.lower().replace("_", " ").split())
    if name in _TEMPLATES:
        return _TEMPLATES[name]
    if name.startswith(("lang-", "script/")):
        return _first
    return _constant(name[10:]) if name.startswith("formatnum:") else None


def _template(text: str, start: int, end: int, depth: int) -> str:
    """What the template between `start` and `end`, braces excluded, puts into its sentence."""
    if depth == _MAX_DEPTH:
        return ""
    limit = min(end, start + _MAX_NAME)
    pipe = text.find("|", start, limit)
    text_of = _text_of(text[start : limit if pipe < 0 else pipe])
    if text_of is None:
        return ""
    arguments: list[str] = []
    named: dict[str, str] = {}
    if pipe >= 0:
        # The pipe of a link inside an argument divides the link, not the template.
        body = _without_templates(text[pipe + 1 : end], depth + 1)
        position = 0
        borders = [m.start() for m in _LINK_OR_PIPE.finditer(body) if m[0] == "|"]
        for border in [*borders, len(body)]:
            argument = body[position:border]
            position = border + 1
            key, equals, value = argument.partition("=")
            # "=" may stand in a URL or tag; names of parameters are short words.
            if equals and len(key) < 30 and not any(mark in key for mark in "<[/&"):
                named[key.strip().lower()] = value.strip()
            else:
                arguments.append(argument.strip())
    for number in range(1, 4):
        if str(number) in named:
            while len(arguments) < number:
                arguments.append("")
            arguments[number - 1] = named[str(number)]
    return text_of(arguments, named)


def _argument(number: int) -> _TextOf:
    """A template that shows its argument of that number (-1: its last)."""

    def text_of(arguments: list[str], named: dict[str, str]) -> str:
        if number < 0:
            return arguments[-1] if arguments else ""
        return arguments[number - 1] if len(arguments) >= number else ""

    return text_of


_first = _argument(1)


def _constant(text: str) -> _TextOf:
    return lambda arguments, named: text


def _joined(separator: str, before: str = "") -> _TextOf:
    return lambda arguments, named: before + separator.join(a for a in arguments if a)


def _between(before: str, after: str) -> _TextOf:
    def text_of(arguments: list[str], named: dict[str, str]) -> str:
        return before + arguments[0] + after if arguments and arguments[0] else ""

    return text_of


def _quotation(arguments: list[str], named: dict[str, str]) -> str:
    """A block quotation: its text alone, as a paragraph of its own."""
    text = named.get("text") or named.get("quote") or (arguments[0] if arguments else "")
    return f"\n\n{text}\n\n"


def _ship_of(prefix: str) -> _TextOf:
    return lambda arguments, named: f"{prefix} {arguments[0]}" if arguments else prefix


_RAISED = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_MONTHS = [
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
]
_MONTH_NUMBER = re.compile(r"0?[1-9]|1[0-2]", re.ASCII).fullmatch


def _date(arguments: list[str], named: dict[str, str]) -> str:
    """``{{start date|2004|2|1}}``: 1 February 2004."""
    year, month, day = [*arguments, "", "", ""][:3]
    if _MONTH_NUMBER(month):
        month = _MONTHS[int(month) - 1]
    return " ".join(part for part in (day, month, year) if part)


def _as_of(arguments: list[str], named: dict[str, str]) -> str:
    if "alt" in named:
        return named["alt"]
    words = "since" if "since" in named else "as of"
    return f"{words if 'lc' in named else words.capitalize()} {_date(arguments, named)}"


def _power_of_ten(exponent: str) -> str:
    return f" × 10{exponent.translate(_RAISED)}"


def _times_ten(arguments: list[str], named: dict[str, str]) -> str:
    return _power_of_ten(arguments[0]) if arguments else ""


def _fraction(arguments: list[str], named: dict[str, str]) -> str:
    if len(arguments) == 3:
        return f"{arguments[0]} {arguments[1]}/{arguments[2]}"
    return "/".join(arguments) if len(arguments) == 2 else f"1/{arguments[0]}" if arguments else ""


def _value(arguments: list[str], named: dict[str, str]) -> str:
    """``{{val|9.81|u=m/s}}``: the number, its power of ten and its unit."""
    number = arguments[0] if arguments else ""
    power = _power_of_ten(named["e"]) if named.get("e") else ""
    unit = named.get("u") or named.get("ul") or ""
    return f"{number}{power} {unit}".strip()


# The commonest units of {{convert}}: code, name in the singular, name in the plural. What is not
# here stands in the text as its code.
_UNITS = {
    code: (one, many)
    for code, one, many in (
        line.split("|")
        for line in """\
km|kilometre|kilometres
m|metre|metres
cm|centimetre|centimetres
mm|millimetre|millimetres
mi|mile|miles
ft|foot|feet
in|inch|inches
yd|yard|yards
nmi|nautical mile|nautical miles
km2|square kilometre|square kilometres
m2|square metre|square metres
sqkm|square kilometre|square kilometres
sqm|square metre|square metres
sqmi|square mile|square miles
mi2|square mile|square miles
sqft|square foot|square feet
acre|acre|acres
acres|acre|acres
ha|hectare|hectares
kg|kilogram|kilograms
g|gram|grams
t|tonne|tonnes
lb|pound|pounds
lbs|pound|pounds
oz|ounce|ounces
ST|short ton|short tons
LT|long ton|long tons
L|litre|litres
l|litre|litres
m3|cubic metre|cubic metres
km3|cubic kilometre|cubic kilometres
cuft|cubic foot|cubic feet
USgal|US gallon|US gallons
C|°C|°C
F|°F|°F
K|K|K
kW|kilowatt|kilowatts
MW|megawatt|megawatts
hp|horsepower|horsepower
km/h|kilometre per hour|kilometres per hour
mph|mile per hour|miles per hour
kn|knot|knots
m/s|metre per second|metres per second
kPa|kilopascal|kilopascals
AU|astronomical unit|astronomical units
ly|light-year|light-years
""".splitlines()
    )
}
_RANGE_WORDS = {
    "-": "–",
    "–": "–",
    "to": " to ",
    "to(-)": " to ",
    "to about": " to about ",
    "and": " and ",
    "and(-)": " and ",
    "or": " or ",
    "by": " by ",
    "x": " × ",
    "×": " × ",
    "+/-": " ± ",
    "±": " ± ",
    "&": " and ",
}
_NUMBER = re.compile(r"[-+−±~]?[\d.,/+⁄½¼¾ ]+(?:e[-+]?\d+)?").fullmatch
_PARTS = {"ft", "in", "lb", "oz", "st", "mi", "yd"}


def _convert(arguments: list[str], named: dict[str, str]) -> str:
    """``{{convert|10|to|20|km|mi}}``: the number or range and its own unit; not the conversion."""
    text, unit, position = "", "", 0
    numbers = 0
    while position < len(arguments):
        word = arguments[position]
        if _NUMBER(word):
            text += word
            numbers += 1
        elif word in _RANGE_WORDS and numbers and position + 1 < len(arguments):
            text += _RANGE_WORDS[word]
        elif numbers:
            unit = word
            break
        else:
            return ""
        position += 1
    if not unit:
        return text
    rest = arguments[position + 1 : position + 3]
    if unit in _PARTS and len(rest) == 2 and _NUMBER(rest[0]) and rest[1] in _PARTS:
        # 5 ft 11 in
        return f"{text} {_unit(unit, text)} {rest[0]} {_unit(rest[1], rest[0])}"
    if named.get("adj") in ("on", "mid"):
        one = _UNITS.get(unit, (unit, unit))[0]
        return f"{text}-{one}" if one[0].isalpha() else f"{text} {one}"
    return f"{text} {_unit(unit, text)}"


def _unit(code: str, number: str) -> str:
    return _UNITS.get(code, (code, code))[0 if number == "1" else 1]


def _each(names: str, text_of: _TextOf) -> dict[str, _TextOf]:
    return dict.fromkeys((name.strip() for name in names.split(";")), text_of)


# What a template puts into a sentence, by its name in lower case. A template that is not here
# leaves nothing: most are notices, boxes, citations and navigation.
_TEMPLATES: dict[str, _TextOf] = {
    # its first argument, in other letters or with a note
    **_each(
        "nowrap; nobr; nobreak; no break; no wrap; nwr; j; awrap; small; smaller; big; larger; "
        "large; midsize; nobold; noitalic; normal; sc; smallcaps; small caps; sc2; smallcaps2; em; "
        "strong; bold; italic; underline; strikethrough; overline; dfn; bdi; tooltip; abbr; "
        "abbrlink; vanchor; visible anchor; visanc; sic; as written; not a typo; notatypo; typo; "
        "proper name; angbr; angle bracket; keypress; key press; mono; samp; kbd; var; mvar; math; "
        "sub; linktext; nihongo; nihongo2; unicode; nastaliq; polytonic; flag; flagcountry; flagu; "
        "ill; interlanguage link; formatnum; nts; number; inline block; resize text",
        _first,
    ),
    # its second: after a language, script, colour, size or address
    **_each(
        "lang; langx; script; rtl-lang; ltr-lang; lang-rtl; tlit; wt; wikt-lang; color; colour; "
        "font color; font colour; fontcolor; resize; plainlink",
        _argument(2),
    ),
    # its last
    **_each("transl; transliteration; translit", _argument(-1)),
    # characters
    **_each("ndash; en dash; nsndash; nsnd; ndashb", _constant("–")),
    **_each("mdash; em dash; mdashb; emdash", _constant("—")),
    **_each("snd; spnd; sndash; spndash; spaced ndash; spaced en dash", _constant(" – ")),
    **_each("nbsp; space; spaces; thinsp; thin space; hair space; nnbsp", _constant(" ")),
    **_each("'; apostrophe; `", _constant("'")),
    "'s": _constant("'s"),
    **_each("' \"; '\"", _constant("'\"")),
    **_each("\" '; \"'", _constant("\"'")),
    **_each("okina; 'okina; ʻokina", _constant("ʻ")),
    **_each("hamza; hamzah", _constant("ʾ")),
    **_each("ayin; ayn; ain", _constant("ʿ")),
    "pi": _constant("π"),
    **_each("dot; middot; ·; bullet; •", _constant(" · ")),
    "=": _constant("="),
    **_each("clear; -; br; break; crlf; pb; paragraph break", _constant("\n\n")),
    # numbers, dates, measures
    **_each("convert; cvt; conv", _convert),
    **_each("val; value", _value),
    **_each("frac; fraction; sfrac", _fraction),
    **_each("as of; asof", _as_of),
    **_each("dts; start date; end date; date", _date),
    **_each("circa; c.; ca.; ca", _joined(" ", "c. ")),
    **_each("floruit; fl.", _joined("–", "fl. ")),
    **_each("reign; r.", _joined("–", "r. ")),
    **_each("bce", _between("", " BCE")),
    **_each("bc", _between("", " BC")),
    "ce": _between("", " CE"),
    "ad": _between("AD ", ""),
    **_each("us$; usd", _between("US$", "")),
    **_each("gbp; £; pound", _between("£", "")),
    **_each("eur; €; euro", _between("€", "")),
    **_each("inr; indian rupee", _between("₹", "")),
    **_each("jpy; ¥; yen", _between("¥", "")),
    "e": _times_ten,
    **_each("chem; chem2", _joined("")),
    # names
    **_each("sortname; ship", lambda arguments, named: " ".join(arguments[:2])),
    "uss": _ship_of("USS"),
    "hms": _ship_of("HMS"),
    "ss": _ship_of("SS"),
    "rms": _ship_of("RMS"),
    "hmas": _ship_of("HMAS"),
    "hmcs": _ship_of("HMCS"),
    "sms": _ship_of("SMS"),
    # quotations, as a paragraph of their own
    **_each("quote; blockquote; cquote; quotation; bquote; poem quote", _quotation),
}

# ------------------------------------------------------------------- links

# Labels and targets without a colon: no namespace, so the label, or else the target, is the text.
# A split with one group that always takes part, joined again, replaces every link by that group
# without a Python call for each.
_PLAIN_LINK = re.compile(r"\[\[(?:[^\[\]|:\n]*\|)?([^\[\]|:\n]*)\]\]")
_EXTERNAL_LINK = re.compile(
    r"\[(?:(?:https?:|ftps?:|irc:|git:|svn:|gopher:|telnet:)?//|mailto:|news:|urn:|tel:)"
    r'[^\[\]<>"\s]*([^\[\]\n]*)\]',
    re.IGNORECASE,
)
_URL = re.compile(r"https?://[^\s\[\]<>\"{}|]+")
_OTHER_LINK = re.compile(r"\[\[([^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*)\]\]")
_OPEN_FILE = re.compile(r"\[\[\s*(?:file|image|media|category)\s*:[^\n]*", re.IGNORECASE)
_NO_TEXT = {"file", "image", "media", "category"}
_LANGUAGE_CODE = re.compile(r"[a-z]{2,3}(?:-[a-z]+)*|simple").fullmatch


def _link(link: re.Match[str]) -> str:
    content = link[1]
    target, pipe, label = content.partition("|")
    target = target.strip()
    namespace, colon, name = target.removeprefix(":").partition(":")
    namespace = namespace.strip()
    if colon and not target.startswith(":"):
        if namespace.lower() in _NO_TEXT:
            # A caption has no blank line and no heading: the brackets of this one do not match.
            end = content.find("\n\n")
            return "" if end < 0 else content[end:]
        if _LANGUAGE_CODE(namespace) and not pipe:
            return ""  # a link to the article in another language, shown beside the text
    if label.strip():
        return label
    return name if colon else target.removeprefix("#")


def _without_links(text: str) -> str:
    if "[" in text:
        text = "".join(_PLAIN_LINK.split(text))
        text = "".join(_EXTERNAL_LINK.split(text))
        # Innermost first: files whose captions hold links and files.
        for _ in range(_MAX_DEPTH):
            text, count = _OTHER_LINK.subn(_link, text)
            if not count:
                break
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
    rf"|tvar|langconvert|nowiki|{_REMOVED})(?=[\s/>])[^<>]*>",
    re.IGNORECASE,
)
_SUPERSCRIPT = re.compile(r"<sup>\s*([-+−]?\d{1,3})\s*</sup>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,30});")
_SWITCH = re.compile(r"__[A-Z]{3,}__")
_QUOTES = re.compile(r"''+")
_THREE_AND_S = re.compile(r"'''s\b")
_FOUR = re.compile(r"''''+")


def _without_quotes(text: str) -> str:
    """`text` without the marks of bold and italic letters.

    Of four apostrophes the first is one (``l''''Avenir'''``). Three between a word and an ``s`` are
    one and the end of italics if the line has an odd number of threes and of twos, which is how
    MediaWiki reads ``''Time'''s``.
    """
    parts = []
    position = 0
    line_end = -1
    for found in _THREE_AND_S.finditer(text):
        start = found.start()
        if start < line_end or text[start - 1 : start] in ("", " ", "\n", "'"):
            continue
        line_end = text.find("\n", start)
        if line_end < 0:
            line_end = len(text)
        line = text[text.rfind("\n", 0, start) + 1 : line_end]
        runs = Counter(map(len, _QUOTES.findall(line)))
        if (runs[3] + runs[5]) % 2 and (runs[2] + runs[5]) % 2:
            parts += [text[position:start], "&apos;"]
            position = start + 3
    text = "".join([*parts, text[position:]])
    if "''''" in text:
        text = _FOUR.sub(lambda run: "&apos;" if len(run[0]) == 4 else "", text)
    return _QUOTES.sub("", text)


# ------------------------------------------------------------------- paragraphs

# Looked for one by one, which costs less than one pass with a set: most texts hold none of them.
_FORMAT_CHARACTERS = "\u00ad\u200b\u200e\u200f\u2060\u2066\u2067\u2068\u2069\ufeff" + "".join(
    map(chr, range(0x202A, 0x202F))
)
_SPACES = "\t\r\v\f\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_MARKED = frozenset("=*#:;|!{}-")
_LIST_MARK = re.compile(r"[*#:;]+\s*")
_CLOSING_MARKS = "\"'”’)]"
_SENTENCE_END = frozenset(".!?…")
_MIN_WORDS = 5
_WORK_CITED = re.compile(r"\bISBN\b|\bISSN\b|\bOCLC\b|\bdoi:", re.IGNORECASE)
# Sections that list works and links; their list items are no running text.
_LISTS_OF_WORKS = {
    "references",
    "reference",
    "notes",
    "footnotes",
    "citations",
    "sources",
    "bibliography",
    "selected bibliography",
    "further reading",
    "external links",
    "see also",
    "works cited",
    "literature",
    "notes and references",
    "references and notes",
    "references and further reading",
    "publications",
    "primary sources",
    "secondary sources",
    "filmography",
    "discography",
    "gallery",
}


def _ends_sentence(text: str) -> bool:
    return text.rstrip(_CLOSING_MARKS)[-1:] in _SENTENCE_END


def _sentence_like(text: str) -> bool:
    return (
        text.count(" ") >= _MIN_WORDS - 1 and _ends_sentence(text) and not _WORK_CITED.search(text)
    )


def _paragraph(lines: list[str]) -> list[str]:
    """The paragraph that `lines` make, unless it is a mere label: under `_MIN_WORDS` words, or data
    of a book, and no sentence's end."""
    text = " ".join(lines)
    if text[-1] == ":" or _ends_sentence(text):
        return [text]
    if text.count(" ") < _MIN_WORDS - 1 or (len(text) < 200 and _WORK_CITED.search(text)):
        return []
    return [text]


def _paragraphs(text: str) -> list[str]:
    """The paragraphs of `text`: adjoining lines are one, as in MediaWiki, list items are not."""
    paragraphs: list[str] = []
    lines: list[str] = []
    works_level = 0  # level of the heading of a section of works, while inside one

    for raw in text.split("\n"):
        line = raw.strip()
        if line and line[0] not in _MARKED and raw[0] != " ":
            lines.append(line)
            continue
        if lines:
            paragraphs += _paragraph(lines)
            lines.clear()
        if not line:
            continue
        mark = line[0]
        if raw[0] == " " and mark not in "=|!{}":
            # Preformatted: mostly code and diagrams, at times a paragraph by mistake.
            if _sentence_like(line):
                paragraphs.append(line)
        elif mark == "=":
            if line[-1] == "=":
                level = len(line) - len(line.lstrip("="))
                if not works_level or level <= works_level:
                    listed = line.strip("= '").lower() in _LISTS_OF_WORKS
                    works_level = level if listed else 0
            elif _sentence_like(line):
                paragraphs.append(line)
        elif mark in "*#:;":
            item = _LIST_MARK.sub("", line, count=1)
            if mark == ";":
                # ; term : explanation
                item = item.partition(" : ")[2] or item
            if not works_level and _sentence_like(item):
                paragraphs.append(item)
        elif mark != "|" and "|" not in line and "!!" not in line[1:] and _sentence_like(line):
            # ! and {, } are marks of tables, ---- is a rule; but a sentence may begin with them.
            paragraphs.append(line)
    if lines:
        paragraphs += _paragraph(lines)
    return paragraphs


# What removed templates leave in parentheses: nothing, a word that announced them, separators.
_ANNOUNCED = (
    r"(?:pronounced|pronunciation|IPA|listen|audio|literally|lit\.|transliteration|transliterated"
    r"|romanized|[A-Z][a-z]+(?: [A-Z][a-z]+)?:)"
)
_EMPTY = re.compile(rf"\((?:\s|[;,:–—/]|\b{_ANNOUNCED}(?=[;,:)\s]))*\)")
_AFTER_OPENING = re.compile(r"\(\s*(?:[;,:]\s*)+|\(\s+")
_DOUBLED = [re.compile(r",(?: *[;,])+"), re.compile(r";(?: *[;,])+")]
_SPACE_BEFORE_GAP = re.compile(r" *\0+(?=[\s,;:.!?)]|\Z)")


def _mended(text: str) -> str:
    """`text` with the punctuation that removed templates leave behind taken out."""
    if "(" in text:
        *inside, last = text.split(")")
        text = ")".join([*[part.rstrip(" ,;:") for part in inside], last])
        text = _AFTER_OPENING.sub("(", text)
        text, count = _EMPTY.subn("\0", text)
        if count:
            text = _SPACE_BEFORE_GAP.sub("", text).replace("\0", "")
    for mark, doubled in zip(",;", _DOUBLED, strict=True):
        text = doubled.sub(mark, text)
    return text


def running_text(wikitext: str) -> str:
    """The running text of a page's wikitext: one paragraph a line, whitespace collapsed, in NFC.

    Never raises, whatever the markup; takes time linear in its length.
    """
    text = _without_elements(wikitext)
    text = _without_templates("\n" + text)
    text = _without_links(text)
    if "<" in text:
        text = _SUPERSCRIPT.sub(lambda m: m[1].translate(_RAISED), text)
        text = _BLOCK_TAG.sub("\n\n", text)
        text = _INLINE_TAG.sub("", text)
    text = _without_quotes(text)
    if "__" in text:
        text = _SWITCH.sub("", text)
    text = "\n".join(_paragraphs(text))
    if "&" in text:
        text = _ENTITY.sub(lambda m: html.unescape(m[0]), text)
    for character in _FORMAT_CHARACTERS:
        if character in text:
            text = text.replace(character, "")
    for character in _SPACES:
        if character in text:
            text = text.replace(character, " ")
    while "  " in text:
        text = text.replace("  ", " ")
    return normal_form(_mended(text))


# ------------------------------------------------------------------- what is left

# Kind: what must be in the text for it (sought first, since that is fast), and its pattern.
_RESIDUAL: dict[str, tuple[tuple[str, ...], re.Pattern[str]]] = {
    kind: (tuple(needles.split()), re.compile(pattern))
    for kind, needles, pattern in (
        ("link", "[[ ]]", r"\[\[|\]\]"),
        ("template", "{{ }}", r"\{\{|\}\}"),
        ("table", "{| |} || |-", r"\{\||\|\}|\|\||\|-"),
        ("pipe", "|", r"(?<![|{])\|(?![|}-])"),
        ("quotes", "''", r"''+"),
        ("tag", "<", r"</?[a-zA-Z]+(?=[\s/>])"),
        ("comment", "<!-- -->", r"<!--|-->"),
        ("entity", "&", r"&(?:#\d+|#x[0-9a-fA-F]+|[a-zA-Z]{2,10});"),
        ("url", ":// www.", r"\b(?:https?|ftp)://|\bwww\."),
        (
            "file",
            "File: Image: Category: Media: thumb px",
            r"\b(?:File|Image|Category|Media):|\bthumb\b(?=\||$)|\b\d+px\b",
        ),
        (
            "attribute",
            "=",
            r"\b(?:style|class|align|valign|width|colspan|rowspan|bgcolor|cellpadding)\s*=",
        ),
        ("heading", "==", r"==+"),
        ("switch", "__", r"__[A-Z]{3,}__"),
        ("parentheses", "( ) [", r"\(\s*\)|\[\s*\]|\(\s*[;,:]|[;,]\s*\)"),
        ("list", "* # : ;", r"(?m:^[*#:;]+)"),
        (
            "reference",
            "ISBN accessdate cite",
            r"\bISBN\s*=|\baccessdate\b|\bcite (?:web|book|news|journal)\b",
        ),
    )
}


def residual_markup(text: str) -> Counter[str]:
    """How often each kind of markup still stands in running text.

    Counted: brackets of links, braces of templates, marks of tables and lone pipes, doubled
    apostrophes, tags, comments, entities, URLs (with scheme or ``www.``), words of files and of
    table attributes, ``==``, behaviour switches, parentheses that are empty or begin or end with a
    separator, list marks at the beginning of a line, and parameters of citations. A character that
    an article means as such (a pipe in a text on pipes) counts too.
    """
    counts: Counter[str] = Counter()
    for kind, (needles, pattern) in _RESIDUAL.items():
        if any(needle in text for needle in needles):
            found = sum(1 for _ in pattern.finditer(text))
            if found:
                counts[kind] = found
    return counts
