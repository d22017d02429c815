"""PLANE: published rows against the rules, splits, real and large builds.

    python -m benchmarks.plane [published] [splits] [real] [scale]

Without names all parts run. Each part records its figures when it is done, and the page is written
from what is recorded. ``PLANE_LAKE`` names a lake with amod_pairs and WordNet for the part real,
which else extracts the pairs itself; ``PLANE_ITEMS`` the sizes of the large builds
(10000000,100000000).
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks import results
from benchmarks.processes import measured
from conf import ROOT
from etl.knowledge import wordnet
from etl.knowledge.lexicons import adjective_classes
from etl.lake import arrow
from etl.lake.tables import table
from etl.plane import CLASSES, SCHEMES, TYPES, blocks
from etl.plane.check import Fold, check, read_rows
from etl.plane.rules import HOLDS, edition_key, inference_type, label
from etl.plane.splits import Pool, Sizes, plan

Ids = npt.NDArray[np.int64]

KEY = "plane"
SHARED = Path(os.environ.get("ADNOMINAL_DATA", Path(__file__).parents[2] / "shared" / "data"))
FILES = ("ood_train_1", "ood_test_1", "one_it_train_1", "one_it_test_1")
WORDS = ("adjective", "noun", "hypernym")
EDITION = "large"
# Adjectives of the large builds, in the proportions of the lexicon.
ADJECTIVES = 5000


class Known:
    """What the job's joins look up, as dictionaries."""

    def __init__(self) -> None:
        files = wordnet.find()
        self.lemmas = {
            row["lemma"] for row in wordnet.lemmas(files).to_pylist() if row["pos"] == "n"
        }
        self.exceptions: dict[str, list[str]] = defaultdict(list)
        for row in wordnet.exceptions(files).to_pylist():
            if row["pos"] == "n":
                self.exceptions[row["form"]].append(row["lemma"])
        above = wordnet.hypernyms(files)
        own = above.filter(
            pc.and_(
                pc.and_(pc.equal(above["sense"], 1), above["first_lemma"]),
                pc.invert(pc.match_substring(above["hypernym"], " ")),
            )
        )
        self.above: dict[str, dict[str, int]] = defaultdict(dict)
        for row in own.select(["noun", "hypernym", "distance"]).to_pylist():
            ups, word = self.above[row["noun"].lower()], row["hypernym"].lower()
            ups[word] = min(row["distance"], ups.get(word, row["distance"]))
        # Synsets by noun, and the next ones up with their words.
        self.synset: dict[str, str] = {}
        self.steps: dict[str, set[tuple[str, str]]] = defaultdict(set)
        direct = above.filter(pc.and_(pc.equal(above["distance"], 1), above["first_lemma"]))
        for row in direct.to_pylist():
            if row["sense"] == 1:
                self.synset[row["noun"].lower()] = row["noun_synset"]
            self.steps[row["noun_synset"]].add((row["hypernym_synset"], row["hypernym"].lower()))

    def base(self, noun: str) -> str:
        """The noun's base form, as morphy has it; empty where WordNet has none."""
        forms = wordnet.base_forms(noun, "n", self.exceptions)
        return next((form for form in forms if form in self.lemmas), "")

    def hypernyms(self, noun: str) -> Mapping[str, int]:
        """One-word hypernyms of the noun's first sense with their distances."""
        above = self.above.get(self.base(noun), {})
        return {word: distance for word, distance in above.items() if word != noun}

    def chain(self, noun: str) -> list[str] | None:
        """Three hypernyms step by step, all four words different; the first way by spelling."""
        base = self.base(noun)
        ways: list[tuple[str, list[str]]] = [(self.synset.get(base, ""), [])]
        for _ in range(3):
            ways = [(up, [*way, word]) for at, way in ways for up, word in self.steps[at]]
        found = [way for _, way in ways if len({base, *way}) == 4 and not any(map(_several, way))]
        return min(found, default=None)

    def is_chain(self, noun: str, *hypernyms: str) -> bool:
        """Whether the hypernyms are on one way up from the noun's first sense, step by step."""
        reached = {self.synset.get(self.base(noun), "")}
        for wanted in hypernyms:
            reached = {up for at in reached for up, word in self.steps[at] if word == wanted}
        return bool(reached)


def _several(word: str) -> bool:
    return " " in word


def published() -> dict[str, Any]:
    """The release's rows against our rules, its pairs against WordNet, its splits checked."""
    known = Known()
    found: dict[str, Any] = {"files": {}, "splits": {}}
    tables = {}
    for name in FILES:
        rows = read_rows(SHARED / "plane" / f"{name}.tsv.gz")
        tables[name] = rows
        right = 0
        for row in rows.to_pylist():
            inference = inference_type(row["sentence"], *(row[word] for word in WORDS))
            kind = row["adj_class"].replace("N", "S")
            right += inference is not None and label(kind, inference) == int(row["label"])
        pairs = set(zip(rows["noun"].to_pylist(), rows["hypernym"].to_pylist(), strict=True))
        distances = Counter(known.hypernyms(noun).get(up, 0) for noun, up in pairs)
        found["files"][name] = {
            "rows": rows.num_rows,
            "reproduced": right,
            "pairs": len(pairs),
            "found": len(pairs) - distances[0],
            "direct": distances[1],
        }
    for kind in ("ood", "one_it"):
        parts = [
            tables[f"{kind}_{part}_1"]
            .select(["sentence", "label", "adj_class", *WORDS])
            .append_column("part", pa.array([part] * tables[f"{kind}_{part}_1"].num_rows))
            for part in ("train", "test")
        ]
        identity = ["sentence", "label"]
        (fold,) = check(
            pa.concat_tables(parts), WORDS, label="label", identity=identity, alike=WORDS[1:]
        )
        found["splits"][kind] = _findings(fold)
    for part in ("train", "test"):
        found[f"chains_{part}"] = _chains(tables[f"one_it_{part}_1"], known)
    return found


def _findings(fold: Fold) -> dict[str, Any]:
    return {
        "parts": {
            part.name: {
                "rows": part.rows,
                "labels": dict(part.labels),
                "repeated": part.repeated,
                "distinct": dict(part.distinct),
                "told": dict(part.told),
            }
            for part in fold.parts
        },
        "shared": {column: count for (_, _, column), count in fold.shared.items()},
    }


def _chains(rows: pa.Table, known: Known) -> dict[str, Any]:
    """One-IT as chains: a noun and three hypernyms, each adjective in all six pairs of them.

    Counts the rows that this order of the file explains, the chains by weight, those chains that
    WordNet has, and the pairs that these give, which is what preset=paper builds them from.
    """
    words = list(zip(*(rows[c].to_pylist() for c in ("adj_class", *WORDS)), strict=True))
    weights: Counter[int] = Counter()
    explained, count = 0, 0
    last: tuple[str, ...] = ()
    chains: set[tuple[str, ...]] = set()
    for start in range(0, len(words), 6):
        six = words[start : start + 6]
        chain = (six[0][2], *(row[3] for row in six[:3]))
        pairs = [(chain[a], chain[b]) for a in range(4) for b in range(a + 1, 4)]
        explained += 6 * ([row[2:] for row in six] == pairs and len({row[:2] for row in six}) == 1)
        if six[0][0] == "I":
            if chain != last and count:
                weights[count] += 1
                count = 0
            last, count = chain, count + 1
            chains.add(chain)
    weights[count] += 1
    there = [chain for chain in chains if known.is_chain(*chain)]
    given = {(chain[a], chain[b]) for chain in there for a in range(4) for b in range(a + 1, 4)}
    return {
        "rows": len(words),
        "explained": explained,
        "weights": {str(weight): weights[weight] for weight in sorted(weights)},
        "chains": len(chains),
        "found": len(there),
        "pairs": len(given & {row[2:] for row in words}),
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
    kinds = [pa.string(), pa.list_(pa.int32()), pa.list_(pa.string()), pa.list_(pa.int32())]
    names = ["noun", "adjectives", "hypernyms", "distances", "chain"]
    schema = pa.schema(list(zip(names, [*kinds, pa.list_(pa.string())], strict=True)))
    return Pool.of(classes, pa.Table.from_pylist(rows, schema))


def splits() -> dict[str, Any]:
    """Splits of the published size from pairs of the published rows, and from generated ones."""
    from conf import UserError

    known = Known()
    classes = sorted(adjective_classes().items())
    own: dict[str, set[str]] = defaultdict(set)
    for name in FILES:
        rows = read_rows(SHARED / "plane" / f"{name}.tsv.gz")
        for noun, word in zip(rows["noun"].to_pylist(), rows["adjective"].to_pylist(), strict=True):
            own[noun].add(word)
    found: dict[str, Any] = {"published_pairs": {}, "generated": {}}
    alone = _pool(own, known)
    found["published_pairs"]["phrases"] = len(alone.phrases)
    for scheme in ("published", "strict"):
        # The largest training part, to the nearest hundred units, for which five folds are found.
        low, high = 0, 34
        while high - low > 1:
            middle = (low + high) // 2
            try:
                plan(alone, [scheme], Sizes(train_rows=1800 * middle), 0)
                low = middle
            except UserError:
                high = middle
        found["published_pairs"][scheme] = 1800 * low
    # The same nouns, met by adjectives as a large corpus has them: few frequent, most rare.
    draw = np.random.default_rng(0)
    shares = 1 / np.arange(1, len(classes) + 1) ** 0.8
    order = draw.permutation(len(classes))
    phrases: dict[str, set[str]] = {}
    for rank, noun in enumerate(sorted(own, key=lambda word: hashlib.md5(word.encode()).digest())):
        size = int(min(len(classes), 12 + 4000 / (rank + 8) ** 0.7))
        picked = order[draw.choice(len(classes), size, replace=False, p=shares / shares.sum())]
        phrases[noun] = {classes[place][0] for place in picked} | own[noun]
    pool = _pool(phrases, known)
    generated: dict[str, Any] = {"phrases": len(pool.phrases), "schemes": {}}
    fewer, chains = Sizes(one_it_train_rows=30_012), Sizes(chains=True)
    for name, sizes in (*((scheme, fewer) for scheme in SCHEMES), ("one_it, chains", chains)):
        scheme = name.partition(",")[0]
        started = time.perf_counter()
        chosen = plan(pool, [scheme], sizes, 0)
        seconds = time.perf_counter() - started
        generated["schemes"][name] = {"seconds": seconds, "folds": _checked(chosen, scheme)}
    found["generated"] = generated
    return found


def _checked(chosen: pa.Table, scheme: str) -> list[dict[str, Any]]:
    """The checker's findings for each fold, and the weights of the pairs."""
    types = (3,) if scheme == "one_it" else TYPES
    holds = [
        chosen.append_column("type", pa.array([t] * chosen.num_rows)).append_column(
            "label",
            pc.is_in(chosen["class"], pa.array([c for c in CLASSES if HOLDS[c][t - 1]])).cast(
                "int8"
            ),
        )
        for t in types
    ]
    folds = check(
        pa.concat_tables(holds), WORDS, label="label", identity=[*WORDS, "type"], alike=WORDS[1:]
    )
    rows = []
    for fold in folds:
        own = chosen.filter(
            pc.and_(pc.equal(chosen["fold"], fold.name), pc.equal(chosen["class"], "I"))
        )
        findings = _findings(fold)
        for part in findings["parts"]:
            mine = own.filter(pc.equal(own["part"], part)).group_by(["noun", "hypernym"])
            weights = Counter(mine.aggregate([([], "count_all")])["count_all"].to_pylist())
            findings["parts"][part]["once"] = weights[1] / max(1, weights.total())
        rows.append(findings)
    return rows


def _knowledge(root: str) -> None:
    """The tables of WordNet."""
    files = wordnet.find()
    for name, rows in (
        ("wordnet_lemmas", wordnet.lemmas(files)),
        ("wordnet_exceptions", wordnet.exceptions(files)),
        ("wordnet_hypernyms", wordnet.hypernyms(files)),
    ):
        arrow.append(root, name, rows, job="benchmark")


def real() -> dict[str, Any]:
    """Builds from the Wikipedia sample and UD EWT, with and without the rule of every class."""
    from etl import engine
    from etl.plane.job import build
    from etl.plane.settings import Settings

    folder = Path(tempfile.mkdtemp(prefix="plane-"))
    root = os.environ.get("PLANE_LAKE", "")
    try:
        if not root:
            root = str(folder / "lake")
            for source, files in (("conllu", "ud_ewt/*conllu*"), ("wikipedia", "wikipedia/*.bz2")):
                arguments = [f"source={source}", f"input={SHARED / files}", f"lake={root}"]
                measured([sys.executable, f"{ROOT}/etl/extract_amod.py", *arguments]).checked()
        if "wordnet_lemmas" not in arrow.tables(root):
            _knowledge(root)
        found: dict[str, Any] = {}
        for corpora in (["wikipedia"], ["conllu"], ["wikipedia", "conllu"]):
            corpus = ", ".join(corpora)
            pairs = arrow.read(root, "amod_pairs", where=[("corpus", "in", corpora)]).num_rows
            found[corpus] = {"pairs": pairs}
            for rule in (True, False):
                edition = f"bench_{'_'.join(corpora)}_{rule}"
                own = Settings(corpus=corpora, every_class=rule, edition=edition)
                own = replace(own, schemes=[], lake=root)
                started = time.perf_counter()
                build(own)
                seconds = time.perf_counter() - started
                found[corpus][str(rule).lower()] = _counted(root, edition) | {"seconds": seconds}
        engine.stop()
        return found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _counted(root: str, edition: str) -> dict[str, Any]:
    where = [("edition", "=", edition)]
    rows = arrow.read(root, "plane_items", where=where)
    counts = rows.group_by(["class", "inference_type"]).aggregate([([], "count_all")]).to_pylist()
    dropped = arrow.read(root, "dropped", where=[("job", "=", f"build_plane/{edition}")])
    measures = arrow.read(root, "plane_association", where=where)
    medians = {}
    for kind in CLASSES:
        own = measures.filter(pc.equal(measures["class"], kind))["pmi"]
        medians[kind] = pc.quantile(own, 0.5)[0].as_py() if len(own) else None
    return {
        "items": rows.num_rows,
        "sentences": pc.count_distinct(rows["sentence"]).as_py(),
        "words": {word: pc.count_distinct(rows[word]).as_py() for word in WORDS},
        "by": {f"{c['class']}{c['inference_type']}": c["count_all"] for c in counts},
        "dropped": {row["reason"]: row["count"] for row in dropped.to_pylist()},
        "pmi": medians,
    }


def _made(target: int, known: Known, most: int | None = None) -> tuple[list[str], Ids]:
    """Nouns and how many adjectives each meets, by Zipf's law, for about `target` items.

    `most` limits the nouns.
    """
    nouns = sorted(
        (noun for noun, up in known.above.items() if " " not in noun and 1 in up.values()),
        key=lambda noun: hashlib.md5(noun.encode()).digest(),
    )
    nouns = [noun for noun in nouns if noun in known.lemmas][:most]
    ups = np.array([len(known.above[noun]) for noun in nouns])
    direct = np.array([list(known.above[noun].values()).count(1) for noun in nouns])
    ranks = np.arange(1, len(nouns) + 1)
    intensional = sum(kind == "O" for _, kind in _classes()) / ADJECTIVES
    each = len(TYPES) * ((1 - intensional) * ups + intensional * direct)
    low, high = 0.0, 1e9
    for _ in range(60):
        middle = (low + high) / 2
        met = np.minimum(ADJECTIVES, np.ceil(middle / ranks**0.9)).astype(np.int64)
        low, high = (middle, high) if (met * each).sum() < target else (low, middle)
    return nouns, met


def _members(rank: int, met: int) -> Ids:
    """The adjectives of a noun, by number, all different: steps of a prime go round them once."""
    members: Ids = (rank * 7919 + np.arange(met) * 1999) % ADJECTIVES
    return members


def _classes() -> list[tuple[str, str]]:
    """The lexicon, and further adjectives in its proportions."""
    own = sorted(adjective_classes().items())
    return own + [(f"made{n:04}", own[n % len(own)][1]) for n in range(ADJECTIVES - len(own))]


def _write_pairs(root: str, nouns: list[str], met: Ids) -> int:
    names = pa.array([word for word, _ in _classes()])
    schema = table("amod_pairs").schema
    bounds = np.searchsorted(np.cumsum(met), np.arange(0, met.sum(), 2_000_000)[1:])
    for chunk in np.split(np.arange(len(nouns)), bounds):
        members = np.concatenate([_members(int(rank), int(met[rank])) for rank in chunk])
        owners = pa.array(nouns).take(pa.array(np.repeat(chunk, met[chunk])))
        columns = {
            "corpus": pa.array(["made"] * len(members)),
            "adjective": names.take(pa.array(members)),
            "noun": owners,
            "count": pa.array(1 + members % 5),
        }
        rows = pa.table([columns[name] for name in schema.names], schema=schema)
        arrow.append(root, "amod_pairs", rows, job="benchmark")
    return int(met.sum())


def plain(
    phrases: Iterable[tuple[str, str, str]],
    hypernyms: Callable[[str], Mapping[str, int]],
    edition: str,
) -> Iterator[tuple[Any, ...]]:
    """The items of phrases (adjective, class, noun), as a loop of Python would make them."""
    key = int.from_bytes(edition_key(edition))
    for adjective, kind, noun in phrases:
        premise = f"{adjective} {noun}"
        for hypernym, distance in hypernyms(noun).items():
            if kind == "O" and distance > 1:
                continue
            words = f"{adjective}\t{noun}\t{hypernym}"
            hashed = hashlib.sha256(words.encode()).digest()
            group = hashed[:16].hex()
            digest = f"{int.from_bytes(hashed[16:]) ^ key:032x}"[:-1]
            said = (noun, hypernym, f"{adjective} {hypernym}")
            for inference, holds in enumerate(HOLDS[kind]):
                yield (
                    f"{digest}{inference + 1}",
                    group,
                    adjective,
                    kind,
                    noun,
                    hypernym,
                    distance,
                    inference + 1,
                    premise,
                    said[inference],
                    int(holds),
                    f"A {premise} is a {said[inference]}",
                    edition,
                )


def _peer(nouns: list[str], met: Ids, known: Known, folder: Path) -> dict[str, Any]:
    """Items a CPU second of the plain loop and of the job's own block function, both in this
    process, alone and with Parquet written."""
    classes = _classes()
    chosen = range(len(nouns) // 4, len(nouns) // 4 + 2000)
    phrases = [
        (*classes[member], nouns[rank])
        for rank in chosen
        for member in _members(rank, int(met[rank])).tolist()
    ]
    # Nouns are looked up beforehand, once each, as the job does it.
    known_to = {nouns[rank]: known.hypernyms(nouns[rank]) for rank in chosen}
    above = known_to.__getitem__
    words = {noun: sorted(above(noun).items(), key=lambda up: up[::-1]) for noun in known_to}
    vocabulary = blocks.Vocabulary(
        pa.table({"noun": list(words), "hypernyms": list(words.values())}, schema=blocks.WORDS),
        distance=3,
        intensional_distance=1,
        text="paper",
        edition=EDITION,
    )
    columns = [*zip(*phrases, strict=True), [None] * len(phrases), [None] * len(phrases)]
    given = pa.table([pa.array(c, k) for c, k in zip(columns, blocks.PHRASES.types, strict=True)],
                     schema=blocks.PHRASES)  # fmt: skip
    make = blocks.maker(lambda: vocabulary)

    def batches() -> Iterator[pa.RecordBatch]:
        return iter(given.to_batches(max_chunksize=10_000))

    started = time.process_time()
    count = sum(1 for _ in plain(phrases, above, EDITION))
    alone = time.process_time() - started
    started = time.process_time()
    made = sum(part.num_rows for part in make(batches()))
    by_blocks = time.process_time() - started
    if made != count:
        raise RuntimeError(f"{made} items by blocks, {count} by the plain loop")
    started = time.process_time()
    sink = None
    for part in make(batches()):
        if sink is None:
            coded = [f.name for f in part.schema if pa.types.is_dictionary(f.type)]
            sink = pq.ParquetWriter(folder / "blocks.parquet", part.schema, use_dictionary=coded)
        sink.write_table(part)
    assert sink is not None
    sink.close()
    blocks_written = time.process_time() - started
    started = time.process_time()
    schema = table("plane_items").schema
    with pq.ParquetWriter(folder / "plain.parquet", schema) as writer:
        rows: list[tuple[Any, ...]] = []
        for row in plain(phrases, above, EDITION):
            rows.append(row)
            if len(rows) == 100_000:
                _flush(writer, rows, schema)
                rows = []
        _flush(writer, rows, schema)
    written = time.process_time() - started
    return {
        "items": count,
        "alone": count / alone,
        "written": count / written,
        "blocks": count / by_blocks,
        "blocks_written": count / blocks_written,
    }


def _flush(writer: pq.ParquetWriter, rows: list[tuple[Any, ...]], schema: pa.Schema) -> None:
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    arrays = [pa.array(c, field.type) for c, field in zip(columns, schema, strict=True)]
    writer.write_table(pa.table(arrays, schema=schema))


def _build(root: str, folder: Path, *further: str) -> tuple[Any, dict[str, float]]:
    """A build as a command: what it used, and after how many seconds each of its messages came."""
    settings = [f"lake={root}", f"edition={EDITION}", "preset=paper", "association=false"]
    settings += [f"classes={folder / 'classes.tsv'}", "every_class=false", *further]
    used = measured([sys.executable, f"{ROOT}/etl/build_plane.py", *settings]).checked()
    found = re.findall(r"\d\d:\d\d:\d\d (.+) after ([\d.]+) s$", used.errors, re.MULTILINE)
    return used, {re.sub(r"[\d,.]+ ?", "", what).strip(): float(at) for what, at in found}


def write_classes(file: Path) -> None:
    """The class of each adjective of generated pairs, as ``classes=`` takes it."""
    lines = "".join(f"{word}\t{kind}\n" for word, kind in _classes())
    text = f"# version: 1\n# source: made for measuring\nadjective\tclass\n{lines}"
    file.write_text(text, encoding="utf-8")


def write_lake(root: str, items: int) -> None:
    """WordNet's tables and pairs that give about so many items."""
    nouns, met = _made(items, Known())
    _knowledge(root)
    _write_pairs(root, nouns, met)


def scale() -> dict[str, Any]:
    """Large builds from generated pairs, the plain loop in the same run, splits from 2 M items."""
    sizes = [int(n) for n in os.environ.get("PLANE_ITEMS", "10000000,100000000").split(",")]
    known = Known()
    found: dict[str, Any] = {"builds": [], "cores": len(os.sched_getaffinity(0))}
    folder = Path(tempfile.mkdtemp(prefix="plane-"))
    write_classes(folder / "classes.tsv")
    try:
        for target in [2_000_000, *sizes]:
            root = str(folder / f"lake{target}")
            # The splits come from as many nouns as the paper has.
            nouns, met = _made(target, known, 7800 if target == 2_000_000 else None)
            _knowledge(root)
            phrases = _write_pairs(root, nouns, met)
            if target == 2_000_000:
                used, at = _build(root, folder, "schemes=published,strict,in_distribution,two_shot")
                begun, chosen = at["items to be built"], at["groups of splits chosen"]
                last = at["plane_splits written"] - at["plane_items written"]
                found["splits"] = {"choosing": chosen - begun, "writing": last, "wall": used.wall}
                found["splits"]["same"] = _same(root, nouns, met, known)
                continue
            load = os.getloadavg()[0]
            used, at = _build(root, folder, "schemes=[]")
            files = arrow.files(root, "plane_items")
            found["builds"].append(
                {
                    "items": sum(file.rows or 0 for file in files),
                    "phrases": phrases,
                    "wall": used.wall,
                    "cpu": used.cpu,
                    "bytes": sum(file.size for file in files),
                    "files": len(files),
                    "most_in_a_file": max(file.rows or 0 for file in files),
                    "load": load,
                }
            )
            found["plain"] = _peer(nouns, met, known, folder)
            shutil.rmtree(root)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return found


def _same(root: str, nouns: list[str], met: Ids, known: Known) -> bool:
    """Whether the table has of five nouns what the plain loop makes."""
    classes = _classes()
    chosen = {nouns[rank]: rank for rank in (0, 50, 500, 5000, len(nouns) - 1)}
    phrases = [
        (*classes[member], noun)
        for noun, rank in chosen.items()
        for member in _members(rank, int(met[rank])).tolist()
    ]
    where = [("noun", "in", list(chosen))]
    rows = arrow.read(root, "plane_items", where=where).to_pylist()
    return sorted(tuple(row.values()) for row in rows) == sorted(
        plain(phrases, known.hypernyms, EDITION)
    )


def page(kept: dict[str, Any]) -> str:
    """The section of the page, of the parts that have been recorded."""
    lines = ["## PLANE: phrase-level adjective–noun entailment", ""]
    for name, write in (
        ("published", _published_lines),
        ("splits", _splits_lines),
        ("real", _real_lines),
        ("scale", _scale_lines),
    ):
        if name in kept:
            lines += [*write(kept[name]), ""]
    return "\n".join(lines)


def _published_lines(own: dict[str, Any]) -> list[str]:
    rows: list[tuple[object, ...]] = [
        (
            "published file",
            "rows",
            "reproduced",
            "pairs",
            "by a noun's first synset",
            "by chains",
            "direct hypernyms",
        )
    ]
    for name, file in own["files"].items():
        chained = own.get(f"chains_{name.split('_')[-2]}") if name.startswith("one_it") else None
        counts = (file["found"], chained["pairs"] if chained else None, file["direct"])
        shares = ["-" if n is None else f"{100 * n / file['pairs']:.1f} %" for n in counts]
        reproduced = f"{100 * file['reproduced'] / file['rows']:.1f} %"
        rows.append((name, file["rows"], reproduced, file["pairs"], *shares))
    lines = [results.table(rows), ""]
    parts: list[tuple[object, ...]] = [
        ("published split", "rows", "true", "repeated", *WORDS, "told by noun", "by hypernym")
    ]
    for kind, fold in own["splits"].items():
        for name, part in fold["parts"].items():
            told = [f"{100 * part['told'][word]:.1f} %" for word in WORDS[1:]]
            distinct = [part["distinct"][word] for word in WORDS]
            row = (part["rows"], part["labels"]["1"], part["repeated"])
            parts.append((f"{kind} {name}", *row, *distinct, *told))
    shared = "; ".join(
        f"{kind}: " + _shared(fold["shared"]) for kind, fold in own["splits"].items()
    )
    chains = " and ".join(
        f"{c['explained']:,} of {c['rows']:,} rows ({part}; chains by weight: "
        + ", ".join(f"{c['weights'][w]} of {w}" for w in sorted(c["weights"], key=int))
        + f"; {c['found']} of {c['chains']} in WordNet)"
        for part in ("train", "test")
        for c in [own[f"chains_{part}"]]
    )
    least = 100 * min(
        own[f"chains_{part}"]["pairs"] / own["files"][f"one_it_{part}_1"]["pairs"]
        for part in ("train", "test")
    )
    return [
        *lines,
        "By chains: pairs of a noun with three hypernyms above its first sense, or of two of these "
        "hypernyms, as preset=paper builds One-IT; WordNet has at least "
        f"{least:.1f} % of a file's ({results.verdict(least, 88)}: at least 88 %).",
        "",
        results.table(parts),
        "",
        f"In both parts: {shared}. One-IT as chains of a noun and three hypernyms, each "
        f"adjective in all six pairs: {chains}.",
    ]


def _shared(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{counts[word]} {word}s" for word in WORDS if word in counts)


def _splits_lines(own: dict[str, Any]) -> list[str]:
    rows: list[tuple[object, ...]] = [
        ("scheme", "folds", "seconds", "train", "test", "repeated", "in both", "weight 1")
    ]
    for scheme, made in own["generated"]["schemes"].items():
        folds = made["folds"]
        parts = [fold["parts"] for fold in folds]
        shared: Counter[str] = Counter()
        for fold in folds:
            shared.update(fold["shared"])
        listed = _shared(shared)
        once = [part["once"] for fold in parts for part in fold.values()]
        rows.append(
            (
                scheme,
                len(folds),
                f"{made['seconds']:.1f}",
                parts[0].get("train", {}).get("rows", "-"),
                parts[0]["test"]["rows"],
                sum(part["repeated"] for fold in parts for part in fold.values()),
                listed or "-",
                f"{100 * min(once):.0f} to {100 * max(once):.0f} %",
            )
        )
    alone = own["published_pairs"]
    balanced = all(
        2 * part["labels"].get("1", 0) == part["rows"]
        for scheme, made in own["generated"]["schemes"].items()
        if scheme != "two_shot"
        for fold in made["folds"]
        for part in fold["parts"].values()
    )
    return [
        f"Splits from {own['generated']['phrases']:,} phrases: the published rows' own, and "
        "generated ones of their nouns by Zipf's law. Words in both parts are summed over folds; "
        f"labels half and half in every part: {'yes' if balanced else 'no'}.",
        "",
        results.table(rows),
        "",
        f"From the {alone['phrases']:,} phrases of the published rows alone five folds have up to "
        f"{alone['published']:,} training rows (strict: {alone['strict']:,}) beside 2,016 test "
        "rows: the files hold what one division of the adjectives left; others find less there.",
    ]


def _real_lines(own: dict[str, Any]) -> list[str]:
    kinds = [f"{kind}{inference}" for kind in CLASSES for inference in TYPES]
    rows: list[tuple[object, ...]] = [
        ("corpus", "pairs", "every class", "items", "sentences", "nouns", *kinds, "s")
    ]
    for corpus, found in own.items():
        for rule, name in (("true", "yes"), ("false", "no")):
            made = found[rule]
            counts = [made["by"].get(kind, 0) for kind in kinds]
            row = (made["items"], made["sentences"], made["words"]["noun"], *counts)
            rows.append((corpus, found["pairs"], name, *row, f"{made['seconds']:.0f}"))
    (largest,) = [found for corpus, found in own.items() if "," in corpus]
    dropped = ", ".join(f"{reason} {n:,}" for reason, n in largest["true"]["dropped"].items())
    medians = ", ".join(f"{kind} {value:.1f}" for kind, value in largest["false"]["pmi"].items())
    return [
        "Builds from real pairs, `min_count=1`, items by class and inference type:",
        "",
        results.table(rows),
        "",
        f"Left out of both corpora together: {dropped}. Median PMI of the phrases by class, "
        f"without the rule of every class: {medians} bits.",
    ]


def _scale_lines(own: dict[str, Any]) -> list[str]:
    cores = own["cores"]
    rows: list[tuple[object, ...]] = [
        ("items", "phrases", "s", "CPU s", "items/s", "items/s a core", "bytes an item", "load")
    ]
    rows += [
        (
            f"{made['items']:,}",
            f"{made['phrases']:,}",
            f"{made['wall']:.0f}",
            f"{made['cpu']:.0f}",
            f"{made['items'] / made['wall']:,.0f}",
            f"{made['items'] / made['cpu']:,.0f}",
            f"{made['bytes'] / made['items']:.0f}",
            f"{made['load']:.1f}",
        )
        for made in own["builds"]
    ]
    last, peer = own["builds"][-1], own["plain"]
    ratio = last["items"] / last["cpu"] / peer["written"]
    lines = [
        f"Builds of generated pairs by {cores} cores, from the start of Spark to the table:",
        "",
        results.table(rows),
        "",
        f"A CPU second of a plain loop of Python makes {peer['alone']:,.0f} of the same items, "
        f"{peer['written']:,.0f} with Parquet written; of the job's block function "
        f"{peer['blocks']:,.0f} ({peer['blocks'] / peer['alone']:.1f} times as many) and "
        f"{peer['blocks_written']:,.0f} ({peer['blocks_written'] / peer['written']:.1f}). Of the "
        "whole build, Spark's start and its reading, counting and sorting of phrases included, "
        f"it makes {ratio:.1f} times as many as the loop with Parquet "
        f"({results.verdict(ratio, 5)}: at least 5).",
    ]
    if len(own["builds"]) > 1:
        first = own["builds"][-2]
        times = last["wall"] / first["wall"]
        size = last["items"] / first["items"]
        lines[-1] += (
            f" {size:.1f} times the items take {times:.1f} times as long "
            f"({results.verdict(times, 11, at_least=False)}: at most 11) and "
            f"{last['cpu'] / first['cpu']:.1f} times the CPU; each further CPU second makes "
            f"{(last['items'] - first['items']) / (last['cpu'] - first['cpu']):,.0f} items."
        )
    parts = own["splits"]
    seconds = parts["choosing"] + parts["writing"]
    lines[-1] += (
        f" Splits from 2 million items, five folds of three schemes and two_shot: {seconds:.0f} s "
        f"({results.verdict(seconds, 60, at_least=False)}: at most 60). The items of five nouns "
        f"are those of the plain loop, ids included: {'yes' if parts['same'] else 'no'}."
    )
    return lines


PARTS = {"published": published, "splits": splits, "real": real, "scale": scale}


def main(names: list[str]) -> None:
    """Run the parts named, or all, record their figures and write the page."""
    for name in names or PARTS:
        found = PARTS[name]()
        results.record(KEY, results.recorded().get(KEY, {}) | {name: found})
    text = page(results.recorded()[KEY])
    results.write_section(KEY, text, packages=["pyspark", "numpy", "pyarrow"])


if __name__ == "__main__":
    main(sys.argv[1:])
