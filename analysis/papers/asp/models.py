"""ASP's results of models: tables 3 and 4, numerical reasoning, and leaking training rows."""

from collections import defaultdict
from collections.abc import Sequence

import pyarrow as pa
from scipy import stats

from adnominal.analysis.papers import published
from adnominal.analysis.papers.asp.dataset import baseline_table
from adnominal.analysis.papers.asp.sources import (
    ANSWER_TABLES,
    ITEM_TABLES,
    PROMPT,
    SCORE,
    TASKS,
    TRAIN,
    Answered,
    Asp,
)
from adnominal.analysis.papers.comparison import Missing, comparison
from adnominal.analysis.papers.page import exhibit, runs_text
from adnominal.analysis.rendering.blocks import Block, NotRun, Table, Text
from adnominal.analysis.rendering.numbers import percent
from adnominal.analysis.statistics import Interval
from adnominal.conf import UserError
from adnominal.etl.asp import TESTS
from adnominal.etl.asp.gold import HUMAN

# For trained models, the split is needed to find the part of each row.
_TRAINED = (*ANSWER_TABLES, "asp_splits")


def _accuracies(page: Asp, number: int, models: Sequence[Answered], command: str) -> list[Block]:
    """A printed table of accuracies by task and test, then all our models."""
    blocks: list[Block] = []
    for kind, task in TASKS.items():
        name, table = f"table {number}, {task}", ITEM_TABLES[kind]
        ours: dict[tuple[str, str], float | Interval] = {}
        edition, reason = "", ""
        try:
            edition = page.lake.edition(table)
            for row in baseline_table(
                page.lake.root, table, edition, f"table {number}"
            ).to_pylist():
                ours[row["baseline"], row["test"]] = row["percent"] / 100
        except UserError as error:
            edition, reason = "", str(error)
        printed = {row for row, _ in published.table("asp", name)}
        for model in reversed(models):  # the newest comes last and is shown
            if model.row in printed:
                scores = {test: model.accuracy(kind, test) for test in TESTS}
                ours |= {(model.row, test): score for test, score in scores.items() if score}
        caption = f"{task.capitalize()}, accuracy"
        blocks += comparison("asp", name, ours, caption, edition, Missing(command, reason))
        every_model = _every_model(models, kind)
        if every_model is not None:
            where = "trained here" if number == 4 else "scored here"
            caption = f"{task.capitalize()}: models {where}, accuracy in percent"
            blocks.append(Table(caption, every_model))
    return [*blocks, *runs_text(run for model in models for run in model.runs)]


def _every_model(models: Sequence[Answered], kind: str) -> pa.Table | None:
    rows = []
    for model in models:
        scores = {test: model.accuracy(kind, test) for test in TESTS}
        if any(scores.values()):
            rows.append(
                {
                    "model": f"{model.model} ({model.job})",
                    "runs": len(model.runs),
                    **{test: percent(s).replace(" ", "\n", 1) for test, s in scores.items()},
                    "newest run": model.runs[0].id,
                }
            )
    return pa.Table.from_pylist(rows) if rows else None


def _beside(number: int) -> tuple[str, ...]:
    return tuple(f"table {number}, {task}" for task in TASKS.values())


@exhibit(
    "Table 3",
    "models without training on ASP",
    command=SCORE,
    tables=ANSWER_TABLES,
    beside=_beside(3),
)
def untrained_models(page: Asp) -> list[Block]:
    """Accuracy of models that were scored or prompted without training on ASP."""
    try:
        models = page.untrained_runs
    except UserError:
        models = []
    return _accuracies(page, 3, models, f"{SCORE} && {PROMPT}")


@exhibit("Table 4", "models trained on ASP", command=TRAIN, tables=_TRAINED, beside=_beside(4))
def trained_models(page: Asp) -> list[Block]:
    """Accuracy of models that were trained on ASP."""
    try:
        models = page.trained_runs
    except UserError:
        models = []
    return _accuracies(page, 4, models, TRAIN)


def correlation(points: Sequence[tuple[float, float]], level: float = 0.95) -> dict[str, float]:
    """Pearson's correlation of pairs: R, low and high (Fisher's interval), p (two-sided).

    The paper gives R and p of degree estimation against numerical reasoning (section Result).

    Raises:
        ValueError: fewer than four pairs, or the same value throughout on one side.
    """
    if len(points) < 4 or any(len({point[side] for point in points}) < 2 for side in (0, 1)):
        raise ValueError(f"{len(points)} pairs; expected four or more, not all alike")
    result = stats.pearsonr([x for x, _ in points], [y for _, y in points])
    low, high = map(float, result.confidence_interval(level))
    return {"R": float(result.statistic), "low": low, "high": high, "p": float(result.pvalue)}


@exhibit(
    "",
    "degree estimation against numerical reasoning",
    command=SCORE,
    tables=_TRAINED,
    beside=("section Result", "table 3, degree estimation"),
)
def numerical_reasoning(page: Asp) -> list[Block]:
    """Accuracy of comparing numbers, correlated with that of the other tests."""
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
    rows = []
    for name, accuracies in (("the paper's models, of table 3", papers), ("our models", ours)):
        points = [
            (of_model["comparative"], of_model[test])
            for of_model in accuracies.values()
            for test in tests
            if "comparative" in of_model and test in of_model
        ]
        if len({x for x, _ in points}) > 2:
            rows.append({"accuracies": name, "points": len(points), **correlation(points)})
    blocks = [
        *comparison("asp", "section Result", {}, "Correlation over models and tests"),
        Text(
            "The comparative rows state the threshold itself, so they only require comparing two "
            "numbers. Below, a model's accuracy on them measures its numerical reasoning and is "
            "correlated (Pearson) with its accuracy on each other test with human gold, over "
            "models and tests; the interval is Fisher's. Points of one model are not independent, "
            "so the interval and p are optimistic."
        ),
        Table("Comparing numbers against the other tests", pa.Table.from_pylist(rows)),
    ]
    if len(rows) < 2:
        missing = "The same for our models: needs at least three with answers to degree estimation"
        blocks.append(NotRun(missing, f"{SCORE} && {TRAIN}"))
    return blocks


@exhibit("", "what training rows give away", command=TRAIN, tables=_TRAINED)
def leaks(page: Asp) -> list[Block]:
    """Accuracy on rows with and without an adjective that occurs in training."""
    rows = []
    for model in page.trained_runs:
        for test in TESTS:
            leaking = model.accuracy("entailment", test, "leaking")
            if leaking is not None:
                leak_free = model.accuracy("entailment", test)
                rows.append(
                    {
                        "model": model.model,
                        "full stops": model.settings.get("task.full_stops", "kept"),
                        "test": test,
                        "no adjective in training (%)": percent(leak_free),
                        "adjective in training (%)": percent(leaking),
                    }
                )
    text = Text(
        "More than half of the published rows of entailment inference contain an adjective from "
        "training, and in ordering a missing full stop gives the label away. The tables above only "
        "count rows without such an adjective; runs with full stops normalised add missing ones."
    )
    if not rows:
        command = (
            "python training/finetune.py conf/training/asp_published.yaml lake=LAKE "
            "grid.task.full_stops=[kept,normalised]"
        )
        return [text, NotRun("Accuracy with and without adjectives from training", command)]
    return [text, Table("Accuracy by whether an adjective leaks", pa.Table.from_pylist(rows))]
