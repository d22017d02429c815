"""Count the pairs of DepCC parts as a polars user would.

    python -m benchmarks.polars_script PART.gz … OUT.parquet

A peer of the extraction job, from the start of its process to a file of counts.
"""

import sys
from typing import Any

ADJECTIVES = ("JJ", "JJR", "JJS")
NOUNS = ("NN", "NNS")
COLUMNS = ("id", "form", "lemma", "xpos", "xpos2", "feats", "head", "deprel", "deps", "ner")


def counted(parts: str | list[str]) -> Any:
    """The pairs with their counts, as a lazy frame for the streaming engine.

    Slower: the in-memory engine, `scan_lines` with splitting in expressions, and prior
    decompression by isal.
    """
    import polars as pl

    rows = pl.scan_csv(
        parts,
        separator="\t",
        has_header=False,
        quote_char=None,
        schema=dict.fromkeys(COLUMNS, pl.String),
        missing_columns="insert",  # comments have one column
    ).with_columns(pl.col("id").str.starts_with("# sent_id").cum_sum().alias("sentence"))
    adjectives = rows.filter(
        (pl.col("deprel") == "amod") & pl.col("xpos").is_in(list(ADJECTIVES))
    ).select("sentence", "head", adjective=pl.col("form").str.to_lowercase())
    nouns = rows.filter(pl.col("xpos").is_in(list(NOUNS))).select(
        "sentence", "id", noun=pl.col("lemma").str.to_lowercase()
    )
    joined = adjectives.join(nouns, left_on=["sentence", "head"], right_on=["sentence", "id"])
    return joined.group_by("adjective", "noun").len("count")


def count(part: str) -> Any:
    """The counts of one part, as an Arrow table."""
    return counted(part).collect(engine="streaming").to_arrow()


if __name__ == "__main__":
    *files, out = sys.argv[1:]
    counted(files).collect(engine="streaming").write_parquet(out)
