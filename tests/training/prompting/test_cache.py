import math

from adnominal.training.prompting.cache import Answer, Cache, key
from adnominal.training.prompting.prompts import Cloze

CLOZE = Cloze("A dog is a ", " animal.", ("good", "poor"))


def test_the_key_depends_on_every_part_of_a_question():
    keys = [
        key("plane/internal@1", CLOZE),
        key("plane/internal@2", CLOZE),
        key("plane/internal@1", Cloze("A dog is a", "  animal.", CLOZE.words)),
        key("plane/internal@1", Cloze(CLOZE.prefix, CLOZE.suffix, ("poor", "good"))),
        key("plane/internal@1", Cloze(CLOZE.prefix, CLOZE.suffix, ("goodpoor",))),
        key("plane/internal@1", Cloze(CLOZE.prefix, CLOZE.suffix, ("goodp", "oor"))),
    ]
    assert len(set(keys)) == len(keys)
    assert key("plane/internal@1", Cloze(*CLOZE.__dict__.values())) == keys[0]


def test_added_answers_are_found(tmp_path):
    cache = Cache(str(tmp_path), "model")
    first, second = key("a", CLOZE), key("b", CLOZE)
    assert cache.lookup([first, second]) == {}
    masked_answer = Answer((-1.5, math.nan), (1, 0), "good", 0)
    cache.add({first: masked_answer})
    cache.add({second: Answer((-3.0, -4.0), (2, 3))})
    cached = Cache(str(tmp_path), "model").lookup([first, second])
    assert cached[second] == Answer((-3.0, -4.0), (2, 3), None, -1)
    assert repr(cached[first]) == repr(masked_answer)
    assert set(cache.lookup([second])) == {second}
    assert Cache(str(tmp_path), "another").lookup([first]) == {}


def test_nan_answers_are_not_cached(tmp_path):
    cache = Cache(str(tmp_path), "model")
    first, second = key("a", CLOZE), key("b", CLOZE)
    cache.add({first: Answer((-1.5, math.nan), (1, 2)), second: Answer((-1.5, math.nan), (1, 0))})
    assert set(cache.lookup([first, second])) == {second}


def test_answers_in_a_broken_file_are_computed_again(tmp_path, caplog):
    cache = Cache(str(tmp_path), "model")
    first = key("a", CLOZE)
    cache.add({first: Answer((-1.0,), (1,))})
    (path,) = tmp_path.rglob("*.parquet")
    path.write_bytes(b"PAR1")
    assert cache.lookup([first]) == {}
    assert "computed again" in caplog.text


def test_without_a_folder_nothing_is_cached():
    cache = Cache(None, "model")
    cache.add({key("a", CLOZE): Answer((-1.0,), (1,))})
    assert cache.lookup([key("a", CLOZE)]) == {}
