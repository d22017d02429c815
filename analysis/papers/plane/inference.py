"""PLANE's results of models for natural-language inference: table 5, figures 1 and 9."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from adnominal.analysis.papers.comparison import Missing, comparison
from adnominal.analysis.papers.page import exhibit, runs_text
from adnominal.analysis.papers.plane import intervals
from adnominal.analysis.papers.plane.sources import CLASS_NAMES, NLI, TYPES, Plane, edition_of
from adnominal.analysis.predictions import groups_of
from adnominal.analysis.rendering import figures
from adnominal.analysis.rendering.blocks import Block, FigureBlock, Table
from adnominal.analysis.rendering.figures import Channels, Plot
from adnominal.analysis.rows import distinct_values, tuples, where_equal, with_column
from adnominal.analysis.statistics import Interval
from adnominal.etl.plane import CLASSES
from adnominal.training.finished_runs import model_name, short_name
from adnominal.training.scoring import matrix

# The paper's models by the last part of their hub names.
_PAPERS_MODELS = {
    "roberta-large-mnli": "Liu et al. 2019",
    "roberta-large-snli_mnli_fever_anli_R1_R2_R3-nli": "Nie et al. 2020",
}
_SCORE = (
    "deepspeed training/score.py conf/training/plane_score.yaml "
    "model=FacebookAI/roberta-large-mnli lake=LAKE"
)
_TABLES = ("predictions", "plane_items")


def _column(model: str) -> str | None:
    """The column of table 5 for the model."""
    name = model_name(model)
    return _PAPERS_MODELS.get(name) or ("AddOne" if "addone" in model.lower() else None)


@exhibit("Table 5", "models for NLI", command=_SCORE, tables=_TABLES, beside=("table 5",))
def accuracy(page: Plane) -> list[Block]:
    """F1 by class of adjective, for the paper's models and all others."""
    caption, lake = "F1 of models for NLI", page.lake
    rows, runs = page.nli
    kinds = groups_of(lake.root, rows, "class")
    groups = groups_of(lake.root, rows, "group_id")
    ours: dict[tuple[str, str], float | Interval] = {}
    scores: list[dict[str, Any]] = []
    for model in distinct_values(rows, "model"):
        of_model = where_equal(rows, "model", model)
        scores += [
            {"model": model_name(model), "class": row.pop("group"), **row}
            for row in matrix.f1_by_group(of_model, kinds).to_pylist()
        ]
        if column := _column(model):
            by_class = intervals.nli(of_model, kinds, groups, lake.seed)
            ours |= {(name, column): score for name, score in by_class.items()}
    scores.sort(key=lambda row: (row["model"], CLASSES.index(row["class"])))
    splits = sorted(
        {f"{edition} {scheme}" for edition, scheme in tuples(rows, "edition", "scheme")}
    )
    return [
        *comparison("plane", "table 5", ours, caption, edition_of(rows), Missing(_SCORE)),
        Table(f"Ours, on {', '.join(splits)}; shares", pa.Table.from_pylist(scores), digits=3),
        *runs_text(runs),
    ]


def transfer_variance(
    predictions: pa.Table, classes: Mapping[str, str], types: Mapping[str, str]
) -> pa.Table:
    """F1 of models for NLI by class of adjective and inference type (figure 1).

    `predictions` are rows of `read_scored`; `classes` and `types` map each item to its class and
    type (`groups_of`). Columns model, class, inference_type, rows, f1 (a third label is always
    wrong, as in table 5).
    """
    cells = {item: f"{kind} {types[item]}" for item, kind in classes.items() if item in types}
    rows = []
    for model in distinct_values(predictions, "model"):
        scores = matrix.f1_by_group(where_equal(predictions, "model", model), cells).to_pylist()
        by_cell = {score["group"]: score for score in scores}
        rows += [
            {
                "model": short_name(model),
                "class": kind,
                "inference_type": inference,
                "rows": score["rows"],
                "f1": score["f1"],
            }
            for kind in CLASSES
            for inference in TYPES
            if (score := by_cell.get(f"{kind} {inference}"))
        ]
    return pa.Table.from_pylist(rows)


def transfer_figure(data: pa.Table) -> Plot:
    """Plot `transfer_variance` as points, one panel per model (figure 1)."""
    kinds = [CLASS_NAMES[kind] for kind in data.column("class").to_pylist()]
    channels = Channels("inference_type", "f1", "inference type", "F1", "kind", "model", "f1", "f1")
    return figures.intervals(with_column(data, "kind", kinds), channels)


@exhibit("Figure 1", "models for NLI, by inference type", command=_SCORE, tables=_TABLES)
def by_type(page: Plane) -> list[Block]:
    """F1 by class and inference type."""
    rows, runs = page.nli
    classes, types = (groups_of(page.lake.root, rows, name) for name in ("class", "inference_type"))
    plot = transfer_figure(transfer_variance(rows, classes, types))
    caption = f"F1 of models for NLI by class and inference type, edition {edition_of(rows)}"
    return [FigureBlock(caption, *plot), *runs_text(runs)]


def errors_figure(data: pa.Table) -> Plot:
    """Plot one model's `matrix.answers_by_group` by class: one bar per class and gold label,
    divided by answer (figure 9, whose confusion matrices have the same counts)."""
    rows = [
        {**row, "bar": f"{CLASS_NAMES[row['group']]}, {row['gold']}"}
        for row in data.to_pylist()
        if row["group"] in CLASSES
    ]
    answers = [*NLI, *sorted({row["answer"] for row in rows} - set(NLI))]

    def place(row: Mapping[str, Any]) -> tuple[int, bool, int]:
        kind, gold = CLASSES.index(row["group"]), row["gold"] != "entailed"
        return kind, gold, answers.index(row["answer"])

    return figures.shares(
        pa.Table.from_pylist(sorted(rows, key=place)),
        row="bar",
        part="answer",
        share="share",
        xlabel="share of the items of a class and gold label",
        ylabel="class of the adjective, gold label",
    )


@exhibit("Figure 9", "errors of models for NLI", command=_SCORE, tables=_TABLES)
def errors(page: Plane) -> list[Block]:
    """The answers of each model, by class and gold label."""
    rows, runs = page.nli
    classes = groups_of(page.lake.root, rows, "class")
    blocks: list[Block] = []
    for model in distinct_values(rows, "model"):
        answers = matrix.answers_by_group(where_equal(rows, "model", model), classes)
        caption = f"Answers of {model_name(model)}, edition {edition_of(rows)}"
        blocks.append(FigureBlock(caption, *errors_figure(answers)))
    return [*blocks, *runs_text(runs)]
