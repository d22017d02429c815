from collections.abc import Iterator
from typing import Any

import pytest
from matplotlib.figure import Figure

from adnominal.analysis.page import figures
from adnominal.analysis.papers.exhibits import Chart, ChartKind
from adnominal.analysis.report_numbers import Row


def rows(*cells: tuple[str, str, str, float], low: float | None = None) -> list[Row]:
    """Rows of (table, row, column, value); with `low`, intervals that far below and above."""
    return [
        {
            "table_name": table,
            "row": row,
            "column": column,
            "ours": value,
            "low": None if low is None else value - low,
            "high": None if low is None else value + low,
        }
        for table, row, column, value in cells
    ]


POINTS = rows(
    ("one", "1", "people", 0.1),
    ("one", "2", "people", 0.9),
    ("two", "1", "model", 0.2),
    ("two", "2", "people", 0.4),
    low=0.1,
)


def chart(kind: ChartKind, *tables: str, **options: Any) -> Chart:
    return Chart(kind, "a caption", tables or ("one", "two"), "across", "upwards", options=options)


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


def drawings() -> Iterator[Figure]:
    yield figures.draw(chart("curves", smooth=["people"]), POINTS)
    yield figures.draw(chart("curves", "one"), rows(("one", "1", "a", 0.5), ("one", "2", "a", 1)))
    yield figures.draw(chart("bars", "one"), POINTS)
    yield figures.draw(chart("bars", "one", log=True), rows(("one", "a", "b", 160)))
    yield figures.draw(chart("intervals"), POINTS)
    lines = rows(("one", "x", "model", 0.3), ("one", "x", "majority", 0.5), low=0.1)
    yield figures.draw(chart("forest", "one"), lines)
    dots = rows(("one", "f1", "across", 1), ("one", "f1", "upwards", 2), ("one", "f2", "across", 3))
    dots += rows(("one", "f2", "upwards", 4))
    yield figures.draw(chart("scatter", "one", lines={"one": (0.0, 0.5)}), dots)
    quantiles = [("one", "I", name, at) for at, name in enumerate(figures.QUANTILES)]
    yield figures.draw(chart("boxes", "one"), rows(*quantiles))
    counts = rows(("one", "a", "a", 3), ("one", "b", "a", 1))
    yield figures.draw(chart("matrix", "one"), counts)
    yield figures.draw(chart("shares", "one"), counts)


def test_every_chart_is_labelled_and_can_be_drawn():
    drawn = list(drawings())
    assert len(drawn) == 10
    for figure in drawn:
        assert_labelled(figure)
        assert figures.svg(figure).startswith("<?xml")


def test_printed_numbers_can_be_drawn_in_place_of_ours():
    row: Row = {"table_name": "t", "row": "a", "column": "a", "ours": None, "published": 7.0}
    printed = Chart("matrix", "c", ("t",), "x", "y", published=True)
    assert "7" in figures.draw(printed, [row]).axes[0].texts[0].get_text()
    with pytest.raises(ValueError, match="c: no number to draw in t"):
        figures.draw(Chart("matrix", "c", ("t",), "x", "y"), [row])


def test_only_the_series_of_the_chart_are_drawn():
    (axes,) = figures.draw(chart("curves", "two", series=["people"]), POINTS).axes
    assert len(axes.lines) == 1


def test_panels_above_an_empty_place_have_numbers_on_their_axis():
    points = rows(*((table, place, "y", float(place)) for table in "abcd" for place in "01"))
    figure = figures.draw(chart("curves", *"abcd"), points)
    figure.canvas.draw()
    labels = [any(one.get_visible() for one in axes.get_xticklabels()) for axes in figure.axes]
    assert labels[:4] == [False, True, True, True]


def test_no_mark_is_cut_and_counts_begin_at_one():
    low, high = figures.draw(chart("curves"), POINTS).axes[0].get_ylim()
    assert low < 0 and high > 1
    columns = rows(("one", "pairs", "entries", 2992), ("one", "labelled", "entries", 182))
    figure = figures.draw(chart("bars", "one", log=True), columns)
    assert figure.axes[0].get_ylim()[0] == 1


def test_bars_of_shares_have_labels_inside():
    data = rows(("one", "a", "no", 0.25), ("one", "a", "yes", 0.75), ("one", "b", "no", 1.0))
    (axes,) = figures.draw(chart("shares", "one"), data).axes
    assert [t.get_text() for t in axes.texts] == ["25 %", "100 %", "75 %", ""]


def test_a_matrix_has_percentages_of_all_items():
    counts = rows(("one", "a", "a", 1), ("one", "a", "b", 1), ("one", "b", "b", 1))
    texts = figures.draw(chart("matrix", "one"), counts).axes[0].texts
    assert "33.33 %" in [text.get_text().split("\n")[-1] for text in texts]


def test_equal_figures_give_equal_files():
    first, second = (figures.svg(next(drawings())) for _ in range(2))
    assert first == second


def test_a_figure_of_the_page_follows_its_theme_and_has_ids_of_its_own():
    text = figures.for_page(figures.svg(next(drawings())), "adept-1")
    assert text.startswith('<svg fill="var(--text)"') and "var(--series-0)" in text
    assert "#0072b2" not in text and 'id="figure_1"' not in text and 'id="adept-1-' in text


def test_colours_are_distinct_and_dark_enough_for_print():
    def grey_level(colour: str) -> float:
        red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    greys = sorted(grey_level(colour) for colour in figures.COLOURS)
    assert len(set(figures.COLOURS)) == 7 and greys[-1] < 190
