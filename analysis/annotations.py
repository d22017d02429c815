"""ADEPT from one's own annotations: what the paper prints of its annotators (table 4, section 4.2
and the human rows of table 5), counted of the answers in ``adept_annotations``.

Quality rules have their defaults, which are the paper's (`etl.adept.quality.Rules`). Answers of
`etl.adept.simulate` can be told by their annotators' ids and are counted apart, so that no figure
of made-up annotators can be taken for one of people.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import pyarrow as pa

from analysis.interval import Interval
from analysis.significance import wilson
from etl.adept import LABELS
from etl.adept.answers import SIMULATED, stored_answers
from etl.adept.finishing import (
    audit_figures,
    human_figures,
    label_figures,
    ratings,
    relevant,
)
from etl.adept.quality import Answer, Filtered, Rules, filtered
from etl.lake import arrow

Cells = dict[tuple[str, str], float | Interval]
_LABELLING = ("pilot", "main")
_HUMAN = {"context": "human", "no_context": "human, no context"}


def editions(lake: str) -> list[str]:
    """The editions whose items annotators of this lake have answered, by name."""
    if not {"adept_batches", "adept_annotations"} <= set(arrow.tables(lake)):
        return []
    answered = set(arrow.read(lake, "adept_annotations", columns=["batch"])["batch"].to_pylist())
    batches = arrow.read(lake, "adept_batches", columns=["batch", "edition"])
    return sorted({row["edition"] for row in batches.to_pylist() if row["batch"] in answered})


def kappa(first: Sequence[int], second: Sequence[int]) -> Interval:
    """Cohen's kappa of two raters with its asymptotic 95 % interval (Fleiss et al. 1969).

    Both ends are the estimate where they agree on everything; all are NaN where one label was ever
    used.
    """
    from statsmodels.stats.inter_rater import cohens_kappa

    codes = sorted({*first, *second})
    if len(codes) < 2:
        return Interval(math.nan, math.nan, math.nan, len(first))
    pairs = list(zip(first, second, strict=True))
    found = cohens_kappa([[pairs.count((a, b)) for b in codes] for a in codes])
    return Interval(float(found.kappa), float(found.kappa_low), float(found.kappa_upp), len(pairs))


@dataclass(frozen=True)
class Annotations:
    """The answers to the items of one edition.

    Attributes:
        lake: root of the lake.
        edition: that of ``adept_items`` for the rounds pilot and main, of ``adept`` for expert,
            human and audit.
    """

    lake: str
    edition: str

    @cached_property
    def answers(self) -> list[Answer]:
        """Every answer to a page of the edition, checks included."""
        where = [("edition", "=", self.edition)]
        batches = arrow.read(self.lake, "adept_batches", where=where, columns=["batch"])
        own = set(batches.column("batch").to_pylist())
        return [answer for answer in stored_answers(self.lake) if answer.batch in own]

    def of(self, *rounds: str) -> list[Answer]:
        """The answers of these rounds."""
        return [answer for answer in self.answers if answer.round in rounds]

    @cached_property
    def labels(self) -> Mapping[str, int]:
        """The finished dataset's label of each item; empty before `finish`."""
        if "adept" not in arrow.tables(self.lake):
            return {}
        where = [("edition", "=", self.edition)]
        rows = arrow.read(self.lake, "adept", where=where, columns=["item_id", "label"])
        return {row["item_id"]: row["label"] for row in rows.to_pylist()}

    @cached_property
    def filtered(self) -> Filtered:
        """What the quality rules leave of the answers that make the dataset."""
        items: set[str] = set()
        if "adept_items" in arrow.tables(self.lake):
            where = [("edition", "=", self.edition)]
            found = arrow.read(self.lake, "adept_items", where=where, columns=["item_id"])
            items = set(found.column("item_id").to_pylist())
        used = [a for a in self.of(*_LABELLING) if a.condition == "context"]
        return filtered(relevant(used, items), Rules())

    def annotators(self, *rounds: str) -> str:
        """Who answered: ``3 annotators``, ``25 simulated annotators``, or both."""
        names = {answer.annotator for answer in self.of(*rounds)}
        made_up = sum(name.startswith(SIMULATED) for name in names)
        counts = ((len(names) - made_up, ""), (made_up, "simulated "))
        return " and ".join(
            f"{number:,} {kind}annotator{'s' * (number != 1)}" for number, kind in counts if number
        )

    def agreement(self) -> tuple[Cells, Cells]:
        """Cells of table 4 and of its sizes; both empty where no item has enough answers."""
        result = self.filtered
        if not result.items:
            return {}, {}
        figures = label_figures(result)
        total = len(result.labels)
        cells: Cells = {}
        for name, row in figures["by label"].items():
            if total:
                cells["label distribution", name] = wilson(row["items"], total)
            if row["items"]:
                alike = round(row["unanimous"] * row["items"])
                cells["unanimous", name] = wilson(alike, row["items"])
                cells["majority", name] = wilson(row["items"] - alike, row["items"])
        kinds = ("unanimous", "majority", "no agreement")
        return cells, {(kind, "rows"): float(figures[kind]) for kind in kinds}

    def kappas(self) -> Cells:
        """Cells of section 4.2.

        The experts are the two annotators of the round expert who share most items; `one expert`
        is the one who agrees better with the labels, as in the paper.
        """
        raters = ratings(self.of("expert"))
        if len(raters) < 2:
            return {}
        first, second = max(
            combinations(raters, 2), key=lambda pair: (len(_shared(raters, *pair)), pair)
        )
        shared = _shared(raters, first, second)
        cells: Cells = {}

        def compare(row: str, one: Mapping[str, int], two: Mapping[str, int]) -> None:
            items = sorted(one.keys() & two.keys())
            if items:
                found = kappa([one[item] for item in items], [two[item] for item in items])
                if not math.isnan(found.estimate):
                    cells[row, "kappa"] = found

        alike = {i: raters[first][i] for i in shared if raters[first][i] == raters[second][i]}
        compare("two experts", raters[first], raters[second])
        compare("experts where they agree, crowd", alike, self.labels)
        with_labels = []
        for name in (first, second):
            items = sorted(raters[name].keys() & self.labels.keys())
            if items:
                own = kappa([raters[name][i] for i in items], [self.labels[i] for i in items])
                with_labels.append((-1.0 if math.isnan(own.estimate) else own.estimate, name))
        rows = ("one expert, crowd", "other expert, crowd")
        for row, (_, name) in zip(rows, sorted(with_labels, reverse=True), strict=False):
            compare(row, raters[name], self.labels)
        return cells

    def human(self) -> Cells:
        """The human rows of table 5: accuracy of the round human, in three and five classes."""
        found = human_figures(self.of("human"), self.labels)
        cells: Cells = {}
        for condition, row in _HUMAN.items():
            own = found.get(condition, {})
            for classes in (3, 5) if own else ():
                low, high = own[f"interval {classes}"]
                share = own[f"accuracy {classes}"]
                cells[row, f"{classes}-class"] = Interval(share, low, high, own["answers"])
        return cells

    def audit(self) -> pa.Table | None:
        """What is behind the labels impossible and necessarily true (section 4.2): columns label,
        finding, count, share; None without answers of the round audit."""
        found = audit_figures(self.of("audit"))
        rows = [
            {"label": label, "finding": finding, "count": own["count"], "share": own["share"]}
            for label in LABELS
            for finding, own in found.get(label, {}).items()
        ]
        return pa.Table.from_pylist(rows) if rows else None


def _shared(raters: Mapping[str, Mapping[str, int]], first: str, second: str) -> list[str]:
    return sorted(raters[first].keys() & raters[second].keys())
