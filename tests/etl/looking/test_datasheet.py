import pyarrow as pa
import pytest

from adnominal import conf
from adnominal.conf import UserError
from adnominal.etl.datasheet import Settings, write
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table
from adnominal.etl.looking.datasheet import datasheet
from tests.rows import rows
from tests.rows import write as write_rows

ROW = {
    "item_id": "1",
    "sentence1": "A leg has one foot.",
    "sentence2": "A dead leg has one foot.",
    "modifier": "dead",
    "noun": "leg",
    "label": 2,
    "split_random": "train",
    "edition": "mine",
}
DROPPED = "job table reason count sample"


@pytest.fixture
def lake(tmp_path) -> str:
    root = str(tmp_path / "lake")
    items = [ROW, {**ROW, "item_id": "2", "label": 0, "agreement": "majority", "noun": "arm"}]
    data = pa.Table.from_pylist(items, table("adept").schema)
    arrow.append(root, "adept", data, job="test_job", metadata={"seed": "7"})
    dropped = (
        ("annotate_adept/mine", "adept", "none agree", 3, "a | b"),
        ("build_asp/mine", "asp_degree", "other", 1, "c"),
    )
    write_rows(root, "dropped", rows(DROPPED, *dropped))
    return root


def test_a_datasheet_states_facts_with_their_sources(lake):
    text = datasheet(lake, "adept", "mine")
    assert text.startswith("# Datasheet: adept, edition mine\n")
    assert "\n2 [1] rows with these columns:\n" in text
    assert "| 0 | 1 |" in text and "| 2 | 1 |" in text and "| (none) | 1 |" in text
    assert "- different values of `noun`: 2 [7]" in text
    assert "- words of `sentence1`: 5.00 on average, at most 5 [9]" in text
    assert "job test_job, code " in text and "seed 7: 2 rows, version 0 [11]" in text
    assert "| adept | none agree | 3 | a \\| b |" in text and "asp_degree" not in text
    assert "1. `SELECT count(*) AS rows FROM adept WHERE edition = 'mine'`, version 0" in text
    assert "12. table dropped, version 0" in text
    assert "To be filled in" in text and "{{" not in text


def test_each_edition_of_a_release_has_the_drops_of_its_import(lake):
    editions = ("published", "published_wider")
    write_rows(lake, "adept", [{**ROW, "edition": edition} for edition in editions])
    dropped = ("import_published/adept", "adept", "no label", 4, "d")
    write_rows(lake, "dropped", rows(DROPPED, dropped))
    for edition in editions:
        assert "| adept | no label | 4 | d |" in datasheet(lake, "adept", edition)
    assert "no label" not in datasheet(lake, "adept", "mine")


def test_numbers_and_figures_without_a_source_are_refused(lake, tmp_path):
    sheet = tmp_path / "own.md"
    sheet.write_text("# {{name}}\n\nThere are 16,115 rows.\n")
    with pytest.raises(UserError, match=r"own\.md:3: a number without a source: 'There are 16,115"):
        datasheet(lake, "adept", "mine", sheet)
    sheet.write_text("{{rows}} of 16,115 (source: table 4 of the paper); {{people}}")
    with pytest.raises(UserError, match=r"no figure people; known: name, meaning, rows, .*sources"):
        datasheet(lake, "adept", "mine", sheet)
    sheet.write_text("{{ rows }} of 16,115 (source: table 4 of the paper)")
    assert datasheet(lake, "adept", "mine", sheet).startswith("2 [1] of 16,115")


def test_unknown_tables_editions_and_sheets_are_refused(lake, tmp_path):
    with pytest.raises(UserError, match="edition=paper: no rows in adept, which has mine"):
        datasheet(lake, "adept", "paper")
    with pytest.raises(UserError, match="no table sygns in lake="):
        datasheet(lake, "sygns", "clean")
    with pytest.raises(UserError, match="table=dropped: expected one of adept"):
        datasheet(lake, "dropped", "mine")
    with pytest.raises(UserError, match=r"nothing\.md: No such file"):
        datasheet(lake, "adept", "mine", tmp_path / "nothing.md")


def test_the_script_writes_a_file_or_prints(lake, tmp_path, capsys):
    out = tmp_path / "sheet.md"
    write(conf.load(Settings, ["table=adept", "edition=mine", f"lake={lake}", f"out={out}"]))
    assert out.read_text() == datasheet(lake, "adept", "mine")
    write(conf.load(Settings, ["table=adept", "edition=mine", f"lake={lake}"]))
    assert capsys.readouterr().out == out.read_text()
    with pytest.raises(UserError, match=r"out=.*: No such file"):
        write(conf.load(Settings, ["table=adept", "edition=mine", f"lake={lake}",
                                   f"out={tmp_path}/no/sheet.md"]))  # fmt: skip
