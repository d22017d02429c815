"""The rows and the page of the training benchmark; tests/training tests what it measures."""

from benchmarks import train
from benchmarks.harness import page


def test_rows_have_the_requested_number_and_length(monkeypatch, tmp_path):
    # A folder without published data, so that the rows are generated.
    monkeypatch.setattr(train, "DATA", tmp_path)
    short, long = train.pairs(50), train.pairs(50, sentences=8)
    assert len(short) == len(long) == 50
    assert all(second == f"fake {first}" for first, second, _ in short)
    assert {label for *_, label in short} <= set(range(5))
    assert min(len(first.split()) for first, *_ in long) > max(len(f.split()) for f, *_ in short)
    assert train.pairs(50) == short


def test_the_page_shows_the_recorded_figures():
    side = {"samples_per_second": 30.0, "samples_per_cpu_second": 31.0, "padding_efficiency": 0.95}
    speed = {
        "rows": 64,
        "rounds": 2,
        "load": 0.5,
        "ours": side,
        "grouped": {**side, "samples_per_second": 20.0, "padding_efficiency": 0.6},
        "padding": {"ours": 0.99, "grouped": 0.98},
        "ratios_second": [2.0, 2.0],
        "ratios_cpu_second": [1.4, 1.6],
    }
    run = {
        "size": "base",
        "precision": "bf16",
        "stage": "zero2",
        "steady_samples_per_second": 1000.0,
        "tokens_per_second": 100_000.0,
        "tflops": 250.0,
        "memory_gib": 4.0,
    }
    text = page(
        train.CASE, {"cpu": {"speed": speed}, "GPU": {"device": {"peak": 5e14, "runs": [run]}}}
    )
    assert "1.50 times the samples a CPU second (1.40, 1.60); met: at least as many" in text
    assert "99.0 % against 98.0 %; met: at least 95 %" in text
    assert "| base | bf16 | 2 | 1000 | 100,000 | 50.0 % | 4.0 |" in text
    assert page(train.CASE, {"cpu": {}}) == "## Training: samples a second"
