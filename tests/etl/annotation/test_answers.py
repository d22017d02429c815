import json
import stat

import pytest

from adnominal.conf import UserError
from adnominal.etl.annotation.answers import (
    Key,
    detect,
    fingerprint,
    hashed_annotator,
    match,
    read_sent,
)
from adnominal.etl.annotation.batches import Question

SECRET = b"0123456789abcdef"
MTURK = (
    "HITId,WorkerId,AssignmentStatus,WorkTimeInSeconds,Input.page,Input.question_1,"
    "Input.sentence1_1,Input.question_2"
)


def question(question_id, round="main", kind="item"):
    return Question(
        question_id, "b", "b-1", 1, kind, f"item-{question_id}", None, "s", "t", round, "context",
        "csv", "clean",
    )  # fmt: skip


QUESTIONS = {q.question_id: q for q in (question("q1"), question("q2"), question("q3", "audit"))}


def write(tmp_path, text, name="answers.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def matched(path, stored=None, **settings):
    return match(path, read_sent(path, **settings), QUESTIONS, stored or {}, SECRET)


def test_mturk_with_a_column_for_each_option(tmp_path):
    columns = [f"Answer.label_{at}.{code}" for at in (1, 2) for code in range(5)]
    option_cells = ["true" if at == 3 else "false" for at in range(5)] + ["false"] * 5
    path = write(
        tmp_path,
        f"{MTURK},{','.join(columns)}\n"
        f'h1,W1,Approved,30,b-1,q1,"two\nlines",q2,{",".join(option_cells)}\n'
        f"h1,W2,Rejected,30,b-1,q1,s,q2,{','.join(option_cells)}\n",
    )
    assert detect(path) == "mturk"
    sent = read_sent(path)
    assert (sent.unanswered, sent.rejected) == (1, 1)
    assert [(a.question_id, a.annotator, a.label, a.seconds, a.line) for a in sent.answers] == [
        ("q1", "W1", "3", 15.0, 2)
    ]
    (row,), _ = matched(path)
    assert row == {
        "item_id": "item-q1",
        "annotator": hashed_annotator(SECRET, "mturk", "W1"),
        "label": 3,
        "expected": None,
        "seconds": 15.0,
        "kind": "item",
        "round": "main",
        "condition": "context",
        "platform": "mturk",
        "batch": "b",
        "page": "b-1",
    }


def test_mturk_with_one_column_per_question(tmp_path):
    path = write(
        tmp_path,
        f"{MTURK},Answer.label_1,Answer.label_2\nh1,W1,Submitted,,b-1,q1,s,q2,0,More likely\n",
    )
    assert [(r["label"], r["seconds"]) for r in matched(path)[0]] == [(0, None), (3, None)]


def test_submitted_pages_that_a_review_rejects_are_rejected(tmp_path):
    rows = "h1,W1,Submitted,,b-1,q1,s,q2,0,1,too fast\nh1,W2,Submitted,,b-1,q1,s,q2,0,1,\n"
    sent = read_sent(write(tmp_path, f"{MTURK},Answer.label_1,Answer.label_2,Reject\n{rows}"))
    assert (sent.rejected, sent.withdrawn) == (1, {("W1", "q1"), ("W1", "q2")})
    assert {answer.annotator for answer in sent.answers} == {"W2"}


def annotation(labels, annotator=7, **fields):
    choices = {"to_name": "modified_1", "type": "choices"}
    result = [
        {"from_name": name, "value": {"choices": options}, **choices}
        for name, options in labels.items()
    ]
    shared = {"completed_by": annotator, "lead_time": 8.0, "was_cancelled": False}
    return {**shared, "result": result, **fields}


def one_task(annotation_of_task):
    return json.dumps([{"data": {"question_1": "q1"}, "annotations": [annotation_of_task]}])


def test_answers_of_label_studio_are_read(tmp_path):
    task = {
        "id": 1,
        "data": {"page": "b-1", "question_1": "q1", "question_2": "q2"},
        "annotations": [
            annotation({"label_1": ["2"], "label_2": ["impossible"]}),
            annotation({"label_1": ["4"]}, {"id": 8, "email": "x@example.org"}),
            annotation({"label_1": ["4"]}, 9, was_cancelled=True),
        ],
    }
    path = write(tmp_path, json.dumps([task], indent=1), "answers.json")
    assert detect(path) == "label_studio"
    sent = read_sent(path)
    assert (len(sent.answers), sent.unanswered, sent.rejected) == (3, 1, 1)
    assert sent.withdrawn == {("9", "q1"), ("9", "q2")}
    assert {(a.annotator, a.label, a.seconds) for a in sent.answers} == {
        ("7", "2", 4.0),
        ("7", "impossible", 4.0),
        ("8", "4", 4.0),
    }
    assert [row["label"] for row in matched(path)[0]] == [2, 0, 4]


def test_results_that_are_not_from_label_studio_are_refused(tmp_path):
    data = {"page": "b-1", "question_1": "q1"}
    comment = {"from_name": "comment", "value": {"text": ["sure?"]}}
    for result in ("x", {"from_name": "label_1", "value": "abc"}, {"value": {"choices": 1}}):
        answered = annotation({"label_1": ["2"]})
        answered["result"] += [comment, result]
        path = write(tmp_path, json.dumps([{"data": data, "annotations": [answered]}]), "a.json")
        with pytest.raises(UserError, match="line 1: not a result of Label Studio"):
            read_sent(path)
    answered["result"].pop()
    path = write(tmp_path, json.dumps([{"data": data, "annotations": [answered]}]), "a.json")
    assert [answer.label for answer in read_sent(path).answers] == ["2"]


def test_plain_csv_gives_labels_as_codes_or_names(tmp_path):
    path = write(
        tmp_path,
        "question_id,annotator,label,seconds\n"
        "q1,ann,Necessarily true,4.5\nq2,,1.0,soon\nq3,,not so,\n",
    )
    assert detect(path) == "csv"
    rows = matched(path, annotator="bob")[0]
    assert [(row["label"], row["seconds"]) for row in rows] == [(4, 4.5), (1, None), (4, None)]
    assert rows[1]["annotator"] == rows[2]["annotator"] == hashed_annotator(SECRET, "csv", "bob")
    with pytest.raises(UserError, match=r"line 3: no annotator; .*give annotator=NAME"):
        read_sent(path)


def test_a_copy_with_semicolons_is_read(tmp_path):
    content = 'question_id;a\x85note;annotator;sentence2;label\nq1;;ann;"Big, old; blue.";2\n'
    path = write(tmp_path, content)
    assert detect(path) == "csv"
    assert [row["label"] for row in matched(path)[0]] == [2]


HEADER = "question_id,annotator,label\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q9,ann,1\n", r"line 2: question 'q9' is in no batch that was exported"),
        ("q1,ann,5\n", r"line 2: label '5'; expected 0 to 4 or one of impossible, less likely"),
        ("q1,ann,-1\n", r"label '-1'"),
        ("q3,ann,impossible\n", r"label 'impossible'; expected 0 to 4 or one of clear case"),
        ("q1,ann,1\nq2,bob,1\nq1,ann,1\n", r"line 4: a second answer .* as on line 2"),
        ("q9,a,1\n" * 5, r"line 4: .*; and 2 more; nothing was imported"),
        ("q1,ann,\n", "no answers in it"),
    ],
)
def test_wrong_answers_are_refused_with_their_line(tmp_path, text, message):
    path = write(tmp_path, HEADER + text)
    with pytest.raises(UserError, match=rf"answers\.csv: .*{message}|{message}"):
        matched(path)


def test_stored_answers_are_not_added_again(tmp_path):
    path = write(tmp_path, f"{HEADER}q1,ann,1\nq2,ann,2\n")
    stored = {(hashed_annotator(SECRET, "csv", "ann"), "b", "b-1", "item-q1", "item"): 1}
    rows, known = matched(path, stored)
    assert ([row["item_id"] for row in rows], known) == (["item-q2"], 1)
    with pytest.raises(UserError, match="line 2: question q1 was answered 3 by the same annotator"):
        matched(path, dict.fromkeys(stored, 3))
    # A gold question about the same item on the page is another question.
    ((*of_page, _),) = stored
    assert len(matched(path, {(*of_page, "gold"): 3})[0]) == 2


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "x,y\n1,2\n", "unknown format; .*got columns x, y"),
        ("a.csv", "", "got columns none"),
        ("a.csv", f"{MTURK}\n,,,,,,,\n", "line 2: no WorkerId"),
        ("a.json", "{}", "expected a JSON list of tasks"),
        ("a.json", '[\n{"data": 1},', "line 2: no JSON|line 2: not a task"),
        ("a.json", '[\n\n{"data": {}}]', "line 3: not a task of a batch"),
        ("a.json", '[{"data": {"question_1": "q1"}, "annotations": [5]}]', "annotations are num"),
        (
            "a.json",
            one_task(annotation({"label_1": ["1", "2"]})),
            "line 1: 2 answers to question_1",
        ),
        ("a.json", one_task(annotation({}, None)), "without completed_by"),
    ],
)
def test_files_without_answers_are_refused(tmp_path, name, text, message):
    with pytest.raises(UserError, match=message):
        read_sent(write(tmp_path, text, name))


def test_missing_files_and_unknown_formats_are_refused(tmp_path):
    with pytest.raises(UserError, match="No such file"):
        detect(tmp_path / "none.csv")
    (tmp_path / "b.csv").write_bytes(b"a\xff")
    with pytest.raises(UserError, match="not UTF-8 at byte 1"):
        detect(tmp_path / "b.csv")
    with pytest.raises(UserError, match="no column AssignmentStatus"):
        read_sent(write(tmp_path, "WorkerId,Input.question_1\nx,q1\n"))
    with pytest.raises(UserError, match="format=excel"):
        read_sent(write(tmp_path, HEADER), "excel")


def test_the_key_lies_outside_the_lake_and_hashes_annotators(tmp_path):
    lake = str(tmp_path / "lake")
    (tmp_path / "lake").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "lake")
    for folder in ("lake", "other/../lake", "link"):
        for root in (lake, f"file://{lake}", str(tmp_path / "link")):
            with pytest.raises(UserError, match="is in lake="):
                Key(tmp_path / folder / "key", root)
    Key(tmp_path / "lake" / ".." / "safe" / "key", lake)
    key = Key(tmp_path / "safe" / "key", lake)
    with pytest.raises(UserError, match="the key file of the earlier imports"):
        key.secret(make=False)
    secret = key.secret(make=True)
    assert len(secret) == 64 and key.secret(make=True) == key.secret(make=False) == secret
    assert stat.S_IMODE(key.path.stat().st_mode) == 0o600
    assert [path.name for path in key.path.parent.iterdir()] == ["key"]
    other = Key(tmp_path / "other", lake).secret(make=True)
    assert fingerprint(other) != fingerprint(secret)
    assert hashed_annotator(secret, "mturk", "W1") != hashed_annotator(other, "mturk", "W1")
    assert hashed_annotator(secret, "mturk", "W1") != hashed_annotator(secret, "csv", "W1")
    half_a_pair = "\ud800"  # as JSON may have it
    assert len(hashed_annotator(secret, "label_studio", half_a_pair)) == 24
    key.path.write_text("short")
    with pytest.raises(UserError, match="5 bytes; expected 16 or more"):
        key.secret(make=False)
