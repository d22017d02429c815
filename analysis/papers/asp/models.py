"""ASP's results of models: tables 3 and 4, comparing numbers, and leaking training rows."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from scipy import stats

from adnominal.analysis.estimates import Interval
from adnominal.analysis.papers import published
from adnominal.analysis.papers.asp.dataset import baseline_table
from adnominal.analysis.papers.asp.sources import (
    ANSWER_TABLES,
    IMPORT,
    ITEM_TABLES,
    PROMPT,
    SCORE,
    TASKS,
    TRAIN,
    Answered,
    Asp,
)
from adnominal.analysis.papers.exhibits import Finding, Missing, Note, exhibit
from adnominal.analysis.report_numbers import Cells, CellValues, Row, percent_text
from adnominal.conf import UserError
from adnominal.etl.asp import TESTS
from adnominal.etl.asp.gold import HUMAN

# For trained models, the split is needed to find the part of each row.
_TRAINED = (*ANSWER_TABLES, "asp_splits")


def _accuracies(page: Asp, number: int, models: Sequence[Answered]) -> Iterator[Finding]:
    """A printed table of accuracies by task and test, then all our models."""
    for kind, task in TASKS.items():
        name = f"table {number}, {task}"
        yield from _baselines(page, name, number, kind)
        printed = {row for row, _ in published.table("asp", name)}
        where = "trained here" if number == 4 else "scored here"
        for model in reversed(models):  # the newest comes last and is shown
            runs = f"{len(model.runs)} runs" if len(model.runs) > 1 else "1 run"
            row = f"{model.model} ({model.kind}, {runs})"
            beside: CellValues = {}
            own: CellValues = {}
            for test in TESTS:
                accuracy = model.accuracy(kind, test)
                if accuracy is not None:
                    beside[model.row or "", test] = accuracy
                    own[row, test] = accuracy
            if not own:
                continue
            source: dict[str, Any] = {
                "model": model.model,
                "runs": model.runs,
                "edition": page.editions.get(kind, ""),
            }
            if model.row in printed:
                yield Cells(name, beside, **source)
            caption = f"{task.capitalize()}: models {where}"
            yield Cells(caption, own, unit="percent", **source)


def _baselines(page: Asp, name: str, number: int, kind: str) -> Iterator[Finding]:
    """Chance and majority of each test."""
    table = ITEM_TABLES[kind]
    try:
        edition = page.lake.edition(table)
        rows = baseline_table(page.lake.root, table, edition, f"table {number}").to_pylist()
    except UserError as error:
        yield Missing(f"Baselines of {TASKS[kind]}", IMPORT, str(error))
        return
    cells: CellValues = {}
    for row in rows:
        cells[row["baseline"], row["test"]] = row["percent"] / 100
    yield Cells(name, cells, edition=edition)


def headline(rows: Sequence[Row]) -> str | None:
    """Accuracy on entailment inference, test ordering, of the newest model trained on ASP."""
    table = "Entailment inference: models trained here"
    trained = [row for row in rows if row["table_name"] == table and row["column"] == "ordering"]
    if not trained:
        return None
    row = trained[-1]
    paper = published.value("asp", "table 4, entailment inference", "BERT-base", "ordering")
    majority = published.value("asp", "table 4, entailment inference", "majority", "ordering")
    return (
        f"{row['model']}: accuracy {percent_text(row)} "
        f"on entailment by ordering "
        f"after training (the paper's BERT-base {paper.printed} %, majority {majority.printed} %)"
    )


def _printed_tables(number: int) -> tuple[str, ...]:
    return tuple(f"table {number}, {task}" for task in TASKS.values())


@exhibit(
    "Table 3",
    "models without training on ASP",
    fills=f"{SCORE} && {PROMPT}",
    reads=ANSWER_TABLES,
    printed=_printed_tables(3),
)
def untrained_models(page: Asp) -> Iterator[Finding]:
    """Accuracy of models that were scored or prompted without training on ASP."""
    try:
        models = page.untrained_runs
    except UserError:
        models = []
    yield from _accuracies(page, 3, models)


@exhibit(
    "Table 4", "models trained on ASP", fills=TRAIN, reads=_TRAINED, printed=_printed_tables(4)
)
def trained_models(page: Asp) -> Iterator[Finding]:
    """Accuracy of models that were trained on ASP."""
    try:
        models = page.trained_runs
    except UserError:
        models = []
    if "published" in page.editions.values():
        yield Note(
            "The release has one of the four rounds of adjectives. Models trained on a rebuilt "
            "edition are shown with its name, such as edition=paper_tuning."
        )
    yield from _accuracies(page, 4, models)


def correlation(points: Sequence[tuple[float, float]]) -> tuple[Interval, float]:
    """Pearson's correlation of pairs with Fisher's interval, and p (two-sided).

    The paper gives R and p of degree estimation against numerical reasoning (section Result); ours
    is against comparing numbers.

    Raises:
        ValueError: fewer than four pairs, or the same value throughout on one side.
    """
    x = [x for x, _ in points]
    y = [y for _, y in points]
    if len(points) < 4 or len(set(x)) < 2 or len(set(y)) < 2:
        raise ValueError(f"{len(points)} pairs; expected four or more, not all alike")
    result = stats.pearsonr(x, y)
    low, high = map(float, result.confidence_interval())
    r = Interval(float(result.statistic), low, high, len(points), kind="Fisher")
    return r, float(result.pvalue)


@exhibit(
    "",
    "degree estimation against comparing numbers",
    fills=f"{SCORE} && {TRAIN}",
    reads=_TRAINED,
    printed=("section Result",),
)
def comparing_numbers(page: Asp) -> Iterator[Finding]:
    """Accuracy of comparing numbers, correlated (Pearson) with that of the other tests with human
    gold, over models and tests.

    The comparative rows state the threshold itself, so they only require comparing two numbers. The
    paper correlates with numerical reasoning, by a measure that is only in its appendix (figure 5).
    """
    try:
        models = page.models
    except UserError:
        models = []
    tests = [test for test in HUMAN if test != "comparative"]
    papers: dict[str, dict[str, float]] = defaultdict(dict)
    for (row, test), cell in published.table("asp", "table 3, degree estimation").items():
        if row not in ("chance", "majority"):
            papers[row][test] = cell.value / 100
    ours: dict[str, dict[str, float]] = defaultdict(dict)
    for model in models:
        for test in (*tests, "comparative"):
            share = model.accuracy("degree", test)
            if share is not None:
                ours[f"{model.model} {model.runs[0].id}"][test] = share.estimate
    cells: CellValues = {}
    for name, accuracies in (("the paper's models, of table 3", papers), ("our models", ours)):
        points = [
            (of_model["comparative"], of_model[test])
            for of_model in accuracies.values()
            for test in tests
            if "comparative" in of_model and test in of_model
        ]
        if len({x for x, _ in points}) > 2:
            cells[name, "R"], cells[name, "p"] = correlation(points)
        elif name == "our models":
            reason = "It needs at least three models with answers to degree estimation."
            yield Missing("The same for our models", f"{SCORE} && {TRAIN}", reason)
    yield Note(
        "Our measure is accuracy on the comparative rows, which state the threshold itself. It is "
        "not the paper's measure of numerical reasoning (appendix, figure 5), so our R is not "
        "that of the paper. Points of one model are not independent, so interval and p are "
        "optimistic."
    )
    yield Cells("Comparing numbers against the other tests", cells)


@exhibit(
    "",
    "what training rows give away",
    fills="python training/finetune.py conf/training/asp_published.yaml lake=LAKE "
    "grid.task.full_stops=[kept,normalised]",
    reads=_TRAINED,
)
def leaks(page: Asp) -> Iterator[Finding]:
    """Accuracy on rows with and without an adjective that occurs in training.

    The tables above only count rows without such an adjective.
    """
    yield Note(
        "More than half of the published rows of entailment inference contain an adjective from "
        "training, and in ordering a missing full stop gives the label away. The tables above only "
        "count rows without such an adjective; runs with full stops normalised add missing ones."
    )
    for model in page.trained_runs:
        for test in TESTS:
            leaking = model.accuracy("entailment", test, "leaking")
            if leaking is None:
                continue
            full_stops = model.settings.get("task.full_stops", "kept")
            row = f"{model.model}, full stops {full_stops}, {test}"
            cells: CellValues = {(row, "adjective in training"): leaking}
            if (leak_free := model.accuracy("entailment", test)) is not None:
                cells[row, "no adjective in training"] = leak_free
            yield Cells(
                "Accuracy by whether an adjective leaks",
                cells,
                unit="percent",
                model=model.model,
                runs=model.runs,
            )
