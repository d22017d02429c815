"""PLANE's results of prompted models: tables 4 and 8, figures 5 to 7."""

import itertools
from collections.abc import Iterator, Mapping
from statistics import fmean

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from adnominal.analysis.editions import Lake
from adnominal.analysis.estimates import STANDARD_DEVIATION, Interval
from adnominal.analysis.papers.exhibits import Chart, Exhibit, Finding, Note, exhibit
from adnominal.analysis.papers.plane import intervals
from adnominal.analysis.papers.plane.sources import CLASS_NAMES, Plane, edition_of
from adnominal.analysis.predictions import groups_of
from adnominal.analysis.report_numbers import Cells, CellValues, Key
from adnominal.analysis.rows import distinct_values, where_equal
from adnominal.analysis.slices import words
from adnominal.etl.lake import arrow
from adnominal.etl.plane import CLASSES
from adnominal.etl.plane.rules import HOLDS
from adnominal.training.asking import scores
from adnominal.training.finished_runs import model_name

# The paper's models by the last part of their hub names.
_PAPERS_MODELS = {
    "bert-base-cased": "BERT-base",
    "bert-large-cased": "BERT-large",
    "distilbert-base-cased": "DistilBERT",
    "distilroberta-base": "DistilRoBERTa",
    "roberta-base": "RoBERTa-base",
    "roberta-large": "RoBERTa-large",
}


def _commands(file: str) -> str:
    """The commands that ask each of the paper's models, as in docs/reproducing.md."""
    prompt = f"python training/prompt.py conf/training/{file}.yaml lake=LAKE"
    return " && ".join(f"{prompt} model={model}" for model in _PAPERS_MODELS)


_TWO_SHOT, _ZERO_SHOT = _commands("plane_prompt"), _commands("plane_zero_shot")
_TABLES = ("predictions", "plane_items")
# The ways to read answers (`training.asking.scores.answers`).
_READ = {
    "first": "by the first predicted token, as in the paper",
    "restricted": "by the more probable of the verbaliser's words",
    "written": "by the answer that is written",
}


def _by_model(data: pa.Table) -> CellValues:
    """`scores.class_table` by class and model, each mean with one standard deviation as bounds."""
    cells: CellValues = {}
    for row in data.to_pylist():
        mean, deviation, number = row["mean"], row["deviation"], row["cells"]
        cells[row["row"], model_name(row["model"])] = _spread(mean, deviation, number)
    return cells


def _spread(mean: float, deviation: float | None, number: int) -> Interval:
    """The mean ± one standard deviation of a number of cells."""
    reach = deviation or 0.0
    return Interval(mean, mean - reach, mean + reach, number, kind=STANDARD_DEVIATION)


def _our_numbers(page: Plane, rows: pa.Table) -> CellValues:
    """Our numbers for the paper's models by (row, column), with intervals by group of items."""
    of_paper = [model_name(name) in _PAPERS_MODELS for name in rows.column("model").to_pylist()]
    rows = rows.filter(pa.array(of_paper))
    groups = groups_of(page.lake.root, rows, "group_id") if rows.num_rows else {}
    of_items = [groups[item] for item in rows.column("item_id").to_pylist()]
    cells = intervals.prompt_interval(rows, of_items, page.lake.seed)
    return {
        (name, _PAPERS_MODELS[model_name(model)]): cell for (name, model), cell in cells.items()
    }


def _prompt_table(number: int, shots: str, kind: str, command: str) -> Exhibit[Plane]:
    """The paper's table of F1 by class and model, then all models with each way to read their
    answers."""
    name = f"table {number}"
    has_examples = shots == "2"
    tables_read = (*_TABLES, "plane_association") if has_examples else _TABLES

    @exhibit(
        name.capitalize(), f"{kind} prompts", fills=command, reads=tables_read, printed=(name,)
    )
    def build(page: Plane) -> Iterator[Finding]:
        """F1 by class of the adjective and model, a mean over prompts and verbalisers; the paper
        reads the first predicted token."""
        rows = page.two_shot if has_examples else page.zero_shot
        edition = edition_of(rows)
        runs = page.prompted_runs(shots)
        choices = scores.choices(rows)
        if scores.FIRST in choices:
            ours = _our_numbers(page, choices[scores.FIRST])
            yield Cells(name, ours, runs=runs, edition=edition)
        tables = {
            f"Ours, {_READ[choice]}": scores.class_table(scores.cells(answers, choice))
            for choice, answers in choices.items()
        }
        tables["Baseline that always answers entailed"] = scores.class_table(
            scores.constant_answers(rows, "entailed")
        )
        for caption, data in tables.items():
            cells = _by_model(data)
            yield Cells(caption, cells, unit="percent", runs=runs, edition=edition)
        if {scores.RESTRICTED, scores.WRITTEN} <= choices.keys():
            both = _both_forms(choices)
            caption = "Ours, both forms of the question side by side"
            yield Cells(caption, both, unit="percent", runs=runs, edition=edition)
        if has_examples:
            yield Note(provenance(page.lake, rows))

    return build


def _both_forms(choices: Mapping[str, pa.Table]) -> CellValues:
    """F1 by class, and the share of written answers that could be parsed, by model and form."""
    forms = {"likelihood": scores.RESTRICTED, "generation": scores.WRITTEN}
    cells: CellValues = {}
    for form, choice in forms.items():
        table = scores.class_table(scores.cells(choices[choice], choice))
        for (row, model), value in _by_model(table).items():
            cells[row, f"{model}, {form}"] = value
    written = choices[scores.WRITTEN]
    for model in distinct_values(written, "model"):
        states = where_equal(written, "model", model).column("state")
        cells["parsed", f"{model_name(model)}, generation"] = pc.mean(
            pc.equal(states, "parsed")
        ).as_py()
    return cells


def provenance(lake: Lake, rows: pa.Table) -> str:
    """Where the items of answers with two examples come from: the release has none."""
    edition = edition_of(rows)
    folds = distinct_values(rows, "fold")
    items = pc.unique(rows.column("item_id")).to_pylist()
    nouns = pc.count_distinct(words(lake.root, "plane_items", edition, items)["noun"]).as_py()
    counts = f"{len(items)} items with {nouns} nouns of edition {edition}"
    if any("/" in fold for fold in folds):
        source = f"of the splits {', '.join(folds)}, from groups with all three inference types"
    else:
        source = "of its scheme two_shot, drawn by etl/build_plane.py"
        if corpora := _corpora(lake, edition):
            source += f" from the pairs of {', '.join(corpora)}"
    return (
        "The release has no items of this experiment, so the 500 nouns of the paper are not known. "
        f"The answers are to {counts}, {source}."
    )


def _corpora(lake: Lake, edition: str) -> list[str]:
    """The corpora whose pairs an edition was built from, as far as the table of PMI has them."""
    if edition not in lake.editions.get("plane_association", ()):
        return []
    where = [("edition", "=", edition)]
    rows = arrow.read(lake.root, "plane_association", where=where, columns=["corpus"])
    return distinct_values(rows, "corpus")


two_shot = _prompt_table(4, "2", "two-shot", _TWO_SHOT)
zero_shot = _prompt_table(8, "0", "zero-shot", _ZERO_SHOT)


def _templates(prompts: "pd.Series[str]") -> "pd.Series[str]":
    """The names of prompts, reduced to the template (``plane/internal@1``) if that is unique."""
    short = prompts.str.rsplit("/", n=1).str[-1].str.split("@").str[0]
    return short if short.nunique() == prompts.nunique() else prompts


def mean_f1(points: pd.DataFrame) -> dict[str, CellValues]:
    """The mean F1 of the cells with the same place and series, by their panel."""
    means: dict[tuple[str, str, str], Interval] = {}
    for (panel, place, series), cells in points.groupby(["panel", "place", "series"], sort=False):
        values = cells["f1"].to_list()
        mean = _spread(fmean(values), scores.deviation(values), len(values))
        means[str(panel), str(place), str(series)] = mean
    panels: dict[str, CellValues] = {}
    for point in sorted(means, key=lambda point: point[:2]):
        panel, place, series = point
        panels.setdefault(panel, {})[place, series] = means[point]
    return panels


def _figure(points: pd.DataFrame, caption: str, choice: str, x: str) -> Iterator[Finding]:
    """The numbers of `mean_f1`, a table for each panel, and the chart of them."""
    panels = mean_f1(points)
    names = {f"{panel}, {_READ[choice]}": panel for panel in panels}
    for name, panel in names.items():
        yield Cells(name, panels[panel], unit="share")
    options = {"panels": names}
    yield Chart("intervals", caption, list(names), x, "mean F1", only_drawn=True, options=options)


def by_template(cells: pa.Table) -> pd.DataFrame:
    """The cells of `scores.cells` with their panel, place and series in figures 5 and 6.

    Prompts with several verbalisers have a panel for each class and template (figure 6), others one
    for each template (figure 5).
    """
    points: pd.DataFrame = cells.to_pandas()
    templates = _templates(points["prompt"])
    kinds = points["class"].map(CLASS_NAMES)
    inference_types = points["inference_type"].astype(str)
    if points["verbaliser"].nunique() < 2:
        return points.assign(panel=templates, place=inference_types, series=kinds)
    panels = templates + ", " + kinds
    return points.assign(panel=panels, place=inference_types, series=points["verbaliser"])


def by_order(cells: pa.Table) -> pd.DataFrame:
    """The cells of `scores.cells` with their panel, place and series in figure 7, and whether the
    last example has the gold label of the item, so that a recency effect would help (`agrees`).

    A place has the inference types of both examples and of the item, ``1,2,3``.
    """
    points: pd.DataFrame = cells.to_pandas().dropna(subset="premise_order")
    inference_types = points["inference_type"].astype(str)
    last_examples = points["premise_order"].str.rsplit(",", n=1).str[-1].astype(int)
    triples = zip(points["class"], last_examples, points["inference_type"], strict=True)
    return points.assign(
        panel=_templates(points["prompt"]) + ", " + points["class"].map(CLASS_NAMES),
        place=points["premise_order"] + "," + inference_types,
        series=points["verbaliser"],
        agrees=[HOLDS[kind][last - 1] == HOLDS[kind][item - 1] for kind, last, item in triples],
    )


def _variance(rows: pa.Table) -> Iterator[Finding]:
    """F1 by template and inference type, over models and orders of the examples."""
    for choice, answers in scores.choices(rows).items():
        caption = (
            f"F1 by inference type, {_READ[choice]}; whiskers are one standard deviation over "
            f"models and orders ({_models(answers)})"
        )
        points = by_template(scores.cells(answers, choice))
        yield from _figure(points, caption, choice, "inference type of the test item")


def _models(rows: pa.Table) -> str:
    models = sorted({model_name(name) for name in rows.column("model").to_pylist()})
    return f"{', '.join(models)}; edition {edition_of(rows)}"


@exhibit("Figure 5", "zero-shot prompts, by template", fills=_ZERO_SHOT, reads=_TABLES)
def templates(page: Plane) -> Iterator[Finding]:
    """How F1 without examples varies with the template."""
    yield from _variance(page.zero_shot)


@exhibit("Figure 6", "two-shot prompts, by template and verbaliser", fills=_TWO_SHOT, reads=_TABLES)
def verbalisers(page: Plane) -> Iterator[Finding]:
    """How F1 with two examples varies with template and verbaliser."""
    yield from _variance(page.two_shot)


@exhibit("Figure 7", "two-shot prompts, by order of the examples", fills=_TWO_SHOT, reads=_TABLES)
def order_of_examples(page: Plane) -> Iterator[Finding]:
    """Whether models repeat the label of the last example: F1 by the inference types of the two
    examples and of the test item."""
    for choice, answers in scores.choices(page.two_shot).items():
        points = by_order(scores.cells(answers, choice))
        caption = (
            f"F1 by order of the examples, {_READ[choice]}; whiskers are one standard deviation "
            f"over models ({_models(answers)})"
        )
        x = "inference types of the two examples and of the test item"
        yield from _figure(points, caption, choice, x)
        yield Cells(
            f"Mean F1 by whether the last example has the item's label, {_READ[choice]}",
            _by_agreement(points),
            unit="percent",
            edition=edition_of(answers),
        )


def _by_agreement(points: pd.DataFrame) -> CellValues:
    """Mean F1 by class and by whether the last example has the label of the item, over the means of
    the figure's points."""
    keys = ["class", "panel", "place", "series", "agrees"]
    means: dict[Key, list[float]] = {}
    for (kind, *_, agrees), cells in points.groupby(keys):
        name = "agrees" if agrees else "differs"
        means.setdefault((str(kind), name), []).append(fmean(cells["f1"]))
    in_order = itertools.product(CLASSES, ("agrees", "differs"))
    return {cell: fmean(means[cell]) for cell in in_order if cell in means}
