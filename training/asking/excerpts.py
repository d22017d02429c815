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
        "question": [_one_line(question.request.text) for question in questions[:count]],
        "written": [_one_line(text or "") for text in rows.column("text")[:count].to_pylist()],
        "label": [
            label or f"{_NOTHING} ({state})" for label, state in zip(predicted, states, strict=True)
        ],
        "correct": [label or _NOTHING for label in gold],
    }
    return f"The first answers\n\n{markdown(pa.table(columns))}"


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
