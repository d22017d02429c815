"""Answers of models that were asked elsewhere."""

from collections.abc import Iterator

import pyarrow as pa

from adnominal.analysis.across.fine_tuned import Across
from adnominal.analysis.comparisons import scores_by_slice
from adnominal.analysis.estimates import wilson
from adnominal.analysis.papers.exhibits import Finding, Missing, exhibit
from adnominal.analysis.predictions import groups_of, labelled_predictions
from adnominal.analysis.report_numbers import Cells, CellValues
from adnominal.analysis.rows import lists
from adnominal.etl.external import JOB, PREFIX
from adnominal.etl.registry import DATASETS
from adnominal.training.finished_runs import Run

_IMPORT = "python etl/import_predictions.py file=FILE run=NAME task=adept lake=LAKE"
_TABLES = ("asp_degree", "asp_entailment", "plane_items", "predictions")
# No label has this name: an answer without a label is wrong.
_NO_LABEL = ""


@exhibit("", "answers of models that were asked elsewhere", fills=_IMPORT, reads=_TABLES)
def imported_answers(page: Across) -> Iterator[Finding]:
    """Accuracy and macro-F1 of imported answers, in all and by gold label (ADEPT), by class and
    inference type (PLANE) or by test (ASP). An answer that is no label counts as wrong."""
    runs = page.runs_of(JOB)
    if not runs:
        yield Missing(
            "Answers of models that were asked elsewhere", _IMPORT, "none have been imported"
        )
    for run in runs:
        yield _scores(page.lake.root, run)


def name_of(run: Run) -> str:
    """The model with the name of the import: ``gpt-5 (external, first-try)``."""
    return f"{run.model} (external, {run.id.removeprefix(PREFIX)})"


def _scores(lake: str, run: Run) -> Cells:
    dataset = DATASETS[run.params["task.name"]]
    answers = labelled_predictions(lake, run.id)
    gold, guesses, items = lists(answers, "gold", "predicted", "item_id")
    predicted = [guess or _NO_LABEL for guess in guesses]
    unlabelled = sum(guess is None for guess in guesses)
    # Answers of a model to several prompts for one item are not independent.
    groups = items if len(set(items)) < len(items) else None
    cells: CellValues = {}
    for score in scores_by_slice(gold, predicted, {"stratum": _strata(lake, run, answers)}, groups):
        row = name_of(run) if score.slice == "all" else f"{name_of(run)}, {score.value}"
        cells[row, "accuracy"] = score.accuracy
        cells[row, "macro-F1"] = score.macro_f1
    cells[name_of(run), "answers without a label"] = wilson(unlabelled, len(gold))
    edition = run.params["task.edition"]
    return Cells(
        f"{dataset.title}, edition {edition}: imported answers",
        cells,
        unit="percent",
        model=run.model,
        runs=[run],
        edition=edition,
    )


def _strata(lake: str, run: Run, answers: pa.Table) -> list[str]:
    """The stratum of each answer: the columns that two items must share to be compared."""
    report = DATASETS[run.params["task.name"]].report
    assert report is not None
    columns = []
    for name in report.strata:
        if name in answers.column_names:
            columns.append(lists(answers, name)[0])
            continue
        values = groups_of(lake, answers, name)
        columns.append([values[item] for item in lists(answers, "item_id")[0]])
    return [" ".join(values) for values in zip(*columns, strict=True)]
