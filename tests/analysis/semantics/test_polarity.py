from __future__ import annotations

import pytest

from analysis.semantics.polarity import PolarityScore, average, polarities, score

# The paper's table 7.
GOLD = "all x1.((cat(x1) & wild(x1)) -> (escape(x1) & run(x1)))"
GRU = "all x1.(cat(x1) -> (escape(x1) & run(x1)))"
TRANSFORMER = "all x1.(cat(x1) -> (wild(x1) & (escape(x1) & run(x1))))"


def test_a_word_left_out_costs_recall_only():
    assert score("fol", GOLD, GRU, "up") == (1.0, 1.0, 1.0)
    assert score("fol", GOLD, GRU, "down") == (1.0, 0.5, pytest.approx(2 / 3))


def test_a_word_of_the_wrong_direction_costs_both():
    assert score("fol", GOLD, TRANSFORMER, "down") == (0.5, 0.5, 0.5)


def test_published_rounding():
    gold = "exists x1.(a(x1) & b(x1) & c(x1))"
    assert score("fol", gold, "exists x1.a(x1)", "up", rounding=2) == (1.0, 0.33, 0.5)


def test_no_word_of_the_direction_is_no_score():
    assert score("vf", "EXIST DOG RUN", "EXIST DOG RUN", "down") is None


@pytest.mark.parametrize("predicted", ["ALL DOG", "EXIST FOX SWIM"])
def test_broken_output_and_output_without_the_words_score_nothing(predicted):
    assert score("vf", "EXIST DOG RUN", predicted, "up") == (0.0, 0.0, 0.0)


def test_average_leaves_out_what_has_no_score():
    one, half = PolarityScore(1.0, 1.0, 1.0), PolarityScore(0.5, 0.0, 0.0)
    assert average([one, None, half]) == ((0.75, 0.5, 0.5), 2)
    assert average([None]) == (None, 0)


def test_clauses_have_no_polarity():
    with pytest.raises(ValueError, match="fol or vf"):
        polarities("drs", "b1 dog x1")
