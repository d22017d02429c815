"""The files and commands of "Add a dataset" in CONTRIBUTING.md work exactly as they are."""

import os
import re
import shutil
from pathlib import Path

import pytest

from adnominal.conf import ROOT
from adnominal.etl.lake import arrow
from tests import fork_server
from tests.commands import run_python
from tests.rows import rows, write
from tests.training.conftest import make_encoder

EXAMPLE = ROOT / "docs" / "colours"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NOUNS = ("boat", "candidate", "dog", "gun", "horse", "house", "idea", "river")


def section() -> str:
    """The text of the section."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return text.partition("\n## Add a dataset\n")[2].partition("\n## ")[0]


def block(language: str) -> str:
    """The only code block of the section in that language."""
    texts: list[str] = [text for name, text in _BLOCK.findall(section()) if name == language]
    (text,) = texts
    return text


def example_files() -> list[Path]:
    """The files of the example, relative to its folder."""
    files = [path for path in EXAMPLE.rglob("*") if path.is_file()]
    return [path.relative_to(EXAMPLE) for path in files if "__pycache__" not in path.parts]


def apply_diff(root: Path, diff: str) -> None:
    """Apply a diff whose hunks are located by their text instead of line numbers."""
    for part in re.split(r"(?m)^--- a/", diff)[1:]:
        name, _, hunks = part.partition("\n")
        path = root / name
        text = path.read_text(encoding="utf-8")
        for hunk in hunks.split("@@\n")[1:]:
            lines = hunk.splitlines(keepends=True)
            old = "".join(line[1:] for line in lines if line[0] in " -")
            new = "".join(line[1:] for line in lines if line[0] in " +")
            assert text.count(old) == 1, f"{name}: expected once:\n{old}"
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A copy of the packages with the files of the section."""
    root = tmp_path / "adnominal"
    unwanted = shutil.ignore_patterns("__pycache__")
    for name in ("adnominal", "analysis", "conf", "etl", "training"):
        shutil.copytree(ROOT / name, root / name, ignore=unwanted, symlinks=True)
    for path in example_files():
        assert not (root / path).exists()
        (root / path).parent.mkdir(exist_ok=True)
        shutil.copy(EXAMPLE / path, root / path)
    apply_diff(root, block("diff"))
    return root


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A lake with pairs of one corpus."""
    adjectives = ("brown", "fast", "red", "old")
    pairs = [(a, f"{noun}{number}") for noun in _NOUNS for a in adjectives for number in range(8)]
    root = tmp_path / "lake"
    write(root, "amod_pairs", rows("adjective noun", *pairs, corpus="web", count=3))
    return root


def test_a_task_takes_at_most_forty_lines():
    task = EXAMPLE / "training" / "tasks" / "colours.py"
    assert len(task.read_text(encoding="utf-8").splitlines()) <= 40


def test_the_section_names_each_file_of_the_example():
    links = re.findall(r"\]\(docs/colours/([^)]+)\)", section())
    assert sorted(links) == sorted(path.as_posix() for path in example_files())


@pytest.mark.slow
def test_the_commands_lead_from_the_build_to_the_report(repository, lake, tmp_path):
    (tmp_path / "model").mkdir()
    names: dict[str, str | Path] = {
        "LAKE": lake,
        "MODEL": make_encoder(tmp_path / "model"),
        "EXPORT": tmp_path / "export",
        "REPORT": tmp_path / "report",
    }
    variables = {"HF_HUB_OFFLINE": "1", "DS_ACCELERATOR": "cpu"}
    for command in block("bash").splitlines():
        filled = re.sub(r"\b[A-Z]{4,}\b", lambda name: os.fspath(names[name[0]]), command)
        program, *arguments = filled.split()
        assert program == "python"
        python = fork_server.python("libraries")
        run_python(*arguments, python=python, cwd=repository, variables=variables)
    rows = arrow.read(os.fspath(lake), "predictions", columns=["task", "item_id", "run_id"])
    assert set(rows.column("task").to_pylist()) >= {"colours"}
    assert len(set(rows.column("run_id").to_pylist())) == 2
    card = (tmp_path / "export" / "README.md").read_text(encoding="utf-8")
    assert "By `label` [2]:" in card
    assert "Colours: phrases that say what colour a thing is (demo)" in card
    assert "noun_disjoint" in card and "Apache" not in card.partition("## Licence")[0]
    cards = list(repository.rglob("README.md"))
    assert any("eight adjectives" in path.read_text(encoding="utf-8") for path in cards)
    report = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert re.search(r"<t[dh][^>]*>colours<", report)
