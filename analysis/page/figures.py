"""Figures in one style, drawn from rows of ``report_numbers``.

`draw` takes an exhibit's chart and the exhibit's rows. Colours are the colour-blind-safe palette of
Okabe and Ito; series also differ by marker, dash or hatching, so that they can be told apart in
greyscale print. Figures are made without pyplot: there is no global state, and nothing has to be
closed. `for_page` replaces the colours by variables of the page's style, so that a figure follows
the reader's light or dark theme.
"""

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, cast

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from adnominal.analysis.papers.exhibits import Chart
from adnominal.analysis.report_numbers import Row

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
_GRID = "#E5E5E5"

_STYLE: Mapping[str, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same on every machine
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.labelsize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "grid.color": _GRID,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.0,
    "hatch.linewidth": 0.6,
    "svg.fonttype": "path",
    "svg.hashsalt": "adnominal",  # deterministic ids in the file
}
_WIDTH = 6.3  # inches: text width of a page
_HEIGHT, _PANEL_HEIGHT = 2.8, 2.1
_PANEL_COLUMNS = 3
QUANTILES = ("5 %", "25 %", "median", "75 %", "95 %")

# Lines and letters, the grid, and the palette, as variables of the page's style sheet.
_PAGE_COLOURS = {
    "#000000": "var(--text)",
    _GRID.lower(): "var(--grid)",
    **{colour.lower(): f"var(--series-{number})" for number, colour in enumerate(COLOURS[:6])},
}


def draw(chart: Chart, rows: Sequence[Row]) -> Figure:
    """The chart of an exhibit's rows.

    Raises:
        ValueError: no number to draw in the chart's tables.
    """
    numbers = _numbers(chart, rows)
    with _style_context():
        return _DRAWINGS[chart.kind](chart, numbers)


def svg(figure: Figure) -> str:
    """The figure as SVG; equal figures give the same text."""
    out = io.StringIO()
    with _style_context():
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def for_page(text: str, anchor: str) -> str:
    """The SVG as an element of a page: ids made unique by `anchor`, colours of the page's theme."""
    picture = text[text.index("<svg") :].strip()
    picture = re.sub(r"<metadata>.*?</metadata>", "", picture, flags=re.DOTALL)
    picture = re.sub(r'\bid="', f'id="{anchor}-', picture)
    picture = re.sub(r"url\(#", f"url(#{anchor}-", picture)
    picture = re.sub(r'href="#', f'href="#{anchor}-', picture)
    # Letters have no colour of their own in matplotlib's files: they take SVG's black.
    picture = picture.replace("<svg ", '<svg fill="var(--text)" ', 1)
    return re.sub(
        r"#[0-9a-f]{6}\b",
        lambda colour: _PAGE_COLOURS.get(colour[0], colour[0]),
        picture,
    )


def _style_context() -> AbstractContextManager[None]:
    # matplotlib's stubs type each key separately.
    return mpl.rc_context(cast(Any, dict(_STYLE)))


def _numbers(chart: Chart, rows: Sequence[Row]) -> pd.DataFrame:
    """The numbers of a chart: columns panel, place, series, value, low and high.

    The option `series` names the columns that are drawn; without it all are.
    """
    value = "published" if chart.published else "ours"
    numbers = [
        {
            "panel": row["table_name"],
            "place": row["row"],
            "series": row["column"],
            "value": row.get(value),
            "low": row.get("low"),
            "high": row.get("high"),
        }
        for row in rows
        if row["table_name"] in chart.tables and row.get(value) is not None
        if row["column"] in chart.options.get("series", [row["column"]])
    ]
    if not numbers:
        raise ValueError(f"{chart.caption}: no number to draw in {', '.join(chart.tables)}")
    frame = pd.DataFrame(numbers)
    return frame.astype({"value": float, "low": float, "high": float})


def _distinct_values(values: "pd.Series[Any]") -> list[Any]:
    """The values in order of appearance."""
    return list(dict.fromkeys(values))


def _by_series(
    numbers: pd.DataFrame, panel: str | None = None
) -> Iterator[tuple[int, str, pd.DataFrame]]:
    """(number, name, rows) of each series, in a panel if one is given."""
    names = _distinct_values(numbers["series"])
    if panel is not None:
        numbers = numbers[numbers["panel"] == panel]
    for number, name in enumerate(names):
        yield number, name, numbers[numbers["series"] == name]


def _look(number: int, name: str) -> dict[str, Any]:
    """Colour, marker and legend of a series."""
    return {
        "label": name,
        "color": COLOURS[number % len(COLOURS)],
        "marker": _MARKERS[number % len(_MARKERS)],
    }


def _whiskers(points: pd.DataFrame) -> list[npt.NDArray[np.float64]] | None:
    """The lengths of the whiskers below and above; None without any interval."""
    if points["low"].isna().all():
        return None
    low, value, high = points[["low", "value", "high"]].to_numpy(float).T
    return [value - low, high - value]


def _panels(number: int, columns: int = _PANEL_COLUMNS) -> tuple[Figure, list[Axes]]:
    """A figure with panels side by side that share their axes."""
    in_row = min(number, columns)
    in_column = -(-number // in_row)
    height = _HEIGHT if number == 1 else _PANEL_HEIGHT
    figure = Figure(figsize=(_WIDTH, height * in_column), layout="constrained")
    grid = figure.subplots(in_column, in_row, squeeze=False, sharex=True, sharey=True)
    axes = list(grid.flat)
    for spare in axes[number:]:
        spare.set_axis_off()
    for lowest in axes[max(0, number - in_row) : number]:
        lowest.tick_params(labelbottom=True)  # also above a spare one
    return figure, axes[:number]


def _single_axes(height: float = _HEIGHT) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    return figure, figure.subplots()


def _legend(figure: Figure, axes: Axes, most: int = 4, least: int = 2) -> None:
    """Add a legend with at most `most` columns; no legend for fewer than `least` series."""
    handles, names = axes.get_legend_handles_labels()
    if len(names) >= least:
        # Above the panels: below them it would cover their common label.
        columns = min(len(names), most)
        figure.legend(handles, names, loc="outside upper center", ncols=columns)


def _categories(axes: Axes, names: Sequence[str], margin: float, room: int, degrees: int) -> None:
    """Put names along the horizontal axis, rotated by `degrees` if they need more room than `room`
    letters."""
    axes.set_xticks(range(len(names)), list(names))
    axes.set_xlim(-margin, len(names) - 1 + margin)
    if max(len(name) for name in names) * len(names) > room:
        axes.tick_params(axis="x", rotation=degrees)
    axes.grid(visible=False, axis="x")


def _title_panels(chart: Chart, panels: Sequence[Axes], names: Sequence[str]) -> None:
    """Name each of several panels by its table, or as the option `panels` says."""
    if len(panels) < 2:
        return
    titles = chart.options.get("panels", {})
    for axes, name in zip(panels, names, strict=True):
        axes.set_title(titles.get(name, name))


def _share_labels(chart: Chart, figure: Figure, panels: Sequence[Axes]) -> None:
    """Name the axes once for all panels, and add the legend."""
    figure.supxlabel(chart.x, fontsize=9)
    figure.supylabel(chart.y, fontsize=9)
    _legend(figure, panels[0])


def _curves(chart: Chart, numbers: pd.DataFrame) -> Figure:
    """Lines of the value over the place, a number; intervals are bands. Series named in the option
    `smooth` have no markers."""
    tables = _distinct_values(numbers["panel"])
    figure, panels = _panels(len(tables), chart.options.get("columns", _PANEL_COLUMNS))
    for axes, table in zip(panels, tables, strict=True):
        for number, name, rows in _by_series(numbers, table):
            points = rows.assign(place=rows["place"].astype(float))
            points = points.sort_values("place", kind="stable")
            look = _look(number, name)
            if name in chart.options.get("smooth", ()):
                look["marker"] = ""
            axes.plot(
                points["place"],
                points["value"],
                linestyle=_DASHES[number % len(_DASHES)],
                markevery=max(1, len(points) // 12),
                **look,
            )
            if points["low"].notna().any():
                band = points["place"], points["low"], points["high"]
                axes.fill_between(*band, color=look["color"], alpha=0.15, linewidth=0)
        _limit_shares(axes, numbers)
    _title_panels(chart, panels, tables)
    _share_labels(chart, figure, panels)
    return figure


def _limit_shares(axes: Axes, numbers: pd.DataFrame) -> None:
    """Show the whole scale of shares or percentages."""
    top = 1.0 if numbers["value"].max() <= 1 else 100.0
    axes.set_ylim(-0.03 * top, 1.03 * top)


def _bars(chart: Chart, numbers: pd.DataFrame) -> Figure:
    """Columns, the series side by side, with whiskers; with the option `log` on a logarithmic axis
    that begins at 1."""
    places = _distinct_values(numbers["place"])
    width = 0.8 / numbers["series"].nunique()
    figure, axes = _single_axes()
    for number, name, rows in _by_series(numbers):
        offset = (number + 0.5) * width - 0.4
        axes.bar(
            [places.index(place) + offset for place in rows["place"]],
            rows["value"].to_numpy(),
            width * 0.92,
            label=name,
            color=COLOURS[number % len(COLOURS)],
            edgecolor="white",
            hatch=_HATCHES[number % len(_HATCHES)],
            yerr=_whiskers(rows),
            capsize=2,
        )
    _categories(axes, places, 0.5, 70, 30)
    if chart.options.get("log"):
        axes.set_yscale("log")
        axes.set_ylim(bottom=1)
    axes.set(xlabel=chart.x, ylabel=chart.y)
    _legend(figure, axes)
    return figure


def _shares(chart: Chart, numbers: pd.DataFrame) -> Figure:
    """A stacked bar for each place, divided into the shares of the series, which are a scale."""
    names, parts = _distinct_values(numbers["place"]), _distinct_values(numbers["series"])
    of_names = numbers.pivot_table("value", "place", "series", sort=False).reindex(names)
    shares = of_names.fillna(0.0)
    shares = shares.div(shares.sum(axis=1), axis=0)
    figure, axes = _single_axes(0.9 + 0.4 * len(names))
    left = np.zeros(len(names))
    for number, part in enumerate(parts):
        widths = shares[part].to_numpy(float)
        colour = _DIVERGING[round(number * 4 / max(1, len(parts) - 1))]
        bar = axes.barh(
            range(len(names)),
            widths,
            left=left,
            height=0.7,
            label=part,
            color=colour,
            edgecolor="white",
        )
        # Only wide bars have room for a number.
        texts = [f"{100 * width:.0f} %" if width >= 0.06 else "" for width in widths]
        ink = "white" if colour in ("#D55E00", "#0072B2") else "#111111"
        axes.bar_label(bar, texts, label_type="center", fontsize=7.5, color=ink)
        left += widths
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set(xlim=(0, 1), xlabel=chart.x, ylabel=chart.y)
    axes.grid(visible=False)
    _legend(figure, axes, 5, least=1)
    return figure


def _matrix(chart: Chart, numbers: pd.DataFrame) -> Figure:
    """A confusion matrix: counts with their percentage of the total, shaded by share of the row."""
    # Both axes have the labels of either side, in order of appearance.
    names = list(dict.fromkeys([*numbers["place"], *numbers["series"]]))
    table = numbers.pivot_table("value", "place", "series", aggfunc="sum")
    counts = table.reindex(index=names, columns=names).fillna(0.0).to_numpy(float)
    total = counts.sum()
    row_sums = counts.sum(axis=1, keepdims=True)
    of_row = np.divide(counts, row_sums, out=np.zeros_like(counts), where=row_sums > 0)
    size = (min(_WIDTH, 1.9 + 0.9 * len(names)), 1.2 + 0.62 * len(names))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    axes.imshow(of_row, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (row, column), count in np.ndenumerate(counts):
        share = 100 * count / total if total else 0.0
        axes.text(
            column,
            row,
            f"{count:,.0f}\n{share:.2f} %",
            ha="center",
            va="center",
            fontsize=7.5,
            color="white" if of_row[row, column] > 0.55 else "#111111",
        )
    ticks = [name.replace(" ", "\n", 1) for name in names]
    axes.set_xticks(range(len(names)), ticks)
    axes.set_yticks(range(len(names)), ticks)
    axes.set(xlabel=chart.x, ylabel=chart.y)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    return figure


def _boxes(chart: Chart, numbers: pd.DataFrame) -> Figure:
    """Boxes from the columns `QUANTILES`; whiskers at the first and the last."""
    quantiles = numbers.pivot_table("value", "place", "series", sort=False)
    stats = [
        {"label": str(name), "whislo": a, "q1": b, "med": c, "q3": d, "whishi": e, "fliers": []}
        for name, a, b, c, d, e in quantiles[list(QUANTILES)].itertuples()
    ]
    figure, axes = _single_axes()
    artists = axes.bxp(stats, showfliers=False, patch_artist=True, widths=0.5)
    for number, box in enumerate(artists["boxes"]):
        hatch = _HATCHES[number % len(_HATCHES)]
        box.set(facecolor=COLOURS[number % len(COLOURS)], hatch=hatch)
    for line in artists["medians"]:
        line.set(color="black", linewidth=2)
    axes.set(xlabel=chart.x, ylabel=chart.y)
    axes.grid(visible=False, axis="x")
    return figure


def _scatter(chart: Chart, numbers: pd.DataFrame) -> Figure:
    """Points: a series for each table, whose columns named as the axes have the coordinates. The
    option `lines` gives the (intercept, slope) of the line through a series, or None."""
    figure, axes = _single_axes()
    for number, table in enumerate(_distinct_values(numbers["panel"])):
        of_table = numbers[numbers["panel"] == table]
        points = of_table.pivot_table("value", "place", "series", sort=False)
        x, y = points[chart.x], points[chart.y]
        name = chart.options.get("panels", {}).get(table, table)
        look = _look(number, name)
        axes.plot(x, y, linestyle="", **look)
        line = chart.options.get("lines", {}).get(table)
        if line is not None:
            intercept, slope = line
            ends = x.agg(["min", "max"])
            dashes = _DASHES[number % len(_DASHES)]
            axes.plot(ends, intercept + slope * ends, color=look["color"], linestyle=dashes)
    axes.set(xlabel=chart.x, ylabel=chart.y)
    _legend(figure, axes)
    return figure


def _intervals(chart: Chart, numbers: pd.DataFrame) -> Figure:
    """Points with whiskers over the places, the series side by side."""
    places, tables = _distinct_values(numbers["place"]), _distinct_values(numbers["panel"])
    step = 0.7 / numbers["series"].nunique()
    figure, panels = _panels(len(tables))
    for axes, table in zip(panels, tables, strict=True):
        for number, name, rows in _by_series(numbers, table):
            offset = (number + 0.5) * step - 0.35
            axes.errorbar(
                [places.index(place) + offset for place in rows["place"]],
                rows["value"].to_numpy(),
                yerr=_whiskers(rows),
                **_look(number, name),
                **_WHISKER,
            )
        # Each of several panels has a third of the page's width.
        _categories(axes, places, 0.6, 70 if len(tables) < 2 else 22, 40)
        _limit_shares(axes, numbers)
    _title_panels(chart, panels, tables)
    _share_labels(chart, figure, panels)
    return figure


def _forest(chart: Chart, numbers: pd.DataFrame) -> Figure:
    """A line for each place: the first series as a point with its whisker, the second as a stroke
    to compare it with."""
    first, second = _distinct_values(numbers["series"])[:2]
    places = _distinct_values(numbers["place"])
    values = numbers[numbers["series"] == first]
    references = numbers[numbers["series"] == second]
    figure, axes = _single_axes(1.1 + 0.16 * len(places))
    axes.errorbar(
        values["value"].to_numpy(),
        [places.index(place) for place in values["place"]],
        xerr=_whiskers(values),
        **_look(0, first),
        **_WHISKER,
    )
    axes.plot(
        references["value"],
        [places.index(place) for place in references["place"]],
        label=second,
        color=COLOURS[1],
        marker="|",
        markersize=11,
        markeredgewidth=2,
        linestyle="",
    )
    axes.set_yticks(range(len(places)), places, fontsize=8)
    axes.set_ylim(len(places) - 0.4, -0.6)
    axes.set(xlabel=chart.x, ylabel=chart.y)
    _legend(figure, axes)
    return figure


_DRAWINGS: Mapping[str, Callable[[Chart, pd.DataFrame], Figure]] = {
    "curves": _curves,
    "bars": _bars,
    "shares": _shares,
    "matrix": _matrix,
    "boxes": _boxes,
    "scatter": _scatter,
    "intervals": _intervals,
    "forest": _forest,
}
