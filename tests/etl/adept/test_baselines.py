import pytest

from adnominal.etl.adept.baselines import label_of, majority, normative_rule

LABELS = [2, 2, 0, 1, 3, 4]


def test_labels_of_five_four_and_three_classes():
    assert [label_of(label, 5) for label in range(5)] == [0, 1, 2, 3, 4]
    assert [label_of(label, 4) for label in range(5)] == [None, 0, 1, 2, 3]
    assert [label_of(label, 3) for label in range(5)] == [0, 0, 1, 2, 2]
    with pytest.raises(ValueError, match="classes=2; expected one of 5, 4, 3"):
        label_of(0, 2)
    with pytest.raises(ValueError, match="label 5"):
        label_of(5, 3)


def test_the_majority_label_of_the_training_rows():
    assert majority(LABELS, 5) == 2
    assert majority([0, 0, 2], 4) == 1
    assert majority([0, 1, 2], 3) == 0
    with pytest.raises(ValueError, match="no labels"):
        majority([0], 4)


@pytest.mark.parametrize(("classes", "lower", "equal"), [(5, 0, 2), (4, 0, 1), (3, 0, 1)])
def test_non_subsective_adjectives_lower_the_plausibility(classes, lower, equal):
    assert normative_rule("Dead", {"dead"}, classes) == lower
    assert normative_rule("old", {"dead"}, classes) == equal
