from typing import Any

import pyarrow as pa
import pytest
from matplotlib.figure import Figure

from adnominal.analysis.rendering import figures
from adnominal.analysis.rendering.figures import Channels

POINTS = pa.table(
    {
        "z": [1.0, 2.0, 1.0, 2.0],
        "y": [0.1, 0.9, 0.2, None],
        "low": [0.0, 0.8, 0.1, 0.0],
        "high": [0.2, 1.0, 0.3, 0.0],
        "who": ["people", "people", "model", "model"],
        "panel": ["one", "two", "one", "two"],
    }
)


def assert_labelled(figure: Figure) -> None:
    """Check that both axes of every drawn panel have labels."""
    visible_axes = [axes for axes in figure.axes if axes.has_data()]
    assert visible_axes
    across = figure.get_supxlabel() or all(axes.get_xlabel() for axes in visible_axes)
    upwards = figure.get_supylabel() or all(axes.get_ylabel() for axes in visible_axes)
    assert across and upwards, "an axis without label"


def test_the_check_finds_a_missing_label():
    figure = Figure()
    figure.subplots().plot([1, 2])
    with pytest.raises(AssertionError, match="an axis without label"):
        assert_labelled(figure)


def channels(x: str, y: str = "y", series: str | None = None, **channels_by_name: Any) -> Channels:
    return Channels(x, y, "across", "upwards", series, **channels_by_name)


def drawings():
    whiskers: Any = {"low": "low", "high": "high"}
    names: Any = {"xlabel": "across", "ylabel": "upwards"}
    panels = channels("z", series="who", panel="panel")
    yield figures.curves(POINTS, panels, smooth=["people"])
    yield figures.curves(POINTS, channels("z", series="who", **whiskers))
    yield figures.bars(POINTS, channels("panel", series="who", **whiskers))
    yield figures.bars(pa.table({"z": ["a"], "y": [160]}), channels("z"), log=True)
    yield figures.intervals(POINTS, channels("z", series="who", panel="panel", **whiskers))
    yield figures.intervals(POINTS, channels("z", **whiskers))
    lines = channels("y", "who", **whiskers)
    yield figures.forest(POINTS.slice(0, 3), lines, "high", ("estimate", "reference"))
    yield figures.scatter(POINTS, channels("z", series="who"), lines={"people": (0.0, 0.5)})
    yield figures.boxes(
        pa.table(
            {"c": ["I"], "p05": [0.0], "p25": [1.0], "p50": [2.0], "p75": [3.0], "p95": [4.0]}
        ),
        row="c",
        **names,
    )
    yield figures.matrix(
        pa.table({"gold": ["a", "b"], "guess": ["a", "a"], "n": [3, 1]}),
        row="gold",
        column="guess",
        count="n",
        **names,
    )


def test_every_chart_is_labelled_and_can_be_drawn():
    for figure, data in drawings():
        assert_labelled(figure)
        assert data.num_rows
        assert figures.png(figure, dpi=40).startswith(b"\x89PNG")


def test_panels_above_an_empty_place_have_numbers_on_their_axis():
    points = pa.table({"z": [0, 1] * 4, "y": [0.0, 1.0] * 4, "panel": [*"aabbccdd"]})
    figure, _ = figures.curves(points, channels("z", panel="panel"))
    figure.canvas.draw()
    labels = [any(one.get_visible() for one in axes.get_xticklabels()) for axes in figure.axes]
    assert labels[:4] == [False, True, True, True]


def test_no_mark_is_cut_and_counts_begin_at_one():
    curve, _ = figures.curves(POINTS, channels("z", series="who"))
    low, high = curve.axes[0].get_ylim()
    assert low < 0 and high > 1
    columns = pa.table({"z": ["pairs", "labelled"], "y": [2992, 182]})
    figure, _ = figures.bars(columns, channels("z"), log=True)
    assert figure.axes[0].get_ylim()[0] == 1


def test_bars_of_shares_have_labels_inside():
    data = pa.table({"k": ["a", "a", "b"], "p": ["no", "yes", "no"], "s": [0.25, 0.75, 1.0]})
    figure, plotted = figures.shares(data, row="k", part="p", share="s", xlabel="share")
    assert plotted is data
    (axes,) = figure.axes
    assert [t.get_text() for t in axes.texts] == ["25 %", "100 %", "75 %", ""]
    assert [bar.get_window_extent().width > 0 for bar in axes.patches] == [True, True, True, False]


def test_equal_figures_give_equal_files():
    first, second = (figures.svg(next(drawings())[0]) for _ in range(2))
    assert first == second


def test_data_that_cannot_be_drawn_are_refused():
    with pytest.raises(ValueError, match="no column 'x' to draw; there is z, y"):
        figures.bars(POINTS, channels("x"))
    with pytest.raises(ValueError, match="nothing to draw"):
        figures.bars(POINTS.slice(0, 0), channels("z"))


def test_colours_are_distinct_and_dark_enough_for_print():
    def grey(colour: str) -> float:
        red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    greys = sorted(grey(colour) for colour in figures.COLOURS)
    assert len(set(figures.COLOURS)) == 7 and greys[-1] < 190
