"""Figures from annotators' answers; the report's tests check them within their tables."""

import math
from dataclasses import replace

import pytest
from sklearn.metrics import cohen_kappa_score

from adnominal.analysis.editions import open_lake
from adnominal.analysis.papers.adept.annotators import (
    Annotations,
    editions,
    experts,
    kappa,
    labelling,
)
from adnominal.analysis.papers.adept.sources import Adept, has_simulated_labels
from adnominal.analysis.report_numbers import Cells
from adnominal.training.finished_runs import Runs
from tests.analysis.report.conftest import adept
from tests.rows import rows, write


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    root = str(tmp_path_factory.mktemp("annotated") / "lake")
    adept(root)
    return root


def test_kappa_equals_scikit_learns_and_has_an_interval():
    first, second = [0, 0, 1, 1, 2, 2, 2, 0], [0, 1, 1, 1, 2, 2, 0, 0]
    interval = kappa(first, second)
    assert interval.estimate == pytest.approx(cohen_kappa_score(first, second))
    assert interval.low < interval.estimate < interval.high and interval.n == 8
    assert kappa([0, 1], [0, 1]).low == kappa([0, 1], [0, 1]).high == 1.0
    assert math.isnan(kappa([2, 2], [2, 2]).estimate)
    for first, second in (([0], [1]), ([0, 0, 0], [1, 0, 1]), ([1, 2, 1, 0], [0, 0, 0, 0])):
        interval = kappa(first, second)
        assert interval.estimate == 0 and math.isnan(interval.low) and math.isnan(interval.high)


def test_kappas_interval_lies_between_minus_one_and_one():
    share = kappa([0, 0, 1, 1, 2], [0, 0, 1, 2, 2])
    assert -1 <= share.low < share.estimate < share.high == 1
    worst = kappa([0, 0, 1, 1], [1, 1, 0, 1])
    assert worst.low == -1


def test_editions_with_answers_are_listed(lake, tmp_path):
    assert editions(lake) == ["own", "published"]
    assert editions(str(tmp_path)) == []


def test_simulated_annotators_are_reported_as_such(lake):
    assert Annotations(lake, "own").annotators("main") == "3 simulated annotators"
    assert has_simulated_labels(open_lake(lake), "own")
    assert not has_simulated_labels(open_lake(lake), "published")
    shown = Adept(replace(open_lake(lake), requested_edition="own"), Runs())
    assert shown.is_simulated and not Adept(open_lake(lake), Runs()).is_simulated
    assert Annotations(lake, "published").annotators("expert", "human") == "3 annotators"


def test_disagreements_have_their_direction(lake):
    # The labels that disagree are 2 2 1, 2 2 3 and 0 1 2.
    assert Annotations(lake, "own").disagreements() == {
        ("same side", "count"): 1,
        ("same side", "share"): pytest.approx(1 / 7),
        ("one in the middle", "count"): 6,
        ("one in the middle", "share"): pytest.approx(6 / 7),
        ("opposite sides", "count"): 0,
        ("opposite sides", "share"): 0,
    }
    assert Annotations(lake, "published").disagreements() == {}
    findings = labelling(open_lake(lake))
    captions = [finding.table for finding in findings if isinstance(finding, Cells)]
    seen_from = "as seen from equally likely"
    assert captions[-1] == f"Disagreements of 3 simulated annotators, {seen_from}"


def test_rounds_without_answers_have_no_figures(lake):
    assert Annotations(lake, "published").agreement() == ({}, {})
    simulated = Annotations(lake, "own")
    assert simulated.kappas() == {} and simulated.human() == {} and simulated.audit() == ({}, {})


def test_an_expert_with_a_single_label_has_a_kappa_without_interval(tmp_path):
    answers = rows("item_id label", ("a", 2), ("b", 2), annotator="one")
    answers += rows("item_id label", ("a", 1), ("b", 2), annotator="two")
    place = {"batch": "e", "page": "e-1", "round": "expert"}
    constants = {**place, "kind": "item", "platform": "csv", "condition": "context"}
    write(tmp_path, "adept_annotations", [{**answer, **constants} for answer in answers])
    write(tmp_path, "adept_batches", [{**place, "question_id": "e", "edition": "published"}])
    assert Annotations(str(tmp_path), "published").kappas() == {("two experts", "kappa"): 0.0}


def write_round(root, round, answers, labels):
    """A lake with these answers of a round, and a dataset with these labels."""
    place = {"batch": "b", "page": "b-1", "round": round}
    constants = {"annotator": "one", "kind": "item", "platform": "csv", "condition": "context"}
    write(root, "adept_annotations", [{**constants, **answer, **place} for answer in answers])
    dataset = rows("item_id label", *labels.items(), edition="published")
    write(root, "adept", dataset)
    write(root, "adept_batches", [{**place, "question_id": "b", "edition": "published"}])
    return Annotations(str(root), "published")


def test_human_baselines_of_five_classes_and_of_three(tmp_path):
    answers = rows("item_id label", ("i1", 2), ("i2", 1), ("i4", 4))
    answers += rows("item_id label", ("i3", 4), condition="no_context")
    answers += rows("item_id label expected", ("i1", 4, 4), kind="attention")
    human = write_round(tmp_path, "human", answers, {"i1": 2, "i2": 0, "i3": 2}).human()
    # "Less likely" for i2, which is impossible, is right among three labels; i4 has no label.
    assert human["human", "5-class"].estimate == 0.5
    assert human["human", "3-class"].estimate == 1
    assert {human["human", f"{classes}-class"].n for classes in (3, 5)} == {2}
    assert human["human, no context", "3-class"].estimate == 0


def test_audited_items_with_another_label_do_not_count(tmp_path):
    names = "item_id expected label"
    answers = rows(names, ("i2", 0, 0), ("i9", 0, 4), ("i8", 4, 1), ("i3", 4, 0), ("gone", 0, 0))
    answers += rows(names, ("check", 0, 0), kind="attention")
    annotations = write_round(tmp_path, "audit", answers, {"i2": 0, "i9": 0, "i8": 4, "i3": 0})
    cells, findings = annotations.audit()
    assert cells["clear case", "impossible"] == 0.5
    assert cells["not so or not well formed", "impossible"] == 0.5
    assert cells["clear case", "necessarily true"] == 0
    counts = {finding: count for (finding, column), count in findings.items() if column == "count"}
    assert counts["impossible: not so"] == 1 and counts["necessarily true: already so"] == 1
    assert sum(counts.values()) == 3


def test_findings_of_an_audit(tmp_path):
    findings = [(0, 0), (0, 1), (0, 3), (0, 4), (4, 0), (4, 2)]
    answers = rows("expected label", *findings, annotator="one", kind="item", round="audit")
    batch = {"batch": "a", "page": "a-1", "platform": "csv", "condition": "context"}
    write(
        tmp_path,
        "adept_annotations",
        [{**answer, **batch, "item_id": f"i{at}"} for at, answer in enumerate(answers)],
    )
    items = rows("item_id label", *((f"i{at}", label) for at, (label, _) in enumerate(findings)))
    write(tmp_path, "adept", [{**item, "edition": "published"} for item in items])
    place = {"question_id": "a", "batch": "a", "round": "audit", "page": "a-1"}
    write(tmp_path, "adept_batches", [{**place, "edition": "published"}])
    page = Adept(open_lake(str(tmp_path)), Runs())
    cells = [finding for finding in experts.build(page) if isinstance(finding, Cells)]
    (printed,) = [entry.values for entry in cells if entry.table == "section 4.2, audit"]
    assert printed == {
        ("clear case", "impossible"): 0.25,
        ("clear case", "necessarily true"): 0.5,
        ("not so or not well formed", "impossible"): 0.5,
    }


def test_labels_of_simulated_annotators_are_marked(lake):
    findings = list(labelling(open_lake(lake)))
    assert findings
    assert all(isinstance(finding, Cells) and finding.is_simulated for finding in findings)
