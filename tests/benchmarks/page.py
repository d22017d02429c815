"""The section of a case for literal figures."""

from benchmarks.cases import Case
from benchmarks.rendering import section
from benchmarks.results import Figures


def page(case: Case, figures: Figures) -> str:
    """The section for figures by measurement."""
    stamp = {"machine": "M", "date": "2026-01-02", "versions": "V"}
    return section(case, {name: {**stamp, "figures": value} for name, value in figures.items()})
