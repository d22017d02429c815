"""ADEPT's results of models: tables 5 and 6, figures 2 and 3, and errors by identity."""

import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa
from sklearn.metrics import confusion_matrix
from statsmodels.stats.multitest import multipletests

from adnominal.analysis import slices
from adnominal.analysis.comparisons import Paired, compare, scores_by_slice
from adnominal.analysis.papers import published
from adnominal.analysis.papers.adept import annotators
from adnominal.analysis.papers.adept.dataset import label_shares, label_shares_figure
from adnominal.analysis.papers.adept.sources import IMPORT, Adept, Scored, with_brackets
from adnominal.analysis.papers.comparison import Missing, comparison
from adnominal.analysis.papers.page import Exhibit, exhibit, runs_text
from adnominal.analysis.rendering import figures
from adnominal.analysis.rendering.blocks import Block, FigureBlock, NotRun, Table, Text
from adnominal.analysis.rendering.figures import Plot
from adnominal.analysis.rendering.numbers import percent
from adnominal.analysis.rows import is_right, lists, seeded_order, tuples
from adnominal.analysis.statistics import Interval, wilson
from adnominal.conf import UserError
from adnominal.etl.adept import LABELS
from adnominal.etl.adept.baselines import CLASSES, label_of, majority, normative_rule
from adnominal.etl.knowledge import lexicons

_TRAIN = "python training/finetune.py conf/training/adept.yaml lake=LAKE"
# The 3 classes are named after the three middle labels: docs/training_tasks.md.
_OUTCOMES = {5: LABELS, 4: LABELS[1:], 3: LABELS[1:4]}
_FAMILIES = {"bert": "BERT", "roberta": "RoBERTa", "deberta": "DeBERTa"}
# The number of right and of wrong answers in table 6.
_ANSWERS = 3


def family(model: str) -> str | None:
    """The paper's name of a model's family: BERT, RoBERTa or DeBERTa; None for any other."""
    match = re.match(r"(bert|roberta|deberta)(?:-|$)", model.lower())
    return _FAMILIES[match[1]] if match else None


def baselines(
    rows: pa.Table, nonsubsective: Collection[str], part: str = "val"
) -> dict[tuple[str, int], Interval]:
    """Accuracy of the majority and of the normative rule, by (baseline, classes); table 5.

    The majority label is that of the training rows. The published figures count *dead* as
    non-subsective, in addition to Nayak et al.'s sixty.

    Raises:
        ValueError: no training rows, or none of `part`.
    """
    records = tuples(rows, "label", "modifier", "split_random")
    training_labels = [label for label, _, own_part in records if own_part == "train"]
    accuracies = {}
    for classes in CLASSES:
        most = majority(training_labels, classes)
        test_labels = [
            (gold, normative_rule(modifier, nonsubsective, classes))
            for label, modifier, own_part in records
            if own_part == part and (gold := label_of(label, classes)) is not None
        ]
        by_majority = sum(gold == most for gold, _ in test_labels)
        by_rule = sum(gold == guess for gold, guess in test_labels)
        accuracies["majority", classes] = wilson(by_majority, len(test_labels))
        accuracies["normative rule", classes] = wilson(by_rule, len(test_labels))
    return accuracies


@exhibit(
    "Table 5",
    "accuracy on the development set",
    command=_TRAIN,
    tables=("adept", "predictions", *annotators.TABLES),
    beside=("table 5", "section 6"),
)
def accuracy(page: Adept) -> list[Block]:
    """Accuracy of people, baselines and models; then all models trained here, compared pairwise."""
    people, who = annotators.human(page.lake)
    try:
        rows = page.rows
    except UserError as error:
        missing = Missing(IMPORT, str(error))
        return comparison("adept", "table 5", people, "Accuracy on val", missing=missing)
    by_rule = baselines(rows, lexicons.nonsubsective())
    best = [
        scored
        for model in _models(page)
        for classes in (5, 4, 3)
        for context in (True, False)
        if (scored := page.best(classes, context, model))
    ]
    ours: dict[tuple[str, str], float | Interval] = dict(people)
    ours |= {
        (name, f"{classes}-class"): share
        for (name, classes), share in by_rule.items()
        if classes in (3, 5)
    }
    ours |= _of_families(best)
    four: dict[tuple[str, str], float | Interval] = {}
    for scored in best:
        if family(scored.model) == "RoBERTa" and scored.classes == 4 and scored.context:
            four["RoBERTa", "4-class"] = scored.accuracy
    missing = Missing(f"{_TRAIN} model=roberta-base task.classes=5 task.context=true")
    blocks = comparison("adept", "table 5", ours, "Accuracy on val", page.edition, missing)
    if who:
        blocks.append(Text(who))
    missing = Missing(f"{_TRAIN} model=roberta-base task.classes=4")
    caption = "Without the label impossible"
    blocks += comparison("adept", "section 6", four, caption, missing=missing)
    if best:
        caption = "Models trained here, each with its best settings on val"
        blocks.append(Table(caption, _trained_rows(best, by_rule)))
    else:
        blocks.append(NotRun("Models trained here", _TRAIN))
    blocks += runs_text(run for scored in page.scored_models for run in scored.runs)
    return [*blocks, *_pairwise(page)]


def _models(page: Adept) -> list[str]:
    return sorted({scored.model for scored in page.scored_models})


def _of_families(best: Sequence[Scored]) -> dict[tuple[str, str], Interval]:
    """Cells of table 5: our best model of each of the paper's families."""
    cells: dict[tuple[str, str], Interval] = {}
    for scored in best:
        kind = family(scored.model)
        if kind is None or scored.classes == 4:
            continue
        key = (f"{kind}{'' if scored.context else ', no context'}", f"{scored.classes}-class")
        if key not in cells or cells[key].estimate < scored.accuracy.estimate:
            cells[key] = scored.accuracy
    return cells


def _trained_rows(best: Sequence[Scored], by_rule: Mapping[tuple[str, int], Interval]) -> pa.Table:
    """Every model with its accuracy and those of the baselines."""
    rows = [
        {
            "model": scored.model,
            "classes": scored.classes,
            "input": "sentences" if scored.context else "noun and adjective",
            "runs": len(scored.runs),
            "accuracy (%)": percent(scored.accuracy),
            "majority (%)": percent(by_rule["majority", scored.classes]),
            "rule (%)": percent(by_rule["normative rule", scored.classes]),
            "newest run": scored.runs[0].id,
        }
        for scored in best
    ]
    return pa.Table.from_pylist(rows)


def _pairwise(page: Adept) -> list[Block]:
    """Compare each pair of five-class models on the same items of val; the paper finds no
    difference between its models (section 6)."""
    candidates = [
        (model if context else f"{model}, no context", best.answers)
        for model in _models(page)
        for context in (True, False)
        if (best := page.best(5, context, model)) is not None
    ]
    comparisons = []
    for (one, first), (two, second) in itertools.combinations(candidates, 2):
        if first.column("item_id") == second.column("item_id"):
            pair = Paired(*lists(first, "gold", "predicted"), *lists(second, "predicted"))
            comparisons.append((one, two, compare("accuracy", pair)))
    if not comparisons:
        return []
    p_values = [comparison.p for _, _, comparison in comparisons]
    corrected_p = multipletests(p_values, method="holm")[1].tolist()
    rows = [
        {
            "first": one,
            "second": two,
            "first less second (%)": percent(result.difference),
            "p (permutation)": result.p,
            "p (Holm)": p,
            "p (McNemar, exact)": result.mcnemar,
        }
        for (one, two, result), p in zip(comparisons, corrected_p, strict=True)
    ]
    caption = "Five-class models compared item by item, each with its best run on val"
    return [Table(caption, pa.Table.from_pylist(rows), digits=3)]


def confusion(gold: Sequence[str], predicted: Sequence[str], labels: Sequence[str]) -> pa.Table:
    """Counts by gold and predicted label, in the order of `labels`, including zeros.

    Raises:
        ValueError: a label that is not in `labels`, or lengths that differ.
    """
    other = sorted({*gold, *predicted} - set(labels))
    if other:
        raise ValueError(f"label {other[0]!r}; expected one of {', '.join(labels)}")
    counts = confusion_matrix(gold, predicted, labels=labels)
    cells = itertools.product(labels, labels)
    return pa.Table.from_pylist(
        [
            {"gold": one, "predicted": two, "count": int(count)}
            for (one, two), count in zip(cells, counts.flat, strict=True)
        ]
    )


def confusion_figure(data: pa.Table) -> Plot:
    """Plot `confusion` as a matrix (figures 2 and 3)."""
    return figures.matrix(
        data,
        row="gold",
        column="predicted",
        count="count",
        xlabel="predicted label",
        ylabel="true label",
    )


def _confusion(number: int, published_model: str, classes: int, name: str) -> Exhibit[Adept]:
    """The published matrix, and that of our best model."""
    figure = f"figure {number}"

    @exhibit(
        f"Figure {number}",
        f"confusion matrix of {name} classes",
        command=_TRAIN if classes == 5 else f"{_TRAIN} task.classes={classes}",
        tables=("adept", "predictions"),
        beside=(figure,),
    )
    def build(page: Adept) -> list[Block]:
        printed = published.table("adept", figure)
        counts = pa.Table.from_pylist(
            [
                {"gold": row, "predicted": column, "count": int(cell.value)}
                for (row, column), cell in printed.items()
            ]
        )
        caption = f"As published: {published_model}"
        blocks: list[Block] = [FigureBlock(caption, *confusion_figure(counts))]
        best = page.best(classes)
        table_caption = f"Items by gold label (rows) and answer: {published_model}"
        if best is None:
            missing = Missing(build.command)
            return [*blocks, *comparison("adept", figure, {}, table_caption, missing=missing)]
        gold, predicted = lists(best.answers, "gold", "predicted")
        ours = confusion(gold, [guess or "" for guess in predicted], _OUTCOMES[classes])
        share = wilson(sum(is_right(best.answers)), len(gold))
        caption = f"{best.model}, our best model on val, its best run: {percent(share)} % correct"
        blocks.append(FigureBlock(caption, *confusion_figure(ours)))
        cells: dict[tuple[str, str], float] = {}
        if sum(counts.column("count").to_pylist()) == len(gold):
            cells = {(row, column): float(count) for row, column, count in tuples(ours)}
            table_caption += f" as published, {best.model}"
        blocks += comparison("adept", figure, cells, table_caption)
        return [*blocks, *runs_text(best.runs)]

    return build


five_classes = _confusion(2, "RoBERTa", 5, "five")
three_classes = _confusion(3, "DeBERTa", 3, "three")


@exhibit(
    "Table 6", "answers on the development set", command=_TRAIN, tables=("adept", "predictions")
)
def answers(page: Adept) -> list[Block]:
    """A random sample of right and wrong answers of the best model."""
    rows = {row["item_id"]: row for row in page.rows.to_pylist()}
    best = page.best(5)
    if best is None:
        return [NotRun("Answers of the best model", _TRAIN)]
    seed = page.lake.seed
    order = seeded_order(best.answers.to_pylist(), seed, lambda row: ("table 6", row["item_id"]))
    examples: list[dict[str, Any]] = []
    for correct in (True, False):
        same_outcome = [row for row in order if (row["gold"] == row["predicted"]) == correct]
        # Labels are as varied as possible, because most items are labelled equally likely.
        first = {row["gold"]: row for row in reversed(same_outcome)}.values()
        remaining_answers = [row for row in same_outcome if row not in first]
        diverse = [*seeded_order(first, seed, lambda row: row["item_id"]), *remaining_answers]
        examples += [
            {
                "instance": with_brackets(
                    rows[row["item_id"]]["sentence2"], rows[row["item_id"]]["modifier"]
                ),
                "annotated": row["gold"],
                "predicted": row["predicted"],
                "correct": correct,
            }
            for row in diverse[:_ANSWERS]
        ]
    caption = f"Sample of the answers of {best.model} on val"
    return [Table(caption, pa.Table.from_pylist(examples)), *runs_text(best.runs)]


@exhibit("", "adjectives of identity", command=IMPORT, tables=("adept", "predictions"))
def identity(page: Adept) -> list[Block]:
    """Labels, and errors of the best model, by kind of identity adjective."""
    kinds = slices.identity(page.rows.column("modifier").to_pylist(), lexicons.identity())
    data = label_shares(page.rows, kinds)
    by_kind = "by kind of identity adjective"
    blocks: list[Block] = [
        Text(
            "The paper's ethics section raises the question of adjectives that describe a person's "
            "identity (black, old, female): do they lower the plausibility of what the person "
            "does, in the labels or in a model's answers?"
        ),
        FigureBlock(f"Labels {by_kind}", *label_shares_figure(data)),
        Table(f"Labels {by_kind}, with 95 % intervals", data, digits=3),
    ]
    best = page.best(5)
    if best is None:
        return [*blocks, NotRun(f"Errors of a model {by_kind}", _TRAIN)]
    kind_of = dict(zip(page.rows.column("item_id").to_pylist(), kinds, strict=True))
    errors = _errors(best.answers, kind_of)
    return [*blocks, Table(f"Errors of {best.model} on val, {by_kind}", errors)]


def _errors(answers: pa.Table, kind_of: Mapping[str, str | None]) -> pa.Table:
    """Scores of all answers and by kind, and how often answers are below or above the label."""
    ids, gold, guesses = lists(answers, "item_id", "gold", "predicted")
    predicted = [guess or "" for guess in guesses]
    kinds = [kind_of[item] for item in ids]
    rows = []
    for score in scores_by_slice(gold, predicted, {"identity": kinds}):
        distances = [
            LABELS.index(two) - LABELS.index(one)
            for one, two, kind in zip(gold, predicted, kinds, strict=True)
            if score.slice == "all" or kind == score.value
        ]
        lower, higher = (
            wilson(sum(sign * distance > 0 for distance in distances), len(distances))
            for sign in (-1, 1)
        )
        rows.append(
            {
                "adjectives": score.value,
                "items": len(distances),
                "accuracy (%)": percent(score.accuracy),
                "macro-F1 (%)": percent(score.macro_f1),
                "less plausible than labelled (%)": percent(lower),
                "more plausible than labelled (%)": percent(higher),
            }
        )
    return pa.Table.from_pylist(rows)
