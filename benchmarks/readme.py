"""The measured figures of the README, taken from the recorded figures.

A line whose case has not been run is omitted. The same figures, with what they exclude, are at the
top of RESULTS.md.
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
    """Settings of a command that writes measurements into a document."""

    page: str = setting(str(ROOT / "README.md"), help="the page to write to")

    def write(self, text: str, begin: str, end: str) -> None:
        """Write between two markers of the page; `UserError` if it has none."""
        try:
            results.write_between(Path(self.page), text, begin, end)
        except ValueError as error:
            raise UserError(f"page={self.page}: {error}") from error
        print(text)


@dataclass(frozen=True)
class Documented(Page):
    """Settings of a command that writes recorded figures into a document."""

    figures: str = setting(str(results.FIGURES), help="the recorded figures of the cases")

    def recorded(self) -> dict[str, Any]:
        """The recorded figures; none if the file does not exist."""
        return results.recorded(figures=Path(self.figures))


def section(recorded: Mapping[str, Any]) -> str:
    """The table of measured figures."""
    rows = [(title, text) for title, text, *_ in headlines(recorded)]
    return results.table([("what", "measured"), *rows])


def write(settings: Documented) -> None:
    """Write the measured figures to the README and to the top of RESULTS.md."""
    if not Path(settings.figures).exists():
        raise UserError(f"figures={settings.figures}: no such file; run `make bench`")
    settings.write(section(settings.recorded()), BEGIN, END)
    harness.write_headlines(Path(settings.figures))


main = partial(conf.run, Documented, write)
