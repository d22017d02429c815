"""Exhibits as a notebook shows them."""

from collections.abc import Iterator

import pyarrow as pa
import pytest

from adnominal.analysis.editions import Lake
from adnominal.analysis.page import notebook
from adnominal.analysis.papers.exhibits import (
    Chart,
    Examples,
    Finding,
    Missing,
    Sources,
    exhibit,
)
from adnominal.analysis.report_numbers import Cells
from adnominal.training.finished_runs import Runs


@exhibit("", "colours of keys", fills="python etl/build_plane.py lake=LAKE")
def colours(page: Sources) -> Iterator[Finding]:
    """Colours of keys."""
    yield Cells("Keys", {("red", "keys"): 2.0, ("blue", "keys"): 1.0}, unit="keys")
    yield Chart("bars", "Keys by colour", ["Keys"], "colour", "keys")
    yield Examples("Keys to be read", pa.table({"key": ["a red key"]}))
    yield Missing("Doors", "python etl/build_asp.py lake=LAKE")


def test_figures_come_first_and_the_numbers_are_returned(monkeypatch, capsys):
    displayed: list[object] = []
    monkeypatch.setattr(notebook, "display", displayed.append)
    numbers = notebook.show(colours, "plane", Sources(Lake("lake", {}), Runs()))
    picture, examples = displayed
    assert picture.data.startswith(b"\x89PNG")  # type: ignore[attr-defined]
    assert examples.to_dict("list") == {"key": ["a red key"]}  # type: ignore[attr-defined]
    assert "Not in this lake: Doors. python etl/build_asp.py" in capsys.readouterr().out
    assert numbers[["row", "ours"]].to_numpy().tolist() == [["red", 2.0], ["blue", 1.0]]
    assert "printed" not in numbers.columns


def test_a_picture_without_numbers_is_refused():
    with pytest.raises(ValueError, match="no number to draw"):
        notebook.picture(Chart("bars", "Keys", ["Keys"]), [])
