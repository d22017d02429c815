"""The measured figures of the README, taken from the recorded figures.

A line whose case has not been run is omitted. The same figures, with what they exclude, are at the
top of RESULTS.md.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from adnominal import conf
from adnominal.conf import ROOT, UserError, setting
from adnominal.training.files import replace_text
from benchmarks import results
from benchmarks.results import Figures

BEGIN, END = "<!-- figures -->", "<!-- /figures -->"


@dataclass(frozen=True)
class Page:
    """Settings of a command that writes measurements into a document."""

    page: str = setting(str(ROOT / "README.md"), help="the page to write to")

    def write(self, text: str, begin: str, end: str) -> None:
        """Write between two markers of the page; `UserError` if it has none."""
        page = Path(self.page)
        content = page.read_text(encoding="utf-8") if page.is_file() else ""
        start, stop = content.find(begin), content.find(end)
        if not 0 <= start < stop:
            raise UserError(f"page={page}: expected the lines {begin} and {end}, in this order")
        replace_text(page, f"{content[: start + len(begin)]}\n\n{text}\n\n{content[stop:]}")
        print(text)


@dataclass(frozen=True)
class Documented(Page):
    """Settings of a command that writes recorded figures into a document."""

    figures: str = setting(str(results.FIGURES), help="the recorded figures of the cases")

    def recorded(self) -> Figures:
        """The recorded figures; none if the file does not exist."""
        return results.recorded(figures=Path(self.figures))


def section(recorded: Figures) -> str:
    """The table of measured figures."""
    rows = [(headline.title, headline.text) for headline in results.headlines(recorded)]
    return results.table([("what", "measured"), *rows])


def write(settings: Documented) -> None:
    """Write the measured figures to the README and to the top of RESULTS.md."""
    if not Path(settings.figures).exists():
        raise UserError(f"figures={settings.figures}: no such file; run `make bench`")
    settings.write(section(settings.recorded()), BEGIN, END)
    results.write_headlines(figures=Path(settings.figures))


main = partial(conf.run, Documented, write)
