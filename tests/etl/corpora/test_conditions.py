"""Conditions in SQL on columns, and the rows of files for which they are true."""

import itertools

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adnominal.conf import UserError
from adnominal.etl.corpora import columnar
from adnominal.etl.corpora.columnar import Texts
from adnominal.etl.corpora.conditions import (
    Condition,
    WrongCondition,
    batches_with_rows,
    first_missing,
)
from adnominal.etl.corpora.documents import LeftOut
from adnominal.etl.corpora.files import Unit, Unreadable
from tests.etl.corpora.test_columnar import WRITERS, whole_file_unit

ROWS = pa.RecordBatch.from_pydict(
    {
        "language": ["en", None, "de", "EN"],
        "score": [0.5, 0.9, 0.7, None],
        "Kind": pa.array(["a", "b", "a", "b"]).dictionary_encode(),
        "view": pa.array(["w", "x", "y", "z"], pa.string_view()),
        "meta": [{"year": 2019}, {"year": 2020}, {"year": 2021}, None],
        "tags": [["news"], [], None, ["news", "web"]],
    }
)


@pytest.mark.parametrize(
    ("sql", "selected"),
    [
        ("language = 'en'", [0]),
        ("language <> 'en'", [2, 3]),
        ("LANGUAGE IS NULL OR score > 0.6", [1, 2]),
        ("lower(language) IN ('en', 'fr') -- a comment", [0, 3]),
        ("kind = 'a' AND view <> 'y'", [0]),
        ("meta.year BETWEEN 2020 AND 2021", [1, 2]),
        ("list_contains(tags, 'news')", [0, 3]),
        ("language LIKE 'e%' AND score < 0.1", []),
    ],
)
def test_a_condition_selects_the_rows_for_which_it_is_true(sql, selected):
    condition = Condition(sql)
    names = condition.columns("x", ROWS.schema)
    assert condition.selected_rows("x", ROWS.select(names)).tolist() == selected


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("language = ", "syntax error"),
        ("score > 1; DROP TABLE x", "syntax error"),
        ("score > 1) --", "syntax error"),
        ("score > (SELECT max(x) FROM y)", "a subquery"),
        ("score > $1", "a parameter"),
        ("Random() < score", r"results of random\(\) vary"),
        ("now() > day", r"results of now\(\) vary"),
        ("1 = 1", "names no column"),
    ],
)
def test_what_is_not_a_condition_is_refused(sql, reason):
    with pytest.raises(UserError, match=f"where=.*{reason}.*; expected"):
        Condition(sql)


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("lang = 'en'", "no column lang; it has language, score, Kind, view, meta, tags"),
        ("twice = 1", "2 columns are named twice"),
        ("language", "it gives string; expected true or false"),
        ("language > 5", "Cannot compare values of type VARCHAR and type INTEGER"),
        ("count(language) > 5", "aggregates"),
        ("nosuch(language)", "nosuch does not exist"),
        ("meta.month = 1", 'Could not find key "month"'),
    ],
)
def test_columns_that_do_not_fit_are_refused(sql, reason):
    numbers = pa.field("twice", pa.int64()), pa.field("Twice", pa.int64())
    schema = pa.schema([*ROWS.schema, *numbers] if "twice" in sql else ROWS.schema)
    with pytest.raises(WrongCondition, match=reason) as refusal:
        Condition(sql).columns("x", schema)
    assert "\n" not in str(refusal.value)


def test_a_condition_that_fails_on_a_value_is_refused():
    condition = Condition("CAST(language AS INTEGER) > 5")
    rows = ROWS.select(condition.columns("x", ROWS.schema))
    with pytest.raises(WrongCondition, match="Could not convert string 'en' to INT32"):
        condition.selected_rows("x", rows)


@pytest.mark.parametrize("encode", [False, True])
def test_a_text_that_is_not_utf8_is_null(encode):
    column = pa.array([b"en", b"\xff", b"de"]).view(pa.string())
    column = column.dictionary_encode() if encode else column
    rows = pa.RecordBatch.from_arrays([column], names=["language"])
    assert Condition("language IS NULL").selected_rows("x", rows).tolist() == [1]


def test_rows_are_found_in_their_batches():
    batches = [pa.RecordBatch.from_pydict({"x": [n, n + 1, n + 2]}) for n in (0, 3, 6)]
    found = [
        (batch.column("x").to_pylist(), rows.tolist())
        for batch, rows in batches_with_rows(batches, pa.array([1, 6, 8]).to_numpy())
    ]
    assert found == [([1], [1]), ([6, 8], [6, 8])]


@pytest.mark.parametrize(("numbers", "missing"), [([], 0), ([0, 1], 2), ([0, 2], 1), ([1], 0)])
def test_the_first_missing_number(numbers, missing):
    assert first_missing(pa.array(numbers, pa.int64()).to_numpy()) == missing


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("borders", [(), (1,), (1, 2, 3, 4)])
def test_units_give_the_selected_rows_once_and_count_the_others(tmp_path, name, borders):
    path = tmp_path / name
    numbers = list(range(23))
    texts = [f"text {number}" for number in numbers]
    table = pa.table({"text": texts, "n": numbers, "id": [None, *texts[1:]]})
    WRITERS[name](path, table, 3)
    size = path.stat().st_size
    cuts = [0, *(size * border // 5 for border in borders), size]
    selected: list[tuple[int, str]] = []
    left_out = 0
    for start, end in itertools.pairwise(cuts):
        unit = Unit(str(path), size, start, end)
        for event in columnar.read_unit(unit, where=Condition("n % 10 < 2")):
            if isinstance(event, Texts):
                selected += zip(event.rows.to_pylist(), event.texts.to_pylist(), strict=True)
            else:
                assert isinstance(event, LeftOut) and event.reason == "where"
                left_out += event.count
    assert selected == [(n, f"text {n}") for n in (0, 1, 10, 11, 20, 21)]
    assert left_out == 17


def test_texts_of_row_groups_without_a_selected_row_are_not_read(tmp_path):
    """The second row group's texts are damaged; only a condition that selects one reads them."""
    path = tmp_path / "x.parquet"
    table = pa.table({"text": ["A red apple."] * 4, "language": ["en", "en", "de", "de"]})
    pq.write_table(table, path, row_group_size=2, compression="none", use_dictionary=False)
    column = pq.ParquetFile(path).metadata.row_group(1).column(0)
    data = bytearray(path.read_bytes())
    end = column.data_page_offset + column.total_compressed_size
    data[column.data_page_offset : end] = bytes(column.total_compressed_size)
    path.write_bytes(data)
    events = list(columnar.read_unit(whole_file_unit(path), where=Condition("language = 'en'")))
    assert [event.rows.to_pylist() for event in events if isinstance(event, Texts)] == [[0, 1]]
    assert events[1:] == [LeftOut("where", f"{path}#row=2", 2)]
    with pytest.raises(Unreadable, match="damaged"):
        list(columnar.read_unit(whole_file_unit(path), where=Condition("language = 'de'")))
