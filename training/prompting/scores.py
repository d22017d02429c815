"""Scores of prompted models: PLANE's tables 4 and 8, ASP's zero-shot rows, and accuracy by prompt.

Everything comes from rows of the table ``predictions`` with the group columns class and
inference_type (PLANE) or test (ASP). A *cell* of PLANE is one way of asking: a class of adjectives,
an inference type, a template, a verbaliser and, with examples, their order. The paper computes F1
for each cell and reports its deviation. It does not state this, but its figures 6 and 7 have F1 by
inference type, and deviations as large as table 4's cannot come from pooled types.

F1 of a cell is the mean over its gold labels, weighted by their rows. In PLANE all rows of a cell
have one gold label, so it is 2r / (1 + r), with r the share of correct answers: an answer that is
not a word of the verbaliser costs as much as the wrong word.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from adnominal.conf.numbers import percent_with_deviation
from adnominal.etl.asp import TESTS
from adnominal.etl.asp.baselines import baselines
from adnominal.etl.plane import CLASSES
from adnominal.etl.registry import DATASETS
from adnominal.training import metrics

AVERAGE = "average"
_CELL = ("model", "scheme", "class", "inference_type", "prompt", "verbaliser", "premise_order")
_CELLS = pa.schema(
    [
        *((name, pa.int32() if name == "inference_type" else pa.string()) for name in _CELL),
        ("rows", pa.int64()),
        ("f1", pa.float64()),
    ]
)

Results: TypeAlias = tuple[dict[str, float], dict[str, list[str]], str]
"""Figures by name, shares from 0 to 1; columns of a table in percent, and its caption."""


def first_tokens(rows: pa.Table) -> bool:
    """Whether the rows have the first predicted token; those of masked models do."""
    return bool(rows.column("text").null_count < rows.num_rows)


def answers(rows: pa.Table, choice: str) -> list[str | None]:
    """Return the label of each row; None if its first token is not a word of the verbaliser.

    `choice` selects the answer: the ``first`` predicted token, as in the paper, or ``restricted``,
    the more probable of the verbaliser's words.

    Raises:
        ValueError: `choice` is ``first`` and rows have no first token.
    """
    if choice == "first":
        if not first_tokens(rows):
            raise ValueError("no first tokens: these answers are not a masked language model's")
        return list(rows.column("predicted").to_pylist())
    # Labels in the order of the column scores.
    return [
        DATASETS[task].label_names[int(np.argmax(scores))]
        for task, scores in _tuples(rows, "task", "scores")
    ]


def _tuples(rows: pa.Table, *names: str) -> Iterator[tuple[Any, ...]]:
    return zip(*(rows.column(name).to_pylist() for name in names), strict=True)


def cells(rows: pa.Table, choice: str = "first") -> pa.Table:
    """Return the F1 of each PLANE cell, by class, inference type, template and verbaliser.

    Columns model, scheme, class, inference_type, prompt, verbaliser, premise_order (None without
    examples), rows, f1. Rows of several models may be mixed.
    """
    return _cells(rows, answers(rows, choice))


def always(rows: pa.Table, label: str) -> pa.Table:
    """Return `cells` for answers that are all `label`, the baseline of a table."""
    return _cells(rows, [label] * rows.num_rows)


def _cells(rows: pa.Table, predicted: Sequence[str | None]) -> pa.Table:
    gold = rows.column("gold").to_pylist()
    labels = list(dict.fromkeys(gold))
    # Answers that are no gold label are always wrong; the last column counts them.
    columns = {label: number for number, label in enumerate(labels)}
    wrong = len(labels)
    tables: dict[tuple[Any, ...], npt.NDArray[np.float64]] = {}
    for key, label, answer in zip(_tuples(rows, *_CELL), gold, predicted, strict=True):
        if key not in tables:
            tables[key] = np.zeros((len(labels), len(labels) + 1))
        tables[key][columns[label], columns.get(answer, wrong)] += 1
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


def asp_table(rows: pa.Table) -> pa.Table:
    """Return accuracy by task and test of ASP, averaged over prompts (table 3, "T0").

    The columns are model, task (entailment or degree), test, rows, prompts, mean, deviation (over
    prompts and verbalisers), and majority (always giving the more frequent label); shares are from
    0 to 1. The paper averages over several prompts without naming them.
    """
    columns = ("model", "fold", "test", "prompt", "verbaliser", "gold")
    right: dict[tuple[str, ...], dict[tuple[str, ...], list[bool]]] = defaultdict(dict)
    gold: dict[tuple[str, ...], list[str]] = defaultdict(list)
    predicted = answers(rows, "restricted")
    for (*key, label), answer in zip(_tuples(rows, *columns), predicted, strict=True):
        test, prompt = tuple(key[:3]), tuple(key[3:])
        right[test].setdefault(prompt, []).append(label == answer)
        gold[test].append(label)
    order = sorted(right, key=lambda key: (key[0], key[1] != "entailment", TESTS.index(key[2])))
    table_rows = []
    for test in order:
        shares = [fmean(hits) for hits in right[test].values()]
        table_rows.append(
            {
                "model": test[0],
                "task": test[1],
                "test": test[2],
                "rows": len(gold[test]) // len(shares),
                "prompts": len(shares),
                "mean": fmean(shares),
                "deviation": deviation(shares),
                "majority": baselines(gold[test]).majority / 100,
            }
        )
    return pa.Table.from_pylist(table_rows, _ASP_TABLE)


_ASP_TABLE = pa.schema(
    [
        *((name, pa.string()) for name in ("model", "task", "test")),
        *((name, pa.int64()) for name in ("rows", "prompts")),
        *((name, pa.float64()) for name in ("mean", "deviation", "majority")),
    ]
)


def by_class(rows: pa.Table, label: str) -> Results:
    """PLANE: F1 by class for both choices of answers, beside that of always `label`."""
    tables = {"restricted choice": cells(rows, "restricted")}
    if first_tokens(rows):
        tables = {"first token": cells(rows), **tables}
    tables[f"always {label}"] = always(rows, label)
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


def by_test(rows: pa.Table) -> Results:
    """ASP: accuracy by test, beside that of always giving the more frequent label."""
    test_rows = asp_table(rows).to_pylist()
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
    """Return accuracy and macro-F1 of the most probable label: mean, deviation over prompts."""
    gold = np.array([labels.index(name) for name in rows["gold"].to_pylist()])
    predicted = np.array(rows["scores"].to_pylist()).argmax(axis=1)
    prompts = np.array([" ".join(name) for name in _tuples(rows, "prompt", "verbaliser")])
    scores = [
        metrics.classification(gold[rows_of_prompt], predicted[rows_of_prompt], labels)
        for rows_of_prompt in (prompts == name for name in np.unique(prompts))
    ]
    figures: dict[str, float] = {"majority": scores[0]["majority"]}
    columns = {"prompts": [str(len(scores))], "rows": [f"{len(gold) // len(scores):,}"]}
    for name in ("accuracy", "macro_f1"):
        values = [prompt_scores[name] for prompt_scores in scores]
        figures[name] = fmean(values)
        spread = deviation(values)
        if spread is not None:
            figures[f"{name}_deviation"] = spread
        columns[name] = [percent_with_deviation(figures[name], spread)]
    columns["majority"] = [percent_with_deviation(figures["majority"], None)]
    return figures, columns, f"{title} (%), mean ± standard deviation over prompts"


def _add(
    figures: dict[str, float], kind: str, name: str, mean: float, spread: float | None
) -> None:
    """Enter a mean and, if there is one, its deviation."""
    figures[f"{kind}/{name}"] = mean
    if spread is not None:
        figures[f"{kind}_deviation/{name}"] = spread
