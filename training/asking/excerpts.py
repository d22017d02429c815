"""A few of the answers that a model wrote, to be read beside the scores."""

from collections.abc import Sequence

import pyarrow as pa

from adnominal.conf.markdown import markdown
from adnominal.training.asking.questions import Question

_MOST = 6
_NOTHING = "–"


def written_answers(questions: Sequence[Question], rows: pa.Table) -> str:
    """Return the first answers with their questions, labels and states as a table in Markdown.

    `rows` are the rows of predictions for the questions, in the same order.
    """
    count = min(_MOST, rows.num_rows)
    predicted, gold, states = (
        rows.column(name)[:count].to_pylist() for name in ("predicted", "gold", "state")
    )
    columns = {
        "question": _own_lines([question.request.text for question in questions[:count]]),
        "written": [_one_line(text or "") for text in rows.column("text")[:count].to_pylist()],
        "label": [
            label or f"{_NOTHING} ({state})" for label, state in zip(predicted, states, strict=True)
        ],
        "correct": [label or _NOTHING for label in gold],
    }
    return f"The first answers\n\n{markdown(pa.table(columns))}"


def _own_lines(texts: Sequence[str]) -> list[str]:
    """Return the texts in one line each, without the lines that all have, such as instructions."""
    lines_of_texts = [text.splitlines() for text in texts]
    shared = set(lines_of_texts[0]).intersection(*lines_of_texts[1:]) if len(texts) > 1 else set()
    own_lines = []
    for text, lines in zip(texts, lines_of_texts, strict=True):
        own = " ".join(line for line in lines if line not in shared)
        own_lines.append(_one_line(own or text))
    return own_lines


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
