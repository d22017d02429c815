import pytest

from adnominal.conf import UserError
from adnominal.etl.adept.annotation_task import ADEPT
from adnominal.etl.annotation.answers import AnswerKey, compare
from adnominal.etl.annotation.batches import Question
from adnominal.etl.annotation.keys import hashed_annotator
from adnominal.etl.annotation.returned import AnsweredPage

SECRET = b"0123456789abcdef"
ANN = hashed_annotator(SECRET, "csv", "ann")


def question(question_id, round="main", kind="item"):
    return Question(
        question_id, "b", "b-1", 1, kind, f"item-{question_id}", None, "s", "t", round, "context",
        "csv", "clean",
    )  # fmt: skip


QUESTIONS = [question("q1"), question("q2"), question("q3", "audit")]


def page(labels, annotator="ann", line=2, rejected=False):
    return AnsweredPage(f"a.csv: line {line}", annotator, labels, 1.5, rejected)


def changes(*pages, stored=None):
    return compare(ADEPT, pages, QUESTIONS, stored or {}, SECRET)


def stored(label, question_id="q1", kind="item"):
    return {AnswerKey(ANN, "main", "b", "b-1", f"item-{question_id}", kind): {"label": label}}


def test_answers_become_rows_of_the_table():
    new = changes(page({"q1": "3", "q2": ""}))
    assert (new.unanswered, new.already_stored, new.withdrawn) == (1, 0, set())
    assert list(new.rows.values()) == [
        {
            "item_id": "item-q1",
            "annotator": ANN,
            "label": 3,
            "expected": None,
            "seconds": 1.5,
            "kind": "item",
            "round": "main",
            "condition": "context",
            "platform": "csv",
            "batch": "b",
            "page": "b-1",
        }
    ]


def test_labels_are_codes_or_names():
    texts = {"q1": "Necessarily true", "q2": "1.0", "q3": "not so"}
    assert [row["label"] for row in changes(page(texts)).rows.values()] == [4, 1, 4]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"q9": "1"}, r"line 3: question 'q9' is in no batch that was exported"),
        ({"q2": "5"}, r"line 3: .* label '5'; expected 0 to 4 or one of impossible, less likely"),
        ({"q2": "-1"}, r"label '-1'"),
        ({"q2": "1, 2"}, r"label '1, 2'"),
        ({"q3": "impossible"}, r"label 'impossible'; expected 0 to 4 or one of clear case"),
        ({"q1": "1"}, r"line 3: question q1: a second answer by the same annotator"),
    ],
)
def test_wrong_answers_are_refused_with_their_line(labels, message):
    with pytest.raises(UserError, match=message):
        changes(page({"q1": "1"}), page(labels, line=3))


def test_stored_answers_are_not_added_again():
    pages = [page({"q1": "1", "q2": "2"})]
    new = changes(*pages, stored=stored(1))
    assert [key.item_id for key in new.rows] == ["item-q2"] and new.already_stored == 1
    message = "line 2: question q1 was answered 3 by the same annotator in an earlier import, 1"
    with pytest.raises(UserError, match=message):
        changes(*pages, stored=stored(3))
    # A gold question about the same item on the page is another question.
    assert len(changes(*pages, stored=stored(3, kind="gold")).rows) == 2


def test_rejected_answers_are_withdrawn_unless_the_file_has_others():
    rejected = page({"q1": "1", "q2": "2"}, rejected=True)
    new = changes(rejected, stored=stored(1))
    assert not new.rows and new.withdrawn == stored(1).keys()
    # The annotator's page was rejected and later accepted.
    new = changes(rejected, page({"q1": "1"}, line=3), stored=stored(1))
    assert not new.rows and not new.withdrawn and new.already_stored == 1
