"""Tiny parsed corpora for tests, and the tables of a lake as plain rows."""

import gzip
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from adnominal.conf import load
from adnominal.etl.amod.job import Extraction
from adnominal.etl.amod.reading import with_parser
from adnominal.etl.amod.settings import Settings
from adnominal.etl.corpora.inputs import list_inputs
from adnominal.etl.engine import running
from adnominal.etl.lake import arrow

TABLES = (
    "amod_files",
    "amod_counts",
    "amod_pairs",
    "amod_association",
    "amod_by_adjective",
    "amod_examples",
    "amod_seen",
    "sentences",
    "dropped",
)


def depcc_sentence(adjective: str, noun: str, tag: str = "JJ") -> str:
    """The sentence ``the ADJECTIVE NOUN shines`` in the layout of DepCC."""
    rows = [
        (0, "the", "the", "DT", 2, "det"),
        (1, adjective, adjective.lower(), tag, 2, "amod"),
        (2, noun, noun.lower(), "NN", 3, "nsubj"),
        (3, "shines", "shine", "VBZ", 3, "ROOT"),
    ]
    text = " ".join(row[1] for row in rows)
    lines = [
        f"{i}\t{form}\t{lemma}\t{pos}\t{pos}\t\t{head}\t{relation}\t{head}:{relation}\tO"
        for i, form, lemma, pos, head, relation in rows
    ]
    return "\n".join([f"# text = {text}", *lines]) + "\n\n"


def depcc_part(pairs: Iterable[tuple[str, ...]], document: str = "http://example.org/1") -> bytes:
    """A DepCC part of one document with a sentence for each pair."""
    head = f"# parser = test\n\n# newdoc\turl = {document}\ts3 = s3://example\n"
    return (head + "".join(depcc_sentence(*pair) for pair in pairs)).encode()


def write_part(path: Path, pairs: Iterable[tuple[str, ...]], document: str = "") -> Path:
    """Write a compressed `depcc_part` with a fixed modification time; its path."""
    data = depcc_part(pairs, document or f"http://example.org/{path.stem}")
    path.write_bytes(gzip.compress(data))
    os.utime(path, (1_700_000_000, 1_700_000_000))
    return path


def run_job(lake: Path, *words: str) -> None:
    """Run the extraction, as the command line would."""
    settings = load(Settings, [f"lake={lake}", *words])
    files = list_inputs(settings.input)
    Extraction(running(), with_parser(settings, files)).run(files)


def contents(lake: Path | str, tables: Sequence[str] = TABLES) -> dict[str, list[Any]]:
    """The sorted rows of each of the tables that is in the lake."""
    by_table = {}
    for name in arrow.tables(str(lake)):
        if name in tables:
            table = arrow.read(str(lake), name)
            by_table[name] = sorted(map(repr, table.select(sorted(table.column_names)).to_pylist()))
    return by_table
