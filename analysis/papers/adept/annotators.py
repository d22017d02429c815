"""The paper's figures on ADEPT's annotators (table 4, section 4.2 and the human rows of table 5),
computed from the answers in ``adept_annotations``.

Quality rules have their defaults, which are the paper's (`etl.annotation.quality.Rules`). Simulated
annotators (`etl.annotation.simulate`) are recognised by their ids and counted separately, so that
their figures cannot be mistaken for those of people.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix
from statsmodels.stats.inter_rater import cohens_kappa

from adnominal.analysis.editions import Lake
from adnominal.analysis.estimates import Interval, wilson
from adnominal.analysis.papers.adept.sources import PARTS, Adept, read
from adnominal.analysis.papers.exhibits import Finding, Missing, exhibit
from adnominal.analysis.report_numbers import Cells, CellValues
from adnominal.analysis.rows import tuples
from adnominal.etl.adept.annotation_task import ADEPT
from adnominal.etl.adept.baselines import EQUALLY_LIKELY, label_of
from adnominal.etl.annotation.answers import counted_annotators, stored_answers
from adnominal.etl.annotation.finishing import disagreements_by_direction, label_figures
from adnominal.etl.annotation.keys import SIMULATED
from adnominal.etl.annotation.quality import (
    LABELLING,
    Answer,
    Filtered,
    Rules,
    filter_answers,
    labels_of_items,
)
from adnominal.etl.lake import arrow

TABLES = ("adept_batches", "adept_annotations")
_HUMAN = {"context": "human", "no_context": "human, no context"}
EXPORT = (
    "python etl/annotate_adept.py export batch=expert.csv round=expert edition=EDITION lake=LAKE"
)


def editions(lake: str) -> list[str]:
    """The editions whose items were answered by annotators in this lake, sorted by name."""
    if not set(TABLES) <= set(arrow.tables(lake)):
        return []
    answered = set(arrow.read(lake, "adept_annotations", columns=["batch"])["batch"].to_pylist())
    batches = arrow.read(lake, "adept_batches", columns=["batch", "edition"])
    return sorted({edition for batch, edition in tuples(batches) if batch in answered})


@dataclass(frozen=True)
class Annotations:
    """The answers to the items of one edition.

    Attributes:
        lake: root of the lake.
        edition: edition of ``adept_items`` for the rounds pilot and main, of ``adept`` for the
            rounds expert, human and audit.
    """

    lake: str
    edition: str

    @cached_property
    def answers(self) -> list[Answer]:
        """Every answer to a page of the edition, including checks."""
        names = {batch for (batch,) in self._read("adept_batches", "batch")}
        return [answer for answer in stored_answers(self.lake) if answer.batch in names]

    def answers_of(self, *rounds: str) -> list[Answer]:
        """The answers of these rounds."""
        return [answer for answer in self.answers if answer.round in rounds]

    def _read(self, table: str, *columns: str) -> list[tuple[object, ...]]:
        """Rows of the edition; none if the table is not in the lake."""
        if table not in arrow.tables(self.lake):
            return []
        where = [("edition", "=", self.edition)]
        return tuples(arrow.read(self.lake, table, where=where, columns=columns), *columns)

    @cached_property
    def labels(self) -> Mapping[str, int]:
        """The finished dataset's label of each item; empty before `finish`."""
        return {
            str(item): int(str(label)) for item, label in self._read("adept", "item_id", "label")
        }

    @cached_property
    def by_rules(self) -> Filtered:
        """The answers for the dataset, filtered by the quality rules."""
        rows = self._read("adept_items", "item_id", "chosen")
        items = {str(item) for item, chosen in rows if chosen}
        return filter_answers(stored_answers(self.lake), Rules(), items)

    def annotators(self, *rounds: str) -> str:
        """The number of annotators: ``3 annotators``, ``25 simulated annotators``, or both."""
        return counted_annotators(self.answers_of(*rounds))

    def is_simulated(self, *rounds: str) -> bool:
        """Whether simulated annotators gave some of the answers of these rounds."""
        return any(answer.annotator.startswith(SIMULATED) for answer in self.answers_of(*rounds))

    def agreement(self) -> tuple[CellValues, CellValues]:
        """Cells of table 4 and of its sizes; both empty if no item has enough answers."""
        result = self.by_rules
        if not result.items:
            return {}, {}
        figures = label_figures(result, ADEPT)
        total = len(result.labels)
        cells: CellValues = {}
        for name, row in figures["by label"].items():
            if total:
                cells["label distribution", name] = wilson(row["items"], total)
            if row["items"]:
                unanimous = round(row["unanimous"] * row["items"])
                cells["unanimous", name] = wilson(unanimous, row["items"])
                cells["majority", name] = wilson(row["items"] - unanimous, row["items"])
        kinds = ("unanimous", "majority", "no agreement")
        return cells, {(kind, "rows"): float(figures[kind]) for kind in kinds}

    def disagreements(self) -> CellValues:
        """The count and share of disagreements by direction (section 4.2); empty if there are none.

        A disagreement is two different labels of one item; labels of one item are not independent,
        so the shares have no interval.
        """
        labels = labels_of_items(self.by_rules.counting).values()
        counts = disagreements_by_direction(labels, EQUALLY_LIKELY)
        total = sum(counts.values())
        cells: CellValues = {}
        if total:
            for direction, count in counts.items():
                cells[direction, "count"] = float(count)
                cells[direction, "share"] = count / total
        return cells

    def kappas(self) -> CellValues:
        """Cells of section 4.2.

        The experts are the two annotators of the round expert who share the most items; `one
        expert` is the one who agrees better with the labels, as in the paper.
        """
        raters = _ratings(self.answers_of("expert"))
        if len(raters) < 2:
            return {}
        first, second = max(
            combinations(raters, 2),
            key=lambda pair: (len(raters[pair[0]].keys() & raters[pair[1]].keys()), pair),
        )
        agreed_items = {
            item: label
            for item, label in sorted(raters[first].items())
            if raters[second].get(item) == label
        }
        with_labels = []
        for name in (first, second):
            if raters[name].keys() & self.labels.keys():
                estimate = _kappa_of(raters[name], self.labels).estimate
                with_labels.append((-1.0 if math.isnan(estimate) else estimate, name))
        comparisons = [
            ("two experts", raters[first], raters[second]),
            ("experts where they agree, crowd", agreed_items, self.labels),
        ]
        rows = ("one expert, crowd", "other expert, crowd")
        for row, (_, name) in zip(rows, sorted(with_labels, reverse=True), strict=False):
            comparisons.append((row, raters[name], self.labels))
        cells: CellValues = {}
        for row, one, two in comparisons:
            if one.keys() & two.keys():
                interval = _kappa_of(one, two)
                if not math.isnan(interval.estimate):
                    unknown = math.isnan(interval.low)
                    cells[row, "kappa"] = interval.estimate if unknown else interval
        return cells

    def human(self) -> CellValues:
        """The human rows of table 5: accuracy in the round human, with three and five classes."""
        answers = [
            answer
            for answer in self.answers_of("human")
            if answer.kind == "item" and answer.item_id in self.labels
        ]
        cells: CellValues = {}
        for condition, row in _HUMAN.items():
            rated = [answer for answer in answers if answer.condition == condition]
            if not rated:
                continue
            for classes in (3, 5):
                right = 0
                for answer in rated:
                    label = self.labels[answer.item_id]
                    right += label_of(answer.label, classes) == label_of(label, classes)
                cells[row, f"{classes}-class"] = wilson(right, len(rated))
        return cells

    def audit(self) -> tuple[CellValues, CellValues]:
        """The audit of the labels impossible and necessarily true (section 4.2): its printed cells,
        and the count and share of each finding; both empty without answers from the round audit."""
        answers = [answer for answer in self.answers_of("audit") if answer.kind == "item"]
        # Items whose label has changed since they were audited do not count.
        valid = [answer for answer in answers if answer.expected == self.labels.get(answer.item_id)]
        cells: CellValues = {}
        findings: CellValues = {}
        for code, label in enumerate(ADEPT.labels):
            counts = Counter(answer.label for answer in valid if answer.expected == code)
            if not counts:
                continue
            shares = {}
            for finding_code, finding in enumerate(ADEPT.findings):
                count = counts[finding_code]
                shares[finding] = count / counts.total()
                findings[f"{label}: {finding}", "count"] = float(count)
                findings[f"{label}: {finding}", "share"] = shares[finding]
            cells["clear case", label] = shares["clear case"]
            if label == "impossible":
                not_so = shares["not so"] + shares["not well formed"]
                cells["not so or not well formed", label] = not_so
        return cells, findings


def _ratings(answers: Iterable[Answer]) -> dict[str, dict[str, int]]:
    """The labels that each annotator gave to items, by annotator and item."""
    labels: dict[str, dict[str, int]] = {}
    for answer in answers:
        if answer.kind == "item":
            labels.setdefault(answer.annotator, {})[answer.item_id] = answer.label
    return dict(sorted(labels.items()))


def kappa(first: Sequence[int], second: Sequence[int]) -> Interval:
    """Cohen's kappa of two raters with its asymptotic 95 % interval (Fleiss et al. 1969).

    If one rater uses a single label, kappa is 0 whatever the other says, and the bounds are NaN;
    all values are NaN if only one label is used.
    """
    if len({*first, *second}) < 2:
        return Interval(math.nan, math.nan, math.nan, len(first))
    with np.errstate(invalid="ignore"):
        result = cohens_kappa(confusion_matrix(first, second))
    low, high = result.kappa_low, result.kappa_upp
    if len(set(first)) == 1 or len(set(second)) == 1:
        low = high = math.nan
    # Of few items the asymptotic interval reaches beyond what kappa can be.
    low, high = np.clip((low, high), -1.0, 1.0)
    estimate = float(result.kappa)
    return Interval(estimate, float(low), float(high), len(first), kind="asymptotic")


def _kappa_of(one: Mapping[str, int], two: Mapping[str, int]) -> Interval:
    items = sorted(one.keys() & two.keys())
    return kappa([one[item] for item in items], [two[item] for item in items])


def annotations_of(lake: Lake, *rounds: str) -> Annotations | None:
    """The answers of these rounds to the edition that the report shows, or to the first edition
    with answers; None if there are none."""
    names = editions(lake.root)
    preferred = lake.editions.get("adept", ())[:1]
    if lake.requested_edition is not None:
        names = [name for name in names if name == lake.requested_edition]
    for name in sorted(names, key=lambda name: (name not in preferred, name)):
        annotations = Annotations(lake.root, name)
        if annotations.answers_of(*rounds):
            return annotations
    return None


def labelling(lake: Lake) -> Iterator[Finding]:
    """Table 4 and the directions of disagreements from the answers of the rounds pilot and main, as
    tables of our own: the printed cells stand beside the finished labels. Nothing without
    answers."""
    annotations = annotations_of(lake, *LABELLING)
    cells, sizes = annotations.agreement() if annotations else ({}, {})
    if annotations is None or not cells:
        return
    who, edition = annotations.annotators(*LABELLING), annotations.edition
    if edition in lake.editions.get("adept", ()):
        parts = Counter(read(lake.root, edition).column("split_random").to_pylist())
        sizes |= {(part, "rows"): float(parts[part]) for part in PARTS if parts[part]}
    source: dict[str, Any] = {
        "edition": edition,
        "is_simulated": annotations.is_simulated(*LABELLING),
    }
    note = "Computed from the answers in adept_annotations with the paper's quality rules."
    yield Cells(f"Agreement and labels of {who}", cells, unit="share", note=note, **source)
    yield Cells(f"Items that {who} labelled", sizes, decimals=0, **source)
    if disagreements := annotations.disagreements():
        yield Cells(
            f"Disagreements of {who}, as seen from equally likely",
            disagreements,
            **source,
            note="Pairs of different labels of one item. Section 4.2 reports that many are on the "
            "same side, without a number.",
        )


@exhibit(
    "Section 4.2",
    "agreement of experts and crowd",
    fills=EXPORT,
    reads=("adept", *TABLES),
    printed=("section 4.2", "section 4.2, audit"),
)
def experts(page: Adept) -> Iterator[Finding]:
    """Agreement of experts with each other and with the labels (Cohen's kappa), and the audit of
    the two extreme labels."""
    annotations = annotations_of(page.lake, "expert", "audit")
    cells = annotations.kappas() if annotations else {}
    if annotations is None or not cells:
        yield Missing("Agreement of experts", EXPORT, "It needs the answers of two experts.")
    if annotations is None:
        return
    source: dict[str, Any] = {
        "edition": annotations.edition,
        "is_simulated": annotations.is_simulated("expert", "audit"),
    }
    note = f"Ours of {annotations.annotators('expert')}." if cells else ""
    yield Cells("section 4.2", cells, note=note, **source)
    findings, audit = annotations.audit()
    yield Cells("section 4.2, audit", findings, **source)
    if audit:
        caption = f"Findings of {annotations.annotators('audit')} on the two extreme labels"
        yield Cells(caption, audit, **source)


def human(lake: Lake) -> Cells | None:
    """The human rows of table 5; None without answers."""
    annotations = annotations_of(lake, "human")
    cells = annotations.human() if annotations else {}
    if annotations is None or not cells:
        return None
    sizes = "; ".join(
        f"{row}: {cell.n} items"
        for (row, column), cell in cells.items()
        if column == "5-class" and isinstance(cell, Interval)
    )
    who, edition = annotations.annotators("human"), annotations.edition
    return Cells(
        "table 5",
        cells,
        edition=edition,
        is_simulated=annotations.is_simulated("human"),
        note=f"Human rows: {who} on items of edition {edition} ({sizes}).",
    )
