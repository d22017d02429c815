"""The first page: states, first results with intervals, and commands of what is missing."""

from __future__ import annotations

import pyarrow as pa

from analysis.reporting.html import html
from analysis.reporting.page import NotRun, Part, Report, Section, Table, Text
from analysis.reporting.summary import summary

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


def test_what_was_run_what_came_of_it_and_what_is_missing() -> None:
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


def test_without_results_it_says_so() -> None:
    _, text = summary(PARTS[1:])
    assert isinstance(text, Text) and "yet" in text.text


def test_what_was_not_run_is_folded_and_the_page_can_be_searched() -> None:
    text = html(Report("T", summary(PARTS), PARTS), {})
    assert "<aside><details><summary><b>Not run:</b> counts</summary>" in text
    assert "<details><summary>What is missing, and the command for each</summary>" in text
    assert 'type="search"' in text and "prefers-color-scheme: dark" in text
