"""Words with similar collocates: in Python, on the command line, on the server."""

import numpy as np
import pytest
from starlette.testclient import TestClient

import adnominal
from adnominal.analysis.exploring.queries import Query
from adnominal.analysis.exploring.server import application
from adnominal.analysis.exploring.sketches import Sketches
from adnominal.analysis.exploring.thesaurus import similar_words
from adnominal.conf.commandline.__main__ import main
from tests.lake_of_pairs import write_pairs

PAIRS = [
    ("loud", "dog", 4),
    ("small", "dog", 6),
    ("loud", "cat", 3),
    ("small", "cat", 7),
    ("small", "house", 9),
    ("wooden", "house", 5),
    ("abstract", "idea", 5),
]


@pytest.fixture(scope="module")
def animals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("animals")
    write_pairs(str(folder / "lake"), {"news": PAIRS, "web": [("small", "dog", 1)]})
    return Sketches(str(folder / "lake"), folder / "cache")


def test_words_are_ordered_by_the_cosine_of_their_collocates(animals):
    answer = similar_words(animals, "noun", "Dog")
    assert (answer["word"], answer["corpus"]) == ("dog", "news")
    assert [(row["word"], row["shared"]) for row in answer["rows"]] == [("cat", 2), ("house", 1)]
    vectors = []
    for noun in ("dog", "cat"):
        rows = animals.sketch(Query("noun", noun, corpus="news"))["rows"]
        by_adjective = {row["adjective"]: row["log_dice"] for row in rows}
        vectors.append(np.array([by_adjective["loud"], by_adjective["small"]]))
    cosine = vectors[0] @ vectors[1] / np.prod([np.linalg.norm(vector) for vector in vectors])
    assert answer["rows"][0]["similarity"] == pytest.approx(cosine)
    assert answer["rows"][0]["collocates"] in ("loud, small", "small, loud")
    assert [row["word"] for row in similar_words(animals, "noun", "dog", limit=1)["rows"]] == [
        "cat"
    ]


def test_adjectives_are_compared_by_their_nouns(animals):
    rows = similar_words(animals, "adjective", "loud")["rows"]
    assert [row["word"] for row in rows] == ["small"]
    assert similar_words(animals, "noun", "idea")["rows"] == []


def test_an_unknown_word_has_the_hints_of_a_sketch(animals):
    answer = similar_words(animals, "noun", "loud")
    assert [hint["word"] for hint in answer["hints"]] == ["loud"]
    assert answer["rows"] == []


def test_python_the_command_and_the_server_give_the_same_words(animals, tmp_path, capsys):
    expected = [row["word"] for row in similar_words(animals, "noun", "dog")["rows"]]
    table = adnominal.similar("dog", lake=animals.lake)
    assert table.column("word").to_pylist() == expected
    arguments = ["explore", f"lake={animals.lake}", f"cache={tmp_path}", "similar=true"]
    assert main([*arguments, "noun=dog"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[0] for line in printed[1:]] == expected
    client = TestClient(application(animals), base_url="http://127.0.0.1")
    served = client.get("/api/similar?role=noun&word=dog").json()
    assert [row["word"] for row in served["rows"]] == expected
    with pytest.raises(adnominal.UserError, match="dogs is a form of dog"):
        adnominal.similar("dogs", lake=animals.lake)
    assert main([*arguments, "noun=idea"]) == 1
    assert "no noun shares a collocate with 'idea'" in capsys.readouterr().err
