"""The figures on PLANE's dataset: table 1, its size, and figure 4."""

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from scipy import stats

from adnominal.analysis.editions import read_edition
from adnominal.analysis.papers.exhibits import COMPARABLE, Chart, Finding, Note, exhibit
from adnominal.analysis.papers.plane.sources import TYPES, Plane
from adnominal.analysis.report_numbers import Cells, CellValues
from adnominal.analysis.rows import distinct_values, row_counts, where_equal
from adnominal.etl.lake import arrow
from adnominal.etl.plane import CLASSES

_BUILD = "python etl/build_plane.py preset=paper lake=LAKE"
_QUANTILES = {"5 %": 0.05, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "95 %": 0.95}
Floats = npt.NDArray[np.float64]


def entailed_shares(batches: Iterable[pa.RecordBatch]) -> tuple[CellValues, CellValues]:
    """The share of entailed rows by inference type and class, and the numbers of rows.

    The batches of ``plane_items`` need the columns class, inference_type and label, and may come
    from a table of any size.
    """
    counts = row_counts(batches, "class", "inference_type", "label")
    keys = {(kind, inference) for kind, inference, _ in counts}
    shares: CellValues = {}
    sizes: CellValues = {}
    for kind, inference in sorted(keys, key=lambda key: (CLASSES.index(key[0]), key[1])):
        entailed = counts[kind, inference, 1]
        rows = entailed + counts[kind, inference, 0]
        shares[TYPES[inference], kind] = entailed / rows
        sizes[TYPES[inference], kind] = float(rows)
    return shares, sizes


@exhibit(
    "Table 1",
    "what holds by rule",
    fills=_BUILD,
    reads=("plane_items",),
    printed=("table 1",),
)
def rules(page: Plane) -> Iterator[Finding]:
    """The share of rows that are entailed, by class and inference type: 1 where the rule holds for
    every row, 0 where it holds for none."""
    edition = page.lake.edition("plane_items")
    columns = ["class", "inference_type", "label"]
    where = [("edition", "=", edition)]
    batches = arrow.batches(page.lake.root, "plane_items", where=where, columns=columns)
    shares, sizes = entailed_shares(batches)
    yield Cells("table 1", shares, edition=edition)
    yield Cells("Rows behind each share", sizes, decimals=0, edition=edition)


@exhibit("Section 3.2", "size", fills=_BUILD, reads=("plane_items",), printed=("section 3.2",))
def size(page: Plane) -> Iterator[Finding]:
    """The numbers of adjectives, nouns and items, counted from the items."""
    edition = page.lake.edition("plane_items")
    words: dict[str, set[str]] = {"adjective": set(), "noun": set()}
    items = 0
    where = [("edition", "=", edition)]
    for batch in arrow.batches(page.lake.root, "plane_items", where=where, columns=[*words]):
        for name, distinct_words in words.items():
            distinct_words.update(pc.unique(batch.column(name)).to_pylist())
        items += batch.num_rows
    counts = {"adjectives": len(words["adjective"]), "nouns": len(words["noun"]), "items": items}
    note = ""
    if edition == "published":
        note = "The release has only the items of its splits, not all."
    ours: CellValues = {}
    for name, count in counts.items():
        ours[name, "count"] = float(count)
    if edition in COMPARABLE:
        yield Cells("section 3.2", ours, edition=edition, note=note)
    else:
        yield Cells("Size of the edition", ours, decimals=0, edition=edition)


def pmi_by_class(lake: str, edition: str, corpus: str) -> dict[str, Floats]:
    """PMI in bits of the edition's phrases, by class of their adjective (appendix A).

    Raises:
        UserError: plane_association has no phrases of the edition and corpus.
    """
    rows = read_edition(lake, "plane_association", edition, ["class", "pmi"], corpus=corpus)
    columns = {kind: where_equal(rows, "class", kind).column("pmi").drop_null() for kind in CLASSES}
    return {kind: np.sort(pmi.to_numpy()) for kind, pmi in columns.items() if len(pmi)}


def pmi_quantiles(pmi: Floats) -> dict[str, float]:
    """The quantiles of sorted PMI that the figure's boxes and whiskers have."""
    return {name: float(np.quantile(pmi, place)) for name, place in _QUANTILES.items()}


def pmi_shape(pmi: Floats) -> dict[str, float]:
    """The skewness of sorted PMI, undefined for equal values, and the shares of phrases that the
    paper mentions: at or below 0 and at or above 15 bits."""
    shape = {}
    if pmi[0] < pmi[-1]:
        shape["skewness"] = float(stats.skew(pmi))
    shape["share ≤ 0 bits"] = float((pmi <= 0).mean())
    shape["share ≥ 15 bits"] = float((pmi >= 15).mean())
    return shape


@exhibit("Figure 4", "PMI by class", fills=_BUILD, reads=("plane_association",))
def association(page: Plane) -> Iterator[Finding]:
    """PMI of the phrases in bits, by class of their adjective: boxes from the 25th to the 75th
    percentile, whiskers at the 5th and 95th."""
    lake = page.lake
    edition = lake.edition("plane_association")
    corpora = read_edition(lake.root, "plane_association", edition, ["corpus"])
    yield Note(
        "The paper finds medians far from 0, I and S alike, O slightly lower and more even, and "
        "few phrases at or below 0 (about 0.1 %). It does not state the log base; ours is 2, and "
        "marginals are computed before any minimum count is applied."
    )
    for corpus in distinct_values(corpora, "corpus"):
        name = f"PMI of the phrases, corpus {corpus}"
        quantiles: CellValues = {}
        shapes: CellValues = {}
        phrases: CellValues = {}
        for kind, pmi in pmi_by_class(lake.root, edition, corpus).items():
            phrases[kind, "phrases"] = float(len(pmi))
            quantiles |= {(kind, column): value for column, value in pmi_quantiles(pmi).items()}
            shapes |= {(kind, column): value for column, value in pmi_shape(pmi).items()}
        yield Cells(name, quantiles, unit="bits", edition=edition)
        yield Cells(f"{name}: shape", shapes, decimals=3, edition=edition)
        yield Cells(f"{name}: shape", phrases, decimals=0, edition=edition)
        yield Chart("boxes", name, (name,), "class of the adjective", "PMI of the phrase (bits)")
