from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.models.masked import Masking, draws, keys

# [PAD] [UNK] [CLS] [SEP] [MASK], eight words, four pieces that go on a word.
SPECIAL = np.arange(17) < 5
CONTINUES = np.arange(17) >= 13


def masking(share: float = 0.15, whole_words: bool = True) -> Masking:
    return Masking(share, whole_words, 4, SPECIAL, CONTINUES)


def texts(rows: int, seed: int = 0) -> np.ndarray:
    """Rows of 12 places: [CLS], two to ten tokens of which some go on a word, [SEP], padding."""
    draw = np.random.default_rng(seed)
    ids = np.zeros((rows, 12), dtype=np.int64)
    for row in ids:
        size = draw.integers(2, 11)
        row[0], row[size + 1] = 2, 3
        row[1] = draw.integers(5, 13)
        row[2 : size + 1] = draw.integers(5, 17, size - 1)
    return ids


def word_numbers(row: np.ndarray) -> np.ndarray:
    return np.cumsum(~CONTINUES[row])


IDS = texts(2000)
KEYS = keys([f"s{at}" for at in range(2000)])


def test_numbers_are_even_and_independent():
    numbers = draws(KEYS, 50, 0)
    assert numbers.shape == (2000, 50)
    assert 0 <= numbers.min() < 1e-3
    assert 1 - 1e-3 < numbers.max() < 1
    assert abs(numbers.mean() - 0.5) < 0.005
    counts, _ = np.histogram(numbers, bins=20, range=(0, 1))
    assert abs(counts / numbers.size - 0.05).max() < 0.004
    for other in (draws(KEYS, 50, 1), numbers[:, ::-1], numbers[::-1], np.roll(numbers, 1, axis=1)):
        assert abs(np.corrcoef(numbers.ravel(), other.ravel())[0, 1]) < 0.02


@given(st.permutations(range(8)), st.integers(12, 20))
def test_masks_hang_on_the_text_alone(order, width):
    rows = np.array(order)
    wider = np.pad(IDS[rows], ((0, 0), (0, width - 12)))
    alone = masking().masked(IDS[:8], KEYS[:8], training=True)
    other = masking().masked(wider, KEYS[rows], training=True)
    for ours, theirs in zip(other, alone, strict=True):
        assert (ours[:, :12] == theirs[rows]).all()


def test_whole_words_are_chosen():
    selection = masking().selection(IDS, KEYS)
    for row, row_selection in zip(IDS, selection, strict=True):
        words = word_numbers(row)
        for word in set(words[row_selection]):
            # Special tokens stand as words of their own and are never chosen.
            assert row_selection[words == word].all()
    single = masking(whole_words=False).selection(IDS, KEYS)
    split = single[:, 1:] & ~single[:, :-1] & CONTINUES[IDS[:, 1:]]
    assert split.any()


@pytest.mark.parametrize("whole_words", [True, False])
def test_how_many_are_chosen(whole_words):
    row_masking = masking(0.3, whole_words)
    selection = row_masking.selection(IDS, KEYS)
    able = ~SPECIAL[IDS]
    assert not (selection & ~able).any()
    assert selection.any(axis=1).all()
    # Texts of many words are unlikely to need the one that every text has.
    long = able.sum(axis=1) >= 8
    assert abs(selection[long].sum() / able[long].sum() - 0.3) < 0.03


def test_what_becomes_of_the_chosen():
    ids, rows = texts(20_000, 1), keys([str(at) for at in range(20_000)])
    inputs, selected = masking().masked(ids, rows, training=True)
    assert (inputs == ids)[~selected].all()
    original_ids, input_ids = ids[selected], inputs[selected]
    other = (input_ids != 4) & (input_ids != original_ids)
    assert abs((input_ids == 4).mean() - 0.8) < 0.01
    # One of the twelve words drawn is the word itself.
    assert abs(other.mean() - 0.1 * 11 / 12) < 0.01
    assert set(input_ids[other]) == set(range(5, 17))
    validation_inputs, validated = masking().masked(ids, rows, training=False)
    assert (validated == selected).all()
    assert (validation_inputs[validated] == 4).all()


def test_a_text_of_special_tokens_has_no_mask():
    inputs, selected = masking().masked(np.array([[2, 1, 3, 0]]), KEYS[:1], training=True)
    assert not selected.any()
    assert inputs.tolist() == [[2, 1, 3, 0]]
