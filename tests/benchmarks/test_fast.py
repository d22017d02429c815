"""The case of parser=fast."""

from dataclasses import replace

import pytest

from adnominal.conf import UserError
from benchmarks import fast
from tests.benchmarks.page import page


def test_only_parts_whose_input_is_given_are_measured():
    settings = fast.Settings(treebanks=["dev.conllu"], text="prose.txt")
    assert list(fast.measurements(settings)) == ["quality", "speed", "cores"]
    assert list(fast.measurements(replace(settings, parts=["speed"]))) == ["speed"]
    for parts in (["wikipedia"], []):
        with pytest.raises(UserError, match="nothing to measure; expected treebanks="):
            fast.measurements(fast.Settings(parts=parts))


def test_words_of_a_text_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(fast, "ROUNDS", 1)
    text = tmp_path / "text.txt"
    text.write_text("The old house had a red door.\n" * 50)
    reading = fast.speed(str(text))
    assert (reading["words"], reading["bytes"]) == (350, 1500)
    assert reading["words_per_second"] > 1000 and reading["memory_mb"] > 10


def test_the_page_shows_the_measured_figures():
    score = {"gold": 9, "fast": 0.5, "spacy": 0.4, "gain": 0.1, "low": -0.1, "high": 0.3}
    figures = {
        "quality": {"dev": {"form": score}},
        "speed": {"bytes": 3e7, "words_per_second": 1e6, "memory_mb": 299.0},
    }
    lines = page(fast.CASE, figures).splitlines()
    assert "| dev | form | 9 | 0.500 | 0.400 | +0.100 (-0.100 to +0.300) |" in lines
    assert "| memory of that process | 299 MB | <= 200 MB | missed |" in lines
    counting = "| a trillion words at that speed, counting alone | 278 core-hours |  |  |"
    assert counting in lines
