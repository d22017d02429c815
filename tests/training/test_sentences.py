from __future__ import annotations

import os

import pyarrow as pa
import pytest

from conf import UserError
from etl.lake import arrow
from tests.training.conftest import sentence_rows, sentence_table
from training import sentences


def load(lake: str, *corpora: str, min_words: int = 4, share: float = 1.0, validation: float = 0.1):
    return sentences.load(lake, corpora, min_words=min_words, share=share, validation=validation)


def texts(dataset, part):
    rows = dataset.parts[part]
    return dict(zip(rows.item_ids.to_pylist(), rows.first.to_pylist(), strict=True))


def test_each_text_is_read_once_and_in_one_part(sentence_lake, caplog):
    with caplog.at_level("INFO", logger="adnominal"):
        dataset = load(sentence_lake)
    assert dataset.kind == "masked"
    assert [(s.edition, s.version) for s in dataset.sources] == [("other", 1), ("tiny", 1)]
    train, val = texts(dataset, "train"), texts(dataset, "val")
    both = [*train.values(), *val.values()]
    # "A dog runs." has three words; of a text in both corpora the first id counts.
    expected = {row["text"] for row in sentence_rows() if len(row["text"].split()) >= 4}
    expected |= {f"only {at} more words." for at in range(40)}
    assert sorted(both) == sorted(expected)
    assert not any(item.startswith("x") for item in [*train, *val])
    assert 0.05 < len(val) / len(both) < 0.15
    repeated = len(sentence_rows())
    assert f"{len(both)} kept, dropped {{'repeated': {repeated}}}" in caplog.text


def test_the_order_of_files_and_rows_does_not_matter(sentence_lake, tmp_path):
    rows = sentence_rows()
    for rows_in_order in (rows[300:][::-1], rows[:300]):
        arrow.append(os.fspath(tmp_path), "sentences", sentence_table(rows_in_order), job="test")
    ours, other = load(sentence_lake, "tiny"), load(os.fspath(tmp_path))
    for part in ("train", "val"):
        assert texts(ours, part) == texts(other, part)
        assert list(texts(ours, part)) == sorted(texts(ours, part))


def test_a_smaller_share_lies_in_a_greater_one(sentence_lake):
    small, great, everything = (load(sentence_lake, share=share) for share in (0.4, 0.7, 1.0))
    for part in ("train", "val"):
        assert texts(small, part).items() < texts(great, part).items()
        assert texts(great, part).items() < texts(everything, part).items()


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"corpora": ["depcc"]}, r"corpus=depcc: not in the table sentences .* other, tiny"),
        ({"min_words": 30}, r"0 sentences to train on \(dropped: \{'short': 1000\}\)"),
        ({"share": 0.01}, r"expected 100 or more"),
        ({"validation": 0.001}, r"\d sentences to validate on .* expected 10 or more"),
    ],
)
def test_too_few_sentences(sentence_lake, how, message):
    corpora = how.pop("corpora", [])
    with pytest.raises(UserError, match=message):
        load(sentence_lake, *corpora, **how)


def test_no_table(tmp_path):
    with pytest.raises(UserError, match=r"no table sentences there.*keep_text=true"):
        load(os.fspath(tmp_path))


def test_an_empty_table(tmp_path):
    root = os.fspath(tmp_path)
    arrow.append(root, "sentences", sentence_table([]), job="test")
    with pytest.raises(UserError, match="no sentences"):
        load(root)


def test_a_text_that_is_missing_is_left_out(tmp_path):
    root = os.fspath(tmp_path)
    rows = sentence_table(sentence_rows())
    empty = pa.Table.from_pylist(
        [{"corpus": "tiny", "document": "d", "sentence_id": "none", "text": None}], rows.schema
    )
    arrow.append(root, "sentences", pa.concat_tables([rows, empty]), job="test")
    assert len(load(root).parts["train"]) == len(load(root, min_words=1).parts["train"])
