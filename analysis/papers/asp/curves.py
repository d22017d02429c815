"""ASP's psychometric curves and thresholds, of people and models: figures 2 to 4."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from adnominal.analysis.papers.asp.sources import (
    ANSWER_TABLES,
    IMPORT,
    PROMPT,
    SCORE,
    TRAIN,
    Answered,
    Asp,
)
from adnominal.analysis.papers.page import Exhibit, exhibit, runs_text
from adnominal.analysis.rendering import figures
from adnominal.analysis.rendering.blocks import Block, FigureBlock, NotRun, Table, Text
from adnominal.analysis.rendering.figures import Channels, Plot
from adnominal.analysis.rows import lists, places, schema, where_equal
from adnominal.conf import UserError
from adnominal.etl.asp import ENTAILMENT
from adnominal.etl.asp.gold import HUMAN, JUDGED, POLARITIES, Fit, extremes, fit
from adnominal.etl.lake import arrow

# The tests that each figure of the paper shows.
FIGURES = {2: ("ordering", "comparative", "superlative"), 3: ("booster", "diminisher", "negation")}
# The number of models whose curves are drawn; all others appear only in the tables.
_DRAWN_MODELS = 4
_PANELS = tuple((test, polarity) for test in HUMAN for polarity in POLARITIES)
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
    rows = []
    for panel in (panel for panel in _PANELS if panel in panels):
        judged = [row for row in panels[panel] if JUDGED[0] <= row["z"] <= JUDGED[1]]
        low, high = extremes({row["z"]: row["share"] for row in judged})
        for row in judged:
            same = {"test": panel[0], "polarity": panel[1], "z": row["z"], "n": row["n"]}
            scaled = low + (high - low) * row["fit"]
            rows.append({**same, "answer": "people", "share": row["share"]})
            rows.append({**same, "answer": "people, fitted", "share": scaled})
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
            "etl/import_published.py asp=… or etl/judge_asp.py makes them"
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
    to every number, or its answers fall where they should rise.
    """
    rows = []
    curves = answers.curves()
    for test, polarity in _PANELS:
        curve = curves.get((test, polarity), {})
        same = {"test": test, "polarity": polarity}
        judged = {z: point for z, point in curve.items() if JUDGED[0] <= z <= JUDGED[1]}
        rows += [
            {**same, "answer": answers.model, "z": z, "share": share, "n": n}
            for z, (share, n) in judged.items()
        ]
        sigmoid = _fit(test, polarity, curve)
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


def curves_figure(data: pa.Table, number: int = 2) -> Plot:
    """Plot shares over z, with a panel for each test and polarity (figures 2, 3 and 4).

    Raises:
        ValueError: `data` has none of the figure's tests, or `FIGURES` does not have the figure.
    """
    if number not in FIGURES:
        raise ValueError(f"figure {number}; expected one of {', '.join(map(str, FIGURES))}")
    panels = [(test, polarity) for polarity in POLARITIES for test in FIGURES[number]]
    rows = [
        {**row, "panel": ", ".join(panel)}
        for panel in panels
        for row in data.to_pylist()
        if (row["test"], row["polarity"]) == panel
    ]
    xlabel = "number, scaled so that the premises' numbers are 120 and 80"
    channels = Channels("z", "share", xlabel, "share of entailment", "answer", "panel")
    fits = [name for name in {row["answer"] for row in rows} if name.endswith(", fitted")]
    plotted = pa.Table.from_pylist(rows, _CURVE.append(pa.field("panel", pa.string())))
    return figures.curves(plotted, channels, smooth=fits)


def _answers(models: Sequence[Answered]) -> list[tuple[Answered, Answers]]:
    """The models that answered tests with human gold, with these answers."""
    answers = []
    for model in models:
        rows = model.rows.filter((pc.field("kind") == "degree") & pc.field("test").isin(HUMAN))
        if rows.num_rows:
            columns = lists(rows, "test", "polarity", "z", "predicted")
            answers.append((model, Answers(model.model, *columns)))
    return answers


def _model_curves(
    people: pa.Table, number: int, models: Sequence[Answered], command: str
) -> list[Block]:
    answers = _answers(models)
    if not answers:
        return [NotRun(f"Curves of models: {', '.join(FIGURES[number])}", command)]
    blocks: list[Block] = []
    fitted = where_equal(people, "answer", "people, fitted")
    for _, numbers in answers[:_DRAWN_MODELS]:
        plot = curves_figure(pa.concat_tables([fitted, model_curves(numbers)]), number)
        text = "its answers, the psychometric curve where one fits, and people's"
        blocks.append(FigureBlock(f"{numbers.model}: {text}", *plot))
    if len(answers) > _DRAWN_MODELS:
        undrawn = len(answers) - _DRAWN_MODELS
        blocks.append(Text(f"{undrawn} more models are only in the tables."))
    return [*blocks, *runs_text(run for model, _ in answers for run in model.runs)]


def _of_untrained(number: int) -> Exhibit[Asp]:
    """Curves of people, and of models that were not trained on ASP."""
    first, second, third = FIGURES[number]
    title = f"{first}, {second} and {third}: people and models"

    @exhibit(f"Figure {number}", title, command=SCORE, tables=_TABLES)
    def build(page: Asp) -> list[Block]:
        if not page.lake.has("asp_human"):
            return [NotRun("Answers of people", IMPORT)]
        source = page.sources()[0]
        people = human_curves(page.lake.root, source)
        caption = f"Answers of people (source {source}) and the curve fitted to them"
        return [
            FigureBlock(caption, *curves_figure(people, number)),
            *_model_curves(people, number, page.untrained_runs, f"{SCORE} && {PROMPT}"),
        ]

    return build


figure_2, figure_3 = map(_of_untrained, (2, 3))


@exhibit("Figure 4", "people and trained models", command=TRAIN, tables=_TRAINED)
def figure_4(page: Asp) -> list[Block]:
    """Curves of trained models; the paper draws only booster, diminisher and negation."""
    if not page.lake.has("asp_human"):
        return [NotRun("Answers of people", IMPORT)]
    people = human_curves(page.lake.root, page.sources()[0])
    return [
        block
        for number in (3, 2)
        for block in _model_curves(people, number, page.trained_runs, TRAIN)
    ]


@exhibit("", "thresholds of people and models", command=IMPORT, tables=_TRAINED)
def thresholds(page: Asp) -> list[Block]:
    """The thresholds of people's and models' answers."""
    tables = [human_thresholds(page.lake.root, source) for source in page.sources()[:1]]
    answers = _answers(page.models)
    tables += [model_thresholds(numbers) for _, numbers in answers]
    cells: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for row in pa.concat_tables(tables).to_pylist():
        threshold, error = row["threshold"], row["standard_error"]
        if threshold is None:
            text = "no curve fits"
        elif error < JUDGED[1] - JUDGED[0]:
            text = f"{threshold:.1f} ± {error:.1f}"
        else:  # any value between two numbers fits equally well
            text = f"{threshold:.1f}, a step"
        cells[row["test"], row["polarity"]].setdefault(row["answer"], text)
    names = list(dict.fromkeys(name for texts in cells.values() for name in texts))
    rows = [
        {"test": test, "polarity": polarity, **{name: texts.get(name, "–") for name in names}}
        for (test, polarity), texts in cells.items()
    ]
    text = (
        "The number at which half of the answers are yes, with the standard error of the fit; the "
        "premises' numbers are 120 and 80. Shares are scaled by their minimum and maximum, so the "
        "threshold depends only on the curve's shape (the paper's appendix B). A step has no "
        "error, because every value between two tested numbers fits equally well."
    )
    blocks: list[Block] = [Table("Thresholds", pa.Table.from_pylist(rows)), Text(text)]
    return blocks if answers else [*blocks, NotRun("Thresholds of models", f"{SCORE} && {TRAIN}")]
