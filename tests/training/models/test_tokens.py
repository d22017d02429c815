import copy
from dataclasses import replace

import pyarrow as pa
import pytest

from adnominal.training.models import tokens
from adnominal.training.models.tokens import encode, fingerprint, key


@pytest.fixture(scope="module")
def tokenizer(tiny_encoder):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(tiny_encoder)


FIRST = pa.array(["a dog runs.", "a gun works.", "an idea"])
SECOND = pa.array(["a dead dog runs.", "a fake gun works.", "an old idea falls. an idea falls."])


def test_encoded_pairs_are_those_of_the_tokenizer(tokenizer):
    encoded = encode(tokenizer, FIRST, SECOND, 32)
    expected = tokenizer(FIRST.to_pylist(), SECOND.to_pylist())
    assert encoded.lengths.tolist() == [len(row) for row in expected["input_ids"]]
    assert encoded.ids.tolist() == [t for row in expected["input_ids"] for t in row]
    assert encoded.types is not None
    assert encoded.types.tolist() == [t for row in expected["token_type_ids"] for t in row]
    assert encoded.truncated == 0


def test_texts_are_truncated_at_the_limit_and_counted(tokenizer):
    encoded = encode(tokenizer, FIRST, SECOND, 12)
    assert encoded.lengths.max() == 12
    assert encoded.truncated == 1


def test_cached_tokens_are_read_from_their_file(tokenizer, tmp_path):
    encoded = encode(tokenizer, FIRST, SECOND, 12, tmp_path)
    (path,) = tmp_path.iterdir()
    # A changed file shows that the cache is read instead of encoding the texts again.
    tokens._write(replace(encoded, ids=encoded.ids + 1), path)
    again = encode(tokenizer, FIRST, SECOND, 12, tmp_path)
    assert again.offsets.tolist() == encoded.offsets.tolist()
    assert again.ids.tolist() == (encoded.ids + 1).tolist()
    assert again.types is not None and encoded.types is not None
    assert again.types.tolist() == encoded.types.tolist()
    assert again.truncated == 1
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("size_left", [0, 130, 600])
def test_a_damaged_cache_file_is_rewritten(tokenizer, tmp_path, caplog, size_left):
    ids = encode(tokenizer, FIRST, SECOND, 12, tmp_path).ids.tolist()
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:size_left])
    again = encode(tokenizer, FIRST, SECOND, 12, tmp_path)
    assert f"{path} cannot be read" in caplog.text and "encoded again" in caplog.text
    assert again.ids.tolist() == ids
    assert again.types is not None and again.truncated == 1
    caplog.clear()
    encode(tokenizer, FIRST, SECOND, 12, tmp_path)
    assert not caplog.text and list(tmp_path.iterdir()) == [path]


def test_the_cache_key_depends_on_texts_tokenizer_and_limit(tokenizer):
    tokenizer_key = fingerprint(tokenizer)
    names = {
        key(tokenizer_key, FIRST, SECOND, 12),
        key(tokenizer_key, FIRST, SECOND, 13),
        key(tokenizer_key, SECOND, FIRST, 12),
        key(tokenizer_key, FIRST, None, 12),
        key("other", FIRST, SECOND, 12),
        key(tokenizer_key, pa.array(["a dog runs.a", " gun works.", "an idea"]), SECOND, 12),
    }
    assert len(names) == 6
    assert key(tokenizer_key, FIRST.slice(1), None, 9) == key(
        tokenizer_key, pa.array(FIRST.slice(1).to_pylist()), None, 9
    )


def test_using_a_tokenizer_does_not_change_its_fingerprint(tokenizer):
    fingerprint_before = fingerprint(tokenizer)
    tokenizer(["a dog"], truncation=True, max_length=3)
    assert fingerprint(tokenizer) == fingerprint_before


@pytest.mark.parametrize(
    "change",
    [{"truncation_side": "left"}, {"model_input_names": ["input_ids", "attention_mask"]}],
)
def test_tokenizers_with_other_options_have_separate_caches(tokenizer, tmp_path, change):
    other = copy.deepcopy(tokenizer)
    for name, value in change.items():
        setattr(other, name, value)
    encode(tokenizer, FIRST, SECOND, 12, tmp_path)
    cached, expected = encode(other, FIRST, SECOND, 12, tmp_path), encode(other, FIRST, SECOND, 12)
    assert cached.ids.tolist() == expected.ids.tolist()
    assert (cached.types is None) == (expected.types is None)


def test_concurrent_writers_leave_one_cache_entry(tokenizer, tmp_path):
    encoded = encode(tokenizer, FIRST, None, 12)
    tokens._write(encoded, tmp_path / "x.arrow")
    tokens._write(encoded, tmp_path / "x.arrow")
    assert [path.name for path in tmp_path.iterdir()] == ["x.arrow"]
