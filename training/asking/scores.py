"""Scores of prompted models: PLANE's tables 4 and 8, ASP's zero-shot rows, and accuracy by prompt.

Everything comes from rows of the table ``predictions`` with the group columns class and
inference_type (PLANE) or test (ASP). A *cell* of PLANE is one way of asking: a class of adjectives,
an inference type, a template, a verbaliser and, with examples, their order. The paper computes F1
for each cell and reports its deviation. It does not state this, but its figures 6 and 7 have F1 by
inference type, and deviations as large as table 4's cannot come from pooled types.

F1 of a cell is the mean over its gold labels, weighted by their rows. In PLANE all rows of a cell
have one gold label, so it is 2r / (1 + r), with r the share of correct answers: an answer that is
not a word of the verbaliser, or that was not parsed, costs as much as the wrong word.

Rows are counted by question, gold label and answer first (`tally`), so that millions of them fit in
memory. All functions below take rows, and tallies as well.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from adnominal.conf.numbers import percent_with_deviation
from adnominal.etl.asp import TESTS
from adnominal.etl.asp.baselines import baselines
from adnominal.etl.plane import CLASSES
from adnominal.etl.prompts.replies import PARSED
from adnominal.etl.registry import DATASETS
from adnominal.training import metrics

AVERAGE = "average"
# The ways to read an answer, and what tables call them.
FIRST, RESTRICTED, WRITTEN = "first", "restricted", "written"
_TITLES = {
    FIRST: "first token",
    RESTRICTED: "restricted choice",
    WRITTEN: "written answer",
}
_CELL = ("model", "scheme", "class", "inference_type", "prompt", "verbaliser", "premise_order")
# The columns by which answers are counted, where they exist.
_COUNTED = (*_CELL, "task", "test", "fold", "gold", "state", "predicted", "text")
_RIGHT, _WRONG = "right", "wrong"
_CELLS = pa.schema(
    [
        *((name, pa.int32() if name == "inference_type" else pa.string()) for name in _CELL),
        ("rows", pa.int64()),
        ("f1", pa.float64()),
    ]
)

Results: TypeAlias = tuple[dict[str, float], dict[str, list[str]], str]
"""Figures by name, shares from 0 to 1; columns of a table in percent, and its caption."""


def tally(rows: pa.Table, labels: Sequence[str]) -> pa.Table:
    """Return how often each answer was given: rows with the column `count`.

    `restricted` has the most probable label instead of `scores`, and `text` only says whether there
    is one. Without `labels`, which are in the order of scores, answers are texts that must equal
    the gold ones: both become the label ``right``, or the answer ``wrong``.
    """
    columns = {name: rows[name] for name in _COUNTED if name in rows.column_names}
    columns["text"] = pc.if_else(rows["text"].is_valid(), "", pa.scalar(None, pa.string()))
    columns["restricted"] = pa.nulls(rows.num_rows, pa.string())
    if not rows["scores"].null_count:
        columns["restricted"] = _answers(rows, RESTRICTED, labels)
    if not labels:
        is_right = pc.fill_null(pc.equal(rows["gold"], rows["predicted"]), False)
        columns["predicted"] = pc.if_else(is_right, _RIGHT, _WRONG)
        columns["gold"] = pa.repeat(_RIGHT, rows.num_rows)
    return merge([pa.table({**columns, "count": pa.repeat(1, rows.num_rows)})])


def ratings(rows: pa.Table, labels: Sequence[str]) -> pa.Table:
    """Return a tally of people's ratings (`gold`) and the model's (`rating`) by prompt and state.

    The rating by likelihood is the mean of the labels, which are numbers, weighted by their
    probabilities. Answers that were not parsed have none.
    """
    rating = rows["predicted"].cast(pa.float64())
    if not rows["scores"].null_count:
        logs = pc.list_flatten(rows["scores"]).to_numpy().reshape(rows.num_rows, -1)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        numbers = np.array(labels, dtype=float)
        rating = pa.array((weights * numbers).sum(axis=1) / weights.sum(axis=1))
    columns = {
        "prompt": rows["prompt"],
        "state": rows["state"],
        "gold": rows["gold"].cast(pa.float64()),
        "rating": rating,
        "count": pa.repeat(1, rows.num_rows),
    }
    return merge([pa.table(columns)])


def merge(tallies: Sequence[pa.Table]) -> pa.Table:
    """Return one tally for several."""
    rows = pa.concat_tables(tallies)
    names = [name for name in rows.column_names if name != "count"]
    merged = rows.group_by(names).aggregate([("count", "sum")])
    return merged.rename_columns([*names, "count"])


def choices(rows: pa.Table) -> dict[str, pa.Table]:
    """Return the ways to read the answers, with the rows to which each applies.

    Chosen answers have scores; those of masked models also have the first predicted token. Written
    answers have a state.
    """
    is_written = rows.column("state").is_valid()
    has_first = pc.and_(rows.column("text").is_valid(), pc.invert(is_written))
    scored = "restricted" if _is_tally(rows) else "scores"
    masks = {FIRST: has_first, RESTRICTED: rows.column(scored).is_valid(), WRITTEN: is_written}
    members = {choice: rows.filter(mask) for choice, mask in masks.items()}
    return {choice: table for choice, table in members.items() if table.num_rows}


def _is_tally(rows: pa.Table) -> bool:
    return "count" in rows.column_names


def answers(rows: pa.Table, choice: str) -> list[str | None]:
    """Return the label of each row; None if there is none.

    `choice` selects the answer: the ``first`` predicted token, as in the paper, which may not be a
    word of the verbaliser; ``restricted``, the more probable of the verbaliser's words; or
    ``written``, which may not have been parsed.

    Raises:
        ValueError: `choice` does not apply to the rows.
    """
    labels: list[str | None] = _answers(rows, choice).to_pylist()
    return labels


def _answers(rows: pa.Table, choice: str, labels: Sequence[str] = ()) -> pa.ChunkedArray:
    """Return `answers` as a column; `labels` are in the order of scores, by default declared."""
    if choice == FIRST and rows.column("text").null_count == rows.num_rows:
        raise ValueError("no first tokens: these answers are not a masked language model's")
    if choice == WRITTEN and rows.column("state").null_count == rows.num_rows:
        raise ValueError("no states: these answers were not written")
    if choice != RESTRICTED:
        return rows.column("predicted")
    if _is_tally(rows):
        return rows.column("restricted")
    names = np.array(labels or _declared_labels(rows), dtype=object)
    if not rows.num_rows:
        return rows.column("predicted")
    flat = pc.list_flatten(rows.column("scores")).to_numpy()
    best = flat.reshape(rows.num_rows, -1).argmax(axis=1)
    return pa.chunked_array([pa.array(names[best], pa.string())])


def _declared_labels(rows: pa.Table) -> Sequence[str]:
    tasks = rows.column("task").unique().to_pylist()
    return DATASETS[tasks[0]].label_names if tasks else ()


def _counts(
    rows: pa.Table, answers_of_rows: pa.ChunkedArray, names: Sequence[str]
) -> Iterator[tuple[tuple[Any, ...], str, str | None, int]]:
    """Yield the values of the columns `names`, gold label, answer, and the number of such rows."""
    counts = rows["count"] if _is_tally(rows) else pa.repeat(1, rows.num_rows)
    table = rows.select([*names, "gold"]).append_column("answer", answers_of_rows)
    counted = merge([table.append_column("count", counts)])
    columns = (counted.column(name).to_pylist() for name in counted.column_names)
    for *key, gold, answer, count in zip(*columns, strict=True):
        yield tuple(key), gold, answer, count


def _confusion(
    rows: pa.Table,
    answers_of_rows: pa.ChunkedArray,
    names: Sequence[str],
    labels: Sequence[str],
) -> dict[tuple[Any, ...], npt.NDArray[np.float64]]:
    """Return, by the values of `names`, the rows [gold, answer].

    The last column counts answers that are no label, which are always wrong.
    """
    columns = {label: number for number, label in enumerate(labels)}
    tables: dict[tuple[Any, ...], npt.NDArray[np.float64]] = {}
    for key, gold, answer, count in _counts(rows, answers_of_rows, names):
        if key not in tables:
            tables[key] = np.zeros((len(labels), len(labels) + 1))
        tables[key][columns[gold], columns.get(answer or "", len(labels))] += count
    return tables


def cells(rows: pa.Table, choice: str = FIRST) -> pa.Table:
    """Return the F1 of each PLANE cell, by class, inference type, template and verbaliser.

    Columns model, scheme, class, inference_type, prompt, verbaliser, premise_order (None without
    examples), rows, f1. Rows of several models may be mixed.
    """
    return _cells(rows, _answers(rows, choice))


def constant_answers(rows: pa.Table, label: str) -> pa.Table:
    """Return `cells` for answers that are all `label`, the baseline of a table."""
    return _cells(rows, pa.chunked_array([pa.repeat(label, rows.num_rows)]))


def _cells(rows: pa.Table, answers_of_rows: pa.ChunkedArray) -> pa.Table:
    labels = rows.column("gold").unique().to_pylist()
    tables = _confusion(rows, answers_of_rows, _CELL, labels)
    rows_of_cells = []
    for key in sorted(tables, key=_in_order):
        cell = dict(zip(_CELL, key, strict=True))
        cell["rows"] = int(tables[key].sum())
        cell["f1"] = float(metrics.weighted_f1(tables[key]))
        rows_of_cells.append(cell)
    return pa.Table.from_pylist(rows_of_cells, _CELLS)


def _in_order(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """The sort key of a cell: classes in the paper's order, missing values first."""
    cell = dict(zip(_CELL, key, strict=True))
    cell["class"] = CLASSES.index(cell["class"])
    return tuple("" if value is None else value for value in cell.values())


def deviation(values: Sequence[float]) -> float | None:
    """Return the standard deviation of a sample; None for a single value."""
    return stdev(values) if len(values) > 1 else None


def class_table(data: pa.Table) -> pa.Table:
    """Return `cells` in the layout of table 4 (scheme two_shot) or table 8 (zero_shot).

    The columns are row (I, S, O, average), model, mean, deviation, cells; shares are from 0 to 1.
    Two-shot: the deviation is over cells, and in the average row over the cells of all classes
    (this reproduces five of the six averages of table 4 within rounding). Zero-shot: the deviation
    is over the templates' means, as the caption says, and in the average row the mean of the
    classes' deviations (this reproduces all six averages of table 8).

    Raises:
        ValueError: there are no cells, or they have several schemes.
    """
    schemes = set(data.column("scheme").to_pylist())
    if schemes not in ({"two_shot"}, {"zero_shot"}):
        raise ValueError(
            f"cells of {', '.join(sorted(schemes)) or 'no scheme'}; expected one scheme"
        )
    table_rows: list[dict[str, Any]] = []
    for model in dict.fromkeys(data.column("model").to_pylist()):
        of_model = [row for row in data.to_pylist() if row["model"] == model]
        rows = []
        for kind in CLASSES:
            of_class = [row for row in of_model if row["class"] == kind]
            if of_class:
                rows.append(_row(kind, model, of_class, schemes == {"zero_shot"}))
        last = _row(AVERAGE, model, of_model, schemes == {"zero_shot"})
        last["mean"] = fmean(row["mean"] for row in rows)
        if schemes == {"zero_shot"}:
            spreads = [row["deviation"] for row in rows]
            last["deviation"] = None if None in spreads else fmean(spreads)
        table_rows += [*rows, last]
    return pa.Table.from_pylist(table_rows, _CLASS_TABLE)


_CLASS_TABLE = pa.schema(
    [
        *((name, pa.string()) for name in ("row", "model")),
        *((name, pa.float64()) for name in ("mean", "deviation")),
        ("cells", pa.int64()),
    ]
)


def _row(
    name: str, model: str, cells_of_row: Sequence[Mapping[str, Any]], templates: bool
) -> dict[str, Any]:
    values = [row["f1"] for row in cells_of_row]
    spread = values
    if templates:
        by: dict[str, list[float]] = defaultdict(list)
        for row in cells_of_row:
            by[row["prompt"]].append(row["f1"])
        spread = [fmean(of_template) for of_template in by.values()]
    return {
        "row": name,
        "model": model,
        "mean": fmean(values),
        "deviation": deviation(spread),
        "cells": len(cells_of_row),
    }


def asp_table(rows: pa.Table, choice: str = RESTRICTED) -> pa.Table:
    """Return accuracy by task and test of ASP, averaged over prompts (table 3, "T0").

    The columns are model, task (entailment or degree), test, rows, prompts, mean, deviation (over
    prompts and verbalisers), and majority (always giving the more frequent label); shares are from
    0 to 1. The paper averages over several prompts without naming them.
    """
    labels = DATASETS["asp"].label_names
    columns = ("model", "fold", "test", "prompt", "verbaliser")
    by_test: dict[tuple[str, ...], list[npt.NDArray[np.float64]]] = defaultdict(list)
    for key, table in sorted(_confusion(rows, _answers(rows, choice), columns, labels).items()):
        by_test[key[:3]].append(table)
    order = sorted(by_test, key=lambda key: (key[0], key[1] != "entailment", TESTS.index(key[2])))
    table_rows = []
    for test in order:
        shares = [float(_accuracy(table)) for table in by_test[test]]
        gold = by_test[test][0].sum(axis=1).astype(int)
        table_rows.append(
            {
                "model": test[0],
                "task": test[1],
                "test": test[2],
                "rows": int(gold.sum()),
                "prompts": len(shares),
                "mean": fmean(shares),
                "deviation": deviation(shares),
                "majority": baselines(np.repeat(labels, gold)).majority / 100,
            }
        )
    return pa.Table.from_pylist(table_rows, _ASP_TABLE)


def _accuracy(table: npt.NDArray[np.float64]) -> float:
    return float(np.trace(table) / table.sum())


_ASP_TABLE = pa.schema(
    [
        *((name, pa.string()) for name in ("model", "task", "test")),
        *((name, pa.int64()) for name in ("rows", "prompts")),
        *((name, pa.float64()) for name in ("mean", "deviation", "majority")),
    ]
)


def by_class(rows: pa.Table, label: str) -> Results:
    """PLANE: F1 by class for all choices of answers, beside that of always `label`."""
    tables = {}
    for choice, members in choices(rows).items():
        tables[_TITLES[choice]] = cells(members, choice)
    tables[f"always {label}"] = constant_answers(rows, label)
    figures: dict[str, float] = {}
    columns: dict[str, list[str]] = {}
    for name, data in tables.items():
        class_rows = class_table(data).to_pylist()
        columns["class"] = [row["row"] for row in class_rows]
        columns[name] = [
            percent_with_deviation(row["mean"], row["deviation"]) for row in class_rows
        ]
        for row in class_rows:
            _add(figures, f"{name.split()[0]}/f1", row["row"], row["mean"], row["deviation"])
    return figures, columns, "F1 (%), mean ± standard deviation"


def _last_choice(rows: pa.Table) -> str:
    """Return the choice of a single figure: the written answer, or else the restricted choice."""
    return list(choices(rows))[-1]


def by_test(rows: pa.Table) -> Results:
    """ASP: accuracy by test, beside that of always giving the more frequent label."""
    test_rows = asp_table(rows, _last_choice(rows)).to_pylist()
    figures: dict[str, float] = {}
    for row in test_rows:
        name = f"{row['task']}.{row['test']}"
        _add(figures, "accuracy", name, row["mean"], row["deviation"])
        figures[f"majority/{name}"] = row["majority"]
    columns = {
        "task": [row["task"] for row in test_rows],
        "test": [row["test"] for row in test_rows],
        "rows": [f"{row['rows']:,}" for row in test_rows],
        "prompts": [str(row["prompts"]) for row in test_rows],
        "accuracy": [percent_with_deviation(row["mean"], row["deviation"]) for row in test_rows],
        "majority": [percent_with_deviation(row["majority"], None) for row in test_rows],
    }
    return figures, columns, "accuracy (%), mean ± standard deviation over prompts"


def by_prompt(rows: pa.Table, title: str, labels: Sequence[str]) -> Results:
    """Return accuracy and macro-F1 of a tally: mean, deviation over prompts."""
    answers_of_rows = _answers(rows, _last_choice(rows), labels)
    tables = _confusion(rows, answers_of_rows, ("prompt", "verbaliser"), labels or (_RIGHT,))
    gold = next(iter(tables.values())).sum(axis=1)
    figures: dict[str, float] = {"majority": float(gold.max() / gold.sum())}
    columns = {"prompts": [str(len(tables))], "rows": [f"{int(gold.sum()):,}"]}
    measures = {"accuracy": _accuracy, "macro_f1": _macro_f1}
    for name, measure in measures.items():
        values = [measure(table) for table in tables.values()]
        figures[name] = fmean(values)
        spread = deviation(values)
        if spread is not None:
            figures[f"{name}_deviation"] = spread
        columns[name] = [percent_with_deviation(figures[name], spread)]
    columns["majority"] = [percent_with_deviation(figures["majority"], None)]
    return figures, columns, f"{title} (%), mean ± standard deviation over prompts"


def _macro_f1(table: npt.NDArray[np.float64]) -> float:
    """Return the mean F1 of the labels that occur in gold or among the answers."""
    gold = table.sum(axis=1)
    answered = table.sum(axis=0)[: len(gold)]
    occurring = gold + answered > 0
    hits = np.diagonal(table)
    return float((2 * hits[occurring] / (gold + answered)[occurring]).mean())


def by_rating(rows: pa.Table) -> Results:
    """Return the rank correlation of people's ratings with the model's, by prompt (`ratings`)."""
    figures: dict[str, float] = {}
    columns: dict[str, list[str]] = {"prompt": [], "pairs": [], "spearman": []}
    rated = rows.filter(rows["rating"].is_valid())
    for prompt in sorted(rows["prompt"].unique().to_pylist()):
        of_prompt = rated.filter(pc.equal(rated["prompt"], prompt))
        counts = of_prompt["count"].to_numpy()
        people = np.repeat(of_prompt["gold"].to_numpy(), counts)
        model = np.repeat(of_prompt["rating"].to_numpy(), counts)
        value = metrics.rank_correlations(people, model)["spearman"]
        figures[f"spearman/{metrics.metric_name(prompt)}"] = value
        cells_of_row = (prompt, f"{len(people):,}", f"{value:.3f}")
        for column, cell in zip(columns.values(), cells_of_row, strict=True):
            column.append(cell)
    return figures, columns, "Spearman's rank correlation with people's ratings"


def states(rows: pa.Table) -> dict[str, float]:
    """Return the share of each state of written answers in a tally; none if they were chosen.

    The share of parsed answers is always among them.
    """
    written = rows.select(["state", "count"]).filter(rows["state"].is_valid())
    if not written.num_rows:
        return {}
    total = pc.sum(written["count"]).as_py()
    figures = {f"state/{PARSED}": 0.0}
    for row in merge([written]).to_pylist():
        figures[f"state/{metrics.metric_name(row['state'])}"] = row["count"] / total
    return figures


def _add(
    figures: dict[str, float], kind: str, name: str, mean: float, spread: float | None
) -> None:
    """Enter a mean and, if there is one, its deviation."""
    figures[f"{kind}/{name}"] = mean
    if spread is not None:
        figures[f"{kind}_deviation/{name}"] = spread
