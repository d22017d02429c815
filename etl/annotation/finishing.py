"""From answers to the dataset: rows of ``adept``, and a report on how far people agree.

The report has the content of table 4 and sections 4.2 and 5.2 of the paper (labels, agreement,
experts against the crowd, human baselines, the audit of extreme labels), further coefficients, and
the effect of other readings of the quality rules where the paper leaves them open.
"""

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

from adnominal.conf.numbers import percent
from adnominal.etl.adept import LABELS
from adnominal.etl.adept.splits import split_columns
from adnominal.etl.annotation.aggregation import aggregate
from adnominal.etl.annotation.agreement import (
    Level,
    bootstrap_alpha,
    cohen_kappa,
    count_labels,
    fleiss_kappa,
    krippendorff_alpha,
    wilson,
)
from adnominal.etl.annotation.batches import AUDIT
from adnominal.etl.annotation.quality import DENOMINATORS, DROPS, Answer, Filtered, Rules, filtered
from adnominal.etl.annotation.settings import LABELLING

_LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")
# Impossible and less likely, equally likely, more likely and necessarily true (section 5.3).
_THREE = (0, 0, 1, 2, 2)


@dataclass(frozen=True)
class EditionAnswers:
    """The answers that are relevant to one edition.

    Attributes:
        counted: the answers that decide its labels, with the checks on the same pages.
        judged: all answers of the same people in the labelling rounds of any edition, by which
            their checks are judged.
        others: the answers of its rounds expert, human and audit.
    """

    counted: Sequence[Answer]
    judged: Sequence[Answer]
    others: Sequence[Answer]

    def filtered(self, rules: Rules) -> Filtered:
        """Apply the quality rules to the answers that are counted."""
        return filtered(self.counted, rules, self.judged)


def answers_of_edition(
    answers: Iterable[Answer],
    items: Container[str],
    batches: Container[str],
    rounds: Container[str] = LABELLING,
) -> EditionAnswers:
    """Return the answers of the edition with these `items` and `batches`, labelled in `rounds`.

    Answers to its items count in any edition's batch.
    """
    known = list(answers)
    used = [a for a in known if a.round in rounds and a.condition == "context"]
    pages = {(a.batch, a.page) for a in used if a.kind == "item" and a.item_id in items}
    counted = [
        a for a in used if (a.batch, a.page) in pages and (a.kind != "item" or a.item_id in items)
    ]
    people = {a.annotator for a in counted}
    return EditionAnswers(
        counted,
        [a for a in known if a.round in LABELLING and a.annotator in people],
        [a for a in known if a.round not in LABELLING and a.batch in batches],
    )


def dataset_rows(
    result: Filtered, items: Mapping[str, Mapping[str, Any]], edition: str, seed: int
) -> list[dict[str, Any]]:
    """Return rows of the table ``adept``: the items with a label, in the order of their ids."""
    rows = []
    for item_id, label in sorted(result.labels.items()):
        item = items[item_id]
        sentences = (item["sentence"], item["modified_sentence"])
        rows.append(
            {
                "item_id": item_id,
                "sentence1": sentences[0],
                "sentence2": sentences[1],
                "modifier": item["adjective"],
                "noun": item["noun"],
                "label": label.label,
                "agreement": label.agreement,
                **split_columns(*sentences, item["adjective"], item["noun"], seed=seed),
                "edition": edition,
            }
        )
    return rows


def report(
    edition: EditionAnswers,
    result: Filtered,
    rules: Rules,
    *,
    models: Sequence[str] = (),
    samples: int = 1000,
) -> dict[str, Any]:
    """Return all figures as JSON values; shares are fractions.

    `result` has the edition's answers after the quality rules; answers of the rounds expert, human
    and audit are compared with its labels.
    """
    answers, others = edition.counted, edition.others
    labels = {item: decided.label for item, decided in result.labels.items()}
    audited = [a for a in others if a.round == "audit"]
    counting = [answer for answers_of_item in result.items.values() for answer in answers_of_item]
    return {
        "answers": sum(a.kind == "item" for a in answers),
        "checks": dict(Counter(a.kind for a in answers if a.kind != "item")),
        "annotators": len({a.annotator for a in answers}),
        "excluded": {rule: len(who) for rule, who in result.excluded.items()},
        "dropped": {reason: count for reason, (count, _) in result.dropped.items()},
        "labels": label_figures(result),
        "agreement": {
            "all answers": _coefficients(_by_item(answers).values(), rules.seed, samples),
            "answers that count": _coefficients(_by_item(counting).values(), rules.seed, samples),
        },
        "readings": _readings(edition, labels, rules),
        "models": {model: _model(model, answers, counting, labels) for model in models},
        "experts": expert_figures([a for a in others if a.round == "expert"], labels),
        "human": human_figures([a for a in others if a.round == "human"], labels),
        "audit": audit_figures(audited, labels),
        "audit left out": sum(
            a.kind == "item" and labels.get(a.item_id) != a.expected for a in audited
        ),
    }


def _by_item(answers: Iterable[Answer]) -> dict[str, list[int]]:
    labels: defaultdict[str, list[int]] = defaultdict(list)
    for answer in answers:
        if answer.kind == "item":
            labels[answer.item_id].append(answer.label)
    return dict(labels)


def label_figures(result: Filtered) -> dict[str, Any]:
    """Table 4: the labels and the number of unanimous items of each."""
    count = Counter(decided.label for decided in result.labels.values())
    unanimous = Counter(decided.label for decided in result.labels.values() if decided.unanimous)
    return {
        "items": len(result.items),
        "unanimous": unanimous.total(),
        "majority": count.total() - unanimous.total(),
        "no agreement": len(result.items) - count.total(),
        "by label": {
            name: {
                "items": count[code],
                "share": count[code] / count.total() if count else None,
                "unanimous": unanimous[code] / count[code] if count[code] else None,
            }
            for code, name in enumerate(LABELS)
        },
    }


def _coefficients(items: Iterable[Sequence[int]], seed: int, samples: int) -> dict[str, Any]:
    """Kappa and alphas; null if no item has two answers or only one label was ever used."""
    counts = count_labels([codes for codes in items if len(codes) > 1], len(LABELS))
    if not len(counts):
        return {"items": 0}
    raters = Counter(counts.sum(axis=1).tolist()).most_common(1)[0][0]
    same = counts[counts.sum(axis=1) == raters]
    figures: dict[str, Any] = {
        "items": len(counts),
        "raters": raters,
        "fleiss kappa": _number(fleiss_kappa(same)),
        "fleiss items": len(same),
    }
    for level in _LEVELS:
        low, high = bootstrap_alpha(counts, level, seed=seed, samples=samples)
        figures[f"alpha {level}"] = {
            "value": _number(krippendorff_alpha(counts, level)),
            "low": _number(low),
            "high": _number(high),
        }
    return figures


def _number(value: float) -> float | None:
    return None if value != value else value


def _readings(
    edition: EditionAnswers, labels: Mapping[str, int], rules: Rules
) -> list[dict[str, Any]]:
    """Return what each reading of the rules that the paper leaves open would have kept.

    Each is also tried with only as many answers as must agree: if an item has three answers and
    needs three, losing one of them loses the item.
    """
    rows = []
    answer_counts = sorted({rules.answers, rules.agree}, reverse=True)
    for gold_of, drop, min_answers in product(DENOMINATORS, DROPS, answer_counts):
        reading = dataclasses.replace(rules, gold_of=gold_of, drop=drop, answers=min_answers)
        reread = edition.filtered(reading)
        items_in_both = [item for item in reread.labels if item in labels]
        rows.append(
            {
                "gold_of": gold_of,
                "drop": drop,
                "answers": min_answers,
                "chosen": reading == rules,
                "annotators excluded": len(set().union(*reread.excluded.values())),
                "items with enough answers": len(reread.items),
                "items kept": len(reread.labels),
                "unanimous": sum(label.unanimous for label in reread.labels.values()),
                "labels that differ": sum(
                    reread.labels[item].label != labels[item] for item in items_in_both
                ),
            }
        )
    return rows


def _model(
    model: str, answers: Sequence[Answer], counting: Sequence[Answer], labels: Mapping[str, int]
) -> dict[str, Any]:
    """Compare a model's labels with the majority: from all answers and from those that count."""
    comparisons: dict[str, Any] = {}
    for name, used in (("all answers", answers), ("answers that count", counting)):
        used = [a for a in used if a.kind == "item"]
        if not used:
            continue
        estimated_labels = aggregate(model, used)
        pairs = [(estimated_labels[i], labels[i]) for i in labels if i in estimated_labels]
        comparisons[name] = {
            "items": len(pairs),
            "same label": sum(one == two for one, two in pairs) / len(pairs) if pairs else None,
            "kappa": _kappa(pairs),
            "labels": [Counter(estimated_labels.values())[code] for code in range(len(LABELS))],
        }
    return comparisons


def _kappa(pairs: Sequence[tuple[int, int]]) -> float | None:
    if not pairs:
        return None
    return _number(cohen_kappa(*(list(side) for side in zip(*pairs, strict=True))))


def ratings(answers: Iterable[Answer]) -> dict[str, dict[str, int]]:
    """The labels that each annotator gave to items, by annotator and item."""
    labels: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for answer in answers:
        if answer.kind == "item":
            labels[answer.annotator][answer.item_id] = answer.label
    return dict(sorted(labels.items()))


def expert_figures(answers: Sequence[Answer], labels: Mapping[str, int]) -> dict[str, Any]:
    """Section 4.2: agreement of experts with each other, with the crowd, and where they agree."""
    raters = ratings(answers)
    if not raters:
        return {}
    pairs = []
    for (first_name, first), (second_name, second) in combinations(raters.items(), 2):
        shared_items = sorted(first.keys() & second.keys())
        agreed = [item for item in shared_items if first[item] == second[item]]
        crowd = [item for item in agreed if item in labels]
        pairs.append(
            {
                "raters": [first_name, second_name],
                "items": len(shared_items),
                "alike": len(agreed) / len(shared_items) if shared_items else None,
                "kappa": _kappa([(first[i], second[i]) for i in shared_items]),
                "where alike, items with a label": len(crowd),
                "where alike, kappa with labels": _kappa([(first[i], labels[i]) for i in crowd]),
            }
        )
    return {
        "pairs": pairs,
        "kappa with labels": {
            who: _kappa([(rated[i], labels[i]) for i in sorted(rated) if i in labels])
            for who, rated in raters.items()
        },
    }


def human_figures(answers: Sequence[Answer], labels: Mapping[str, int]) -> dict[str, Any]:
    """Section 5.2: how often new annotators give the dataset's label, of five and of three."""
    figures: dict[str, Any] = {}
    for condition in sorted({a.condition for a in answers}):
        pairs = [
            (a.label, labels[a.item_id])
            for a in answers
            if a.condition == condition and a.kind == "item" and a.item_id in labels
        ]
        if not pairs:
            continue
        right_of_five = sum(answer == label for answer, label in pairs)
        right_of_three = sum(_THREE[answer] == _THREE[label] for answer, label in pairs)
        figures[condition] = {
            "answers": len(pairs),
            "annotators": len({a.annotator for a in answers if a.condition == condition}),
            "accuracy 5": right_of_five / len(pairs),
            "interval 5": wilson(right_of_five, len(pairs)),
            "accuracy 3": right_of_three / len(pairs),
            "interval 3": wilson(right_of_three, len(pairs)),
        }
    return figures


def audit_figures(answers: Sequence[Answer], labels: Mapping[str, int]) -> dict[str, Any]:
    """Section 4.2: the auditors' findings about each label, on the items that still have it."""
    figures: dict[str, Any] = {}
    for code, name in enumerate(LABELS):
        counts = Counter(
            a.label
            for a in answers
            if a.kind == "item" and a.expected == code == labels.get(a.item_id)
        )
        if counts:
            figures[name] = {
                finding: {
                    "count": counts[at],
                    "share": counts[at] / counts.total(),
                    "interval": wilson(counts[at], counts.total()),
                }
                for at, finding in enumerate(AUDIT)
            }
    return figures


def _agreement_lines(agreement: Mapping[str, Any]) -> list[str]:
    lines = []
    for name, row in agreement.items():
        if not row["items"]:
            continue
        lines.append(
            f"agreement, {name}: {row['items']} items, Fleiss' kappa {_short(row['fleiss kappa'])} "
            f"({row['fleiss items']} items of {row['raters']} answers)"
        )
        for level in _LEVELS:
            alpha = row[f"alpha {level}"]
            lines.append(
                f"  alpha, {level}: {_short(alpha['value'])} "
                f"({_short(alpha['low'])} to {_short(alpha['high'])})"
            )
    return lines


def report_text(figures: Mapping[str, Any]) -> str:
    """Format the report as text."""
    labels = figures["labels"]
    lines = [
        f"{figures['answers']} answers and {sum(figures['checks'].values())} answered checks of "
        f"{figures['annotators']} annotators",
        *(f"excluded by {rule}: {count}" for rule, count in figures["excluded"].items()),
        *(f"dropped: {count}, {reason}" for reason, count in figures["dropped"].items()),
        f"{labels['items']} items with enough answers: {labels['unanimous']} unanimous, "
        f"{labels['majority']} by majority, {labels['no agreement']} without agreement",
    ]
    lines += [
        f"  {name:<16} {row['items']:>7}  {_percent(row['share'])} of the items, "
        f"{_percent(row['unanimous'])} unanimous"
        for name, row in labels["by label"].items()
    ]
    lines += _agreement_lines(figures["agreement"])
    lines.append("readings of the rules:")
    lines += [
        f"  10 % of {'gold items' if row['gold_of'] == 'gold' else 'all annotations'}, dropping "
        f"{row['drop']}, {row['answers']} answers per item: {row['annotators excluded']} "
        f"annotators excluded, {row['items kept']} items kept, {row['labels that differ']} labels "
        f"differ{' (chosen)' * row['chosen']}"
        for row in figures["readings"]
    ]
    for model, parts in figures["models"].items():
        lines += [
            f"{model}, {name}: same label for {_percent(row['same label'])} of {row['items']} "
            f"items, kappa {_short(row['kappa'])}"
            for name, row in parts.items()
        ]
    for row in figures["experts"].get("pairs", []):
        lines.append(
            f"experts {' and '.join(row['raters'])}: kappa {_short(row['kappa'])} on "
            f"{row['items']} items, alike on {_percent(row['alike'])}; where alike, kappa "
            f"{_short(row['where alike, kappa with labels'])} with the labels"
        )
    lines += [
        f"expert {who}: kappa {_short(kappa)} with the labels"
        for who, kappa in figures["experts"].get("kappa with labels", {}).items()
    ]
    lines += [
        f"human, {condition}: {_percent(row['accuracy 5'])} of five labels, "
        f"{_percent(row['accuracy 3'])} of three, {row['answers']} answers of "
        f"{row['annotators']} people"
        for condition, row in figures["human"].items()
    ]
    for name, findings in figures["audit"].items():
        shares = [f"{finding} {_percent(row['share'])}" for finding, row in findings.items()]
        lines.append(f"audit of {name}: {', '.join(shares)}")
    if left_out := figures["audit left out"]:
        lines.append(f"audit: {left_out} answers left out, their items have another label or none")
    return "\n".join(lines)


def _percent(share: float | None) -> str:
    return percent(share, absent="none", sign=" %")


def _short(value: float | None) -> str:
    return "not defined" if value is None else f"{value:.3f}"
