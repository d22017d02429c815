"""The measured figures of the README, taken from what the cases recorded.

A line whose case has not been run is left out. The same figures, with what they leave out, lead
RESULTS.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import conf
from benchmarks import harness, results
from benchmarks.headlines import headlines
from conf import ROOT, UserError, setting

BEGIN, END = "<!-- figures -->", "<!-- /figures -->"


@dataclass(frozen=True)
class Page:
    """Settings of what writes measurements into a document."""

    page: str = setting(str(ROOT / "README.md"), help="the page to write into")

    def write(self, text: str, begin: str, end: str) -> None:
        """Write between two markers of the page; `UserError` where it has none."""
        try:
            results.write_between(Path(self.page), text, begin, end)
        except ValueError as error:
            raise UserError(f"page={self.page}: {error}") from error
        print(text)


@dataclass(frozen=True)
class Documented(Page):
    """Settings of what writes recorded figures into a document."""

    figures: str = setting(str(results.FIGURES), help="what the cases measured")

    def recorded(self) -> dict[str, Any]:
        """The recorded figures; none where the file is not there."""
        return results.recorded(figures=Path(self.figures))


def section(recorded: Mapping[str, Any]) -> str:
    """The table of what was measured."""
    rows = [(title, text) for title, text, *_ in headlines(recorded)]
    return results.table([("what", "measured"), *rows])


def write(settings: Documented) -> None:
    """Write the measured figures into the README and at the top of RESULTS.md."""
    if not Path(settings.figures).exists():
        raise UserError(f"figures={settings.figures}: no such file; run `make bench`")
    settings.write(section(settings.recorded()), BEGIN, END)
    harness.write_headlines(Path(settings.figures))


main = partial(conf.run, Documented, write)
