"""The text that Wikipedia's templates add to their sentence.

The arguments of a template arrive as text: the positional ones in a list, the named ones in a
dictionary with names in lower case.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

Renderer = Callable[[list[str], dict[str, str]], str]


def _argument(number: int) -> Renderer:
    """A template that shows its argument with this number (-1: the last one)."""

    def render(arguments: list[str], named_arguments: dict[str, str]) -> str:
        if number < 0:
            return arguments[-1] if arguments else ""
        return arguments[number - 1] if len(arguments) >= number else ""

    return render


_first = _argument(1)


def _constant(text: str) -> Renderer:
    return lambda arguments, named_arguments: text


def _joined_arguments(separator: str, prefix: str = "") -> Renderer:
    return lambda arguments, named_arguments: prefix + separator.join(a for a in arguments if a)


def _between(prefix: str, suffix: str) -> Renderer:
    def render(arguments: list[str], named_arguments: dict[str, str]) -> str:
        return prefix + arguments[0] + suffix if arguments and arguments[0] else ""

    return render


def _quotation(arguments: list[str], named_arguments: dict[str, str]) -> str:
    """A block quotation: only its text, as a separate paragraph."""
    text = (
        named_arguments.get("text")
        or named_arguments.get("quote")
        or (arguments[0] if arguments else "")
    )
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
    number = arguments[0] if arguments else ""
    power = _power_of_ten(named_arguments["e"]) if named_arguments.get("e") else ""
    unit = named_arguments.get("u") or named_arguments.get("ul") or ""
    return f"{number}{power} {unit}".strip()


# The most frequent units of {{convert}}: code, singular, plural. Any other unit is written as its
# code.
_UNITS = {
    code: (singular, plural)
    for code, singular, plural in (
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
_COMPOUND_UNITS = {"ft", "in", "lb", "oz", "st", "mi", "yd"}


def _convert(arguments: list[str], named_arguments: dict[str, str]) -> str:
    """``{{convert|10|to|20|km|mi}}``: the number or range and its unit, not converted."""
    text, unit, position = "", "", 0
    numbers = 0
    while position < len(arguments):
        argument = arguments[position]
        if _NUMBER(argument):
            text += argument
            numbers += 1
        elif argument in _RANGE_WORDS and numbers and position + 1 < len(arguments):
            text += _RANGE_WORDS[argument]
        elif numbers:
            unit = argument
            break
        else:
            return ""
        position += 1
    if not unit:
        return text
    second_part = arguments[position + 1 : position + 3]
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
        _argument(2),
    ),
    # show the last
    **_aliases("transl; transliteration; translit", _argument(-1)),
    # characters
    **_aliases("ndash; en dash; nsndash; nsnd; ndashb", _constant("–")),
    **_aliases("mdash; em dash; mdashb; emdash", _constant("—")),
    **_aliases("snd; spnd; sndash; spndash; spaced ndash; spaced en dash", _constant(" – ")),
    **_aliases("nbsp; space; spaces; thinsp; thin space; hair space; nnbsp", _constant(" ")),
    **_aliases("'; apostrophe; `", _constant("'")),
    "'s": _constant("'s"),
    **_aliases("' \"; '\"", _constant("'\"")),
    **_aliases("\" '; \"'", _constant("\"'")),
    **_aliases("okina; 'okina; ʻokina", _constant("ʻ")),
    **_aliases("hamza; hamzah", _constant("ʾ")),
    **_aliases("ayin; ayn; ain", _constant("ʿ")),
    "pi": _constant("π"),
    **_aliases("dot; middot; ·; bullet; •", _constant(" · ")),
    "=": _constant("="),
    **_aliases("clear; -; br; break; crlf; pb; paragraph break", _constant("\n\n")),
    # numbers, dates, measures
    **_aliases("convert; cvt; conv", _convert),
    **_aliases("val; value", _value),
    **_aliases("frac; fraction; sfrac", _fraction),
    **_aliases("as of; asof", _as_of),
    **_aliases("dts; start date; end date; date", _date),
    **_aliases("circa; c.; ca.; ca", _joined_arguments(" ", "c. ")),
    **_aliases("floruit; fl.", _joined_arguments("–", "fl. ")),
    **_aliases("reign; r.", _joined_arguments("–", "r. ")),
    **_aliases("bce", _between("", " BCE")),
    **_aliases("bc", _between("", " BC")),
    "ce": _between("", " CE"),
    "ad": _between("AD ", ""),
    **_aliases("us$; usd", _between("US$", "")),
    **_aliases("gbp; £; pound", _between("£", "")),
    **_aliases("eur; €; euro", _between("€", "")),
    **_aliases("inr; indian rupee", _between("₹", "")),
    **_aliases("jpy; ¥; yen", _between("¥", "")),
    "e": _times_ten,
    **_aliases("chem; chem2", _joined_arguments("")),
    # names
    **_aliases("sortname; ship", lambda arguments, named_arguments: " ".join(arguments[:2])),
    "uss": _ship_of("USS"),
    "hms": _ship_of("HMS"),
    "ss": _ship_of("SS"),
    "rms": _ship_of("RMS"),
    "hmas": _ship_of("HMAS"),
    "hmcs": _ship_of("HMCS"),
    "sms": _ship_of("SMS"),
    # quotations, as separate paragraphs
    **_aliases("quote; blockquote; cquote; quotation; bquote; poem quote", _quotation),
}


@functools.lru_cache(maxsize=1 << 14)
def renderer_of(name: str) -> Renderer | None:
    """The renderer of the template called `name`; None for a template that leaves no text."""
    name = " ".join(name.lower().replace("_", " ").split())
    if name in _TEMPLATES:
        return _TEMPLATES[name]
    if name.startswith(("lang-", "script/")):
        return _first
    return _constant(name[10:]) if name.startswith("formatnum:") else None
