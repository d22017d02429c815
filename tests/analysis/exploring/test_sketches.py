"""The rows of views and pairs, suggested words, and the command that prints the same rows."""

import shlex
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from adnominal.analysis.exploring import words
from adnominal.analysis.exploring.differences import contrast
from adnominal.analysis.exploring.pairs import pair
from adnominal.analysis.exploring.queries import Query
from adnominal.analysis.exploring.sketches import Sketches, tsv
from adnominal.conf import UserError
from adnominal.conf.commandline.__main__ import main
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import LOOKED_UP
from tests.lake_of_pairs import SCRIPT, association, write_pairs
from tests.rows import rows, write


def names(answer: dict[str, Any], column: str = "adjective") -> list[str]:
    return [row[column] for row in answer["rows"]]


def test_adjectives_of_a_noun_are_ordered_by_the_measure(sketches):
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


def test_an_adjective_has_nouns_of_every_corpus(sketches):
    answer = sketches.sketch(Query("adjective", "false", measure="count"))
    assert [(row["noun"], row["corpus"]) for row in answer["rows"]] == [
        ("key", "news"),
        ("name", "news"),
        ("key", "web"),
    ]
    assert {row["class"] for row in answer["rows"]} == {"O"}


def test_a_collocate_has_one_row_with_its_count_in_each_corpus(sketches):
    query = Query("adjective", "false", measure="count")
    rows = sketches.collocates(query)["rows"]
    counts = [(row["noun"], row["corpus"], row["count_news"], row["count_web"]) for row in rows]
    assert counts == [("key", "news", 4, 1), ("name", "news", 3, 0)]
    rows = sketches.collocates(replace(query, corpus="web"))["rows"]
    assert [(row["noun"], row["count"]) for row in rows] == [("key", 1)]
    assert "count_web" not in rows[0]


def test_rows_are_sorted_by_the_measure_in_one_corpus(sketches):
    query = Query("noun", "key", measure="count", sort_corpus="web")
    rows = sketches.collocates(query)["rows"]
    counts = [(row["adjective"], row["count_web"], row["count_news"]) for row in rows]
    assert counts == [("public", 8, 0), ("false", 1, 4), ("old", 0, 9), ("small", 0, 2)]
    assert rows[0]["log_dice"] is not None and rows[2]["log_dice"] is None
    assert names(sketches.collocates(replace(query, limit=1))) == ["public"]
    # A pair that is frequent enough in another corpus is shown.
    assert names(sketches.collocates(replace(query, floor=4))) == ["public", "false", "old"]


def test_the_default_minimum_count_follows_the_number_of_frequent_collocates(tmp_path):
    frequent = [(f"frequent{number}", "key", 3) for number in range(10)]
    few = [(f"frequent{number}", "door", 3) for number in range(9)]
    rare = [("rare", "key", 1), ("rare", "door", 1)]
    write_pairs(str(tmp_path / "lake"), {"news": [*frequent, *few, *rare]})
    sketches = Sketches(str(tmp_path / "lake"), tmp_path / "cache")
    for ask in (sketches.sketch, sketches.collocates):
        key, door = ask(Query("noun", "key")), ask(Query("noun", "door"))
        assert (key["floor"], key["total"]) == (3, 10)
        assert (door["floor"], door["total"]) == (1, 10)
        assert ask(Query("noun", "key", floor=1))["total"] == 11
    difference = sketches.difference(Query("noun", "key", other="door"))
    assert (difference["floor"], difference["total"]) == (3, 10)
    assert "floor=3" in difference["command"]


def test_determiners_are_hidden_and_comparatives_folded(tmp_path):
    pairs = [("same", "key", 9), ("old", "key", 4), ("older", "key", 3), ("oldest", "key", 1)]
    pairs += [("older", "door", 5), ("upper", "key", 2), ("worse", "key", 2)]
    write_pairs(str(tmp_path / "lake"), {"news": pairs})
    sketches = Sketches(str(tmp_path / "lake"), tmp_path / "cache")
    query = Query("noun", "key", measure="count", hide_determiners=True)
    assert names(sketches.collocates(query)) == ["old", "older", "upper", "worse", "oldest"]
    folded = sketches.collocates(replace(query, fold=True))["rows"]
    counts = [(row["adjective"], row["count"], row["adjective_count"]) for row in folded]
    # There is no "bad" that "worse" could be counted as.
    assert counts == [("old", 8, 13), ("upper", 2, 2), ("worse", 2, 2)]
    assert folded[0]["log_dice"] == pytest.approx(14 + np.log2(2 * 8 / (13 + 21)))
    nouns = sketches.collocates(Query("adjective", "older", measure="count", fold=True))
    assert nouns["word"] == "old"
    counts = [(row["noun"], row["count"], row["adjective_count"]) for row in nouns["rows"]]
    assert counts == [("key", 8, 13), ("door", 5, 13)]


def test_predicative_pairs_are_a_column_where_they_were_counted(tmp_path):
    root = str(tmp_path / "lake")
    counts = {"news": [("old", "key", 3), ("new", "key", 2)], "web": [("old", "key", 1)]}
    write_pairs(root, counts)
    columns = "corpus relation dependent head count"
    pairs = [("news", "predicative", "old", "key", 5), ("web", "predicative", "old", "key", 2)]
    pairs += [("news", "compound", "new", "key", 7)]
    write(root, "relation_pairs", rows(columns, *pairs))
    sketches = Sketches(root, tmp_path / "cache")
    answer = sketches.collocates(Query("noun", "key", measure="count"))
    predicative = [(row["adjective"], row["predicative"]) for row in answer["rows"]]
    assert predicative == [("old", 7), ("new", 0)]
    answer = sketches.collocates(Query("adjective", "old", corpus="web"))
    assert [row["predicative"] for row in answer["rows"]] == [2]
    assert sketches.collocates(Query("noun", "kye"))["nearest"] == ["key"]


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
def test_rows_are_filtered(sketches, change, expected):
    query = Query("noun", "key", corpus="news", measure="count", **change)
    assert names(sketches.sketch(query)) == expected


def test_rows_can_be_filtered_by_a_missing_class(sketches):
    answer = sketches.sketch(Query("noun", "key", classes=("none",)))
    assert names(answer) == ["public"]


def test_the_size_of_a_corpus_is_its_tokens_that_were_read(tmp_path):
    root = str(tmp_path / "lake")
    write_pairs(root, {"news": [("old", "key", 3)]})
    assert Sketches(root, tmp_path / "cache").tokens == {}
    columns = "corpus path bytes wave status sentences tokens pairs rejected_lines"
    files = [("news", "a", 1, 0, "done", 2, 600, 3, 0), ("news", "b", 1, 1, "done", 2, 400, 3, 0)]
    when = datetime(2026, 1, 1, tzinfo=UTC)
    write(root, "amod_files", rows(columns, *files, modified=when, reason=None))
    planned = ("news", "c", 1, 1, "planned", None, None, None, None)
    write(root, "amod_files", rows(columns, planned, modified=when, reason=None))
    assert Sketches(root, tmp_path / "cache").tokens == {"news": 1000}


def blocks(answer: dict[str, Any]) -> list[tuple[Any, ...]]:
    columns = ("block", "word", "first", "second", "difference")
    return [tuple(row[name] for name in columns) for row in answer["rows"]]


def test_two_words_are_compared_in_three_blocks(sketches):
    query = Query("noun", "key", other="door", corpus="news", measure="count")
    answer = sketches.difference(query)
    assert blocks(answer) == [
        ("first", "false", 4, None, None),
        ("first", "small", 2, None, None),
        ("both", "old", 9, 5, 4),
        ("second", "wooden", None, 7, None),
    ]
    assert answer["totals"] == {"first": 2, "both": 1, "second": 1}
    limited = sketches.difference(replace(query, limit=1))
    assert [row["word"] for row in limited["rows"]] == ["false", "old", "wooden"]


def test_strong_contrasts_come_first(tmp_path):
    """A rare collocate with a greater difference of logDice stands below *young* and *old*."""
    pairs = [("young", "man", 500), ("young", "woman", 900), ("old", "man", 800)]
    pairs += [("old", "woman", 400), ("stray", "man", 1), ("stray", "woman", 6)]
    pairs += [("tall", "man", 90), ("tall", "woman", 100)]
    write_pairs(str(tmp_path / "lake"), {"news": pairs})
    sketches = Sketches(str(tmp_path / "lake"), tmp_path / "cache")
    rows = sketches.difference(Query("noun", "man", other="woman"))["rows"]
    assert [row["word"] for row in rows] == ["old", "young", "stray", "tall"]
    assert abs(rows[2]["difference"]) > abs(rows[0]["difference"])


def test_the_contrast_is_the_log_likelihood_ratio():
    """The counts of Rayson and Garside (2000), in a table with all four cells."""
    table = [[30, 970], [10, 1990]]
    expected = log_likelihood(table)
    value = contrast(np.array([30]), np.array([10]), 1000, 2000)
    assert value.tolist() == pytest.approx([expected])
    assert contrast(np.array([0, 5]), np.array([0, 10]), 100, 200).tolist() == [0, 0]


def log_likelihood(table: list[list[int]]) -> float:
    cells = np.array(table)
    expected = np.outer(cells.sum(1), cells.sum(0)) / cells.sum()
    return float(2 * (cells * np.log(cells / expected)).sum())


def test_the_floor_of_a_difference_applies_to_either_side(sketches):
    """A collocate below the floor on one side is still shown as belonging to both."""
    query = Query("noun", "key", corpus="news", other_corpus="web", measure="count", floor=3)
    assert blocks(sketches.difference(query)) == [
        ("first", "old", 9, None, None),
        ("both", "false", 4, 1, 3),
        ("second", "public", None, 8, None),
    ]
    # A corpus whose count reaches the floor is preferred to one with a greater measure.
    query = Query("noun", "key", other="door", floor=3)
    rows_of_all = {row["word"]: row for row in sketches.difference(query)["rows"]}
    in_news = {
        row["word"]: row for row in sketches.difference(replace(query, corpus="news"))["rows"]
    }
    assert rows_of_all["wooden"]["second"] == in_news["wooden"]["second"]
    # The counts are sums, as in the contrast.
    assert [rows["wooden"]["second_count"] for rows in (rows_of_all, in_news)] == [9, 7]


def test_a_word_is_compared_in_two_corpora(sketches):
    query = Query("noun", "key", corpus="news", other_corpus="web", measure="count")
    words_and_differences = [(row[1], row[4]) for row in blocks(sketches.difference(query))]
    assert words_and_differences == [
        ("old", None),
        ("small", None),
        ("false", 3),
        ("public", None),
    ]


@pytest.mark.parametrize(
    ("role", "word", "hints"),
    [
        ("noun", "wooden", [("wooden is an adjective: show its nouns", "wooden")]),
        ("adjective", "Key", [("key is a noun: show its adjectives", "key")]),
        ("noun", "doors", [("doors is a form of door", "door")]),
        ("adjective", "doors", [("doors is a form of door", "door")]),
        ("noun", "Old Keys", [("old key is an adjective and a noun: show the pair", "old key")]),
        ("noun", "old zebra", []),
        ("noun", "wodden key", []),
        ("noun", "zyx", []),
    ],
)
def test_a_failed_search_says_what_may_have_been_meant(sketches, role, word, hints):
    answer = sketches.view(Query(role, word))
    targets = [
        (hint["text"], hint.get("word") or f"{hint['adjective']} {hint['noun']}")
        for hint in answer["hints"]
    ]
    assert targets == hints and not answer["rows"]
    assert not (answer["hints"] and answer["nearest"])


def test_for_an_unknown_word_similar_words_are_suggested(sketches):
    answer = sketches.sketch(Query("noun", "dor"))
    assert (answer["rows"], answer["nearest"]) == ([], ["door"])
    comparison = sketches.difference(Query("noun", "key", other="nane"))
    assert (comparison["unknown"], comparison["nearest"]) == (["nane"], ["name"])


def test_capitals_and_decomposed_letters_are_found(sketches, tmp_path):
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


def test_suggestions_are_the_most_frequent_words_with_the_prefix(sketches):
    vocabulary = sketches.words["noun"]
    assert [(entry.word, entry.count) for entry in vocabulary.beginning("", 2)] == [
        ("key", 24),
        ("door", 14),
    ]
    assert [entry.word for entry in vocabulary.beginning("q", 5)] == ["question"]
    assert [entry.word for entry in sketches.words["adjective"].beginning("naï", 5)] == ["naïve"]
    assert vocabulary.beginning("x", 5) == []


def test_a_word_in_two_row_groups_is_listed_once(tmp_path):
    lake = str(tmp_path / "lake")
    pairs = [(f"adjective{number}", "key", 2) for number in range(LOOKED_UP + 1)]
    write_pairs(lake, {"web": [*pairs, ("old", "door", 1)]})
    nouns = Sketches(lake, tmp_path / "cache").words["noun"]
    listed = [(entry.word, entry.count) for entry in nouns.beginning("", 5)]
    assert listed == [("key", 2 * len(pairs)), ("door", 1)]


def test_a_suggestion_has_its_total_count_in_all_corpora(tmp_path):
    counts = {
        name: [("old", f"h{name}{number:02}", 10) for number in range(12)] + [("old", "hand", 9)]
        for name in "ab"
    }
    counts["b"].append(("old", "ha00", 8))
    write_pairs(str(tmp_path / "lake"), counts)
    vocabulary = Sketches(str(tmp_path / "lake"), tmp_path / "cache").words["noun"]
    first = [(entry.word, entry.count) for entry in vocabulary.beginning("h", 12)][:3]
    assert first == [("ha00", 18), ("hand", 18), ("ha01", 10)]


def test_words_beyond_the_cached_ones_are_found_in_the_table(lake, tmp_path, monkeypatch):
    monkeypatch.setattr(words, "_MOST", 1)
    sketches = Sketches(str(lake), tmp_path)
    assert sketches.words["noun"].file("news", "question") is None
    assert names(sketches.sketch(Query("noun", "question", corpus="news"))) == ["naïve"]


def test_words_are_cached_for_each_version(lake, tmp_path):
    Sketches(str(lake), tmp_path)
    stored = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    Sketches(str(lake), tmp_path)
    assert stored == {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}


def test_damaged_cache_files_are_rewritten(lake, tmp_path):
    Sketches(str(lake), tmp_path)
    stored = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for path, content in stored.items():
        path.write_bytes(content[: len(content) // 2])
    assert names(Sketches(str(lake), tmp_path).sketch(Query("noun", "question"))) == ["naïve"]
    assert stored == {path: path.read_bytes() for path in tmp_path.iterdir()}


def test_without_a_writable_cache_sketches_still_work(lake, tmp_path, caplog):
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "inside"):
        caplog.clear()
        assert names(Sketches(str(lake), folder).sketch(Query("noun", "question"))) == ["naïve"]
        assert f"cache={folder}: " in caplog.text and "give another folder" in caplog.text


@pytest.mark.parametrize(
    ("values", "remedy"),
    [
        ({"role": "verb"}, "expected one of noun, adjective"),
        ({"measure": "logdice"}, "did you mean 'log_dice'"),
        ({"floor": 0}, "expected 1 or more"),
        ({"other_corpus": "web"}, "give both"),
        ({"corpus": "newz"}, "did you mean 'news'"),
        ({"sort_corpus": "wep"}, "did you mean 'web'"),
        ({"sort_corpus": "web", "corpus": "web"}, "sort_corpus= orders the rows of all corpora"),
    ],
)
def test_wrong_queries_are_refused(sketches, values, remedy):
    with pytest.raises(UserError, match=remedy):
        sketches.sketch(Query(**{"role": "noun", "word": "key", **values}))


def test_a_pair_has_examples_items_and_predictions(lake):
    details = pair(str(lake), "false", "key")
    assert [row["sentence"] for row in details["examples"]] == [SCRIPT, "A false key."]
    assert [(item["dataset"], item["label"]) for item in details["items"]] == [
        ("ADEPT", "1"),
        ("PLANE", "0"),
    ]
    assert [(row["item_id"], row["predicted"]) for row in details["predictions"]] == [("p1", "1")]
    assert pair(str(lake), "old", "key")["items"][0]["dataset"] == "ASP"
    assert details["examples_total"] == 2 and details["noun_forms"] == ["key", "keys"]
    nothing = pair(str(lake), "new", "key")
    assert [nothing[name] for name in ("examples", "items", "predictions")] == [[], [], []]


@pytest.mark.parametrize(
    "query",
    [
        Query("noun", "key", measure="count", floor=2, classes=("S", "O")),
        Query("adjective", "wooden", corpus="web"),
        Query("noun", "key", other="door", measure="pmi", limit=3),
        Query("noun", "key", corpus="news", other_corpus="web"),
        Query("noun", "key", sort_corpus="web", hide_determiners=True, fold=True),
    ],
)
def test_the_command_prints_the_rows_of_the_view(sketches, query, tmp_path, capsys):
    answer = sketches.view(query)
    words_of_command = shlex.split(answer["command"])
    assert words_of_command[:2] == ["adnominal", "explore"]
    assert main([*words_of_command[1:], f"cache={tmp_path}"]) == 0
    assert capsys.readouterr().out == tsv(answer["rows"])


def test_null_and_none_are_words(tmp_path, capsys):
    write_pairs(str(tmp_path / "lake"), {"none": [("null", "hypothesis", 3), ("none", "null", 2)]})
    sketches = Sketches(str(tmp_path / "lake"), tmp_path / "cache")
    for query in (Query("adjective", "null"), Query("noun", "null", "hypothesis", "none")):
        answer = sketches.view(query)
        assert main([*shlex.split(answer["command"])[1:], f"cache={tmp_path}/cache"]) == 0
        assert capsys.readouterr().out == tsv(answer["rows"]) != ""


def test_an_empty_result_is_an_error_that_names_similar_words(lake, tmp_path, capsys):
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


def test_a_corpus_without_rows_by_adjective_is_refused(tmp_path):
    root = str(tmp_path / "lake")
    write_pairs(root, {"new": [("false", "key", 1)]})
    arrow.append(root, "amod_association", association("old", [("false", "door", 1)]), job="test")
    with pytest.raises(UserError, match=r"lacks the corpus old, .* run the command"):
        Sketches(root, tmp_path / "cache")
