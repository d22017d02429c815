"""Phrases to items, a block at a time: Arrow columns in, rows of ``plane_items`` out.

The rules are those of `etl.plane.rules`, over columns: what is said of a noun, a hypernym or an
adjective is put together once for each and taken from there, and what a row has of its own, ids and
sentence, is joined without a loop. Only the hash of a group's words is made one by one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from etl.plane import CLASSES, TYPES
from etl.plane.rules import HOLDS, article_before, edition_key, spelling

_Ids: TypeAlias = npt.NDArray[np.int64]

PHRASES = pa.schema(
    [
        ("adjective", pa.string()),
        ("class", pa.string()),
        ("noun", pa.string()),
        ("hypernym", pa.string()),
        ("distance", pa.int32()),
    ]
)
"""What items are made of. Without a hypernym a phrase is paired with all of its noun's, in all
inference types; with one it stands for that group's item of type 3 alone."""

WORDS = pa.schema(
    [
        ("noun", pa.string()),
        ("hypernyms", pa.list_(pa.struct([("hypernym", pa.string()), ("distance", pa.int32())]))),
    ]
)
"""Of each noun the hypernyms, nearest first."""

_HEX = np.frombuffer(bytes(range(256)).hex().encode(), np.uint16)  # two digits a byte
_DIGIT = {number: ord(str(number)) for number in TYPES}
# Blocks of so many phrases, or of so many groups where these are more, are some tens of MB: enough
# for the words that a block knows of to cost little.
_PHRASES = 20_000
_GROUPS = 100_000


@dataclass(frozen=True)
class Vocabulary:
    """What blocks need to know, the same for a whole build and small.

    Attributes:
        words: `WORDS`, each noun once.
        distance: steps up to a hypernym for classes I and S.
        intensional_distance: the same for class O.
        text: ``clean`` or ``paper``.
        edition: name of the edition.
    """

    words: pa.Table
    distance: int
    intensional_distance: int
    text: str
    edition: str


def maker(
    vocabulary: Callable[[], Vocabulary],
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.Table]]:
    """A function from batches of `PHRASES` to tables of rows, each of a single class.

    `vocabulary` is asked once a task.
    """

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        known = _Known(vocabulary())
        held: dict[str, list[pa.RecordBatch]] = {kind: [] for kind in CLASSES}
        for batch in batches:
            for kind, own in held.items():
                own.append(batch.filter(pc.equal(batch.column("class"), kind)))
                if sum(part.num_rows for part in own) >= _PHRASES:
                    yield from known.items(pa.concat_batches(own), kind)
                    own.clear()
        for kind, own in held.items():
            if own:
                yield from known.items(pa.concat_batches(own), kind)

    return make


def items(phrases: pa.Table, vocabulary: Vocabulary) -> pa.Table:
    """The rows of ``plane_items`` that phrases make.

    Raises:
        ValueError: a noun without a hypernym given that the vocabulary does not have.
    """
    make = maker(lambda: vocabulary)
    found = list(make(iter(phrases.combine_chunks().to_batches())))
    return pa.concat_tables(found) if found else pa.table({})


def split_items(chosen: pa.Table, edition: str, types: Sequence[int]) -> pa.Table:
    """Rows of ``plane_splits``: for each group chosen its items of the inference types.

    `chosen` has scheme, fold, part and the three words.
    """
    words = [_one(chosen.column(name)) for name in ("adjective", "noun", "hypernym")]
    _, item = _ids(pc.binary_join_element_wise(*words, "\t"), edition, types)
    owner = pa.array(np.repeat(np.arange(chosen.num_rows), len(types)))
    columns = {name: _one(chosen.column(name)).take(owner) for name in ("scheme", "fold", "part")}
    return pa.table({**columns, "item_id": item, "edition": pa.repeat(edition, len(item))})


class _Known:
    """The vocabulary as arrays: `start` and, by class, `count` of a noun's hypernyms."""

    def __init__(self, given: Vocabulary) -> None:
        words = given.words.combine_chunks()
        above = _one(words.column("hypernyms"))
        self._nouns = _one(words.column("noun"))
        self._start = above.offsets.to_numpy()[:-1].astype(np.int64)
        up = above.values.field("hypernym").dictionary_encode()
        self._up = up.indices.to_numpy().astype(np.int64)
        self._above = _Said.of(up.dictionary, given.text)
        self._distance = above.values.field("distance").to_numpy()
        self._count = {kind: self._within(above, _most(given, kind)) for kind in CLASSES}
        self._given = given

    def _within(self, above: Any, most: int) -> _Ids:
        """How many of each noun's hypernyms are at most so far; they come first."""
        near = np.concatenate([[0], np.cumsum(self._distance <= most)])
        bounds = above.offsets.to_numpy()
        found: _Ids = near[bounds[1:]] - near[bounds[:-1]]
        return found

    def items(self, phrases: pa.RecordBatch, kind: str) -> Iterator[pa.Table]:
        """Rows of phrases of class `kind`."""
        given = pc.is_valid(phrases.column("hypernym"))
        alone = phrases.filter(given)
        if alone.num_rows:
            yield self._chained(alone, kind)
        phrases = phrases.filter(pc.invert(given))
        owner = pc.index_in(phrases.column("noun"), value_set=self._nouns)
        if owner.null_count:
            unknown = phrases.column("noun").filter(pc.is_null(owner))[0]
            raise ValueError(f"noun {unknown.as_py()!r} is not in the vocabulary")
        nouns = owner.to_numpy(zero_copy_only=False).astype(np.int64)
        counts = self._count[kind][nouns]
        bounds = np.searchsorted(np.cumsum(counts), np.arange(0, counts.sum(), _GROUPS)[1:])
        for chosen in np.split(np.arange(len(nouns)), bounds):
            if counts[chosen].sum():
                block = phrases.slice(chosen[0], len(chosen))
                yield self._block(block, nouns[chosen], counts[chosen], kind)

    def _block(self, phrases: pa.RecordBatch, nouns: _Ids, counts: _Ids, kind: str) -> pa.Table:
        phrase = np.repeat(np.arange(len(nouns)), counts)
        before = np.concatenate([[0], np.cumsum(counts)[:-1]])
        at = np.arange(len(phrase)) - before[phrase] + self._start[nouns][phrase]
        return self._rows(
            phrases, phrase, self._above, self._up[at], self._distance[at], kind, TYPES
        )

    def _chained(self, phrases: pa.RecordBatch, kind: str) -> pa.Table:
        up = phrases.column("hypernym").dictionary_encode()
        return self._rows(
            phrases,
            np.arange(phrases.num_rows),
            _Said.of(up.dictionary, self._given.text),
            up.indices.to_numpy().astype(np.int64),
            phrases.column("distance").to_numpy(),
            kind,
            (3,),
        )

    def _rows(
        self,
        phrases: pa.RecordBatch,
        phrase: _Ids,
        above: _Said,
        up: _Ids,
        distance: npt.NDArray[np.int32],
        kind: str,
        types: Sequence[int],
    ) -> pa.Table:
        """The items of groups: number of the phrase, number of the hypernym, distance.

        Texts that many rows have are dictionaries, and become such in the file.
        """
        text, edition = self._given.text, self._given.edition
        adjective = phrases.column("adjective").dictionary_encode()
        noun = phrases.column("noun").dictionary_encode()
        spelt = adjective.dictionary.to_pylist()
        written = pa.array([_spelt(word, text) for word in spelt], pa.string())
        premise = _join(written.take(adjective.indices), phrases.column("noun"), " ")

        words = _join(phrases.column("adjective"), phrases.column("noun"), "\t")
        keys = _join(words.take(pa.array(phrase)), above.words.take(pa.array(up)), "\t")
        group, item = _ids(keys, edition, types)

        of_adjective = adjective.indices.to_numpy().astype(np.int64)
        lead = pa.array([_lead(word, text) for word in spelt], pa.string())
        # Conclusions, and what a sentence ends with: of nouns, of hypernyms, of groups.
        nouns = _Said.of(noun.dictionary, text)
        own = pa.array(of_adjective[phrase])
        third = _join(written.take(own), above.words.take(pa.array(up)), " ")
        ends = third
        if text == "clean":
            ends = _join(_join(lead.take(own), third, ""), "", ".")
        conclusions = pa.concat_arrays([nouns.words, above.words, third])
        endings = pa.concat_arrays([nouns.ends, above.ends, ends])
        first = noun.indices.to_numpy().astype(np.int64)[phrase]
        at = {
            1: first,
            2: up + len(nouns.words),
            3: np.arange(len(phrase)) + len(nouns.words) + len(above.words),
        }
        which = pa.array(np.stack([at[number] for number in types], axis=1).reshape(-1))

        each = len(types)
        owners = np.repeat(phrase, each)
        capital = pc.utf8_capitalize(lead).take(adjective.indices)
        opening = _join(_join(capital, premise, ""), "", " is a " if text == "paper" else " is ")
        numbers = np.array(types, np.int32)
        labels = np.array([HOLDS[kind][number - 1] for number in types], np.int32)
        size = len(owners)
        return pa.table(
            {
                "item_id": item,
                "group_id": group,
                "adjective": _coded(of_adjective[owners], adjective.dictionary),
                "class": _coded(np.zeros(size), pa.array([kind])),
                "noun": _coded(np.repeat(first, each), noun.dictionary),
                "hypernym": _coded(np.repeat(up, each), above.words),
                "distance": pa.array(np.repeat(distance, each), pa.int32()),
                "inference_type": pa.array(np.tile(numbers, len(phrase))),
                "premise": _coded(owners, premise),
                "conclusion": conclusions.take(which),
                "label": pa.array(np.tile(labels, len(phrase))),
                "sentence": _join(opening.take(pa.array(owners)), endings.take(which), ""),
                "edition": _coded(np.zeros(size), pa.array([edition])),
            }
        )


@dataclass(frozen=True)
class _Said:
    """Words as conclusions, and as a sentence ends with them: *a dog.*"""

    words: pa.StringArray
    ends: pa.StringArray

    @classmethod
    def of(cls, words: pa.StringArray, text: str) -> _Said:
        if text == "paper":
            return cls(words, words)
        ends = [f"{_article(word, text)} {word}." for word in words.to_pylist()]
        return cls(words, pa.array(ends, pa.string()))


_article = lru_cache(maxsize=1 << 16)(article_before)


@lru_cache(maxsize=1 << 14)
def _spelt(adjective: str, text: str) -> str:
    return spelling(adjective) if text == "clean" else adjective


@lru_cache(maxsize=1 << 14)
def _lead(adjective: str, text: str) -> str:
    """The article before the adjective, and a space."""
    return f"{_article(_spelt(adjective, text), text)} "


def _most(given: Vocabulary, kind: str) -> int:
    return given.intensional_distance if kind == "O" else given.distance


def _one(column: pa.ChunkedArray) -> Any:
    """A column of a table as one array."""
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _join(first: Any, second: Any, between: str) -> Any:
    return pc.binary_join_element_wise(first, second, between)


def _coded(indices: npt.NDArray[Any], words: pa.StringArray) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(indices.astype(np.int32)), words)


def _ids(
    keys: pa.StringArray, edition: str, types: Sequence[int]
) -> tuple[pa.StringArray, pa.StringArray]:
    """`group_id`, once for each of the group's items, and `item_id`; keys are tab-joined words."""
    sha256 = hashlib.sha256
    joined = b"".join([sha256(key).digest() for key in keys.cast(pa.binary()).to_pylist()])
    halves = np.frombuffer(joined, np.uint8).reshape(len(keys), 2, 16)
    group = _hex(halves[:, 0])
    item = _hex(halves[:, 1] ^ np.frombuffer(edition_key(edition), np.uint8))
    groups, made = (np.repeat(hexed[:, None], len(types), axis=1) for hexed in (group, item))
    made[:, :, -1] = [_DIGIT[number] for number in types]
    return _texts(groups), _texts(made)


def _hex(halves: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """16 bytes a row as 32 hexadecimal digits a row."""
    return np.take(_HEX, halves).view(np.uint8)


def _texts(digits: npt.NDArray[np.uint8]) -> pa.StringArray:
    """Rows of 32 characters as strings."""
    size = digits.size // 32
    offsets = pa.py_buffer(np.arange(0, digits.size + 1, 32, dtype=np.int32).tobytes())
    return pa.StringArray.from_buffers(size, offsets, pa.py_buffer(digits.tobytes()))
