"""The kept answers of long runs, and the figures beside them."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks import kept_answers
from benchmarks.papers import experiments
from benchmarks.results import figures_of, recorded_entries


def test_the_answers_and_figures_of_each_seed_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_answers, "FOLDER", tmp_path / "kept")
    run = tmp_path / "out" / "run"
    run.mkdir(parents=True)
    (run / "result.json").write_text(json.dumps({"seed": 3, "figures": {"val/accuracy": 0.5}}))
    rows = {"item_id": ["a"], "gold": ["f(x)"], "text": ["f(y)"], "run_id": ["1"]}
    pq.write_table(pa.table(rows), run / "predictions.parquet")
    kept_answers.keep("name", tmp_path / "out")
    del rows["run_id"]
    assert pq.read_table(tmp_path / "kept" / "name-3.parquet").to_pydict() == rows
    assert json.loads((tmp_path / "kept" / "name-3.json").read_text()) == {"val/accuracy": 0.5}


@pytest.mark.parametrize("path", sorted(kept_answers.FOLDER.glob("*.json")), ids=lambda p: p.stem)
def test_the_recorded_scores_are_those_of_the_kept_figures(path):
    name, _, seed = path.stem.rpartition("-")
    figures = json.loads(path.read_text(encoding="utf-8"))
    scores = figures_of(recorded_entries()["papers"])[name]["scores"]
    place = experiments()[name].seeds.index(seed)
    for score, metric in experiments()[name].scores.items():
        assert figures[metric.removeprefix("final/")] == pytest.approx(scores[score][place])
    answers = pq.read_table(path.with_suffix(".parquet"))
    assert answers.num_rows > 0 and answers.column_names == kept_answers.COLUMNS
