"""The report's page as the text of one HTML file, from the templates in this folder.

The file loads nothing: style, script, figures and numbers are in it. Its colours follow the
reader's system; search and downloads need the script, everything else works without it.
"""

import io
from collections.abc import Sequence
from pathlib import Path

import jinja2
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

from adnominal.analysis.numbers import ADDED, NOT_RECOMPUTABLE, NOT_RUN, STATUSES
from adnominal.analysis.page.view import Facts, PaperView, TextTable

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
    columns = [_flat(column) for column in numbers.columns]
    flat = pa.table(columns, names=numbers.column_names)
    out = io.BytesIO()
    options = csv.WriteOptions(delimiter="\t", quoting_style="needed")
    csv.write_csv(flat, out, options)
    return out.getvalue().decode("utf-8")


def _flat(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.binary_join(column, ",") if pa.types.is_list(column.type) else column
