import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from adnominal.training.batching import evaluation_batches, even_batch_size, seed_of

LENGTHS = st.lists(st.integers(1, 60), min_size=1, max_size=300).map(np.array)


@given(LENGTHS, st.integers(1, 40), st.integers(1, 5))
def test_every_process_evaluates_the_same_number_of_batches(lengths, size, world):
    batches_of_ranks = [evaluation_batches(lengths, size, rank, world) for rank in range(world)]
    assert len({len(batches) for batches in batches_of_ranks}) == 1
    rows = np.concatenate([batch for batches in batches_of_ranks for batch in batches])
    assert sorted(rows) == list(range(len(lengths)))


@given(st.integers(1, 3000), st.integers(1, 64), st.integers(1, 5))
def test_even_batches_take_no_more_rounds_and_repeat_few_rows(rows, size, world):
    even = even_batch_size(rows, size, world)
    rounds = -(-rows // (even * world))
    assert 1 <= even <= size
    assert rounds <= -(-rows // (size * world))
    assert rounds * even * world - rows < rounds * world


def test_33_rows_are_34_for_two_processes():
    assert even_batch_size(33, 64, 2) == 17


def test_seeds_depend_on_the_parts_and_their_order():
    assert len({seed_of(1, 2), seed_of(2, 1), seed_of(12), seed_of("1", "2", "")}) == 4
    assert 0 <= seed_of("x") < 2**63
