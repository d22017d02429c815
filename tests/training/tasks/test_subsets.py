import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adnominal.conf import UserError
from adnominal.training.tasks import nested_subset


@given(st.lists(st.text("abc", max_size=3), min_size=1, max_size=30), st.integers(0, 9), st.data())
def test_smaller_subsets_are_contained_in_greater_ones(items, seed, data):
    ids = pa.array(items, pa.string())
    small = data.draw(st.integers(1, len(items)))
    great = data.draw(st.integers(small, len(items)))
    inner, outer = nested_subset(ids, small, seed), nested_subset(ids, great, seed)
    assert len(inner) == small
    assert set(inner) <= set(outer)
    assert (np.diff(inner) > 0).all()


def test_a_subset_does_not_depend_on_the_order_of_the_rows():
    items = [f"i{n}" for n in range(50)]
    sample = {items[row] for row in nested_subset(pa.array(items), 20, 7)}
    reversed_items = items[::-1]
    assert {reversed_items[row] for row in nested_subset(pa.array(reversed_items), 20, 7)} == sample
    assert {items[row] for row in nested_subset(pa.array(items), 20, 8)} != sample


@pytest.mark.parametrize("size", [0, 4])
def test_impossible_sizes_are_refused(size):
    with pytest.raises(UserError, match=f"train_size={size}: expected 1 to 3"):
        nested_subset(pa.array(["a", "b", "c"]), size, 0)
