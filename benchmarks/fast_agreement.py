"""How pairs, associations, ADEPT and PLANE change when `parser=fast` replaces spaCy.

Extracts the demo's articles with each parser into a separate lake, builds ADEPT and PLANE from both
with the demo's knowledge, and compares the tables. With `wikipedia=` a second text is compared in
the same way. The tables are written to the guide.
"""

import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa

from adnominal import conf
from adnominal.analysis.across import parsers
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


def markdown(data: pa.Table) -> str:
    """A Markdown table; numbers with decimals are rounded to three."""
    rows = [
        [f"{cell:.3f}" if isinstance(cell, float) else cell for cell in row.values()]
        for row in data.to_pylist()
    ]
    return table([[PARSERS.get(name, name) for name in data.column_names], *rows])


def compare(corpus: str, dump: str, folder: Path) -> str:
    """The comparison of both parsers on one dump, as Markdown."""
    for parser in PARSERS.values():
        build_lake(folder / f"{corpus}-{parser}", corpus, dump, parser.lower())
    first, second = (str(folder / f"{corpus}-{parser}") for parser in PARSERS.values())
    tables = [
        parsers.pair_table(first, second, corpus),
        parsers.dataset_table(first, second),
        parsers.difference_table(first, second, corpus),
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
