"""PLANE's results of models for natural-language inference: table 5, figures 1 and 9."""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from adnominal.analysis.papers.exhibits import Chart, Finding, exhibit
from adnominal.analysis.papers.plane import intervals
from adnominal.analysis.papers.plane.sources import CLASS_NAMES, NLI, TYPES, Plane, edition_of
from adnominal.analysis.predictions import groups_of
from adnominal.analysis.report_numbers import Cells, CellValues
from adnominal.analysis.rows import distinct_values, tuples, where_equal
from adnominal.etl.plane import CLASSES
from adnominal.training.answering import matrix
from adnominal.training.finished_runs import model_name, short_name

# The paper's models by the last part of their hub names.
_PAPERS_MODELS = {
    "roberta-large-mnli": "Liu et al. 2019",
    "roberta-large-snli_mnli_fever_anli_R1_R2_R3-nli": "Nie et al. 2020",
}
_ADDONE = (
    "python etl/import_published.py addone=DIR addone_labels=three lake=LAKE",
    "python training/finetune.py conf/training/addone_three.yaml register=addone_three lake=LAKE",
)
# The paper's three models, in the order of the columns of table 5.
_SCORED = (
    "FacebookAI/roberta-large-mnli",
    "ynie/roberta-large-snli_mnli_fever_anli_R1_R2_R3-nli",
    "models:/addone_three/1",
)
_SCORE = " && ".join(
    (
        *_ADDONE,
        *(
            f"deepspeed training/score.py conf/training/plane_score.yaml model={model} lake=LAKE"
            for model in _SCORED
        ),
    )
)
_TABLES = ("predictions", "plane_items")


def _column(model: str) -> str | None:
    """The column of table 5 for the model."""
    name = model_name(model)
    return _PAPERS_MODELS.get(name) or ("AddOne" if "addone" in model.lower() else None)


@exhibit("Table 5", "models for NLI", fills=_SCORE, reads=_TABLES, printed=("table 5",))
def accuracy(page: Plane) -> Iterator[Finding]:
    """F1 by class of the adjective, of the paper's models for natural-language inference and of all
    others asked here."""
    lake = page.lake
    rows, runs = page.nli
    kinds = groups_of(lake.root, rows, "class")
    groups = groups_of(lake.root, rows, "group_id")
    edition = edition_of(rows)
    splits = sorted(
        {f"{edition} {scheme}" for edition, scheme in tuples(rows, "edition", "scheme")}
    )
    for model in distinct_values(rows, "model"):
        of_model = where_equal(rows, "model", model)
        runs_of_model = [run for run in runs if run.model == short_name(model)]
        source: dict[str, Any] = {
            "model": model_name(model),
            "runs": runs_of_model,
            "edition": edition,
        }
        if column := _column(model):
            by_class = intervals.nli(of_model, kinds, groups, lake.seed)
            cells: CellValues = {}
            for name, score in by_class.items():
                cells[name, column] = score
            yield Cells("table 5", cells, **source)
        scores: CellValues = {}
        by_class = matrix.f1_by_group(of_model, kinds).to_pylist()
        for row in sorted(by_class, key=lambda row: CLASSES.index(row["group"])):
            name = f"{model_name(model)}, {row.pop('group')}"
            scores |= {(name, column): float(value) for column, value in row.items()}
        yield Cells(
            f"Models asked here, on {', '.join(splits)}",
            scores,
            unit="share",
            decimals=3,
            **source,
        )


@exhibit("Figure 1", "models for NLI, by inference type", fills=_SCORE, reads=_TABLES)
def by_type(page: Plane) -> Iterator[Finding]:
    """F1 by class of the adjective and inference type, one panel for each model."""
    rows, _ = page.nli
    edition = edition_of(rows)
    classes = groups_of(page.lake.root, rows, "class")
    types = groups_of(page.lake.root, rows, "inference_type")
    cell_of_item = {item: f"{kind} {types[item]}" for item, kind in classes.items()}
    by_model: dict[str, CellValues] = {}
    for model in distinct_values(rows, "model"):
        of_model = where_equal(rows, "model", model)
        scores = matrix.f1_by_group(of_model, cell_of_item).to_pylist()
        f1 = {score["group"]: score["f1"] for score in scores}
        cells = by_model.setdefault(short_name(model), {})
        for kind, inference in itertools.product(CLASSES, TYPES):
            cell = f"{kind} {inference}"
            if cell in f1:
                cells[str(inference), CLASS_NAMES[kind]] = f1[cell]
    for model, cells in by_model.items():
        yield Cells(f"F1 of {model}", cells, unit="share", model=model, edition=edition)
    tables = {f"F1 of {model}": model for model in by_model}
    caption = f"F1 of models for NLI by class and inference type, edition {edition}"
    yield Chart(
        "intervals", caption, list(tables), "inference type", "F1", options={"panels": tables}
    )


@exhibit("Figure 9", "errors of models for NLI", fills=_SCORE, reads=_TABLES)
def errors(page: Plane) -> Iterator[Finding]:
    """The answers of each model by class of the adjective and gold label, as shares of their items
    (the paper's confusion matrices have the same counts)."""
    rows, _ = page.nli
    edition = edition_of(rows)
    classes = groups_of(page.lake.root, rows, "class")
    for model in distinct_values(rows, "model"):
        answers = matrix.answers_by_group(where_equal(rows, "model", model), classes)
        name = f"Answers of {model_name(model)}"
        source: dict[str, Any] = {"model": model_name(model), "edition": edition}
        yield Cells(name, _by_answer(answers, "share"), unit="share", **source)
        yield Cells(f"{name}: items", _by_answer(answers, "rows"), decimals=0, **source)
        yield Chart(
            "shares",
            f"{name}, edition {edition}",
            (name,),
            "share of the items of a class and gold label",
            "class of the adjective, gold label",
        )


def _by_answer(answers: pa.Table, column: str) -> CellValues:
    """A column of each answer to the items of a class and gold label, the classes in order."""
    rows = [row for row in answers.to_pylist() if row["group"] in CLASSES]
    labels = [*NLI, *sorted({row["answer"] for row in rows} - set(NLI))]

    def place(row: Mapping[str, Any]) -> tuple[int, bool, int]:
        kind, is_no = CLASSES.index(row["group"]), row["gold"] != "entailed"
        return kind, is_no, labels.index(row["answer"])

    return {
        (f"{CLASS_NAMES[row['group']]}, {row['gold']}", row["answer"]): float(row[column])
        for row in sorted(rows, key=place)
    }
