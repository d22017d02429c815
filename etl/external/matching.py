"""Set imported answers beside the items of an edition: pure, answers and items in, rows out."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adnominal.conf import UserError
from adnominal.etl.declaration import Dataset
from adnominal.etl.external.files import Answer
from adnominal.etl.prompts.files import templates_of
from adnominal.etl.prompts.replies import (
    PARSED,
    UNPARSABLE,
    after_reasoning,
    matches,
    plain_word,
    with_words,
)

TABLE = "predictions"
UNKNOWN = "no such item in the edition"
NOT_ASKED = "item outside the part that was asked"
WITHOUT_GOLD = "item without a correct answer"
DOUBLED = "item answered again; the first answer counts"
MISSING = "item without an answer in the files"
_QUOTES = " \t\r\n.!\"'`*“”‘’"


@dataclass(frozen=True)
class Item:
    """An item of the edition.

    Attributes:
        gold: the label of each of its rows; some releases repeat an item with another label.
        version: the version of the table that it was read from.
        is_asked: whether an answer is expected.
    """

    gold: Sequence[str]
    version: int
    is_asked: bool = True


class Words:
    """The labels of a dataset, by the words that stand for them."""

    def __init__(
        self, labels: Sequence[str], words: Mapping[str, str], patterns: Sequence[str] = ()
    ) -> None:
        """`words` maps further words to labels; `patterns` find one in a longer answer, at
        ``{answers}``.

        Raises:
            UserError: a word stands for something that is no label.
        """
        self.labels = tuple(labels)
        unknown = [word for word, label in words.items() if label not in labels]
        if unknown:
            raise UserError(
                f"labels={unknown[0]}:{words[unknown[0]]}: expected a word and one of "
                f"{', '.join(labels)}"
            )
        self._labels = {_normal_text(word): label for word, label in words.items()}
        self._labels |= {_normal_text(label): label for label in labels}
        alternatives = tuple(self._labels)
        self._patterns = [with_words(pattern, alternatives) for pattern in patterns]

    def label(self, text: str) -> str | None:
        """The label that a text stands for; None if it is not exactly one of the words."""
        return self._labels.get(_normal_text(text))

    def label_of_choice(self, text: str) -> str | None:
        """The label of a choice, which may go on after its first word (*good example of a dog*)."""
        first_word = text.split()[0] if text.split() else ""
        return self.label(text) or self.label(first_word)

    def label_in(self, text: str) -> str | None:
        """The label of a written answer: it is a word, or a pattern finds words of one label."""
        label = self.label(text)
        if label is not None:
            return label
        labels: set[str] = set()
        for pattern in self._patterns:
            labels.update(self._labels[_normal_text(word)] for word in matches(text, pattern))
        return labels.pop() if len(labels) == 1 else None


def _normal_text(text: str) -> str:
    return plain_word(text.strip(_QUOTES))


def words_of(dataset: Dataset, given: str | None) -> Words:
    """The words and patterns of a dataset's prompts (``conf/prompts``), and the user's words.

    A word that stands for different labels in different prompts is none of them.

    Raises:
        UserError: an entry of `given` is not ``WORD:LABEL`` with one of the labels.
    """
    assert dataset.labels is not None
    templates = templates_of(dataset.name)
    labels_of_word: dict[str, set[str]] = {}
    for template in templates:
        for verbaliser in template.verbalisers:
            for place, word in enumerate(verbaliser.all):
                label = verbaliser.labels[verbaliser.label(place)]
                labels_of_word.setdefault(_normal_text(word), set()).add(label)
    words = {
        word: next(iter(labels)) for word, labels in labels_of_word.items() if len(labels) == 1
    }
    for entry in given.split(",") if given else ():
        word, colon, label = (part.strip() for part in entry.rpartition(":"))
        if not colon or not word:
            raise UserError(f"labels={given}: got {entry!r}; expected WORD:LABEL")
        words[word] = label
    patterns = [template.pattern for template in templates if template.pattern is not None]
    return Words(dataset.label_names, words, patterns)


_COLUMNS = (
    "item_id",
    "gold",
    "predicted",
    "scores",
    "text",
    "prompt",
    "state",
    "table_version",
)


@dataclass
class Matched:
    """Columns of the rows of predictions; count and sample of what was dropped by reason."""

    columns: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in _COLUMNS})
    dropped: dict[str, tuple[int, str]] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)
    models: set[str] = field(default_factory=set)

    def drop(self, reason: str, sample: str, count: int = 1) -> None:
        """Count what has no row; the first sample of each reason is kept."""
        previous, first = self.dropped.get(reason, (0, sample))
        self.dropped[reason] = (previous + count, first)

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.columns["item_id"])


def match(answers: Iterable[Answer], items: Mapping[str, Item], words: Words) -> Matched:
    """Rows for the answers to known items; a row for each row of an item.

    An item has one answer for each prompt. Files may repeat an item as often as the edition does.

    Raises:
        UserError: a label that the dataset does not have, or choices that stand for no labels.
    """
    matched = Matched()
    occurrences: Counter[tuple[str | None, str]] = Counter()
    for answer in answers:
        sample = f"{answer.place} {answer.item}"
        item = items.get(answer.item)
        key = (answer.prompt, answer.item)
        if item is None:
            matched.drop(UNKNOWN, sample)
        elif not item.gold:
            matched.drop(WITHOUT_GOLD, sample)
        elif not item.is_asked:
            matched.drop(NOT_ASKED, sample)
        elif answer.failure:
            matched.drop(f"no answer: {answer.failure}", sample)
        elif occurrences[key]:
            occurrences[key] += 1
            if occurrences[key] > len(item.gold):
                matched.drop(DOUBLED, sample)
        else:
            occurrences[key] = 1
            _add(matched, answer, item, words)
    missing = [
        name
        for name, item in items.items()
        if item.is_asked and item.gold and name not in matched.answered
    ]
    if missing:
        matched.drop(MISSING, missing[0], len(missing))
    return matched


def _add(matched: Matched, answer: Answer, item: Item, words: Words) -> None:
    """Add a row for each row of the item."""
    outcome = _outcome(answer, words)
    for gold in item.gold:
        row = {
            "predicted": None,
            "scores": None,
            "text": None,
            "state": None,
            **outcome,
            "item_id": answer.item,
            "gold": gold,
            "prompt": answer.prompt,
            "table_version": item.version,
        }
        for name, value in row.items():
            matched.columns[name].append(value)
    matched.answered.add(answer.item)
    if answer.model:
        matched.models.add(answer.model)


def _outcome(answer: Answer, words: Words) -> dict[str, Any]:
    """What a row says of the answer: the label, its scores, or its text and state."""
    if answer.text is None:
        return _chosen(answer, words)
    if answer.is_label:
        return _answer_columns(answer, answer.text, words)
    if answer.state:
        return {"text": answer.text, "state": answer.state}
    label = words.label_in(after_reasoning(answer.text))
    state = UNPARSABLE if label is None else PARSED
    return {"text": answer.text, "state": state, "predicted": label}


def _answer_columns(answer: Answer, text: str, words: Words) -> dict[str, Any]:
    label = words.label(text)
    if label is None:
        raise UserError(
            f"{answer.place}: the answer {text!r} is no label; expected one of "
            f"{', '.join(words.labels)}, or say what it stands for with labels="
        )
    return {"predicted": label}


def _chosen(answer: Answer, words: Words) -> dict[str, Any]:
    """The most probable label, and the score of each label in their order.

    Of several choices for one label, the most probable counts.
    """
    best: dict[str, float] = {}
    for text, score in zip(answer.choices, answer.scores, strict=True):
        label = words.label_of_choice(text)
        if label is None:
            raise UserError(
                f"{answer.place}: the choice {text!r} stands for no label of the dataset; say with "
                f"labels= which of {', '.join(words.labels)} it is"
            )
        best[label] = max(score, best.get(label, score))
    if best.keys() != set(words.labels):
        raise UserError(
            f"{answer.place}: choices for {', '.join(best)} alone; expected one or more for each "
            f"of {', '.join(words.labels)}"
        )
    scores = [best[label] for label in words.labels]
    return {"predicted": words.labels[scores.index(max(scores))], "scores": scores}
