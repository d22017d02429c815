"""A synthetic corpus in the layout of DepCC.

Everything that affects the kernel's speed follows the published samples: rows of about 38 bytes
(50 with their share of `# sent_id` and `# text` lines), documents, gaps in the ids, 6 % amod
relations, some of which make no pair, Zipf-distributed words, 1 % of them not ASCII. The files are
compressed by zlib at its default level. The same seed gives the same bytes.
"""

import gzip
from collections.abc import Sequence
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
TAGS = [*CLOSED, *OPEN]
ENDINGS = {"NNS": "s", "VBZ": "s", "VBD": "ed", "VBN": "ed"}

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
PHRASE_SHARES = np.array([share for _, share in PHRASES], float)
LINKS = {",": "punct", "IN": "prep", "CC": "cc"}
VERB = -1  # stands for the position of the sentence's verb
SKELETONS = 5_000
DOCUMENTS_AT_ONCE = 100
LETTERS = np.array(list("etaoinsrhldcumfpgwybv"))
LETTER_WEIGHTS = 1.0 / np.arange(2, len(LETTERS) + 2)
FOREIGN = np.array(list("éüñöçßøλ日"))


def made_up_words(rng: np.random.Generator, size: int, *, foreign: float = 0.0) -> list[str]:
    """Made-up words, with shorter frequent ones; the share `foreign` has a non-ASCII letter."""
    lengths = np.clip(rng.poisson(3 + 0.55 * np.log1p(np.arange(size))), 2, 18)
    shares = LETTER_WEIGHTS / LETTER_WEIGHTS.sum()
    letters = rng.choice(LETTERS, p=shares, size=(size, 18))
    if foreign:
        is_foreign = rng.random(size) < foreign
        letters[is_foreign, 1] = rng.choice(FOREIGN, size=int(is_foreign.sum()))
    return ["".join(row[:length]) for row, length in zip(letters, lengths.tolist(), strict=True)]


def vocabulary(rng: np.random.Generator, tag: str) -> list[tuple[str, str]]:
    """The forms of a tag's words, the most frequent first, with their lemmas."""
    if tag in CLOSED:
        return [(word, word.lower()) for word in CLOSED[tag].split()]
    words = made_up_words(rng, OPEN[tag], foreign=0.02)
    if tag == "NNP":
        words = [word.capitalize() for word in words]
    elif tag == "CD":
        words = [str(number) for number in range(1, len(words) + 1)]
    return [(word + ENDINGS.get(tag, ""), word) for word in words]


class Words:
    """The words of a tag, which are drawn by Zipf's law, with their columns FORM to XPOS2."""

    def __init__(self, rng: np.random.Generator, tag: str) -> None:
        forms, columns = [], []
        for form, lemma in vocabulary(rng, tag):
            forms.append(form)
            columns.append(f"{form}\t{lemma}\t{tag}\t{tag}")
        self.forms = np.array(forms, object)
        self.columns = np.array(columns, object)
        weights = 1.0 / (np.arange(len(forms)) + 2.7) ** 1.05
        self.shares = np.cumsum(weights / weights.sum())

    def draw(self, rng: np.random.Generator, size: int) -> npt.NDArray[np.intp]:
        """The places of drawn words."""
        places = np.searchsorted(self.shares, rng.random(size), "right")
        return np.minimum(places, len(self.forms) - 1)


class Token(NamedTuple):
    """A token of a sentence without its word; a head of `VERB` is the sentence's verb."""

    tag: str
    relation: str
    head: int


class Skeleton(NamedTuple):
    """A parsed sentence without its words: the numbers of its tags, and what precedes and follows
    the columns of each word. A token with nothing before and after it has no row."""

    tags: list[int]
    before: list[str]
    after: list[str]


def draw_sentence(rng: np.random.Generator) -> list[Token]:
    """The tokens of a sentence: a phrase, the verb, and further phrases with a link before each."""
    shares = PHRASE_SHARES / PHRASE_SHARES.sum()
    phrases = rng.choice(len(PHRASES), size=1 + rng.poisson(4.2), p=shares)
    tokens: list[Token] = []
    for number, phrase in enumerate(phrases.tolist()):
        if number == 1:
            tokens.append(Token(str(rng.choice(["VBD", "VBZ"])), "ROOT", VERB))
            if rng.random() < 0.2:
                tokens.append(Token("RB", "advmod", VERB))
        elif number > 1:
            tag = str(rng.choice([",", "IN", "CC"], p=[0.3, 0.55, 0.15]))
            tokens.append(Token(tag, LINKS[tag], VERB))
        role = ("nsubj", "dobj")[number] if number < 2 else "pobj"
        tokens += phrase_tokens(PHRASES[phrase][0], role, len(tokens))
    if len(phrases) == 1:
        tokens.append(Token("VBZ", "ROOT", VERB))
    tokens.append(Token(".", "punct", VERB))
    return tokens


def phrase_tokens(phrase: str, role: str, start: int) -> list[Token]:
    """The tokens of a phrase that begins at `start` and whose head has the relation `role`."""
    tokens = []
    for text in phrase.split(" | "):
        tag, relation, place = text.split(" ")
        if relation == "H":
            tokens.append(Token(tag, role, VERB))
        else:
            tokens.append(Token(tag, relation, start + int(place)))
    return tokens


def draw_skeleton(rng: np.random.Generator) -> Skeleton:
    """A sentence in DepCC's columns, without its words."""
    tokens = draw_sentence(rng)
    verb = [token.relation for token in tokens].index("ROOT")
    skeleton = Skeleton([], [], [])
    for number, token in enumerate(tokens):
        head = verb if token.head == VERB else token.head
        collapsed = "_" if token.tag in ("IN", "CC") else f"{head}:{token.relation}"
        is_entity = token.tag == "NNP" and rng.random() < 0.3
        entity = "B-Organization" if is_entity else "O"
        has_row = token.tag != "IN" or rng.random() < 0.7
        after = f"\t\t{head}\t{token.relation}\t{collapsed}\t{entity}\n"
        skeleton.tags.append(TAGS.index(token.tag))
        skeleton.before.append(f"{number}\t" if has_row else "")
        skeleton.after.append(after if has_row else "")
    return skeleton


class Corpus:
    """An endless corpus, document after document."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.words = [Words(self.rng, tag) for tag in TAGS]
        self.skeletons = [draw_skeleton(self.rng) for _ in range(SKELETONS)]
        self.documents = 0

    def next_documents(self) -> str:
        """The next hundred documents."""
        sizes = 1 + self.rng.poisson(25, DOCUMENTS_AT_ONCE)
        places = self.rng.integers(len(self.skeletons), size=int(sizes.sum()))
        skeletons = [self.skeletons[place] for place in places.tolist()]
        forms, columns = self.draw_words(skeletons)
        sentences = iter(skeletons)
        parts: list[str] = []
        start = 0
        for size in sizes.tolist():
            number = self.documents
            url = f"http://www.{forms[start]}{number % 997}.com/{forms[start + 1]}/{number:x}.html"
            parts.append(NEWDOC.format(url=url, number=number))
            for sentence in range(1, size + 1):
                skeleton = next(sentences)
                stop = start + len(skeleton.tags)
                text = " ".join(forms[start:stop])
                parts.append(f"\n# sent_id = {url}#{sentence}\n# text = {text}\n")
                parts += token_rows(skeleton, columns[start:stop])
                start = stop
            self.documents += 1
        return "".join(parts)

    def draw_words(self, skeletons: Sequence[Skeleton]) -> tuple[list[str], list[str]]:
        """The forms and the columns of the words of all tokens."""
        tags = np.array([tag for skeleton in skeletons for tag in skeleton.tags])
        forms = np.empty(len(tags), object)
        columns = np.empty(len(tags), object)
        for tag, words in enumerate(self.words):
            tokens = np.flatnonzero(tags == tag)
            places = words.draw(self.rng, len(tokens))
            forms[tokens] = words.forms[places]
            columns[tokens] = words.columns[places]
        return forms.tolist(), columns.tolist()


def token_rows(skeleton: Skeleton, columns: Sequence[str]) -> list[str]:
    """The rows of the tokens that have one."""
    rows = []
    for before, word, after in zip(skeleton.before, columns, skeleton.after, strict=True):
        if before:
            rows.append(before + word + after)
    return rows


def write_parts(paths: Sequence[Path], megabytes: float, seed: int = 1) -> list[int]:
    """Write consecutive parts of one corpus, each of at least so many 10^6 bytes, uncompressed, as
    gzip files; the uncompressed bytes of each."""
    corpus = Corpus(seed)
    sizes = []
    for path in paths:
        size = 0
        # Without name and time in the header, so that the bytes depend only on the seed.
        with (
            path.open("wb") as raw,
            gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as file,
        ):
            if corpus.documents == 0:
                size += file.write(PARSER.encode())
            while size < megabytes * 1e6:
                size += file.write(corpus.next_documents().encode())
        sizes.append(size)
    return sizes
