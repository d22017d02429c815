from collections import Counter
from itertools import groupby

import pytest

from adnominal.conf import UserError
from adnominal.etl.adept.annotation_task import ADEPT
from adnominal.etl.annotation import simulate
from adnominal.etl.annotation.agreement import labels_by_model
from adnominal.etl.annotation.batches import ShownItem, compose
from adnominal.etl.annotation.quality import Answer, Rules, filter_answers, majority_label
from adnominal.etl.annotation.settings import ExportSettings
from adnominal.etl.annotation.simulate import annotators, simulated_rows

SEED = 4


def true_label(seed, item_id):
    return simulate.true_label(ADEPT, seed, item_id)


def campaign(answers=3, careful=9, noisy=3, spammers=8, items=300):
    """The answers of a main round with items, gold items and attention checks."""
    unlabelled = [
        ShownItem(f"i{at:04d}", "A dog barks.", "An old dog barks.") for at in range(items)
    ]
    gold = [ShownItem(f"g{at}", "s", "t", true_label(SEED, f"g{at}")) for at in range(20)]
    batch = ExportSettings(batch="b.csv", gold=0.5, attention=0.5, seed=SEED)
    questions = compose(ADEPT, batch, unlabelled, gold)
    pages = {name: list(page) for name, page in groupby(questions, key=lambda q: q.page)}
    people = annotators(careful, noisy, spammers)
    return [
        Answer(
            q.item_id, row["annotator"], row[f"label_{at}"], q.expected, q.kind, "main", "context",
            "b", q.page,
        )
        for row in simulated_rows(ADEPT, pages.values(), people, answers, SEED)
        for at, q in enumerate(pages[row["page"]], 1)
    ]  # fmt: skip


def labels_by_rules(answers):
    rules = Rules(answers=2, per_person=1000)
    return filter_answers(answers, rules, {a.item_id for a in answers if a.kind == "item"})


def correct(labels):
    return sum(true_label(SEED, item) == label for item, label in labels.items())


def majority_labels(answers):
    labels_by_item: dict[str, list[int]] = {}
    for answer in answers:
        if answer.kind == "item":
            labels_by_item.setdefault(answer.item_id, []).append(answer.label)
    majorities = {item: majority_label(labels) for item, labels in labels_by_item.items()}
    return {item: vote.label for item, vote in majorities.items() if vote}


def test_spammers_are_dropped_and_labels_recovered():
    answers = campaign(answers=6)
    result = labels_by_rules(answers)
    excluded = {who for group in result.excluded.values() for who in group}
    assert excluded >= {f"simulated-spammer{at}" for at in range(8)}
    assert sum(who.startswith("simulated-careful") for who in excluded) <= 1
    by_rules = {item: vote.label for item, vote in result.labels.items()}
    by_majority = majority_labels(answers)
    # The rules label fewer items than a majority of all answers, but more of them correctly.
    assert correct(by_rules) > correct(by_majority) and len(by_rules) < len(by_majority)
    assert correct(by_rules) / len(by_rules) > 0.97 > correct(by_majority) / len(by_majority)


def test_models_recover_more_than_a_majority():
    answers = [a for a in campaign() if a.kind == "item"]
    assert correct(labels_by_model("dawid_skene", answers)) > correct(majority_labels(answers)) + 10


def test_without_spammers_the_rules_drop_few_items():
    answers = campaign(careful=20, noisy=0, spammers=0)
    result = labels_by_rules(answers)
    assert len(result.labels) > 0.85 * 300


def test_labels_have_the_published_shares():
    shares = Counter(true_label(0, f"item{at}") for at in range(4000))
    for label, share in enumerate((0.14, 0.12, 0.67, 0.06, 0.01)):
        assert shares[label] / 4000 == pytest.approx(share, abs=0.02)
    assert [true_label(1, f"i{at}") for at in range(50)] != [
        true_label(0, f"i{at}") for at in range(50)
    ]


def test_more_answers_than_people_are_refused():
    with pytest.raises(UserError, match="answers=3: 2 annotators"):
        simulated_rows(ADEPT, [], annotators(2, 0, 0), 3, 0)
