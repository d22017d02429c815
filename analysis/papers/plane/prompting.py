"""PLANE's results of prompted models: tables 4 and 8, figures 5 to 7."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from adnominal.analysis.papers.comparison import Missing, comparison
from adnominal.analysis.papers.page import Exhibit, exhibit, runs_text
from adnominal.analysis.papers.plane import intervals
from adnominal.analysis.papers.plane.sources import CLASS_NAMES, Plane, edition_of
from adnominal.analysis.predictions import groups_of
from adnominal.analysis.rendering import figures
from adnominal.analysis.rendering.blocks import Block, FigureBlock, Table
from adnominal.analysis.rendering.figures import Channels, Plot
from adnominal.analysis.rows import places, schema, where_equal
from adnominal.analysis.statistics import Interval
from adnominal.conf.numbers import percent_with_deviation
from adnominal.etl.plane import CLASSES
from adnominal.etl.plane.rules import HOLDS
from adnominal.training.finished_runs import model_name
from adnominal.training.prompting import scores

# The paper's models by the last part of their hub names.
_PAPERS_MODELS = {
    "bert-base-cased": "BERT-base",
    "bert-large-cased": "BERT-large",
    "distilbert-base-cased": "DistilBERT",
    "distilroberta-base": "DistilRoBERTa",
    "roberta-base": "RoBERTa-base",
    "roberta-large": "RoBERTa-large",
}
_PROMPT = "python training/prompt.py conf/training/{}.yaml model=bert-base-cased lake=LAKE"
_TWO_SHOT, _ZERO_SHOT = _PROMPT.format("plane_prompt"), _PROMPT.format("plane_zero_shot")
_SPREAD = schema("mean:float deviation:float cells:int")
_TABLES = ("predictions", "plane_items")
# The ways to read answers (`training.prompting.scores.answers`).
_READ = {
    "first": "by the first predicted token, as in the paper",
    "restricted": "by the more probable of the verbaliser's words",
}


def _choices(rows: pa.Table) -> list[tuple[str, pa.Table]]:
    """The ways to read answers that apply to some rows, with these rows."""
    choices = [("restricted", rows)]
    firsts = _with_first_tokens(rows)
    if firsts.num_rows:
        choices.insert(0, ("first", firsts))
    return choices


def _with_first_tokens(rows: pa.Table) -> pa.Table:
    """The answers whose first predicted token is known."""
    return rows.filter(pc.is_valid(rows.column("text")))


def _layout(data: pa.Table) -> pa.Table:
    """`scores.class_table` with one row per class and one column per model: 69.9 ± 38.0."""
    rows: dict[str, dict[str, str]] = {}
    for cell in data.to_pylist():
        text = percent_with_deviation(cell["mean"], cell["deviation"])
        rows.setdefault(cell["row"], {"class": cell["row"]})[model_name(cell["model"])] = text
    return pa.Table.from_pylist(list(rows.values()))


def _ours(page: Plane, rows: pa.Table) -> dict[tuple[str, str], float | Interval]:
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
    """The exhibit of a table of F1 by class and model: the paper's models, all models, the runs."""
    name = f"table {number}"

    @exhibit(name.capitalize(), f"{kind} prompts", command=command, tables=_TABLES, beside=(name,))
    def build(page: Plane) -> list[Block]:
        rows = page.two_shot if shots == "2" else page.zero_shot
        # The paper reads a model's answer from its first predicted token.
        firsts = _with_first_tokens(rows)
        ours = _ours(page, firsts) if firsts.num_rows else {}
        edition = edition_of(rows)
        caption = f"F1 of {kind} prompts"
        blocks = comparison("plane", name, ours, caption, edition, Missing(command))
        blocks += _all_models(rows, edition)
        blocks += runs_text(page.prompted_runs(shots))
        return blocks

    return build


def _all_models(rows: pa.Table, edition: str) -> list[Block]:
    """F1 of all models for each way to read their answers, then that of the baseline."""
    blocks: list[Block] = []
    for choice, answers in _choices(rows):
        cells = scores.cells(answers, choice)
        by_class = scores.class_table(cells)
        title = f"Ours, F1 in percent, edition {edition}, {_READ[choice]}"
        blocks.append(Table(title, _layout(by_class)))
    baseline_cells = scores.always(rows, "entailed")
    baseline = scores.class_table(baseline_cells)
    title = f"Baseline that always answers entailed, edition {edition}"
    blocks.append(Table(title, _layout(baseline)))
    return blocks


two_shot = _prompt_table(4, "2", "two-shot", _TWO_SHOT)
zero_shot = _prompt_table(8, "0", "zero-shot", _ZERO_SHOT)


def _spread(row: Mapping[str, Any]) -> dict[str, float]:
    """Bounds of a whisker: the mean ± one standard deviation, clipped to 0 and 1."""
    reach = row["deviation"] or 0.0
    return {"low": max(0.0, row["mean"] - reach), "high": min(1.0, row["mean"] + reach)}


def _template_names(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Names of prompts, reduced to the template (``plane/internal@1``) if that is unique."""
    names = sorted({row["prompt"] for row in rows})
    short = [name.rsplit("/", 1)[-1].split("@")[0] for name in names]
    return dict(zip(names, short if len(set(short)) == len(names) else names, strict=True))


def _points(rows: list[dict[str, Any]], x: str, series: str, xlabel: str) -> Plot:
    """Points with whiskers of one standard deviation, in the panels named by the rows."""
    rows.sort(key=lambda row: (row["prompt"], CLASSES.index(row["class"]), row[x]))
    channels = Channels(x, "mean", xlabel, "mean F1", series, "panel", "low", "high")
    return figures.intervals(pa.Table.from_pylist(rows), channels)


def template_variance(data: pa.Table) -> pa.Table:
    """F1 of `scores.cells` by class, template, verbaliser and inference type (figures 5 and 6).

    Columns class, prompt, verbaliser, inference_type, mean, deviation, cells; mean and deviation
    are over models and orders of the examples.
    """
    return _in_groups(data, ("class", "prompt", "verbaliser", "inference_type"))


def recency(data: pa.Table) -> pa.Table:
    """F1 by the order of the examples (figure 7).

    Columns class, prompt, verbaliser, sequence (inference types of both examples and of the item,
    ``1,2,3``), last_agrees (whether the last example has the gold label of the item, so that a
    recency effect would help), mean, deviation and cells, over models.
    """
    rows = []
    for row in data.to_pylist():
        if row["premise_order"] is None:
            continue
        holds = HOLDS[row["class"]]
        inference, last = row["inference_type"], int(row["premise_order"].split(",")[-1])
        row["sequence"] = f"{row['premise_order']},{inference}"
        row["last_agrees"] = holds[last - 1] == holds[inference - 1]
        rows.append(row)
    if not rows:
        raise ValueError("no order of examples: these prompts have no examples")
    fields = [*data.schema, *schema("sequence last_agrees:bool")]
    names = ("class", "prompt", "verbaliser", "sequence", "last_agrees")
    return _in_groups(pa.Table.from_pylist(rows, pa.schema(fields)), names)


def _in_groups(data: pa.Table, names: Sequence[str]) -> pa.Table:
    fields = [*(data.schema.field(name) for name in names), *_SPREAD]
    f1 = data.column("f1").to_pylist()
    rows_in_groups = []
    for key, members in places(data, *names).items():
        values = [f1[place] for place in members]
        spread = {"mean": fmean(values), "deviation": scores.deviation(values)}
        row = dict(zip(names, key, strict=True))
        rows_in_groups.append({**row, **spread, "cells": len(values)})
    return pa.Table.from_pylist(rows_in_groups, pa.schema(fields))


def variance_figure(data: pa.Table) -> Plot:
    """Plot `template_variance` as points with whiskers of one deviation (figures 5 and 6).

    For prompts with several verbalisers, panels are classes and templates and series are
    verbalisers (figure 6); otherwise, panels are templates and series are classes (figure 5).
    """
    rows = data.to_pylist()
    several = len({row["verbaliser"] for row in rows}) > 1
    names = _template_names(rows)
    for row in rows:
        kind, template = CLASS_NAMES[row["class"]], names[row["prompt"]]
        row |= _spread(row)
        row["panel"] = f"{template}, {kind}" if several else template
        row["series"] = row["verbaliser"] if several else kind
    return _points(rows, "inference_type", "series", "inference type of the test item")


def recency_figure(data: pa.Table) -> Plot:
    """Plot `recency` as points with whiskers of one deviation (figure 7).

    Panels are classes and templates, series are verbalisers; the last type of a sequence is that of
    the test item.
    """
    rows = data.to_pylist()
    names = _template_names(rows)
    for row in rows:
        row |= _spread(row)
        row["panel"] = f"{names[row['prompt']]}, {CLASS_NAMES[row['class']]}"
    xlabel = "inference types of the two examples and of the test item"
    return _points(rows, "sequence", "verbaliser", xlabel)


def _models(rows: pa.Table) -> str:
    models = sorted({model_name(name) for name in rows.column("model").to_pylist()})
    return f"{', '.join(models)}; edition {edition_of(rows)}"


def _variance(rows: pa.Table) -> list[Block]:
    blocks: list[Block] = []
    for choice, answers in _choices(rows):
        data = template_variance(scores.cells(answers, choice))
        caption = (
            f"F1 by inference type, {_READ[choice]}; whiskers are one standard deviation over "
            f"models and orders ({_models(answers)})"
        )
        blocks.append(FigureBlock(caption, *variance_figure(data)))
    return blocks


@exhibit("Figure 5", "zero-shot prompts, by template", command=_ZERO_SHOT, tables=_TABLES)
def templates(page: Plane) -> list[Block]:
    """How F1 without examples varies with the template."""
    return [*_variance(page.zero_shot), *runs_text(page.prompted_runs("0"))]


@exhibit(
    "Figure 6", "two-shot prompts, by template and verbaliser", command=_TWO_SHOT, tables=_TABLES
)
def verbalisers(page: Plane) -> list[Block]:
    """How F1 with two examples varies with template and verbaliser."""
    return [*_variance(page.two_shot), *runs_text(page.prompted_runs("2"))]


@exhibit(
    "Figure 7", "two-shot prompts, by order of the examples", command=_TWO_SHOT, tables=_TABLES
)
def order_of_examples(page: Plane) -> list[Block]:
    """Whether models repeat the label of the last example."""
    blocks: list[Block] = []
    for choice, answers in _choices(page.two_shot):
        data = recency(scores.cells(answers, choice))
        caption = (
            f"F1 by order of the examples, {_READ[choice]}; whiskers are one standard deviation "
            f"over models ({_models(answers)})"
        )
        blocks.append(FigureBlock(caption, *recency_figure(data)))
        title = "Mean F1 in percent by whether the last example has the item's label"
        title = f"{title}, {_READ[choice]}, edition {edition_of(answers)}"
        blocks.append(Table(title, _by_agreement(data), digits=1))
    return [*blocks, *runs_text(page.prompted_runs("2"))]


def _by_agreement(data: pa.Table) -> pa.Table:
    """Mean F1 by class and by whether the last example has the label of the item."""
    rows = []
    for kind in CLASSES:
        row: dict[str, Any] = {"class": kind}
        for name, agrees in (("agrees", True), ("differs", False)):
            f1 = where_equal(where_equal(data, "class", kind), "last_agrees", agrees).column("mean")
            row[name] = 100 * pc.mean(f1).as_py() if len(f1) else None
        rows.append(row)
    return pa.Table.from_pylist(rows, schema("class agrees:float differs:float"))
