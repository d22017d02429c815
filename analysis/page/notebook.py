"""Exhibits in a notebook: figures first, then what there is to read, then the numbers."""

import io
from collections.abc import Sequence

import pandas as pd
from IPython.display import Image, display

from adnominal.analysis.page import figures
from adnominal.analysis.papers.exhibits import Chart, Context, Examples, Exhibit, Missing
from adnominal.analysis.report_numbers import Row

_COLUMNS = ["table_name", "row", "column", "printed", "ours", "low", "high", "status"]
_DOTS_PER_INCH = 110


def picture(chart: Chart, rows: Sequence[Row]) -> Image:
    """The chart of rows of ``report_numbers`` as PNG on white, which every viewer of notebooks
    shows and which is small in the stored file.

    Raises:
        ValueError: no number to draw in the chart's tables.
    """
    figure = figures.draw(chart, rows)
    content = io.BytesIO()
    figure.savefig(
        content,
        format="png",
        dpi=_DOTS_PER_INCH,
        facecolor="white",
        bbox_inches="tight",
        metadata={"Software": None},  # matplotlib's version
    )
    return Image(content.getvalue())


def show(exhibit: Exhibit[Context], paper: str, sources: Context) -> pd.DataFrame:
    """Draw the figures of an exhibit, print what the lake lacks for it, and return its numbers.

    The rows are those of ``report_numbers`` that have a number of ours; columns without any value
    are dropped.
    """
    section = exhibit.section(paper, sources)
    for finding in section.findings:
        match finding:
            case Chart():
                display(picture(finding, section.rows))
            case Examples():
                display(finding.data.to_pandas())
            case Missing():
                print(f"Not in this lake: {finding.what}. {finding.command}")
    numbers = pd.DataFrame(section.rows, columns=_COLUMNS)
    return numbers[numbers["ours"].notna()].dropna(axis="columns", how="all")
