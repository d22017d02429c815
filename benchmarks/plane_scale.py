"""Large builds of PLANE from generated pairs, and a Python loop that makes the same items."""

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from adnominal.etl.lake import arrow
from adnominal.etl.lake.schema import batch_of
from adnominal.etl.lake.tables import table
from adnominal.etl.plane import blocks
from adnominal.etl.plane.rules import HOLDS, edition_key
from benchmarks.plane_generator import (
    Ids,
    Known,
    classes,
    members_of,
    write_classes,
    write_lake,
)
from benchmarks.processes import Usage, all_cores, timed, usage_of
from benchmarks.results import Figures

EDITION = "large"
FOR_SPLITS = 2_000_000
NOUNS_FOR_SPLITS = 7800  # the paper's number


def plain(
    phrases: Iterable[tuple[str, str, str]],
    hypernyms: Callable[[str], Mapping[str, int]],
    edition: str,
) -> Iterator[tuple[Any, ...]]:
    """The items of phrases (adjective, class, noun), made by a Python loop."""
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
            hypotheses = (noun, hypernym, f"{adjective} {hypernym}")
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
                    hypotheses[inference],
                    int(holds),
                    f"A {premise} is a {hypotheses[inference]}",
                    edition,
                )


def phrases_of(ranks: Iterable[int], nouns: list[str], met: Ids) -> list[tuple[str, str, str]]:
    """The phrases (adjective, class, noun) of the nouns with these ranks."""
    known = classes()
    return [
        (*known[member], nouns[rank])
        for rank in ranks
        for member in members_of(rank, int(met[rank])).tolist()
    ]


def peers(nouns: list[str], met: Ids, known: Known, folder: Path) -> Figures:
    """Items per CPU second of the plain loop and of the job's block function, both in this process,
    with and without writing Parquet."""
    ranks = range(len(nouns) // 4, len(nouns) // 4 + 2000)
    phrases = phrases_of(ranks, nouns, met)
    # Nouns are looked up beforehand, once each, as in the job.
    above = {nouns[rank]: known.hypernyms(nouns[rank]) for rank in ranks}.__getitem__
    block_batches = _block_maker(phrases, {nouns[rank]: above(nouns[rank]) for rank in ranks})
    with timed() as alone:
        count = sum(1 for _ in plain(phrases, above, EDITION))
    with timed(subject=True) as by_blocks:
        rows = sum(part.num_rows for part in block_batches())
    if rows != count:
        raise AssertionError(f"{rows} items by blocks, {count} by the plain loop")
    with timed(subject=True) as blocks_written:
        batches = block_batches()
        first = next(batches)
        coded = [f.name for f in first.schema if pa.types.is_dictionary(f.type)]
        path = folder / "blocks.parquet"
        with pq.ParquetWriter(path, first.schema, use_dictionary=coded) as sink:
            for part in chain([first], batches):
                sink.write_table(part)
    with timed() as written:
        _write_plain(folder / "plain.parquet", plain(phrases, above, EDITION))
    times = {"alone": alone, "written": written, "blocks": by_blocks}
    times["blocks_written"] = blocks_written
    return {"items": count, **{name: count / timing.cpu for name, timing in times.items()}}


def _block_maker(
    phrases: list[tuple[str, str, str]], above: Mapping[str, Mapping[str, int]]
) -> Callable[[], Iterator[Any]]:
    """A function that makes the items of the phrases with the job's block function."""
    words = {noun: sorted(ups.items(), key=lambda up: up[::-1]) for noun, ups in above.items()}
    vocabulary = blocks.Vocabulary(
        pa.table({"noun": list(words), "hypernyms": list(words.values())}, schema=blocks.WORDS),
        distance=3,
        intensional_distance=1,
        text="paper",
        edition=EDITION,
    )
    batch = batch_of([(*phrase, None, None) for phrase in phrases], blocks.PHRASES)
    rows = pa.Table.from_batches([batch])
    make = blocks.maker(lambda: vocabulary)
    return lambda: make(iter(rows.to_batches(max_chunksize=10_000)))


def _write_plain(path: Path, items: Iterator[tuple[Any, ...]]) -> None:
    schema = table("plane_items").schema
    with pq.ParquetWriter(path, schema) as writer:
        while rows := list(islice(items, 100_000)):
            writer.write_batch(batch_of(rows, schema))


def build(root: str, folder: Path, *further: str) -> tuple[Usage, dict[str, float]]:
    """Run a build as a command: what it used, and the time of each message in seconds."""
    settings = [f"lake={root}", f"edition={EDITION}", "preset=paper", "association=false"]
    # chains=true only affects one_it, which is not among the schemes.
    settings += [f"classes={folder / 'classes.tsv'}", "every_class=false", "chains=false", *further]
    usage = usage_of("etl/build_plane.py", *settings)
    lines = re.findall(r"\d\d:\d\d:\d\d (.+) after ([\d.]+) s$", usage.errors, re.MULTILINE)
    return usage, {re.sub(r"[\d,.]+ ?", "", text).strip(): float(at) for text, at in lines}


def scale(sizes: Sequence[int]) -> Figures:
    """Large builds from generated pairs, the plain loop in the same run, splits from 2 M items."""
    known = Known()
    figures: Figures = {"builds": [], "cores": len(all_cores())}
    with tempfile.TemporaryDirectory(prefix="plane-") as name:
        folder = Path(name)
        write_classes(folder / "classes.tsv")
        root = str(folder / "lake-splits")
        nouns, met = write_lake(root, FOR_SPLITS, known, NOUNS_FOR_SPLITS)
        usage, at = build(root, folder, "schemes=published,strict,in_distribution,two_shot")
        figures["splits"] = {
            "choosing": at["groups of splits chosen"] - at["items to be built"],
            "writing": at["plane_splits: rows"] - at["plane_items: rows"],
            "wall": usage.wall,
            "same": same_items(root, nouns, met, known),
        }
        for target in sizes:
            root = str(folder / f"lake-{target}")
            nouns, met = write_lake(root, target, known)
            load = os.getloadavg()[0]
            usage, _ = build(root, folder, "schemes=[]")
            files = arrow.files(root, "plane_items")
            rows = [file.rows or 0 for file in files]
            figures["builds"].append(
                {
                    "items": sum(rows),
                    "phrases": int(met.sum()),
                    "wall": usage.wall,
                    "cpu": usage.cpu,
                    "bytes": sum(file.size for file in files),
                    "files": len(files),
                    "most_in_a_file": max(rows),
                    "load": load,
                }
            )
            figures["plain"] = peers(nouns, met, known, folder)
            shutil.rmtree(root)
    return figures


def same_items(root: str, nouns: list[str], met: Ids, known: Known) -> bool:
    """Whether the table has the items of the plain loop for five nouns."""
    ranks = (0, 50, 500, 5000, len(nouns) - 1)
    where = [("noun", "in", [nouns[rank] for rank in ranks])]
    rows = arrow.read(root, "plane_items", where=where).to_pylist()
    expected = plain(phrases_of(ranks, nouns, met), known.hypernyms, EDITION)
    return sorted(tuple(row.values()) for row in rows) == sorted(expected)
