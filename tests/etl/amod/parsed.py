"""Random parsed text for the tests of the kernel: trees in each dialect, and damaged bytes."""

from hypothesis import strategies as st

from adnominal.etl.corpora.dialects import DIALECTS

FORMS = [
    *["big", "Big", "dog", "X", "3", "", "_", "-", "__", "a b", "naïve", "ÉLAN", "ΟΔΟΣ", "İ", "ǅ"],
    *["日本", "🙂", "’", "#", ">>>>>", "extraordinarily-long-word", "x" * 70, "'A[Z@`a{z"],
]
TAGS = ["JJ", "JJR", "NN", "NNS", "NNP", "NNPS", "VBN", "ADJ", "NOUN", "PROPN", "VERB", "_", ""]
TAGS += ["-LRB-", "WP$", "ADJA", "JJJ", "NNPSX", "LONGERTAG", "日"]
RELATIONS = ["amod", "amod", "amod", "nsubj", "amod:x", "AMOD", "", "prep"]
SEPARATORS = ["", "# text = a", "#", "# newdoc id = x\ty", ">>>>>", ">>>>>\ttext é", "# \udcff"]
SEPARATORS += ["# global.columns = ID", "#\tGlobal.Columns", "# global.column", "# global-columns"]
SEPARATORS += ["\u3000", "\x1c\u2003", "\u00a0\t"]


@st.composite
def rows(draw, dialect):
    """The rows of a sentence; most sentences have ascending ids, and most heads are rows."""
    ids = draw(st.lists(st.integers(0, draw(st.sampled_from([9, 60, 1200]))), max_size=7))
    ids = [
        i + dialect.first_id
        for i in (draw(st.permutations(ids)) if draw(st.integers(0, 9)) == 0 else sorted(set(ids)))
    ]
    lines = []
    for i in ids:
        head = draw(st.sampled_from([*ids, *ids, *ids, 0, 99_999_999]))
        form, lemma = draw(st.sampled_from(FORMS)), draw(st.sampled_from(FORMS))
        xpos = draw(st.sampled_from(TAGS))
        upos = draw(st.sampled_from([xpos, *TAGS]))
        relation = draw(st.sampled_from(RELATIONS))
        feats = "_" if dialect.ranges else ""
        if dialect.ranges and draw(st.integers(0, 9)) == 0:
            token = draw(st.sampled_from([f"{i}-{i + 1}", f"{i}.1", "0.1", "0-1", "1.0", "1-"]))
            lines.append(f"{token}\t{form}\t_\t_\t_\t_\t_\t_\t_\t_")
        lines.append(f"{i}\t{form}\t{lemma}\t{upos}\t{xpos}\t{feats}\t{head}\t{relation}\t_\tO")
    return lines


@st.composite
def texts(draw, dialect):
    """Sentences with comments and separators between them, as bytes."""
    lines = []
    for _ in range(draw(st.integers(0, 5))):
        lines += draw(rows(dialect))
        lines += draw(st.lists(st.sampled_from(SEPARATORS), min_size=1, max_size=3))
    ending = draw(st.sampled_from(["\n", "\n", "\n", "\r\n"]))
    text = ending.join(lines) + draw(st.sampled_from(["", ending, ending + ending]))
    return text.encode("utf-8", "surrogateescape")


PIECES = [
    b"",
    b"\0",
    b"\t",
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"#",
    b"\n#",
    b">>>>>",
    b"\xff",
    b"\xc3",
]
PIECES += [b"\xed\xa0\x80", b"\xf0\x9f", b"0", b"9", b"-", b".", b"_", b"1\t", b"\tamod\t", b"\x01"]


@st.composite
def damage_bytes(draw, data):
    """The bytes with some pieces inserted, or replacing others."""
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(data)))
        cut = draw(st.sampled_from([0, 0, 1, 1, 2, 30]))
        data = data[:at] + draw(st.sampled_from(PIECES)) + data[at + cut :]
    return data


@st.composite
def cases(draw):
    """A dialect and bytes in it, damaged or not."""
    dialect = DIALECTS[draw(st.sampled_from(sorted(DIALECTS)))]
    return dialect, draw(damage_bytes(draw(texts(dialect))))
