"""Every notebook runs from top to bottom on small lakes, and is stored with small outputs."""

import os
import re
import sys

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from adnominal.conf import ROOT
from adnominal.etl import import_published
from tests import fork_server
from tests.commands import SECONDS
from tests.lake_of_pairs import write_pairs
from tests.notebooks import lake

FOLDER = ROOT / "notebooks"
FILES = sorted(FOLDER.glob("*.ipynb"))
# Removes the names of the notebook before.
CLEAR = "%reset -f -s"
MOST_BYTES = 300_000


def execute(parts, root, monkeypatch, edition="demo"):
    """Run the code cells of several notebooks in one kernel, because a kernel takes seconds to
    start."""
    # The kernel is forked from a process that has imported the libraries.
    monkeypatch.setattr(sys, "executable", fork_server.python())
    monkeypatch.setenv("LAKE", root)
    monkeypatch.setenv("EDITION", edition)
    monkeypatch.setenv("PYTHONPATH", os.fspath(ROOT))
    notebook = nbformat.v4.new_notebook()
    for cells in parts:
        notebook.cells.append(nbformat.v4.new_code_cell(CLEAR))
        notebook.cells += [cell for cell in cells if cell.cell_type == "code"]
    resources = {"metadata": {"path": os.fspath(FOLDER)}}
    client = NotebookClient(
        notebook,
        timeout=int(SECONDS),
        startup_timeout=int(SECONDS),
        kernel_name="python3",
        resources=resources,
    )
    return client.execute()


def test_there_is_a_notebook_per_paper_and_a_tour():
    assert [file.stem for file in FILES] == ["adept", "asp", "plane", "sygns", "tour_of_the_lake"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_notebooks_are_stored_with_small_outputs(file):
    cells = [cell for cell in nbformat.read(file, 4).cells if cell.cell_type == "code"]
    assert all(cell.execution_count is not None for cell in cells)
    kinds = [output.output_type for cell in cells for output in cell.outputs]
    assert kinds and "error" not in kinds
    first = next(cell for cell in cells if cell.outputs)
    assert any("image/png" in output.get("data", {}) for output in first.outputs)
    assert file.stat().st_size <= MOST_BYTES


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_stored_outputs_name_no_path_of_a_machine(file):
    cells = [cell for cell in nbformat.read(file, 4).cells if cell.cell_type == "code"]
    for output in (output for cell in cells for output in cell.outputs):
        texts = [output.get("text", ""), *output.get("data", {}).values()]
        shown = "".join(text for text in texts if not text.startswith("iVBOR"))
        assert not re.search(r"(?<![\w.])/(tmp|home|root|work|usr)/", shown)


@pytest.mark.slow
def test_notebooks_run_and_show_their_figures(tmp_path, monkeypatch):
    root = str(tmp_path / "lake")
    lake.fill(root)
    parts = [nbformat.read(file, 4).cells for file in FILES]
    notebook = execute(parts, root, monkeypatch)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    figures = sum("image/png" in output.get("data", {}) for output in outputs)
    assert figures >= 10
    text = "".join(output.get("text", "") for output in outputs)
    assert "A false key opens no door." in text and "theorem / theorem" in text


@pytest.mark.slow
def test_the_tour_of_a_lake_of_other_pairs(tmp_path, monkeypatch):
    root = str(tmp_path / "lake")
    write_pairs(root, {"news": [("red", "cup", 2), ("old", "cup", 1)]})
    cells = nbformat.read(FOLDER / "tour_of_the_lake.ipynb", 4).cells
    notebook = execute([cells], root, monkeypatch)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert 'rank with "cup"' in "".join(output.get("text", "") for output in outputs)


@pytest.mark.slow
def test_notebooks_run_on_a_lake_of_releases_alone(shared_data, tmp_path, monkeypatch):
    root = str(tmp_path / "lake")
    folders = [f"{name}={shared_data / name}" for name in ("adept", "plane", "asp", "sygns")]
    assert import_published.main([*folders, f"lake={root}"]) == 0
    parts = [nbformat.read(file, 4).cells for file in FILES]
    notebook = execute(parts, root, monkeypatch, "published")
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    text = "".join(output.get("text", "") for output in outputs)
    assert "no pairs in this lake" in text and "no model has answered" in text


@pytest.mark.slow
def test_a_failing_cell_fails_the_test(tmp_path, monkeypatch):
    cells = [
        nbformat.v4.new_code_cell(
            "from adnominal.etl.lake import arrow\narrow.read('none', 'adept')"
        )
    ]
    with pytest.raises(CellExecutionError, match="no table"):
        execute([cells], str(tmp_path), monkeypatch)
