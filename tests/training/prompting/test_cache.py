from __future__ import annotations

import math

from training.prompting.cache import Answer, Cache, key
from training.prompting.prompts import Cloze

CLOZE = Cloze("A dog is a ", " animal.", ("good", "poor"))


def test_every_part_of_a_question_is_in_its_key():
    ways = [
        key("plane/internal@1", CLOZE),
        key("plane/internal@2", CLOZE),
        key("plane/internal@1", Cloze("A dog is a", "  animal.", CLOZE.words)),
        key("plane/internal@1", Cloze(CLOZE.prefix, CLOZE.suffix, ("poor", "good"))),
        key("plane/internal@1", Cloze(CLOZE.prefix, CLOZE.suffix, ("goodpoor",))),
        key("plane/internal@1", Cloze(CLOZE.prefix, CLOZE.suffix, ("goodp", "oor"))),
    ]
    assert len(set(ways)) == len(ways)
    assert key("plane/internal@1", Cloze(*CLOZE.__dict__.values())) == ways[0]


def test_what_was_added_is_found(tmp_path):
    cache = Cache(str(tmp_path), "model")
    one, two = key("a", CLOZE), key("b", CLOZE)
    assert cache.lookup([one, two]) == {}
    masked = Answer((-1.5, math.nan), (1, 0), "good", 0)
    cache.add({one: masked})
    cache.add({two: Answer((-3.0, -4.0), (2, 3))})
    cached = Cache(str(tmp_path), "model").lookup([one, two])
    assert cached[two] == Answer((-3.0, -4.0), (2, 3), None, -1)
    assert repr(cached[one]) == repr(masked)
    assert set(cache.lookup([two])) == {two}
    assert Cache(str(tmp_path), "another").lookup([one]) == {}


def test_an_answer_that_is_nan_is_not_kept(tmp_path):
    cache = Cache(str(tmp_path), "model")
    one, two = key("a", CLOZE), key("b", CLOZE)
    cache.add({one: Answer((-1.5, math.nan), (1, 2)), two: Answer((-1.5, math.nan), (1, 0))})
    assert set(cache.lookup([one, two])) == {two}


def test_a_broken_file_is_computed_again(tmp_path, caplog):
    cache = Cache(str(tmp_path), "model")
    one = key("a", CLOZE)
    cache.add({one: Answer((-1.0,), (1,))})
    (path,) = tmp_path.rglob("*.parquet")
    path.write_bytes(b"PAR1")
    assert cache.lookup([one]) == {}
    assert "computed again" in caplog.text


def test_without_a_folder_nothing_is_kept():
    cache = Cache(None, "model")
    cache.add({key("a", CLOZE): Answer((-1.0,), (1,))})
    assert cache.lookup([key("a", CLOZE)]) == {}
