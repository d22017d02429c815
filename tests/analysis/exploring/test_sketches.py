"""The rows of views and pairs, suggested words, and the command that prints the same rows."""

import shlex
from typing import Any

import pytest

from adnominal.analysis.exploring import words
from adnominal.analysis.exploring.pairs import pair
from adnominal.analysis.exploring.sketches import Query, Sketches, tsv
from adnominal.conf import UserError
from adnominal.conf.commandline.__main__ import main
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import LOOKED_UP
from tests.lake_of_pairs import SCRIPT, association, write_pairs


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


def test_two_words_are_compared(sketches):
    query = Query("noun", "key", other="door", corpus="news", measure="count")
    rows = sketches.difference(query)["rows"]
    assert [(row["word"], row["first"], row["second"], row["difference"]) for row in rows] == [
        ("false", 4, None, 4),
        ("old", 9, 5, 4),
        ("small", 2, None, 2),
        ("wooden", None, 7, -7),
    ]


def test_the_floor_of_a_difference_applies_to_either_side(sketches):
    """A collocate below the floor on one side is still shown as belonging to both."""
    query = Query("noun", "key", corpus="news", other_corpus="web", measure="count", floor=3)
    rows = sketches.difference(query)["rows"]
    assert [(row["word"], row["first"], row["second"]) for row in rows] == [
        ("old", 9, None),
        ("false", 4, 1),
        ("public", None, 8),
    ]
    # A corpus whose count reaches the floor is preferred to one with a greater measure.
    rows = sketches.difference(Query("noun", "key", other="door", floor=3))["rows"]
    assert [row["second_count"] for row in rows if row["word"] == "wooden"] == [7]


def test_a_word_is_compared_in_two_corpora(sketches):
    query = Query("noun", "key", corpus="news", other_corpus="web", measure="count")
    rows = sketches.difference(query)["rows"]
    assert [(row["word"], row["difference"]) for row in rows] == [
        ("old", 9),
        ("false", 3),
        ("small", 2),
        ("public", -8),
    ]


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
def test_the_command_prints_the_rows_of_the_view(sketches, query, tmp_path, capsys):
    answer = sketches.difference(query) if query.compares else sketches.sketch(query)
    words_of_command = shlex.split(answer["command"])
    assert words_of_command[:2] == ["adnominal", "explore"]
    assert main([*words_of_command[1:], f"cache={tmp_path}"]) == 0
    assert capsys.readouterr().out == tsv(answer["rows"])


def test_null_and_none_are_words(tmp_path, capsys):
    write_pairs(str(tmp_path / "lake"), {"none": [("null", "hypothesis", 3), ("none", "null", 2)]})
    sketches = Sketches(str(tmp_path / "lake"), tmp_path / "cache")
    for query in (Query("adjective", "null"), Query("noun", "null", "hypothesis", "none")):
        answer = sketches.difference(query) if query.compares else sketches.sketch(query)
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
