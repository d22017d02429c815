"""What the page shows of sections."""

import pyarrow as pa
import pytest

from adnominal.analysis.editions import Lake
from adnominal.analysis.page.terminal import terminal_text
from adnominal.analysis.page.view import (
    number,
    number_tables,
    paper_view,
    section_view,
    signed_number,
    state_of,
)
from adnominal.analysis.papers.exhibits import (
    Chart,
    Examples,
    Missing,
    Note,
    Section,
    Sources,
    exhibit,
)
from adnominal.analysis.report_numbers import Cells, Source, rows_of
from adnominal.conf import UserError
from adnominal.training.finished_runs import Runs

PRINTED = ("table 1",)


def section(
    *findings: object, printed: tuple[str, ...] = (), title: str = "Table 1: rules"
) -> Section:
    cells = [finding for finding in findings if isinstance(finding, Cells)]
    others = [finding for finding in findings if not isinstance(finding, Cells)]
    rows = rows_of(Source("plane", "Table 1", printed, "make it"), cells)
    return Section("plane-table-1", title, "What is seen.", rows, printed, others)  # type: ignore[arg-type]


ALL_RIGHT = Cells(
    "table 1",
    {
        (row, column): value
        for row, values in {
            "AN entails N": (1, 1, 0),
            "AN entails h(N)": (1, 1, 0),
            "AN entails A h(N)": (1, 0, 1),
        }.items()
        for column, value in zip("ISO", values, strict=True)
    },
)


def test_the_state_of_a_section():
    own = Cells("Ours", {("a", "b"): 1.0})
    assert state_of(section(ALL_RIGHT, printed=PRINTED)) == "reproduced"
    some = Cells("table 1", {("AN entails N", "I"): 0.5})
    assert state_of(section(some, printed=PRINTED)) == "compared"
    assert state_of(section(own, printed=PRINTED)) == "shown"
    assert state_of(section(printed=PRINTED)) == "not run"
    assert state_of(section(Examples("e", pa.table({"a": ["b"]})))) == "shown"
    assert state_of(section(Missing("m", "make it"))) == "not run"
    people = Source("adept", "Section 4.2", ("section 4.2",))
    unpublished = Section("a", "Section 4.2", "", rows_of(people, []), ("section 4.2",), [])
    assert state_of(unpublished) == "not recomputable"


def test_a_paper_has_what_was_run_before_what_was_not():
    sections = [section(printed=PRINTED), section(ALL_RIGHT, printed=PRINTED)]
    view = paper_view("plane", "PLANE: phrases", "cited", "a headline", sections)
    assert view.summary == "1 of 2 exhibits reproduced, 1 not run"
    assert [len(view.shown), len(view.not_run)] == [1, 1]


def test_cells_have_the_printed_number_ours_and_their_difference():
    numbers = Cells("table 1", {("AN entails N", "I"): 0.5, ("AN entails N", "S"): 1.0})
    (table,) = number_tables(section(numbers, printed=PRINTED))
    assert table.columns == ["I", "S", "O"] and table.caption == "Table 1"
    first, second, third = table.rows[0][1]
    assert (first.printed, first.ours, first.difference) == ("1", "0.500", "−0.500")
    assert (first.status, first.hint) == ("differs", "differs")
    assert (second.ours, second.difference, second.status) == ("1", "", "equal")
    assert (third.printed, third.ours, third.hint) == ("0", "", "not run")
    (empty,) = number_tables(section(printed=PRINTED))
    assert empty.caption == "Table 1, as published" and empty.is_folded
    assert [name for name, _ in table.first] == ["AN entails N"]
    assert [name for name, _ in table.others] == ["AN entails h(N)", "AN entails A h(N)"]
    assert not table.is_folded


def test_printed_counts_have_separators():
    sizes = Cells("section 3.2", {("items", "count"): 1_900_001.0})
    rows = rows_of(Source("plane", "Section 3.2", ("section 3.2",)), [sizes])
    of_sizes = Section("plane-section-3-2", "Section 3.2", "", rows, ("section 3.2",), [])
    (table,) = number_tables(of_sizes)
    cells = {name: cells[0].printed for name, cells in table.rows}
    assert cells == {"adjectives": "312", "nouns": "~7,800", "items": "~1,900,000"}


def test_long_tables_are_folded_after_the_first_rows():
    long = Cells("Long", {(f"r{n}", "a"): float(n) for n in range(12)})
    (table,) = number_tables(section(long))
    assert [len(table.first), len(table.others)] == [5, 7]
    texts = section_view(section(Examples("e", pa.table({"a": ["b"] * 9})))).texts[0]
    assert [len(texts.first), len(texts.others)] == [3, 6]
    short = Cells("Short", {(f"r{n}", "a"): float(n) for n in range(8)})
    (table,) = number_tables(section(short))
    assert [len(table.first), len(table.others)] == [8, 0]


def test_a_table_is_folded_below_the_figure_that_shows_the_same():
    own = Cells("Ours", {("a", "share"): 0.5}, unit="share")
    view = section_view(section(own, Chart("bars", "c", ("Ours",), "x", "y")))
    assert view.tables == [] and [table.name for table in view.figures[0].tables] == ["Ours"]
    # The figure shows ours alone, the table also what is printed.
    beside = section_view(
        section(ALL_RIGHT, Chart("bars", "c", ("table 1",), "x", "y"), printed=PRINTED)
    )
    assert [table.name for table in beside.tables] == ["table 1"]


def test_a_figure_of_printed_numbers_is_no_result():
    printed = Chart("bars", "c", ("table 1",), "x", "y", published=True)
    assert state_of(section(printed, printed=PRINTED)) == "not run"


def test_own_tables_of_simulated_labels_are_folded():
    simulated = Cells("Ours", {("a", "share"): 0.5}, is_simulated=True)
    (table,) = number_tables(section(simulated))
    assert table.is_folded and table.is_simulated


def test_wide_tables_are_turned_and_notes_are_gathered():
    wide = Cells("Wide", {("a", f"c{n}"): float(n) for n in range(9)}, note="a note")
    (table,) = number_tables(section(wide))
    assert table.columns == ["a"] and len(table.rows) == 9
    assert table.notes == ["a note"]


def test_numbers_of_a_figure_alone_are_no_table():
    points = Cells("Points", {("1", "y"): 0.5, ("2", "y"): 0.6}, unit="share")
    drawn = Chart("curves", "c", ("Points",), "x", "y", only_drawn=True)
    view = section_view(section(points, drawn))
    assert view.tables == [] and view.figures[0].picture.startswith("<svg")
    assert "Points" not in terminal_text(section(points, drawn))


def test_a_matrix_says_what_its_shades_are():
    counts = Cells("Counts", {("a", "a"): 1.0})
    view = section_view(section(counts, Chart("matrix", "Answers", ("Counts",), "x", "y")))
    assert "Shades show the share of the row" in view.figures[0].caption


def test_a_section_as_text_for_a_terminal():
    own = Cells("Ours", {("a", "share"): 0.5}, unit="percent", decimals=1)
    text = terminal_text(section(own, Note("A note.")))
    assert text.startswith("What is seen.\n\nA note.\n\nOurs, in percent\n")
    assert "50.0" in text


def test_numbers_are_rounded_and_signed_as_in_papers():
    assert [number(v, 1) for v in (1234.5, -2.0, 0.25, 56.25)] == ["1,234.5", "−2.0", "0.3", "56.3"]
    assert [signed_number(v, 1) for v in (1.25, -0.04, 0.04, -2.0)] == [
        "+1.3",
        "0.0",
        "0.0",
        "−2.0",
    ]


def test_exhibits_that_lack_a_table_are_marked_as_not_run():
    @exhibit("Table 1", "rules", fills="make it", printed=("table 1",))
    def rules(page: Sources) -> list[Note]:
        """What holds.

        A second paragraph.
        """
        raise UserError("no table")

    built = rules.section("plane", Sources(Lake("lake", {}), Runs(())))
    assert (built.title, built.about) == ("Table 1: rules", "What holds.")
    assert {row["status"] for row in built.rows} == {"not run"} and len(built.rows) == 9
    assert built.findings == [Missing("rules", "make it", "no table")]


@pytest.mark.parametrize("text", ["<i>", "</script>", "a & b"])
def test_texts_are_escaped(text):
    from adnominal.analysis.page.rendering import html
    from adnominal.analysis.page.view import contents
    from adnominal.analysis.report_numbers import table_of

    cells = Cells("Ours", {(text, text): 1.0}, note=text)
    own = section(cells, Note(text), Missing(text, text, text), title=text)
    papers = [paper_view("p", text, text, text, [own])]
    page = html(
        text, {text: text}, text, papers, contents(pa.table({text: [text]})), table_of(own.rows)
    )
    visible = page.partition("</style>")[2].partition("<script type")[0]
    assert text not in visible.replace(page.partition("<body>")[0], "")
    assert page.count("</script>") == 2
