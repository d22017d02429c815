"""From a model's answers to rows of the table predictions."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from adnominal.etl.prompts.replies import PARSED
from adnominal.training import predictions
from adnominal.training.asking.items import Items
from adnominal.training.asking.outcomes import Outcome
from adnominal.training.asking.questions import Question, Request
from adnominal.training.asking.replies import read_reply
from adnominal.training.asking.settings import Settings

Scores: TypeAlias = npt.NDArray[np.float64]
# The outcome of each word of a request, or the one outcome of a request without words.
Answers: TypeAlias = Mapping[Request, Sequence[Outcome]]


def rows(
    questions: Sequence[Question],
    answers: Answers,
    items: Items,
    settings: Settings,
    **constants: Any,
) -> pa.Table:
    """Return a row for each question, with the columns of the table predictions and of the items.

    The questions are about successive items; `constants` are columns with one value. An answer that
    is chosen has `scores`; its label is the most probable one, or with a masked model that of the
    first token, which is in `text`. An answer that is written has `state` and `text`, and only a
    parsed one is in `predicted`.
    """
    read = _reply_columns if settings.form == "generate" else _chosen
    columns = read(questions, answers, settings)
    first, last = questions[0].item, questions[-1].item
    places = pa.array([question.item - first for question in questions], pa.int64())
    of_items = items.rows.slice(first, last + 1).take(places)
    named = [question.verbaliser for question in questions]
    of_questions = predictions.rows(
        len(questions),
        task=items.name,
        scheme=items.scheme,
        prompt=[question.template.name for question in questions],
        verbaliser=[None if verbaliser is None else verbaliser.name for verbaliser in named],
        premise_order=[question.order for question in questions],
        seed=settings.seed,
        table_version=of_items["version"],
        **{name: of_items[name] for name in ("item_id", "gold", "edition", "fold")},
        **columns,
        **constants,
    )
    further = [name for name in of_items.column_names if name not in of_questions.column_names]
    for name in further:
        of_questions = of_questions.append_column(name, of_items[name])
    return of_questions


def _reply_columns(
    questions: Sequence[Question], answers: Answers, settings: Settings
) -> dict[str, Any]:
    states, predicted, texts = [], [], []
    for question in questions:
        (outcome,) = answers[question.request]
        read = read_reply(
            outcome,
            question.template,
            question.verbaliser,
            settings.end_of_thinking,
            settings.stop,
        )
        states.append(read.state)
        texts.append(read.text)
        predicted.append(read.answer if read.state == PARSED else None)
    return {"state": states, "predicted": predicted, "text": texts}


def _chosen(questions: Sequence[Question], answers: Answers, settings: Settings) -> dict[str, Any]:
    scores, predicted, texts = [], [], []
    for question in questions:
        of_labels = label_scores(question, answers, settings.length_normalised)
        scores.append(of_labels)
        texts.append(answers[question.request][0].text)
        predicted.append(_label(question, answers[question.request], of_labels))
    return {"scores": np.array(scores), "predicted": predicted, "text": texts}


def _label(question: Question, outcomes: Sequence[Outcome], scores: Scores) -> str | None:
    """Return the label that is answered; None if the first token is not one of the words."""
    verbaliser = question.verbaliser
    assert verbaliser is not None
    if outcomes[0].text is None:
        return verbaliser.labels[int(scores.argmax())]
    for place, outcome in enumerate(outcomes):
        if outcome.likelihood is not None and outcome.likelihood[1]:
            return verbaliser.labels[verbaliser.label(place)]
    return None


def label_scores(question: Question, answers: Answers, is_normalised: bool) -> Scores:
    """Return the score of each label: that of its most probable word; NaN where one is NaN.

    Calibration subtracts the logarithm of the word's mean probability without content.
    """
    assert question.verbaliser is not None
    logs = _logs(answers[question.request], is_normalised)
    if question.content_free:
        priors = [_logs(answers[request], is_normalised) for request in question.content_free]
        logs = logs - (np.logaddexp.reduce(priors, axis=0) - np.log(len(priors)))
    scores = []
    first_word = 0
    for words in question.verbaliser.words:
        scores.append(logs[first_word : first_word + len(words)].max())
        first_word += len(words)
    return np.array(scores)


def _logs(outcomes: Sequence[Outcome], is_normalised: bool) -> Scores:
    """Return the log-probability of each word, or its mean; NaN for those without an answer."""
    sums = [np.nan if one.likelihood is None else one.likelihood[0] for one in outcomes]
    if not is_normalised:
        return np.array(sums)
    tokens = [one.tokens_out or 1 for one in outcomes]
    means: Scores = np.array(sums) / np.array(tokens)
    return means
