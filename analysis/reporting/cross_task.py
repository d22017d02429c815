"""What none of the four papers has: transfer, frequency, leak-free splits and artefacts."""

from __future__ import annotations

from analysis.reporting import cross_artefacts, cross_frequency, cross_splits, cross_transfer
from analysis.reporting.lake import Lake
from analysis.reporting.page import Section
from analysis.reporting.runs import Runs


def sections(lake: Lake, runs: Runs) -> list[Section]:
    """The page across the datasets; what its tables or runs are not there for is `NotRun`."""
    return [
        *cross_transfer.sections(lake, runs),
        *cross_frequency.sections(lake, runs),
        *cross_splits.sections(lake, runs),
        *cross_artefacts.sections(lake),
    ]
