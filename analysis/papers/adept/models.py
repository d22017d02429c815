"""ADEPT's results of models: tables 5 and 6, figures 2 and 3, and errors by identity."""

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from sklearn.metrics import confusion_matrix
from statsmodels.stats.multitest import multipletests

from adnominal.analysis import slices
from adnominal.analysis.comparisons import Paired, compare, scores_by_slice
from adnominal.analysis.estimates import Interval, wilson
from adnominal.analysis.papers import published
from adnominal.analysis.papers.adept import annotators
from adnominal.analysis.papers.adept.dataset import label_findings
from adnominal.analysis.papers.adept.sources import IMPORT, Adept, Scored, with_brackets
from adnominal.analysis.papers.exhibits import (
    Chart,
    Examples,
    Exhibit,
    Finding,
    Missing,
    exhibit,
)
from adnominal.analysis.report_numbers import (
    SIMULATED,
    Cells,
    CellValues,
    Key,
    Row,
    percent_text,
)
from adnominal.analysis.rows import is_right, lists, seeded_order, tuples
from adnominal.etl.adept import LABELS
from adnominal.etl.adept.baselines import CLASSES, label_of, majority, normative_rule
from adnominal.etl.knowledge import lexicons

_TRAIN = "python training/finetune.py conf/training/adept.yaml lake=LAKE"
# Table 5: the grids of each of its models, with three and with five classes, with and without
# sentences, as in docs/reproducing.md. Section 6 has four classes for RoBERTa alone.
_GRID = "deepspeed training/finetune.py conf/training/adept_grid.yaml lake=LAKE"
_BOTH = "grid.task.classes=[3,5] grid.task.context=[true,false]"
_GRIDS = {
    "BERT": f"{_GRID} model=bert-base-cased {_BOTH}",
    "RoBERTa": f"{_GRID} model=roberta-base {_BOTH}",
    "DeBERTa": f"{_GRID} model=microsoft/deberta-base {_BOTH}",
}
_FOUR_CLASSES = f"{_GRID} model=roberta-base task.classes=4"
_TABLES = ("adept", "predictions", *annotators.TABLES)
# The 3 classes are named after the three middle labels: docs/training_tasks.md.
_OUTCOMES = {5: LABELS, 4: LABELS[1:], 3: LABELS[1:4]}
_FAMILIES = {"bert": "BERT", "roberta": "RoBERTa", "deberta": "DeBERTa"}
# The number of right and of wrong answers in table 6.
_ANSWERS = 3


def family(model: str) -> str | None:
    """The paper's name of a model's family: BERT, RoBERTa or DeBERTa; None for any other."""
    match = re.match(r"(bert|roberta|deberta)(?:-|$)", model.lower())
    return _FAMILIES[match[1]] if match else None


def baselines(rows: pa.Table, nonsubsective: Collection[str]) -> dict[tuple[str, int], Interval]:
    """Accuracy of the majority and of the normative rule on val, by (baseline, classes); table 5.

    The majority label is that of the training rows. The published figures count *dead* as
    non-subsective, in addition to Nayak et al.'s sixty.

    Raises:
        ValueError: no training rows, or none of val.
    """
    records = tuples(rows, "label", "modifier", "split_random")
    training_labels = [label for label, _, part in records if part == "train"]
    of_val = [(label, modifier) for label, modifier, part in records if part == "val"]
    accuracies = {}
    for classes in CLASSES:
        most = majority(training_labels, classes)
        total = right_by_majority = right_by_rule = 0
        for label, modifier in of_val:
            gold = label_of(label, classes)
            if gold is None:
                continue
            total += 1
            right_by_majority += gold == most
            right_by_rule += gold == normative_rule(modifier, nonsubsective, classes)
        accuracies["majority", classes] = wilson(right_by_majority, total)
        accuracies["normative rule", classes] = wilson(right_by_rule, total)
    return accuracies


@exhibit(
    "Table 5",
    "accuracy on the development set",
    fills=" && ".join([*_GRIDS.values(), _FOUR_CLASSES]),
    reads=_TABLES,
    printed=("table 5", "section 6"),
)
def accuracy(page: Adept) -> Iterator[Finding]:
    """Accuracy of people, baselines and models on val, with five and with three classes. With a
    frozen encoder, no model was better than the majority (footnote 3; no figures are printed)."""
    if (people := annotators.human(page.lake)) is not None:
        yield people
    rows = page.rows
    modifiers = rows.column("modifier").to_pylist()
    by_rule = baselines(rows, lexicons.nonsubsective_among(modifiers))
    rule_cells: CellValues = {
        (name, f"{classes}-class"): share
        for (name, classes), share in by_rule.items()
        if classes in (3, 5)
    }
    yield Cells("table 5", rule_cells, **page.source)
    best = _best_of_models(page)
    if not best:
        yield Missing("Models trained here", _TRAIN)
    for key, scored in _of_families(best).items():
        table = "section 6" if scored.classes == 4 else "table 5"
        yield Cells(table, {key: scored.accuracy}, **page.source_of(scored.runs))
    for scored in best:
        columns: CellValues = {
            (_name(scored), f"{scored.classes}-class"): scored.accuracy,
            (_name(scored), f"majority of {scored.classes}"): by_rule["majority", scored.classes],
        }
        caption = "Models trained here, each with its best settings on val"
        yield Cells(caption, columns, unit="percent", **page.source_of(scored.runs))
    yield from _pairwise(page)


def headline(rows: Sequence[Row]) -> str | None:
    """Accuracy with five classes of the best model trained here."""
    trained = [
        row
        for row in rows
        if row["table_name"].startswith("Models trained here") and row["column"] == "5-class"
    ]
    if not trained or trained[0]["status"] == SIMULATED:
        return None
    best = max(trained, key=lambda row: row["ours"])
    paper = published.value("adept", "table 5", "RoBERTa", "5-class").printed
    majority = published.value("adept", "table 5", "majority", "5-class").printed
    return (
        f"{best['model']}: accuracy {percent_text(best)} "
        f"on val, five classes (the paper's RoBERTa {paper} %, majority {majority} %)"
    )


def _best_of_models(page: Adept) -> list[Scored]:
    """Every model's best group of runs with each number of classes, with and without sentences,
    and with a trained and with a frozen encoder."""
    kinds = itertools.product(_models(page), (5, 4, 3), (True, False), (False, True))
    groups = [
        page.best(classes, context, model, is_frozen)
        for model, classes, context, is_frozen in kinds
    ]
    return [scored for scored in groups if scored is not None]


def _name(scored: Scored) -> str:
    """The row of a model: ``roberta-base, frozen encoder, no context``."""
    encoder = ", frozen encoder" if scored.is_frozen else ""
    context = "" if scored.context else ", no context"
    return scored.model + encoder + context


def _models(page: Adept) -> list[str]:
    return sorted({scored.model for scored in page.scored_models})


def _of_families(best: Sequence[Scored]) -> dict[Key, Scored]:
    """The best model of each of the paper's families, by cell of table 5 and of section 6."""
    cells: dict[Key, Scored] = {}
    for scored in best:
        if scored.is_frozen:
            continue
        kind = family(scored.model)
        # With four classes the paper names RoBERTa alone.
        if kind is None or (scored.classes == 4 and not (kind == "RoBERTa" and scored.context)):
            continue
        key = (f"{kind}{'' if scored.context else ', no context'}", f"{scored.classes}-class")
        if key not in cells or cells[key].accuracy.estimate < scored.accuracy.estimate:
            cells[key] = scored
    return cells


def _pairwise(page: Adept) -> Iterator[Finding]:
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
        return
    p_values = [comparison.p for _, _, comparison in comparisons]
    corrected_p = multipletests(p_values, method="holm")[1].tolist()
    cells: CellValues = {}
    for (one, two, result), p in zip(comparisons, corrected_p, strict=True):
        name = f"{one} less {two}"
        cells[name, "difference"] = result.difference
        cells[name, "p (permutation)"] = result.p
        cells[name, "p (Holm)"] = p
        cells[name, "p (McNemar, exact)"] = result.mcnemar
    yield Cells(
        "Five-class models compared item by item, each with its best run on val",
        cells,
        unit="share",
        decimals=3,
        **page.source,
    )


def confusion(gold: Sequence[str], predicted: Sequence[str], labels: Sequence[str]) -> CellValues:
    """Counts by (gold, predicted) label, in the order of `labels`, including zeros.

    Raises:
        ValueError: a label that is not in `labels`, or lengths that differ.
    """
    other = sorted({*gold, *predicted} - set(labels))
    if other:
        raise ValueError(f"label {other[0]!r}; expected one of {', '.join(labels)}")
    counts = confusion_matrix(gold, predicted, labels=labels)
    pairs = itertools.product(labels, labels)
    return {pair: float(count) for pair, count in zip(pairs, counts.flat, strict=True)}


def _confusion(number: int, published_model: str, classes: int, name: str) -> Exhibit[Adept]:
    """The published matrix, and that of our best model."""
    figure = f"figure {number}"

    @exhibit(
        f"Figure {number}",
        f"confusion matrix of {name} classes",
        fills=_GRIDS[published_model],
        reads=_TABLES,
        printed=(figure,),
    )
    def build(page: Adept) -> Iterator[Finding]:
        """Items of val by gold label (rows) and answer (columns)."""
        axes = ("predicted label", "true label")
        caption = f"As published: {published_model}"
        yield Chart("matrix", caption, (figure,), *axes, published=True)
        best = page.best(classes)
        if best is None:
            return
        gold, predicted = lists(best.answers, "gold", "predicted")
        answers = [guess or "" for guess in predicted]
        counts = confusion(gold, answers, _OUTCOMES[classes])
        source = page.source_of(best.runs)
        # Counts of another number of items say nothing beside the printed ones.
        printed = published.table("adept", figure)
        if sum(cell.value for cell in printed.values()) == len(gold):
            is_other = family(best.model) != published_model
            yield Cells(figure, counts, is_other_model=is_other, **source)
        own = f"Answers of {best.model}, our best model on val, its best run"
        yield Cells(own, counts, decimals=0, **source)
        share = wilson(sum(is_right(best.answers)), best.answers.num_rows)
        row = {"unit": "share", "ours": share.estimate, "low": share.low, "high": share.high}
        caption = f"{own}: {percent_text(row)} correct"
        yield Chart("matrix", caption, (own,), *axes, only_drawn=True)

    return build


five_classes = _confusion(2, "RoBERTa", 5, "five")
three_classes = _confusion(3, "DeBERTa", 3, "three")


@exhibit("Table 6", "answers on the development set", fills=_TRAIN, reads=_TABLES)
def answers(page: Adept) -> Iterator[Finding]:
    """A random sample of right and wrong answers of the best model."""
    rows = {row["item_id"]: row for row in page.rows.to_pylist()}
    best = page.best(5)
    if best is None:
        yield Missing("Answers of the best model", _TRAIN)
        return
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
    yield Examples(caption, pa.Table.from_pylist(examples), page.is_simulated)


@exhibit("", "adjectives of identity", fills=IMPORT, reads=_TABLES)
def identity(page: Adept) -> Iterator[Finding]:
    """Do adjectives that describe a person's identity (black, old, female) lower the plausibility
    of what the person does, in the labels or in a model's answers? The ethics section asks."""
    kinds = slices.identity(page.rows.column("modifier").to_pylist(), lexicons.identity())
    name = "Labels by kind of identity adjective"
    yield from label_findings(name, page.rows, kinds, page.source)
    best = page.best(5)
    if best is None:
        yield Missing("Errors of a model by kind of identity adjective", _TRAIN)
        return
    kind_of = dict(zip(page.rows.column("item_id").to_pylist(), kinds, strict=True))
    caption = f"Errors of {best.model} on val, by kind of identity adjective"
    cells = _errors(best.answers, kind_of)
    yield Cells(caption, cells, unit="percent", **page.source_of(best.runs))


def _errors(answers: pa.Table, kind_of: Mapping[str, str | None]) -> CellValues:
    """Scores of all answers and by kind, and how often answers are below or above the label."""
    ids, gold, guesses = lists(answers, "item_id", "gold", "predicted")
    predicted = [guess or "" for guess in guesses]
    kinds = [kind_of[item] for item in ids]
    cells: CellValues = {}
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
        row = f"{score.value} ({len(distances):,} items)"
        cells[row, "accuracy"] = score.accuracy
        cells[row, "macro-F1"] = score.macro_f1
        cells[row, "less plausible than labelled"] = lower
        cells[row, "more plausible than labelled"] = higher
    return cells
