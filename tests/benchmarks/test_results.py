import pytest

from benchmarks.results import record, recorded, table, verdict, write_section


def test_a_section_is_replaced_and_the_others_stay(tmp_path):
    page = tmp_path / "RESULTS.md"
    write_section("one", "## One\nfirst", page=page)
    write_section("two", "## Two\nother", page=page)
    first_page = page.read_text()
    write_section("one", "## One\nsecond, and <!-- a comment -->", page=page, packages=["pytest"])
    text = page.read_text()
    assert "first" not in text and "second" in text
    assert text.count("## One") == text.count("## Two") == 1
    assert text.index("## One") < text.index("## Two")
    assert first_page.split("<!-- section two -->")[1] == text.split("<!-- section two -->")[1]


def test_a_section_states_where_and_when_it_was_measured(tmp_path):
    page = tmp_path / "RESULTS.md"
    write_section("one", "## One\nbody", page=page, packages=["pytest", "no-such-package"])
    stamp = next(line for line in page.read_text().splitlines() if line.startswith("*"))
    for part in (" core", " GiB; 20", "Python 3.", f"pytest {pytest.__version__}"):
        assert part in stamp
    assert "no-such-package not installed" in stamp


@pytest.mark.parametrize(("name", "markdown"), [("Bad name", "## X"), ("x", "no heading")])
def test_a_section_without_name_or_heading_is_refused(tmp_path, name, markdown):
    page = tmp_path / "RESULTS.md"
    with pytest.raises(ValueError, match="expected"):
        write_section(name, markdown, page=page)
    assert not page.exists()


def test_recorded_figures_are_merged_by_name(tmp_path):
    figures = tmp_path / "results.json"
    assert recorded(figures=figures) == {}
    record("a", {"x": 1.5}, figures=figures)
    record("b", 2, figures=figures)
    record("a", {"y": 1}, figures=figures)
    assert recorded(figures=figures) == {"a": {"y": 1}, "b": 2}


def test_columns_of_figures_are_right_aligned():
    assert table([["side", "s"], ["a", "1.0"], ["b", ""]]).splitlines() == [
        "| side | s |",
        "| --- | --: |",
        "| a | 1.0 |",
        "| b |  |",
    ]


def test_a_ragged_table_is_refused():
    with pytest.raises(ValueError, match="cells"):
        table([["a", "b"], ["c"]])


def test_a_bound_is_met_by_equality():
    assert [verdict(2, 2), verdict(1.9, 2)] == ["met", "missed"]
    assert [verdict(2, 2, at_least=False), verdict(2.1, 2, at_least=False)] == ["met", "missed"]
