import os

import pyarrow as pa
import pytest

from adnominal.conf import UserError
from adnominal.training.models import wordpiece
from adnominal.training.models.wordpiece import SPECIAL, tokenizer, vocabulary
from tests.commands import run_python
from tests.training.conftest import sentence_rows

TEXTS = pa.array(
    [row["text"] for row in sentence_rows()] + ["Ein Café, 5° kalt."], pa.large_string()
)
SIZE = 140


def test_a_vocabulary_has_the_words_of_its_texts():
    pieces = vocabulary(TEXTS, SIZE, lowercase=True)
    assert len(set(pieces)) == len(pieces) == SIZE
    assert tuple(pieces[:5]) == SPECIAL
    assert "the" in pieces
    assert "unmistakably" in pieces
    backend = wordpiece.bert_tokenizer(pieces, lowercase=True).backend_tokenizer
    tokens = backend.encode("The fake café, unmistakably!").tokens
    assert tokens[:3] == ["[CLS]", "the", "fake"]
    assert tokens[-3:] == ["unmistakably", "[UNK]", "[SEP]"]  # no text has an exclamation mark
    assert (
        backend.decode(backend.encode("the fake dog.").ids, skip_special_tokens=False)
        == "[CLS] the fake dog. [SEP]"
    )


def test_the_order_of_the_texts_does_not_matter():
    reversed_texts = pa.array(TEXTS.to_pylist()[::-1], pa.large_string())
    assert vocabulary(reversed_texts, SIZE, lowercase=True) == vocabulary(
        TEXTS, SIZE, lowercase=True
    )


def test_another_process_builds_the_same_vocabulary():
    # The order of hash tables differs between processes.
    code = (
        "from tests.training.models.test_wordpiece import SIZE, TEXTS\n"
        "from adnominal.training.models.wordpiece import vocabulary\n"
        "print(*vocabulary(TEXTS, SIZE, lowercase=True))"
    )
    assert run_python("-c", code).stdout.split() == vocabulary(TEXTS, SIZE, lowercase=True)


def test_required_words_are_single_tokens():
    required_words = ("Implausible", "dog", "implausible")
    pieces = vocabulary(TEXTS, SIZE, lowercase=True, words=required_words)
    assert len(set(pieces)) == SIZE
    assert pieces[-1] == "implausible"
    backend = wordpiece.bert_tokenizer(pieces, lowercase=True).backend_tokenizer
    assert backend.encode("implausible dog").tokens == ["[CLS]", "implausible", "dog", "[SEP]"]
    # A required word displaces only the piece that was found last.
    plain = vocabulary(TEXTS, SIZE, lowercase=True)
    assert set(plain) - set(pieces) == {plain[-1]}


def test_case_is_kept_on_request():
    backend = wordpiece.bert_tokenizer(
        vocabulary(TEXTS, 120, lowercase=False), lowercase=False
    ).backend_tokenizer
    assert backend.encode("A dog").tokens[1] == "A"
    assert "é" in backend.get_vocab()


@pytest.mark.parametrize(
    ("size", "words", "message"),
    [
        (5000, (), r"vocabulary=5000: 481 sentences have \d+ pieces .* expected at most that"),
        (20, (), r"vocabulary=20: expected \d+ or more"),
        (SIZE, ("not so",), r"words=not so: expected single words"),
    ],
)
def test_impossible_vocabularies_are_refused(size, words, message):
    with pytest.raises(UserError, match=message):
        vocabulary(TEXTS, size, lowercase=True, words=words)


def test_a_vocabulary_is_cached(tmp_path, caplog):
    def build_tokenizer(size: int = SIZE):
        return tokenizer(TEXTS, size, lowercase=True, words=(), limit=16, cache=tmp_path)

    first = build_tokenizer()
    (cached_file,) = tmp_path.iterdir()
    written_at = os.stat(cached_file).st_mtime_ns
    again = build_tokenizer()
    assert os.stat(cached_file).st_mtime_ns == written_at
    assert again.get_vocab() == first.get_vocab()
    assert (again.mask_token, again.model_max_length) == ("[MASK]", 16)
    assert again.tokenize("the [MASK] dog") == ["the", "[MASK]", "dog"]
    cached_file.write_bytes(cached_file.read_bytes()[:100])
    assert build_tokenizer().get_vocab() == first.get_vocab()
    assert "it is trained again" in caplog.text
    build_tokenizer(SIZE + 1)
    assert len(list(tmp_path.iterdir())) == 2
