from __future__ import annotations

import pyarrow as pa
import pytest

import conf
from conf import UserError
from etl.datasheet import Settings, write
from etl.lake import arrow
from etl.lake.tables import table
from etl.looking.datasheet import datasheet

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


@pytest.fixture
def lake(tmp_path) -> str:
    root = str(tmp_path / "lake")
    rows = [ROW, {**ROW, "item_id": "2", "label": 0, "agreement": "majority", "noun": "arm"}]
    data = pa.Table.from_pylist(rows, table("adept").schema)
    arrow.append(root, "adept", data, job="test_job", metadata={"seed": "7"})
    dropped = [
        {"job": "annotate_adept/mine", "table": "adept", "reason": "none agree", "count": 3,
         "sample": "a | b"},
        {"job": "build_asp/mine", "table": "asp_degree", "reason": "other", "count": 1,
         "sample": "c"},
    ]  # fmt: skip
    data = pa.Table.from_pylist(dropped, table("dropped").schema)
    arrow.append(root, "dropped", data, job="test_job")
    return root


def test_facts_with_their_sources(lake):
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
    rows = [{**ROW, "edition": edition} for edition in ("published", "published_wider")]
    arrow.append(lake, "adept", pa.Table.from_pylist(rows, table("adept").schema), job="test_job")
    dropped = [{"job": "import_published/adept", "table": "adept", "reason": "no label", "count": 4,
                "sample": "d"}]  # fmt: skip
    data = pa.Table.from_pylist(dropped, table("dropped").schema)
    arrow.append(lake, "dropped", data, job="test_job")
    for edition in ("published", "published_wider"):
        assert "| adept | no label | 4 | d |" in datasheet(lake, "adept", edition)
    assert "no label" not in datasheet(lake, "adept", "mine")


def test_what_has_no_source_is_refused(lake, tmp_path):
    sheet = tmp_path / "own.md"
    sheet.write_text("# {{name}}\n\nThere are 16,115 rows.\n")
    with pytest.raises(UserError, match=r"own\.md:3: a number without a source: 'There are 16,115"):
        datasheet(lake, "adept", "mine", sheet)
    sheet.write_text("{{rows}} of 16,115 (source: table 4 of the paper); {{people}}")
    with pytest.raises(UserError, match=r"no figure people; known: name, meaning, rows, .*sources"):
        datasheet(lake, "adept", "mine", sheet)
    sheet.write_text("{{ rows }} of 16,115 (source: table 4 of the paper)")
    assert datasheet(lake, "adept", "mine", sheet).startswith("2 [1] of 16,115")


def test_mistakes(lake, tmp_path):
    with pytest.raises(UserError, match="edition=paper: no rows in adept, which has mine"):
        datasheet(lake, "adept", "paper")
    with pytest.raises(UserError, match="no table sygns in lake="):
        datasheet(lake, "sygns", "clean")
    with pytest.raises(UserError, match="table=dropped: expected one of adept"):
        datasheet(lake, "dropped", "mine")
    with pytest.raises(UserError, match=r"nothing\.md: No such file"):
        datasheet(lake, "adept", "mine", tmp_path / "nothing.md")


def test_the_script_writes_a_file(lake, tmp_path, capsys):
    out = tmp_path / "sheet.md"
    write(conf.load(Settings, ["table=adept", "edition=mine", f"lake={lake}", f"out={out}"]))
    assert out.read_text() == datasheet(lake, "adept", "mine")
    write(conf.load(Settings, ["table=adept", "edition=mine", f"lake={lake}"]))
    assert capsys.readouterr().out == out.read_text()
    with pytest.raises(UserError, match=r"out=.*: No such file"):
        write(conf.load(Settings, ["table=adept", "edition=mine", f"lake={lake}",
                                   f"out={tmp_path}/no/sheet.md"]))  # fmt: skip
