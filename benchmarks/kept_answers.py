"""Answers and figures of long runs, kept in benchmarks/runs: training again takes hours."""

import json
from pathlib import Path

import pyarrow.parquet as pq

FOLDER = Path(__file__).with_name("runs")
COLUMNS = ["item_id", "gold", "text"]


def keep(name: str, out: Path) -> None:
    """Keep what the finished runs of an experiment, below the folder `out`, have answered.

    A run of seed 0 is in ``NAME-0.parquet``, and its figures are in ``NAME-0.json``.
    """
    FOLDER.mkdir(exist_ok=True)
    for result_file in sorted(out.glob("*/result.json")):
        result = json.loads(result_file.read_text(encoding="utf-8"))
        kept = FOLDER / f"{name}-{result['seed']}"
        answers = pq.read_table(result_file.with_name("predictions.parquet"), columns=COLUMNS)
        path = kept.with_suffix(".parquet")
        # Hardly a value occurs twice: a dictionary would only lengthen the file.
        pq.write_table(
            answers, path, use_dictionary=False, compression="zstd", compression_level=19
        )
        figures = json.dumps(result["figures"], indent=1)
        kept.with_suffix(".json").write_text(f"{figures}\n", encoding="utf-8")
