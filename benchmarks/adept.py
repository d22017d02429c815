"""ADEPT: the release compared with the rules, a real build, and the judged sample.

published  the release: counts, baselines, label shares, surface forms by the insertion rule
real       builds from the Wikipedia sample and UD EWT (`lake=`, which is filled if it is empty)
judged     the stored sheet of judged items; `sheet=SEED` prints a new one instead

Builds of generated pairs at growing sizes are measured by the cases `engines` and `scale`.
"""

import os
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from adnominal.analysis.papers.adept.models import baselines
from adnominal.conf import ROOT, setting
from adnominal.etl import draws
from adnominal.etl.adept.baselines import CLASSES
from adnominal.etl.adept.predicates import RELATIONS
from adnominal.etl.adept.variants import insert
from adnominal.etl.lake import arrow
from benchmarks import judging
from benchmarks.harness import DATA, Bound, Case, CaseSettings, Exact, in_parts
from benchmarks.processes import usage_of
from benchmarks.results import Figures

JUDGED = ROOT / "docs" / "adept_judged.tsv"
EDGES = ROOT / "benchmarks" / "adept_edges.csv"
EDITIONS = ("clean", "paper")


@dataclass(frozen=True)
class Settings(CaseSettings):
    lake: str = setting(
        str(Path(tempfile.gettempdir()) / "lake_adept_benchmark"),
        help="lake of the part real and of the sheet",
    )
    sheet: int | None = setting(None, help="print a new sheet for judging, drawn with this seed")


def published(settings: Settings) -> Figures:
    from adnominal.etl.knowledge.lexicons import nonsubsective
    from adnominal.etl.published.adept import read

    reading = read(DATA / "adept")
    rows = reading.tables["adept"].to_pylist()
    words = nonsubsective()
    accuracies = baselines(reading.tables["adept"], words)
    shares: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for row in rows:
        kind = "dead" if row["modifier"] == "dead" else "the 60"
        shares[kind if row["modifier"] in words else "others"][row["label"]] += 1
    other_forms = [
        row["sentence1"]
        for row in rows
        if insert(row["sentence1"], row["modifier"], row["noun"], "letter") != row["sentence2"]
    ]
    return {
        "rows": len(rows),
        "notes": reading.notes,
        "dropped": sum(count for count, _ in reading.dropped.values()),
        "baselines": {
            str(classes): {
                "majority": 100 * accuracies["majority", classes].estimate,
                "rule": 100 * accuracies["normative rule", classes].estimate,
            }
            for classes in CLASSES
        },
        "shares": {
            kind: [counts[label] / counts.total() for label in range(5)]
            for kind, counts in shares.items()
        },
        "other_forms": len(other_forms),
    }


def prepare(lake: str) -> None:
    """Extract the pairs of the Wikipedia sample and UD EWT and import edges, if missing."""
    ewt = DATA / "ud_ewt"
    if arrow.version(lake, "amod_pairs") is None:
        for words in (
            ("source=conllu", f"input={ewt}/rebuilt-train.conllu.gz,{ewt}/en_ewt-ud-dev.conllu"),
            ("source=wikipedia", f"input={DATA}/wikipedia/enwiki-sample.xml.bz2"),
        ):
            usage_of("etl/extract_amod.py", *words, f"lake={lake}")
    if arrow.version(lake, "conceptnet_edges") is None:
        folder = DATA / "conceptnet"
        edges = [folder / "conceptnet4_en_divisi2.tsv.gz", folder / "cn5_assertions.csv", EDGES]
        paths = ",".join(map(str, [*edges, ROOT / "conf" / "demo" / "conceptnet.csv"]))
        usage_of("etl/import_knowledge.py", f"conceptnet={paths}", f"lake={lake}")


def column_counts(lake: str, table: str, column: str) -> Counter[str]:
    """The count of each value in a column of a table."""
    return Counter(arrow.read(lake, table, columns=[column]).column(0).to_pylist())


def real(settings: Settings) -> Figures:
    """Pairs of the Wikipedia sample and UD EWT with ConceptNet's edges, min_count=1."""
    lake = settings.lake
    prepare(lake)
    figures: Figures = {
        "pairs": column_counts(lake, "amod_pairs", "corpus"),
        "edges": column_counts(lake, "conceptnet_edges", "relation"),
    }
    relations = f"relations={','.join(RELATIONS)}"
    for edition in EDITIONS:
        words = (f"preset={edition}", "min_count=1", relations, f"lake={lake}")
        seconds = usage_of("etl/build_adept.py", *words).wall
        figures[edition] = {"seconds": seconds, **edition_figures(lake, edition)}
    return figures | {"load": os.getloadavg()[0]}


def edition_figures(lake: str, edition: str) -> Figures:
    """The figures of an edition: entries, items, their paths and relations, and dropped rows."""
    where = [("edition", "=", edition)]
    items = arrow.read(lake, "adept_items", where=where).to_pylist()
    drops = arrow.read(lake, "dropped", where=[("job", "=", f"build_adept/{edition}")])
    dropped = sorted(drops.to_pylist(), key=lambda r: (r["table"], -r["count"], r["reason"]))
    return {
        "entries": arrow.read(lake, "adept_entries", where=where, columns=["noun"]).num_rows,
        "items": len(items),
        "sentences": len({row["sentence"] for row in items}),
        "paths": Counter(row["path"] for row in items if row["chosen"]),
        "relations": Counter(row["relation"] for row in items if row["chosen"]),
        "nonsubsective": sum(row["nonsubsective"] for row in items) / len(items),
        "dropped": [[r["table"], r["reason"], r["count"], r["sample"]] for r in dropped],
    }


class Sampled(NamedTuple):
    """An item to be judged."""

    path: str
    relation: str
    article: str
    sentence: str
    modified_sentence: str


def article_case(sentence: str, modified: str) -> str:
    """The state of the article before the noun after insertion: none, kept, or flipped."""
    words = sentence.split()
    for at, (word, other) in enumerate(zip(words, modified.split(), strict=False)):
        if word != other:
            if {word.lower(), other.lower()} == {"a", "an"}:
                return "flipped"
            return "kept" if at and words[at - 1].lower() in ("a", "an") else "none"
    return "none"


def sample(lake: str, seed: int, size: int = 200) -> list[Sampled]:
    """Selected items of the clean edition, taken in turn from every path, relation and article."""
    strata: defaultdict[tuple[str, ...], list[Sampled]] = defaultdict(list)
    for row in arrow.read(lake, "adept_items", where=[("edition", "=", "clean")]).to_pylist():
        if row["chosen"]:
            sentences = (row["sentence"], row["modified_sentence"])
            item = Sampled(row["path"], row["relation"], article_case(*sentences), *sentences)
            strata[item[:3]].append(item)
    ordered = [
        sorted(strata[key], key=lambda item: draws.rank(seed, *item)) for key in sorted(strata)
    ]
    return judging.in_turn(ordered, size)


def judged(settings: Settings) -> Figures:
    """The stored sheet: how many of its items were judged well-formed, in total and by stratum."""
    rows = judging.read(JUDGED)

    def share(selected: list[dict[str, str]]) -> list[float]:
        return judging.share(sum(row["grammar"] == "right" for row in selected), len(selected))

    strata = {"all": share(rows)}
    for column in ("path", "relation", "article"):
        for value in sorted({row[column] for row in rows}):
            strata[f"{column} {value}"] = share([row for row in rows if row[column] == value])
    return strata


def context(figures: Figures) -> dict[str, Any]:
    edges = figures.get("real", {}).get("edges", {})
    return {"related_edges": sum(edges.get(relation, 0) for relation in RELATIONS)}


CASE = Case(
    "adept",
    judging.measurements(
        in_parts(published=published, real=real, judged=judged),
        lambda settings: sample(settings.lake, settings.sheet),
        ("grammar", "remark"),
    ),
    settings=Settings,
    packages=("pyspark", "deltalake", "lemminflect", "inflect"),
    bounds={
        "insertion": Bound("100 * (1 - published.other_forms / published.rows)", least=99.9),
        "judged": Bound("100 * judged.all[0] / judged.all[1]", least=90),
    },
    exact={"rows of the release": Exact("published.rows", 14_503)},
    context=context,
)
