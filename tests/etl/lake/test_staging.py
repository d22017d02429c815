import datetime
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adnominal.conf import UserError
from adnominal.etl.engine.sail import sail_location
from adnominal.etl.engine.spark import hadoop_location
from adnominal.etl.lake.errors import LakeError
from adnominal.etl.lake.schema import differences, named_types, type_name
from adnominal.etl.lake.staging import statistics
from adnominal.etl.lake.storage import check_name, escape, table_uri, unescape

UTC = datetime.UTC


def stats(columns, path, **settings):
    table = pa.table(columns)
    pq.write_table(table, path, **settings)
    return statistics(pq.read_metadata(path), table.schema)


def test_statistics_have_bounds_nulls_and_rows(tmp_path):
    result = stats(
        {
            "n": pa.array([3, None, -1], pa.int64()),
            "t": pa.array(["b", "a", None]),
            "d": pa.array([datetime.date(2024, 2, 29)] * 3),
            "none": pa.array([None, None, None], pa.string()),
        },
        tmp_path / "f",
        row_group_size=2,
    )
    assert result == {
        "numRecords": 3,
        "minValues": {"n": -1, "t": "a", "d": "2024-02-29"},
        "maxValues": {"n": 3, "t": "b", "d": "2024-02-29"},
        "nullCount": {"n": 1, "t": 1, "d": 0, "none": 3},
    }


def test_floating_point_has_no_bounds(tmp_path):
    result = stats({"x": pa.array([1.0, math.nan, None])}, tmp_path / "f")
    assert result["minValues"] == result["maxValues"] == {}
    assert result["nullCount"] == {"x": 1}


def test_lists_and_structs_have_no_statistics(tmp_path):
    result = stats({"l": pa.array([[1], None]), "s": pa.array([{"n": 1}, None])}, tmp_path / "f")
    assert (result["minValues"], result["nullCount"]) == ({}, {})


def test_a_file_without_statistics_has_only_a_number_of_rows(tmp_path):
    result = stats({"n": [1, 2]}, tmp_path / "f", write_statistics=False)
    assert result == {"numRecords": 2, "minValues": {}, "maxValues": {}, "nullCount": {}}


@pytest.mark.parametrize(
    ("moment", "low", "high"),
    [
        (datetime.datetime(2024, 1, 1, 0, 0, 0, 123456, UTC), "00:00:00.123", "00:00:00.124"),
        (datetime.datetime(2024, 1, 1, 0, 0, 0, 123000, UTC), "00:00:00.123", "00:00:00.123"),
    ],
)
def test_times_are_bounded_in_milliseconds(tmp_path, moment, low, high):
    result = stats({"t": pa.array([moment], pa.timestamp("us", tz="UTC"))}, tmp_path / "f")
    assert result["minValues"] == {"t": f"2024-01-01T{low}Z"}
    assert result["maxValues"] == {"t": f"2024-01-01T{high}Z"}


def test_times_before_the_epoch_are_bounded(tmp_path):
    moment = datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC)
    result = stats({"t": pa.array([moment], pa.timestamp("us", tz="UTC"))}, tmp_path / "f")
    assert result["minValues"] == {"t": "1969-12-31T23:59:59.999Z"}
    assert result["maxValues"] == {"t": "1970-01-01T00:00:00.000Z"}


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_bounds_of_texts_are_short_and_correct(tmp_path, texts):
    texts = [*texts, texts[0] * 3]
    result = stats({"t": pa.array(texts)}, tmp_path / "f")
    low, high = result["minValues"].get("t"), result["maxValues"].get("t")
    assert (low is None) == (high is None)
    if low is not None:
        # Parquet and Delta order texts by UTF-8 bytes, which is Python's order by code points.
        assert low <= min(texts)
        assert max(texts) <= high
        assert len(low) <= 32
        assert len(high) <= 32


def test_a_text_without_a_short_upper_bound_has_no_bounds(tmp_path):
    result = stats({"t": ["\U0010ffff" * 40]}, tmp_path / "f")
    assert result["minValues"] == result["maxValues"] == {}


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_escaped_values_are_safe_names_and_can_be_unescaped(value):
    name = escape(value)
    assert unescape(name) == value
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def test_letters_digits_and_underscores_are_not_escaped():
    # polars takes partition values from the names of folders.
    assert escape("published_wider-2") == "published_wider-2"
    assert escape("my corpus") == "my.20corpus"


@pytest.mark.parametrize("value", ["", "__HIVE_DEFAULT_PARTITION__"])
def test_null_can_be_escaped_but_not_the_texts_that_delta_stores_as_null(value):
    assert unescape(escape(None)) is None
    with pytest.raises(ValueError, match="empty string"):
        unescape(escape(value))
    with pytest.raises(UserError, match=f"^corpus={value}: Delta stores this as null; give ano"):
        check_name("corpus", value)


@pytest.mark.parametrize(
    ("root", "rust", "hadoop"),
    [
        ("/a/b", "file:///a/b/t", "file:///a/b/t"),
        ("/a b/ü", "file:///a%20b/%C3%BC/t", "file:///a b/ü/t"),
        ("file:///a%20b", "file:///a%20b/t", "file:///a b/t"),
        ("s3a://bucket/lake/", "s3://bucket/lake/t", "s3a://bucket/lake/t"),
        ("gs://bucket/lake", "gs://bucket/lake/t", "gs://bucket/lake/t"),
        ("hdfs://name:8020/lake", "hdfs://name:8020/lake/t", "hdfs://name:8020/lake/t"),
    ],
)
def test_addresses_have_the_form_of_each_library(root, rust, hadoop):
    assert table_uri(root, "t") == rust
    assert hadoop_location(rust).replace("s3a://", "s3://") == hadoop.replace("s3a://", "s3://")
    assert sail_location(rust) == rust


@pytest.mark.parametrize(
    ("root", "character"),
    [
        ("l%20x", "%"),
        ("l#x", "#"),
        ("l?x", "\\?"),
        ("l\\x", "\\\\\\\\"),
        ("l\nx", "\\\\n"),
        ("file:///l#x", "#"),
        ("file:///l%23x", "#"),
        ("s3://bucket/l#x", "#"),
        ("s3://bucket/l?x", "\\?"),
    ],
)
def test_characters_that_end_an_address_are_refused(root, character):
    with pytest.raises(LakeError, match=f"has the character '{character}'.*another folder"):
        table_uri(root, "t")


def test_an_unknown_store_is_refused():
    with pytest.raises(LakeError, match="no store is known by s4://; expected a folder, s3://"):
        table_uri("s4://bucket/lake", "t")


def test_types_of_the_same_values_have_one_name():
    assert type_name(pa.large_string()) == type_name(pa.string_view()) == "string"
    assert type_name(pa.large_list(pa.large_binary())) == type_name(pa.list_(pa.binary()))
    assert type_name(pa.timestamp("us", "+00:00")) == "timestamp[us, UTC]"
    assert type_name(pa.timestamp("us")) != type_name(pa.timestamp("us", "UTC"))
    assert type_name(pa.timestamp("ns", "UTC")) != type_name(pa.timestamp("us", "UTC"))
    assert type_name(pa.struct([("a", pa.int64())])) == "struct<a: int64>"


def test_all_differences_of_two_schemas_are_listed():
    declared = named_types(pa.schema([("a", pa.int64()), ("b", pa.string())]))
    assert differences(declared, declared) == []
    assert differences(declared, declared[::-1]) == ["order: b, a; declared a, b"]
    assert differences(declared, [("a", "int32"), ("c", "string"), ("c", "string")]) == [
        "missing: b (string)",
        "not declared: c (string), c (string)",
        "of another type: a is int32, declared int64",
        "given twice: c",
    ]
