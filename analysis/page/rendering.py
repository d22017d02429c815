"""The report's page as the text of one HTML file, from the templates in this folder.

The file loads nothing: style, script, figures and numbers are in it. Its colours follow the
reader's system; search and downloads need the script, everything else works without it.
"""

from collections.abc import Sequence
from pathlib import Path

import jinja2
import pandas as pd
import pyarrow as pa

from adnominal.analysis.page.view import Facts, PaperView, TextTable
from adnominal.analysis.report_numbers import ADDED, NOT_RECOMPUTABLE, NOT_RUN, STATUSES

_TEMPLATES = Path(__file__).parent / "templates"
# Cells without a number of ours, and those without a printed one, need no word in the legend.
_UNEXPLAINED = (ADDED, NOT_RUN, NOT_RECOMPUTABLE)


def html(
    title: str,
    facts: Facts,
    remark: str,
    papers: Sequence[PaperView],
    contents: TextTable,
    numbers: pa.Table,
) -> str:
    """The page of these papers and the table ``report_numbers``."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    template = environment.get_template("base.html")
    legend = {name: meaning for name, meaning in STATUSES.items() if name not in _UNEXPLAINED}
    return template.render(
        title=title,
        facts=facts,
        remark=remark,
        papers=papers,
        contents=contents,
        statuses=legend,
        numbers=tsv(numbers),
        style=(_TEMPLATES / "style.css").read_text(encoding="utf-8"),
        script=(_TEMPLATES / "script.js").read_text(encoding="utf-8"),
    )


def tsv(numbers: pa.Table) -> str:
    """The numbers as tab-separated text with a header line; lists are joined by commas."""
    # Whole numbers stay whole where others of their column are missing.
    whole = {pa.int64(): pd.Int64Dtype(), pa.int32(): pd.Int32Dtype()}
    rows = numbers.to_pandas(types_mapper=whole.get)
    rows["runs"] = [",".join(runs) for runs in rows["runs"]]
    return str(rows.to_csv(sep="\t", index=False, lineterminator="\n"))
