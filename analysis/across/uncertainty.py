"""Models' scores beside people's votes on the same items, where the lake has votes."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from adnominal.analysis import predictions, uncertainty
from adnominal.analysis.across.fine_tuned import Across
from adnominal.analysis.estimates import Floats
from adnominal.analysis.papers.exhibits import Finding, Note, exhibit
from adnominal.analysis.report_numbers import Cells, CellValues
from adnominal.conf import UserError
from adnominal.etl.label_votes import TABLE, add_votes, is_simulated
from adnominal.etl.lake import arrow
from adnominal.etl.registry import DATASETS
from adnominal.training.finished_runs import Run

_TRAIN = "python training/finetune.py conf/training/adept.yaml labels=soft lake=LAKE"


class Voted(NamedTuple):
    """The votes on the items of an edition: counts by item and label, and their sources."""

    votes: Mapping[str, Mapping[str, int]]
    sources: frozenset[str]


@exhibit("", "people's uncertainty", fills=_TRAIN, reads=(TABLE, "predictions"))
def of_people(page: Across) -> Iterator[Finding]:
    """Is a model uncertain where people disagree? Its scores are compared with the shares of
    people's votes on the same items."""
    if not page.lake.has(TABLE):
        raise UserError(f"no table {TABLE}; etl/annotate_adept.py finish and import_pairs write it")
    yield Note(
        "Distance: mean Jensen–Shannon distance of scores and votes, 0 if they are equal. "
        "Calibration error: how far confidence is from the share of people who give the model's "
        "answer (ten bins). Entropy: rank correlation of the model's uncertainty with people's. "
        "Within: share of the disputed items on which the model is as close to people as 95 % of "
        "groups drawn from the item's own annotators. All items alike: the votes of all items as "
        "the scores of each."
    )
    has_model = False
    for (dataset, edition), voted in sorted(_votes(page.lake.root).items()):
        shown: set[str] = set()
        # Newest first: of each model, the newest run on these items is shown.
        for run in page.runs_of(("finetune", "score"), edition=edition):
            name = _name(run)
            compared = None
            if name not in shown:
                compared = _scores_and_votes(page.lake.root, run, dataset, edition, voted)
            if compared is not None:
                shown.add(name)
                has_model = True
                yield from _findings(page, f"{dataset}/{edition}", run, *compared, voted)
    if not has_model:
        raise UserError("no finished run with scores of items that people voted on")


def _votes(root: str) -> dict[tuple[str, str], Voted]:
    """The votes of each dataset and edition, those of several sources added up."""
    items: dict[tuple[str, str], dict[str, dict[str, int]]] = {}
    sources: dict[tuple[str, str], set[str]] = {}
    for row in arrow.read(root, TABLE).to_pylist():
        key = (row["dataset"], row["edition"])
        add_votes(items.setdefault(key, {}), row)
        sources.setdefault(key, set()).add(row["source"])
    return {key: Voted(votes, frozenset(sources[key])) for key, votes in items.items()}


def _name(run: Run) -> str:
    """The model's name, with the labels that it learnt if they are people's votes."""
    return f"{run.model}, soft labels" if run.params.get("labels") == "soft" else run.model


def _scores_and_votes(
    root: str, run: Run, dataset: str, edition: str, voted: Voted
) -> tuple[Floats, Floats] | None:
    """Scores and votes [items, labels] of a run's items; None if its scores are of other labels."""
    columns = ["item_id", "edition", "predicted", "scores"]
    scores: list[list[float]] = []
    predicted, votes = [], []
    for row in predictions.read(root, [run.id], columns).to_pylist():
        of_item = voted.votes.get(row["item_id"])
        if row["edition"] == edition and row["scores"] and of_item:
            scores.append(row["scores"])
            predicted.append(row["predicted"])
            votes.append(of_item)
    if not scores:
        return None
    matrix = np.array(scores, np.float64)
    # The table predictions has no names of scores: the right order gives the predicted labels.
    declared = DATASETS[dataset].label_names if dataset in DATASETS else ()
    for labels in (declared, tuple(sorted({*predicted, *_labels(votes)}))):
        if len(labels) != matrix.shape[1]:
            continue
        if [labels[place] for place in matrix.argmax(axis=1)] == predicted:
            counts = [[float(of_item.get(label, 0)) for label in labels] for of_item in votes]
            return matrix, np.array(counts)
    return None


def _labels(votes: list[Mapping[str, int]]) -> set[str]:
    return {label for of_item in votes for label in of_item}


def _findings(
    page: Across, where: str, run: Run, scores: Floats, votes: Floats, voted: Voted
) -> Iterator[Finding]:
    name = _name(run)
    source: dict[str, Any] = {
        "model": run.model,
        "runs": [run],
        "edition": where.partition("/")[2],
        "is_simulated": is_simulated(voted.sources),
        "note": f"Votes of {', '.join(sorted(voted.sources))}.",
    }
    people = votes / votes.sum(axis=1, keepdims=True)
    alike = np.broadcast_to(votes.sum(axis=0) / votes.sum(), people.shape)
    cells: CellValues = {}
    for row, own in ((name, scores), ("all items alike", alike)):
        cells |= _measures(row, own, votes, people, page.lake.seed)
    yield Cells(f"Scores and people's votes on {where}: {name}", cells, decimals=3, **source)
    bins: CellValues = {}
    for entry in uncertainty.calibration(scores, people):
        row = f"confidence {entry.low:.1f} to {entry.high:.1f}"
        bins[row, "mean confidence"] = entry.confidence
        bins[row, "share of votes"] = entry.share
        bins[row, "items"] = float(entry.items)
    yield Cells(f"Calibration on {where}: {name}", bins, **source)


def _measures(name: str, scores: Floats, votes: Floats, people: Floats, seed: int) -> CellValues:
    distances = uncertainty.distances(scores, people)
    cells: CellValues = {
        (name, "distance"): uncertainty.mean_interval(distances, seed),
        (name, "calibration error"): uncertainty.calibration_error(scores, people),
        (name, "entropy"): uncertainty.entropy_correlation(scores, people, seed),
    }
    within = uncertainty.within_disagreement(scores, votes, seed)
    if within is not None:
        cells[name, "within"] = within
    return cells
