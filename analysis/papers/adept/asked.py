"""Language models that were asked about ADEPT without training, which the paper does not do."""

from collections.abc import Iterator
from statistics import fmean

import pyarrow as pa
import pyarrow.compute as pc

from adnominal.analysis.estimates import clustered_interval
from adnominal.analysis.papers.adept.sources import Adept
from adnominal.analysis.papers.exhibits import Finding, Missing, exhibit
from adnominal.analysis.predictions import newest_of_each, read
from adnominal.analysis.report_numbers import Cells, CellValues
from adnominal.analysis.rows import lists, places
from adnominal.training.asking import scores
from adnominal.training.finished_runs import Run, model_name

_PROMPT = "python training/prompt.py conf/training/adept_prompt.yaml lake=LAKE"
_CAPTION = "Models that are asked: accuracy on val, a mean over prompts"
_READ = {
    scores.FIRST: "first token",
    scores.RESTRICTED: "most probable words",
    scores.WRITTEN: "written answer",
}


@exhibit("", "models without training", fills=_PROMPT, reads=("adept", "predictions"))
def untrained_models(page: Adept) -> Iterator[Finding]:
    """Accuracy of models that were asked, by examples and by how their answers are read: both forms
    of a question side by side. Answers that could not be parsed count as wrong; the share of the
    others is beside it."""
    runs = _newest_runs(page)
    if not runs:
        yield Missing(_CAPTION, _PROMPT)
    by_model: dict[str, list[Run]] = {}
    for run in reversed(runs):
        by_model.setdefault(run.model, []).append(run)
    for of_model in by_model.values():
        cells: CellValues = {}
        for run in of_model:
            cells |= _of_run(page, run)
        yield Cells(_CAPTION, cells, unit="percent", **page.source_of(of_model))


def _of_run(page: Adept, run: Run) -> CellValues:
    """The accuracy of a run for each way to read its answers."""
    cells: CellValues = {}
    rows = read(page.lake.root, [run.id])
    for choice, answers in scores.choices(rows).items():
        shots = run.params.get("shots", "0")
        name = f"{model_name(run.model)}, {shots} examples, {_READ[choice]}"
        cells[name, "accuracy"] = clustered_interval(_right(answers, choice))
        if choice == scores.WRITTEN:
            cells[name, "parsed"] = pc.mean(pc.equal(answers["state"], "parsed")).as_py()
    return cells


def _newest_runs(page: Adept) -> list[Run]:
    """The newest run on val of each model, number of examples and form, the newest first."""
    runs = page.runs_of("prompt", {"task.name": "adept", "part": "val"}, page.edition)
    return list(newest_of_each(runs, _way_of_asking).values())


def _way_of_asking(run: Run) -> tuple[str, str | None, str]:
    return run.model, run.params.get("shots"), run.params.get("form", "likelihood")


def _right(rows: pa.Table, choice: str) -> list[float]:
    """The share of the prompts of each item whose answer is right."""
    gold, answers = lists(rows, "gold")[0], scores.answers(rows, choice)
    right = [one == other for one, other in zip(gold, answers, strict=True)]
    items = places(rows, "item_id").values()
    return [fmean(right[at] for at in members) for members in items]
