"""PLANE's results of fine-tuned models: table 6, and the sweep of input lengths in figure 8."""

from collections.abc import Sequence

import pyarrow as pa

from adnominal.analysis.papers.comparison import Missing, comparison
from adnominal.analysis.papers.page import exhibit, runs_text
from adnominal.analysis.papers.plane.sources import (
    PAPERS_FOLDS,
    PAPERS_MODEL,
    SCHEMES,
    TRAIN,
    TYPES,
    FineTuned,
    Plane,
)
from adnominal.analysis.rendering import figures
from adnominal.analysis.rendering.blocks import Block, FigureBlock, Table, Text
from adnominal.analysis.rendering.figures import Channels, Plot
from adnominal.analysis.rendering.numbers import percent
from adnominal.analysis.rows import is_right, lists, places, with_column
from adnominal.analysis.statistics import Interval, clustered_interval, mean_over_runs
from adnominal.conf import UserError
from adnominal.etl.plane import CLASSES
from adnominal.training.finished_runs import Run

_TABLES = ("predictions", "plane_items")


@exhibit(
    "Table 6",
    "fine-tuned, out of distribution",
    command=TRAIN["published"],
    tables=_TABLES,
    beside=("table 6",),
)
def accuracy(page: Plane) -> list[Block]:
    """Accuracy of each scheme; the paper's cells are for BERT over five splits."""
    ours = {}
    blocks: list[Block] = []
    reasons = []
    runs: list[Run] = []
    for scheme, answers in page.fine_tuned.items():
        name = SCHEMES[scheme]
        try:
            rows = answers.rows
        except UserError as error:
            reasons.append((scheme, str(error)))
            continue
        folds = {run.params.get("task.fold") for run in answers.runs}
        if answers.model == PAPERS_MODEL and len(folds) == PAPERS_FOLDS:
            ours["accuracy", name] = _mean(answers)
        else:  # other models and fewer splits are shown below
            reasons.append((scheme, f"no runs of {PAPERS_MODEL} on {PAPERS_FOLDS} splits"))
        for group in (answers, *answers.others):
            runs += group.runs
            text = f"accuracy {percent(_mean(group))} percent. The majority is 50."
            blocks.append(Text(f"{name}: {group.description()}, {text}"))
        caption = f"Ours, {name}: accuracy in percent by class and type"
        blocks.append(Table(caption, _by_class_and_type(rows)))
    missing = Missing(TRAIN[reasons[0][0]] if reasons else "", "; ".join(r for _, r in reasons))
    caption = "Accuracy over five splits"
    return [
        *comparison("plane", "table 6", ours, caption, missing=missing if reasons else None),
        *blocks,
        *runs_text(runs),
    ]


def _mean(answers: FineTuned) -> Interval:
    """Accuracy over the runs of a group.

    The test split is a sample of adjectives, so the rows of one adjective are not independent.
    """
    return mean_over_runs(
        [
            clustered_interval(is_right(table), table.column("adjective").to_pylist())
            for table in map(answers.of_run, answers.runs)
        ]
    )


def _by_class_and_type(rows: pa.Table) -> pa.Table:
    """Accuracy by class and inference type, with intervals clustered by adjective."""
    correct, (adjectives,) = is_right(rows), lists(rows, "adjective")
    shares = {
        key: percent(
            clustered_interval(
                [correct[place] for place in members], [adjectives[place] for place in members]
            )
        )
        for key, members in places(rows, "class", "inference_type").items()
    }
    # One-IT has a single inference type.
    types = [kind for kind in TYPES if any(inference == kind for _, inference in shares)]
    cells = {TYPES[kind]: [shares.get((name, kind)) for name in CLASSES] for kind in types}
    return pa.table({"class": list(CLASSES), **cells})


def lengths(runs: Sequence[tuple[int, Sequence[float], Sequence[str]]]) -> pa.Table:
    """Accuracy by the maximum number of tokens of an input (figure 8).

    `runs` has the maximum length of each run, whether its answers are right, and the group of each
    item; runs of the same length are pooled. Columns max_length, rows, accuracy, low, high.
    """
    by_length: dict[int, tuple[list[float], list[str]]] = {}
    for length, correct, groups in runs:
        answers = by_length.setdefault(length, ([], []))
        answers[0].extend(correct)
        answers[1].extend(groups)
    return pa.Table.from_pylist(
        [
            {
                "max_length": length,
                "rows": len(answers[0]),
                **clustered_interval(*answers).columns("accuracy"),
            }
            for length, answers in sorted(by_length.items())
        ]
    )


def length_figure(data: pa.Table) -> Plot:
    """Plot `lengths` as a line (figure 8)."""
    channels = Channels(
        "max_length",
        "accuracy",
        "longest input (tokens)",
        "accuracy (share of items)",
        series="model",
        low="low",
        high="high",
    )
    return figures.curves(with_column(data, "model", ["accuracy"] * data.num_rows), channels)


@exhibit(
    "Figure 8",
    "length of the input, in distribution",
    command=TRAIN["in_distribution"],
    tables=_TABLES,
)
def by_length(page: Plane) -> list[Block]:
    """Accuracy by the maximum input length of a run."""
    axes = ("max_length", "task.fold", "train_examples")
    answers = FineTuned(page.lake, page.runs, "in_distribution", axes)
    points = []
    for run in answers.runs:
        rows = answers.of_run(run)
        (groups,) = lists(rows, "group")
        points.append((int(run.params["max_length"]), is_right(rows), groups))
    caption = f"Accuracy by maximum input length, 95 % band. {answers.description()}"
    return [FigureBlock(caption, *length_figure(lengths(points))), *runs_text(answers.runs)]
