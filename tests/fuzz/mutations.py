"""Mutations of the bytes of a valid file."""

import random
import re
from collections.abc import Sequence

MARKS = (
    *(b"\t", b"\n", b"\r\n", b"\n\n", b"\0", b"\xff", b"\xc3", b"\xef\xbb\xbf", b" ", b'"', b"'"),
    *(b",", b"=", b"<", b">", b"</page>", b"<page>", b"&#0;", b"&#x110000;", b"&lt;", b"{{", b"}}"),
    *(b"[[", b"]]", b"{|", b"|}", b"[", b"]", b"{", b"}", b"null", b"-1", b"1e999", b"NaN", b"0"),
    *(b"99999999999999999999", b"\xed\xa0\x80", "\u2028".encode(), "é".encode(), b"-" * 40),
    *(b"(" * 300, b"[" * 3000, b"-" * 3000, b'{"a":' * 1500, b"amod", b"JJ", b"NN", b"WARC/1.0"),
    # Kinds of real faults: tag sets, lines of white space, columns, markup, invisible characters,
    # words cut by a line end, marks of references and links, numbers that are none.
    *(
        b"POS",
        b"ADJ",
        b"\n\t\n",
        b"\n \t \n",
        "\u00a0".encode(),
        b"# global.columns = ID LEMMA FORM\n",
    ),
    *(b"{{formatnum:{{a|b=1}}}}", b"{{#if:x|", b"{{lc:", b"<nowiki/>'s", b"'''"),
    *(b"<content><role>x</role><text>", b"</text></content>", b'<doc id="1">\n', b"</doc>\n"),
    *("\u00ad".encode(), "\u200b".encode(), "\u202e".encode(), b"-\n", "\u00ad\n".encode()),
    *(b".[1]", b"[^2]", b'](http://x.org/a_(b) "t")', b"**", b"__", "—".encode(), "”2".encode()),
    *(
        b"label\tlabel",
        b"premise,premise",
        b"n/a",
        b"99.97",
        b"x" * 140_000,
        b"WAHR",
        b"completions",
    ),
    *(b"Content-Length: 99", b"Content-Length: -5", b"all x1.", b"exists x1.", b"b1 NOT b2 [SEP] "),
)


# Put between the letters of a word: soft hyphen, joiners, direction mark, byte order mark.
INVISIBLE = tuple(mark.encode() for mark in ("\u00ad", "\u200b", "\u200d", "\u202e", "\ufeff"))
# Put after a word: marks of references, a link, a dash, a quotation mark.
AFTER_WORDS = (b".[1]", b"[a][2]", "\u00b9".encode(), b"](http://x.org)", "—so".encode(), b'"2')
_WORD = re.compile(rb"[A-Za-z]{2,}")


def restructure(seed: bytes, draw: random.Random, foreign: Sequence[bytes] = ()) -> bytes:
    """`seed` with a fault of its structure, or `foreign` content under its name.

    A column of all its lines doubled, dropped, or surplus in one line; a mark within or after each
    word; the end of one file and the beginning of another kind.
    """
    match draw.randrange(5):
        case 0:
            return _with_columns(seed, draw)
        case 1:
            mark = draw.choice(INVISIBLE)
            return _WORD.sub(lambda word: word[0][:1] + mark + word[0][1:], seed)
        case 2:
            mark = draw.choice(AFTER_WORDS)
            return _WORD.sub(lambda word: word[0] + mark, seed)
        case 3 if foreign:
            return draw.choice(foreign)
        case _ if foreign:
            return seed[: draw.randrange(len(seed) + 1)] + draw.choice(foreign)
    return seed


def _with_columns(seed: bytes, draw: random.Random) -> bytes:
    """Lines of CSV or TSV with a column doubled or dropped, in all lines or in one."""
    lines = seed.split(b"\n")
    separator = b"\t" if b"\t" in lines[0] else b","
    place = draw.randrange(lines[0].count(separator) + 1)
    repeat = draw.choice((0, 2))
    only = draw.choice((None, draw.randrange(len(lines))))
    changed = []
    for number, line in enumerate(lines):
        cells = line.split(separator)
        if line and only in (None, number) and place < len(cells):
            cells[place : place + 1] = cells[place : place + 1] * repeat
        changed.append(separator.join(cells))
    return b"\n".join(changed)


def mutate(seed: bytes, draw: random.Random, donors: tuple[bytes, ...] = ()) -> bytes:
    """`seed` with up to eight changes: bytes flipped, cut, doubled, moved, or marks inserted."""
    data = bytearray(seed)
    for _ in range(draw.choice((1, 1, 1, 2, 3, 8))):
        at = draw.randrange(len(data) + 1)
        length = min(draw.choice((1, 2, 7, 40)), len(data) - at)
        match draw.randrange(7):
            case 0 if length:
                data[at] ^= 1 << draw.randrange(8)
            case 1:
                del data[at : at + length]
            case 2:
                data[at:at] = data[at : at + length] * draw.choice((1, 2, 50))
            case 3:
                data[at:at] = draw.choice(MARKS)
            case 4:
                piece = bytes(data[at : at + length])
                del data[at : at + length]
                to = draw.randrange(len(data) + 1)
                data[to:to] = piece
            case 5 if donors:
                other = draw.choice(donors)
                data[at:] = other[draw.randrange(len(other) + 1) :]
            case _:
                data[at : at + length] = draw.randbytes(length)
    return bytes(data)
