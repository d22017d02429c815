import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from adnominal.training.batching import (
    epoch_steps,
    evaluation_batches,
    layout,
    padding_efficiency,
    seed_of,
    shares,
)

LENGTHS = st.lists(st.integers(1, 60), min_size=1, max_size=300).map(np.array)


@given(LENGTHS, st.integers(1, 40), st.integers(0, 3), st.sampled_from([None, 1, 3, 100]))
def test_an_epoch_has_each_example_once(lengths, size, epoch, bucket):
    steps = epoch_steps(lengths, size, seed=1, epoch=epoch, bucket=bucket)
    assert sorted(np.concatenate(steps)) == list(range(len(lengths)))
    assert max(map(len, steps)) <= size
    assert len(steps) == -(-len(lengths) // size)


def test_epochs_differ_and_are_reproducible():
    lengths = np.arange(100) % 7 + 1
    first = epoch_steps(lengths, 10, seed=1, epoch=0)
    again = epoch_steps(lengths, 10, seed=1, epoch=0)
    other = epoch_steps(lengths, 10, seed=1, epoch=1)
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    assert any((a != b).any() for a, b in zip(first, other, strict=True))


def test_bucketing_leaves_little_padding():
    lengths = np.random.default_rng(0).integers(5, 40, 3200)
    bucketed = epoch_steps(lengths, 32, seed=0, epoch=0)
    random = epoch_steps(lengths, 32, seed=0, epoch=0, bucket=None)
    assert padding_efficiency(lengths, bucketed) > 0.95
    assert padding_efficiency(lengths, random) < 0.7


@given(LENGTHS, st.integers(1, 5), st.integers(1, 4))
def test_a_step_is_divided_evenly_among_processes_and_rounds(lengths, world, rounds):
    step = np.arange(len(lengths))
    pieces = [p for rank in range(world) for p in shares(step, lengths, rank, world, rounds)]
    assert len(pieces) == world * rounds
    assert sorted(np.concatenate(pieces)) == list(step)
    assert max(map(len, pieces)) - min(map(len, pieces)) <= 1


@given(LENGTHS, st.integers(1, 40), st.integers(1, 5))
def test_every_process_evaluates_the_same_number_of_batches(lengths, size, world):
    batches_of_ranks = [evaluation_batches(lengths, size, rank, world) for rank in range(world)]
    assert len({len(batches) for batches in batches_of_ranks}) == 1
    rows = np.concatenate([batch for batches in batches_of_ranks for batch in batches])
    assert sorted(rows) == list(range(len(lengths)))


def test_rows_are_padded_on_either_side():
    flat, offsets = np.array([1, 2, 3, 4, 5, 6]), np.array([0, 1, 4, 6])
    right = layout(offsets, np.array([1, 0]))
    assert right.fill(flat, 0).tolist() == [[2, 3, 4], [1, 0, 0]]
    assert right.mask.tolist() == [[True, True, True], [True, False, False]]
    left = layout(offsets, np.array([2, 0]), pad_left=True, multiple=4)
    assert left.fill(flat, 9).tolist() == [[9, 9, 5, 6], [9, 9, 9, 1]]


def test_seeds_depend_on_the_parts_and_their_order():
    assert len({seed_of(1, 2), seed_of(2, 1), seed_of(12), seed_of("1", "2", "")}) == 4
    assert 0 <= seed_of("x") < 2**63
