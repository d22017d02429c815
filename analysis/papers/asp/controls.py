"""ASP's control experiments (appendix D): models on rows without what the labels rest on."""

from collections.abc import Iterator

from adnominal.analysis.papers.asp.sources import ANSWER_TABLES, TASKS, Answered, Asp
from adnominal.analysis.papers.exhibits import Finding, Missing, Note, exhibit
from adnominal.analysis.report_numbers import Cells, CellValues
from adnominal.conf import UserError
from adnominal.etl.asp import TESTS
from adnominal.etl.asp.controls import CONTROLS, control_of

_CONTROL = "python etl/build_asp.py preset=paper lake=LAKE control"
_BUILD = f"{_CONTROL}=numbers entailment=0 && {_CONTROL}=premise && {_CONTROL}=words"
_TRAINED_ON = "trained on control rows, tested on intact ones"


@exhibit("Appendix D", "control experiments", fills=_BUILD, reads=(*ANSWER_TABLES, "asp_splits"))
def control_experiments(page: Asp) -> Iterator[Finding]:
    """Accuracy where numbers are shuffled, the premise is left out or adjectives are exchanged: a
    model that is as good there as in tables 3 and 4 uses superficial heuristics."""
    yield Note(
        "The paper's appendix is not published with it, so these controls are ours: "
        + "; ".join(CONTROLS.values())
        + ". Labels are those of the intact rows."
    )
    found = False
    for control, description in CONTROLS.items():
        for title, models, edition in _answers(page, control):
            found = True
            yield from _accuracies(f"{description}: {title}", models, edition)
    if not found:
        reason = "docs/asp.md has the commands that train and score models on these rows."
        yield Missing("Models on control rows, or trained on them", _BUILD, reason)


def _answers(page: Asp, control: str) -> Iterator[tuple[str, list[Answered], str]]:
    """What models of a control were tested on, these models, and the edition of the answers."""
    trained = [model for model in _models(page, "control_runs") if model.control == control]
    if trained:
        yield _TRAINED_ON, trained, ", ".join(sorted(set(page.editions.values())))
    for edition in page.control_editions():
        if control_of(edition) == control:
            models = _models(page.of_edition(edition), "models")
            if models:
                yield f"answers to edition {edition}", models, edition


def _models(page: Asp, name: str) -> list[Answered]:
    try:
        models: list[Answered] = getattr(page, name)
    except UserError:
        return []
    return models


def _accuracies(title: str, models: list[Answered], edition: str) -> Iterator[Cells]:
    for model in models:
        for kind, task in TASKS.items():
            cells: CellValues = {}
            for test in TESTS:
                accuracy = model.accuracy(kind, test)
                if accuracy is not None:
                    cells[f"{model.model} ({model.job}), {task}", test] = accuracy
            if cells:
                yield Cells(
                    title[0].upper() + title[1:],
                    cells,
                    unit="percent",
                    model=model.model,
                    runs=model.runs,
                    edition=edition,
                )
