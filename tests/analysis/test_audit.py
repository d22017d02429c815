import pyarrow as pa
import pytest

from adnominal.analysis import audit
from adnominal.analysis.rendering.blocks import Block, NotRun, Table, Text
from adnominal.analysis.rendering.terminal import terminal_text
from tests.analysis.report.small_lake import SmallLake
from tests.rows import rows, write


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    return SmallLake(tmp_path_factory.mktemp("small")).root


def test_the_section_of_one_dataset_is_printed(lake, capsys):
    assert audit.main(["dataset=adept", "edition=published", f"lake={lake}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("A logistic regression on n-grams")
    assert "ADEPT, edition published" in lines
    assert not [line for line in lines if line.startswith("PLANE")]
    (row,) = [
        line.split() for line in lines if line.startswith("random") and "modifier alone" in line
    ]
    # The modifier determines the label, and training has all modifiers.
    assert row[1:7] == ["modifier", "alone", "8", "of", "val", "50.0"] and row[7] == "100.0"


def test_patterns_of_sygns_are_printed(tmp_path, capsys):
    lake, edition = str(tmp_path), "mine"
    sentences = [("t", "one dog ran"), ("a", "one cat ran")]
    form = "exists x1.(dog(x1) & run(x1))"
    write(
        lake, "sygns", rows("sentence_id sentence", *sentences, fol=form, depth=0, edition=edition)
    )
    parts = rows("sentence_id part", ("t", "train"), ("a", "test"), scheme="productivity")
    write(lake, "sygns_splits", [{**row, "primitive": "", "edition": edition} for row in parts])
    assert audit.main(["dataset=sygns", f"lake={lake}"]) == 0
    last_line = capsys.readouterr().out.splitlines()[-1].split()
    assert last_line == ["productivity", "1", "1", "100.0", "100.0", "100.0", "100.0", "100.0"]


def test_a_dataset_that_the_lake_lacks_is_a_mistake(lake, capsys):
    assert audit.main(["dataset=sygns", f"lake={lake}"]) == 2
    assert "no table sygns in" in capsys.readouterr().err
    assert audit.main(["dataset=adept", "edition=gone", f"lake={lake}"]) == 2
    assert "edition=gone: no table of" in capsys.readouterr().err


def test_texts_and_tables_are_printed_without_figures_and_commands():
    data = pa.table({"an_input": ["x", "longer"], "share": [1 / 3, None]})
    blocks: list[Block] = [
        Text("word " * 30),
        Table("A caption", data),
        NotRun("missing", "python x.py"),
    ]
    paragraphs = terminal_text(blocks).split("\n\n")
    assert [len(line) <= 100 for line in paragraphs[0].splitlines()] == [True, True]
    assert paragraphs[1:] == ["A caption\nan input  share\nx         0.33\nlonger    –"]
