"""A report as Markdown, with its figures in separate files."""

import csv
import io
from collections.abc import Iterator, Mapping

import pyarrow as pa

from adnominal.analysis.rendering.blocks import (
    Block,
    FigureBlock,
    NotRun,
    Report,
    Table,
    Text,
    Unavailable,
    blocks_by_anchor,
    cells,
)
from adnominal.analysis.rows import tuples
from adnominal.conf.markdown import table_text


def markdown(report: Report) -> str:
    """The report as GitHub-flavoured Markdown; pictures are at ``figures/ANCHOR.svg``."""
    return "\n\n".join(_paragraphs(report)) + "\n"


def files(report: Report, pictures: Mapping[str, str]) -> Mapping[str, str]:
    """Every picture (SVG by anchor) and the data of every table and figure (TSV): text by path."""
    texts = {f"figures/{anchor}.svg": svg for anchor, svg in pictures.items()}
    for anchor, block in blocks_by_anchor(report):
        if isinstance(block, FigureBlock | Table):
            texts[f"data/{anchor}.tsv"] = _tsv(block.data)
    return texts


def _paragraphs(report: Report) -> Iterator[str]:
    yield f"# {_escaped(report.title)}"
    for number, block in enumerate(report.opening, 1):
        yield _block(block, f"opening-{number}")
    for part in report.parts:
        yield f"## {_escaped(part.title)}"
        for section in part.sections:
            yield f'<a id="{section.anchor}"></a>\n### {_escaped(section.title)}'
            for number, block in enumerate(section.blocks, 1):
                yield _block(block, f"{section.anchor}-{number}")


def _block(block: Block, anchor: str) -> str:
    match block:
        case Text(text):
            return _escaped(text)
        case Table():
            caption = f"**{_escaped(block.caption)}**\n\n" if block.caption else ""
            names, numeric, rows = cells(block)
            rules = ["---:" if number else "---" for number in numeric]
            escaped_rows = [list(map(_cell, row)) for row in rows]
            return caption + table_text(list(map(_cell, names)), rules, escaped_rows)
        case FigureBlock(caption):
            return f"![{_escaped(caption)}](figures/{anchor}.svg)\n\n*{_escaped(caption)}*"
        case NotRun(caption, command, reason):
            because = f" {_escaped(reason)}" if reason else ""
            return f"> **Not run:** {_escaped(caption)}.{because}\n>\n>     {command}"
        case Unavailable(caption, reason):
            return f"> **Unavailable:** {_escaped(caption)}. {_escaped(reason)}"


def _cell(text: str) -> str:
    return _escaped(text).replace("|", "\\|").replace("\n", "<br>")


def _escaped(text: str) -> str:
    for sign in ("\\", "*", "_", "`", "[", "]", "<", ">"):
        text = text.replace(sign, f"\\{sign}")
    return text


def _tsv(data: pa.Table) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter="\t", lineterminator="\n")
    writer.writerow(data.column_names)
    writer.writerows(tuples(data))
    return out.getvalue()
