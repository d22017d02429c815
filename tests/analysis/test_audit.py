import pytest

from adnominal.analysis import audit
from tests.analysis.report.small_lake import SmallLake
from tests.rows import rows, write


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    return SmallLake(tmp_path_factory.mktemp("small")).root


def test_the_section_of_one_dataset_is_printed(lake, capsys):
    assert audit.main(["dataset=adept", "edition=published", f"lake={lake}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "How well does a part of the input alone predict the label?"
    assert lines[2].startswith("A logistic regression on n-grams")
    assert any(line.startswith("ADEPT: accuracy of a part of the input alone") for line in lines)
    assert not [line for line in lines if line.startswith("PLANE")]
    (row,) = [line for line in lines if line.startswith("random: modifier alone")]
    # The modifier determines the label, and training has all modifiers.
    assert row.split()[3] == "1.000" and "0.500" in row


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
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    shares = [line[1:] for line in lines if line[:1] == ["productivity"]]
    assert shares == [[*["100.0"] * 5, "1", "1"]]


def test_a_dataset_that_the_lake_lacks_is_a_mistake(lake, capsys):
    assert audit.main(["dataset=sygns", f"lake={lake}"]) == 2
    assert "no table sygns in" in capsys.readouterr().err
    assert audit.main(["dataset=adept", "edition=gone", f"lake={lake}"]) == 2
    assert "edition=gone: no table of" in capsys.readouterr().err
