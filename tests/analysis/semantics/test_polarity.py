import pytest

from adnominal.analysis.semantics.polarity import PolarityScore, average, polarities, score

# From table 7 of the paper.
GOLD = "all x1.((cat(x1) & wild(x1)) -> (escape(x1) & run(x1)))"
GRU = "all x1.(cat(x1) -> (escape(x1) & run(x1)))"
TRANSFORMER = "all x1.(cat(x1) -> (wild(x1) & (escape(x1) & run(x1))))"


def test_a_missing_word_lowers_only_recall():
    assert score("fol", GOLD, GRU, "up") == (1.0, 1.0, 1.0)
    assert score("fol", GOLD, GRU, "down") == pytest.approx((1.0, 0.5, 2 / 3))


def test_a_word_in_the_wrong_direction_lowers_precision_and_recall():
    assert score("fol", GOLD, TRANSFORMER, "down") == (0.5, 0.5, 0.5)


def test_scores_can_be_rounded_as_published():
    gold = "exists x1.(a(x1) & b(x1) & c(x1))"
    assert score("fol", gold, "exists x1.a(x1)", "up", rounding=2) == (1.0, 0.33, 0.5)


def test_without_words_in_the_direction_there_is_no_score():
    assert score("vf", "EXIST DOG RUN", "EXIST DOG RUN", "down") is None


@pytest.mark.parametrize("predicted", ["ALL DOG", "EXIST FOX SWIM"])
def test_broken_output_and_output_without_the_words_score_zero(predicted):
    assert score("vf", "EXIST DOG RUN", predicted, "up") == (0.0, 0.0, 0.0)


def test_averages_ignore_missing_scores():
    one, half = PolarityScore(1.0, 1.0, 1.0), PolarityScore(0.5, 0.0, 0.0)
    assert average([one, None, half]) == ((0.75, 0.5, 0.5), 2)
    assert average([None]) == (None, 0)


def test_clauses_have_no_polarity():
    with pytest.raises(ValueError, match="fol or vf"):
        polarities("drs", "b1 dog x1")
