"""The figures on PLANE's dataset: table 1, its size, and figure 4."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import stats

from adnominal.analysis.editions import read_edition
from adnominal.analysis.papers.comparison import Missing, comparison
from adnominal.analysis.papers.page import exhibit
from adnominal.analysis.papers.plane.sources import TYPES, Plane
from adnominal.analysis.papers.published import table as published_table
from adnominal.analysis.rendering import figures
from adnominal.analysis.rendering.blocks import Block, FigureBlock, Table, Text
from adnominal.analysis.rendering.figures import Plot
from adnominal.analysis.rows import distinct_values, row_counts, where_equal
from adnominal.etl.lake import arrow
from adnominal.etl.plane import CLASSES

_BUILD = "python etl/build_plane.py preset=paper lake=LAKE"
QUANTILES = {"p05": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95}


def rule_check(batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """Labels by class and inference type compared with table 1, over batches of ``plane_items``.

    Columns class, inference_type, rows, entailed, expected (the paper's 1 or 0) and agrees (whether
    every row has the expected label). The batches need the columns class, inference_type and label,
    and may come from a table of any size.
    """
    counts = row_counts(batches, "class", "inference_type", "label")
    if not counts:
        raise ValueError("no rows to check")
    rule = published_table("plane", "table 1")
    keys = {(kind, inference) for kind, inference, _ in counts}
    checks = []
    for kind, inference in sorted(keys, key=lambda key: (CLASSES.index(key[0]), key[1])):
        entailed = counts[kind, inference, 1]
        rows = entailed + counts[kind, inference, 0]
        expected = int(rule[TYPES[inference], kind].value)
        checks.append(
            {
                "class": kind,
                "inference_type": inference,
                "rows": rows,
                "entailed": entailed,
                "expected": expected,
                "agrees": entailed == expected * rows,
            }
        )
    return pa.Table.from_pylist(checks)


@exhibit(
    "Table 1",
    "what holds by rule",
    command=_BUILD,
    tables=("plane_items",),
    beside=("table 1",),
)
def rules(page: Plane) -> list[Block]:
    """The share of rows that are entailed, by class and inference type."""
    edition = page.lake.edition("plane_items")
    columns = ["class", "inference_type", "label"]
    where = [("edition", "=", edition)]
    checks = rule_check(arrow.batches(page.lake.root, "plane_items", where=where, columns=columns))
    ours = {
        (TYPES[row["inference_type"]], row["class"]): row["entailed"] / row["rows"]
        for row in checks.to_pylist()
    }
    caption = "Share of rows that are entailed"
    return [
        *comparison("plane", "table 1", ours, caption, edition, Missing(_BUILD)),
        Table(f"Underlying rows, edition {edition}", checks),
    ]


@exhibit("Section 3.2", "size", command=_BUILD, tables=("plane_items",), beside=("section 3.2",))
def size(page: Plane) -> list[Block]:
    """The numbers of adjectives, nouns and items."""
    edition = page.lake.edition("plane_items")
    words: dict[str, set[str]] = {"adjective": set(), "noun": set()}
    items = 0
    where = [("edition", "=", edition)]
    for batch in arrow.batches(page.lake.root, "plane_items", where=where, columns=[*words]):
        for name, distinct_words in words.items():
            distinct_words.update(pc.unique(batch.column(name)).to_pylist())
        items += batch.num_rows
    counts = {"adjectives": len(words["adjective"]), "nouns": len(words["noun"]), "items": items}
    ours = {(name, "count"): float(count) for name, count in counts.items()}
    caption = "Size, counted from the items"
    if edition == "published":  # has only the splits
        caption = "Size; the release has only the items of its splits, not all"
    return comparison("plane", "section 3.2", ours, caption, edition)


def pmi_by_class(lake: str, edition: str, corpus: str) -> dict[str, np.ndarray[Any, Any]]:
    """PMI in bits of the edition's phrases, by class of their adjective (appendix A).

    Raises:
        UserError: plane_association has no phrases of the edition and corpus.
    """
    rows = read_edition(lake, "plane_association", edition, ["class", "pmi"], corpus=corpus)
    columns = {kind: where_equal(rows, "class", kind).column("pmi").drop_null() for kind in CLASSES}
    return {kind: np.sort(pmi.to_numpy()) for kind, pmi in columns.items() if len(pmi)}


def pmi_quantiles(values: dict[str, np.ndarray[Any, Any]]) -> pa.Table:
    """Quantiles, skewness and tail shares of PMI by class.

    Columns class, phrases, p05 … p95, skewness, and the shares that the paper mentions: at or below
    0 and at or above 15 bits.
    """
    return pa.Table.from_pylist(
        [
            {
                "class": kind,
                "phrases": len(pmi),
                **{name: float(np.quantile(pmi, place)) for name, place in QUANTILES.items()},
                # The skewness of equal values is undefined.
                "skewness": float(stats.skew(pmi)) if pmi[0] < pmi[-1] else None,
                "at_most_0": float((pmi <= 0).mean()),
                "at_least_15": float((pmi >= 15).mean()),
            }
            for kind, pmi in values.items()
        ]
    )


def pmi_figure(data: pa.Table) -> Plot:
    """Plot `pmi_quantiles` as boxes (figure 4); whiskers at the 5th and 95th percentile."""
    return figures.boxes(
        data, row="class", xlabel="class of the adjective", ylabel="PMI of the phrase (bits)"
    )


@exhibit("Figure 4", "PMI by class", command=_BUILD, tables=("plane_association",))
def association(page: Plane) -> list[Block]:
    """PMI of the phrases by class, one figure per corpus."""
    lake = page.lake
    edition = lake.edition("plane_association")
    corpora = read_edition(lake.root, "plane_association", edition, ["corpus"])
    blocks: list[Block] = [
        Text(
            "The paper finds medians far from 0, I and S alike, O slightly lower and more even, "
            "and few phrases at or below 0 (about 0.1 %). It does not state the log base; ours "
            "is 2, and marginals are computed before any minimum count is applied."
        )
    ]
    for corpus in distinct_values(corpora, "corpus"):
        quantiles = pmi_quantiles(pmi_by_class(lake.root, edition, corpus))
        caption = f"PMI of the phrases by class, corpus {corpus}, edition {edition}"
        blocks.append(FigureBlock(caption, *pmi_figure(quantiles)))
    return blocks
