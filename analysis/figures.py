"""How figures are drawn: one style, and the few kinds of chart that the reports need.

Every chart takes its numbers as a table, one row a mark, and returns (figure, plotted table): what
is drawn can be printed beside it. Colours are those of Okabe and Ito, which the colour-blind tell
apart; series differ by marker, dash or hatching as well, so that print in grey reads too. Figures
are made without pyplot: nothing is global, and nothing has to be closed.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeAlias, cast

import matplotlib as mpl
import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure

Plot: TypeAlias = tuple[Figure, pa.Table]

# Okabe and Ito 2008, without the yellow, which does not show on paper.
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
# From one end of a scale to the other, light in the middle.
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
    "svg.hashsalt": "adnominal",  # ids within the file: the same bytes every time
}
_INCH = 6.3  # width of a page's text


def _styled() -> AbstractContextManager[None]:
    # matplotlib types the keys one by one.
    return mpl.rc_context(cast(Any, dict(_STYLE)))


def svg(figure: Figure) -> str:
    """The figure as SVG; equal figures give equal text."""
    out = io.StringIO()
    with _styled():
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def png(figure: Figure, dpi: int = 200) -> bytes:
    """The figure as PNG."""
    out = io.BytesIO()
    with _styled():
        figure.savefig(out, format="png", dpi=dpi, metadata={"Software": None})
    return out.getvalue()


def _values(data: pa.Table, column: str) -> list[Any]:
    if column not in data.column_names:
        raise ValueError(f"no column {column!r} to draw; there is {', '.join(data.column_names)}")
    if not data.num_rows:
        raise ValueError("nothing to draw: the table has no rows")
    return list(data.column(column).to_pylist())


def _distinct(values: Sequence[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def _panels(number: int, columns: int, height: float) -> tuple[Figure, list[Axes]]:
    across = min(number, columns)
    down = -(-number // across)
    figure = Figure(figsize=(_INCH, height * down), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    axes = list(grid.flat)
    for spare in axes[number:]:
        spare.set_axis_off()
    return figure, axes[:number]


def _legend(figure: Figure, axes: Axes, number: int) -> None:
    handles, names = axes.get_legend_handles_labels()
    if len(names) > 1:
        # Above: below it would lie on the label of panels that share one.
        figure.legend(handles, names, loc="outside upper center", ncols=min(number, 4))


def curves(
    data: pa.Table,
    *,
    x: str,
    y: str,
    series: str,
    xlabel: str,
    ylabel: str,
    panel: str | None = None,
    low: str | None = None,
    high: str | None = None,
    smooth: Sequence[str] = (),
    columns: int = 3,
    ylim: tuple[float, float] | None = (0, 1),
) -> Plot:
    """Lines of `y` over `x`, one a `series`, in a panel each value of `panel`.

    `low` and `high` name the ends of an interval, drawn as a band; series named in `smooth` are
    drawn without markers. The order of series and panels is that of the rows.

    Raises:
        ValueError: a column that is not there; no rows.
    """
    kinds = _distinct(_values(data, series))
    names = _distinct(_values(data, panel)) if panel else [None]
    rows = data.to_pylist()
    with _styled():
        figure, axes = _panels(len(names), columns, 2.1 if panel else 2.8)
        for own, name in zip(axes, names, strict=True):
            for at, kind in enumerate(kinds):
                points = [
                    row
                    for row in rows
                    if row[series] == kind
                    and (panel is None or row[panel] == name)
                    and row[y] is not None
                ]
                points.sort(key=lambda row: row[x])
                own.plot(
                    [row[x] for row in points],
                    [row[y] for row in points],
                    label=str(kind),
                    color=COLOURS[at % len(COLOURS)],
                    linestyle=_DASHES[at % len(_DASHES)],
                    marker="" if kind in smooth else _MARKERS[at % len(_MARKERS)],
                    markevery=max(1, len(points) // 12),
                )
                if low is not None and high is not None and points:
                    own.fill_between(
                        [row[x] for row in points],
                        [row[low] for row in points],
                        [row[high] for row in points],
                        color=COLOURS[at % len(COLOURS)],
                        alpha=0.15,
                        linewidth=0,
                    )
            if name is not None:
                own.set_title(str(name))
            if ylim:
                own.set_ylim(*ylim)
        figure.supxlabel(xlabel, fontsize=9)
        figure.supylabel(ylabel, fontsize=9)
        _legend(figure, axes[0], len(kinds))
    return figure, data


def bars(
    data: pa.Table,
    *,
    x: str,
    y: str,
    xlabel: str,
    ylabel: str,
    series: str | None = None,
    low: str | None = None,
    high: str | None = None,
    log: bool = False,
) -> Plot:
    """Columns of `y` over the values of `x`, side by side for each `series`; `low`/`high` whiskers.

    Raises:
        ValueError: a column that is not there; no rows.
    """
    places = _distinct(_values(data, x))
    _values(data, y)
    kinds = _distinct(_values(data, series)) if series else [None]
    width = 0.8 / len(kinds)
    with _styled():
        figure, (axes,) = _panels(1, 1, 2.8)
        for at, kind in enumerate(kinds):
            own = [row for row in data.to_pylist() if series is None or row[series] == kind]
            own = [row for row in own if row[y] is not None]
            where = [places.index(row[x]) + (at + 0.5) * width - 0.4 for row in own]
            heights = [row[y] for row in own]
            whiskers = None
            if low is not None and high is not None:
                whiskers = [
                    [row[y] - row[low] for row in own],
                    [row[high] - row[y] for row in own],
                ]
            axes.bar(
                where,
                heights,
                width * 0.92,
                label=None if kind is None else str(kind),
                color=COLOURS[at % len(COLOURS)],
                edgecolor="white",
                hatch=_HATCHES[at % len(_HATCHES)],
                yerr=whiskers,
                capsize=2,
            )
        axes.set_xticks(range(len(places)), [str(place) for place in places])
        axes.set_xlim(-0.5, len(places) - 0.5)
        if max(len(str(place)) for place in places) * len(places) > 70:
            axes.tick_params(axis="x", rotation=30)
        axes.grid(visible=False, axis="x")
        if log:
            axes.set_yscale("log")
        axes.set_xlabel(xlabel)
        axes.set_ylabel(ylabel)
        _legend(figure, axes, len(kinds))
    return figure, data


def shares(
    data: pa.Table, *, row: str, part: str, share: str, xlabel: str, ylabel: str = ""
) -> Plot:
    """A bar a `row`, cut into the `share` (0 to 1) of each `part`, which are ordered as on a scale.

    Raises:
        ValueError: a column that is not there; no rows.
    """
    names, parts = _distinct(_values(data, row)), _distinct(_values(data, part))
    _values(data, share)
    of = {(own[row], own[part]): own[share] for own in data.to_pylist()}
    colours = [_DIVERGING[round(at * 4 / max(1, len(parts) - 1))] for at in range(len(parts))]
    with _styled():
        figure, (axes,) = _panels(1, 1, 0.9 + 0.4 * len(names))
        left = np.zeros(len(names))
        for at, kind in enumerate(parts):
            widths = np.array([of.get((name, kind), 0.0) for name in names])
            drawn = axes.barh(
                range(len(names)),
                widths,
                left=left,
                height=0.7,
                label=str(kind),
                color=colours[at],
                edgecolor="white",
            )
            # Numbers stand where there is room for them.
            texts = [f"{100 * width:.0f} %" if width >= 0.06 else "" for width in widths]
            axes.bar_label(drawn, texts, label_type="center", fontsize=7.5)
            left += widths
        axes.set_yticks(range(len(names)), [str(name) for name in names])
        axes.invert_yaxis()
        axes.set_xlim(0, 1)
        axes.set_xlabel(xlabel)
        axes.set_ylabel(ylabel)
        axes.grid(visible=False)
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=min(len(parts), 5))
    return figure, data


def matrix(data: pa.Table, *, row: str, column: str, count: str, xlabel: str, ylabel: str) -> Plot:
    """A confusion matrix: counts with their percentage of all, shaded by share of the row.

    Raises:
        ValueError: a column that is not there; no rows.
    """
    # Both sides have the labels of either, in order of appearance.
    names = _distinct([*_values(data, row), *_values(data, column)])
    counts = np.zeros((len(names), len(names)))
    for own in data.to_pylist():
        counts[names.index(own[row]), names.index(own[column])] += own[count]
    total = counts.sum()
    of_row = np.divide(
        counts, counts.sum(1, keepdims=True), out=np.zeros_like(counts), where=counts > 0
    )
    with _styled():
        figure = Figure(
            figsize=(min(_INCH, 1.9 + 0.9 * len(names)), 1.2 + 0.62 * len(names)),
            layout="constrained",
        )
        axes = figure.subplots()
        axes.imshow(of_row, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        for at in range(len(names)):
            for to in range(len(names)):
                share = 100 * counts[at, to] / total if total else 0.0
                axes.text(
                    to,
                    at,
                    f"{counts[at, to]:,.0f}\n{share:.2f} %",
                    ha="center",
                    va="center",
                    fontsize=7.5,
                    color="white" if of_row[at, to] > 0.55 else "black",
                )
        ticks = [str(name).replace(" ", "\n", 1) for name in names]
        axes.set_xticks(range(len(names)), ticks)
        axes.set_yticks(range(len(names)), ticks)
        axes.set_xlabel(xlabel)
        axes.set_ylabel(ylabel)
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
    return figure, data


def boxes(data: pa.Table, *, row: str, ylabel: str, xlabel: str) -> Plot:
    """Boxes from quantiles: the columns p05, p25, p50, p75 and p95, whiskers at the outer two.

    Raises:
        ValueError: a column that is not there; no rows.
    """
    names = [str(name) for name in _values(data, row)]
    p05, p25, p50, p75, p95 = (_values(data, name) for name in ("p05", "p25", "p50", "p75", "p95"))
    stats = [
        {"label": name, "whislo": a, "q1": b, "med": c, "q3": d, "whishi": e, "fliers": []}
        for name, a, b, c, d, e in zip(names, p05, p25, p50, p75, p95, strict=True)
    ]
    with _styled():
        figure, (axes,) = _panels(1, 1, 2.8)
        drawn = axes.bxp(stats, showfliers=False, patch_artist=True, widths=0.5)
        for at, box in enumerate(drawn["boxes"]):
            box.set(facecolor=COLOURS[at % len(COLOURS)], hatch=_HATCHES[at % len(_HATCHES)])
        for line in drawn["medians"]:
            line.set(color="black", linewidth=2)
        axes.set_xlabel(xlabel)
        axes.set_ylabel(ylabel)
        axes.grid(visible=False, axis="x")
    return figure, data


def scatter(
    data: pa.Table,
    *,
    x: str,
    y: str,
    series: str,
    xlabel: str,
    ylabel: str,
    lines: Mapping[str, tuple[float, float]] | None = None,
) -> Plot:
    """Points, one colour and marker a `series`; `lines` gives a series' (intercept, slope).

    Raises:
        ValueError: a column that is not there; no rows.
    """
    kinds = _distinct(_values(data, series))
    _values(data, x), _values(data, y)
    with _styled():
        figure, (axes,) = _panels(1, 1, 2.8)
        for at, kind in enumerate(kinds):
            own = [
                (r[x], r[y])
                for r in data.to_pylist()
                if r[series] == kind and r[x] is not None and r[y] is not None
            ]
            axes.plot(
                [a for a, _ in own],
                [b for _, b in own],
                linestyle="",
                marker=_MARKERS[at % len(_MARKERS)],
                color=COLOURS[at % len(COLOURS)],
                label=str(kind),
            )
            if own and lines and kind in lines:
                intercept, slope = lines[kind]
                ends = [min(a for a, _ in own), max(a for a, _ in own)]
                axes.plot(
                    ends,
                    [intercept + slope * end for end in ends],
                    color=COLOURS[at % len(COLOURS)],
                    linestyle=_DASHES[at % len(_DASHES)],
                )
        axes.set_xlabel(xlabel)
        axes.set_ylabel(ylabel)
        _legend(figure, axes, len(kinds))
    return figure, data


def intervals(
    data: pa.Table,
    *,
    x: str,
    y: str,
    low: str,
    high: str,
    xlabel: str,
    ylabel: str,
    series: str | None = None,
    panel: str | None = None,
    columns: int = 3,
    ylim: tuple[float, float] | None = (0, 1),
) -> Plot:
    """Points with whiskers from `low` to `high` over the values of `x`, side by side for each
    `series`, in a panel each value of `panel`. The order of all three is that of the rows.

    Raises:
        ValueError: a column that is not there; no rows.
    """
    places = _distinct(_values(data, x))
    kinds = _distinct(_values(data, series)) if series else [None]
    names = _distinct(_values(data, panel)) if panel else [None]
    rows = [row for row in data.to_pylist() if row[y] is not None]
    step = 0.7 / len(kinds)
    with _styled():
        figure, axes = _panels(len(names), columns, 2.1 if panel else 2.8)
        for own, name in zip(axes, names, strict=True):
            for at, kind in enumerate(kinds):
                points = [
                    row
                    for row in rows
                    if (series is None or row[series] == kind)
                    and (panel is None or row[panel] == name)
                ]
                own.errorbar(
                    [places.index(row[x]) + (at + 0.5) * step - 0.35 for row in points],
                    [row[y] for row in points],
                    yerr=[
                        [row[y] - row[low] for row in points],
                        [row[high] - row[y] for row in points],
                    ],
                    label=None if kind is None else str(kind),
                    color=COLOURS[at % len(COLOURS)],
                    marker=_MARKERS[at % len(_MARKERS)],
                    linestyle="",
                    elinewidth=1.0,
                    capsize=2,
                )
            if name is not None:
                own.set_title(str(name))
            own.set_xticks(range(len(places)), [str(place) for place in places])
            own.set_xlim(-0.6, len(places) - 0.4)
            # Of panels each has a third of the page.
            if max(len(str(place)) for place in places) * len(places) > (
                70 if len(names) < 2 else 22
            ):
                own.tick_params(axis="x", rotation=40)
            own.grid(visible=False, axis="x")
            if ylim:
                own.set_ylim(ylim[0] - 0.03, ylim[1] + 0.03)
        figure.supxlabel(xlabel, fontsize=9)
        figure.supylabel(ylabel, fontsize=9)
        _legend(figure, axes[0], len(kinds))
    return figure, data


def forest(
    data: pa.Table,
    *,
    row: str,
    value: str,
    low: str,
    high: str,
    reference: str,
    xlabel: str,
    ylabel: str,
    names: tuple[str, str],
) -> Plot:
    """A line a row: `value` as a point with a whisker from `low` to `high`, and a stroke at
    `reference`; `names` are what the legend calls value and reference.

    Raises:
        ValueError: a column that is not there; no rows.
    """
    labels = [str(label) for label in _values(data, row)]
    values, lows, highs, references = (
        np.array(_values(data, name), dtype=np.float64) for name in (value, low, high, reference)
    )
    places = np.arange(len(labels))
    with _styled():
        figure, (axes,) = _panels(1, 1, 1.1 + 0.24 * len(labels))
        axes.errorbar(
            values,
            places,
            xerr=[values - lows, highs - values],
            label=names[0],
            color=COLOURS[0],
            marker=_MARKERS[0],
            linestyle="",
            elinewidth=1.0,
            capsize=2,
        )
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
        axes.set_xlabel(xlabel)
        axes.set_ylabel(ylabel)
        _legend(figure, axes, 2)
    return figure, data
