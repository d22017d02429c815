import random
import re
from collections import Counter
from itertools import groupby

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adnominal.conf import UserError
from adnominal.etl.adept import LABELS
from adnominal.etl.adept.annotation_task import ADEPT
from adnominal.etl.annotation.batches import ShownItem, compose, gold_labels
from adnominal.etl.annotation.quality import Answer
from adnominal.etl.annotation.settings import ExportSettings


def items(count, letter="i"):
    return [
        ShownItem(f"{letter}{at:03d}", f"A dog has {at} legs.", f"An old dog has {at} legs.")
        for at in range(count)
    ]


def golds(count):
    return [item._replace(expected=at % 5) for at, item in enumerate(items(count, "g"))]


def batch(gold=0.0, attention=0.0, **options):
    return ExportSettings(batch="b.csv", gold=gold, attention=attention, **options)


def pages(questions):
    return [list(page) for _, page in groupby(questions, key=lambda q: q.page)]


@given(
    st.integers(1, 40),
    st.integers(1, 6),
    st.sampled_from([0.0, 0.2, 0.5, 1.0]),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.integers(0, 5),
)
@example(count=12, per_page=1, gold=0.5, attention=0.3, seed=1)
def test_every_item_occurs_once_and_checks_at_their_rates(count, per_page, gold, attention, seed):
    options = {"per_page": per_page, "gold": gold, "attention": attention, "seed": seed}
    if gold + attention >= per_page:
        with pytest.raises(UserError, match="no room for items"):
            batch(**options)
        return
    questions = compose(ADEPT, batch(**options), items(count), golds(3))
    assert sorted(q.item_id for q in questions if q.kind == "item") == [
        item.item_id for item in items(count)
    ]
    assert len({q.question_id for q in questions}) == len(questions)
    # Spreadsheets would rewrite ids that look like numbers (85677167023656e9).
    assert all(re.fullmatch("q[0-9a-f]{15}", q.question_id) for q in questions)
    page_list = pages(questions)
    assert all([q.place for q in page] == list(range(1, per_page + 1)) for page in page_list)
    assert len({q.page for q in questions}) == len(page_list)
    kinds = Counter(q.kind for q in questions)
    assert abs(kinds["gold"] - gold * len(page_list)) <= 1
    # The last page is filled up with attention checks.
    filled = sum(q.kind == "attention" for page in page_list[:-1] for q in page)
    # On pages of one question, a check that meets a gold item waits for the next page.
    assert abs(filled - attention * (len(page_list) - 1)) <= 1 + (per_page == 1)
    for page in page_list:
        assert sum(q.kind == "gold" for q in page) <= 1


def test_a_batch_depends_only_on_the_seed():
    settings = batch(gold=0.5, attention=0.5, seed=1)
    first_batch = compose(ADEPT, settings, items(30), golds(4))
    shuffled = random.Random(0).sample(items(30), 30)
    assert compose(ADEPT, settings, shuffled, golds(4)[::-1]) == first_batch
    other_seed = compose(ADEPT, batch(gold=0.5, attention=0.5, seed=2), items(30), golds(4))
    assert [q.item_id for q in other_seed] != [q.item_id for q in first_batch]
    # Checks are at any place of a page and ask for any label.
    checks = [q for q in compose(ADEPT, batch(attention=1.0), items(60)) if q.kind == "attention"]
    assert {check.place for check in checks} == {1, 2, 3, 4}
    assert {check.expected for check in checks} == set(range(5))


def test_an_attention_check_asks_for_one_of_the_options():
    question = next(
        q for q in compose(ADEPT, batch(attention=1.0), items(1)) if q.kind == "attention"
    )
    assert question.sentence2 == f"Please choose “{LABELS[question.expected or 0]}” here."
    audit = batch(round="audit", per_page=2)
    question = next(q for q in compose(ADEPT, audit, items(1)) if q.kind == "attention")
    assert question.sentence2 == f"Please choose “{ADEPT.findings[question.expected or 0]}” here."
    assert ADEPT.options("audit") == ADEPT.findings and ADEPT.options("human") == LABELS


def test_an_item_of_the_batch_is_no_gold_item_in_it():
    questions = compose(ADEPT, batch(gold=1.0), items(9), [*golds(2), *items(9)])
    assert {q.item_id for q in questions if q.kind == "gold"} == {"g000", "g001"}
    with pytest.raises(UserError, match="no gold items outside of the batch"):
        compose(ADEPT, batch(gold=1.0), items(9), items(3))


def test_batches_without_gold_are_refused():
    with pytest.raises(UserError, match=r"gold=0\.2: no gold items .*export round=pilot"):
        compose(ADEPT, batch(gold=0.2), items(3))


def test_gold_labels_are_unanimous_answers_of_four_in_a_pilot():
    def answer(item, who, label, kind="item", expected=None, round="pilot"):
        return Answer(item, who, label, expected, kind, round, "context", "p", "p-1")

    answers = [
        *[answer("same", who, 3) for who in "abcd"],
        *[answer("differ", who, 3 if who == "a" else 2) for who in "abcd"],
        *[answer("three", who, 1) for who in "abc"],
        *[answer("spoilt", who, 1) for who in "abce"],
        *[answer("main", who, 1, round="main") for who in "abcd"],
        answer("check", "e", 0, "attention", 1),
    ]
    assert gold_labels(answers) == {"same": 3}
