"""The paper's quality rules, which decide which answers count; each is a named filter.

In section 4.1, instances are excluded that were "annotated by annotators who failed the attention
checks or whose labels differed by at least two degrees from the gold labels […] on more than 10% of
their annotations"; nobody labels more than 100; at least two annotators agree on the label. The
annotations that can differ from gold labels are those of gold items, so the 10 % are of these. An
excluded annotator's answers are dropped, and with them each item that is left with fewer answers
than it needs: the whole instance, as in the paper, where an item had three annotators.
"""

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from adnominal.conf import UserError, setting
from adnominal.conf.checks import check_minimum
from adnominal.etl.draws import rank

# Changes when the filters' behaviour changes; recorded in the metadata of the tables.
RULES_VERSION = "quality_v4"
# The rounds whose answers decide the labels; they share no items.
LABELLING = ("pilot", "main")


class Answer(NamedTuple):
    """One annotator's answer to one question; `expected` is the label that a check expects."""

    item_id: str
    annotator: str
    label: int
    expected: int | None
    kind: str
    round: str
    condition: str
    batch: str
    page: str


def labels_of_items(answers: Iterable[Answer]) -> dict[str, list[int]]:
    """The labels of each item, in the order of the answers."""
    labels: dict[str, list[int]] = {}
    for answer in answers:
        labels.setdefault(answer.item_id, []).append(answer.label)
    return labels


@dataclass(frozen=True)
class Rules:
    """The settings of the filters; the defaults are the paper's."""

    attention_failures: int = setting(0, help="failed attention checks that an annotator may have")
    gold_degrees: int = setting(2, help="distance from a gold label that counts as a miss")
    gold_share: float = setting(
        0.1, help="share of misses that an annotator may have, of their gold items"
    )
    per_person: int = setting(100, help="maximum number of items per annotator")
    answers: int = setting(3, help="answers that an item needs")
    agree: int = setting(2, help="answers that must agree")
    seed: int = setting(0, help="seed of splits and of the draw of items beyond the limit")

    def __post_init__(self) -> None:
        check_minimum(self, 0, "attention_failures")
        check_minimum(self, 1, "gold_degrees", "per_person", "answers", "agree")
        if not 0 <= self.gold_share <= 1:
            raise UserError(f"gold_share={self.gold_share:g}: expected a share from 0 to 1")
        if self.agree > self.answers:
            raise UserError(f"agree={self.agree}: expected answers={self.answers} or fewer")


class Label(NamedTuple):
    """The label of an item; `agreement` is unanimous or majority, as in table 4."""

    label: int
    agreement: str


@dataclass
class Filtered:
    """The result of the rules.

    answers    the answers to items before any rule
    checks     the answers to checks by which the same people are judged
    items      answers that count, by item, for every item with enough of them
    labels     the label of each item on which enough annotators agree
    excluded   excluded annotators, by rule
    dropped    count and sample of what each rule dropped
    """

    answers: list[Answer]
    checks: list[Answer]
    items: dict[str, list[Answer]] = field(default_factory=dict)
    labels: dict[str, Label] = field(default_factory=dict)
    excluded: dict[str, list[str]] = field(default_factory=dict)
    dropped: dict[str, tuple[int, str]] = field(default_factory=dict)

    @property
    def counting(self) -> list[Answer]:
        """The answers that count."""
        return [answer for answers in self.items.values() for answer in answers]


def majority_label(labels: Iterable[int], agree: int = 2) -> Label | None:
    """The most frequent label; None if fewer than `agree` gave it, or for a tie."""
    ranked = Counter(labels).most_common(2)
    if not ranked:
        return None
    label, count = ranked[0]
    is_tie = len(ranked) > 1 and ranked[1][1] == count
    if count < agree or is_tie:
        return None
    agreement = "unanimous" if len(ranked) == 1 else "majority"
    return Label(label, agreement)


def failed_attention(answers: Iterable[Answer], rules: Rules) -> dict[str, str]:
    """Annotators who failed too many attention checks, with the number of failures.

    The filter ``attention_failed``.
    """
    checks = [answer for answer in answers if answer.kind == "attention"]
    failures = Counter(check.annotator for check in checks if check.label != check.expected)
    totals = Counter(check.annotator for check in checks)
    return {
        annotator: f"{count} of {totals[annotator]} attention checks failed"
        for annotator, count in failures.items()
        if count > rules.attention_failures
    }


def far_from_gold(answers: Iterable[Answer], rules: Rules) -> dict[str, str]:
    """Annotators who were too often `gold_degrees` or more from gold, with the count.

    The filter ``far_from_gold``. It never excludes annotators who saw no gold item.
    """
    degrees = rules.gold_degrees
    golds: Counter[str] = Counter()
    misses: Counter[str] = Counter()
    for answer in answers:
        if answer.kind == "gold" and answer.expected is not None:
            distance = abs(answer.label - answer.expected)
            golds[answer.annotator] += 1
            misses[answer.annotator] += distance >= degrees
    return {
        annotator: f"{count} of {golds[annotator]} gold items {degrees} degrees or more from gold"
        for annotator, count in misses.items()
        # A quotient, since the product of the limit and a number may be below the exact share.
        if count / golds[annotator] > rules.gold_share
    }


def beyond_limit(answers: Iterable[Answer], rules: Rules) -> list[Answer]:
    """Answers beyond the limit of items per person, chosen by a seeded draw of items.

    The filter ``beyond_limit``. The draw is the same for everybody, so that people who answered the
    same items keep answers to the same ones. Checks are not items and have no limit.
    """
    by_person: defaultdict[str, list[Answer]] = defaultdict(list)
    for answer in sorted(answers, key=lambda a: (rank(rules.seed, "limit", a.item_id), a)):
        by_person[answer.annotator].append(answer)
    beyond: list[Answer] = []
    for answers_of_person in by_person.values():
        beyond += answers_of_person[rules.per_person :]
    return beyond


def filter_answers(answers: Iterable[Answer], rules: Rules, items: Container[str]) -> Filtered:
    """Apply every rule to the answers to `items` in the rounds that decide labels.

    People are judged by all of their checks in these rounds, also those beside other items. Nothing
    depends on the order of the answers.
    """
    labelling = [answer for answer in answers if answer.round in LABELLING]
    to_items = [answer for answer in labelling if answer.kind == "item"]
    counting = sorted(answer for answer in to_items if answer.item_id in items)
    people = {answer.annotator for answer in counting}
    to_checks = [answer for answer in labelling if answer.kind != "item"]
    checks = [answer for answer in to_checks if answer.annotator in people]
    result = Filtered(counting, checks)
    # First, like a platform's own limit: it does not depend on the other filters.
    beyond = {answer: f"item {answer.item_id}" for answer in beyond_limit(counting, rules)}
    counting = _drop_answers(result, "beyond_limit", counting, beyond)
    failed = failed_attention(checks, rules)
    counting = _exclude_people(result, "attention_failed", counting, failed)
    distant = far_from_gold(checks, rules)
    counting = _exclude_people(result, "far_from_gold", counting, distant)
    _decide_labels(result, counting, rules)
    return result


def _exclude_people(
    result: Filtered, name: str, answers: Iterable[Answer], reasons: Mapping[str, str]
) -> list[Answer]:
    """The answers without those of the people whom filter `name` excludes, each for a reason."""
    result.excluded[name] = sorted(reasons)
    rejects = {}
    for answer in answers:
        if answer.annotator in reasons:
            rejects[answer] = reasons[answer.annotator]
    return _drop_answers(result, name, answers, rejects)


def _drop_answers(
    result: Filtered, name: str, answers: Iterable[Answer], rejects: Mapping[Answer, str]
) -> list[Answer]:
    """The answers without the `rejects` of filter `name`, which are counted with a reason."""
    if rejects:
        first = min(rejects)
        sample = f"annotator {first.annotator}: {rejects[first]}"
        result.dropped[f"{name} (answers)"] = (len(rejects), sample)
    return [answer for answer in answers if answer not in rejects]


def _decide_labels(result: Filtered, counting: Iterable[Answer], rules: Rules) -> None:
    """Label the items with enough answers, if enough of them agree; count the other items."""
    answers_of_item: dict[str, list[Answer]] = {}
    for answer in result.answers:
        answers_of_item[answer.item_id] = []
    for answer in counting:
        answers_of_item[answer.item_id].append(answer)
    short = []
    disputed = []
    for item_id, answers in answers_of_item.items():
        size = len(answers)
        if size < rules.answers:
            short.append(f"item {item_id}: {size} of {rules.answers} answers")
            continue
        result.items[item_id] = answers
        codes = sorted(answer.label for answer in answers)
        label = majority_label(codes, rules.agree)
        if label is not None:
            result.labels[item_id] = label
        else:
            code_list = ", ".join(map(str, codes))
            disputed.append(f"item {item_id}: labels {code_list}")
    if short:
        result.dropped["few_answers (items)"] = (len(short), short[0])
    if disputed:
        result.dropped["no_agreement (items)"] = (len(disputed), disputed[0])
