"""ASP's psychometric curves and thresholds, of people and models: figures 2 to 4, and those of the
two tests that people did not judge."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from adnominal.analysis.estimates import Interval
from adnominal.analysis.papers.asp.sources import (
    ANSWER_TABLES,
    IMPORT,
    PROMPT,
    SCORE,
    TRAIN,
    Answered,
    Asp,
)
from adnominal.analysis.papers.exhibits import Chart, Exhibit, Finding, Missing, Note, exhibit
from adnominal.analysis.report_numbers import Cells, CellValues
from adnominal.analysis.rows import lists, places, schema
from adnominal.conf import UserError
from adnominal.etl.asp import ENTAILMENT
from adnominal.etl.asp.gold import HUMAN, JUDGED, POLARITIES, Fit, extremes, fit
from adnominal.etl.lake import arrow

# The tests that each figure of the paper shows.
FIGURES = {
    "Figure 2": ("ordering", "comparative", "superlative"),
    "Figure 3": ("booster", "diminisher", "negation"),
}
# The tests whose rows are never entailed, which people did not judge; only in the appendix.
UNJUDGED = ("dimension", "argument")
# The number of models whose curves are drawn; all others appear only in the tables.
_DRAWN_MODELS = 4
_PANELS = tuple((test, polarity) for test in HUMAN for polarity in POLARITIES)
_UNJUDGED_PANELS = tuple((test, polarity) for test in UNJUDGED for polarity in POLARITIES)
_THRESHOLD = schema("test polarity answer threshold:float standard_error:float")
_CURVE = schema("test polarity answer z:float share:float n:int")
_TABLES = (*ANSWER_TABLES, "asp_human")
_TRAINED = (*_TABLES, "asp_splits")


def human_curves(lake: str, source: str) -> pa.Table:
    """People's answers and the fitted curve: columns test, polarity, answer, z, share, n.

    `answer` is ``people`` or ``people, fitted``. The rows are limited to the judged numbers, 60 to
    138: beyond them the shares are not monotone and the fit is meaningless. The fitted curve runs
    from the lowest to the highest share, because shares were scaled for the fit (appendix B).

    Raises:
        UserError: no judgements from the source, or too few to fit.
    """
    panels = _panels(lake, source)
    least_z, greatest_z = JUDGED
    rows = []
    for panel in _PANELS:
        if panel not in panels:
            continue
        judged = [row for row in panels[panel] if least_z <= row["z"] <= greatest_z]
        shares = {row["z"]: row["share"] for row in judged}
        low, high = extremes(shares)
        for row in judged:
            point = {name: row[name] for name in ("test", "polarity", "z", "n")}
            fitted_share = low + (high - low) * row["fit"]
            rows.append({**point, "answer": "people", "share": row["share"]})
            rows.append({**point, "answer": "people, fitted", "share": fitted_share})
    return pa.Table.from_pylist(rows, _CURVE)


def human_thresholds(lake: str, source: str) -> pa.Table:
    """Thresholds of people: columns test, polarity, answer, threshold, standard_error.

    Raises:
        UserError: no judgements from the source.
    """
    panels = _panels(lake, source)
    rows = [{**panels[panel][-1], "answer": "people"} for panel in _PANELS if panel in panels]
    return pa.Table.from_pylist(rows, _THRESHOLD)


def _panels(lake: str, source: str) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """The judgements of a source by test and polarity, by ascending z."""
    rows = arrow.read(lake, "asp_human", where=[("source", "=", source)])
    if not rows.num_rows:
        raise UserError(
            f"source={source}: no judgements in the table asp_human of {lake}; "
            "etl/import_published.py asp=… or etl/annotate_asp.py makes them"
        )
    rows = rows.sort_by("z")
    members = places(rows, "test", "polarity")
    return {panel: rows.take(numbers).to_pylist() for panel, numbers in members.items()}


@dataclass(frozen=True)
class Answers:
    """A model's answers: parallel sequences, one value for each item of table ``asp_degree``."""

    model: str
    tests: Sequence[str]
    polarities: Sequence[str]
    z: Sequence[float]
    predicted: Sequence[str]

    def curves(self) -> dict[tuple[str, str], dict[float, tuple[float, int]]]:
        """Share of entailment and number of answers by test, polarity and z.

        Numbers are pooled at the nearest even z, the grid used for people.
        """
        answers: dict[tuple[str, str], dict[float, list[bool]]] = {}
        columns = (self.tests, self.polarities, self.z, self.predicted)
        for test, polarity, z, guess in zip(*columns, strict=True):
            at_z = answers.setdefault((test, polarity), {})
            at_z.setdefault(2.0 * round(z / 2), []).append(guess == ENTAILMENT)
        return {
            panel: {z: (sum(yes) / len(yes), len(yes)) for z, yes in sorted(at_z.items())}
            for panel, at_z in answers.items()
        }


def _fit(test: str, polarity: str, curve: Mapping[float, tuple[float, int]]) -> Fit | None:
    """The sigmoid fitted to a curve; None if answers are all equal or fall where people's rise."""
    try:
        return fit(test, polarity, {z: share for z, (share, _) in curve.items()})
    except UserError:
        return None


def model_curves(answers: Answers) -> pa.Table:
    """A model's answers and the psychometric curve fitted to them: rows as in `human_curves`.

    The fit is the same as for people's judgements. It is missing if the model gives the same answer
    to every number, or its answers fall where they should rise; and for the tests without people's
    judgements, whose rows are never entailed.
    """
    rows = []
    curves = answers.curves()
    for test, polarity in (*_PANELS, *_UNJUDGED_PANELS):
        curve = curves.get((test, polarity), {})
        same = {"test": test, "polarity": polarity}
        judged = {z: point for z, point in curve.items() if JUDGED[0] <= z <= JUDGED[1]}
        rows += [
            {**same, "answer": answers.model, "z": z, "share": share, "n": n}
            for z, (share, n) in judged.items()
        ]
        sigmoid = None if test in UNJUDGED else _fit(test, polarity, curve)
        if sigmoid is None:
            continue
        low, high = extremes({z: share for z, (share, _) in judged.items()})
        name = f"{answers.model}, fitted"
        rows += [
            {**same, "answer": name, "z": z, "share": low + (high - low) * sigmoid.share(z), "n": n}
            for z, (_, n) in judged.items()
        ]
    return pa.Table.from_pylist(rows, _CURVE)


def model_thresholds(answers: Answers) -> pa.Table:
    """Thresholds of a model: rows as in `human_thresholds`, null where no curve fits."""
    curves = answers.curves()
    rows = []
    for test, polarity in _PANELS:
        if (test, polarity) in curves:
            sigmoid = _fit(test, polarity, curves[test, polarity])
            row: dict[str, Any] = {"test": test, "polarity": polarity, "answer": answers.model}
            rows.append(row | (asdict(sigmoid) if sigmoid else {}))
    return pa.Table.from_pylist(rows, _THRESHOLD)


def _answers(models: Sequence[Answered]) -> list[tuple[Answered, Answers]]:
    """The models that answered rows of degree estimation, with these answers."""
    answers = []
    for model in models:
        rows = model.rows.filter(pc.field("kind") == "degree")
        if rows.num_rows:
            columns = lists(rows, "test", "polarity", "z", "predicted")
            answers.append((model, Answers(model.model, *columns)))
    return answers


def _panel_names(tests: Sequence[str]) -> dict[tuple[str, str], str]:
    """The panels of a figure: a table of shares for each test and polarity."""
    return {(test, polarity): f"{test}, {polarity}" for polarity in POLARITIES for test in tests}


def _curve_cells(curves: pa.Table, tests: Sequence[str]) -> Iterator[Cells]:
    """The shares over z of `human_curves` or `model_curves`, a table for each panel."""
    panels = _panel_names(tests)
    cells: dict[str, CellValues] = {}
    for row in curves.to_pylist():
        panel = panels.get((row["test"], row["polarity"]))
        if panel is not None:
            cells.setdefault(panel, {})[f"{row['z']:g}", row["answer"]] = row["share"]
    for panel in panels.values():
        if panel in cells:
            yield Cells(panel, cells[panel], unit="share", decimals=3)


def _chart(tests: Sequence[str], caption: str, series: Sequence[str]) -> Chart:
    """The curves of these answers."""
    return Chart(
        "curves",
        caption,
        list(_panel_names(tests).values()),
        "number, scaled so that the premises' numbers are 120 and 80",
        "share of entailment",
        only_drawn=True,
        options={"series": series, "smooth": [f for f in series if f.endswith(", fitted")]},
    )


def _model_findings(
    tests: Sequence[str], models: Sequence[Answered], command: str
) -> Iterator[Finding]:
    answers = _answers(models)
    if not answers:
        yield Missing(f"Curves of models: {', '.join(tests)}", command)
    for model, numbers in answers[:_DRAWN_MODELS]:
        for cells in _curve_cells(model_curves(numbers), tests):
            yield replace(cells, model=model.model, runs=model.runs)
        text = "its answers, the psychometric curve where one fits, and people's"
        if set(tests) <= set(UNJUDGED):
            text = "its answers; no number is enough by the rule"
        series = ("people, fitted", numbers.model, f"{numbers.model}, fitted")
        yield _chart(tests, f"{numbers.model}: {text}", series)
    if len(answers) > _DRAWN_MODELS:
        yield Note(f"{len(answers) - _DRAWN_MODELS} more models are only in the tables.")


def _of_untrained(number: str) -> Exhibit[Asp]:
    """Curves of people, and of models that were not trained on ASP."""
    tests = FIGURES[number]
    first, second, third = tests
    title = f"{first}, {second} and {third}: people and models"

    @exhibit(number, title, fills=f"{IMPORT} && {SCORE} && {PROMPT}", reads=_TABLES)
    def build(page: Asp) -> Iterator[Finding]:
        """The share of answers that the number is enough, over the number, of people and of models
        without training on ASP."""
        source = page.sources()[0]
        people = human_curves(page.lake.root, source)
        yield from _curve_cells(people, tests)
        caption = f"Answers of people (source {source}) and the curve fitted to them"
        yield _chart(tests, caption, ("people", "people, fitted"))
        yield from _model_findings(tests, page.untrained_runs, f"{SCORE} && {PROMPT}")

    return build


figure_2, figure_3 = map(_of_untrained, FIGURES)


@exhibit(
    "",
    "curves of the tests without judgements",
    fills=f"{SCORE} && {TRAIN}",
    reads=(*ANSWER_TABLES, "asp_splits"),
)
def curves_without_judgements(page: Asp) -> Iterator[Finding]:
    """The share of answers that the number is enough in dimension and argument, where it never is
    (appendix, figures 2 to 4 and 6 to 7); together with the figures above, all eight tests."""
    yield from _model_findings(UNJUDGED, page.models, f"{SCORE} && {TRAIN}")


@exhibit("Figure 4", "people and trained models", fills=f"{IMPORT} && {TRAIN}", reads=_TRAINED)
def figure_4(page: Asp) -> Iterator[Finding]:
    """Curves of trained models beside people's; the paper draws only booster, diminisher and
    negation."""
    people = human_curves(page.lake.root, page.sources()[0])
    models = page.trained_runs
    has_answers = bool(_answers(models))
    for tests in reversed(FIGURES.values()):
        # Without a model there is no chart, and people's curves are those of figures 2 and 3.
        if has_answers:
            yield from _curve_cells(people, tests)
        yield from _model_findings(tests, models, TRAIN)


@exhibit("", "thresholds of people and models", fills=IMPORT, reads=_TRAINED)
def thresholds(page: Asp) -> Iterator[Finding]:
    """The number at which half of the answers are yes, with the standard error of the fit; the
    premises' numbers are 120 and 80."""
    yield Note(
        "Shares are scaled by their minimum and maximum, so the threshold depends only on the "
        "curve's shape (the paper's appendix B). A step has no error, because every value between "
        "two tested numbers fits equally well; where no curve fits there is no threshold."
    )
    answers = _answers(page.models)
    tables = [human_thresholds(page.lake.root, page.sources()[0])]
    tables += [model_thresholds(numbers) for _, numbers in answers]
    cells: CellValues = {}
    for row in pa.concat_tables(tables).to_pylist():
        threshold, error = row["threshold"], row["standard_error"]
        cell = f"{row['test']}, {row['polarity']}", row["answer"]
        if threshold is None or cell in cells:
            continue
        is_step = error >= JUDGED[1] - JUDGED[0]
        bounds = (threshold - error, threshold + error)
        cells[cell] = (
            threshold if is_step else Interval(threshold, *bounds, 0, kind="± one standard error")
        )
    yield Cells("Thresholds", cells, decimals=1)
    if not answers:
        yield Missing("Thresholds of models", f"{SCORE} && {TRAIN}")
