"""The card of a Hugging Face export: its figures, their sources, and what people have to write."""

from pathlib import Path

import pyarrow as pa
import pytest

from adnominal import conf
from adnominal.analysis.export.job import Settings, export
from adnominal.analysis.export.provenance import edition_commits, origins
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table
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
def lake(tmp_path: Path) -> str:
    root = str(tmp_path / "lake")
    items = [ROW, {**ROW, "item_id": "2", "label": 0, "agreement": "majority", "noun": "arm"}]
    data = pa.Table.from_pylist(items, table("adept").schema)
    arrow.append(root, "adept", data, job="test_job", metadata={"seed": "7"})
    dropped = (
        ("annotate_adept/mine", "adept", "none agree", 3, "a | b\nc"),
        ("build_asp/mine", "asp_degree", "other", 1, "c"),
    )
    write_rows(root, "dropped", rows(DROPPED, *dropped))
    return root


def card(lake: str, out: Path, edition: str = "mine") -> str:
    arguments = ["dataset=adept", f"edition={edition}", "format=huggingface"]
    export(conf.load(Settings, [*arguments, f"out={out}", f"lake={lake}"]))
    return (out / "README.md").read_text(encoding="utf-8")


def test_the_card_states_facts_with_their_sources(lake, tmp_path):
    text = card(lake, tmp_path / "out")
    assert "| random | split over instances, as published | train | 2 |" in text
    assert "### Table adept\n" in text and "\n2 rows [1].\n" in text
    assert "By `label` [2]:" in text and "| 0 | 1 |" in text and "| 2 | 1 |" in text
    assert "By `agreement` [3]:" in text and "| (none) | 1 |" in text
    assert "- different values of `noun`: 2 [7]" in text
    assert "- words of `sentence1`: 5.00 on average, at most 5 [9]" in text
    assert "| adept | none agree | 3 | a \\| b c |" in text and "asp_degree" not in text
    assert "| adept | 0 | test_job | " in text and "| 2 | seed 7 |" in text
    sources = text.partition("## Sources of the figures\n\n")[2].splitlines()
    assert sources[0] == "1. `SELECT count(*) AS rows FROM adept WHERE edition = 'mine'`, version 0"
    assert sources[10:] == ["11. table dropped, version 0", "12. log of the table adept, version 0"]


def test_what_people_have_to_write_has_headings(lake, tmp_path):
    text = card(lake, tmp_path / "out")
    for heading in ("Motivation", "Collection", "Uses and maintenance"):
        assert f"## {heading}\n\n*To be written: " in text


def test_items_before_annotation_are_counted_too(lake, tmp_path):
    item = {"item_id": "i", "noun": "leg", "adjective": "dead", "relation": "HasA"}
    write_rows(lake, "adept_items", [{**item, "edition": "mine"}, {**item, "edition": "other"}])
    text = card(lake, tmp_path / "out")
    assert "### Table adept_items\n" in text and "By `relation` [12]:" in text
    assert "| HasA | 1 |" in text
    assert "- words of `sentence`: no row has a text [19]" in text


def test_each_edition_of_a_release_has_the_drops_of_its_import(lake, tmp_path):
    editions = ("published", "published_wider")
    write_rows(lake, "adept", [{**ROW, "edition": edition} for edition in editions])
    dropped = ("import_published/adept", "adept", "no label", 4, "d")
    write_rows(lake, "dropped", rows(DROPPED, dropped))
    for edition in editions:
        assert "| adept | no label | 4 | d |" in card(lake, tmp_path / edition, edition)
    assert "no label" not in card(lake, tmp_path / "mine")


def test_an_edition_without_drops_says_so(lake, tmp_path):
    write_rows(lake, "adept", [{**ROW, "edition": "other"}])
    assert "No row was dropped [11]." in card(lake, tmp_path / "out", "other")


def test_commits_are_those_since_the_edition_was_replaced(tmp_path):
    lake = str(tmp_path / "lake")
    data = pa.Table.from_pylist([ROW], table("adept").schema)
    arrow.append(lake, "adept", data, job="first")
    arrow.replace(lake, "adept", data, {"edition": "mine"}, job="second")
    other = pa.Table.from_pylist([{**ROW, "edition": "other"}], table("adept").schema)
    arrow.replace(lake, "adept", other, {"edition": "other"}, job="elsewhere")
    arrow.append(lake, "adept", data, job="third")
    jobs = [commit.job for commit in edition_commits(lake, "adept", "mine")]
    assert jobs == ["second", "third"]
    out = tmp_path / "out"
    text = card(lake, out)
    assert "| second |" in text and "| third |" in text and "| first |" not in text
    assert "The lake has no record of dropped rows" in text
    assert "third, code" in (out / "LICENSE.md").read_text(encoding="utf-8")


def test_the_newest_commit_stands_for_a_log_without_the_edition(lake):
    from adnominal.analysis.export.content import Content

    exported = Content("adept", "none", (), ("adept",))
    (origin,) = origins(lake, exported)
    assert origin.job == "test_job"
