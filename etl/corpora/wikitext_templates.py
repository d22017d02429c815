"""The text that Wikipedia's templates add to their sentence.

The arguments of a template arrive as text: the positional ones in a list, the named ones in a
dictionary with names in lower case.
"""

import functools
import re
from collections.abc import Callable

Renderer = Callable[[list[str], dict[str, str]], str]
PIPE = "\ue000"
"""In place of {{!}}, which does not separate the arguments of the template around it."""


def _argument(index: int) -> Renderer:
    """A template that shows its argument at this index (-1: the last one)."""
    return lambda arguments, named_arguments: next(iter(arguments[index:]), "")


_first, _second, _last = _argument(0), _argument(1), _argument(-1)


def _constant_renderer(text: str) -> Renderer:
    return lambda arguments, named_arguments: text


def _joined_arguments(separator: str, prefix: str = "") -> Renderer:
    return lambda arguments, named_arguments: prefix + separator.join(a for a in arguments if a)


def _affix_renderer(prefix: str, suffix: str) -> Renderer:
    def render(arguments: list[str], named_arguments: dict[str, str]) -> str:
        text = _first(arguments, named_arguments)
        return prefix + text + suffix if text else ""

    return render


def _quotation(arguments: list[str], named_arguments: dict[str, str]) -> str:
    """A block quotation: only its text, as a separate paragraph."""
    named = named_arguments.get("text") or named_arguments.get("quote")
    text = named or _first(arguments, named_arguments)
    return f"\n\n{text}\n\n"


def _ship_of(prefix: str) -> Renderer:
    return lambda arguments, named_arguments: f"{prefix} {arguments[0]}" if arguments else prefix


SUPERSCRIPTS = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_MONTHS = [
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
]
_MONTH_NUMBER = re.compile(r"0?[1-9]|1[0-2]", re.ASCII).fullmatch


def _date(arguments: list[str], named_arguments: dict[str, str]) -> str:
    """``{{start date|2004|2|1}}``: 1 February 2004."""
    year, month, day = [*arguments, "", "", ""][:3]
    if _MONTH_NUMBER(month):
        month = _MONTHS[int(month) - 1]
    return " ".join(part for part in (day, month, year) if part)


def _as_of(arguments: list[str], named_arguments: dict[str, str]) -> str:
    if "alt" in named_arguments:
        return named_arguments["alt"]
    words = "since" if "since" in named_arguments else "as of"
    words = words if "lc" in named_arguments else words.capitalize()
    return f"{words} {_date(arguments, named_arguments)}"


def _power_of_ten(exponent: str) -> str:
    return f" × 10{exponent.translate(SUPERSCRIPTS)}"


def _times_ten(arguments: list[str], named_arguments: dict[str, str]) -> str:
    return _power_of_ten(arguments[0]) if arguments else ""


def _fraction(arguments: list[str], named_arguments: dict[str, str]) -> str:
    if len(arguments) == 3:
        return f"{arguments[0]} {arguments[1]}/{arguments[2]}"
    return "/".join(arguments) if len(arguments) == 2 else f"1/{arguments[0]}" if arguments else ""


def _value(arguments: list[str], named_arguments: dict[str, str]) -> str:
    """``{{val|9.81|u=m/s}}``: the number, its power of ten and its unit."""
    number = _first(arguments, named_arguments)
    power = _power_of_ten(named_arguments["e"]) if named_arguments.get("e") else ""
    unit = named_arguments.get("u") or named_arguments.get("ul") or ""
    return f"{number}{power} {unit}".strip()


# The most frequent units of {{convert}}, as singular and plural by code. Any other unit is written
# as its code.
_REGULAR_UNITS = (
    "km:kilometre m:metre cm:centimetre mm:millimetre mi:mile yd:yard acre:acre acres:acre "
    "ha:hectare kg:kilogram g:gram t:tonne lb:pound lbs:pound oz:ounce L:litre l:litre kW:kilowatt "
    "MW:megawatt kn:knot kPa:kilopascal ly:light-year nmi:nautical_mile km2:square_kilometre "
    "m2:square_metre sqkm:square_kilometre sqm:square_metre sqmi:square_mile mi2:square_mile "
    "ST:short_ton LT:long_ton m3:cubic_metre km3:cubic_kilometre USgal:US_gallon "
    "AU:astronomical_unit"
)
_REGULAR = (unit.replace("_", " ").split(":") for unit in _REGULAR_UNITS.split())
_UNITS = {code: (name, f"{name}s") for code, name in _REGULAR} | {
    "ft": ("foot", "feet"),
    "in": ("inch", "inches"),
    "sqft": ("square foot", "square feet"),
    "cuft": ("cubic foot", "cubic feet"),
    "C": ("°C", "°C"),
    "F": ("°F", "°F"),
    "K": ("K", "K"),
    "hp": ("horsepower", "horsepower"),
    "km/h": ("kilometre per hour", "kilometres per hour"),
    "mph": ("mile per hour", "miles per hour"),
    "m/s": ("metre per second", "metres per second"),
}
_RANGE_WORDS = {word: f" {word} " for word in ("to", "to about", "and", "or", "by", "×", "±")} | {
    "-": "–",
    "–": "–",
    "to(-)": " to ",
    "and(-)": " and ",
    "x": " × ",
    "+/-": " ± ",
    "&": " and ",
}
_NUMBER = re.compile(r"[-+−±~]?[\d.,/+⁄½¼¾ ]+(?:e[-+]?\d+)?").fullmatch
_COMPOUND_UNITS = {"ft", "in", "lb", "oz", "st", "mi", "yd"}


def _convert(arguments: list[str], named_arguments: dict[str, str]) -> str:
    """``{{convert|10|to|20|km|mi}}``: the number or range and its unit, not converted."""
    text, unit, behind_unit = "", "", 0
    for position, argument in enumerate(arguments, 1):
        if _NUMBER(argument):
            text += argument
        elif not text:
            return ""
        elif argument in _RANGE_WORDS and position < len(arguments):
            text += _RANGE_WORDS[argument]
        else:
            unit, behind_unit = argument, position
            break
    if not unit:
        return text
    second_part = arguments[behind_unit : behind_unit + 2]
    if (
        unit in _COMPOUND_UNITS
        and len(second_part) == 2
        and _NUMBER(second_part[0])
        and second_part[1] in _COMPOUND_UNITS
    ):
        # 5 ft 11 in
        return (
            f"{text} {_unit(unit, text)} {second_part[0]} {_unit(second_part[1], second_part[0])}"
        )
    if named_arguments.get("adj") in ("on", "mid"):
        singular = _UNITS.get(unit, (unit, unit))[0]
        return f"{text}-{singular}" if singular[0].isalpha() else f"{text} {singular}"
    return f"{text} {_unit(unit, text)}"


def _unit(code: str, number: str) -> str:
    return _UNITS.get(code, (code, code))[0 if number == "1" else 1]


def _aliases(names: str, renderer: Renderer) -> dict[str, Renderer]:
    return dict.fromkeys((name.strip() for name in names.split(";")), renderer)


# Renderers by the template's name in lower case. Any other template leaves no text: most are
# notices, boxes, citations and navigation.
_TEMPLATES: dict[str, Renderer] = {
    # show their first argument, in other letters or with a note
    **_aliases(
        "nowrap; nobr; nobreak; no break; no wrap; nwr; j; awrap; small; smaller; big; larger; "
        "large; midsize; nobold; noitalic; normal; sc; smallcaps; small caps; sc2; smallcaps2; em; "
        "strong; bold; italic; underline; strikethrough; overline; dfn; bdi; tooltip; abbr; "
        "abbrlink; vanchor; visible anchor; visanc; sic; as written; not a typo; notatypo; typo; "
        "proper name; angbr; angle bracket; keypress; key press; mono; samp; kbd; var; mvar; math; "
        "sub; linktext; nihongo; nihongo2; unicode; nastaliq; polytonic; flag; flagcountry; flagu; "
        "ill; interlanguage link; formatnum; nts; number; inline block; resize text",
        _first,
    ),
    # show the second, after a language, script, colour, size or address
    **_aliases(
        "lang; langx; script; rtl-lang; ltr-lang; lang-rtl; tlit; wt; wikt-lang; color; colour; "
        "font color; font colour; fontcolor; resize; plainlink",
        _second,
    ),
    # show the last
    **_aliases("transl; transliteration; translit", _last),
    # characters
    **_aliases("ndash; en dash; nsndash; nsnd; ndashb", _constant_renderer("–")),
    **_aliases("mdash; em dash; mdashb; emdash", _constant_renderer("—")),
    **_aliases(
        "snd; spnd; sndash; spndash; spaced ndash; spaced en dash", _constant_renderer(" – ")
    ),
    **_aliases(
        "nbsp; space; spaces; thinsp; thin space; hair space; nnbsp", _constant_renderer(" ")
    ),
    # (as entities, which do not add to the apostrophes of italics before them)
    **_aliases("'; apostrophe; `", _constant_renderer("&apos;")),
    "'s": _constant_renderer("&apos;s"),
    **_aliases("' \"; '\"", _constant_renderer('&apos;"')),
    **_aliases("\" '; \"'", _constant_renderer('"&apos;')),
    **_aliases("okina; 'okina; ʻokina", _constant_renderer("ʻ")),
    **_aliases("hamza; hamzah", _constant_renderer("ʾ")),
    **_aliases("ayin; ayn; ain", _constant_renderer("ʿ")),
    "pi": _constant_renderer("π"),
    **_aliases("dot; middot; ·; bullet; •", _constant_renderer(" · ")),
    "=": _constant_renderer("="),
    "!": _constant_renderer(PIPE),
    **_aliases("clear; -; br; break; crlf; pb; paragraph break", _constant_renderer("\n\n")),
    # numbers, dates, measures
    **_aliases("convert; cvt; conv", _convert),
    **_aliases("val; value", _value),
    **_aliases("frac; fraction; sfrac", _fraction),
    **_aliases("as of; asof", _as_of),
    **_aliases("dts; start date; end date; date", _date),
    **_aliases("circa; c.; ca.; ca", _joined_arguments(" ", "c. ")),
    **_aliases("floruit; fl.", _joined_arguments("–", "fl. ")),
    **_aliases("reign; r.", _joined_arguments("–", "r. ")),
    **_aliases("bce", _affix_renderer("", " BCE")),
    **_aliases("bc", _affix_renderer("", " BC")),
    "ce": _affix_renderer("", " CE"),
    "ad": _affix_renderer("AD ", ""),
    **_aliases("us$; usd", _affix_renderer("US$", "")),
    **_aliases("gbp; £; pound", _affix_renderer("£", "")),
    **_aliases("eur; €; euro", _affix_renderer("€", "")),
    **_aliases("inr; indian rupee", _affix_renderer("₹", "")),
    **_aliases("jpy; ¥; yen", _affix_renderer("¥", "")),
    "e": _times_ten,
    **_aliases("chem; chem2", _joined_arguments("")),
    # names
    **_aliases("sortname; ship", lambda arguments, named_arguments: " ".join(arguments[:2])),
    **{
        prefix.lower(): _ship_of(prefix)
        for prefix in ("USS", "HMS", "SS", "RMS", "HMAS", "HMCS", "SMS")
    },
    # quotations, as separate paragraphs
    **_aliases("quote; blockquote; cquote; quotation; bquote; poem quote", _quotation),
}


def _if(arguments: list[str], named_arguments: dict[str, str]) -> str:
    """``{{#if: test | text | other text }}``"""
    test, text, other_text = [*arguments, *[""] * 3][:3]
    return text if test else other_text


def _if_equal(arguments: list[str], named_arguments: dict[str, str]) -> str:
    """``{{#ifeq: a | b | text | other text }}``"""
    first, second, text, other_text = [*arguments, *[""] * 4][:4]
    return text if first == second else other_text


def _plural(arguments: list[str], named_arguments: dict[str, str]) -> str:
    """``{{plural: 2 | page | pages }}``"""
    number, singular, plural = [*arguments, *[""] * 3][:3]
    return plural if plural and number != "1" else singular


def _changing_renderer(change: Callable[[str], str]) -> Renderer:
    return lambda arguments, named_arguments: change(_first(arguments, named_arguments))


# Functions of MediaWiki's parser by name, as {{NAME: first argument | second argument }}.
_FUNCTIONS: dict[str, Renderer] = {
    "lc": _changing_renderer(str.lower),
    "uc": _changing_renderer(str.upper),
    "lcfirst": _changing_renderer(lambda text: text[:1].lower() + text[1:]),
    "ucfirst": _changing_renderer(lambda text: text[:1].upper() + text[1:]),
    "#if": _if,
    "#ifeq": _if_equal,
    "plural": _plural,
    **_aliases("formatnum; #formatdate; #dateformat", _first),
    # no text of the sentence: references, sort keys, addresses
    **_aliases(
        "#tag; defaultsort; displaytitle; #coordinates; fullurl; localurl; canonicalurl; filepath; "
        "urlencode; anchorencode",
        _constant_renderer(""),
    ),
}


# Variables of MediaWiki, and functions without "#", whose values are not known here.
_VARIABLE_NAMES = (
    "pagename fullpagename basepagename subpagename sitename currentyear currentmonth currentday "
    "currentmonthname currentdayname numberofarticles numberofpages numberofusers"
)
_VARIABLES = frozenset(_VARIABLE_NAMES.split())
_UNKNOWN_FUNCTIONS = _VARIABLES | {"padleft", "padright", "gender", "grammar", "int", "ns", "msgnw"}


def is_unknown_function(name: str) -> bool:
    """Whether `name` is that of a function or variable whose value is not known here."""
    function, colon, _ = name.strip().lower().partition(":")
    return function.startswith("#") or function in (_UNKNOWN_FUNCTIONS if colon else _VARIABLES)


def function_of(name: str) -> Renderer | None:
    """The renderer of the parser function called `name`; None for other names."""
    return _FUNCTIONS.get(name.strip().lower())


@functools.lru_cache(maxsize=1 << 14)
def renderer_of(name: str) -> Renderer | None:
    """The renderer of the template called `name`; None for a template that leaves no text."""
    name = " ".join(name.lower().replace("_", " ").split())
    name = name.removeprefix("template:").lstrip()
    if name in _TEMPLATES:
        return _TEMPLATES[name]
    return _first if name.startswith(("lang-", "script/")) else None
