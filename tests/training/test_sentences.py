import os

import pytest

from adnominal.conf import UserError
from adnominal.training import sentences
from tests.rows import write
from tests.training.conftest import sentence_rows


def load(lake: str, *corpora: str, min_words: int = 4, share: float = 1.0, validation: float = 0.1):
    return sentences.load(lake, corpora, min_words=min_words, share=share, validation=validation)


def texts(dataset, part):
    rows = dataset.parts[part]
    return dict(zip(rows.item_ids.to_pylist(), rows.first.to_pylist(), strict=True))


def test_each_text_is_read_once_into_one_part(sentence_lake, caplog):
    with caplog.at_level("INFO", logger="adnominal"):
        dataset = load(sentence_lake)
    assert dataset.kind == "masked"
    assert [(s.edition, s.version) for s in dataset.sources] == [("other", 1), ("tiny", 1)]
    train, val = texts(dataset, "train"), texts(dataset, "val")
    all_texts = [*train.values(), *val.values()]
    # "A dog runs." is too short; a text in both corpora is read under its first id.
    expected = {row["text"] for row in sentence_rows() if len(row["text"].split()) >= 4}
    expected |= {f"only {at} more words." for at in range(40)}
    assert sorted(all_texts) == sorted(expected)
    assert not any(item.startswith("x") for item in [*train, *val])
    assert 0.05 < len(val) / len(all_texts) < 0.15
    repeated = len(sentence_rows())
    assert f"{len(all_texts)} kept, dropped {{'repeated': {repeated}}}" in caplog.text


def test_the_order_of_files_and_rows_does_not_matter(sentence_lake, tmp_path):
    rows = sentence_rows()
    for rows_in_order in (rows[300:][::-1], rows[:300]):
        write(tmp_path, "sentences", rows_in_order)
    dataset, other = load(sentence_lake, "tiny"), load(os.fspath(tmp_path))
    for part in ("train", "val"):
        assert texts(dataset, part) == texts(other, part)
        assert list(texts(dataset, part)) == sorted(texts(dataset, part))


def test_a_smaller_share_is_contained_in_a_greater_one(sentence_lake):
    small, great, everything = (load(sentence_lake, share=share) for share in (0.4, 0.7, 1.0))
    for part in ("train", "val"):
        assert texts(small, part).items() < texts(great, part).items()
        assert texts(great, part).items() < texts(everything, part).items()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"corpora": ["depcc"]},
            r"corpus=depcc: not in the table sentences .* other, tiny",
        ),
        ({"min_words": 30}, r"0 sentences to train on \(dropped: \{'short': 1000\}\)"),
        ({"share": 0.01}, r"expected 100 or more"),
        ({"validation": 0.001}, r"\d sentences to validate on .* expected 10 or more"),
    ],
)
def test_too_few_sentences_are_refused(sentence_lake, options, message):
    corpora = options.pop("corpora", [])
    with pytest.raises(UserError, match=message):
        load(sentence_lake, *corpora, **options)


def test_a_missing_table_is_reported(tmp_path):
    with pytest.raises(UserError, match=r"no table sentences there.*keep_text=true"):
        load(os.fspath(tmp_path))


def test_an_empty_table_is_refused(tmp_path):
    write(tmp_path, "sentences", [])
    with pytest.raises(UserError, match="no sentences"):
        load(os.fspath(tmp_path))


def test_rows_without_text_are_dropped(tmp_path):
    root = os.fspath(tmp_path)
    without_text = {"corpus": "tiny", "document": "d", "sentence_id": "none", "text": None}
    write(root, "sentences", [*sentence_rows(), without_text])
    assert len(load(root).parts["train"]) == len(load(root, min_words=1).parts["train"])
