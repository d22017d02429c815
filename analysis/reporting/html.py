"""A report as one HTML file that needs nothing else: no font, no script, no picture from outside.

It prints, and nothing is wider than its page: a table that would be is set smaller, and scrolls in
a box of its own where even that is too wide. Colours follow the reader's system. The script that is
within it searches the sections and saves figures; without it all else is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from html import escape

from analysis.reporting.page import (
    Block,
    FigureBlock,
    NotRun,
    Report,
    Table,
    Text,
    Unavailable,
    cells,
)

# Rows of a figure's table that are shown with it; the file of its data has them all.
SHOWN = 200
# Columns, or letters of a row, from which a table is set smaller.
_MANY, _LONG = 7, 110
# Letters of a cell that is kept in one line.
_SHORT = 24

_STYLE = """
:root { color-scheme: light dark; --page: #fff; --text: #1b1b1b; --rule: #0072b2; --ours: #00588c;
  --tint: #f6f7f8; --line: #d5d9dd; --head: #f2f4f6; --gap: #5f646a; --warn: #fdf8ee; }
@media screen and (prefers-color-scheme: dark) {
  :root { --page: #15181b; --text: #e4e6e8; --rule: #56b4e9; --ours: #8ec9f0; --tint: #1e2226;
    --line: #3a4047; --head: #23282d; --gap: #a7adb4; --warn: #2b2517; }
  figure svg { background: #fff; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1.5rem 4rem; max-width: 76rem; background: var(--page);
  color: var(--text); font: 16px/1.5 system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 1rem; }
h2 { font-size: 1.5rem; margin: 3rem 0 .5rem; padding-top: .8rem;
  border-top: 2px solid var(--rule); }
h3 { font-size: 1.15rem; margin: 2.2rem 0 .4rem; }
p { margin: .5rem 0; max-width: 48rem; }
a { color: var(--ours); text-decoration: none; }
a:hover { text-decoration: underline; }
nav { margin: 1.5rem 0; padding: .8rem 1.2rem; background: var(--tint);
  border: 1px solid var(--line); }
nav ul { margin: 0; padding-left: 1.1rem; columns: 2 20rem; font-size: .9rem; }
nav > ul { columns: auto; list-style: none; padding: 0; font-size: 1rem; }
nav > ul > li { margin: .3rem 0 .6rem; font-weight: 600; }
nav ul ul { font-weight: 400; }
nav ul ul li { break-inside: avoid; }
.box { margin: 0 0 1.4rem; max-width: 100%; overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; line-height: 1.35; }
.small table { font-size: .76rem; }
.caption { font-weight: 600; margin: 1rem 0 .4rem; font-size: .92rem; max-width: 60rem; }
th, td { padding: .28rem .55rem; vertical-align: top; text-align: left;
  border-bottom: 1px solid var(--line); }
th { background: var(--head); border-bottom: 2px solid var(--line); }
.short, .ours, .gap { white-space: nowrap; }
.id { overflow-wrap: anywhere; min-width: 9rem; }
.small th, .small td { padding: .22rem .4rem; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
td.number { white-space: nowrap; }
tr:hover td { background: var(--tint); }
.ours { color: var(--ours); }
.gap { color: var(--gap); }
figure { margin: 1rem 0 1.6rem; max-width: 100%; }
[hidden] { display: none; }
.search { display: block; margin: 1rem 0; }
.search input { font: inherit; color: inherit; background: var(--page); padding: .3rem .6rem;
  border: 1px solid var(--gap); width: 22rem; max-width: 100%; }
button { font: inherit; font-size: .85rem; color: inherit; background: var(--head);
  border: 1px solid var(--gap); cursor: pointer; margin-right: .4rem; }
figure svg { max-width: 100%; height: auto; display: block; }
figcaption { font-size: .92rem; margin-top: .3rem; max-width: 48rem; }
details { margin: .4rem 0; font-size: .88rem; }
summary { cursor: pointer; color: var(--ours); }
aside { margin: .8rem 0 1.2rem; padding: .5rem .9rem; border-left: 4px solid #e69f00;
  background: var(--warn); font-size: .92rem; max-width: 54rem; overflow-wrap: anywhere; }
aside.none { border-color: #9aa1a8; background: var(--tint); }
code { font: .86em ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  overflow-wrap: anywhere; }
@media (max-width: 40rem) { body { padding: 1rem .8rem 3rem; } }
@media print {
  @page { margin: 15mm; }
  body { padding: 0; max-width: none; font-size: 10pt; }
  .box { overflow: visible; }
  table { font-size: 7pt; }
  .small table { font-size: 5.6pt; }
  th, td, .small th, .small td { padding: 1.5pt 3pt; }
  .short { white-space: normal; }
  h2 { break-before: page; }
  h3, .caption { break-after: avoid; }
  tr, figure, aside { break-inside: avoid; }
  details, nav a::after, .search, button { display: none; }
}
"""

_SCRIPT = """
const box = document.querySelector(".search");
const sections = [...document.querySelectorAll("section")];
box.hidden = false;
box.querySelector("input").addEventListener("input", (event) => {
  const words = event.target.value.toLowerCase().split(/\\s+/).filter(Boolean);
  for (const section of sections) {
    const text = section.textContent.toLowerCase();
    section.hidden = !words.every((word) => text.includes(word));
  }
  const found = sections.filter((section) => !section.hidden).length;
  box.querySelector("output").textContent = words.length ? `${found} of ${sections.length}` : "";
});
function save(name, address) {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
}
for (const figure of document.querySelectorAll("figure")) {
  const svg = figure.querySelector("svg");
  const address = () => "data:image/svg+xml;charset=utf-8,"
    + encodeURIComponent(new XMLSerializer().serializeToString(svg));
  const button = (text, action) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.addEventListener("click", action);
    figure.append(made);
  };
  button("Save as SVG", () => save(`${figure.id}.svg`, address()));
  button("Save as PNG", async () => {
    const picture = new Image();
    picture.src = address();
    await picture.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [2 * picture.width, 2 * picture.height];
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    save(`${figure.id}.png`, canvas.toDataURL("image/png"));
  });
}
"""
# Nothing is loaded, whatever a text of the lake holds.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def html(report: Report, pictures: Mapping[str, str]) -> str:
    """The report as the text of an HTML file, its figures' SVG (by anchor) within."""
    body = "\n".join(_body(report, pictures))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(report.title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n<script>{_SCRIPT}</script>\n</body>\n</html>\n"
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
            drawn = _inline(pictures[anchor], anchor, caption)
            first = data.slice(0, SHOWN)
            more = "" if data.num_rows <= SHOWN else f", the first {SHOWN} of {data.num_rows:,}"
            plotted = _table(Table("", first, digits=4))
            return (
                f'<figure id="{anchor}">{drawn}<figcaption>{escape(caption)}</figcaption>'
                f"<details><summary>Its numbers ({first.num_rows:,} rows{more})</summary>"
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
    # Above the box, not in it: a caption of the table is as narrow as the table.
    lines = [f'<p class="caption">{escape(table.caption)}</p>'] if table.caption else []
    lines.append(f'<div class="box{small}"><table>')
    kinds = [' class="number"' if own else "" for own in numeric]
    head = "".join(
        f"<th{kind}>{escape(name)}</th>" for kind, name in zip(kinds, names, strict=True)
    )
    lines.append(f"<thead><tr>{head}</tr></thead><tbody>")
    for row in rows:
        own = "".join(
            f"<td{kind or _kind(cell)}>{_lines(cell)}</td>"
            for kind, cell in zip(kinds, row, strict=True)
        )
        lines.append(f"<tr>{own}</tr>")
    lines.append("</tbody></table></div>")
    return "\n".join(lines)


def _kind(cell: str) -> str:
    """How a cell of text breaks: a short one never, one long word (an id) anywhere."""
    if len(cell) <= _SHORT:
        return ' class="short"'
    return ' class="id"' if " " not in cell else ""


def _lines(cell: str) -> str:
    """A cell's lines; those after the first (ours, under the published) are set off."""
    first, *rest = cell.split("\n")
    found = [escape(first)]
    for line in rest:
        kind = "gap" if line.startswith("not ") else "ours"
        found.append(f'<span class="{kind}">{escape(line)}</span>')
    return "<br>".join(found)


def _inline(svg: str, anchor: str, caption: str) -> str:
    """The picture without what only a file needs, its ids made unique in the page."""
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{anchor}-', svg)
    svg = re.sub(r"url\(#", f"url(#{anchor}-", svg)
    svg = re.sub(r'href="#', f'href="#{anchor}-', svg)
    title = escape(caption, quote=True)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)
