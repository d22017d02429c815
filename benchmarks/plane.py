"""PLANE: published rows compared with the rules, splits, real and large builds.

published  the release's rows against the rules, its pairs against WordNet, its splits checked
splits     splits of the published size from the published pairs, and from generated ones
real       builds from the Wikipedia sample and UD EWT (or the pairs of `lake=`)
scale      a build of generated pairs with `items` items, compared with a plain Python loop
           (growth is measured by the case `engines`)
"""

import hashlib
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations, groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from adnominal.conf import UserError, setting
from adnominal.etl.checks.split_rows import read_rows
from adnominal.etl.checks.splits import Fold, check
from adnominal.etl.knowledge.lexicons import adjective_classes
from adnominal.etl.lake import arrow
from adnominal.etl.plane import CLASSES, SCHEMES, TYPES
from adnominal.etl.plane.candidates import Pool
from adnominal.etl.plane.rules import HOLDS, inference_type, label
from adnominal.etl.plane.sizes import Sizes
from adnominal.etl.plane.splits import plan
from benchmarks import plane_scale
from benchmarks.harness import DATA, Bound, Case, CaseSettings, Exact, in_parts
from benchmarks.plane_generator import Known, write_knowledge
from benchmarks.processes import timed, usage_of
from benchmarks.results import Figures

FILES = ("ood_train_1", "ood_test_1", "one_it_train_1", "one_it_test_1")
WORDS = ("adjective", "noun", "hypernym")
CORPORA = (["wikipedia"], ["conllu"], ["wikipedia", "conllu"])


@dataclass(frozen=True)
class Settings(CaseSettings):
    lake: str = setting("", help="lake with amod_pairs for the part real; default: a new one")
    items: list[int] = setting([100_000_000], help="items of the builds of scale")


def release() -> dict[str, pa.Table]:
    """The files of the release."""
    return {name: read_rows(DATA / "plane" / f"{name}.tsv.gz") for name in FILES}


def published(settings: Settings) -> Figures:
    known = Known()
    tables = release()
    figures: Figures = {
        "files": {n: _file(rows, known) for n, rows in tables.items()},
        "splits": {},
    }
    for kind in ("ood", "one_it"):
        parts = []
        for part in ("train", "test"):
            rows = tables[f"{kind}_{part}_1"].select(["sentence", "label", "adj_class", *WORDS])
            parts.append(rows.append_column("part", pa.repeat(part, rows.num_rows)))
        identity = ["sentence", "label"]
        (fold,) = check(
            pa.concat_tables(parts), WORDS, label="label", identity=identity, same_kind=WORDS[1:]
        )
        figures["splits"][kind] = _findings(fold)
    for part in ("train", "test"):
        figures[f"chains_{part}"] = _chains(tables[f"one_it_{part}_1"], known)
    return figures


def _file(rows: pa.Table, known: Known) -> Figures:
    """The rows that the rules reproduce, and the word pairs that WordNet has."""
    reproduced = 0
    for row in rows.to_pylist():
        inference = inference_type(row["sentence"], *(row[word] for word in WORDS))
        kind = row["adj_class"].replace("N", "S")
        reproduced += inference is not None and label(kind, inference) == int(row["label"])
    pairs = set(zip(rows["noun"].to_pylist(), rows["hypernym"].to_pylist(), strict=True))
    distances = Counter(known.hypernyms(noun).get(up, 0) for noun, up in pairs)
    return {
        "rows": rows.num_rows,
        "reproduced": reproduced,
        "pairs": len(pairs),
        "found": len(pairs) - distances[0],
        "direct": distances[1],
    }


def _findings(fold: Fold) -> dict[str, Any]:
    return {
        "parts": {
            part.name: {
                "rows": part.rows,
                "labels": dict(part.labels),
                "repeated": part.repeated,
                "distinct": dict(part.distinct_values),
                "told": dict(part.guess_accuracy),
            }
            for part in fold.parts
        },
        "shared": {column: count for (_, _, column), count in fold.shared.items()},
    }


def _chains(rows: pa.Table, known: Known) -> dict[str, Any]:
    """One-IT as chains: a noun and three hypernyms, each adjective in all six pairs of them.

    Counts the rows explained by this order of the file, the chains by weight, the chains that are
    in WordNet, and the pairs in these, from which preset=paper builds.
    """
    words = list(zip(*(rows[c].to_pylist() for c in ("adj_class", *WORDS)), strict=True))
    explained = 0
    intersective: list[tuple[str, ...]] = []
    for start in range(0, len(words), 6):
        six = words[start : start + 6]
        chain = (six[0][2], *(row[3] for row in six[:3]))
        in_order = [row[2:] for row in six] == list(combinations(chain, 2))
        explained += 6 * (in_order and len({row[:2] for row in six}) == 1)
        if six[0][0] == "I":
            intersective.append(chain)
    weights = Counter(len(list(same)) for _, same in groupby(intersective))
    chains = set(intersective)
    in_wordnet = [chain for chain in chains if known.is_chain(*chain)]
    pairs_by_chain = {pair for chain in in_wordnet for pair in combinations(chain, 2)}
    return {
        "rows": len(words),
        "explained": explained,
        "weights": {str(weight): weights[weight] for weight in sorted(weights)},
        "chains": len(chains),
        "found": len(in_wordnet),
        "pairs": len(pairs_by_chain & {row[2:] for row in words}),
    }


def _pool(phrases: Mapping[str, Iterable[str]], known: Known) -> Pool:
    classes = sorted(adjective_classes().items())
    number = {word: place for place, (word, _) in enumerate(classes)}
    rows = []
    for noun, adjectives in phrases.items():
        up = sorted(known.hypernyms(noun).items(), key=lambda pair: (pair[1], pair[0]))
        if any(distance == 1 for _, distance in up):
            rows.append(
                {
                    "noun": noun,
                    "adjectives": [number[word] for word in sorted(adjectives)],
                    "hypernyms": [word for word, _ in up],
                    "distances": [distance for _, distance in up],
                    "chain": known.chain(noun),
                }
            )
    numbers, texts = pa.list_(pa.int32()), pa.list_(pa.string())
    schema = {"noun": pa.string(), "adjectives": numbers, "hypernyms": texts, "distances": numbers}
    return Pool.of(classes, pa.Table.from_pylist(rows, pa.schema({**schema, "chain": texts})))


def splits(settings: Settings) -> Figures:
    known = Known()
    phrases: dict[str, set[str]] = defaultdict(set)
    for rows in release().values():
        for noun, word in zip(rows["noun"].to_pylist(), rows["adjective"].to_pylist(), strict=True):
            phrases[noun].add(word)
    pool = _pool(phrases, known)
    largest = {name: _largest_training_part(pool, name) for name in ("published", "strict")}
    published_pairs = {"phrases": len(pool.phrases), **largest}
    pool = _pool(zipf_phrases(phrases), known)
    schemes: Figures = {}
    fewer, chains = Sizes(one_it_train_rows=30_012), Sizes(chains=True)
    for name, sizes in (*((scheme, fewer) for scheme in SCHEMES), ("one_it, chains", chains)):
        scheme = name.partition(",")[0]
        with timed() as timing:
            planned = plan(pool, [scheme], sizes, 0)
        schemes[name] = {"seconds": timing.wall, "folds": _checked(planned, scheme)}
    generated = {"phrases": len(pool.phrases), "schemes": schemes}
    return {"published_pairs": published_pairs, "generated": generated}


def _largest_training_part(pool: Pool, scheme: str) -> int:
    """Rows of the largest training part, in steps of a hundred units, that gives five folds."""
    low, high = 0, 34
    while high - low > 1:
        middle = (low + high) // 2
        try:
            plan(pool, [scheme], Sizes(train_rows=1800 * middle), 0)
            low = middle
        except UserError:
            high = middle
    return 1800 * low


def zipf_phrases(phrases: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The same nouns with adjectives distributed as in a large corpus: few frequent, most rare."""
    classes = sorted(adjective_classes().items())
    rng = np.random.default_rng(0)
    shares = 1 / np.arange(1, len(classes) + 1) ** 0.8
    order = rng.permutation(len(classes))
    nouns = sorted(phrases, key=lambda word: hashlib.md5(word.encode()).digest())
    result = {}
    for rank, noun in enumerate(nouns):
        size = int(min(len(classes), 12 + 4000 / (rank + 8) ** 0.7))
        picked = order[rng.choice(len(classes), size, replace=False, p=shares / shares.sum())]
        result[noun] = {classes[place][0] for place in picked} | phrases[noun]
    return result


def _checked(planned: pa.Table, scheme: str) -> list[dict[str, Any]]:
    """The checker's findings for each fold, and the weights of the pairs."""
    types = (3,) if scheme == "one_it" else TYPES
    items = []
    for kind in types:
        holding = pa.array([name for name in CLASSES if HOLDS[name][kind - 1]])
        labels = pc.is_in(planned["class"], holding).cast("int8")
        rows = planned.append_column("type", pa.array([kind] * planned.num_rows))
        items.append(rows.append_column("label", labels))
    identity = [*WORDS, "type"]
    folds = check(
        pa.concat_tables(items), WORDS, label="label", identity=identity, same_kind=WORDS[1:]
    )
    checked = []
    for fold in folds:
        intersective = planned.filter(
            pc.and_(pc.equal(planned["fold"], fold.name), pc.equal(planned["class"], "I"))
        )
        findings = _findings(fold)
        for part in findings["parts"]:
            rows_of_part = intersective.filter(pc.equal(intersective["part"], part))
            grouped = rows_of_part.group_by(["noun", "hypernym"]).aggregate([([], "count_all")])
            weights = Counter(grouped["count_all"].to_pylist())
            findings["parts"][part]["once"] = weights[1] / max(1, weights.total())
        checked.append(findings)
    return checked


def real(settings: Settings) -> Figures:
    """Builds from the Wikipedia sample and UD EWT, with and without the rule on all classes."""
    from adnominal.etl import engine
    from adnominal.etl.plane.job import build
    from adnominal.etl.plane.settings import Settings as BuildSettings

    with tempfile.TemporaryDirectory(prefix="plane-") as folder:
        root = settings.lake or f"{folder}/lake"
        if not settings.lake:
            for source, files in (("conllu", "ud_ewt/*conllu*"), ("wikipedia", "wikipedia/*.bz2")):
                words = (f"source={source}", f"input={DATA / files}", f"lake={root}")
                usage_of("etl/extract_amod.py", *words)
        if "wordnet_lemmas" not in arrow.tables(root):
            write_knowledge(root)
        figures: Figures = {}
        for corpora in CORPORA:
            pairs = arrow.read(root, "amod_pairs", where=[("corpus", "in", corpora)]).num_rows
            builds: Figures = {"pairs": pairs}
            for rule in (True, False):
                edition = f"bench_{'_'.join(corpora)}_{rule}"
                words_of = {"corpus": corpora, "every_class": rule, "schemes": []}
                with timed() as timing:
                    build(BuildSettings(edition=edition, lake=root, **words_of))  # type: ignore[arg-type]
                builds[str(rule).lower()] = _counted(root, edition) | {"seconds": timing.wall}
            figures[", ".join(corpora)] = builds
        engine.stop()
    return figures


def _counted(root: str, edition: str) -> dict[str, Any]:
    where = [("edition", "=", edition)]
    rows = arrow.read(root, "plane_items", where=where)
    counts = rows.group_by(["class", "inference_type"]).aggregate([([], "count_all")]).to_pylist()
    dropped = arrow.read(root, "dropped", where=[("job", "=", f"build_plane/{edition}")])
    measures = arrow.read(root, "plane_association", where=where)
    medians = {}
    for kind in CLASSES:
        values = measures.filter(pc.equal(measures["class"], kind))["pmi"]
        medians[kind] = pc.quantile(values, 0.5)[0].as_py() if len(values) else None
    return {
        "items": rows.num_rows,
        "sentences": pc.count_distinct(rows["sentence"]).as_py(),
        "words": {word: pc.count_distinct(rows[word]).as_py() for word in WORDS},
        "by": {f"{c['class']}{c['inference_type']}": c["count_all"] for c in counts},
        "dropped": {row["reason"]: row["count"] for row in dropped.to_pylist()},
        "pmi": medians,
    }


def context(figures: Figures) -> dict[str, Any]:
    shared: dict[str, Counter[str]] = {}
    balanced = True
    schemes = figures.get("splits", {}).get("generated", {}).get("schemes", {})
    for scheme, planned in schemes.items():
        shared[scheme] = Counter()
        for fold in planned["folds"]:
            shared[scheme].update(fold["shared"])
            for part in fold["parts"].values() if scheme != "two_shot" else ():
                balanced = balanced and 2 * part["labels"].get("1", 0) == part["rows"]
    return {"shared": shared, "balanced": balanced}


_CHAINS = "published.chains_{0}.pairs / published.files.one_it_{0}_1.pairs"
_BUILD = "scale.builds[-1]"
CASE = Case(
    "plane",
    in_parts(
        published=published,
        splits=splits,
        real=real,
        scale=lambda settings: plane_scale.scale(settings.items),
    ),
    settings=Settings,
    packages=("pyspark", "numpy", "pyarrow"),
    bounds={
        "chains": Bound(
            f"100 * [{_CHAINS.format('train')}, {_CHAINS.format('test')}]|min", least=88
        ),
        "loop": Bound(f"{_BUILD}['items'] / {_BUILD}.cpu / scale.plain.written", least=5),
        "splits": Bound("scale.splits.choosing + scale.splits.writing", most=60),
    },
    exact={
        f"rows of {name} that the rules do not reproduce": Exact(
            f"published.files.{name}.rows - published.files.{name}.reproduced", 0
        )
        for name in FILES
    },
    context=context,
)
