"""Exhibits in a notebook: figures first, then what there is to read, then the numbers."""

import pandas as pd
from IPython.display import SVG, display

from adnominal.analysis.page import figures
from adnominal.analysis.papers.exhibits import Chart, Context, Examples, Exhibit, Missing

_COLUMNS = ["table", "row", "column", "printed", "ours", "low", "high", "status"]


def show(exhibit: Exhibit[Context], paper: str, sources: Context) -> pd.DataFrame:
    """Draw the figures of an exhibit, print what the lake lacks for it, and return its numbers.

    The rows are those of ``report_numbers`` that have a number of ours; columns without any value
    are dropped.
    """
    section = exhibit.section(paper, sources)
    for finding in section.findings:
        match finding:
            case Chart():
                display(SVG(figures.svg(figures.draw(finding, section.rows))))
            case Examples():
                display(finding.data.to_pandas())
            case Missing():
                print(f"Not in this lake: {finding.what}. {finding.command}")
    numbers = pd.DataFrame(section.rows, columns=_COLUMNS)
    return numbers[numbers["ours"].notna()].dropna(axis="columns", how="all")
