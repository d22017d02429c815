"""The paper's quality rules, which decide which answers count; each is a named filter.

In section 4.1, instances are excluded that were "annotated by annotators who failed the attention
checks or whose labels differed by at least two degrees from the gold labels […] on more than 10% of
their annotations"; nobody labels more than 100; at least two annotators agree on the label. The
paper leaves two things open, which are settings here: the denominator of the 10 % (the gold items
that an annotator saw, or everything they annotated), and what is excluded (their answers, or all
instances they annotated). Checks are judged on all answers, so filters are independent.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from adnominal.etl.draws import rank

# Changes when the filters' behaviour changes; recorded in the metadata of the tables.
RULES_VERSION = "quality_v2"
DENOMINATORS = ("gold", "all")
DROPS = ("answers", "instances")


class Answer(NamedTuple):
    """One annotator's answer to one question; `expected` is the label that a check expects.

    `export` is the position of its batch in the order of exports.
    """

    item_id: str
    annotator: str
    label: int
    expected: int | None
    kind: str
    round: str
    condition: str
    batch: str
    page: str
    export: int = 0


@dataclass(frozen=True)
class Rules:
    """The settings of the filters; the defaults are the paper's where it is explicit.

    attention_failures  failed attention checks that an annotator may have
    gold_degrees        distance from a gold label that counts as a miss
    gold_share          misses that an annotator may have, of the denominator
    gold_of             the denominator: the annotator's gold items, or all of their annotations
    drop                what an excluded annotator removes: their answers, or whole instances
    per_person          maximum items per annotator; 100 was "less than 0.5% of the data"
    answers             answers that an item needs
    agree               answers that must agree
    seed                decides which of a person's items beyond the limit are dropped
    """

    attention_failures: int = 0
    gold_degrees: int = 2
    gold_share: float = 0.10
    gold_of: str = "gold"
    drop: str = "answers"
    per_person: int = 100
    answers: int = 3
    agree: int = 2
    seed: int = 0


@dataclass
class Filtered:
    """The result of the rules.

    items      answers that count, by item, for every item with enough of them
    labels     the label of each item on which enough annotators agree
    excluded   excluded annotators, by rule
    dropped    count and sample of what each rule dropped
    """

    items: dict[str, list[Answer]] = field(default_factory=dict)
    labels: dict[str, Label] = field(default_factory=dict)
    excluded: dict[str, list[str]] = field(default_factory=dict)
    dropped: dict[str, tuple[int, str]] = field(default_factory=dict)


class Label(NamedTuple):
    """The label of an item and whether all of its annotators gave it."""

    label: int
    unanimous: bool

    @property
    def agreement(self) -> str:
        """The term in table 4."""
        return "unanimous" if self.unanimous else "majority"


def majority(labels: Iterable[int], agree: int = 2) -> Label | None:
    """Return the most frequent label; None if fewer than `agree` gave it, or for a tie."""
    counts = Counter(labels).most_common(2)
    if not counts or counts[0][1] < agree:
        return None
    if len(counts) > 1 and counts[0][1] == counts[1][1]:
        return None
    return Label(counts[0][0], len(counts) == 1)


def failed_attention(answers: Iterable[Answer], rules: Rules) -> dict[str, str]:
    """Return annotators who failed too many attention checks, with the number of failures.

    The filter ``attention_failed``.
    """
    checks: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    for answer in answers:
        if answer.kind == "attention":
            checks[answer.annotator] += 1
            failures[answer.annotator] += answer.label != answer.expected
    return {
        who: f"{count} of {checks[who]} attention checks failed"
        for who, count in failures.items()
        if count > rules.attention_failures
    }


def far_from_gold(answers: Iterable[Answer], rules: Rules) -> dict[str, str]:
    """Return annotators who were too often `gold_degrees` or more from gold, with the count.

    The filter ``far_from_gold``. It never excludes annotators who saw no gold item.
    """
    counted_answers: Counter[str] = Counter()
    misses: Counter[str] = Counter()
    for answer in answers:
        if answer.kind == "gold" and answer.expected is not None:
            misses[answer.annotator] += abs(answer.label - answer.expected) >= rules.gold_degrees
        if answer.kind == "gold" or (answer.kind == "item" and rules.gold_of == "all"):
            counted_answers[answer.annotator] += 1
    checked = "gold items" if rules.gold_of == "gold" else "annotations"
    return {
        who: f"{count} of {counted_answers[who]} {checked} {rules.gold_degrees} degrees or more "
        "from gold"
        for who, count in misses.items()
        # A quotient, since the product of the limit and a number may be below the exact share.
        if count / counted_answers[who] > rules.gold_share
    }


def answered_twice(answers: Iterable[Answer]) -> list[Answer]:
    """Return repeated answers of a person to an item; that of the batch exported first counts.

    The filter ``answered_twice``: each person has one vote, even if an item was asked again.
    """
    first: dict[tuple[str, str], Answer] = {}
    order = sorted(answers, key=lambda a: (a.export, a.batch, a.page, a))
    return [a for a in order if first.setdefault((a.item_id, a.annotator), a) is not a]


def beyond_limit(answers: Sequence[Answer], rules: Rules) -> list[Answer]:
    """Return answers beyond the limit of items per person, chosen by a seeded draw of items.

    The filter ``beyond_limit``. The draw is the same for everybody, so that people who answered the
    same items keep answers to the same ones. Checks are not items and have no limit.
    """
    by_person: defaultdict[str, list[Answer]] = defaultdict(list)
    for answer in sorted(answers, key=lambda a: (rank(rules.seed, "limit", a.item_id), a)):
        by_person[answer.annotator].append(answer)
    return [a for _, answered in sorted(by_person.items()) for a in answered[rules.per_person :]]


def filtered(
    answers: Sequence[Answer], rules: Rules, judged: Iterable[Answer] | None = None
) -> Filtered:
    """Apply every rule; nothing depends on the order of the answers.

    Checks are judged on `judged`, which may have further answers of the same people; by default on
    `answers`. An item that is kept by ``drop=instances`` is kept by ``drop=answers`` with equal
    label.
    """
    result = Filtered()
    counting = sorted(answer for answer in answers if answer.kind == "item")
    # First, like a platform's own limit: it does not depend on the other filters.
    counting = _without(result, "answered_twice", counting, answered_twice(counting))
    counting = _without(result, "beyond_limit", counting, beyond_limit(counting, rules))
    checks: tuple[tuple[str, Callable[[Iterable[Answer], Rules], dict[str, str]]], ...] = (
        ("attention_failed", failed_attention),
        ("far_from_gold", far_from_gold),
    )
    excluded: set[str] = set()
    judged = answers if judged is None else list(judged)
    items = {a.item_id for a in answers if a.kind == "item"}
    for name, rule in checks:
        reasons = rule(judged, rules)
        result.excluded[name] = sorted(reasons)
        culprits = {who: why for who, why in reasons.items() if who not in excluded}
        excluded |= set(culprits)
        if rules.drop == "instances":
            spoilt_items = {a.item_id: a.annotator for a in counting if a.annotator in culprits}
            rejects = [a for a in counting if a.item_id in spoilt_items]
            counting = [a for a in counting if a.item_id not in spoilt_items]
            items -= spoilt_items.keys()
        else:
            rejects = [a for a in counting if a.annotator in culprits]
            counting = [a for a in counting if a.annotator not in culprits]
        if rejects:
            who = next(a.annotator for a in rejects if a.annotator in culprits)
            _note(result, name, rejects, f"annotator {who}: {culprits[who]}", rules.drop)
    remaining: dict[str, list[Answer]] = {item: [] for item in sorted(items)}
    for answer in counting:
        remaining[answer.item_id].append(answer)
    result.items = {
        item: answered for item, answered in remaining.items() if len(answered) >= rules.answers
    }
    if short_items := [item for item in remaining if item not in result.items]:
        item = short_items[0]
        text = f"item {item}: {len(remaining[item])} of {rules.answers} answers"
        _note(result, "few_answers", short_items, text, "items")
    _label(result, rules)
    return result


def _label(result: Filtered, rules: Rules) -> None:
    """Label the items on which enough annotators agree; count the others."""
    disputed = []
    for item, answers_of_item in result.items.items():
        label = majority((a.label for a in answers_of_item), rules.agree)
        if label is None:
            disputed.append(item)
        else:
            result.labels[item] = label
    if disputed:
        item = min(disputed)
        codes = ", ".join(str(a.label) for a in sorted(result.items[item], key=lambda a: a.label))
        _note(result, "no_agreement", disputed, f"item {item}: labels {codes}", "items")


def _without(
    result: Filtered, name: str, answers: Sequence[Answer], rejects: Sequence[Answer]
) -> list[Answer]:
    """Return the answers without the `rejects` of filter `name`, which are counted."""
    if rejects:
        first = min(rejects)
        sample = f"annotator {first.annotator}: item {first.item_id}"
        _note(result, name, rejects, sample, "answers")
    lost_set = set(rejects)
    return [answer for answer in answers if answer not in lost_set]


def _note(result: Filtered, name: str, dropped: Sequence[object], sample: str, unit: str) -> None:
    """Count what a filter dropped; `unit` says what is counted."""
    if unit == "instances":
        dropped, unit = sorted({a.item_id for a in dropped if isinstance(a, Answer)}), "items"
    result.dropped[f"{name} ({unit})"] = (len(dropped), sample)
