import random

import pytest

from adnominal.conf import UserError
from adnominal.etl.annotation import aggregation
from adnominal.etl.annotation.aggregation import aggregate, check_models
from adnominal.etl.annotation.quality import Answer, majority


def answers(items=40, seed=0):
    """The answers of two reliable annotators and of three who guess, with the true labels."""
    chance = random.Random(seed)
    all_answers, truth = [], {}
    for number in range(items):
        item = f"i{number:02d}"
        truth[item] = chance.randrange(5)
        for annotator in "abcde":
            label = truth[item] if annotator in "ab" else chance.randrange(5)
            all_answers.append(
                Answer(item, annotator, label, None, "item", "main", "context", "b", "b-1")
            )
    return all_answers, truth


@pytest.mark.parametrize("model", aggregation.MODELS)
def test_models_outperform_a_majority_vote(model):
    pytest.importorskip("crowdkit")
    all_answers, truth = answers()
    labels = aggregate(model, all_answers)
    correct = sum(labels[item] == label for item, label in truth.items())
    assert correct >= 34 and all(type(label) is int for label in labels.values())
    votes = {item: majority(a.label for a in all_answers if a.item_id == item) for item in truth}
    assert correct > sum(vote is not None and vote.label == truth[i] for i, vote in votes.items())


def test_the_order_of_answers_does_not_matter():
    pytest.importorskip("crowdkit")
    all_answers, _ = answers()
    assert aggregate("dawid_skene", all_answers[::-1]) == aggregate("dawid_skene", all_answers)


def test_unknown_models_and_missing_packages_are_refused(monkeypatch):
    with pytest.raises(ValueError, match="expected one of dawid_skene, mace"):
        aggregate("vote", [])
    with pytest.raises(ValueError, match="no answers"):
        aggregate("mace", [])
    monkeypatch.setattr(aggregation, "find_spec", lambda name: None)
    check_models([])
    with pytest.raises(UserError, match=r"pip install -e '\.\[annotation\]', or set models=\[\]"):
        check_models(["mace"])
