"""PLANE's page: its tables and figures from the lake, from fine-tuned, prompted and NLI models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from analysis import plane, plane_figures, plane_intervals, prompts, transfer
from analysis.interval import Interval
from analysis.plane import CLASSES
from analysis.reporting import plane_supervised
from analysis.reporting.answers import answered, runs_text
from analysis.reporting.lake import Lake
from analysis.reporting.numbers import comparison
from analysis.reporting.page import Block, FigureBlock, Section, Table, Text, section_of
from analysis.reporting.printed import model_name
from analysis.reporting.runs import Run, Runs
from conf import UserError
from etl.lake import arrow

# The paper's models by the last part of their names on the hub.
_MASKED = {
    "bert-base-cased": "BERT-base",
    "bert-large-cased": "BERT-large",
    "distilbert-base-cased": "DistilBERT",
    "distilroberta-base": "DistilRoBERTa",
    "roberta-base": "RoBERTa-base",
    "roberta-large": "RoBERTa-large",
}
_NLI = {
    "roberta-large-mnli": "Liu et al. 2019",
    "roberta-large-snli_mnli_fever_anli_R1_R2_R3-nli": "Nie et al. 2020",
}

_BUILD = "spark-submit etl/build_plane.py preset=paper lake=LAKE"
_TWO_SHOT = (
    "python training/prompt.py conf/training/plane_prompt.yaml model=bert-base-cased lake=LAKE"
)
_ZERO_SHOT = (
    "python training/prompt.py conf/training/plane_zero_shot.yaml model=bert-base-cased lake=LAKE"
)
_SCORE = (
    "deepspeed training/score.py conf/training/plane_score.yaml "
    "model=FacebookAI/roberta-large-mnli lake=LAKE"
)


@dataclass(frozen=True)
class _Answers:
    """What models answered; read when the first section asks for it."""

    lake: Lake
    runs: Runs

    @cached_property
    def two_shot(self) -> pa.Table:
        return _prompted(self.lake, self.runs, "2", "two-shot prompts")

    @cached_property
    def zero_shot(self) -> pa.Table:
        return _prompted(self.lake, self.runs, "0", "zero-shot prompts")

    @cached_property
    def _nli(self) -> tuple[pa.Table, list[Run]]:
        return _nli(self.lake, self.runs)

    @property
    def nli(self) -> pa.Table:
        return self._nli[0]

    def of_prompts(self, shots: str) -> list[Block]:
        """Names of the runs that answered to prompts."""
        return runs_text(_newest(self.lake, self.runs, shots))

    def of_nli(self) -> list[Block]:
        """Names of the runs of models for NLI."""
        return runs_text(self._nli[1])


def sections(lake: Lake, runs: Runs) -> list[Section]:
    """Tables 1, 4 to 6 and 8 and figures 1 to 9 of the paper, in its order."""
    own = _Answers(lake, runs)
    section = partial(section_of, "plane")
    return [
        section("Table 1", "what holds by rule", _BUILD, lambda: _rules(lake)),
        section("Section 3.2", "size", _BUILD, lambda: _size(lake)),
        section("Table 4", "two-shot prompts", _TWO_SHOT, lambda: _table_4(own)),
        section("Table 5", "models for NLI", _SCORE, lambda: _table_5(own)),
        section("Figure 1", "models for NLI, by inference type", _SCORE, lambda: _fig_1(own)),
        *plane_supervised.out_of_distribution(lake, runs),
        section("Figure 4", "PMI by class", _BUILD, lambda: _pmi(lake)),
        section("Table 8", "zero-shot prompts", _ZERO_SHOT, lambda: _table_8(own)),
        section(
            "Figure 5",
            "zero-shot prompts, by template",
            _ZERO_SHOT,
            lambda: [*_variance(own.zero_shot), *own.of_prompts("0")],
        ),
        section(
            "Figure 6",
            "two-shot prompts, by template and verbaliser",
            _TWO_SHOT,
            lambda: [*_variance(own.two_shot), *own.of_prompts("2")],
        ),
        section(
            "Figure 7",
            "two-shot prompts, by order of the examples",
            _TWO_SHOT,
            lambda: [*_recency(own.two_shot), *own.of_prompts("2")],
        ),
        plane_supervised.in_distribution(lake, runs),
        section("Figure 9", "errors of models for NLI", _SCORE, lambda: _fig_9(own)),
    ]


# The dataset


def _rules(lake: Lake) -> list[Block]:
    edition = lake.edition("plane_items")
    names = ["class", "inference_type", "label"]
    where = [("edition", "=", edition)]
    found = plane.rule_check(arrow.batches(lake.root, "plane_items", where=where, columns=names))
    ours = {
        (plane.TYPES[row["inference_type"]], row["class"]): row["entailed"] / row["rows"]
        for row in found.to_pylist()
    }
    caption = "Share of rows that are entailed"
    return [
        *comparison("plane", "table 1", ours, caption=caption, edition=edition, command=_BUILD),
        Table(f"Rows behind it, edition {edition}", found),
    ]


def _size(lake: Lake) -> list[Block]:
    edition = lake.edition("plane_items")
    nouns: set[str] = set()
    adjectives: set[str] = set()
    items = 0
    where = [("edition", "=", edition)]
    names = ["noun", "adjective"]
    for batch in arrow.batches(lake.root, "plane_items", where=where, columns=names):
        nouns.update(pc.unique(batch.column("noun")).to_pylist())
        adjectives.update(pc.unique(batch.column("adjective")).to_pylist())
        items += batch.num_rows
    counts = {"adjectives": len(adjectives), "nouns": len(nouns), "items": items}
    ours = {(name, "count"): float(count) for name, count in counts.items()}
    caption = "Size, counted of the items"
    if edition == "published":  # which has the splits alone
        caption = "Size; the release has the items of its splits, not all"
    return comparison("plane", "section 3.2", ours, caption=caption, edition=edition)


def _pmi(lake: Lake) -> list[Block]:
    edition = lake.edition("plane_association")
    table = arrow.read(
        lake.root, "plane_association", where=[("edition", "=", edition)], columns=["corpus"]
    )
    found: list[Block] = [
        Text(
            "The paper finds medians far from 0, I and S alike, O slightly lower and more even, "
            "and few phrases at or below 0 (about 0.1 %). The log base is not stated there; ours "
            "is 2, and marginals are taken before any floor of counts."
        )
    ]
    for corpus in sorted(pc.unique(table.column("corpus")).to_pylist()):
        quantiles = plane.pmi_quantiles(plane.pmi_by_class(lake.root, edition, corpus))
        figure, _ = plane.pmi_figure(quantiles)
        caption = f"PMI of the phrases by class, corpus {corpus}, edition {edition}"
        found.append(FigureBlock(caption, figure, quantiles))
    return found


# Prompts


def _prompted(lake: Lake, runs: Runs, shots: str, what: str) -> pa.Table:
    """The answers of each model's newest run.

    Raises:
        UserError: no run with answers in the lake.
    """
    tables = [prompts.read(lake.root, run.id) for run in _newest(lake, runs, shots)]
    if not tables:
        raise UserError(f"no finished run of PLANE's {what} with answers in this lake")
    return pa.concat_tables(tables)


def _newest(lake: Lake, runs: Runs, shots: str) -> list[Run]:
    """The newest run of each model with answers to prompts with so many examples."""
    newest: dict[str, Run] = {}
    for run in answered(lake, runs.of("prompt", {"task.name": "plane", "shots": shots})):
        newest.setdefault(run.params.get("model_name", run.id), run)
    return list(newest.values())


# How answers are read (`prompts.CHOICES`).
_READ = {
    "first": "by the first predicted token, as in the paper",
    "restricted": "by the more probable of the verbaliser's words",
}


def _class_tables(rows: pa.Table) -> list[Block]:
    """Mean and deviation as the paper prints them, by class and model, for either way to answer."""
    found: list[Block] = []
    for choice, own in _choices(rows):
        data = prompts.class_table(prompts.cells(own, choice))
        found.append(Table(f"Ours, F1 in percent, {_READ[choice]}", _laid_out(data)))
    always = prompts.class_table(prompts.always(rows, "entailed"))
    found.append(Table("Always answering that it is entailed", _laid_out(always)))
    return found


def _laid_out(data: pa.Table) -> pa.Table:
    """`prompts.class_table` with a row a class and a column a model: 69.9 ± 38.0."""
    rows: dict[str, dict[str, str]] = {}
    for cell in data.to_pylist():
        text = f"{100 * cell['mean']:.1f}"
        if cell["deviation"] is not None:
            text += f" ± {100 * cell['deviation']:.1f}"
        rows.setdefault(cell["row"], {"class": cell["row"]})[model_name(cell["model"])] = text
    return pa.Table.from_pylist(list(rows.values()))


def _ours(lake: Lake, rows: pa.Table) -> dict[tuple[str, str], float | Interval]:
    """The numbers of the paper's own models by (row, column), with intervals by group of items."""
    kept = [model_name(name) in _MASKED for name in rows.column("model").to_pylist()]
    rows = rows.filter(pa.array(kept))
    groups = transfer.groups_of(lake.root, rows, "group_id") if rows.num_rows else {}
    of = [groups[item] for item in rows.column("item_id").to_pylist()]
    found = plane_intervals.prompted(rows, of, "first", lake.seed)
    return {(name, _MASKED[model_name(model)]): own for (name, model), own in found.items()}


def _table_4(own: _Answers) -> list[Block]:
    caption = "F1 of two-shot prompts"
    blocks = _prompt_table(own.lake, "table 4", caption, _TWO_SHOT, lambda: own.two_shot)
    return [*blocks, *own.of_prompts("2")]


def _table_8(own: _Answers) -> list[Block]:
    caption = "F1 of zero-shot prompts"
    blocks = _prompt_table(own.lake, "table 8", caption, _ZERO_SHOT, lambda: own.zero_shot)
    return [*blocks, *own.of_prompts("0")]


def _prompt_table(
    lake: Lake, name: str, caption: str, command: str, read: Callable[[], pa.Table]
) -> list[Block]:
    try:
        rows = read()
    except UserError as error:
        # What the paper prints is shown in any case.
        return comparison("plane", name, {}, caption=caption, command=command, reason=str(error))
    firsts = rows.filter(pc.is_valid(rows.column("text")))
    ours = _ours(lake, firsts) if firsts.num_rows else {}
    return [
        *comparison("plane", name, ours, caption=caption, command=command),
        *_class_tables(rows),
    ]


def _variance(rows: pa.Table) -> list[Block]:
    found: list[Block] = []
    for choice, own in _choices(rows):
        data = prompts.template_variance(prompts.cells(own, choice))
        figure, plotted = plane_figures.variance_figure(data)
        caption = (
            f"F1 by inference type, {_READ[choice]}; whiskers are a standard deviation over models "
            f"and orders ({_models(own)})"
        )
        found.append(FigureBlock(caption, figure, plotted))
    return found


def _recency(rows: pa.Table) -> list[Block]:
    found: list[Block] = []
    for choice, own in _choices(rows):
        data = prompts.recency(prompts.cells(own, choice))
        figure, plotted = plane_figures.recency_figure(data)
        caption = (
            f"F1 by order of the examples, {_READ[choice]}; whiskers are a standard deviation over "
            f"models ({_models(own)})"
        )
        found.append(FigureBlock(caption, figure, plotted))
        told = "Mean F1 in percent where the last example has the label asked for, and where not"
        found.append(Table(f"{told}, {_READ[choice]}", _agreeing(data), digits=1))
    return found


def _agreeing(data: pa.Table) -> pa.Table:
    """Mean F1 by class, where the last example's label is the one asked for and where not."""
    found = []
    for kind in CLASSES:
        own = data.filter(pc.equal(data.column("class"), kind))
        row: dict[str, Any] = {"class": kind}
        for name, agrees in (("agrees", True), ("differs", False)):
            f1 = own.filter(pc.equal(own.column("last_agrees"), agrees)).column("mean")
            row[name] = 100 * pc.mean(f1).as_py() if len(f1) else None
        found.append(row)
    schema = pa.schema(
        [("class", pa.string()), ("agrees", pa.float64()), ("differs", pa.float64())]
    )
    return pa.Table.from_pylist(found, schema)


def _choices(rows: pa.Table) -> list[tuple[str, pa.Table]]:
    """The ways to read answers that some rows have, with these rows."""
    firsts = rows.filter(pc.is_valid(rows.column("text")))
    return [*([("first", firsts)] if firsts.num_rows else []), ("restricted", rows)]


def _models(rows: pa.Table) -> str:
    return ", ".join(sorted({model_name(name) for name in rows.column("model").to_pylist()}))


# Models for NLI


def _nli(lake: Lake, runs: Runs) -> tuple[pa.Table, list[Run]]:
    """What models for NLI answered to PLANE, the newest run of each, and these runs.

    Raises:
        UserError: no run of such a model with answers in the lake.
    """
    newest: dict[str, tuple[pa.Table, Run]] = {}
    for run in answered(lake, runs.of("score")):
        rows = transfer.read(lake.root, [run.id])
        own = rows.filter(
            pc.and_(
                pc.equal(rows.column("task"), "plane"),
                pc.is_in(rows.column("text"), value_set=pa.array(plane_figures.NLI)),
            )
        )
        for model in sorted(set(own.column("model").to_pylist())):
            newest.setdefault(model, (own.filter(pc.equal(own.column("model"), model)), run))
    if not newest:
        raise UserError("no finished run of a model for NLI on PLANE with answers in this lake")
    return pa.concat_tables([rows for rows, _ in newest.values()]), [r for _, r in newest.values()]


def _table_5(answers: _Answers) -> list[Block]:
    caption = "F1 of models for NLI"
    try:
        rows = answers.nli
    except UserError as error:
        return comparison(
            "plane", "table 5", {}, caption=caption, command=_SCORE, reason=str(error)
        )
    kinds = transfer.groups_of(answers.lake.root, rows, "class")
    groups = transfer.groups_of(answers.lake.root, rows, "group_id")
    ours: dict[tuple[str, str], float | Interval] = {}
    own: list[dict[str, Any]] = []
    for model in sorted(set(rows.column("model").to_pylist())):
        of_model = rows.filter(pc.equal(rows.column("model"), model))
        own += [
            {"model": model_name(model), "class": row.pop("group"), **row}
            for row in transfer.f1_by_group(of_model, kinds).to_pylist()
        ]
        column = _nli_column(model)
        if column:
            scores = plane_intervals.nli(of_model, kinds, groups, answers.lake.seed)
            ours |= {(name, column): score for name, score in scores.items()}
    own.sort(key=lambda row: (row["model"], CLASSES.index(row["class"])))
    asked = sorted({f"{edition} {scheme}" for edition, scheme in _pairs(rows, "edition", "scheme")})
    return [
        *comparison("plane", "table 5", ours, caption=caption, command=_SCORE),
        Table(f"Ours, asked {', '.join(asked)}; shares", pa.Table.from_pylist(own), digits=3),
        *answers.of_nli(),
    ]


def _pairs(rows: pa.Table, *names: str) -> list[tuple[Any, ...]]:
    return list(zip(*(rows.column(name).to_pylist() for name in names), strict=True))


def _nli_column(model: str) -> str | None:
    name = model_name(model)
    return _NLI.get(name) or ("AddOne" if "addone" in model.lower() else None)


def _fig_1(answers: _Answers) -> list[Block]:
    rows = answers.nli
    classes, types = (
        transfer.groups_of(answers.lake.root, rows, name) for name in ("class", "inference_type")
    )
    figure, plotted = plane_figures.transfer_figure(
        plane_figures.transfer_variance(rows, classes, types)
    )
    caption = "F1 of models for NLI by class and inference type"
    return [FigureBlock(caption, figure, plotted), *answers.of_nli()]


def _fig_9(answers: _Answers) -> list[Block]:
    rows = answers.nli
    classes = transfer.groups_of(answers.lake.root, rows, "class")
    found: list[Block] = []
    for model in sorted(set(rows.column("model").to_pylist())):
        own = rows.filter(pc.equal(rows.column("model"), model))
        figure, plotted = plane_figures.errors_figure(transfer.answers_by_group(own, classes))
        found.append(FigureBlock(f"What {model_name(model)} answered", figure, plotted))
    return [*found, *answers.of_nli()]
