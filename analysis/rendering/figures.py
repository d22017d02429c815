"""Figures in one style: the few kinds of chart that the reports need.

Every chart takes a table with one row per mark and the `Channels` that map columns to the drawing,
and returns (figure, plotted table), so that the report can print the plotted numbers. A missing
column or an empty table raises a ValueError. Colours are the colour-blind-safe palette of Okabe and
Ito; series also differ by marker, dash or hatching, so that they can be told apart in greyscale
print. Figures are made without pyplot: there is no global state, and nothing has to be closed.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure

Plot: TypeAlias = tuple[Figure, pa.Table]

# Okabe and Ito 2008, without yellow, which is too light on paper.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 2)),
    (0, (1, 1.5)),
    (0, (5, 2, 1, 2)),
    (0, (8, 3)),
    (0, (3, 1, 1, 1, 1, 1)),
    "-",
)
_HATCHES = ("", "///", "...", "\\\\\\", "xx", "---", "oo")
_WHISKER: Mapping[str, Any] = {"linestyle": "", "elinewidth": 1.0, "capsize": 2}
# A diverging scale, light in the middle.
_DIVERGING = ("#D55E00", "#E9A36A", "#DDDDDD", "#7FB2D6", "#0072B2")

_STYLE: Mapping[str, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same on every machine
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.labelsize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E5E5E5",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.0,
    "hatch.linewidth": 0.6,
    "savefig.bbox": "tight",
    "svg.fonttype": "path",
    "svg.hashsalt": "adnominal",  # deterministic ids in the file
}
_INCH = 6.3  # text width of a page


def _style_context() -> AbstractContextManager[None]:
    # matplotlib's stubs type each key separately.
    return mpl.rc_context(cast(Any, dict(_STYLE)))


def svg(figure: Figure) -> str:
    """The figure as SVG; equal figures give the same text."""
    out = io.StringIO()
    with _style_context():
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def png(figure: Figure, dpi: int = 200) -> bytes:
    """The figure as PNG."""
    out = io.BytesIO()
    with _style_context():
        figure.savefig(out, format="png", dpi=dpi, metadata={"Software": None})
    return out.getvalue()


@dataclass(frozen=True)
class Channels:
    """The columns of a table that a chart draws: `y` over `x`, a colour and marker for each value
    of `series`, a panel for each value of `panel`, and an interval from `low` to `high`.

    Series and panels are in row order. `xlabel` and `ylabel` name the axes.
    """

    x: str
    y: str
    xlabel: str
    ylabel: str
    series: str | None = None
    panel: str | None = None
    low: str | None = None
    high: str | None = None


def _values(data: pa.Table, column: str) -> list[Any]:
    if column not in data.column_names:
        raise ValueError(f"no column {column!r} to draw; there is {', '.join(data.column_names)}")
    if not data.num_rows:
        raise ValueError("nothing to draw: the table has no rows")
    return list(data.column(column).to_pylist())


def _distinct(data: pa.Table, column: str | None) -> list[Any]:
    """The values of a column in order of appearance; [None] without a column."""
    return list(dict.fromkeys(_values(data, column))) if column else [None]


def _series(
    data: pa.Table, channels: Channels, panel: Any
) -> Iterator[tuple[int, Any, pd.DataFrame]]:
    """(number, name, rows) of each series in a panel; rows without a value are dropped."""
    rows = data.filter(
        pc.field(channels.x).is_valid() & pc.field(channels.y).is_valid()
    ).to_pandas()
    if channels.panel is not None:
        rows = rows[rows[channels.panel] == panel]
    for number, name in enumerate(_distinct(data, channels.series)):
        yield number, name, rows if channels.series is None else rows[rows[channels.series] == name]


def _look(number: int, name: Any) -> dict[str, Any]:
    """Colour, marker and legend of a series."""
    return {
        "label": None if name is None else str(name),
        "color": COLOURS[number % len(COLOURS)],
        "marker": _MARKERS[number % len(_MARKERS)],
    }


def _whiskers(rows: pd.DataFrame, channels: Channels) -> list[npt.NDArray[np.float64]] | None:
    if channels.low is None or channels.high is None:
        return None
    low, y, high = rows[[channels.low, channels.y, channels.high]].to_numpy(float).T
    return [y - low, high - y]


def _panels(number: int, columns: int, height: float) -> tuple[Figure, list[Axes]]:
    panel_columns = min(number, columns)
    panel_rows = -(-number // panel_columns)
    figure = Figure(figsize=(_INCH, height * panel_rows), layout="constrained")
    grid = figure.subplots(panel_rows, panel_columns, squeeze=False, sharex=True, sharey=True)
    axes = list(grid.flat)
    for spare in axes[number:]:
        spare.set_axis_off()
    for lowest in axes[max(0, number - panel_columns) : number]:
        lowest.tick_params(labelbottom=True)  # also above a spare one
    return figure, axes[:number]


def _single(height: float = 2.8) -> tuple[Figure, Axes]:
    figure, (axes,) = _panels(1, 1, height)
    return figure, axes


def _label(figure: Figure, axes: Axes, channels: Channels) -> None:
    """Label the axes of a chart without panels, and put the legend above it."""
    axes.set(xlabel=channels.xlabel, ylabel=channels.ylabel)
    _legend(figure, axes)


def _legend(figure: Figure, axes: Axes, most: int = 4, least: int = 2) -> None:
    """Add a legend with at most `most` columns; no legend for fewer than `least` series."""
    handles, names = axes.get_legend_handles_labels()
    if len(names) >= least:
        # Above the panels: below them it would cover their common label.
        columns = min(len(names), most)
        figure.legend(handles, names, loc="outside upper center", ncols=columns)


def _categories(axes: Axes, names: Sequence[Any], margin: float, room: int, degrees: int) -> None:
    """Put names along the horizontal axis, rotated by `degrees` if they need more room than `room`
    letters."""
    axes.set_xticks(range(len(names)), [str(name) for name in names])
    axes.set_xlim(-margin, len(names) - 1 + margin)
    if max(len(str(name)) for name in names) * len(names) > room:
        axes.tick_params(axis="x", rotation=degrees)
    axes.grid(visible=False, axis="x")


def _shared_labels(figure: Figure, panels: Sequence[Axes], channels: Channels) -> None:
    figure.supxlabel(channels.xlabel, fontsize=9)
    figure.supylabel(channels.ylabel, fontsize=9)
    _legend(figure, panels[0])


def curves(
    data: pa.Table,
    channels: Channels,
    smooth: Sequence[str] = (),
    columns: int = 3,
) -> Plot:
    """Lines of y over x; intervals are bands, and series named in `smooth` have no markers."""
    panels = _distinct(data, channels.panel)
    x, y, low, high = channels.x, channels.y, channels.low, channels.high
    with _style_context():
        figure, drawings = _panels(len(panels), columns, 2.1 if channels.panel else 2.8)
        for axes, panel in zip(drawings, panels, strict=True):
            for number, name, rows in _series(data, channels, panel):
                points = rows.sort_values(x, kind="stable")
                look = _look(number, name) | ({"marker": ""} if name in smooth else {})
                axes.plot(
                    points[x],
                    points[y],
                    linestyle=_DASHES[number % len(_DASHES)],
                    markevery=max(1, len(points) // 12),
                    **look,
                )
                if low is not None and high is not None and len(points):
                    band = points[x], points[low], points[high]
                    axes.fill_between(*band, color=look["color"], alpha=0.15, linewidth=0)
            if panel is not None:
                axes.set_title(str(panel))
            axes.set_ylim(-0.03, 1.03)
        _shared_labels(figure, drawings, channels)
    return figure, data


def bars(data: pa.Table, channels: Channels, log: bool = False) -> Plot:
    """Columns of y over the values of x, with the series side by side and whiskers.

    With `log` they are counts on a logarithmic axis that begins at 1.
    """
    places = _distinct(data, channels.x)
    _values(data, channels.y)
    width = 0.8 / len(_distinct(data, channels.series))
    with _style_context():
        figure, axes = _single()
        for number, name, rows in _series(data, channels, None):
            axes.bar(
                [places.index(x) + (number + 0.5) * width - 0.4 for x in rows[channels.x]],
                rows[channels.y].to_numpy(),
                width * 0.92,
                label=None if name is None else str(name),
                color=COLOURS[number % len(COLOURS)],
                edgecolor="white",
                hatch=_HATCHES[number % len(_HATCHES)],
                yerr=_whiskers(rows, channels),
                capsize=2,
            )
        _categories(axes, places, 0.5, 70, 30)
        if log:
            axes.set_yscale("log")
            axes.set_ylim(bottom=1)
        _label(figure, axes, channels)
    return figure, data


def shares(
    data: pa.Table, *, row: str, part: str, share: str, xlabel: str, ylabel: str = ""
) -> Plot:
    """One stacked bar per `row`, divided into the `share` (0 to 1) of each `part` of a scale."""
    names, parts = _distinct(data, row), _distinct(data, part)
    _values(data, share)
    share_of = {(record[row], record[part]): record[share] for record in data.to_pylist()}
    with _style_context():
        figure, axes = _single(0.9 + 0.4 * len(names))
        left = np.zeros(len(names))
        for number, kind in enumerate(parts):
            widths = np.array([share_of.get((name, kind), 0.0) for name in names])
            bar = axes.barh(
                range(len(names)),
                widths,
                left=left,
                height=0.7,
                label=str(kind),
                color=_DIVERGING[round(number * 4 / max(1, len(parts) - 1))],
                edgecolor="white",
            )
            # Only wide bars have room for a number.
            texts = [f"{100 * width:.0f} %" if width >= 0.06 else "" for width in widths]
            axes.bar_label(bar, texts, label_type="center", fontsize=7.5)
            left += widths
        axes.set_yticks(range(len(names)), [str(name) for name in names])
        axes.invert_yaxis()
        axes.set(xlim=(0, 1), xlabel=xlabel, ylabel=ylabel)
        axes.grid(visible=False)
        _legend(figure, axes, 5, least=1)
    return figure, data


def matrix(data: pa.Table, *, row: str, column: str, count: str, xlabel: str, ylabel: str) -> Plot:
    """A confusion matrix: counts with their percentage of the total, shaded by share of the row."""
    # Both axes have the labels of either side, in order of appearance.
    names = list(dict.fromkeys([*_values(data, row), *_values(data, column)]))
    counts = np.zeros((len(names), len(names)))
    for record in data.to_pylist():
        counts[names.index(record[row]), names.index(record[column])] += record[count]
    total = counts.sum()
    of_row = np.divide(
        counts, counts.sum(1, keepdims=True), out=np.zeros_like(counts), where=counts > 0
    )
    with _style_context():
        size = (min(_INCH, 1.9 + 0.9 * len(names)), 1.2 + 0.62 * len(names))
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        axes.imshow(of_row, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        for (row_number, column_number), number in np.ndenumerate(counts):
            share = 100 * number / total if total else 0.0
            axes.text(
                column_number,
                row_number,
                f"{number:,.0f}\n{share:.2f} %",
                ha="center",
                va="center",
                fontsize=7.5,
                color="white" if of_row[row_number, column_number] > 0.55 else "black",
            )
        ticks = [str(name).replace(" ", "\n", 1) for name in names]
        axes.set_xticks(range(len(names)), ticks)
        axes.set_yticks(range(len(names)), ticks)
        axes.set(xlabel=xlabel, ylabel=ylabel)
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
    return figure, data


def boxes(data: pa.Table, *, row: str, ylabel: str, xlabel: str) -> Plot:
    """Boxes from the quantile columns p05, p25, p50, p75 and p95; whiskers at p05 and p95."""
    columns = (_values(data, name) for name in (row, "p05", "p25", "p50", "p75", "p95"))
    stats = [
        {"label": str(name), "whislo": a, "q1": b, "med": c, "q3": d, "whishi": e, "fliers": []}
        for name, a, b, c, d, e in zip(*columns, strict=True)
    ]
    with _style_context():
        figure, axes = _single()
        artists = axes.bxp(stats, showfliers=False, patch_artist=True, widths=0.5)
        for number, box in enumerate(artists["boxes"]):
            hatch = _HATCHES[number % len(_HATCHES)]
            box.set(facecolor=COLOURS[number % len(COLOURS)], hatch=hatch)
        for line in artists["medians"]:
            line.set(color="black", linewidth=2)
        axes.set(xlabel=xlabel, ylabel=ylabel)
        axes.grid(visible=False, axis="x")
    return figure, data


def scatter(
    data: pa.Table, channels: Channels, lines: Mapping[str, tuple[float, float]] | None = None
) -> Plot:
    """Points; `lines` gives the (intercept, slope) of the line through a series."""
    _values(data, channels.x), _values(data, channels.y)
    with _style_context():
        figure, axes = _single()
        for number, name, rows in _series(data, channels, None):
            look = _look(number, name)
            axes.plot(rows[channels.x], rows[channels.y], linestyle="", **look)
            if len(rows) and lines and name in lines:
                intercept, slope = lines[name]
                ends = rows[channels.x].agg(["min", "max"])
                dashes = _DASHES[number % len(_DASHES)]
                axes.plot(ends, intercept + slope * ends, color=look["color"], linestyle=dashes)
        _label(figure, axes, channels)
    return figure, data


def intervals(data: pa.Table, channels: Channels) -> Plot:
    """Points with whiskers over the values of x, with the series side by side."""
    places, panels = _distinct(data, channels.x), _distinct(data, channels.panel)
    step = 0.7 / len(_distinct(data, channels.series))
    with _style_context():
        figure, drawings = _panels(len(panels), 3, 2.1 if channels.panel else 2.8)
        for axes, panel in zip(drawings, panels, strict=True):
            for number, name, rows in _series(data, channels, panel):
                axes.errorbar(
                    [places.index(x) + (number + 0.5) * step - 0.35 for x in rows[channels.x]],
                    rows[channels.y].to_numpy(),
                    yerr=_whiskers(rows, channels),
                    **_look(number, name),
                    **_WHISKER,
                )
            if panel is not None:
                axes.set_title(str(panel))
            # Each panel has a third of the page width.
            _categories(axes, places, 0.6, 70 if len(panels) < 2 else 22, 40)
            axes.set_ylim(-0.03, 1.03)
        _shared_labels(figure, drawings, channels)
    return figure, data


def forest(data: pa.Table, channels: Channels, reference: str, names: tuple[str, str]) -> Plot:
    """One line for each y: x as a point with a whisker, and a stroke at `reference`; `names` are
    the legend's names for the two.
    """
    labels = [str(label) for label in _values(data, channels.y)]
    columns = (channels.x, channels.low or "", channels.high or "", reference)
    values, lows, highs, references = (
        np.array(_values(data, name), dtype=np.float64) for name in columns
    )
    places = np.arange(len(labels))
    with _style_context():
        figure, axes = _single(1.1 + 0.24 * len(labels))
        whiskers = [values - lows, highs - values]
        axes.errorbar(values, places, xerr=whiskers, **_look(0, names[0]), **_WHISKER)
        axes.plot(
            references,
            places,
            label=names[1],
            color=COLOURS[1],
            marker="|",
            markersize=11,
            markeredgewidth=2,
            linestyle="",
        )
        axes.set_yticks(places, labels)
        axes.set_ylim(len(labels) - 0.4, -0.6)
        _label(figure, axes, channels)
    return figure, data
