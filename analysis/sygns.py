"""SyGNS's tables and figure (Yanaka et al. 2021) from the lake."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analysis import figures
from analysis.figures import Plot
from analysis.interval import Interval
from conf import UserError
from etl.lake import arrow
from etl.sygns import splits

_RESAMPLES = 2000


def split_sizes(lake: str, edition: str) -> pa.Table:
    """Sentences by scheme, primitive quantifier and part (section 3.4): those and `sentences`.

    Counted while streaming; memory does not grow with the table.

    Raises:
        UserError: no splits of the edition.
    """
    counts: Counter[tuple[str, str, str]] = Counter()
    for batch in arrow.batches(
        lake,
        "sygns_splits",
        where=[("edition", "=", edition)],
        columns=["scheme", "primitive", "part"],
    ):
        grouped = pa.Table.from_batches([batch]).group_by(["scheme", "primitive", "part"])
        for row in grouped.aggregate([([], "count_all")]).to_pylist():
            counts[row["scheme"], row["primitive"], row["part"]] += row["count_all"]
    if not counts:
        raise UserError(f"edition={edition}: no rows of it in the table sygns_splits of {lake}")
    return pa.Table.from_pylist(
        [
            {"scheme": scheme, "primitive": primitive, "part": part, "sentences": number}
            for (scheme, primitive, part), number in sorted(counts.items(), key=_order)
        ]
    )


def _order(item: tuple[tuple[str, str, str], int]) -> tuple[int, int, int]:
    (scheme, primitive, part), _ = item
    primitives = ("", *splits.PRIMITIVES)
    return (
        splits.SCHEMES.index(scheme),
        primitives.index(primitive),
        ("train", "val", "test").index(part),
    )


def pattern_table(lake: str, edition: str, primitive: str = "one") -> pa.Table:
    """What systematicity trains and tests on (table 1): columns set, pattern, sentences, example.

    Of training are the sets ``primitive quantifier``, ``basic 1`` (the other quantifiers without
    modifier) and ``basic 2`` (the primitive with a modifier); ``test`` has the others with one.
    Patterns are of the quantifier's class and the modifier's, with +NEG under negation. Sentences
    without quantifier or with quantifiers of two classes are no part of the table. The example is
    the first of the shortest sentences by the alphabet.

    Raises:
        UserError: no sentences of depth 0 in the edition.
    """
    counts: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], tuple[int, str]] = {}
    rows = 0
    for batch in arrow.batches(
        lake,
        "sygns",
        where=[("edition", "=", edition), ("depth", "=", 0)],
        columns=["sentence", "phenomena"],
    ):
        rows += batch.num_rows
        for sentence, phenomena in zip(
            batch.column("sentence").to_pylist(), batch.column("phenomena").to_pylist(), strict=True
        ):
            key = _pattern(sentence, phenomena, primitive)
            if key is None:
                continue
            counts[key] += 1
            shown = (len(sentence), sentence)
            examples[key] = min(examples.get(key, shown), shown)
    if not rows:
        raise UserError(
            f"edition={edition}: no sentences of depth 0 of it in the table sygns of {lake}"
        )
    sets = ("primitive quantifier", "basic 1", "basic 2", "test")
    return pa.Table.from_pylist(
        [
            {
                "set": name,
                "pattern": pattern,
                "sentences": counts[name, pattern],
                "example": examples[name, pattern][1],
            }
            for name, pattern in sorted(counts, key=lambda key: (sets.index(key[0]), key[1]))
        ]
    )


def _pattern(sentence: str, phenomena: list[str], primitive: str) -> tuple[str, str] | None:
    """(set, pattern) of a sentence of depth 0; the part is `splits.part`'s own."""
    quantifier = splits.quantifier_class(sentence)
    modifier = splits.modifier_class(phenomena)
    if quantifier in ("NON", "MIX"):
        return None
    plain = modifier.startswith("NON")
    negation = "+NEG" if modifier.endswith("+NEG") else ""
    if splits.part("systematicity", primitive, 0, sentence, phenomena) == "test":
        return "test", f"{quantifier}+{modifier}"
    if not set(splits.quantifiers(sentence)) & set(primitive.split(",")):
        return "basic 1", f"{quantifier}{negation}"
    return ("primitive quantifier", quantifier + negation) if plain else ("basic 2", modifier)


def embedding_table(lake: str, edition: str, depths: Sequence[int] = (0, 1, 2)) -> pa.Table:
    """What productivity trains on (depths 0 and 1) and tests on (2 and deeper): table 2.

    Columns set, depth, pattern (NON, PER for peripheral, CEN for centre-embedded clauses, PER+CEN
    for both), sentences and an example: the first of the shortest sentences by the alphabet.

    Raises:
        UserError: no sentences of these depths in the edition.
    """
    counts: Counter[tuple[int, str]] = Counter()
    examples: dict[tuple[int, str], tuple[int, str]] = {}
    for batch in arrow.batches(
        lake,
        "sygns",
        where=[("edition", "=", edition), ("depth", "in", list(depths))],
        columns=["sentence", "depth", "phenomena"],
    ):
        columns = (batch.column(name).to_pylist() for name in ("sentence", "depth", "phenomena"))
        for sentence, depth, phenomena in zip(*columns, strict=True):
            kinds = [short for tag, short in _EMBEDDING.items() if tag in phenomena]
            key = depth, "+".join(kinds) or "NON"
            counts[key] += 1
            shown = (len(sentence), sentence)
            examples[key] = min(examples.get(key, shown), shown)
    if not counts:
        raise UserError(
            f"edition={edition}: no sentences of depths {', '.join(map(str, depths))} of it in the "
            f"table sygns of {lake}"
        )
    return pa.Table.from_pylist(
        [
            {
                "set": f"basic {depth + 1}" if depth < 2 else "test",
                "depth": depth,
                "pattern": pattern,
                "sentences": counts[depth, pattern],
                "example": examples[depth, pattern][1],
            }
            for depth, pattern in sorted(counts)
        ]
    )


_EMBEDDING = {"peripheral": "PER", "center": "CEN"}


def classes(lake: str, edition: str) -> pa.Table:
    """The classes that scores are broken down by: columns sentence_id, quantifier, modifier (+NEG
    under negation), depth, of every sentence of the edition."""
    ids: list[str] = []
    kinds: list[str] = []
    modifiers: list[str] = []
    depths: list[int] = []
    for batch in arrow.batches(
        lake,
        "sygns",
        where=[("edition", "=", edition)],
        columns=["sentence_id", "sentence", "phenomena", "depth"],
    ):
        ids += batch.column("sentence_id").to_pylist()
        kinds += map(splits.quantifier_class, batch.column("sentence").to_pylist())
        modifiers += map(splits.modifier_class, batch.column("phenomena").to_pylist())
        depths += batch.column("depth").to_pylist()
    return pa.table(
        {
            "sentence_id": pa.array(ids, pa.string()),
            "quantifier": pa.array(kinds, pa.string()),
            "modifier": pa.array(modifiers, pa.string()),
            "depth": pa.array(depths, pa.int32()),
        }
    )


def clause_f(clauses: Sequence[tuple[int, int, int]], seed: int = 0) -> Interval:
    """F over all clauses of (matched, predicted, gold) numbers, an item each (COUNTER's micro F),
    with the percentile interval of a bootstrap over items.

    Raises:
        ValueError: no items.
    """

    def f(sums: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return 2 * sums[..., 0] / (sums[..., 1] + sums[..., 2])

    return _resampled(np.array(clauses, dtype=np.float64), f, seed)


def mean(values: Sequence[float], seed: int = 0) -> Interval:
    """The mean of scores from 0 to 1 with the percentile interval of a bootstrap over items.

    Raises:
        ValueError: no items.
    """
    number = len(values)
    return _resampled(np.array(values)[:, None], lambda sums: sums[..., 0] / number, seed)


def _resampled(
    rows: npt.NDArray[np.float64],
    statistic: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]],
    seed: int,
) -> Interval:
    """A statistic of the sums of rows. Few rows differ: their numbers are drawn, not the rows."""
    if not len(rows):
        raise ValueError("no items")
    unique, counts = np.unique(rows, axis=0, return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(len(rows), counts / len(rows), size=_RESAMPLES)
    low, high = np.quantile(statistic(drawn @ unique), (0.025, 0.975))
    return Interval(float(statistic(counts @ unique)), float(low), float(high), len(rows))


def learning_curves(points: pa.Table) -> Plot:
    """Accuracy over the number of training sentences (figure 2).

    `points` has the columns model, test (EXI, NUM, UNI or ADJ, ADV, CON), sentences, accuracy and,
    for the band of several runs, low and high: one panel a model.

    Raises:
        ValueError: a column that is missing, or no rows.
    """
    for name in ("model", "test", "sentences", "accuracy"):
        if name not in points.column_names:
            raise ValueError(f"no column {name!r}; there is {', '.join(points.column_names)}")
    banded = "low" in points.column_names
    return figures.curves(
        points,
        x="sentences",
        y="accuracy",
        series="test",
        panel="model",
        low="low" if banded else None,
        high="high" if banded else None,
        xlabel="training sentences",
        ylabel="accuracy",
        columns=2,
    )
