import csv
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adnominal import conf
from adnominal.conf import UserError
from adnominal.conf.texts import NO_TEXT
from adnominal.etl.lake import arrow
from adnominal.etl.published.pairs import NOT_ONE_VALUE, Settings, import_pairs, read
from tests.rows import adept_row
from tests.rows import write as write_rows

ROWS = [
    {"a": 'A "big" dog', "b": "A dog", "gold": "YES", "part": "train"},
    {"a": "A fake gun", "b": "A gun", "gold": "NO", "part": "dev"},
    {"a": "A fake gun", "b": "A gun", "gold": "?", "part": "test"},
]
COLUMNS = ["premise=a", "hypothesis=b", "label=gold", "labels=YES:entailment,NO:not_entailment"]


def settings(file, *words):
    return conf.load(Settings, [f"file={file}", "source=mine", *words])


def write(path, rows):
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        tabs: dict[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE, "quotechar": None}
        with path.open("w", encoding="utf-8", newline="") as lines:
            writer = csv.DictWriter(lines, rows[0], **(tabs if path.suffix == ".tsv" else {}))
            writer.writeheader()
            writer.writerows(rows)
    return path


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_every_file_format_gives_the_same_rows(tmp_path, ending):
    file = write(tmp_path / f"pairs.{ending}", ROWS)
    lake = str(tmp_path / "lake")
    import_pairs(settings(file, *COLUMNS, "split=part", f"lake={lake}"))
    rows = arrow.read(lake, "nli").drop_columns("item_id").to_pylist()
    first = {"premise": 'A "big" dog', "hypothesis": "A dog", "label": "entailment"}
    second = {"premise": "A fake gun", "hypothesis": "A gun", "label": "not_entailment"}
    expected = [{**first, "split": "train"}, {**second, "split": "val"}]
    assert rows == [{"source": "mine", **row} for row in expected]
    (dropped,) = arrow.read(lake, "dropped").to_pylist()
    assert dropped["job"] == "import_pairs/mine"
    assert (dropped["reason"], dropped["count"]) == ("label '?'", 1)


def test_dates_that_python_does_not_have_are_refused(tmp_path):
    file = tmp_path / "pairs.parquet"
    dates = pa.array([2**62], pa.timestamp("us"))
    pq.write_table(pa.table({"a": dates, "b": ["A dog"], "gold": ["YES"]}), file)
    with pytest.raises(UserError, match=r"pairs\.parquet: not readable: date value out of range"):
        read(settings(file, *COLUMNS))


def test_a_source_without_training_rows_is_reported(tmp_path):
    file = write(tmp_path / "pairs.tsv", ROWS[:2])
    reading = read(settings(file, *COLUMNS))
    assert reading.notes == ["two-way labels: 2 test; no training rows, so it can only be scored"]
    assert reading.account()[0] == "pairs.tsv: 2 rows read, 0 not read"


def test_rated_pairs_are_imported_with_their_scores(tmp_path):
    rows = [
        {"m": "Red", "h": "apple", "mean": 4.5},
        {"m": "red", "h": "idea", "mean": "none"},
        {"m": "red", "h": "idea", "mean": 1},
    ]
    file = write(tmp_path / "ratings.csv", rows)
    lake = str(tmp_path / "lake")
    columns = ["adjective=m", "noun=h", "score=mean"]
    import_pairs(settings(file, *columns, f"lake={lake}"))
    graded_rows = arrow.read(lake, "graded_pairs").to_pylist()
    assert [(r["adjective"], r["noun"], r["score"], r["split"]) for r in graded_rows] == [
        ("red", "apple", 4.5, "test"),
        ("red", "idea", 1.0, "test"),
    ]
    assert len({r["pair_id"] for r in graded_rows}) == 2
    (dropped,) = arrow.read(lake, "dropped").to_pylist()
    assert (dropped["table"], dropped["reason"]) == ("graded_pairs", "score is not a number")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["premise=a"], "expected either premise=, hypothesis= and label="),
        ([*COLUMNS, "adjective=a"], "expected either premise="),
        ([*COLUMNS[:3], "labels=YES:true"], "expected THEIRS:OURS"),
        ([*COLUMNS[:3], "labels=a:neutral,b:not_entailment"], "expected those of one reading"),
    ],
)
def test_wrong_settings_are_refused(options, message):
    with pytest.raises(UserError, match=message):
        settings("x.csv", *options)


def test_a_row_with_more_fields_than_columns_is_dropped(tmp_path):
    file = tmp_path / "pairs.csv"
    file.write_text("gold,a,b\nYES,A big, red car,A car\nNO,A dog,A cat\n")
    reading = read(settings(file, *COLUMNS))
    assert reading.tables["nli"]["premise"].to_pylist() == ["A dog"]
    assert reading.account()[0] == "pairs.csv: 1 row read, 1 not read"
    (drop,) = reading.drops()
    assert (drop.reason, drop.count) == ("more fields than columns", 1)


def test_a_row_with_half_a_surrogate_pair_is_dropped(tmp_path):
    file = write(tmp_path / "pairs.jsonl", [ROWS[0], {**ROWS[1], "b": "A \ud800"}])
    reading = read(settings(file, *COLUMNS))
    assert reading.tables["nli"].num_rows == 1
    (drop,) = reading.drops()
    assert (drop.reason, drop.sample) == (NO_TEXT, r"pairs.jsonl:2 A fake gun A \ud800 NO")


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        (float("nan"), "empty text"),
        (float("inf"), "empty text"),
        (None, "empty text"),
        (["A gun"], NOT_ONE_VALUE),
        ({"en": "A gun"}, NOT_ONE_VALUE),
    ],
)
def test_a_row_whose_field_is_no_text_is_dropped(tmp_path, field, reason):
    file = write(tmp_path / "pairs.jsonl", [ROWS[0], {**ROWS[1], "b": field}])
    reading = read(settings(file, *COLUMNS))
    assert reading.tables["nli"].num_rows == 1
    assert [drop.reason for drop in reading.drops()] == [reason]


def test_blank_lines_are_skipped_and_endings_may_be_in_capitals(tmp_path):
    file = write(tmp_path / "pairs.jsonl", ROWS[:2]).rename(tmp_path / "PAIRS.JSONL")
    file.write_text("\n" + file.read_text().replace("\n", "\n\n"))
    assert read(settings(file, *COLUMNS)).tables["nli"].num_rows == 2
    file.write_text(file.read_text() + "{")
    with pytest.raises(UserError, match=r"line 6: not JSON \(Expecting"):
        read(settings(file, *COLUMNS))


def test_a_source_of_both_tables_keeps_the_drops_of_each(tmp_path):
    lake = f"lake={tmp_path / 'lake'}"
    sentences = write(tmp_path / "pairs.csv", ROWS)
    import_pairs(settings(sentences, *COLUMNS, lake))
    words = write(tmp_path / "words.csv", [{"a": "red", "b": "car", "n": n} for n in (1, "none")])
    columns = ["adjective=a", "noun=b", "score=n"]
    import_pairs(settings(words, *columns, lake))
    dropped = arrow.read(str(tmp_path / "lake"), "dropped").to_pylist()
    assert {(row["job"], row["table"]) for row in dropped} == {
        ("import_pairs/mine", "nli"),
        ("import_pairs/mine/graded_pairs", "graded_pairs"),
    }


def test_wrong_files_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"no such file; expected one of \.csv"):
        read(settings("none.csv", *COLUMNS))
    file = write(tmp_path / "pairs.csv", [{"a": "x", "b": "y"}])
    with pytest.raises(UserError, match="line 1 has no column gold, it has a, b"):
        read(settings(file, *COLUMNS))
    semicolons = tmp_path / "semicolons.csv"
    semicolons.write_text("a;b;gold\nA big, red car;A car;YES\n")
    assert read(settings(semicolons, *COLUMNS)).tables["nli"]["premise"][0].as_py() == (
        "A big, red car"
    )
    file = write(tmp_path / "more.csv", [{**ROWS[0], "gold": "maybe"}])
    expected = "no row can be read: label 'maybe', as more.csv:2 .* maybe; labels= knows YES, NO"
    with pytest.raises(UserError, match=expected):
        read(settings(file, *COLUMNS))
    file = write(tmp_path / "empty.csv", [{**ROWS[0], "a": ""}])
    with pytest.raises(
        UserError, match=r"no row can be read: empty text, as empty.csv:2  A dog YES$"
    ):
        read(settings(file, *COLUMNS))
    with pytest.raises(UserError, match="source=mnli: expected a name other than"):
        settings(file, "source=mnli", *COLUMNS)


def test_minimal_pairs_are_imported(tmp_path):
    rows = [
        {"g": "A dog runs.", "b": "A dog run."},
        {"g": "A dog runs.", "b": "A dog runs."},
        {"g": "A dog runs.", "b": ""},
    ]
    file = write(tmp_path / "blimp.jsonl", rows)
    lake = str(tmp_path / "lake")
    import_pairs(settings(file, "good=g", "bad=b", f"lake={lake}"))
    (row,) = arrow.read(lake, "minimal_pairs").drop_columns("pair_id").to_pylist()
    expected = {"source": "mine", "good": "A dog runs.", "bad": "A dog run.", "split": "test"}
    assert row == expected
    reasons = {row["reason"]: row["table"] for row in arrow.read(lake, "dropped").to_pylist()}
    assert reasons == dict.fromkeys(("empty text", "the same sentence twice"), "minimal_pairs")


def test_votes_on_pairs_are_imported_beside_them(tmp_path):
    rows = [
        {**ROWS[0], "votes": ["YES", "YES", "NO"]},
        {**ROWS[1], "votes": []},
        {**ROWS[1], "votes": ["?"]},
    ]
    file = write(tmp_path / "pairs.jsonl", rows)
    lake = str(tmp_path / "lake")
    import_pairs(settings(file, *COLUMNS, "votes=votes", f"lake={lake}"))
    items = arrow.read(lake, "nli").to_pylist()
    # A pair whose votes cannot be read stays without them.
    assert len(items) == 3
    votes = arrow.read(lake, "label_votes").to_pylist()
    (first,) = [row["item_id"] for row in items if row["premise"].startswith("A ")][:1]
    common = {"dataset": "nli", "edition": "mine", "item_id": first, "source": "mine"}
    assert sorted(votes, key=lambda row: row["label"]) == [
        {**common, "label": "entailment", "votes": 2},
        {**common, "label": "not_entailment", "votes": 1},
    ]
    dropped = arrow.read(lake, "dropped").to_pylist()
    assert {(row["table"], row["reason"], row["count"]) for row in dropped} == {
        ("label_votes", "no votes", 1),
        ("label_votes", "votes for the label '?'", 1),
    }


def test_votes_on_items_of_the_lake_are_imported_by_their_ids(tmp_path):
    lake = str(tmp_path / "lake")
    arrow_rows = [adept_row("i1", "dead", "dog", 0), adept_row("i2", "old", "dog", 2)]
    write_rows(lake, "adept", arrow_rows)
    rows = [
        {"id": "i1", "v": "impossible:2,1:1"},
        {"id": "i1", "v": "2:3"},
        {"id": "i2", "v": "2:-1"},
        {"id": "i3", "v": "2:3"},
    ]
    file = write(tmp_path / "votes.tsv", rows)
    options = ["item=id", "votes=v", "dataset=adept", f"lake={lake}"]
    import_pairs(settings(file, *options, "edition=published"))
    votes = arrow.read(lake, "label_votes").to_pylist()
    assert [(row["item_id"], row["label"], row["votes"]) for row in votes] == [
        ("i1", "impossible", 2),
        ("i1", "less likely", 1),
    ]
    dropped = arrow.read(lake, "dropped").to_pylist()
    reasons = {"an item of an earlier row", "negative votes", "unknown item"}
    assert {row["reason"] for row in dropped} == reasons
    assert {row["job"] for row in dropped} == {"import_pairs/mine/label_votes"}
    with pytest.raises(UserError, match="edition=clean: no items of adept"):
        import_pairs(settings(file, *options, "edition=clean"))
    write(file, rows[2:])
    with pytest.raises(UserError, match="no row has votes that can be read: negative votes"):
        import_pairs(settings(file, *options, "edition=published"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["good=g"], "expected either premise="),
        (["item=id", "votes=v"], "expected votes=, dataset= and edition= with it"),
        (["good=g", "bad=b", "votes=v"], "expected premise= or item= with it"),
        (["good=g", "bad=b", "dataset=adept"], "expected item= with them"),
    ],
)
def test_wrong_settings_of_votes_and_minimal_pairs_are_refused(options, message):
    with pytest.raises(UserError, match=message):
        settings("x.csv", *options)


def test_votes_need_a_dataset_with_labels(tmp_path):
    file = write(tmp_path / "votes.tsv", [{"id": "i1", "v": "2:3"}])
    options = ["item=id", "votes=v", "edition=published", f"lake={tmp_path}"]
    with pytest.raises(UserError, match="dataset=sygns: its answers are texts"):
        import_pairs(settings(file, *options, "dataset=sygns"))
