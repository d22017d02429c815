import pyarrow as pa
import pytest

from tests.etl.lake.compare import assert_same_rows

ROWS = pa.table({"noun": ["key", "key", "moon"], "count": [1, 1, 2]})


def test_order_does_not_matter():
    assert_same_rows(ROWS, ROWS.take([2, 0, 1]))


def test_pandas_and_arrow_tables_can_be_compared():
    assert_same_rows(ROWS.to_pandas(), ROWS)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (ROWS.slice(1), "0 rows missing, 1 not expected"),
        (pa.table({"noun": ["key", "moon", "moon"], "count": [1, 2, 2]}), "1 rows missing, 1 not"),
        (pa.table({"noun": ["key", "key", "moon"], "count": [1, 1, None]}), "None"),
        (ROWS.rename_columns(["noun", "n"]), "columns"),
        (ROWS.select(["count", "noun"]), "columns"),
    ],
)
def test_the_assertion_fails_on_a_difference(other, message):
    with pytest.raises(AssertionError, match=message):
        assert_same_rows(ROWS, other)


def test_a_number_and_its_text_differ():
    with pytest.raises(AssertionError):
        assert_same_rows(pa.table({"a": [1]}), pa.table({"a": ["1"]}))
