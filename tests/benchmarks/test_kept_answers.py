"""The kept answers of long runs, and the figures beside them."""

import json

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from benchmarks import kept_answers
from benchmarks.papers import experiments
from benchmarks.results import figures_of, recorded_entries


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_answers, "FOLDER", tmp_path / "kept")
    return tmp_path / "kept"


def finished_run(out, seed: int, texts: dict[str, str]):
    """The files of a run that answered `texts`, by item; the gold answer of item a is ``f(a)``."""
    run = out / f"run-{seed}"
    run.mkdir(parents=True)
    (run / "result.json").write_text(json.dumps({"seed": seed, "figures": {"val/accuracy": 0.5}}))
    items = list(texts)
    rows = {
        "item_id": items,
        "gold": [f"f({item})" for item in items],
        "text": list(texts.values()),
        "run_id": ["1"] * len(items),
    }
    pq.write_table(pa.table(rows), run / "predictions.parquet")


def test_the_answers_and_figures_of_each_seed_are_kept(tmp_path, folder):
    finished_run(tmp_path / "out", 3, {"b": "f(b)", "a": "f(y)"})
    kept_answers.keep("name", tmp_path / "out")
    kept = kept_answers.read("name-3").to_pydict()
    assert kept == {"item_id": ["a", "b"], "gold": ["f(a)", "f(b)"], "text": ["f(y)", "f(b)"]}
    assert json.loads((folder / "name-3.json").read_text()) == {"val/accuracy": 0.5}


def test_gold_answers_are_kept_once_for_all_runs_on_the_same_items(tmp_path, folder):
    finished_run(tmp_path / "out", 0, {"a": "f(a)", "b": "f(b)"})
    finished_run(tmp_path / "out", 1, {"b": "f(y)", "a": "f(z)"})
    finished_run(tmp_path / "out", 2, {"a": "f(a)", "c": "f(c)"})
    kept_answers.keep("name", tmp_path / "out")
    assert len(list(folder.glob("gold-*.parquet"))) == 2
    assert kept_answers.read("name-1")["text"].to_pylist() == ["f(z)", "f(y)"]
    assert kept_answers.read("name-2")["gold"].to_pylist() == ["f(a)", "f(c)"]


@pytest.mark.parametrize("path", sorted(kept_answers.FOLDER.glob("*.json")), ids=lambda p: p.stem)
def test_the_recorded_scores_are_those_of_the_kept_figures(path):
    name, _, seed = path.stem.rpartition("-")
    figures = json.loads(path.read_text(encoding="utf-8"))
    scores = figures_of(recorded_entries()["papers"])[name]["scores"]
    place = experiments()[name].seeds.index(seed)
    for score, metric in experiments()[name].scores.items():
        assert figures[metric.removeprefix("final/")] == pytest.approx(scores[score][place])
    answers = kept_answers.read(path.stem)
    right = pc.mean(pc.equal(answers["gold"], answers["text"])).as_py()
    # The answers are those of the test part and of the validation part together.
    assert figures["test/accuracy"] < right < figures["val/accuracy"]
