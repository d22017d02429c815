"""The page about killed runs; tests/training checks that such runs resume exactly."""

from benchmarks import resume
from benchmarks.harness import page


def test_the_page_counts_the_runs_that_resumed_exactly():
    equal = {"killed": 12, "losses": 0.0, "weights": 0.0, "scores": 0.0}
    differing = {**equal, "weights": 1e-4}
    near = {"losses": 2e-6, "weights": 3e-6, "scores": 4e-6}
    changed = {**near, **{f"alone_{name}": value for name, value in near.items()}}
    cells = {"1 random zero0": equal, "2 random zero3": differing, "changed random zero2": changed}
    text = page(resume.CASE, cells)
    assert "| 1 | random | 0 | 12 | 0 | 0 | 0 |" in text
    assert "| 2 → 1 → 2 | random | 2 | 20, 45 | 2.0e-06 | 3.0e-06 | 4.0e-06 |" in text
    verdict = "resumed by the same number of processes are equal to the last digit; missed"
    assert f"1 of 2 runs {verdict}" in text
