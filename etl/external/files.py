"""The answers in files of other programs.

* lm-evaluation-harness writes ``samples_TASK_TIME.jsonl`` with ``--log_samples``: a line for each
  document, and again for each further filter of the task. ``doc`` has the item, ``arguments`` the
  requests, and ``filtered_resps`` the answers: ``[log-likelihood, is greedy]`` for each choice, or
  a generated text.
* Inspect writes one JSON object per log, with ``eval`` (task and model) and ``samples``.
* A table has an item and an answer in each row.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adnominal.conf import UserError
from adnominal.conf.delimited import SURPLUS, read_rows, text_of
from adnominal.conf.texts import NO_TEXT, first_line, is_text, json_lines, json_value
from adnominal.etl.external.settings import Settings

_SAMPLES = re.compile(r"samples_(?P<task>.+?)_\d{4}-\d{2}-\d{2}T[\d.\-]+")
_NO_FILTER = "none"
_TABLE_OF_ANSWERS = (
    "a table with an item's id and the answer in each row; item= and answer= name them"
)
# Inspect's reasons to stop, where `etl.prompts.replies` reads no answer either.
_STATES = {"max_tokens": "cut off", "model_length": "cut off", "content_filter": "refused"}
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class Answer:
    """An answer as it is in a file.

    Attributes:
        place: file and line, or number of the sample, for messages.
        item: the item's id.
        text: the generated or given text; None for an answer by likelihood.
        choices: the texts of the choices, for an answer by likelihood.
        scores: the natural log-likelihood of each choice.
        is_label: whether the text is meant to be a label, so that another text is a mistake.
        failure: why there is no answer; empty if there is one.
        state: ``cut off`` or ``refused`` for a text that is not to be read; else empty.
        prompt: the name of the question that was asked; None if the file does not say.
        model: the name of the model; None if the file does not say.
    """

    place: str
    item: str
    text: str | None = None
    choices: Sequence[str] = ()
    scores: Sequence[float] = ()
    is_label: bool = False
    failure: str = ""
    state: str = ""
    prompt: str | None = None
    model: str | None = None


def answers(file: Path, settings: Settings) -> Iterator[Answer]:
    """The answers of a file, in its order.

    Raises:
        UserError: the file cannot be read, has another form, or has no answer.
    """
    readers = {".jsonl": _harness_samples, ".json": _inspect_log}
    read = readers.get(file.suffix.lower(), _table_rows)
    is_empty = True
    for answer in read(file, settings):
        is_empty = False
        if not is_text(answer.item, answer.prompt or "", answer.model or ""):
            raise UserError(f"{answer.place}: the item, the task or the model has {NO_TEXT}")
        if answer.text is not None and not is_text(answer.text):
            answer = replace(answer, text=None, failure=NO_TEXT)
        yield answer
    if is_empty:
        raise UserError(f"file={file}: no answers in it; expected one or more")


def _harness_samples(file: Path, settings: Settings) -> Iterator[Answer]:
    match = _SAMPLES.match(file.name)
    task = match["task"] if match else file.stem
    name = f"file={file}"
    for line, sample in json_lines(file, name):
        place = f"{name}: line {line}"
        document = sample.get("doc")
        responses = sample.get("filtered_resps")
        if not isinstance(document, dict) or not isinstance(responses, list) or not responses:
            raise UserError(
                f"{place}: expected doc and filtered_resps, got {', '.join(sample) or 'nothing'}; "
                "is it a file that lm_eval --log_samples wrote?"
            )
        if settings.item not in document:
            raise UserError(
                f"{place}: doc has no {settings.item}, it has {', '.join(document)}; name the "
                "item's id with item="
            )
        item = str(document[settings.item])
        filter_name = sample.get("filter", _NO_FILTER)
        prompt = task if filter_name == _NO_FILTER else f"{task}/{filter_name}"
        if isinstance(responses[0], str):
            yield Answer(place, item, text=responses[0], prompt=prompt)
            continue
        yield Answer(
            place,
            item,
            choices=_choice_texts(sample.get("arguments"), len(responses), place),
            scores=[_log_likelihood(response, place) for response in responses],
            prompt=prompt,
        )


def _choice_texts(arguments: object, size: int, place: str) -> list[str]:
    """The continuation of each request: the text of the choice."""
    requests = list(arguments.values()) if isinstance(arguments, dict) else []
    continuations = [request.get("arg_1") for request in requests if isinstance(request, dict)]
    texts = [text for text in continuations if isinstance(text, str)]
    if len(texts) != size:
        raise UserError(
            f"{place}: {size} answers to {len(texts)} requests; expected one request for each "
            "choice, of a task with output_type: multiple_choice"
        )
    return texts


def _log_likelihood(response: object, place: str) -> float:
    try:
        assert isinstance(response, list)
        value = float(response[0])
    except (AssertionError, IndexError, TypeError, ValueError, OverflowError):
        value = float("nan")
    if value != value:
        raise UserError(
            f"{place}: got the answer {str(response)[:60]}; expected [log-likelihood, is greedy], "
            "or a text"
        )
    return value


def _inspect_log(file: Path, settings: Settings) -> Iterator[Answer]:
    name = f"file={file}"
    try:
        log = json_value(text_of(file, name))
    except ValueError as error:
        raise UserError(f"{name}: not JSON ({error}); is the file complete?") from error
    evaluation = log.get("eval") if isinstance(log, dict) else None
    samples = log.get("samples") if isinstance(log, dict) else None
    if not isinstance(evaluation, dict) or not isinstance(samples, list):
        raise UserError(
            f"{name}: expected an object with eval and samples; write the log with inspect log "
            "convert --to json"
        )
    for key in ("task", "model"):
        if not isinstance(evaluation.get(key), str | None):
            raise UserError(f"{name}: eval has {key} {evaluation[key]!r}; expected a name")
    for number, sample in enumerate(samples, 1):
        place = f"{name}: sample {number}"
        if not isinstance(sample, dict) or "id" not in sample or "output" not in sample:
            raise UserError(f"{place}: expected an object with id and output")
        try:
            answer = _inspect_answer(sample, evaluation, place, settings)
        except (AttributeError, TypeError, LookupError) as error:
            raise UserError(
                f"{place}: not a sample as Inspect writes it ({error}); write the log with inspect "
                "log convert --to json"
            ) from error
        yield answer


def _inspect_answer(
    sample: Mapping[str, Any], evaluation: Mapping[str, Any], place: str, settings: Settings
) -> Answer:
    """The answer of a sample; AttributeError, TypeError or LookupError if it has another form."""
    metadata = sample.get("metadata") or {}
    failure = sample.get("error")
    return Answer(
        place,
        str(metadata.get(settings.item, sample["id"])),
        text=None if failure else _inspect_text(sample),
        failure=first_line(failure["message"] or "no message")[:80] if failure else "",
        state=_inspect_state(sample),
        prompt=evaluation.get("task"),
        model=evaluation.get("model"),
    )


def _inspect_text(sample: Mapping[str, Any]) -> str:
    """What a scorer found in the answer, or all of it; the text of the choice for a letter."""
    found = [score.get("answer") for score in (sample.get("scores") or {}).values()]
    texts = [text for text in found if isinstance(text, str) and text]
    text = texts[0] if texts else str(sample["output"].get("completion") or "")
    choices = sample.get("choices") or []
    letters = list(_LETTERS[: len(choices)])
    return str(choices[letters.index(text)]) if text in letters else text


def _inspect_state(sample: Mapping[str, Any]) -> str:
    choices = sample["output"].get("choices") or [{}]
    return _STATES.get(choices[0].get("stop_reason"), "")


def _table_rows(file: Path, settings: Settings) -> Iterator[Answer]:
    name = f"file={file}"
    columns = (settings.item, settings.answer)
    is_tsv = file.suffix.lower() == ".tsv"
    rows = read_rows(file, name, columns, tabs=is_tsv, expected=_TABLE_OF_ANSWERS)
    for line, fields, is_surplus in rows:
        place = f"{name}: line {line}"
        if is_surplus:
            raise UserError(f"{place}: {SURPLUS}; quote a field that has the delimiter")
        item, text = fields[settings.item].strip(), fields[settings.answer].strip()
        if not item:
            raise UserError(f"{place}: no {settings.item}; expected the id of an item")
        yield Answer(place, item, text=text, is_label=True, failure="" if text else "empty")
