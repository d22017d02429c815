"""The examples of questions, and questions about tables that are no paper's dataset."""

import pytest

from adnominal import conf
from adnominal.conf import UserError
from adnominal.etl.prompts.files import read
from adnominal.training.asking.items import load
from adnominal.training.asking.questions import Questions
from adnominal.training.asking.settings import Settings
from tests.rows import adept_row, write


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """Twelve training rows of ADEPT of three labels, and two to ask about; NLI; rated pairs."""
    root = str(tmp_path_factory.mktemp("lake"))
    parts = [("train", number % 3 + 1) for number in range(12)] + [("val", 2), ("val", 3)]
    rows = [
        adept_row(f"i{number:02}", f"adjective{number}", "dog", label, split_random=part)
        for number, (part, label) in enumerate(parts)
    ]
    write(root, "adept", rows)
    labels = ("entailment", "neutral", "contradiction")
    pairs = [
        {"item_id": f"{part}{label}", "premise": f"P {label}.", "hypothesis": "H.", "label": label,
         "split": part, "source": "mine"}
        for part in ("train", "test")
        for label in labels
    ]  # fmt: skip
    write(root, "nli", pairs)
    ratings = [("red", 6.5, "test"), ("fake", 2.25, "test"), ("old", 4.0, "train")]
    rated = [
        {"pair_id": adjective, "adjective": adjective, "noun": "car", "score": score,
         "split": part, "source": "people"}
        for adjective, score, part in ratings
    ]  # fmt: skip
    write(root, "graded_pairs", rated)
    return root


def asked(lake, *more):
    settings = conf.load(Settings, ["model=none", f"lake={lake}", *more])
    items = load(settings)
    prompts = read(settings.prompt_file, settings.task, form=settings.form)
    questions = Questions(items, prompts, settings)
    listed = list(questions)
    assert questions.number == len(listed)
    return items, listed


ADEPT = ("task=adept", "edition=published", "part=val", "form=generate")


def test_examples_are_of_the_training_part_and_balanced(lake):
    items, questions = asked(lake, *ADEPT, "shots=6")
    assert (items.scheme, items.examples.num_rows) == ("6_shot", 12)
    for question in questions:
        texts = [text for text, _ in question.request.examples]
        assert len(set(texts)) == 6
        answers = sorted(completion for _, completion in question.request.examples)
        labels = ("equally likely", "less likely", "more likely")
        assert answers == [f"Answer: {label}" for label in labels for _ in range(2)]
        assert "adjective12" not in "".join(texts) and "adjective13" not in "".join(texts)


def test_examples_are_drawn_for_each_item_by_the_seed(lake):
    def examples(*more):
        return [question.request.examples for question in asked(lake, *ADEPT, *more)[1]]

    first, second = examples("shots=4")
    assert first != second
    assert examples("shots=4") == [first, second]
    assert examples("shots=4", "seed=1") != [first, second]
    # An odd number gives one label more than another, not always the same one.
    assert {len(shown) for shown in examples("shots=5")} == {5}


def test_the_training_part_must_have_enough_rows(lake):
    with pytest.raises(UserError, match=r"shots=3: .* has 3 rows of part train"):
        asked(lake, "task=nli", "edition=mine", "shots=3")


def test_training_rows_are_not_their_own_examples(lake):
    with pytest.raises(UserError, match=r"part=train shots=2: .*its own answer"):
        asked(lake, *ADEPT, "part=train", "shots=2")
    asked(lake, *ADEPT, "part=train")


def test_nli_has_the_labels_of_its_prompts(lake):
    items, questions = asked(lake, "task=nli", "edition=mine")
    assert items.name == "pairs_nli"
    assert [row["gold"] for row in items.rows.read().to_pylist()] == [
        *("contradiction", "entailment", "neutral")
    ]
    request = questions[0].request
    assert request.text.startswith('Given that "P contradiction.", is it true that "H."?')
    assert request.words == ("Yes", "Maybe", "No")
    assert questions[0].verbaliser.labels == ("entailment", "neutral", "contradiction")


def test_rated_pairs_are_asked_for_a_step(lake):
    items, questions = asked(lake, "task=graded_pairs", "edition=people", "shots=0")
    assert items.rows.read()["gold"].to_pylist() == ["2.25", "6.5"]
    assert questions[0].request.text.startswith('How usual is the phrase "fake car"')
    assert questions[0].request.words == tuple("1234567")
    with pytest.raises(UserError, match="source=strangers"):
        asked(lake, "task=graded_pairs", "edition=strangers")
