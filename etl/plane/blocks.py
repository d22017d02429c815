"""Turn phrases into items block by block: Arrow columns in, rows of ``plane_items`` out.

The rules of `etl.plane.rules` are applied to columns: text for a noun, hypernym or adjective is
built once and reused, and the ids and sentences of rows are joined without a loop. Only the hashes
of groups are computed one by one.
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

from adnominal.etl.plane import CLASSES, TYPES
from adnominal.etl.plane.rules import HOLDS, article_before, edition_key, spelling

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
"""The input of items.

A phrase without a hypernym is paired with all hypernyms of its noun, in all inference types; one
with a hypernym stands only for that group's item of type 3.
"""

WORDS = pa.schema(
    [
        ("noun", pa.string()),
        ("hypernyms", pa.list_(pa.struct([("hypernym", pa.string()), ("distance", pa.int32())]))),
    ]
)
"""The hypernyms of each noun, nearest first."""

_HEX = np.frombuffer(bytes(range(256)).hex().encode(), np.uint16)  # two digits per byte
_DIGIT = {number: ord(str(number)) for number in TYPES}
# Blocks of this many phrases (or groups, if those are more) take tens of MB: enough that the
# per-block cost of the vocabulary is small.
_PHRASES = 20_000
_GROUPS = 100_000


@dataclass(frozen=True)
class Vocabulary:
    """The data that blocks need; small, and the same for a whole build.

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
    """Return a function from batches of `PHRASES` to tables of rows, each of a single class.

    `vocabulary` is called once per task.
    """

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        hypernym_index = _HypernymIndex(vocabulary())
        pending: dict[str, list[pa.RecordBatch]] = {kind: [] for kind in CLASSES}
        for batch in batches:
            for kind, parts in pending.items():
                parts.append(batch.filter(pc.equal(batch.column("class"), kind)))
                if sum(part.num_rows for part in parts) >= _PHRASES:
                    yield from hypernym_index.items(pa.concat_batches(parts), kind)
                    parts.clear()
        for kind, parts in pending.items():
            if parts:
                yield from hypernym_index.items(pa.concat_batches(parts), kind)

    return make


def items(phrases: pa.Table, vocabulary: Vocabulary) -> pa.Table:
    """Return the rows of ``plane_items`` for phrases.

    Raises:
        ValueError: a phrase has no hypernym and the vocabulary lacks its noun.
    """
    make = maker(lambda: vocabulary)
    tables = list(make(iter(phrases.combine_chunks().to_batches())))
    return pa.concat_tables(tables) if tables else pa.table({})


def split_items(groups: pa.Table, edition: str, types: Sequence[int]) -> pa.Table:
    """Return rows of ``plane_splits``: for each group its items of the inference types.

    `groups` has scheme, fold, part and the three words.
    """
    words = [groups[name].combine_chunks() for name in ("adjective", "noun", "hypernym")]
    _, item = _ids(pc.binary_join_element_wise(*words, "\t"), edition, types)
    owner = pa.array(np.repeat(np.arange(groups.num_rows), len(types)))
    columns = {
        name: groups[name].combine_chunks().take(owner) for name in ("scheme", "fold", "part")
    }
    return pa.table({**columns, "item_id": item, "edition": pa.repeat(edition, len(item))})


class _HypernymIndex:
    """The vocabulary as arrays: `start` and, by class, `count` of each noun's hypernyms."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        hypernym_lists = vocabulary.words["hypernyms"].combine_chunks()
        self._nouns = vocabulary.words["noun"].combine_chunks()
        self._start = hypernym_lists.offsets.to_numpy()[:-1].astype(np.int64)
        coded = hypernym_lists.values.field("hypernym").dictionary_encode()
        self._hypernym_numbers = coded.indices.to_numpy().astype(np.int64)
        self._hypernyms = _Phrases.of(coded.dictionary, vocabulary.text)
        self._distance = hypernym_lists.values.field("distance").to_numpy()
        self._count = {
            kind: self._count_within(
                hypernym_lists,
                vocabulary.intensional_distance if kind == "O" else vocabulary.distance,
            )
            for kind in CLASSES
        }
        self._vocabulary = vocabulary

    def _count_within(self, hypernym_lists: Any, max_distance: int) -> _Ids:
        """Return how many of each noun's hypernyms are within the distance; they come first."""
        near_counts = np.concatenate([[0], np.cumsum(self._distance <= max_distance)])
        bounds = hypernym_lists.offsets.to_numpy()
        counts: _Ids = near_counts[bounds[1:]] - near_counts[bounds[:-1]]
        return counts

    def items(self, phrases: pa.RecordBatch, kind: str) -> Iterator[pa.Table]:
        """Yield the rows of phrases of class `kind`."""
        with_hypernym = pc.is_valid(phrases.column("hypernym"))
        chained = phrases.filter(with_hypernym)
        if chained.num_rows:
            yield self._chain_items(chained, kind)
        phrases = phrases.filter(pc.invert(with_hypernym))
        nouns = self._noun_numbers(phrases.column("noun"))
        counts = self._count[kind][nouns]
        # A block ends with the phrase that brings it to so many groups.
        limits = np.arange(0, counts.sum(), _GROUPS)[1:]
        bounds = np.searchsorted(np.cumsum(counts), limits)
        for block_rows in np.split(np.arange(len(nouns)), bounds):
            if counts[block_rows].sum():
                block = phrases.slice(block_rows[0], len(block_rows))
                yield self._block(block, nouns[block_rows], counts[block_rows], kind)

    def _noun_numbers(self, nouns: pa.StringArray) -> _Ids:
        """The number of each noun in the vocabulary; raise `ValueError` for an unknown noun."""
        numbers = pc.index_in(nouns, value_set=self._nouns)
        if numbers.null_count:
            unknown = nouns.filter(pc.is_null(numbers))[0]
            raise ValueError(f"noun {unknown.as_py()!r} is not in the vocabulary")
        known_numbers: _Ids = numbers.to_numpy(zero_copy_only=False).astype(np.int64)
        return known_numbers

    def _block(self, phrases: pa.RecordBatch, nouns: _Ids, counts: _Ids, kind: str) -> pa.Table:
        """The rows of a block: each phrase with each of its noun's hypernyms within reach.

        `nouns` has the number of each phrase's noun, `counts` how many hypernyms are used.
        """
        phrase = np.repeat(np.arange(len(nouns)), counts)
        first_groups = np.concatenate([[0], np.cumsum(counts)[:-1]])
        number_in_phrase = np.arange(len(phrase)) - first_groups[phrase]
        # The hypernyms of a noun stand together in the flat lists of the vocabulary.
        places = self._start[nouns][phrase] + number_in_phrase
        groups = _Groups(phrase, self._hypernym_numbers[places], self._distance[places])
        return self._rows(phrases, groups, self._hypernyms, kind, TYPES)

    def _chain_items(self, phrases: pa.RecordBatch, kind: str) -> pa.Table:
        """The rows of phrases that have a hypernym each, as chains do: inference type 3 only."""
        hypernym_codes = phrases.column("hypernym").dictionary_encode()
        groups = _Groups(
            np.arange(phrases.num_rows),
            hypernym_codes.indices.to_numpy().astype(np.int64),
            phrases.column("distance").to_numpy(),
        )
        hypernyms = _Phrases.of(hypernym_codes.dictionary, self._vocabulary.text)
        return self._rows(phrases, groups, hypernyms, kind, (3,))

    def _rows(
        self,
        phrases: pa.RecordBatch,
        groups: _Groups,
        hypernyms: _Phrases,
        kind: str,
        types: Sequence[int],
    ) -> pa.Table:
        """Return the items of groups with hypernyms from `hypernyms`.

        Text shared by many rows is dictionary-encoded, also in the file.
        """
        text, edition = self._vocabulary.text, self._vocabulary.edition
        adjectives = _Adjectives.of(phrases.column("adjective"), text)
        noun = phrases.column("noun").dictionary_encode()
        premise = _join(adjectives.spellings.take(adjectives.numbers), phrases.column("noun"), " ")
        words = _join(phrases.column("adjective"), phrases.column("noun"), "\t")
        hypernym = hypernyms.words.take(pa.array(groups.hypernym))
        keys = _join(words.take(pa.array(groups.phrase)), hypernym, "\t")
        group, item = _ids(keys, edition, types)
        first = noun.indices.to_numpy().astype(np.int64)[groups.phrase]
        nouns = _Phrases.of(noun.dictionary, text)
        conclusions, endings = _conclusions(groups, adjectives, nouns, hypernyms, text)
        sizes = len(nouns.words), len(hypernyms.words)
        conclusion_rows = _conclusion_rows(first, groups, sizes, types)

        types_per_group = len(types)
        phrase, distance = groups.phrase, groups.distance
        owners = np.repeat(phrase, types_per_group)
        capital = pc.utf8_capitalize(adjectives.articles).take(adjectives.numbers)
        opening = _join(_join(capital, premise, ""), "", " is a " if text == "paper" else " is ")
        numbers = np.array(types, np.int32)
        labels = np.array([HOLDS[kind][number - 1] for number in types], np.int32)
        size = len(owners)
        return pa.table(
            {
                "item_id": item,
                "group_id": group,
                "adjective": _dictionary_array(
                    adjectives.numbers.to_numpy()[owners], adjectives.words
                ),
                "class": _dictionary_array(np.zeros(size), pa.array([kind])),
                "noun": _dictionary_array(np.repeat(first, types_per_group), noun.dictionary),
                "hypernym": _dictionary_array(
                    np.repeat(groups.hypernym, types_per_group), hypernyms.words
                ),
                "distance": pa.array(np.repeat(distance, types_per_group), pa.int32()),
                "inference_type": pa.array(np.tile(numbers, len(phrase))),
                "premise": _dictionary_array(owners, premise),
                "conclusion": conclusions.take(conclusion_rows),
                "label": pa.array(np.tile(labels, len(phrase))),
                "sentence": _join(
                    opening.take(pa.array(owners)), endings.take(conclusion_rows), ""
                ),
                "edition": _dictionary_array(np.zeros(size), pa.array([edition])),
            }
        )


@dataclass(frozen=True)
class _Phrases:
    """Words as conclusions and as sentence endings: *a dog.*"""

    words: pa.StringArray
    ends: pa.StringArray

    @classmethod
    def of(cls, words: pa.StringArray, text: str) -> _Phrases:
        if text == "paper":
            return cls(words, words)
        ends = [f"{_article(word, text)} {word}." for word in words.to_pylist()]
        return cls(words, pa.array(ends, pa.string()))


@dataclass(frozen=True)
class _Adjectives:
    """The adjectives of phrases: each word once, and the number of each phrase's adjective.

    `spellings` has them as written in text, `articles` the article before each with a space.
    """

    words: pa.StringArray
    numbers: pa.Int32Array
    spellings: pa.StringArray
    articles: pa.StringArray

    @classmethod
    def of(cls, column: pa.StringArray, text: str) -> _Adjectives:
        """The adjectives of a column, with their spelling and article in the edition's text."""
        coded = column.dictionary_encode()
        words = coded.dictionary.to_pylist()
        return cls(
            coded.dictionary,
            coded.indices,
            pa.array([_adjective_spelling(word, text) for word in words], pa.string()),
            pa.array([_lead(word, text) for word in words], pa.string()),
        )


@dataclass(frozen=True)
class _Groups:
    """Groups of phrase and hypernym by number, with the distance from noun to hypernym."""

    phrase: _Ids
    hypernym: _Ids
    distance: npt.NDArray[np.int32]


def _conclusions(
    groups: _Groups, adjectives: _Adjectives, nouns: _Phrases, hypernyms: _Phrases, text: str
) -> tuple[pa.StringArray, pa.StringArray]:
    """Return conclusions and sentence endings of nouns, hypernyms and groups."""
    of_group = pa.array(adjectives.numbers.to_numpy().astype(np.int64)[groups.phrase])
    hypernym = hypernyms.words.take(pa.array(groups.hypernym))
    group_conclusions = _join(adjectives.spellings.take(of_group), hypernym, " ")
    ends = group_conclusions
    if text == "clean":
        ends = _join(_join(adjectives.articles.take(of_group), group_conclusions, ""), "", ".")
    return (
        pa.concat_arrays([nouns.words, hypernyms.words, group_conclusions]),
        pa.concat_arrays([nouns.ends, hypernyms.ends, ends]),
    )


def _conclusion_rows(
    nouns: _Ids, groups: _Groups, sizes: tuple[int, int], types: Sequence[int]
) -> pa.Array:
    """Return each item's position in `_conclusions`; `sizes` are those of its first two pieces."""
    places = {1: nouns, 2: groups.hypernym + sizes[0], 3: np.arange(len(nouns)) + sum(sizes)}
    return pa.array(np.stack([places[number] for number in types], axis=1).reshape(-1))


_article = lru_cache(maxsize=1 << 16)(article_before)


@lru_cache(maxsize=1 << 14)
def _adjective_spelling(adjective: str, text: str) -> str:
    return spelling(adjective) if text == "clean" else adjective


@lru_cache(maxsize=1 << 14)
def _lead(adjective: str, text: str) -> str:
    """Return the article before the adjective, with a space."""
    return f"{_article(_adjective_spelling(adjective, text), text)} "


def _join(first: Any, second: Any, separator: str) -> Any:
    return pc.binary_join_element_wise(first, second, separator)


def _dictionary_array(indices: npt.NDArray[Any], words: pa.StringArray) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(indices.astype(np.int32)), words)


def _ids(
    keys: pa.StringArray, edition: str, types: Sequence[int]
) -> tuple[pa.StringArray, pa.StringArray]:
    """Return `group_id`, repeated for each item of a group, and `item_id`; keys are tab-joined.

    The 32 bytes of a key's hash are divided: the first half is the group's id, the second half,
    combined with the edition's key, that of its items, which differ in the last digit by inference
    type. Arrays of digits are [groups, items of a group, 32].
    """
    digests = [hashlib.sha256(key).digest() for key in keys.cast(pa.binary()).to_pylist()]
    halves = np.frombuffer(b"".join(digests), np.uint8).reshape(len(keys), 2, 16)
    edition_bytes = np.frombuffer(edition_key(edition), np.uint8)
    group_digits = _hex(halves[:, 0])
    item_digits = _hex(halves[:, 1] ^ edition_bytes)
    groups = np.repeat(group_digits[:, None], len(types), axis=1)
    items = np.repeat(item_digits[:, None], len(types), axis=1)
    items[:, :, -1] = [_DIGIT[number] for number in types]
    return _texts(groups), _texts(items)


def _hex(rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Convert 16 bytes per row to 32 hexadecimal digits per row."""
    return np.take(_HEX, rows).view(np.uint8)


def _texts(digits: npt.NDArray[np.uint8]) -> pa.StringArray:
    """Convert rows of 32 characters to strings."""
    size = digits.size // 32
    offsets = pa.py_buffer(np.arange(0, digits.size + 1, 32, dtype=np.int32).tobytes())
    return pa.StringArray.from_buffers(size, offsets, pa.py_buffer(digits.tobytes()))
