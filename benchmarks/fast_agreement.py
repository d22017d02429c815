"""What changes in pairs, associations, ADEPT and PLANE when `parser=fast` replaces spaCy.

    python -m benchmarks.fast_agreement [wikipedia=DUMP] [page=docs/fast.md]

Extracts the demo's articles with either parser, each into a lake of its own, builds ADEPT and PLANE
from both with the demo's knowledge, and compares the tables; with `wikipedia=` a second text is
compared in the same way. The tables are written into the guide.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

import conf
from analysis.across import parsers
from benchmarks.processes import measured
from benchmarks.results import table, write_between
from conf import ROOT, setting

BEGIN, END = "<!-- agreement -->", "<!-- end of agreement -->"
DEMO = ROOT / "conf" / "demo"
PARSERS = ("spacy", "fast")
_ORDER = "The first lake is spaCy's, the second that of `parser=fast`."


@dataclass(frozen=True)
class Settings:
    """Settings of ``benchmarks/fast_agreement.py``."""

    wikipedia: str | None = setting(None, help="a MediaWiki export to compare too")
    page: str = setting(str(ROOT / "docs" / "fast.md"), help="the page to write into")


def build_lake(lake: Path, corpus: str, dump: str, parser: str) -> None:
    """Extract a dump and build ADEPT and PLANE from its pairs, with the demo's ConceptNet."""
    commands = [
        ["extract_amod.py", "source=wikipedia", f"input={dump}", f"corpus={corpus}"],
        ["import_knowledge.py", f"conceptnet={DEMO / 'conceptnet.csv'}"],
        ["build_adept.py", "preset=demo"],
        ["build_plane.py", "preset=demo"],
    ]
    commands[0] += [f"parser={parser}", "max_rejected=0.01"]
    for script, *words in commands:
        measured([sys.executable, str(ROOT / "etl" / script), *words, f"lake={lake}"]).checked()


def markdown(data: pa.Table) -> str:
    """A table of Markdown; numbers with decimals are rounded to three."""
    rows = [
        [f"{cell:.3f}" if isinstance(cell, float) else cell for cell in row.values()]
        for row in data.to_pylist()
    ]
    return table([data.column_names, *rows])


def compare(corpus: str, dump: str, folder: Path) -> str:
    """The comparison of both parsers on one dump, as Markdown."""
    lakes = {parser: folder / f"{corpus}-{parser}" for parser in PARSERS}
    for parser, lake in lakes.items():
        build_lake(lake, corpus, dump, parser)
    first, second = (str(lakes[parser]) for parser in PARSERS)
    tables = [
        parsers.pair_table(first, second, corpus),
        parsers.dataset_table(first, second),
        parsers.difference_table(first, second, corpus),
    ]
    return "\n\n".join(markdown(_with_parsers(data)) for data in tables)


def _with_parsers(data: pa.Table) -> pa.Table:
    """The table with the parsers' names in place of first and second."""
    names = dict(zip(("first", "second"), ("spaCy", "fast"), strict=True))
    return data.rename_columns([names.get(name, name) for name in data.column_names])


def main(settings: Settings) -> None:
    """Compare both parsers and write the tables into the guide."""
    dumps = {"demo-wikipedia": str(DEMO / "wikipedia.xml")}
    if settings.wikipedia:
        dumps["wikipedia-sample"] = settings.wikipedia
    titles = {
        "demo-wikipedia": "The articles of the demo",
        "wikipedia-sample": "The Wikipedia sample (partly trained on)",
    }
    with tempfile.TemporaryDirectory(prefix="adnominal-agreement-") as name:
        sections = [
            f"**{titles[corpus]}.** {_ORDER}\n\n{compare(corpus, dump, Path(name))}"
            for corpus, dump in dumps.items()
        ]
    text = "\n\n".join(sections)
    write_between(Path(settings.page), text, BEGIN, END)
    print(text)


if __name__ == "__main__":
    sys.exit(conf.run(Settings, main))
