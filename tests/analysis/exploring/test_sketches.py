"""Rows of views: order, filters, differences, words, pairs, and the command that gives the same."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from analysis.exploring import words
from analysis.exploring.pairs import pair
from analysis.exploring.sketches import Query, Sketches, tsv
from conf import UserError
from conf.commandline.__main__ import main
from etl.lake import arrow
from tests.lake_of_pairs import SCRIPT, write_pairs


def names(answer: dict[str, Any], column: str = "adjective") -> list[str]:
    return [row[column] for row in answer["rows"]]


def test_a_noun_has_its_adjectives_in_the_order_of_the_measure(sketches: Sketches) -> None:
    by_count = sketches.sketch(Query("noun", "key", corpus="news", measure="count"))
    assert names(by_count) == ["old", "false", "small"]
    assert by_count["total"] == 3 and by_count["words"] == {"news": 15, "web": 9}
    stored = {
        row["adjective"]: row["log_dice"]
        for row in arrow.read(sketches.lake, "amod_association").to_pylist()
        if row["noun"] == "key" and row["corpus"] == "news"
    }
    by_dice = sketches.sketch(Query("noun", "key", corpus="news"))
    assert names(by_dice) == sorted(stored, key=lambda word: -stored[word])
    assert [row["log_dice"] for row in by_dice["rows"]] == sorted(stored.values(), reverse=True)


def test_an_adjective_has_its_nouns_in_every_corpus(sketches: Sketches) -> None:
    answer = sketches.sketch(Query("adjective", "false", measure="count"))
    assert [(row["noun"], row["corpus"]) for row in answer["rows"]] == [
        ("key", "news"),
        ("name", "news"),
        ("key", "web"),
    ]
    assert {row["class"] for row in answer["rows"]} == {"O"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"floor": 3}, ["old", "false"]),
        ({"classes": ("O",)}, ["false"]),
        ({"classes": ("S",)}, ["old", "small"]),
        ({"classes": ("I",)}, []),
        ({"limit": 1}, ["old"]),
        ({"limit": 0}, ["old", "false", "small"]),
    ],
)
def test_filters(sketches: Sketches, change: dict[str, Any], expected: list[str]) -> None:
    query = Query("noun", "key", corpus="news", measure="count", **change)
    assert names(sketches.sketch(query)) == expected


def test_adjectives_without_a_class(sketches: Sketches) -> None:
    answer = sketches.sketch(Query("noun", "key", classes=("none",)))
    assert names(answer) == ["public"]


def test_difference_of_two_words(sketches: Sketches) -> None:
    query = Query("noun", "key", other="door", corpus="news", measure="count")
    rows = sketches.difference(query)["rows"]
    assert [(row["word"], row["first"], row["second"], row["difference"]) for row in rows] == [
        ("false", 4, None, 4),
        ("old", 9, 5, 4),
        ("small", 2, None, 2),
        ("wooden", None, 7, -7),
    ]


def test_the_floor_of_a_difference_holds_for_either_side(sketches: Sketches) -> None:
    """A collocate that both sides have is not shown as one side's own."""
    query = Query("noun", "key", corpus="news", other_corpus="web", measure="count", floor=3)
    rows = sketches.difference(query)["rows"]
    assert [(row["word"], row["first"], row["second"]) for row in rows] == [
        ("old", 9, None),
        ("false", 4, 1),
        ("public", None, 8),
    ]
    # Of several corpora, one whose count reaches the floor comes before a greater measure.
    rows = sketches.difference(Query("noun", "key", other="door", floor=3))["rows"]
    assert [row["second_count"] for row in rows if row["word"] == "wooden"] == [7]


def test_difference_of_a_word_in_two_corpora(sketches: Sketches) -> None:
    query = Query("noun", "key", corpus="news", other_corpus="web", measure="count")
    rows = sketches.difference(query)["rows"]
    assert [(row["word"], row["difference"]) for row in rows] == [
        ("old", 9),
        ("false", 3),
        ("small", 2),
        ("public", -8),
    ]


def test_an_unknown_word_gets_the_nearest_ones(sketches: Sketches) -> None:
    answer = sketches.sketch(Query("noun", "dor"))
    assert (answer["rows"], answer["nearest"]) == ([], ["door"])
    beside = sketches.difference(Query("noun", "key", other="nane"))
    assert (beside["unknown"], beside["nearest"]) == (["nane"], ["name"])


def test_capitals_and_decomposed_letters_are_found(sketches: Sketches, tmp_path: Path) -> None:
    answer = sketches.sketch(Query("noun", "KEY", measure="count", limit=1))
    assert (answer["word"], names(answer, "noun")) == ("key", ["key"])
    assert sketches.sketch(Query("adjective", "nai\u0308ve"))["word"] == "naïve"
    beside = sketches.difference(Query("noun", "Key", other="DOOR"))
    assert (beside["word"], beside["other"], beside["unknown"]) == ("key", "door", [])
    unknown = sketches.sketch(Query("noun", "DOR"))
    assert (unknown["word"], unknown["nearest"]) == ("DOR", ["door"])
    write_pairs(str(tmp_path / "lake"), {"cased": [("Old", "Key", 3), ("old", "key", 2)]})
    cased = Sketches(str(tmp_path / "lake"), tmp_path / "cache")
    assert names(cased.sketch(Query("noun", "Key"))) == ["Old"]


def test_suggestions_are_the_most_frequent_words_that_begin_so(sketches: Sketches) -> None:
    vocabulary = sketches.words["noun"]
    assert [(one.word, one.count) for one in vocabulary.beginning("", 2)] == [
        ("key", 24),
        ("door", 14),
    ]
    assert [one.word for one in vocabulary.beginning("q", 5)] == ["question"]
    assert [one.word for one in sketches.words["adjective"].beginning("naï", 5)] == ["naïve"]
    assert vocabulary.beginning("x", 5) == []


def test_a_suggestion_has_its_count_in_all_corpora(tmp_path: Path) -> None:
    counts = {
        name: [("old", f"h{name}{number:02}", 10) for number in range(12)] + [("old", "hand", 9)]
        for name in "ab"
    }
    counts["b"].append(("old", "ha00", 8))
    write_pairs(str(tmp_path / "lake"), counts)
    vocabulary = Sketches(str(tmp_path / "lake"), tmp_path / "cache").words["noun"]
    first = [(one.word, one.count) for one in vocabulary.beginning("h", 12)][:3]
    assert first == [("ha00", 18), ("hand", 18), ("ha01", 10)]


def test_words_beyond_those_kept_are_found_in_the_table(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "_MOST", 1)
    few = Sketches(str(lake), tmp_path)
    assert few.words["noun"].file("news", "question") is None
    assert names(few.sketch(Query("noun", "question", corpus="news"))) == ["naïve"]


def test_words_are_read_once_for_each_version(lake: Path, tmp_path: Path) -> None:
    Sketches(str(lake), tmp_path)
    stored = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    Sketches(str(lake), tmp_path)
    assert stored == {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}


def test_damaged_lists_are_made_again(lake: Path, tmp_path: Path) -> None:
    Sketches(str(lake), tmp_path)
    stored = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for path, content in stored.items():
        path.write_bytes(content[: len(content) // 2])
    assert names(Sketches(str(lake), tmp_path).sketch(Query("noun", "question"))) == ["naïve"]
    assert stored == {path: path.read_bytes() for path in tmp_path.iterdir()}


def test_a_cache_that_cannot_be_written_is_done_without(
    lake: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "inside"):
        caplog.clear()
        assert names(Sketches(str(lake), folder).sketch(Query("noun", "question"))) == ["naïve"]
        assert f"cache={folder}: " in caplog.text and "give another folder" in caplog.text


@pytest.mark.parametrize(
    ("values", "way_out"),
    [
        ({"role": "verb"}, "expected one of noun, adjective"),
        ({"measure": "logdice"}, "did you mean 'log_dice'"),
        ({"floor": 0}, "expected 1 or more"),
        ({"other_corpus": "web"}, "give both"),
        ({"corpus": "newz"}, "did you mean 'news'"),
    ],
)
def test_wrong_queries(sketches: Sketches, values: dict[str, Any], way_out: str) -> None:
    with pytest.raises(UserError, match=way_out):
        sketches.sketch(Query(**{"role": "noun", "word": "key", **values}))


def test_a_pair_has_examples_items_and_predictions(lake: Path) -> None:
    details = pair(str(lake), "false", "key")
    assert [row["sentence"] for row in details["examples"]] == [SCRIPT, "A false key."]
    assert [(item["dataset"], item["label"]) for item in details["items"]] == [
        ("ADEPT", "1"),
        ("PLANE", "0"),
    ]
    assert [(row["item_id"], row["predicted"]) for row in details["predictions"]] == [("p1", "1")]
    assert pair(str(lake), "old", "key")["items"][0]["dataset"] == "ASP"
    assert pair(str(lake), "new", "key") == {"examples": [], "items": [], "predictions": []}


@pytest.mark.parametrize(
    "query",
    [
        Query("noun", "key", measure="count", floor=2, classes=("S", "O")),
        Query("adjective", "wooden", corpus="web"),
        Query("noun", "key", other="door", measure="pmi", limit=3),
        Query("noun", "key", corpus="news", other_corpus="web"),
    ],
)
def test_the_command_prints_the_rows_of_the_view(
    sketches: Sketches, query: Query, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = sketches.difference(query) if query.compares else sketches.sketch(query)
    words_of_command = shlex.split(answer["command"])
    assert words_of_command[:2] == ["adnominal", "explore"]
    assert main([*words_of_command[1:], f"cache={tmp_path}"]) == 0
    assert capsys.readouterr().out == tsv(answer["rows"])


def test_null_and_none_are_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_pairs(str(tmp_path / "lake"), {"none": [("null", "hypothesis", 3), ("none", "null", 2)]})
    sketches = Sketches(str(tmp_path / "lake"), tmp_path / "cache")
    for query in (Query("adjective", "null"), Query("noun", "null", "hypothesis", "none")):
        answer = sketches.difference(query) if query.compares else sketches.sketch(query)
        assert main([*shlex.split(answer["command"])[1:], f"cache={tmp_path}/cache"]) == 0
        assert capsys.readouterr().out == tsv(answer["rows"]) != ""


def test_no_rows_is_an_error_with_a_way_out(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["explore", f"lake={lake}", f"cache={tmp_path}"]
    for query in (["noun=dor"], ["noun=key", "other=dor"], ["noun=dor", "other=key"]):
        assert main([*arguments, *query]) == 1
        printed = capsys.readouterr()
        assert not printed.out
        assert "no pair has the noun 'dor'; spelt alike: door" in printed.err
    for query, text in (
        (["noun=zyx"], "no pair has the noun 'zyx'\n"),
        (["noun=key", "floor=99"], "no pairs of the noun 'key' with these filters; a lower floor="),
    ):
        assert main([*arguments, *query]) == 1
        assert text in capsys.readouterr().err
