"""Benchmarks of Adnominal and its peers: ``python -m benchmarks`` lists the cases."""

from importlib import import_module
from typing import Any

BENCH = ("extract", "engines", "sources", "scale", "faults", "train", "predict", "explore")
"""The cases that `make bench` runs, in this order."""
FURTHER = ("fast", "gpu", "papers", "start_up")
"""Cases that need special inputs or a GPU, or take a day."""
CASES = (*BENCH, *FURTHER)


def load_case(name: str) -> Any:
    """The `benchmarks.cases.Case` that the module of this name declares."""
    return import_module(f"benchmarks.{name}").CASE
