"""Soft labels from people's votes, and the loss against them."""

import shutil

import numpy as np
import pytest
import torch

from adnominal import conf
from adnominal.conf import UserError
from adnominal.etl.label_votes import replace_votes, votes_table
from adnominal.training import tasks
from adnominal.training.evaluation import loss_sum, loss_terms
from adnominal.training.grid import content
from adnominal.training.planning import identity
from adnominal.training.settings import Settings
from adnominal.training.tasks.votes import with_votes


@pytest.fixture
def voted_lake(adept_lake, tmp_path):
    """The small ADEPT with the votes of three people on two training items."""
    lake = str(tmp_path / "lake")
    shutil.copytree(adept_lake, lake)
    train = tasks.task({"name": "adept"}).load(lake).parts["train"]
    one, two = train.item_ids.to_pylist()[:2]
    votes = {one: {"impossible": 1, "less likely": 2}, two: {"necessarily true": 3}}
    replace_votes(lake, votes_table("adept", "published", "people", votes), "test")
    return lake


def soft(lake, **settings):
    task = tasks.task({"name": "adept", **settings})
    dataset = task.load(lake)
    return dataset, with_votes(task, dataset, lake)


def test_rows_with_votes_have_their_shares_and_others_their_label(voted_lake):
    dataset, voted = soft(voted_lake)
    shares = voted.parts["train"].soft_labels
    assert shares[0].tolist() == pytest.approx([1 / 3, 2 / 3, 0, 0, 0])
    assert shares[1].tolist() == [0, 0, 0, 0, 1]
    labels = voted.parts["train"].labels[2:]
    assert (shares[2:] == np.eye(5, dtype=np.float32)[labels]).all()
    assert voted.parts["val"].soft_labels.shape == (len(dataset.parts["val"]), 5)
    assert voted.sources[-1].table == "label_votes"
    # Rows that are drawn take theirs along, and other votes are another run.
    drawn = voted.parts["train"].take(np.array([1]))
    assert drawn.soft_labels.tolist() == [[0, 0, 0, 0, 1]]
    assert content(voted) != content(dataset)


@pytest.mark.parametrize(
    ("settings", "first", "second"),
    [
        ({"classes": 3}, [1, 0, 0], [0, 0, 1]),
        ({"classes": 3, "collapse": True}, [1 / 3, 2 / 3, 0, 0, 0], [0, 0, 0, 0, 1]),
        # The first item, which is impossible by its label, is no row of this task.
        ({"classes": 4}, None, [0, 0, 0, 1]),
    ],
)
def test_votes_count_for_the_classes_that_are_learnt(voted_lake, settings, first, second):
    whole, _ = soft(voted_lake)
    one, two = whole.parts["train"].item_ids.to_pylist()[:2]
    _, voted = soft(voted_lake, **settings)
    train = voted.parts["train"]
    shares = dict(zip(train.item_ids.to_pylist(), train.soft_labels.tolist(), strict=True))
    assert shares.get(one) == (first and pytest.approx(first))
    assert shares[two] == second
    assert np.allclose(train.soft_labels.sum(axis=1), 1)


def test_training_without_votes_is_refused(adept_lake, task_lake):
    with pytest.raises(UserError, match="labels=soft: no votes on training rows of adept"):
        soft(adept_lake)
    sygns = tasks.task({"name": "sygns", "edition": "paper"})
    with pytest.raises(UserError, match="labels=soft: sygns"):
        with_votes(sygns, sygns.load(task_lake), task_lake)


def test_the_loss_is_the_cross_entropy_against_the_distribution():
    logits = torch.tensor([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]])
    shares = torch.tensor([[0.25, 0.75, 0.0], [0.0, 0.0, 1.0]])
    logs = logits.log_softmax(dim=1)
    expected = -(shares * logs).sum(dim=1)
    assert loss_sum(logits, shares).item() == pytest.approx(expected.sum().item())
    # One vote is the loss of a label.
    label = loss_sum(logits[1:], torch.tensor([2]))
    assert expected[1].item() == pytest.approx(label.item())
    # A batch without examples has no weight.
    terms = loss_terms(logits, torch.stack([shares[0], torch.zeros(3)]))
    assert terms.tolist() == [[pytest.approx(expected[0].item()), 1.0], [0.0, 0.0]]


def test_soft_labels_are_another_run_and_gold_ones_the_same_as_ever():
    def settings(*words):
        return conf.load(Settings, ["task.name=adept", *words])

    assert "labels" not in identity(settings())
    assert identity(settings("labels=soft")) == {**identity(settings()), "labels": "soft"}
    with pytest.raises(UserError, match="labels=soft and instructions=true"):
        settings("labels=soft", "instructions=true")
