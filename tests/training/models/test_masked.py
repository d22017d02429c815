import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adnominal.training.models.masked import Masking, draws, keys

# The vocabulary: [PAD] [UNK] [CLS] [SEP] [MASK], eight words, four pieces that continue a word.
SPECIAL = np.arange(17) < 5
CONTINUES = np.arange(17) >= 13


def masking(share: float = 0.15, whole_words: bool = True) -> Masking:
    return Masking(share, whole_words, 4, SPECIAL, CONTINUES)


def texts(rows: int, seed: int = 0) -> np.ndarray:
    """Rows of 12 tokens: [CLS], two to ten words and pieces, [SEP], padding."""
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


def test_draws_are_uniform_and_uncorrelated():
    numbers = draws(KEYS, 50, 0)
    assert numbers.shape == (2000, 50)
    assert 0 <= numbers.min() < 1e-3
    assert 1 - 1e-3 < numbers.max() < 1
    assert abs(numbers.mean() - 0.5) < 0.005
    counts, _ = np.histogram(numbers, bins=20, range=(0, 1))
    assert abs(counts / numbers.size - 0.05).max() < 0.004
    rolled = np.roll(numbers, 1, axis=1)
    for other in (draws(KEYS, 50, 1), numbers[:, ::-1], numbers[::-1], rolled):
        assert abs(np.corrcoef(numbers.ravel(), other.ravel())[0, 1]) < 0.02


@given(st.permutations(range(8)), st.integers(12, 20))
def test_masks_depend_only_on_the_text(order, width):
    rows = np.array(order)
    wider = np.pad(IDS[rows], ((0, 0), (0, width - 12)))
    alone = masking().masked(IDS[:8], KEYS[:8], training=True)
    padded = masking().masked(wider, KEYS[rows], training=True)
    for ours, theirs in zip(padded, alone, strict=True):
        assert (ours[:, :12] == theirs[rows]).all()


def test_all_pieces_of_a_word_are_masked_together():
    selection = masking().selection(IDS, KEYS)
    for row, row_selection in zip(IDS, selection, strict=True):
        words = word_numbers(row)
        for word in set(words[row_selection]):
            # Special tokens count as words and are never selected.
            assert row_selection[words == word].all()
    single = masking(whole_words=False).selection(IDS, KEYS)
    split = single[:, 1:] & ~single[:, :-1] & CONTINUES[IDS[:, 1:]]
    assert split.any()


@pytest.mark.parametrize("whole_words", [True, False])
def test_the_requested_share_of_tokens_is_masked(whole_words):
    row_masking = masking(0.3, whole_words)
    selection = row_masking.selection(IDS, KEYS)
    maskable = ~SPECIAL[IDS]
    assert not (selection & ~maskable).any()
    assert selection.any(axis=1).all()
    # Every text has at least one masked token, which long texts rarely need to be given.
    long = maskable.sum(axis=1) >= 8
    assert abs(selection[long].sum() / maskable[long].sum() - 0.3) < 0.03


def test_selected_tokens_are_masked_replaced_or_kept():
    ids, rows = texts(20_000, 1), keys([str(at) for at in range(20_000)])
    inputs, selected = masking().masked(ids, rows, training=True)
    assert (inputs == ids)[~selected].all()
    original_ids, input_ids = ids[selected], inputs[selected]
    replaced = (input_ids != 4) & (input_ids != original_ids)
    assert abs((input_ids == 4).mean() - 0.8) < 0.01
    # One in twelve random replacements is the original word.
    assert abs(replaced.mean() - 0.1 * 11 / 12) < 0.01
    assert set(input_ids[replaced]) == set(range(5, 17))
    validation_inputs, validated = masking().masked(ids, rows, training=False)
    assert (validated == selected).all()
    assert (validation_inputs[validated] == 4).all()


def test_a_text_of_special_tokens_has_no_mask():
    inputs, selected = masking().masked(np.array([[2, 1, 3, 0]]), KEYS[:1], training=True)
    assert not selected.any()
    assert inputs.tolist() == [[2, 1, 3, 0]]
