"""The first page: states, first results with intervals, and commands for missing results."""

import pyarrow as pa

from adnominal.analysis.papers.overview import overview, summary
from adnominal.analysis.rendering.blocks import (
    Block,
    NotRun,
    Part,
    Report,
    RunsText,
    Section,
    Table,
    Text,
)
from adnominal.analysis.rendering.html import html

RESULTS = pa.table(
    {
        "": ["BERT", "majority", "wide"],
        "val": ["70.8\nours 70.6 [68.4, 72.8]\n−0.2 [−2.4, 2.0]", "66.4", "1\nours 2\n[1, 3]\n+1"],
    }
)
PARTS = [
    Part(
        "a",
        "ADEPT: adjectives",
        [
            Section("a-1", "Table 1: counts", [NotRun("counts", "adnominal build adept lake=x")]),
            Section("a-2", "Table 2: models", [Table("models", RESULTS)]),
        ],
    ),
    Part("b", "PLANE", [Section("b-1", "Words", [Text("nothing")])]),
]


def test_the_summary_has_states_results_and_missing_results():
    states, results, missing = summary(PARTS)
    assert isinstance(states, Table) and isinstance(results, Table) and isinstance(missing, Table)
    assert [list(row.values()) for row in states.data.to_pylist()] == [
        ["ADEPT", 2, 1, 1],
        ["PLANE", 1, 0, 0],
    ]
    assert [(row["row"], row["published"], row["ours"]) for row in results.data.to_pylist()] == [
        ("BERT", "70.8", "70.6 [68.4, 72.8]"),
        ("wide", "1", "2 [1, 3]"),
    ]
    assert missing.folded
    assert missing.data.column("command").to_pylist() == ["adnominal build adept lake=x"]


def test_a_summary_without_results_says_so():
    _, text = summary(PARTS[1:])
    assert isinstance(text, Text) and "yet" in text.text


def test_missing_results_are_folded_and_the_page_can_be_searched():
    text = html(Report("T", summary(PARTS), PARTS), {})
    assert "<aside><details><summary><b>Not run:</b> counts</summary>" in text
    assert "<details><summary>What is missing, and the command for each</summary>" in text
    assert 'type="search"' in text and "prefers-color-scheme: dark" in text


def test_every_printed_table_has_a_state():
    counted = Table("cells", RESULTS, printed={"recomputed": 2, "not run": 3})
    named = RunsText("Runs: MiniLM 1f.", (("MiniLM", "1f"),))
    by_run: list[Block] = [counted, named, NotRun("c", "train")]
    sections = [
        Section("a-1", "Table 1: counts", [NotRun("counts", "build")]),
        Section("a-2", "Table 2: models", by_run),
        Section("a-3", "Figure 2: shares", [Table("rows of the lake", RESULTS)]),
        Section("a-4", "Artefacts", [Table("ours alone", RESULTS)]),
        Section("a-5", "Section 4: people", [Table("p", RESULTS, printed={"not recomputable": 4})]),
        # A baseline alone does not count as a run.
        Section("a-6", "Table 3: models", [counted, NotRun("c", "train")]),
    ]
    table, text = overview([Part("asp", "ASP: scales", sections)])
    assert isinstance(table, Table) and isinstance(text, Text)
    rows = {row["table or figure"].split(":")[0]: row for row in table.data.to_pylist()}
    states = {name: row["state"] for name, row in rows.items()}
    assert states.pop("Section 4") == "not recomputable"
    assert list(states.values()) == [
        "not run",
        "run in part",
        "recomputed",
        "recomputed in part",
        "no result",
    ]
    assert rows["Table 2"]["runs"] == "MiniLM: 1f" and rows["Table 3"]["runs"] is None
    assert (rows["Table 2"]["printed"], rows["Table 2"]["recomputed"]) == (5, 2)
    assert rows["Table 1"]["missing"] == "build"
    assert "Of 6 printed tables and figures" in text.text
    assert overview([Part("cross_task", "Across", [Section("x", "Artefacts", [])])]) == []
