"""Pairs of frequent words that a corpus does not have: candidates for studies of novel phrases.

Both words occur in at least `min_count` pairs of the corpus, but never together. Candidates are
drawn as evenly as possible from strata, the powers of ten of both words' counts (100 to 999 with
1,000 to 9,999, and so on), so that frequent words do not fill the list. The draw is seeded, and
memory depends on the words and on the size of the draw, not on the number of pairs.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from conf import JobFailed
from etl.amod.list_counts import TABLE, replace_list, rows_of_corpus
from etl.lake import arrow

if TYPE_CHECKING:
    import numpy.typing as npt

LIST = "novel"
_ROUNDS = 20  # of drawing again to replace pairs that occur

log = logging.getLogger("adnominal")


def propose(root: str, corpus: str, count: int, min_count: int, seed: int) -> list[tuple[str, str]]:
    """`count` pairs that are not in ``amod_pairs`` of `corpus`, or fewer if there are not enough.

    Raises:
        JobFailed: all pairs of such words occur.
    """
    adjectives, nouns = (_decades(root, corpus, name, min_count) for name in ("adjective", "noun"))
    pairs_by_stratum: dict[tuple[int, int], list[tuple[str, str]]] = {}
    strata = [(a, n) for a in sorted(adjectives) for n in sorted(nouns)]
    share = -(-count // max(1, len(strata)))
    # Twice an even share, since small strata give less.
    missing_counts = dict.fromkeys(strata, 2 * share)
    for round_number in range(_ROUNDS):
        candidates = {
            stratum: _draw(
                adjectives[stratum[0]], nouns[stratum[1]], more, [seed, round_number, *stratum]
            )
            for stratum, more in missing_counts.items()
            if more > 0
        }
        occurring = _occurring(
            root, corpus, [pair for drawn_pairs in candidates.values() for pair in drawn_pairs]
        )
        for stratum, drawn_pairs in candidates.items():
            stratum_pairs = pairs_by_stratum.setdefault(stratum, [])
            new_pairs = dict.fromkeys(pair for pair in drawn_pairs if pair not in occurring)
            stratum_pairs += [pair for pair in new_pairs if pair not in set(stratum_pairs)]
            missing_counts[stratum] = 2 * share - len(stratum_pairs)
        if all(more <= 0 for more in missing_counts.values()):
            break
    rows = [
        pair
        for round_number in zip_longest(*pairs_by_stratum.values())
        for pair in round_number
        if pair is not None
    ]
    if not rows:
        raise JobFailed(
            f"novel={count}: every pair of words with {min_count} pairs each occurs in corpus "
            f"{corpus!r}; give a lower novel_least="
        )
    if len(rows) < count:
        log.warning("novel=%d: only %d pairs of such words do not occur", count, len(rows))
    return sorted(rows[:count])


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
    return {(row["adjective"], row["noun"]): row["amod"] for row in rows if row["list"] == LIST}


def _replace(root: str, corpus: str, counts: Mapping[tuple[str, str], int], job: str) -> None:
    """Replace the list ``novel`` with `counts`, which may be empty."""
    base = arrow.version(root, TABLE)
    replace_list(root, corpus, LIST, counts, "amod", job=job, base=base, allow_empty=True)


def _decades(root: str, corpus: str, column: str, min_count: int) -> dict[int, pa.StringArray]:
    """The words of a column with at least `min_count` pairs, by the power of ten of their count."""
    sums = pa.table({column: pa.array([], pa.string()), "count": pa.array([], pa.int64())})
    batches = arrow.batches(
        root, "amod_pairs", where=[("corpus", "=", corpus)], columns=[column, "count"]
    )
    for batch in batches:
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


def _draw(
    adjectives: pa.StringArray, nouns: pa.StringArray, count: int, seed: list[int]
) -> list[tuple[str, str]]:
    generator = np.random.default_rng([abs(number) for number in seed])
    space = len(adjectives) * len(nouns)
    places: npt.NDArray[np.int64]
    if space <= 4 * count:
        places = generator.permutation(space)
    else:
        places = generator.integers(0, space, 2 * count)
    of_adjective, of_noun = np.divmod(places, len(nouns))
    first = adjectives.take(pa.array(of_adjective)).to_pylist()
    second = nouns.take(pa.array(of_noun)).to_pylist()
    return list(zip(first, second, strict=True))


def _occurring(
    root: str, corpus: str, pairs: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], int]:
    """The pairs of `pairs` that occur, with their counts."""
    keys = pa.array(["\0".join(pair) for pair in pairs], pa.string())
    occurring: dict[tuple[str, str], int] = {}
    columns = ["adjective", "noun", "count"]
    where = [("corpus", "=", corpus)]
    for batch in arrow.batches(root, "amod_pairs", where=where, columns=columns):
        both = pc.binary_join_element_wise(batch.column("adjective"), batch.column("noun"), "\0")
        for row in batch.filter(pc.is_in(both, keys)).to_pylist():
            occurring[row["adjective"], row["noun"]] = row["count"]
    return occurring
