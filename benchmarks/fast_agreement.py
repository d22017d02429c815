"""How pairs, associations, ADEPT and PLANE change when `parser=fast` replaces spaCy.

Extracts the demo's articles with each parser into a separate lake, builds ADEPT and PLANE from both
with the demo's knowledge, and compares the tables. With `wikipedia=` a second text is compared in
the same way. The tables are written to the guide.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from adnominal import conf
from adnominal.analysis.across import parsers
from adnominal.analysis.numbers import Key, Value
from adnominal.analysis.statistics import Interval
from adnominal.conf import ROOT, setting
from benchmarks.processes import usage_of
from benchmarks.readme import Page
from benchmarks.results import table

BEGIN, END = "<!-- agreement -->", "<!-- end of agreement -->"
DEMO = ROOT / "conf" / "demo"
PARSERS = {"first": "spaCy", "second": "fast"}
"""The parser of each lake, by its column in the tables."""
_ORDER = "The first lake is spaCy's, the second that of `parser=fast`."


@dataclass(frozen=True)
class Settings(Page):
    wikipedia: str | None = setting(None, help="a MediaWiki export to compare as well")
    page: str = setting(str(ROOT / "docs" / "fast.md"), help="the page to write into")


def build_lake(lake: Path, corpus: str, dump: str, parser: str) -> None:
    """Extract a dump and build ADEPT and PLANE from its pairs, with the demo's ConceptNet."""
    texts = ["source=wikipedia", f"input={dump}", f"corpus={corpus}", f"parser={parser}"]
    for script, *words in (
        ["extract_amod.py", *texts, "max_rejected=0.01"],
        ["import_knowledge.py", f"conceptnet={DEMO / 'conceptnet.csv'}"],
        ["build_adept.py", "preset=demo"],
        ["build_plane.py", "preset=demo"],
    ):
        usage_of(f"etl/{script}", *words, f"lake={lake}")


def markdown(cells: Mapping[Key, Value]) -> str:
    """A Markdown table of numbers by (row, column); those with decimals are rounded to three."""
    rows = list(dict.fromkeys(row for row, _ in cells))
    columns = list(dict.fromkeys(column for _, column in cells))
    header = ["", *(PARSERS.get(column, column) for column in columns)]
    lines = [[row, *(_text(cells.get((row, column))) for column in columns)] for row in rows]
    return table([header, *lines])


def _text(value: Value | None) -> str:
    if value is None:
        return ""
    number = value.estimate if isinstance(value, Interval) else value
    return f"{number:,.0f}" if float(number).is_integer() else f"{number:.3f}"


def compare(corpus: str, dump: str, folder: Path) -> str:
    """The comparison of both parsers on one dump, as Markdown."""
    for parser in PARSERS.values():
        build_lake(folder / f"{corpus}-{parser}", corpus, dump, parser.lower())
    first, second = (str(folder / f"{corpus}-{parser}") for parser in PARSERS.values())
    tables = [
        parsers.pair_cells(first, second, corpus),
        parsers.dataset_cells(first, second),
        parsers.difference_cells(first, second, corpus),
    ]
    return "\n\n".join(map(markdown, tables))


def write(settings: Settings) -> None:
    """Compare both parsers and write the tables to the guide."""
    texts = [("The articles of the demo", "demo-wikipedia", str(DEMO / "wikipedia.xml"))]
    if settings.wikipedia:
        title = "The Wikipedia sample (partly trained on)"
        texts.append((title, "wikipedia-sample", settings.wikipedia))
    with tempfile.TemporaryDirectory(prefix="adnominal-agreement-") as folder:
        sections = [
            f"**{title}.** {_ORDER}\n\n{compare(corpus, dump, Path(folder))}"
            for title, corpus, dump in texts
        ]
    settings.write("\n\n".join(sections), BEGIN, END)


main = partial(conf.run, Settings, write)
