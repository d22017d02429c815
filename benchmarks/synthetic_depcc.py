"""Write a synthetic part in the layout of DepCC.

    python benchmarks/synthetic_depcc.py OUT.gz [MEGABYTES [SEED]]

Everything that affects the kernel's speed follows the published samples: rows of about 38 bytes
(50 with their share of `# sent_id` and `# text` lines), documents, gaps in the ids, 6 % amod
relations, some of which make no pair, Zipf-distributed words, 1 % of them not ASCII. The file is
compressed by zlib at its default level. The same seed gives the same bytes.
"""

import gzip
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

PARSER = "# parser = MaltParser Language: English. Synthetic, for benchmarks.\n"
NEWDOC = (
    "\n# newdoc\turl = {url}\ts3 = s3://aws-publicdatasets/common-crawl/crawl-data/"
    "CC-MAIN-2016-07/segments/1454701164289.84/warc/{number:08d}.ec2.internal.warc.gz\n"
)

# Words of closed classes; all others are drawn from made-up vocabularies of these sizes.
CLOSED = {
    "DT": "the a this that an these some any no each all those every another",
    "IN": "of in to for with on at by from about as into after over under between",
    "CC": "and or but nor yet",
    "PRP": "it he they we I you she them him us",
    ",": ",",
    ".": ". . . . ? !",
}
OPEN = {
    "NN": 60_000,
    "NNS": 30_000,
    "NNP": 80_000,
    "JJ": 25_000,
    "VBD": 8_000,
    "VBZ": 6_000,
    "VBN": 6_000,
    "RB": 5_000,
    "CD": 3_000,
}

# Phrases and their shares. A token is its tag, its relation and the position of its head in the
# phrase; H is the phrase's head, which depends on the sentence's verb.
PHRASES = (
    ("DT det 1 | NN H 0", 14),
    ("NN H 0", 6),
    ("NNS H 0", 8),
    ("PRP H 0", 10),
    ("NNP H 0", 5),
    ("NNP nn 1 | NNP H 0", 6),
    ("DT det 2 | JJ amod 2 | NN H 0", 7),
    ("JJ amod 1 | NNS H 0", 4),
    ("DT det 3 | JJ amod 3 | JJ amod 3 | NN H 0", 1),
    ("DT det 2 | JJ amod 2 | NNP H 0", 2),
    ("VBN amod 1 | NN H 0", 1),
    ("DT det 2 | NN nn 2 | NN H 0", 6),
    ("CD num 1 | NNS H 0", 4),
    ("DT det 1 | NN H 0 | IN prep 1 | DT det 4 | NN pobj 2", 8),
    ("NNS H 0 | IN prep 0 | NNP pobj 1", 5),
    ("NN H 0 | CC cc 0 | NN conj 0", 4),
)
SKELETONS = 5_000
LETTERS = np.array(list("etaoinsrhldcumfpgwybv"))
WEIGHTS = 1.0 / np.arange(2, len(LETTERS) + 2)
FOREIGN = np.array(list("éüñöçßøλ日"))


def made_up_words(rng: np.random.Generator, size: int, *, foreign: float = 0.0) -> list[str]:
    """Made-up words, with shorter frequent ones; the share `foreign` has a non-ASCII letter."""
    lengths = np.clip(rng.poisson(3 + 0.55 * np.log1p(np.arange(size))), 2, 18)
    letters = rng.choice(LETTERS, p=WEIGHTS / WEIGHTS.sum(), size=(size, 18))
    if foreign:
        is_foreign = rng.random(size) < foreign
        letters[is_foreign, 1] = rng.choice(FOREIGN, size=int(is_foreign.sum()))
    return ["".join(row[:n]) for row, n in zip(letters, lengths.tolist(), strict=True)]


def _vocabulary(rng: np.random.Generator, tag: str) -> list[tuple[str, str]]:
    """The forms of a tag's words, the most frequent first, with their lemmas."""
    if tag in CLOSED:
        return [(word, word.lower()) for word in CLOSED[tag].split()]
    words = made_up_words(rng, OPEN[tag], foreign=0.02)
    if tag == "NNP":
        words = [word.capitalize() for word in words]
    elif tag == "CD":
        words = [str(number) for number in range(1, len(words) + 1)]
    ending = {"NNS": "s", "VBZ": "s", "VBD": "ed", "VBN": "ed"}.get(tag, "")
    return [(word + ending, word) for word in words]


class _Words:
    """The vocabulary of a tag, from which words are drawn by Zipf's law."""

    def __init__(self, rng: np.random.Generator, tag: str) -> None:
        words = _vocabulary(rng, tag)
        self.forms = np.array([form for form, _ in words], object)
        # FORM to XPOS
        self.columns = np.array([f"{form}\t{lemma}\t{tag}\t{tag}" for form, lemma in words], object)
        weights = 1.0 / (np.arange(len(words)) + 2.7) ** 1.05
        self.shares = np.cumsum(weights / weights.sum())

    def draw(self, rng: np.random.Generator, n: int) -> npt.NDArray[np.intp]:
        places = np.searchsorted(self.shares, rng.random(n), "right")
        return np.minimum(places, len(self.forms) - 1)


class _Skeleton(NamedTuple):
    """A parsed sentence without its words; a token with no text before and after has no row."""

    tags: list[int]
    before: list[str]
    after: list[str]


def _skeleton(rng: np.random.Generator, tags: list[str]) -> _Skeleton:
    shares = np.array([share for _, share in PHRASES], float)
    phrases = rng.choice(len(PHRASES), size=1 + rng.poisson(4.2), p=shares / shares.sum())
    tokens: list[tuple[str, str, int]] = []  # tag, relation, head (-1: the verb)
    verb = -1
    for number, phrase in enumerate(phrases.tolist()):
        if number == 1:
            verb = len(tokens)
            tokens.append((str(rng.choice(["VBD", "VBZ"])), "ROOT", verb))
            if rng.random() < 0.2:
                tokens.append(("RB", "advmod", -1))
        elif number > 1:
            tag = str(rng.choice([",", "IN", "CC"], p=[0.3, 0.55, 0.15]))
            tokens.append((tag, {",": "punct", "IN": "prep", "CC": "cc"}[tag], -1))
        base = len(tokens)
        for token in PHRASES[phrase][0].split(" | "):
            tag, relation, place = token.split(" ")
            if relation == "H":
                relation = "nsubj" if number == 0 else "dobj" if number == 1 else "pobj"
                tokens.append((tag, relation, -1))
            else:
                tokens.append((tag, relation, base + int(place)))
    if verb < 0:
        verb = len(tokens)
        tokens.append(("VBZ", "ROOT", verb))
    tokens.append((".", "punct", -1))
    skeleton = _Skeleton([], [], [])
    for number, (tag, relation, governor) in enumerate(tokens):
        head = verb if governor < 0 else governor
        collapsed = "_" if tag in ("IN", "CC") else f"{head}:{relation}"
        entity = "B-Organization" if tag == "NNP" and rng.random() < 0.3 else "O"
        has_row = tag != "IN" or rng.random() < 0.7
        skeleton.tags.append(tags.index(tag))
        skeleton.before.append(f"{number}\t" if has_row else "")
        skeleton.after.append(f"\t\t{head}\t{relation}\t{collapsed}\t{entity}\n" if has_row else "")
    return skeleton


def _documents(
    rng: np.random.Generator, vocabularies: list[_Words], skeletons: list[_Skeleton], first: int
) -> str:
    """A hundred documents, numbered from `first`."""
    sizes = 1 + rng.poisson(25, 100)
    drawn_skeletons = [
        skeletons[i] for i in rng.integers(len(skeletons), size=int(sizes.sum())).tolist()
    ]
    tags = np.array([tag for skeleton in drawn_skeletons for tag in skeleton.tags])
    forms = np.empty(len(tags), object)
    columns = np.empty(len(tags), object)
    for tag, words in enumerate(vocabularies):
        places = np.flatnonzero(tags == tag)
        word_places = words.draw(rng, len(places))
        forms[places], columns[places] = words.forms[word_places], words.columns[word_places]
    texts, rows = forms.tolist(), columns.tolist()

    parts: list[str] = []
    sentences = iter(drawn_skeletons)
    start = 0
    for number, size in enumerate(sizes.tolist(), start=first):
        url = f"http://www.{texts[start]}{number % 997}.com/{texts[start + 1]}/{number:x}.html"
        parts.append(NEWDOC.format(url=url, number=number))
        for sentence in range(1, size + 1):
            skeleton = next(sentences)
            stop = start + len(skeleton.tags)
            text = " ".join(texts[start:stop])
            parts.append(f"\n# sent_id = {url}#{sentence}\n# text = {text}\n")
            parts += [
                before + row + after
                for before, row, after in zip(
                    skeleton.before, rows[start:stop], skeleton.after, strict=True
                )
                if before
            ]
            start = stop
    return "".join(parts)


def write(path: Path, megabytes: float, seed: int = 1) -> int:
    """Write a gzip-compressed part of at least `megabytes` (10^6 bytes, uncompressed); return the
    number of uncompressed bytes."""
    rng = np.random.default_rng(seed)
    tags = [*CLOSED, *OPEN]
    vocabularies = [_Words(rng, tag) for tag in tags]
    skeletons = [_skeleton(rng, tags) for _ in range(SKELETONS)]
    written = documents = 0
    with (
        open(path, "wb") as raw,
        # no name and time in the header, so that the bytes depend only on the seed
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as file,
    ):
        written += file.write(PARSER.encode())
        while written < megabytes * 1e6:
            written += file.write(_documents(rng, vocabularies, skeletons, documents).encode())
            documents += 100
    return written


def main(argv: list[str]) -> int:
    """Write the part that the command line describes; return the exit code."""
    if not 1 <= len(argv) <= 3 or argv[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    path = Path(argv[0])
    megabytes = float(argv[1]) if len(argv) > 1 else 250.0
    written = write(path, megabytes, int(argv[2]) if len(argv) > 2 else 1)
    print(f"{path}: {written:,} bytes, {path.stat().st_size:,} compressed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
