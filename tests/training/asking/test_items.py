import dataclasses
import logging

import pytest

from adnominal import conf
from adnominal.conf import UserError
from adnominal.etl.prompts.files import read
from adnominal.training.asking.items import load
from adnominal.training.asking.questions import Questions
from adnominal.training.asking.settings import Settings

TWO_SHOT = ("shots=2", "templates=internal", "verbalisers=good/poor")


def settings(lake, *more):
    return conf.load(Settings, ["model=none", f"lake={lake}", *more])


def shown_text(request):
    """The text before the gap, with the examples as a model without a chat template reads them."""
    examples = "".join(f"{text}{completion} " for text, completion in request.examples)
    return examples + request.text


def items_and_questions(prompt_settings):
    items = load(prompt_settings)
    names = ("prompt_file", "task", "templates", "verbalisers")
    prompts = read(*(getattr(prompt_settings, name) for name in names))
    questions = Questions(items, prompts, prompt_settings)
    listed = list(questions)
    assert questions.number == len(listed)
    return items, listed


@pytest.mark.parametrize(
    ("task", "word"),
    [
        ("adept", "scheme=noun_disjoint"),
        ("asp", "scheme=both"),
        ("plane", "tables=[degree]"),
        ("sygns", "variant=numbers"),
        ("nli", "meaning=drs"),
    ],
)
def test_settings_of_other_tasks_are_refused(task, word):
    name = word.partition("=")[0]
    with pytest.raises(UserError, match=f"{name}= has no effect on task={task}; omit it"):
        settings("lake", f"task={task}", word)


def test_two_examples_are_shown_in_both_orders(prompt_lake):
    prompt_settings = settings(prompt_lake, *TWO_SHOT)
    items, prompt_questions = items_and_questions(prompt_settings)
    ids = items.rows.read()["item_id"].to_pylist()
    texts = {
        question.order: (shown_text(question.request), question.request.suffix)
        for question in prompt_questions
        if ids[question.item] == "tall2"
    }
    first_example = "A tall dog is a good example of a dog. "
    third_example = "A tall dog is a poor example of a tall animal. "
    assert texts == {
        "1,3": (f"{first_example}{third_example}A tall dog is a ", " example of a animal."),
        "3,1": (f"{third_example}{first_example}A tall dog is a ", " example of a animal."),
    }
    assert {question.request.words for question in prompt_questions} == {("poor", "good")}
    assert (items.scheme, items.rows.read()["gold"].to_pylist().count("entailed")) == (
        "two_shot",
        6,
    )
    # Nine items in two orders.
    assert len(prompt_questions) == 18
    everything = items_and_questions(
        dataclasses.replace(prompt_settings, templates=[], verbalisers=[])
    )[1]
    assert len(everything) == 18 * 2 * 3


def test_without_examples_each_item_has_one_question(prompt_lake):
    prompt_settings = settings(prompt_lake, "templates=external")
    assert prompt_settings.prompt_file == "plane_zero_shot"
    items, prompt_questions = items_and_questions(prompt_settings)
    assert len(prompt_questions) == items.rows.num_rows == 9
    assert {question.order for question in prompt_questions} == {None}
    assert prompt_questions[0].request.text == "A black dog is a type of dog: "
    assert (items.scheme, prompt_questions[0].request.suffix) == ("zero_shot", ".")


def test_incomplete_groups_cannot_be_examples(prompt_lake, caplog):
    prompt_settings = settings(prompt_lake, "shots=2", "scheme=published")
    with caplog.at_level(logging.WARNING):
        items, _ = items_and_questions(prompt_settings)
    assert items.rows.read()["item_id"].to_pylist() == ["black1", "black2", "black3"]
    assert items.rows.read()["fold"].to_pylist() == ["published/1"] * 3
    assert "dropped: 1 of 4 items" in caplog.text
    with pytest.raises(UserError, match="no group of edition clean, scheme one_it has all three"):
        load(dataclasses.replace(prompt_settings, scheme="one_it"))


def test_missing_schemes_parts_and_editions_are_reported(prompt_lake):
    for word, existing in (
        ("scheme=strict", "one_it, published, two_shot"),
        ("part=train", "test"),
        ("edition=paper", "clean"),
    ):
        with pytest.raises(UserError, match=f"{word}: .* there is {existing}"):
            load(settings(prompt_lake, word))


def test_a_limit_selects_whole_groups_of_each_class(prompt_lake):
    items = load(settings(prompt_lake, "shots=2", "limit=1"))
    assert items.rows.num_rows == 9
    asp = settings(prompt_lake, "task=asp", "limit=1")
    limited_ids = [
        load(dataclasses.replace(asp, seed=seed)).rows.read()["item_id"].to_pylist()
        for seed in range(9)
    ]
    assert {len(ids) for ids in limited_ids} == {2}
    assert {tuple(ids) for ids in limited_ids} > {tuple(limited_ids[0])}


def test_discarded_rows_of_asp_are_dropped(prompt_lake):
    prompt_settings = settings(prompt_lake, "task=asp", "templates=conclude")
    items, prompt_questions = items_and_questions(prompt_settings)
    rows = items.rows.read().select(["item_id", "fold", "test", "gold"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        ("e1", "entailment", "ordering", "entailment"),
        ("e2", "entailment", "ordering", "not_entailment"),
        ("d1", "degree", "booster", "entailment"),
        ("d2", "degree", "booster", "not_entailment"),
    ]
    request = prompt_questions[0].request
    assert request.text.startswith('Facts: The tea is scalding.\nConclusion: "The tea is h')
    assert (request.words, request.suffix) == (("True", "False"), "")
    other = load(dataclasses.replace(prompt_settings, tables=["degree"], variant="numbers"))
    assert other.rows.read()["item_id"].to_pylist() == ["d4"]
    with pytest.raises(UserError, match="variant=both: no rows"):
        load(dataclasses.replace(prompt_settings, variant="both"))


def test_only_contextual_calibration_keeps_the_examples(prompt_lake):
    prompt_settings = settings(prompt_lake, *TWO_SHOT)
    assert items_and_questions(prompt_settings)[1][0].content_free == ()
    contextual = items_and_questions(
        dataclasses.replace(prompt_settings, calibration="contextual")
    )[1][0]
    assert len(contextual.request.examples) == 2
    assert contextual.content_free[0].examples == contextual.request.examples
    assert contextual.content_free[0].text == "A N/A is a "
    assert [request.suffix for request in contextual.content_free] == [
        " example of a N/A.",
        " example of a thing.",
        " example of a .",
    ]
    domain = items_and_questions(dataclasses.replace(prompt_settings, calibration="domain"))[1][0]
    assert (domain.content_free[1].text, domain.content_free[1].examples) == ("A thing is a ", ())


def test_impossible_settings_are_refused():
    for more, message in (
        (["shots=9"], "shots=9: expected 0 to 8"),
        (["form=generate", "calibration=domain"], "form=generate calibration=domain"),
        (["backend=local-completions"], "expected base_url= with it"),
        (["base_url=http://localhost"], "base_url= backend=hf: expected one of local-completions"),
        (
            ["backend=openai-chat-completions"],
            "form=likelihood backend=openai-chat-completions: .* expected form=generate",
        ),
        (["backend=local-completions", "base_url=http://localhost"], "tokenizer= is missing"),
        (["instructions=Answer."], "instructions= chat=false"),
        (["model_args.a=1"], "model_args= backend=hf"),
        (["batch_size=0"], "batch_size=0"),
        (["templates=[a,a]"], "the same value twice"),
        (["tables=[]"], "expected entailment, degree or both"),
    ):
        with pytest.raises(UserError, match=message):
            settings("lake", *more)


def test_the_identity_holds_only_settings_that_affect_answers():
    identity = conf.identity(settings("lake", "batch_size=1", "out=elsewhere", "cache=none"))
    assert identity == conf.identity(settings("other", "split_model=true"))
    assert identity != conf.identity(settings("lake", "calibration=domain"))
