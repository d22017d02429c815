"""Made-up texts in the file format of web corpora, and the demo's English at any length."""

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from adnominal.conf import ROOT
from benchmarks.synthetic_depcc import made_up_words


def vocabulary(rng: np.random.Generator, size: int) -> list[str]:
    """Distinct made-up words, with shorter frequent ones."""
    return list(dict.fromkeys(made_up_words(rng, size)))


def documents(megabytes: float, seed: int = 0) -> Iterator[str]:
    """Texts of about 4 kB: Zipf's words, sentences with commas, one paragraph per line."""
    rng = np.random.default_rng(seed)
    words = np.array(vocabulary(rng, 60_000), dtype=object)
    weights = 1 / np.arange(2, len(words) + 2)
    weights /= weights.sum()
    left = int(megabytes * 1e6)
    while left > 0:
        rows_of_words = rng.choice(words, p=weights, size=(5000, 9)).tolist()
        for at in range(0, len(rows_of_words), 60):
            if left <= 0:
                return
            lines = []
            for number, row in enumerate(rows_of_words[at : at + 60]):
                row[number % 8 :: 5] = [word + "," for word in row[number % 8 :: 5]]
                lines.append(" ".join(row).capitalize() + ("’s.\n" if number % 7 == 6 else "."))
            text = " ".join(lines)
            left -= len(text.encode())
            yield text


def write_texts(path: Path, megabytes: float) -> None:
    """Write a Parquet file like those of web corpora: text, id, URL, and unused columns."""
    rows = list(documents(megabytes))
    count = len(rows)
    columns = {
        "text": rows,
        "id": [f"<urn:uuid:{number:032x}>" for number in range(count)],
        "url": [f"http://example.org/{number}" for number in range(count)],
        "token_count": list(range(count)),
    }
    pq.write_table(pa.table(columns), path, row_group_size=1000, compression="zstd")


def write_copies(source: Path, target: Path, copies: int) -> None:
    """Write the row groups of a Parquet file several times."""
    file = pq.ParquetFile(source)
    with pq.ParquetWriter(target, file.schema_arrow, compression="zstd") as writer:
        for group in (*range(file.num_row_groups),) * copies:
            writer.write_table(file.read_row_group(group))


def write_english(path: Path, megabytes: float) -> None:
    """Write the demo's articles repeatedly, for a parser, with a number in each."""
    text = (ROOT / "conf" / "demo" / "depcc_sentences.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    rows, chance = [], random.Random(0)
    size = 0
    while size < megabytes * 1e6:
        rows.append(" ".join(chance.choices(lines, k=30)))
        size += len(rows[-1])
    pq.write_table(pa.table({"text": rows}), path, row_group_size=100, compression="zstd")
