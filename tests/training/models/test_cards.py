"""The header of the model card, and what it says about the training data."""

import pyarrow as pa
import pytest

from adnominal.training.models.cards import card
from adnominal.training.models.learner import Learner
from adnominal.training.tasks import Dataset, Examples


def meanings(rows: int) -> Examples:
    table = pa.table({"item": [str(at) for at in range(rows)], "sentence": ["one dog"] * rows})
    return Examples.of(table, "item", ["sentence"], targets=pa.array(["x"] * rows))


def card_of(*, pretrained: str | None, instructed: bool, train_examples: int = 1200) -> str:
    learner = Learner()
    parts = {"train": meanings(1200), "val": meanings(2)}
    learner.dataset = Dataset("meanings", "e", "s", "f", (), parts, ())
    learner.name, learner.pretrained, learner.instructed = "model", pretrained, instructed
    return card(
        learner, task="sygns", train_examples=train_examples, settings={}, figures={}, code="c"
    )


@pytest.mark.parametrize(
    ("pretrained", "instructed", "header"),
    [
        (
            "folder/llama",
            True,
            "---\nlibrary_name: transformers\npipeline_tag: text-generation\nlanguage: en\n"
            'tags: [adnominal, meanings]\nbase_model: "folder/llama"\n---\n',
        ),
        (
            None,
            False,
            "---\nlibrary_name: pytorch\npipeline_tag: text2text-generation\nlanguage: en\n"
            "tags: [adnominal, meanings]\n---\n",
        ),
    ],
)
def test_the_header_names_the_base_model_if_there_is_one(pretrained, instructed, header):
    assert card_of(pretrained=pretrained, instructed=instructed).startswith(header)


def test_a_card_states_how_many_training_examples_were_used():
    assert "): 1,200 train, 2 val." in card_of(pretrained=None, instructed=False)
    text = card_of(pretrained=None, instructed=False, train_examples=200)
    assert "): 200 of 1,200 train, 2 val." in text
