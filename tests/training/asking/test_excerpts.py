import pyarrow as pa

from adnominal.etl.prompts.files import Template
from adnominal.training.asking.excerpts import written_answers
from adnominal.training.asking.questions import Question, Request

TEMPLATE = Template("mine/kind@1", "", ())


def question(text):
    return Question(0, TEMPLATE, None, None, Request(text))


def test_the_first_answers_are_shown_with_their_questions_and_states():
    questions = [question("Is it so?\nYes | no."), question("Is it?"), *[question("?")] * 9]
    rows = pa.table(
        {
            "predicted": ["entailed", None, *["entailed"] * 9],
            "gold": ["not entailed", "entailed", *["entailed"] * 9],
            "state": ["parsed", "unparsable", *["parsed"] * 9],
            "text": ["Answer:\nyes", None, *["yes"] * 9],
        }
    )
    title, _, header, _, *lines = written_answers(questions, rows).splitlines()
    assert title == "The first answers"
    assert header == "| question | written | label | correct |"
    assert lines[0] == "| Is it so? Yes \\| no. | Answer: yes | entailed | not entailed |"
    assert lines[1] == "| Is it? |  | – (unparsable) | entailed |"
    assert len(lines) == 6


def test_lines_that_all_questions_have_are_shown_by_none():
    questions = [question(f"Is {word} so?\nAnswer yes or no.") for word in ("this", "that")]
    columns = {
        "predicted": ["a"] * 2,
        "gold": ["a"] * 2,
        "state": ["parsed"] * 2,
        "text": ["y"] * 2,
    }
    shown = written_answers(questions, pa.table(columns)).splitlines()[4:]
    assert shown == ["| Is this so? | y | a | a |", "| Is that so? | y | a | a |"]
