"""What answers become once the rules have decided which count: labels, votes, and a report.

`apply_rules` and `store_results` serve every `AnnotationTask`, `finish` makes ADEPT of them.
"""

import json
import logging
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from adnominal.conf import JobFailed, UserError, settings_hash
from adnominal.etl.adept.annotation_task import ADEPT
from adnominal.etl.adept.splits import split_columns
from adnominal.etl.annotation.answers import counted_annotators, stored_answers, stored_questions
from adnominal.etl.annotation.forms import make_folder, write_files
from adnominal.etl.annotation.keys import SIMULATED
from adnominal.etl.annotation.quality import (
    LABELLING,
    RULES_VERSION,
    Answer,
    Filtered,
    filter_answers,
    labels_of_items,
)
from adnominal.etl.annotation.selection import chosen_variants
from adnominal.etl.annotation.settings import FinishSettings
from adnominal.etl.annotation.task import AnnotationTask
from adnominal.etl.dropped import Dropped, write_dropped
from adnominal.etl.label_votes import replace_votes, votes_table
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table

SAME_SIDE = "same side"
ONE_IN_THE_MIDDLE = "one in the middle"
OPPOSITE_SIDES = "opposite sides"
DIRECTIONS = (SAME_SIDE, ONE_IN_THE_MIDDLE, OPPOSITE_SIDES)
log = logging.getLogger("adnominal")


def finish(settings: FinishSettings) -> None:
    """Build the dataset: apply the quality rules, decide labels, measure agreement, and split.

    Replaces edition=NAME of the table adept, with the votes of its items in label_votes, and
    reports how far annotators agree.
    """
    lake, edition = settings.lake, settings.edition
    items = {item["item_id"]: item for item in chosen_variants(lake, edition)}
    result = apply_rules(settings, ADEPT, items)
    labelled = dataset_rows(result, items, edition, settings.seed)
    if not labelled:
        lost = lost_text(result)
        raise JobFailed(f"edition={edition}: the rules leave no item ({lost}); nothing was changed")
    store_results(settings, ADEPT, result, "adept", {"edition": edition}, labelled)
    store_votes(lake, result, edition)
    log.info("adept: %d rows of edition %s", len(labelled), edition)


def apply_rules(settings: FinishSettings, task: AnnotationTask, items: Container[str]) -> Filtered:
    """Apply the quality rules to the answers to `items`, and report how far people agree.

    Answers to items that the edition had when they were exported, and has no more, are counted.

    Raises:
        UserError: no two labels are `gold_degrees` apart, nobody has answered any of the items, or
            the report cannot be written.
    """
    farthest = len(task.labels) - 1
    if settings.gold_degrees > farthest:
        raise UserError(
            f"gold_degrees={settings.gold_degrees}: expected {farthest} or fewer, since an answer "
            f"is one of {len(task.labels)} labels; gold_share=1 switches the rule off"
        )
    if settings.report is not None:
        make_folder("report", Path(settings.report))
    answers = stored_answers(settings.lake, task.annotations)
    result = filter_answers(answers, settings, items)
    if not result.answers:
        raise UserError(
            f"edition={settings.edition}: no answers of round {' or '.join(LABELLING)} to its "
            f"items in {task.annotations} of lake={settings.lake}; export a batch, then import its "
            "answers"
        )
    gone = _answers_to_others(settings, task, answers, items)
    if gone:
        first = min(gone)
        result.dropped["item_gone (answers)"] = (len(gone), f"item {first.item_id}")
    figures = report(result, settings.models, task)
    log.info("edition %s\n%s", settings.edition, report_text(figures))
    if settings.report is not None:
        text = json.dumps(figures, ensure_ascii=False, indent=1)
        write_files({Path(settings.report): f"{text}\n"})
    return result


def _answers_to_others(
    settings: FinishSettings,
    task: AnnotationTask,
    answers: Iterable[Answer],
    items: Container[str],
) -> list[Answer]:
    """The answers to items of the edition's batches that are not among `items`."""
    questions = stored_questions(settings.lake, task.batches)
    batches = {question.batch for question in questions if question.edition == settings.edition}
    of_edition = [answer for answer in answers if answer.batch in batches]
    labelling = [answer for answer in of_edition if answer.round in LABELLING]
    to_items = [answer for answer in labelling if answer.kind == "item"]
    return [answer for answer in to_items if answer.item_id not in items]


def store_results(
    settings: FinishSettings,
    task: AnnotationTask,
    result: Filtered,
    table_name: str,
    partition: Mapping[str, str],
    rows: list[dict[str, Any]],
) -> None:
    """Replace the partition of a table with rows of the result, and record what was dropped."""
    lake = settings.lake
    metadata = {
        "settings": settings_hash(settings),
        "seed": str(settings.seed),
        "rules": RULES_VERSION,
        "items_version": str(arrow.version(lake, task.items)),
        "annotations_version": str(arrow.version(lake, task.annotations)),
        "made_of": f"Labels of {counted_annotators(result.counting)}.",
    }
    schema = table(table_name).schema
    data = pa.Table.from_pylist(rows, schema)
    arrow.replace(lake, table_name, data, partition, job=task.job, metadata=metadata)
    (name,) = partition.values()
    drops = []
    for reason, (count, sample) in sorted(result.dropped.items()):
        drops.append(Dropped(table_name, reason, count, sample))
    write_dropped(lake, f"{task.job}/{name}", drops)


def lost_text(result: Filtered) -> str:
    """What the rules have dropped, in words."""
    return "; ".join(f"{count} {reason}" for reason, (count, _) in result.dropped.items())


def dataset_rows(
    result: Filtered, items: Mapping[str, Mapping[str, Any]], edition: str, seed: int
) -> list[dict[str, Any]]:
    """Rows of the table ``adept``: the items with a label, in the order of their ids."""
    rows = []
    for item_id, label in sorted(result.labels.items()):
        item = items[item_id]
        texts = [item[name] for name in ("sentence1", "sentence2", "modifier", "noun")]
        row = {**item, **label._asdict(), "edition": edition}
        rows.append(row | split_columns(*texts, seed=seed))
    return rows


def store_votes(lake: str, result: Filtered, edition: str) -> None:
    """Replace the votes of the labelled items in ``label_votes``, by those who count.

    Where one of them is simulated, the source says so: such votes are of no people.
    """
    answers = [answer for item_id in result.labels for answer in result.items[item_id]]
    votes = {}
    for item_id, codes in labels_of_items(answers).items():
        votes[item_id] = Counter(ADEPT.labels[code] for code in codes)
    is_simulated = any(answer.annotator.startswith(SIMULATED) for answer in answers)
    sources = ("annotators", f"{SIMULATED}annotators")
    rows = votes_table("adept", edition, sources[is_simulated], votes)
    replace_votes(lake, rows, ADEPT.job, also=sources)


def report(result: Filtered, models: Sequence[str], task: AnnotationTask) -> dict[str, Any]:
    """All figures as JSON values; shares are fractions, undefined figures null.

    The labels are compared with those of `models` of annotators.
    """
    # Imported here, since its packages are those of the extra `annotation`.
    from adnominal.etl.annotation.agreement import coefficients, compare_with_model

    parts = {"all answers": result.answers, "answers that count": result.counting}
    agreement: dict[str, dict[str, Any]] = {}
    for name, answers in parts.items():
        figures = coefficients(answers)
        if figures["items"] and task.middle is not None:
            labels = labels_of_items(answers).values()
            figures["disagreements"] = disagreements_by_direction(labels, task.middle)
        agreement[name] = figures
    majority = {item_id: decided.label for item_id, decided in result.labels.items()}
    label_count = len(task.labels)
    compared: dict[str, dict[str, Any]] = {}
    for model in models:
        compared[model] = {}
        for name, answers in parts.items():
            compared[model][name] = compare_with_model(model, answers, majority, label_count)
    kinds = Counter(answer.kind for answer in result.checks)
    annotators = {answer.annotator for answer in result.answers}
    return {
        "answers": len(result.answers),
        "checks": dict(kinds),
        "annotators": len(annotators),
        "excluded": {rule: len(people) for rule, people in result.excluded.items()},
        "dropped": {reason: count for reason, (count, _) in result.dropped.items()},
        "labels": label_figures(result, task),
        "agreement": agreement,
        "models": compared,
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


def label_figures(result: Filtered, task: AnnotationTask) -> dict[str, Any]:
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


def disagreements_by_direction(items: Iterable[Sequence[int]], middle: int) -> dict[str, int]:
    """The number of disagreements of each of `DIRECTIONS`.

    A disagreement is two answers to one item with different labels. ADEPT's section 4.2 reports
    that many are on the same side of the middle label, such as `more likely` and `necessarily
    true`. `items` are the labels of each item, `middle` is the code of the middle label.
    """
    counts: Counter[str] = Counter()
    for labels in items:
        for first, second in combinations(labels, 2):
            if first != second:
                counts[_direction(first - middle, second - middle)] += 1
    return {direction: counts[direction] for direction in DIRECTIONS}


def _direction(first: int, second: int) -> str:
    """The direction of a disagreement between two different distances from the middle."""
    if first == 0 or second == 0:
        return ONE_IN_THE_MIDDLE
    is_same_side = (first > 0) == (second > 0)
    return SAME_SIDE if is_same_side else OPPOSITE_SIDES
