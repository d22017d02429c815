"""From answers to the dataset: rows of ``adept``, and a report on how far people agree."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import yaml

from adnominal.etl.adept.annotation_task import ADEPT
from adnominal.etl.adept.baselines import EQUALLY_LIKELY
from adnominal.etl.adept.splits import split_columns
from adnominal.etl.annotation.agreement import (
    LEVELS,
    cohen_kappa,
    disagreements_by_direction,
    fleiss_kappa,
    krippendorff_alpha,
    labels_by_model,
)
from adnominal.etl.annotation.keys import SIMULATED
from adnominal.etl.annotation.quality import Answer, Filtered
from adnominal.etl.annotation.task import AnnotationTask
from adnominal.etl.label_votes import replace_votes, votes_table


def dataset_rows(
    result: Filtered, items: Mapping[str, Mapping[str, Any]], edition: str, seed: int
) -> list[dict[str, Any]]:
    """Rows of the table ``adept``: the items with a label, in the order of their ids."""
    rows = []
    for item_id, label in sorted(result.labels.items()):
        item = items[item_id]
        sentences = (item["sentence"], item["modified_sentence"])
        words = (item["adjective"], item["noun"])
        row = {
            "item_id": item_id,
            "sentence1": sentences[0],
            "sentence2": sentences[1],
            "modifier": words[0],
            "noun": words[1],
            "label": label.label,
            "agreement": label.agreement,
            "edition": edition,
        }
        rows.append(row | split_columns(*sentences, *words, seed=seed))
    return rows


def store_votes(lake: str, result: Filtered, edition: str, job: str) -> None:
    """Replace the votes of the labelled items in ``label_votes``, by those who count.

    Where one of them is simulated, the source says so: such votes are of no people.
    """
    votes = {}
    is_simulated = False
    for item_id in result.labels:
        answers = result.items[item_id]
        votes[item_id] = Counter(ADEPT.labels[answer.label] for answer in answers)
        is_simulated |= any(answer.annotator.startswith(SIMULATED) for answer in answers)
    sources = ("annotators", f"{SIMULATED}annotators")
    rows = votes_table("adept", edition, sources[is_simulated], votes)
    replace_votes(lake, rows, job, also=sources)


def report(result: Filtered, models: Sequence[str], task: AnnotationTask = ADEPT) -> dict[str, Any]:
    """All figures as JSON values; shares are fractions, undefined figures null.

    The labels are compared with those of `models` of annotators.
    """
    counting = [answer for answers in result.items.values() for answer in answers]
    parts = {"all answers": result.answers, "answers that count": counting}
    labels = {item_id: decided.label for item_id, decided in result.labels.items()}
    return {
        "answers": len(result.answers),
        "checks": dict(Counter(answer.kind for answer in result.checks)),
        "annotators": len({answer.annotator for answer in result.answers}),
        "excluded": {rule: len(people) for rule, people in result.excluded.items()},
        "dropped": {reason: count for reason, (count, _) in result.dropped.items()},
        "labels": label_figures(result, task),
        "agreement": {name: _coefficients(part, task) for name, part in parts.items()},
        "models": {
            model: {
                name: _model_figures(model, part, labels, len(task.labels))
                for name, part in parts.items()
            }
            for model in models
        },
    }


def report_text(figures: Mapping[str, Any]) -> str:
    """The report as YAML, with three decimals."""
    text: str = yaml.safe_dump(_round_values(figures), sort_keys=False, default_flow_style=None)
    return text.rstrip()


def _round_values(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, Mapping):
        return {key: _round_values(part) for key, part in value.items()}
    return value


def label_figures(result: Filtered, task: AnnotationTask = ADEPT) -> dict[str, Any]:
    """Table 4: the labels and the number of unanimous items of each."""
    labels = result.labels.values()
    counts = Counter(decided.label for decided in labels)
    unanimous = Counter(decided.label for decided in labels if decided.agreement == "unanimous")
    by_label = {}
    for code, name in enumerate(task.labels):
        by_label[name] = {
            "items": counts[code],
            "share": counts[code] / counts.total() if counts else None,
            "unanimous": unanimous[code] / counts[code] if counts[code] else None,
        }
    return {
        "items": len(result.items),
        "unanimous": unanimous.total(),
        "majority": counts.total() - unanimous.total(),
        "no agreement": len(result.items) - counts.total(),
        "by label": by_label,
    }


def disagreement_figures(result: Filtered) -> dict[str, int]:
    """Pairs of different answers that count, by where they are from *equally likely* (section 4.2).

    The keys are `agreement.DIRECTIONS`.
    """
    codes = [[answer.label for answer in answers] for answers in result.items.values()]
    return disagreements_by_direction(codes, EQUALLY_LIKELY)


def _coefficients(answers: Collection[Answer], task: AnnotationTask) -> dict[str, Any]:
    """Kappa, alphas and directions of disagreement of the items with two answers or more."""
    answers_of_item = Counter(answer.item_id for answer in answers)
    paired = [answer for answer in answers if answers_of_item[answer.item_id] > 1]
    if not paired:
        return {"items": 0}
    labels: dict[str, list[int]] = {answer.item_id: [] for answer in paired}
    for answer in paired:
        labels[answer.item_id].append(answer.label)
    ((raters, items_of_raters),) = Counter(map(len, labels.values())).most_common(1)
    comparable = [codes for codes in labels.values() if len(codes) == raters]
    coefficients: dict[str, Any] = {
        "items": len(labels),
        "raters": raters,
        "fleiss kappa": fleiss_kappa(comparable),
        "fleiss items": items_of_raters,
        **{f"alpha {level}": krippendorff_alpha(paired, level) for level in LEVELS},
    }
    if task.middle is not None:
        directions = disagreements_by_direction(labels.values(), task.middle)
        coefficients["disagreements"] = directions
    return coefficients


def _model_figures(
    model: str, answers: Collection[Answer], labels: Mapping[str, int], label_count: int
) -> dict[str, Any]:
    """A model's labels, compared with those of the majority."""
    if not answers:
        return {"items": 0}
    estimated = labels_by_model(model, answers)
    shared = labels.keys() & estimated.keys()
    same = sum(estimated[item_id] == labels[item_id] for item_id in shared)
    counts = Counter(estimated.values())
    return {
        "items": len(shared),
        "same label": same / len(shared) if shared else None,
        "kappa": cohen_kappa(estimated, labels),
        "labels": [counts[code] for code in range(label_count)],
    }
