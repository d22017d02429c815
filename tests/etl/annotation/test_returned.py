import json

import pytest

from adnominal.conf import UserError
from adnominal.etl.annotation.returned import read_answers

MTURK = (
    "HITId,WorkerId,AssignmentStatus,WorkTimeInSeconds,Input.page,Input.question_1,"
    "Input.sentence1_1,Input.question_2"
)
CSV = "page,question_1,label_1,question_2,label_2,annotator,seconds"


def write(tmp_path, text, name="answers.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_mturk_with_a_column_for_each_option(tmp_path):
    columns = [f"Answer.label_{at}.{code}" for at in (1, 2) for code in range(5)]
    option_cells = ["true" if at == 3 else "false" for at in range(5)] + ["false"] * 5
    path = write(
        tmp_path,
        f"{MTURK},{','.join(columns)}\n"
        f'h1,W1,Approved,30,b-1,q1,"two\nlines",q2,{",".join(option_cells)}\n'
        f"h1,W2,Rejected,30,b-1,q1,s,q2,{','.join(option_cells)}\n",
    )
    accepted, rejected = read_answers(path)
    assert (accepted.annotator, accepted.rejected, accepted.seconds) == ("W1", False, 15.0)
    assert accepted.labels == {"q1": "3", "q2": ""}
    assert accepted.place == f"batch={path}: line 2"
    assert (rejected.annotator, rejected.rejected) == ("W2", True)
    assert rejected.place == f"batch={path}: line 4"


def test_two_options_of_a_question_are_no_label(tmp_path):
    columns = "Answer.label_1.0,Answer.label_1.3"
    path = write(tmp_path, f"{MTURK},{columns}\nh1,W1,Approved,30,b-1,q1,s,,true,true\n")
    (page,) = read_answers(path)
    assert page.labels == {"q1": "0, 3"}


@pytest.mark.parametrize("questions", ["q1,0,q1,1", ",0,q2,1"])
def test_a_label_belongs_to_one_question(tmp_path, questions):
    path = write(tmp_path, f"{CSV}\nb-1,{questions},ann,30\n")
    with pytest.raises(UserError, match=r"line 2: question_. '.*'; expected the id of a question"):
        read_answers(path)


@pytest.mark.parametrize("seconds", ["nan", "inf", "-5", "6_0", "soon", ""])
def test_a_time_that_is_none_is_unknown(tmp_path, seconds):
    path = write(tmp_path, f"{CSV}\nb-1,q1,0,q2,1,ann,{seconds}\n")
    (page,) = read_answers(path)
    assert page.seconds is None


def test_annotators_and_states_are_read_as_a_spreadsheet_may_write_them(tmp_path):
    row = "h1, W1\u200b,rejected,30,b-1,q1,s,,true"
    (page,) = read_answers(write(tmp_path, f"{MTURK},Answer.label_1.0\n{row}\n"))
    assert (page.annotator, page.rejected) == ("W1", True)


def test_submitted_pages_that_a_review_rejects_are_rejected(tmp_path):
    page = "Submitted,,b-1,q1,s,q2,true,true"
    rows = f"h1,W1,{page},too fast\nh1,W2,{page},\n"
    path = write(tmp_path, f"{MTURK},Answer.label_1.0,Answer.label_2.1,Reject\n{rows}")
    assert [(page.annotator, page.rejected) for page in read_answers(path)] == [
        ("W1", True),
        ("W2", False),
    ]


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
    pages = read_answers(path)
    assert [(page.annotator, page.labels, page.seconds, page.rejected) for page in pages] == [
        ("7", {"q1": "2", "q2": "impossible"}, 4.0, False),
        ("8", {"q1": "4", "q2": ""}, 4.0, False),
        ("9", {"q1": "4", "q2": ""}, 4.0, True),
    ]
    assert {page.place for page in pages} == {f"batch={path}: task 1"}


def test_results_that_are_not_from_label_studio_are_refused(tmp_path):
    comment = {"from_name": "comment", "value": {"text": ["sure?"]}}
    for result in ("x", {"from_name": "label_1", "value": "abc"}, {"value": {"choices": 1}}):
        answered = annotation({"label_1": ["2"]})
        answered["result"] += [comment, result]
        with pytest.raises(UserError, match="task 1: no data with annotations and their choices"):
            read_answers(write(tmp_path, one_task(answered), "a.json"))
    answered["result"].pop()
    (page,) = read_answers(write(tmp_path, one_task(answered), "a.json"))
    assert page.labels == {"q1": "2"}


def test_a_filled_in_csv_is_read(tmp_path):
    path = write(
        tmp_path,
        f"{CSV}\nb-1,q1,Necessarily true,q2,1.0,ann,9\nb-2,q3,,q4,2,,soon\nb-3,q5,,q6,,,\n",
    )
    pages = read_answers(path, annotator="bob")
    assert [(page.annotator, page.labels, page.seconds) for page in pages] == [
        ("ann", {"q1": "Necessarily true", "q2": "1.0"}, 4.5),
        ("bob", {"q3": "", "q4": "2"}, None),
        ("bob", {"q5": "", "q6": ""}, None),
    ]
    # Pages without answers need no annotator.
    with pytest.raises(UserError, match=r"line 3: no annotator; .*give annotator=NAME"):
        read_answers(path)


def test_a_copy_with_semicolons_is_read(tmp_path):
    content = 'question_1;a\x85note;annotator;sentence2_1;label_1\nq1;;ann;"Big, old; blue.";2\n'
    (page,) = read_answers(write(tmp_path, content))
    assert (page.annotator, page.labels) == ("ann", {"q1": "2"})


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "x,y\n1,2\n", "unknown format; .*got columns x, y"),
        ("a.csv", "WorkerId,Input.question_1\nx,q1\n", "unknown format; .* AssignmentStatus"),
        ("a.csv", "", "no answers in it"),
        ("a.csv", f"{CSV}\nb-1,q1,,q2,,ann,\n", "no answers in it"),
        (
            "a.csv",
            f"{MTURK},Answer.label_1\nh1,W1,Approved,30,b-1,q1,s,,3\n",
            r"Answer\.label_1\.0",
        ),
        (
            "a.csv",
            f"{MTURK},Answer.label_1.3\nh1,W1,Approved,30,b-1,q1,s,,WAHR\n",
            r"line 2: Answer\.label_1\.3 is 'WAHR'; expected true or false",
        ),
        (
            "a.csv",
            f"{MTURK},Answer.taskAnswers\nh1,W1,Approved,30,b-1,q1,s,,[{{}}]\n",
            r"line 2: answers in Answer\.taskAnswers; expected true or false in Answer\.label_1\.0",
        ),
        ("a.csv", f"{MTURK},Answer.label_1.3\n,,,,b-1,q1,s,,true\n", "line 2: no annotator"),
        (
            "a.csv",
            "sep=;\nquestion_1;label_1;annotator\nq1;3;x\n",
            "line 1 is a spreadsheet's mark",
        ),
        ("a.json", "{}", "no answers in it"),
        ("a.json", "[1]", "task 1: no data with annotations"),
        ("a.json", '[\n{"data": 1},', "no JSON .*line 2"),
        ("a.json", '[\n\n{"data": {}}]', "task 1: no data with annotations"),
        ("a.json", '[{"data": {"question_1": "q1"}, "annotations": [5]}]', "task 1: no data"),
        ("a.json", '[{"data": {}, "completions": []}]', "task 1: .*, got data, completions; "),
        ("a.json", one_task(annotation({"label_1": ["1"]}, None)), "task 1: no annotator"),
        ("a.json", "[" * 100_000, "no JSON"),
    ],
)
def test_files_without_answers_are_refused(tmp_path, name, text, message):
    with pytest.raises(UserError, match=rf"batch=.*{name}: .*{message}|{message}"):
        read_answers(write(tmp_path, text, name))


def test_files_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(UserError, match="No such file"):
        read_answers(tmp_path / "none.csv")
    (tmp_path / "b.csv").write_bytes(b"a\xff")
    with pytest.raises(UserError, match="not UTF-8 at byte 1"):
        read_answers(tmp_path / "b.csv")
