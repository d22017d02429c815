"""Pairs of frequent words that a corpus does not have: candidates for studies of novel phrases.

Both words occur in at least `min_count` pairs of the corpus, but never together. Candidates are
drawn as evenly as possible from strata, the powers of ten of both words' counts (100 to 999 with
1,000 to 9,999, and so on), so that frequent words do not fill the list. A stratum in which drawing
finds too few is enumerated. The draw is seeded, and memory depends on the words and on the size of
the draw, not on the number of pairs.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from adnominal.conf import JobFailed
from adnominal.etl.amod.list_counts import TABLE, replace_list, rows_of_corpus
from adnominal.etl.amod.settings import NOVEL_LIST
from adnominal.etl.lake import arrow

if TYPE_CHECKING:
    import numpy.typing as npt

Stratum = tuple[int, int]

_ROUNDS = 20  # of drawing again to replace pairs that occur
_MAX_ENUMERATED = 1 << 24  # pairs of a stratum, at nine bytes each while it is enumerated

log = logging.getLogger("adnominal")


def propose(root: str, corpus: str, count: int, min_count: int, seed: int) -> list[tuple[str, str]]:
    """`count` pairs that ``amod_pairs`` of `corpus` does not have, or as many as are found.

    Raises:
        JobFailed: no pair of such members is found missing.
    """
    adjectives, nouns = (_decades(root, corpus, name, min_count) for name in ("adjective", "noun"))
    words = {(a, n): (adjectives[a], nouns[n]) for a in sorted(adjectives) for n in sorted(nouns)}
    search = _Search(root, corpus, words, seed)
    # More than an even share, since small strata give less.
    quota = 2 * -(-count // max(1, len(words)))
    search.fill(quota)
    while search.size < count:
        search.enumerate_short(quota, count)
        missing, open_strata = count - search.size, len(words) - len(search.exhausted)
        if missing <= 0 or not open_strata:
            break
        quota += 2 * -(-missing // open_strata)
        search.fill(quota)
    rows = [
        pair
        for round_number in zip_longest(*search.pairs.values())
        for pair in round_number
        if pair is not None
    ]
    if not rows:
        raise JobFailed(
            f"novel={count}: no pair of words with {min_count} pairs each was found that corpus "
            f"{corpus!r} does not have; give a lower novel_least="
        )
    if len(rows) < count:
        log.warning(
            "novel=%d: only %d such pairs were found; for more give a lower novel_least=",
            count,
            len(rows),
        )
    return sorted(rows[:count])


class _Search:
    """Pairs that do not occur, by stratum.

    Attributes:
        pairs: what was found of each stratum.
        exhausted: the strata that have no further pairs, or in which drawing finds none.
    """

    def __init__(
        self,
        root: str,
        corpus: str,
        words: Mapping[Stratum, tuple[pa.StringArray, pa.StringArray]],
        seed: int,
    ) -> None:
        self.pairs: dict[Stratum, list[tuple[str, str]]] = {stratum: [] for stratum in words}
        self.exhausted: set[Stratum] = set()
        self._root, self._corpus, self._words, self._seed = root, corpus, words, seed
        self._round = 0

    @property
    def size(self) -> int:
        """The number of pairs found."""
        return sum(map(len, self.pairs.values()))

    def fill(self, quota: int) -> None:
        """Draw until each stratum has `quota` pairs, or for some rounds."""
        for _ in range(_ROUNDS):
            candidates: dict[Stratum, list[tuple[str, str]]] = {}
            for stratum in self._short(quota):
                missing = quota - len(self.pairs[stratum])
                generator = self._generator(self._round, stratum)
                candidates[stratum] = _draw(*self._words[stratum], missing, generator)
                if _space(*self._words[stratum]) <= 4 * missing:
                    self.exhausted.add(stratum)  # all of its pairs are among the candidates
            if not candidates:
                break
            drawn_pairs = [pair for pairs in candidates.values() for pair in pairs]
            occurring = _occurring(self._root, self._corpus, drawn_pairs)
            for stratum, pairs in candidates.items():
                known = set(self.pairs[stratum])
                self.pairs[stratum] += [
                    pair
                    for pair in dict.fromkeys(pairs)
                    if pair not in known and pair not in occurring
                ]
            self._round += 1

    def enumerate_short(self, quota: int, count: int) -> None:
        """Find up to `count` further pairs of each stratum in which drawing found too few."""
        for stratum in self._short(quota):
            adjectives, nouns = self._words[stratum]
            if _space(adjectives, nouns) <= _MAX_ENUMERATED:
                places = _missing_places(self._root, self._corpus, adjectives, nouns)
                self._generator(self._round, stratum).shuffle(places)
                known = set(self.pairs[stratum])
                further_pairs = _pairs_at(adjectives, nouns, places[: count + len(known)])
                self.pairs[stratum] += [pair for pair in further_pairs if pair not in known]
            self.exhausted.add(stratum)

    def _short(self, quota: int) -> list[Stratum]:
        return [
            stratum
            for stratum, pairs in self.pairs.items()
            if len(pairs) < quota and stratum not in self.exhausted
        ]

    def _generator(self, round_number: int, stratum: Stratum) -> np.random.Generator:
        numbers = [self._seed, round_number, *stratum]
        return np.random.default_rng([abs(number) for number in numbers])


def write(root: str, corpus: str, pairs: Sequence[tuple[str, str]], job: str) -> None:
    """Write `pairs` to ``listed_counts`` as the list ``novel`` with amod 0; other lists stay."""
    _replace(root, corpus, dict.fromkeys(pairs, 0), job)


def renew(root: str, corpus: str, job: str) -> None:
    """Update the counts of the list ``novel``, if there is one, from ``amod_pairs``."""
    listed = _listed(root, corpus)
    counts = dict.fromkeys(listed, 0)
    if listed:
        counts |= _occurring(root, corpus, list(listed))
    if counts != listed:
        log.info(
            "list novel of listed_counts: %d of its %d pairs occur now, see its column amod; "
            "novel=%d proposes others",
            sum(count > 0 for count in counts.values()),
            len(counts),
            len(counts),
        )
        _replace(root, corpus, counts, job)


def forget(root: str, corpus: str, job: str) -> None:
    """Remove the list ``novel``, if there is one."""
    if _listed(root, corpus):
        _replace(root, corpus, {}, job)


def _listed(root: str, corpus: str) -> dict[tuple[str, str], int | None]:
    """The pairs of the list ``novel`` with their column amod."""
    rows = rows_of_corpus(root, corpus)
    return {
        (row["adjective"], row["noun"]): row["amod"] for row in rows if row["list"] == NOVEL_LIST
    }


def _replace(root: str, corpus: str, counts: Mapping[tuple[str, str], int], job: str) -> None:
    """Replace the list ``novel`` with `counts`, which may be empty."""
    base = arrow.version(root, TABLE)
    replace_list(root, corpus, NOVEL_LIST, counts, "amod", job=job, base=base, allow_empty=True)


def _pairs(root: str, corpus: str, *columns: str) -> Iterator[pa.RecordBatch]:
    where = [("corpus", "=", corpus)]
    return arrow.batches(root, "amod_pairs", where=where, columns=list(columns))


def _decades(root: str, corpus: str, column: str, min_count: int) -> dict[int, pa.StringArray]:
    """The words of a column with at least `min_count` pairs, by the power of ten of their count."""
    sums = pa.table({column: pa.array([], pa.string()), "count": pa.array([], pa.int64())})
    for batch in _pairs(root, corpus, column, "count"):
        concatenated = pa.concat_tables([sums, pa.Table.from_batches([batch])])
        sums = concatenated.group_by(column).aggregate([("count", "sum")])
        sums = sums.rename_columns([column, "count"])
    frequent = sums.filter(pc.greater_equal(sums["count"], min_count)).sort_by(column)
    decades = np.floor(np.log10(np.maximum(frequent["count"].to_numpy(), 1))).astype(int)
    words = frequent[column].combine_chunks()
    return {
        int(power): words.filter(pa.array(decades == power))
        for power in sorted(set(decades.tolist()))
    }


def _space(adjectives: pa.StringArray, nouns: pa.StringArray) -> int:
    return len(adjectives) * len(nouns)


def _draw(
    adjectives: pa.StringArray, nouns: pa.StringArray, count: int, generator: np.random.Generator
) -> list[tuple[str, str]]:
    space = _space(adjectives, nouns)
    is_small = space <= 4 * count
    places = generator.permutation(space) if is_small else generator.integers(0, space, 2 * count)
    return _pairs_at(adjectives, nouns, places)


def _pairs_at(
    adjectives: pa.StringArray, nouns: pa.StringArray, places: npt.NDArray[np.int64]
) -> list[tuple[str, str]]:
    """The pairs whose places, adjective by adjective, are given."""
    of_adjective, of_noun = np.divmod(places, len(nouns))
    first = adjectives.take(pa.array(of_adjective)).to_pylist()
    second = nouns.take(pa.array(of_noun)).to_pylist()
    return list(zip(first, second, strict=True))


def _missing_places(
    root: str, corpus: str, adjectives: pa.StringArray, nouns: pa.StringArray
) -> npt.NDArray[np.int64]:
    """The places of all pairs of these words that do not occur."""
    is_missing = np.ones(_space(adjectives, nouns), bool)
    for batch in _pairs(root, corpus, "adjective", "noun"):
        row = pc.index_in(batch.column("adjective"), adjectives).cast(pa.int64())
        places = pc.add(pc.multiply(row, len(nouns)), pc.index_in(batch.column("noun"), nouns))
        is_missing[places.drop_null().to_numpy()] = False
    return np.flatnonzero(is_missing)


def _occurring(
    root: str, corpus: str, pairs: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], int]:
    """The pairs of `pairs` that occur, with their counts."""
    keys = pa.array(["\0".join(pair) for pair in pairs], pa.string())
    occurring: dict[tuple[str, str], int] = {}
    for batch in _pairs(root, corpus, "adjective", "noun", "count"):
        both = pc.binary_join_element_wise(batch.column("adjective"), batch.column("noun"), "\0")
        for row in batch.filter(pc.is_in(both, keys)).to_pylist():
            occurring[row["adjective"], row["noun"]] = row["count"]
    return occurring
