"""A report as one self-contained HTML file, without external fonts, scripts or pictures.

The page can be printed and does not overflow: wide tables are set smaller, and scroll in a box if
they are still too wide. Colours follow the reader's system. The embedded script searches the
sections and saves figures; everything else works without it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from html import escape
from importlib.resources import files

from adnominal.analysis.rendering.blocks import (
    Block,
    FigureBlock,
    NotRun,
    Report,
    Table,
    Text,
    Unavailable,
    cells,
)

# Rows of a figure's table that are shown with it; its data file has all of them.
FIRST_ROWS = 200
# Tables with at least this many columns, or letters in a row, are set smaller.
_MANY, _LONG = 7, 110
# Cells of up to this many letters are kept on one line.
_SHORT = 24

_PAGE = files("adnominal.analysis.rendering") / "page"
# Nothing is loaded, whatever the texts in the lake contain.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def html(report: Report, pictures: Mapping[str, str]) -> str:
    """The report as the text of an HTML file that embeds its figures' SVG (by anchor)."""
    body = "\n".join(_body(report, pictures))
    style, script = ((_PAGE / f"report.{kind}").read_text("utf-8") for kind in ("css", "js"))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(report.title)}</title>\n<style>\n{style}</style>\n</head>\n"
        f"<body>\n{body}\n<script>\n{script}</script>\n</body>\n</html>\n"
    )


def _body(report: Report, pictures: Mapping[str, str]) -> Iterator[str]:
    yield f"<h1>{escape(report.title)}</h1>"
    for number, block in enumerate(report.opening, 1):
        yield _block(block, f"opening-{number}", pictures)
    yield (
        '<label class="search" hidden>Search the sections '
        '<input type="search"> <output></output></label>'
    )
    yield "<nav><ul>"
    for part in report.parts:
        yield f'<li><a href="#{part.anchor}">{escape(part.title)}</a><ul>'
        for section in part.sections:
            yield f'<li><a href="#{section.anchor}">{escape(section.title)}</a></li>'
        yield "</ul></li>"
    yield "</ul></nav>"
    for part in report.parts:
        yield f'<h2 id="{part.anchor}">{escape(part.title)}</h2>'
        for section in part.sections:
            yield f'<section id="{section.anchor}"><h3>{escape(section.title)}</h3>'
            for number, block in enumerate(section.blocks, 1):
                yield _block(block, f"{section.anchor}-{number}", pictures)
            yield "</section>"


def _block(block: Block, anchor: str, pictures: Mapping[str, str]) -> str:
    match block:
        case Text(text):
            return f"<p>{escape(text)}</p>"
        case Table(caption, folded=True):
            inner = _table(replace(block, caption=""))
            return f"<details><summary>{escape(caption)}</summary>{inner}</details>"
        case Table():
            return _table(block)
        case FigureBlock(caption, _, data):
            picture = _inline(pictures[anchor], anchor, caption)
            first = data.slice(0, FIRST_ROWS)
            omitted_rows = (
                ""
                if data.num_rows <= FIRST_ROWS
                else f", the first {FIRST_ROWS} of {data.num_rows:,}"
            )
            plotted = _table(Table("", first, digits=4))
            return (
                f'<figure id="{anchor}">{picture}<figcaption>{escape(caption)}</figcaption>'
                f"<details><summary>Its numbers ({first.num_rows:,} rows{omitted_rows})</summary>"
                f"{plotted}</details></figure>"
            )
        case NotRun(caption, command, reason):
            because = f"{escape(reason)}<br>" if reason else ""
            return (
                f"<aside><details><summary><b>Not run:</b> {escape(caption)}</summary>{because}"
                f"<code>{escape(command)}</code></details></aside>"
            )
        case Unavailable(caption, reason):
            return (
                f'<aside class="none"><b>Unavailable:</b> {escape(caption)}<br>'
                f"{escape(reason)}</aside>"
            )


def _table(table: Table) -> str:
    names, numeric, rows = cells(table)
    longest = max(
        (sum(max(map(len, cell.split("\n"))) for cell in row) for row in [names, *rows]), default=0
    )
    small = " small" if len(names) > _MANY or longest > _LONG else ""
    # Above the box, not in it: a table's caption element is only as wide as the table.
    lines = [f'<p class="caption">{escape(table.caption)}</p>'] if table.caption else []
    lines.append(f'<div class="box{small}"><table>')
    kinds = [' class="number"' if columns else "" for columns in numeric]
    head = "".join(
        f"<th{kind}>{escape(name)}</th>" for kind, name in zip(kinds, names, strict=True)
    )
    lines.append(f"<thead><tr>{head}</tr></thead><tbody>")
    for row in rows:
        columns = "".join(
            f"<td{kind or _kind(cell)}>{_lines(cell)}</td>"
            for kind, cell in zip(kinds, row, strict=True)
        )
        lines.append(f"<tr>{columns}</tr>")
    lines.append("</tbody></table></div>")
    return "\n".join(lines)


def _kind(cell: str) -> str:
    """How a text cell wraps: a short one never, a single long word (an id) anywhere."""
    if len(cell) <= _SHORT:
        return ' class="short"'
    return ' class="id"' if " " not in cell else ""


def _lines(cell: str) -> str:
    """A cell's lines; those after the first (ours, below the published) have their own style."""
    first, *rest = cell.split("\n")
    lines = [escape(first)]
    for line in rest:
        kind = "gap" if line.startswith("not ") else "ours"
        lines.append(f'<span class="{kind}">{escape(line)}</span>')
    return "<br>".join(lines)


def _inline(svg: str, anchor: str, caption: str) -> str:
    """The picture without the parts that only a file needs, with ids made unique in the page."""
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{anchor}-', svg)
    svg = re.sub(r"url\(#", f"url(#{anchor}-", svg)
    svg = re.sub(r'href="#', f'href="#{anchor}-', svg)
    title = escape(caption, quote=True)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)
