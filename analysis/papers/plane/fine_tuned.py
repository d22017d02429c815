"""PLANE's results of fine-tuned models: table 6, and the sweep of input lengths in figure 8."""

from collections.abc import Iterator, Sequence
from statistics import fmean, stdev

import pyarrow as pa

from adnominal.analysis.estimates import (
    STANDARD_DEVIATION,
    Interval,
    clustered_interval,
    mean_over_runs,
)
from adnominal.analysis.papers.exhibits import Chart, Finding, Missing, exhibit
from adnominal.analysis.papers.plane.sources import (
    PAPERS_FOLDS,
    PAPERS_MODEL,
    SCHEMES,
    TRAIN,
    TYPES,
    FineTuned,
    Plane,
)
from adnominal.analysis.report_numbers import Cells, CellValues, Row, percent_text
from adnominal.analysis.rows import is_right, lists, places
from adnominal.conf import UserError
from adnominal.etl.plane import CLASSES
from adnominal.training.finished_runs import Run

_TABLES = ("predictions", "plane_items")


@exhibit(
    "Table 6",
    "fine-tuned, out of distribution",
    fills=" && ".join(TRAIN[scheme] for scheme in SCHEMES),
    reads=_TABLES,
    printed=("table 6",),
)
def accuracy(page: Plane) -> Iterator[Finding]:
    """Accuracy on adjectives and nouns (GOoD) or inference types (One-IT) that training lacks; the
    paper's is BERT's over five splits, and the majority is 50 %."""
    models: dict[str, CellValues] = {}
    spreads: dict[str, CellValues] = {}
    for scheme, answers in page.fine_tuned.items():
        name = SCHEMES[scheme]
        try:
            rows = answers.rows
        except UserError as error:
            yield Missing(name, TRAIN[scheme], str(error))
            continue
        folds = {run.params.get("task.fold") for run in answers.runs}
        is_papers = answers.model == PAPERS_MODEL and len(folds) == PAPERS_FOLDS
        yield Cells(
            "table 6",
            {("accuracy", name): _mean(answers)},
            model=answers.model,
            runs=answers.runs,
            edition=answers.edition,
            is_other_model=not is_papers,
            note="" if is_papers else f"{answers.description()}.",
        )
        for group in (answers, *answers.others):
            row = group.description()
            models.setdefault(row, {})[row, name] = _mean(group)
            if spread := over_folds(group):
                spreads.setdefault(row, {})[row, name] = spread
        yield Cells(
            f"{name}: accuracy by class and type",
            _by_class_and_type(rows),
            unit="percent",
            model=answers.model,
            edition=answers.edition,
        )
    for cells in models.values():
        yield Cells("Models trained here", cells, unit="percent")
    for cells in spreads.values():
        caption = "Mean and standard deviation over folds, as the paper's ±"
        yield Cells(caption, cells, unit="percent")


def headline(rows: Sequence[Row]) -> str | None:
    """Accuracy on GOoD by the runs that are compared with the paper's."""
    for row in rows:
        if (
            row["table_name"] == "table 6"
            and row["column"] == "GOoD"
            and row.get("ours") is not None
        ):
            return (
                f"{row['model']}: accuracy {percent_text(row)} on adjectives unseen in "
                f"training (the paper's BERT {100 * row['published']:.0f} %, majority 50 %)"
            )
    return None


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


def over_folds(answers: FineTuned) -> Interval | None:
    """Accuracy over folds ± one standard deviation of a sample, as table 6 prints it; None for a
    single fold. Several seeds of a fold count as one value, their mean; `n` is the number of folds.
    """
    by_fold: dict[str, list[float]] = {}
    for run in answers.runs:
        correct = is_right(answers.of_run(run))
        by_fold.setdefault(run.params.get("task.fold", ""), []).append(fmean(correct))
    accuracies = [fmean(of_seeds) for of_seeds in by_fold.values()]
    if len(accuracies) < 2:
        return None
    mean, deviation = fmean(accuracies), stdev(accuracies)
    low, high = mean - deviation, mean + deviation
    return Interval(mean, low, high, len(accuracies), kind=STANDARD_DEVIATION)


def _by_class_and_type(rows: pa.Table) -> CellValues:
    """Accuracy by class and inference type, with intervals clustered by adjective."""
    correct, (adjectives,) = is_right(rows), lists(rows, "adjective")
    cells: CellValues = {}
    members = places(rows, "class", "inference_type")
    for kind, inference in sorted(members, key=lambda key: (CLASSES.index(key[0]), key[1])):
        of_cell = members[kind, inference]
        cells[kind, TYPES[inference]] = clustered_interval(
            [correct[place] for place in of_cell], [adjectives[place] for place in of_cell]
        )
    return cells


@exhibit(
    "Figure 8",
    "length of the input, in distribution",
    fills=TRAIN["in_distribution"],
    reads=_TABLES,
)
def by_length(page: Plane) -> Iterator[Finding]:
    """Accuracy of models whose inputs are cut after a number of tokens, with its 95 % band."""
    axes = ("max_length", "task.fold", "train_examples")
    answers = FineTuned(page.lake, page.runs, "in_distribution", axes)
    runs_of_length: dict[int, list[Run]] = {}
    for run in answers.runs:
        runs_of_length.setdefault(int(run.params["max_length"]), []).append(run)
    cells: CellValues = {}
    for length, runs in sorted(runs_of_length.items()):
        rows = pa.concat_tables(map(answers.of_run, runs))
        (groups,) = lists(rows, "group")
        cells[str(length), "accuracy"] = clustered_interval(is_right(rows), groups)
    name = "Accuracy by longest input"
    yield Cells(
        name,
        cells,
        unit="share",
        model=answers.model,
        runs=answers.runs,
        edition=answers.edition,
    )
    yield Chart("curves", f"{name}. {answers.description()}", (name,), "tokens", "accuracy")
