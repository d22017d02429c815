"""The verbs of ``etl/annotate_asp.py``: people's judgements of ASP's degrees (paper, appendix B).

A question shows a premise with two numbers and a hypothesis with a third one: would you say so?
Batches, pages, platforms, checks and agreement are those of every annotated dataset. `finish` pools
the answers that count by test, polarity and number, and fits the curves (`etl.asp.gold`).
"""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from adnominal.conf import UserError, setting
from adnominal.etl.annotation.batches import Question, ShownItem
from adnominal.etl.annotation.finishing import apply_rules, lost_text, store_results
from adnominal.etl.annotation.job import Verbs, export_batch, import_answers, run_verb
from adnominal.etl.annotation.quality import LABELLING, Answer
from adnominal.etl.annotation.selection import edition_rows, unasked_rows
from adnominal.etl.annotation.settings import ExportSettings, FinishSettings, ImportSettings
from adnominal.etl.asp.annotation_task import DEGREES
from adnominal.etl.asp.gold import HUMAN
from adnominal.etl.asp.judgements import Panel, human_rows

_COLUMNS = ["item_id", "test", "variant", "group", "polarity", "z", "premise", "hypothesis"]
log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class DegreeExportSettings(ExportSettings):
    round: str = setting("main", help="main, or a pilot for gold items", choices=LABELLING)
    edition: str = setting("clean", help="edition of asp_degree to take questions from")
    groups: int = setting(
        2, help="premises of each test, with all their numbers; an even number, for both polarities"
    )
    gold: float | None = setting(
        0.0, help="share of pages with a gold item, on which a pilot agreed", example="gold=0.2"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.groups < 1 or self.groups % 2:
            raise UserError(f"groups={self.groups}: expected an even number, for both polarities")


@dataclass(frozen=True)
class DegreeFinishSettings(FinishSettings):
    source: str = setting("", help="name of the judgements in asp_human", example="source=mine")
    edition: str = setting("clean", help="edition of asp_degree that was judged")
    gold_degrees: int = setting(1, help="distance from a gold label that counts as a miss")
    per_person: int = setting(1000, help="maximum number of items per annotator")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.source:
            raise UserError("source=: expected source=NAME, for the judgements in asp_human")
        if self.source == "published":
            raise UserError(
                "source=published: expected another name; those judgements are the release's, "
                "which etl/import_published.py imports"
            )


def export_degrees(settings: DegreeExportSettings) -> None:
    """Export a batch for people: questions of degree, with checks among them.

    Writes batch=FILE with its companion files, and records the questions in asp_batches. The
    questions are the rows of groups=N premises of each of the six tests with human gold.
    """
    export_batch(settings, DEGREES, partial(select_degrees, groups=settings.groups))


def import_degrees(settings: ImportSettings) -> None:
    """Import answers: check them, hash their annotators and add them to asp_annotations.

    A file with any fault is refused as a whole. Answers that are already stored are not added
    again, so a growing file of results may be imported repeatedly.
    """
    import_answers(settings, DEGREES)


def finish_degrees(settings: DegreeFinishSettings) -> None:
    """Fit the judgements: apply the quality rules, measure agreement, fit a curve for each test.

    Replaces source=NAME of the table asp_human, which build_asp.py human=NAME reads.
    """
    items = {row["item_id"]: row for row in _judged_rows(settings.lake, settings.edition)}
    result = apply_rules(settings, DEGREES, items)
    if not result.items:
        raise UserError(
            f"source={settings.source}: the rules leave no question ({lost_text(result)}); "
            f"expected {settings.answers} answers to each, or answers= with fewer"
        )
    curves, counts = shares_of_yes(result.counting, items)
    judgements = human_rows(curves, counts, settings.source)
    source = {"source": settings.source}
    store_results(settings, DEGREES, result, "asp_human", source, judgements)
    curves_fitted = set()
    for row in judgements:
        curves_fitted.add((row["test"], row["polarity"], row["threshold"]))
    for curve in sorted(curves_fitted):
        log.info("%s, %s: threshold %.1f", *curve)


def select_degrees(
    settings: ExportSettings, questions: Sequence[Question], groups: int
) -> list[ShownItem]:
    """The rows to ask about: all numbers of the first premises of each judged test.

    Raises:
        UserError: too few are left.
    """
    judged = _judged_rows(settings.lake, settings.edition)
    base = [row for row in judged if row["variant"] == "base"]
    rows = [row for row in base if row["group"] < groups]
    left = unasked_rows(rows, settings, questions)
    size = settings.items or len(left)
    return [ShownItem(row["item_id"], row["premise"], row["hypothesis"]) for row in left[:size]]


def _judged_rows(lake: str, edition: str) -> list[dict[str, Any]]:
    """The rows of an edition in the tests whose labels come from people."""
    rows = edition_rows(lake, "asp_degree", edition, _COLUMNS)
    return [row for row in rows if row["test"] in HUMAN]


def shares_of_yes(
    answers: Iterable[Answer], items: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[Panel, dict[float, float]], dict[tuple[str, str, float], int]]:
    """The share of yes by (test, polarity) and z, and the number of answers behind each."""
    totals: Counter[tuple[str, str, float]] = Counter()
    yes: Counter[tuple[str, str, float]] = Counter()
    for answer in answers:
        item = items[answer.item_id]
        key = item["test"], item["polarity"], item["z"]
        totals[key] += 1
        yes[key] += answer.label
    shares: dict[Panel, dict[float, float]] = {}
    for (test, polarity, z), total in totals.items():
        shares.setdefault((test, polarity), {})[z] = yes[test, polarity, z] / total
    return shares, dict(totals)


VERBS: Verbs = {
    "export": (DegreeExportSettings, export_degrees),
    "import": (ImportSettings, import_degrees),
    "finish": (DegreeFinishSettings, finish_degrees),
}

main = partial(run_verb, VERBS, "annotate_asp.py")
