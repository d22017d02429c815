"""SyGNS in the layout of the release: one TSV file for each depth.

Columns id, depth, sentence, fol, folpol, vf, vfpol, tags, drs. Polarity of formulas is a list of
pairs, ``[('two', 1), ('swim', 0)]`` (1 is upward), that of variable-free formulas
``[[lion,pos],[swim,neg]]``; tags list every phenomenon with yes or no. `etl.published.sygns` reads
the files back. Ids are numbers within the export; the layout has no column for the tables' ids.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TextIO

from adnominal.etl.lake import arrow
from adnominal.etl.sygns.grammar import TAGS

COLUMNS = ("id", "depth", "sentence", "fol", "folpol", "vf", "vfpol", "tags", "drs")


def line(number: int, row: Mapping[str, Any]) -> str:
    """A row of the table sygns as a line.

    Raises:
        ValueError: a value with a tab or line break, which the layout cannot represent.
    """
    pairs: Sequence[Mapping[str, str]] = row["polarity_fol"]
    words: Sequence[Mapping[str, str]] = row["polarity_vf"]
    signs = [(word["word"], int(word["direction"] == "up")) for word in pairs]
    poles = [f"[{w['word']},{'pos' if w['direction'] == 'up' else 'neg'}]" for w in words]
    tags = [f"{tag}:{'yes' if tag in row['phenomena'] else 'no'}" for tag in TAGS]
    cells = (
        str(number),
        str(row["depth"]),
        row["sentence"],
        row["fol"],
        repr(signs),
        row["vf"],
        f"[{','.join(poles)}]",
        ";".join(tags),
        row["drs"],
    )
    if any("\t" in cell or "\n" in cell for cell in cells):
        raise ValueError(f"{row['sentence']!r} has a tab or a line break in it")
    return "\t".join(cells) + "\n"


def write(out: Path, lake: str, edition: str) -> dict[str, int]:
    """Stream ``depth_N.tsv`` for each depth, in table order; return the number of rows by file."""
    files: dict[str, TextIO] = {}
    rows: Counter[str] = Counter()
    columns = ["depth", "sentence", "fol", "polarity_fol", "vf", "polarity_vf", "phenomena", "drs"]
    where = [("edition", "=", edition)]
    with ExitStack() as stack:
        for batch in arrow.batches(lake, "sygns", where=where, columns=columns):
            for row in batch.to_pylist():
                name = f"depth_{row['depth']}.tsv"
                if name not in files:
                    file = (out / name).open("w", encoding="utf-8", newline="")
                    files[name] = stack.enter_context(file)
                    files[name].write("\t".join(COLUMNS) + "\n")
                files[name].write(line(rows.total() + 1, row))
                rows[name] += 1
    return dict(rows)
