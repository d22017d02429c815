"""What a benchmark declares: settings, measurements, bounds of its figures, and exact counts."""

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from adnominal.conf import ROOT, UserError, setting
from benchmarks.results import Figures

DATA = Path(os.environ.get("ADNOMINAL_DATA", ROOT.parent / "shared" / "data"))
"""The folder with published data and corpora."""

Measurement = Callable[[], Figures]


@dataclass(frozen=True)
class CaseSettings:
    """Settings that every case has."""

    parts: list[str] = setting([], help="parts of the case to measure; all if none is named")
    folder: str | None = setting(
        None, help="folder of inputs and lakes; default: the system's temporary folder"
    )
    again: bool = setting(False, help="also repeat recorded measurements")
    keep: bool = setting(True, help="record the figures instead of only printing them")

    def place(self, name: str) -> Path:
        """The folder of a case's inputs and lakes."""
        base = Path(self.folder or Path(tempfile.gettempdir()) / "adnominal-bench")
        path = base / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def check_positive(self, *names: str) -> None:
        """Raise `UserError` for a setting that is not positive."""
        for name in names:
            value = getattr(self, name)
            if value <= 0:
                raise UserError(f"{name}={value}: expected more than 0")

    def check_known(self, name: str, known: Iterable[str]) -> None:
        """Raise `UserError` for a member of a list setting that is not known."""
        unknown = sorted(set(getattr(self, name)) - set(known))
        if unknown:
            raise UserError(f"{name}={unknown}: expected some of {', '.join(known)}")

    def selected_parts(self, known: Iterable[str]) -> list[str]:
        """The parts to measure: those named, or all of the known ones."""
        names = list(known)
        self.check_known("parts", names)
        return self.parts or names


def data_file(name: str) -> Path:
    """A file of the published data; `UserError` if it is missing."""
    path = DATA / name
    if not path.exists():
        raise UserError(f"{path} is missing; set ADNOMINAL_DATA to the folder of published data")
    return path


@dataclass(frozen=True)
class Bound:
    """A floor (`least`) or a ceiling (`most`) of a figure.

    `value` is an expression over the case's figures, such as ``ours.seconds / peer.seconds``. A run
    fails if it is missed.
    """

    value: str
    least: float | None = None
    most: float | None = None

    @property
    def limit(self) -> float:
        """The floor or the ceiling."""
        limit = self.most if self.least is None else self.least
        assert limit is not None
        return limit

    def is_met(self, value: float) -> bool:
        """Whether a value reaches the floor, or does not exceed the ceiling."""
        return value <= self.limit if self.least is None else value >= self.limit


@dataclass(frozen=True)
class Case:
    """A benchmark.

    Attributes:
        name: the case on the command line, its module, its template, and the key of its figures.
        title: the heading of its section in RESULTS.md.
        measurements: the measurements of a run, by the name under which each is recorded.
        settings: the settings class.
        packages: packages whose versions are recorded with the figures.
        resumes: whether recorded measurements are skipped (unless again=true).
        bounds: floors and ceilings, by a name that the template may use.
        exact: counts with one correct value: an expression over the figures, and the value.
        context: further values for the template, computed from the figures.
    """

    name: str
    title: str
    measurements: Callable[[Any], Mapping[str, Measurement]]
    settings: type[Any] = CaseSettings
    packages: tuple[str, ...] = ()
    resumes: bool = False
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    exact: Mapping[str, Any] = field(default_factory=dict)
    context: Callable[[Figures], Mapping[str, Any]] = lambda figures: {}


def in_parts(**functions: Callable[[Any], Figures]) -> Callable[[Any], Mapping[str, Measurement]]:
    """The measurements of a case with named parts, which ``parts=`` selects."""

    def measurements(settings: Any) -> Mapping[str, Measurement]:
        names = settings.selected_parts(functions)
        return {name: partial(functions[name], settings) for name in names}

    return measurements
