from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from adnominal.analysis.across.overlap import overlap, patterns_of, words_of_categories
from adnominal.conf import UserError
from tests.rows import rows, write

ROWS = [
    ("t1", "one dog ran", "exists x1.(dog(x1) & run(x1))", "train"),
    ("t2", "one cat ran", "exists x1.(cat(x1) & run(x1))", "train"),
    ("t3", "all small dogs ran", "all x1.((dog(x1) & small(x1)) -> run(x1))", "train"),
    ("a", "a dog ran", "exists x1.(dog(x1) & run(x1))", "test"),
    ("b", "one fox walked", "exists x1.(fox(x1) & walk(x1))", "test"),
    ("c", "every dog ran", "all x1.(dog(x1) -> run(x1))", "test"),
    ("d", "a dog did not run", "exists x1.(dog(x1) & -run(x1))", "test"),
]


def test_patterns_replace_only_open_class_words():
    texts = {
        "all small dogs ran": "all adj noun iv",
        "EXISTS AND DOG SMALL NOT RUN": "EXISTS AND noun adj NOT iv",
        "exists x1.(dog(x1) & -run(x1))": "exists x1.(noun(x1) & -iv(x1))",
        "dogma": "dogma",
    }
    categories = words_of_categories()
    assert patterns_of(pa.array(list(texts)), categories).to_pylist() == list(texts.values())


def test_no_category_is_a_word_of_the_grammar():
    categories = words_of_categories()
    names = pa.array(list(categories))
    for words in categories.values():
        assert not pc.any(pc.match_substring_regex(names, words)).as_py()


def test_overlap_with_training_is_counted(tmp_path):
    lake, edition = str(tmp_path), "mine"
    sentences = [row[:3] for row in ROWS]
    write(lake, "sygns", rows("sentence_id sentence fol", *sentences, depth=0, edition=edition))
    split: Any = {"scheme": "systematicity", "primitive": "one", "edition": edition}
    parts = [(item, part) for item, *_, part in ROWS]
    write(lake, "sygns_splits", rows("sentence_id part", *parts, **split))
    shares, sizes = overlap(lake, edition)
    assert list(sizes.values()) == [3, 4]
    assert {column: share for (_, column), share in shares.items()} == {
        "same form": 0.25,  # "a dog ran" has the form of "one dog ran"
        "sentence pattern": 0.25,  # one noun iv
        "form pattern": 0.5,  # a and b
        # The existential form of three-word sentences is right for a and b; no training sentence
        # has five words.
        "by length": 0.5,
        "most frequent": 0.5,
    }
    with pytest.raises(UserError, match="edition=other"):
        overlap(lake, "other")
