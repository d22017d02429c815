from __future__ import annotations

import dataclasses
import logging

import pytest

import conf
from conf import UserError
from training.prompting.items import load, questions
from training.prompting.prompts import read
from training.prompting.settings import Settings


def settings(lake, *more):
    return conf.load(Settings, ["model=none", f"lake={lake}", *more])


def asked(own):
    items = load(own)
    return items, questions(
        items, read(own.prompt_file, own.task, own.templates, own.verbalisers), own
    )


def test_two_examples_in_both_orders(prompt_lake):
    own = settings(prompt_lake, "shots=2", "templates=internal", "verbalisers=good/poor")
    items, found = asked(own)
    ids = items.rows["item_id"].to_pylist()
    texts = {
        question.order: (question.cloze.prefix, question.cloze.suffix)
        for question in found
        if ids[question.item] == "tall2"
    }
    one = "A tall dog is a good example of a dog. "
    three = "A tall dog is a poor example of a tall animal. "
    assert texts == {
        "1,3": (f"{one}{three}A tall dog is a ", " example of a animal."),
        "3,1": (f"{three}{one}A tall dog is a ", " example of a animal."),
    }
    assert {question.cloze.words for question in found} == {("poor", "good")}
    assert (items.scheme, items.rows["gold"].to_pylist().count("entailed")) == ("two_shot", 6)
    # Nine items, two orders.
    assert len(found) == 18
    everything = asked(dataclasses.replace(own, templates=[], verbalisers=[]))[1]
    assert len(everything) == 18 * 2 * 3


def test_without_examples_each_item_once(prompt_lake):
    own = settings(prompt_lake, "templates=external")
    assert own.prompt_file == "plane_zero_shot"
    items, found = asked(own)
    assert len(found) == items.rows.num_rows == 9
    assert {question.order for question in found} == {None}
    assert found[0].cloze.prefix == "A black dog is a type of dog: "
    assert (items.scheme, found[0].cloze.suffix) == ("zero_shot", ".")


def test_groups_that_lack_an_item_are_no_examples(prompt_lake, caplog):
    own = settings(prompt_lake, "shots=2", "scheme=published")
    with caplog.at_level(logging.WARNING):
        items, _ = asked(own)
    assert items.rows["item_id"].to_pylist() == ["black1", "black2", "black3"]
    assert items.rows["fold"].to_pylist() == ["published/1"] * 3
    assert "left out: 1 of 4 items" in caplog.text
    with pytest.raises(UserError, match="no group of edition clean, scheme one_it has all three"):
        load(dataclasses.replace(own, scheme="one_it"))


def test_what_is_not_there_is_told(prompt_lake):
    with pytest.raises(UserError, match=r"scheme=strict: .* there is one_it, published, two_shot"):
        load(settings(prompt_lake, "scheme=strict"))
    with pytest.raises(UserError, match=r"part=train: .* there is test"):
        load(settings(prompt_lake, "part=train"))
    with pytest.raises(UserError, match=r"edition=paper: .* there is clean"):
        load(settings(prompt_lake, "edition=paper"))


def test_limit_takes_whole_groups_of_each_class(prompt_lake):
    items = load(settings(prompt_lake, "shots=2", "limit=1"))
    assert items.rows.num_rows == 9
    asp = settings(prompt_lake, "task=asp", "limit=1")
    kept = [
        load(dataclasses.replace(asp, seed=seed)).rows["item_id"].to_pylist() for seed in range(9)
    ]
    assert {len(own) for own in kept} == {2}
    assert {tuple(own) for own in kept} > {tuple(kept[0])}


def test_asp_leaves_out_what_nobody_can_answer(prompt_lake):
    own = settings(prompt_lake, "task=asp", "templates=conclude")
    items, found = asked(own)
    rows = items.rows.select(["item_id", "fold", "test", "gold"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        ("e1", "entailment", "ordering", "entailment"),
        ("e2", "entailment", "ordering", "not_entailment"),
        ("d1", "degree", "booster", "entailment"),
        ("d2", "degree", "booster", "not_entailment"),
    ]
    assert found[0].cloze.prefix.startswith(
        'Facts: The tea is scalding.\nConclusion: "The tea is h'
    )
    assert (found[0].cloze.words, found[0].cloze.suffix) == (("True", "False"), "")
    other = load(dataclasses.replace(own, tables=["degree"], variant="numbers"))
    assert other.rows["item_id"].to_pylist() == ["d4"]
    with pytest.raises(UserError, match="variant=both: no rows"):
        load(dataclasses.replace(own, variant="both"))


def test_content_free_prompts_keep_the_examples_or_do_not(prompt_lake):
    own = settings(prompt_lake, "shots=2", "templates=internal", "verbalisers=good/poor")
    assert asked(own)[1][0].free == ()
    contextual = asked(dataclasses.replace(own, calibration="contextual"))[1][0]
    shown = contextual.cloze.prefix.removesuffix("A black dog is a ")
    assert contextual.free[0].prefix == f"{shown}A N/A is a "
    assert [cloze.suffix for cloze in contextual.free] == [
        " example of a N/A.",
        " example of a thing.",
        " example of a .",
    ]
    domain = asked(dataclasses.replace(own, calibration="domain"))[1][0]
    assert domain.free[1].prefix == "A thing is a "


def test_settings_that_cannot_be():
    for more, told in (
        (["shots=1"], "shots=1: expected 2"),
        (["task=asp", "shots=2"], "task=asp shots=2"),
        (["batch_size=0"], "batch_size=0"),
        (["templates=[a,a]"], "the same value twice"),
        (["tables=[]"], "expected entailment, degree or both"),
    ):
        with pytest.raises(UserError, match=told):
            settings("lake", *more)


def test_what_decides_an_answer():
    one = conf.identity(settings("lake", "batch_size=1", "out=elsewhere", "cache=none"))
    assert one == conf.identity(settings("other", "split_model=true"))
    assert one != conf.identity(settings("lake", "calibration=domain"))
