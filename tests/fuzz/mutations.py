"""Mutations of the bytes of a valid file."""

import random

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


def mutated(seed: bytes, draw: random.Random, donors: tuple[bytes, ...] = ()) -> bytes:
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
