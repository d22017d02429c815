import pyarrow as pa
import pytest

from adnominal.training.models.tokens import encode, lengths


@pytest.fixture(scope="module")
def tokenizer(tiny_encoder):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(tiny_encoder)


FIRST = pa.array(["a dog runs.", "a gun works.", "an idea"])
SECOND = pa.array(["a dead dog runs.", "a fake gun works.", "an old idea falls. an idea falls."])


def test_encoded_pairs_are_those_of_the_tokenizer(tokenizer):
    encoded, truncated = encode(tokenizer, FIRST, SECOND, 32)
    expected = tokenizer(FIRST.to_pylist(), SECOND.to_pylist())
    assert lengths(encoded["input_ids"]).tolist() == [len(row) for row in expected["input_ids"]]
    assert encoded["input_ids"].to_pylist() == expected["input_ids"]
    assert encoded["token_type_ids"].to_pylist() == expected["token_type_ids"]
    assert truncated == 0


def test_texts_are_truncated_at_the_limit_and_counted(tokenizer):
    encoded, truncated = encode(tokenizer, FIRST, SECOND, 12)
    assert lengths(encoded["input_ids"]).max() == 12
    assert truncated == 1
