"""The places of words with any letters, and of unknown words."""

import numpy as np
import pyarrow as pa

from adnominal.etl.amod import word_index
from adnominal.etl.amod.word_index import WordIndex

WORDS = ["a", "aa", "ab", "ba", "b" * 300, "b" * 301, "große", "日本", "x"]


def test_words_have_their_places_and_others_have_none():
    index = WordIndex(pa.array(WORDS))
    assert index.places(pa.array(WORDS[::-1])).tolist() == list(range(len(WORDS)))[::-1]
    assert index.places(pa.array(["", "aaa", "c", "große ", "x"])).tolist() == [-1, -1, -1, -1, 8]
    assert index.places(pa.array(["z", *WORDS, "z"])[1:3]).tolist() == [0, 1]


def test_an_empty_index_and_an_empty_query_give_no_places():
    assert WordIndex(pa.array([], pa.string())).places(pa.array(["a"])).tolist() == [-1]
    assert WordIndex(pa.array(["a"])).places(pa.array([], pa.string())).tolist() == []


def test_hashing_words_in_pieces_gives_the_same_hashes(monkeypatch):
    words = pa.array([f"w{number}" for number in range(1000)])
    hashes = word_index.hashes_of(words)
    monkeypatch.setattr(word_index, "_AT_ONCE", 7)
    assert np.array_equal(word_index.hashes_of(words), hashes)
    assert len(set(hashes.tolist())) == 1000


def test_words_that_share_a_hash_are_distinguished(monkeypatch):
    monkeypatch.setattr(word_index, "hashes_of", lambda words: np.zeros(len(words), np.int64))
    assert WordIndex(pa.array(["a", "b"])).places(pa.array(["b", "c", "a"])).tolist() == [1, -1, 0]
