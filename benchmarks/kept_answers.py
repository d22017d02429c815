"""Answers and figures of long runs, kept in benchmarks/runs: training again takes hours."""

import hashlib
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = Path(__file__).with_name("runs")
GOLD = ["item_id", "gold"]


def keep(name: str, out: Path) -> None:
    """Keep what the finished runs of an experiment, below the folder `out`, have answered.

    The answers of a run of seed 0 are the column `text` of ``NAME-0.parquet``, and its figures are
    in ``NAME-0.json``. Runs that were tested on the same items share the file of their gold
    answers, which the metadata of the answers name (`read` joins the two).
    """
    FOLDER.mkdir(exist_ok=True)
    for result_file in sorted(out.glob("*/result.json")):
        result = json.loads(result_file.read_text(encoding="utf-8"))
        answers = pq.read_table(
            result_file.with_name("predictions.parquet"), columns=[*GOLD, "text"]
        )
        keep_answers(f"{name}-{result['seed']}", answers)
        figures = json.dumps(result["figures"], indent=1)
        path = FOLDER / f"{name}-{result['seed']}.json"
        path.write_text(f"{figures}\n", encoding="utf-8")


def keep_answers(run: str, answers: pa.Table) -> None:
    """Write the answers of a run, a row an item, and their gold answers where no other run has."""
    # Similar answers, side by side, compress to two thirds of what they take by item.
    answers = answers.sort_by([("gold", "ascending"), ("item_id", "ascending")])
    gold = answers.select(GOLD)
    listed = json.dumps(gold.to_pydict())
    digest = hashlib.sha256(listed.encode()).hexdigest()
    gold_file = FOLDER / f"gold-{digest[:12]}.parquet"
    if not gold_file.exists():
        _write(gold, gold_file)
    texts = answers.select(["text"]).replace_schema_metadata({"gold": gold_file.name})
    _write(texts, FOLDER / f"{run}.parquet")


def read(run: str) -> pa.Table:
    """The kept answers of a run, such as ``sygns-one-vf-gru-2``: item_id, gold and text."""
    answers = pq.read_table(FOLDER / f"{run}.parquet")
    gold = pq.read_table(FOLDER / answers.schema.metadata[b"gold"].decode())
    return gold.append_column("text", answers["text"])


def _write(table: pa.Table, path: Path) -> None:
    # Hardly a value occurs twice: a dictionary would only lengthen the file.
    pq.write_table(table, path, use_dictionary=False, compression="zstd", compression_level=19)
