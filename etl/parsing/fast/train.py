r"""Training of `parser=fast`: a tagger and a head finder from treebanks and silver text.

    python -m etl.parsing.fast.train gold=TRAIN.conllu silver=PARSED.conllu \
        plain=TEXT.txt dev=DEV.conllu out=MODEL

Both are trained on CoNLL-U: `gold` are treebanks, `silver` is plain text that another parser, such
as spaCy, has parsed; `plain` is more text, from which, with the other two, the clusters of words
are learned. Without `gold` the model is trained on silver text alone. The
extractor itself tokenizes the texts, and a token is trained on the treebank's token with the same
begin and end; other tokens serve only as context. The features are computed by the same C code as
at run time. The settings were chosen on `dev`, whose scores are printed; the same files and seed
yield the same model.
"""

import gzip
import logging
import sys
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adnominal import conf
from adnominal.conf import UserError, setting, to_dict
from adnominal.conf.checks import check_minimum
from adnominal.etl.parsing.fast import clusters, model
from adnominal.etl.parsing.fast.model import CLASS_OF

UNKNOWN_TAG = 255
# The head finder considers a token whose score as adjective, common noun or proper noun is at most
# this far below its best tag, in units of the tagger's table.
TAG_MARGINS = (120, 120, 60)
NO_HEAD, UNKNOWN_HEAD, NAME_FLAG = -1, -2, 1 << 30
ADJECTIVES, NOUNS, NAMES = ("JJ", "JJR", "JJS"), ("NN", "NNS"), ("NNP", "NNPS")

log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Settings:
    out: str = setting(help="file of the model", example="out=english.model")
    gold: list[str] = setting([], help="treebanks in CoNLL-U (plain or gz)")
    silver: list[str] = setting(
        [], help="parsed text in CoNLL-U: files, or folders of part-*.conllu.gz"
    )
    plain: list[str] = setting([], help="plain text for the clusters, one paragraph per line")
    dev: list[str] = setting([], help="treebanks to print scores of")
    epochs: int = setting(3, help="passes of the tagger over the silver text")
    gold_readings: int = setting(
        2, help="passes over the treebanks for each pass over the silver text"
    )
    head_epochs: int = setting(3, help="passes of the head finder")
    head_gold_weight: float = setting(
        2.0, help="weight of a sentence of the treebanks in head finding"
    )
    rate: float = setting(0.1, help="learning rate of the head finder")
    bias: int = setting(
        60, help="added to the score of no noun, in units of the head finder's table"
    )
    clusters: int = setting(256, help="clusters of words; 0 for none")
    cluster_min_count: int = setting(8, help="rarer words have no cluster")
    seed: int = setting(0, help="seed of the order of sentences")

    def __post_init__(self) -> None:
        if not self.gold and not self.silver:
            raise UserError("gold= and silver= are both empty: give at least one CoNLL-U file")
        check_minimum(self, 1, "epochs", "gold_readings", "head_epochs", "cluster_min_count")
        check_minimum(self, 0, "head_gold_weight", "rate", "clusters", "seed")
        out = Path(self.out)
        if out.is_dir() or not out.parent.is_dir():
            raise UserError(
                f"out={out}: no file can be written there; expected a file in a folder that is "
                "there already"
            )


# ----------------------------------------------------------------------------------- reading


@dataclass
class Treebank:
    """Sentences as one text, one per line, and their tokens.

    Attributes:
        starts, end: bytes of the text.
        tag: number of the tag's class.
        head: number of the token that an adjective modifies, plus `NAME_FLAG` if that is a proper
            noun; else `NO_HEAD` or `UNKNOWN_HEAD`.
    """

    text: bytes
    starts: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    tag: npt.NDArray[np.uint8]
    head: npt.NDArray[np.int64]


Row = tuple[str, str, str, str]  # form, tag, head, relation


def sentences(path: Path) -> Iterator[tuple[str, list[Row]]]:
    """The text and rows of each sentence of a CoNLL-U file, without ranges and empty nodes.

    Raises:
        UserError: the file cannot be read as CoNLL-U.
    """
    open_text = gzip.open if path.suffix == ".gz" else open
    text, rows = "", dict[str, Row]()
    try:
        with open_text(path, "rt", encoding="utf-8") as stream:
            for line in chain(stream, ["\n"]):  # the last sentence may lack its blank line
                if line.startswith("# text = "):
                    text = line[9:].rstrip("\n")
                elif line[0].isdigit():
                    columns = line.split("\t")
                    if columns[0].isdigit():
                        rows[columns[0]] = (columns[1], columns[4], columns[6], columns[7])
                elif not line.strip() and rows:
                    yield text, list(rows.values())
                    rows = {}
    except (OSError, EOFError, ValueError, IndexError, zlib.error) as error:
        raise UserError(
            f"{path} cannot be read as CoNLL-U, rows of ten columns in UTF-8: {error}"
        ) from error


def read_treebank(paths: Sequence[Path]) -> Treebank:
    """The sentences of CoNLL-U files whose tokens all occur in their text."""
    lines: list[str] = []
    starts: list[int] = []
    end: list[int] = []
    tags: list[int] = []
    heads: list[int] = []
    offset = 0
    for path in paths:
        size = len(lines)
        for text, rows in sentences(path):
            places = _places(text, rows)
            if places is None:
                continue
            first = len(starts)
            starts += [offset + start for start, _ in places]
            end += [offset + stop for _, stop in places]
            tags += [CLASS_OF.get(row[1], UNKNOWN_TAG) for row in rows]
            heads += [_head(row, rows, first) for row in rows]
            lines.append(text)
            offset += len(text.encode()) + 1
        if len(lines) == size:
            raise UserError(
                f"{path} has no sentence to learn from; expected CoNLL-U with the text of each "
                "sentence in a line `# text = `"
            )
    return Treebank(
        "\n".join(lines).encode(),
        np.array(starts, dtype=np.int64),
        np.array(end, dtype=np.int64),
        np.array(tags, dtype=np.uint8),
        np.array(heads, dtype=np.int64),
    )


def _places(text: str, rows: list[Row]) -> list[tuple[int, int]] | None:
    """Begin and end of each token in the text, in bytes of UTF-8.

    None if the tokens are not those of the text, with only white space between them.
    """
    places, position = [], 0
    for form, *_ in rows:
        start = text.find(form, position)
        if start < 0 or text[position:start].strip():
            return None
        position = start + len(form)
        places.append((start, position))
    if not text.isascii():
        bytes_at = np.cumsum([0, *(len(character.encode()) for character in text)]).tolist()
        places = [(bytes_at[start], bytes_at[stop]) for start, stop in places]
    return places


def _head(row: Row, rows: list[Row], first: int) -> int:
    """The position of an adjective's noun in the corpus; its sentence begins at `first`.

    A name as the head has `NAME_FLAG` added; other words have `NO_HEAD`, and those whose head is
    missing `UNKNOWN_HEAD`.
    """
    _, tag, head, relation = row
    if relation != "amod" or tag not in ADJECTIVES:
        return NO_HEAD
    # Ids of gold and silver run from 1; a silver sentence may lack tokens of white space.
    place = int(head) - 1
    if not 0 <= place < len(rows):
        return UNKNOWN_HEAD
    if rows[place][1] in NOUNS:
        return first + place
    return first + place + NAME_FLAG if rows[place][1] in NAMES else NO_HEAD


# ------------------------------------------------------------------------------------ labels


@dataclass
class Labels:
    """The gold labels of the extractor's own tokens: see `Treebank` and _train.h."""

    tags: npt.NDArray[np.uint8]
    heads: npt.NDArray[np.int32]
    sentence_starts: npt.NDArray[np.uint32]
    starts: npt.NDArray[np.uint32]
    aligned: float


def align(extractor: Any, treebank: Treebank) -> Labels:
    """Tags and heads of the extractor's tokens that the treebank has with the same ends.

    The extractor cuts the treebank's text into tokens of its own. One of them gets labels if a
    token of the treebank begins and ends at the same bytes; the others serve only as context.
    """
    extractor.split_lines(treebank.text, True)
    starts, end, sentence_starts = _bounds(extractor)
    # For each token of the extractor, the token of the treebank that may be the same: the first
    # that does not begin before it.
    candidate = np.searchsorted(treebank.starts, starts)
    candidate = np.minimum(candidate, len(treebank.starts) - 1)
    begins_alike = treebank.starts[candidate] == starts
    ends_alike = treebank.end[candidate] == end
    aligned = begins_alike & ends_alike
    tags = np.where(aligned, treebank.tag[candidate], UNKNOWN_TAG)
    heads = _renumbered_heads(treebank.head, candidate, aligned)
    return Labels(
        tags=tags.astype(np.uint8),
        heads=heads.astype(np.int32),
        sentence_starts=sentence_starts,
        starts=starts,
        aligned=float(aligned.mean()),
    )


def _renumbered_heads(
    treebank_heads: npt.NDArray[np.int64],
    candidate: npt.NDArray[np.intp],
    aligned: npt.NDArray[np.bool_],
) -> npt.NDArray[np.int64]:
    """The heads of the extractor's tokens, with the numbers of its own tokens.

    A head that is no token of the extractor is unknown, and so are the heads of tokens that are not
    `aligned` with their `candidate` in the treebank.
    """
    # The inverse of `candidate`: the extractor's number of each token of the treebank, -1 for none.
    number_of = np.full(len(treebank_heads), -1, dtype=np.int64)
    number_of[candidate[aligned]] = np.flatnonzero(aligned)
    old_heads = treebank_heads[candidate]
    has_noun = old_heads >= 0
    name_flag = np.where(old_heads >= NAME_FLAG, NAME_FLAG, 0)
    old_noun = np.where(has_noun, old_heads - name_flag, 0)
    new_noun = number_of[old_noun]
    heads = np.where(new_noun >= 0, new_noun + name_flag, UNKNOWN_HEAD)
    heads = np.where(has_noun, heads, old_heads)
    return np.where(aligned, heads, UNKNOWN_HEAD)


def _bounds(extractor: Any) -> tuple[npt.NDArray[np.uint32], ...]:
    """The bytes at which the tokens of the last text start and end; the first of each sentence."""
    starts, end, _, _, _, sentence_starts = extractor.tokens()
    columns = (np.frombuffer(data, dtype=np.uint32) for data in (starts, end, sentence_starts))
    return tuple(columns)


# ----------------------------------------------------------------------------------- scores


def gold_pairs(path: Path) -> tuple[list[str], Counter[tuple[str, str]]]:
    """The texts and the pairs of a treebank, under the default reading rule."""
    from adnominal.etl.amod import reference
    from adnominal.etl.amod.rules import CLEAN
    from adnominal.etl.corpora.dialects import CONLLU

    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    sentences = list(reference.sentences([content], CONLLU, CLEAN, reference.Stats()))
    pairs = Counter(pair for sentence in sentences for pair in sentence.pairs)
    return [sentence.text for sentence in sentences], pairs


def extracted_pairs(tables: dict[str, bytes], texts: Sequence[str]) -> Counter[tuple[str, str]]:
    """The pairs that the extractor finds in texts, which are read separately."""
    from adnominal.etl.amod.kernel import pairs_in
    from adnominal.etl.parsing.fast._fast import Extractor

    extractor = Extractor(tables)
    extractor.feed("\n".join(texts).encode(), True)
    count, *buffers = extractor.drain()
    pairs = pairs_in(count, buffers).to_pydict()
    words = zip(pairs["adjective"], pairs["noun"], strict=True)
    return Counter(dict(zip(words, pairs["count"], strict=True)))


def score(tables: dict[str, bytes], path: Path) -> dict[str, float]:
    """Precision, recall and F1 of the pairs of a treebank."""
    texts, gold = gold_pairs(path)
    extracted = extracted_pairs(tables, texts)
    common = (gold & extracted).total()
    return {
        "precision": common / max(1, extracted.total()),
        "recall": common / max(1, gold.total()),
        "f1": 2 * common / max(1, gold.total() + extracted.total()),
    }


# --------------------------------------------------------------------------------- training


def _files(names: Sequence[str]) -> list[Path]:
    """The treebanks that the names stand for: files, or all CoNLL-U files of a folder."""
    files = []
    for name in names:
        path = Path(name)
        if path.is_file():
            files.append(path)
        elif path.is_dir():
            files_of_folder = sorted(path.glob("*.conllu*"))
            if not files_of_folder:
                raise UserError(f"{name} is a folder without *.conllu or *.conllu.gz; give files")
            files += files_of_folder
        else:
            raise UserError(f"{name} is neither a file nor a folder; give CoNLL-U to learn from")
    return files


def _plain_texts(names: Sequence[str]) -> list[bytes]:
    try:
        return [Path(name).read_bytes() for name in names]
    except OSError as error:
        raise UserError(f"plain={error.filename}: {error.strerror}; expected a file") from error


def train(settings: Settings) -> None:
    """Train the tagger and the head finder of parser=fast and write its model."""
    from adnominal.etl.parsing.fast._fast import Extractor

    gold_files, silver_files = _files(settings.gold), _files(settings.silver)
    dev_files = _files(settings.dev)
    started = time.monotonic()
    read_treebank(dev_files)  # a mistake in them is known before the training
    corpus = read_treebank([*gold_files, *silver_files])
    gold_bytes = len(read_treebank(gold_files).text)
    texts = [corpus.text, *_plain_texts(settings.plain)]
    fixed_tables = {**model.characters(), **model.lexicon(), **model.lemma_exceptions()}
    fixed_tables |= word_clusters(fixed_tables, texts, settings)
    log.info("clusters of words after %.0f s", time.monotonic() - started)
    extractor = Extractor(fixed_tables)
    labels = align(extractor, corpus)
    is_gold = labels.starts[labels.sentence_starts] < gold_bytes
    log.info(
        "%s tokens, %.1f %% as the treebanks have them, in %.0f s",
        f"{len(labels.tags):,}",
        100 * labels.aligned,
        time.monotonic() - started,
    )
    tables = {**fixed_tables, "tag": train_tagger(extractor, labels, is_gold, settings)}
    log.info("tagger after %.0f s", time.monotonic() - started)
    tables |= train_heads(tables, corpus, is_gold, settings)
    about = {
        "settings": {
            name: value
            for name, value in to_dict(settings).items()
            if name not in ("out", "dev", "gold", "silver", "plain")
        },
        "gold_files": [path.name for path in gold_files],
        "text_sha256": model.checksum(corpus.text),
        "tokens": len(labels.tags),
    }
    model.save(Path(settings.out), tables, about)
    log.info(
        "%s: %.1f MB after %.0f s",
        settings.out,
        Path(settings.out).stat().st_size / 1e6,
        time.monotonic() - started,
    )
    for path in dev_files:
        scores = ", ".join(f"{k} {v:.4f}" for k, v in score(tables, path).items())
        print(f"{path.name}: {scores}")


def word_clusters(
    fixed_tables: dict[str, bytes], texts: Sequence[bytes], settings: Settings
) -> dict[str, bytes]:
    """The table of clusters of the words of texts with one sentence or paragraph per line."""
    from adnominal.etl.parsing.fast._fast import Extractor

    if not settings.clusters:
        return model.cluster_tables({})
    extractor = Extractor({**fixed_tables, **model.cluster_tables({})})
    words: list[str] = []
    sentence_starts: list[npt.NDArray[np.uint32]] = []
    for text in texts:
        extractor.split(text, True)
        starts, end, first = _bounds(extractor)
        sentence_starts.append(first + len(words))
        places = zip(starts.tolist(), end.tolist(), strict=True)
        words += [text[start:stop].decode("utf-8", "replace").lower() for start, stop in places]
    cluster_of = clusters.clusters(
        words,
        np.concatenate(sentence_starts),
        number=settings.clusters,
        min_count=settings.cluster_min_count,
        seed=settings.seed,
    )
    return model.cluster_tables(cluster_of)


def train_tagger(
    extractor: Any, labels: Labels, is_gold: npt.NDArray[np.bool_], settings: Settings
) -> bytes:
    """The tagger's table, learned from the sentences of the extractor's text.

    Each epoch has the silver sentences once and the gold ones several times, mixed.
    """
    random = np.random.default_rng(settings.seed)
    numbers = np.arange(len(is_gold), dtype=np.uint32)
    gold, silver = numbers[is_gold], numbers[~is_gold]
    epoch = np.concatenate([silver, *[gold] * (settings.gold_readings if len(silver) else 1)])
    order = np.concatenate([random.permutation(epoch) for _ in range(settings.epochs)])
    return _quantise_weights(extractor.train_tags(labels.tags.tobytes(), order.tobytes()))


def _quantise_weights(raw_weights: bytes) -> bytes:
    """Weights as whole numbers from -127 to 127; the largest one in two thousand are clipped."""
    weights = np.frombuffer(raw_weights, dtype=np.float32)
    nonzero = np.abs(weights[weights != 0])
    scale = 127 / float(np.quantile(nonzero, 0.9995)) if len(nonzero) else 1.0
    units: npt.NDArray[np.int8] = np.clip(np.rint(weights * scale), -127, 127).astype(np.int8)
    return units.tobytes()


def train_heads(
    tables: dict[str, bytes], corpus: Treebank, is_gold: npt.NDArray[np.bool_], settings: Settings
) -> dict[str, bytes]:
    """The head finder's table, trained on the tags of the tagger, and its limits."""
    from adnominal.etl.parsing.fast._fast import HEAD_ROWS, Extractor

    random = np.random.default_rng(settings.seed)
    limits = np.array([*TAG_MARGINS, settings.bias], dtype=np.int32)
    extractor = Extractor({**tables, "head": bytes(HEAD_ROWS), "limits": limits.tobytes()})
    labels = align(extractor, corpus)
    order = np.concatenate(
        [random.permutation(len(is_gold)).astype(np.uint32) for _ in range(settings.head_epochs)]
    )
    importance = np.where(is_gold, settings.head_gold_weight, 1.0).astype(np.float32)
    raw = extractor.train_heads(
        labels.heads.tobytes(), order.tobytes(), importance.tobytes(), settings.rate
    )
    return {"head": _quantise_weights(raw), "limits": limits.tobytes()}


if __name__ == "__main__":
    sys.exit(conf.run(Settings, train))
