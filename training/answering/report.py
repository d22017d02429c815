"""Format scores as Markdown: the matrix of models and tasks, and tables of one cell."""

from collections import Counter
from collections.abc import Mapping, Sequence

import pyarrow as pa

from adnominal.conf.markdown import markdown
from adnominal.etl.registry import DATASETS
from adnominal.training.answering import matrix
from adnominal.training.answering.readings import ScoredModel
from adnominal.training.tasks import Examples


def names_of(models: Sequence[ScoredModel]) -> dict[str, str]:
    """Return each model's name in the matrix: its training task, with its own name if ambiguous."""
    names: dict[str, str] = {}
    for model in models:
        trained = model.source.trained
        name = model.source.name
        names[name] = name if trained is None else f"{trained.dataset} ({trained.model})"
    times = Counter(names.values())
    return {name: text if times[text] == 1 else name for name, text in names.items()}


def matrix_text(
    cells: pa.Table,
    names: Mapping[str, str],
    keys: Mapping[str, str],
    undefined_cells: Mapping[tuple[str, str], str],
) -> str:
    """Return accuracy with interval and macro-F1, one row per model, and why cells are empty.

    `names` has what each model is called, `keys` what the task of each run is called in ``tasks=``.
    """
    lines = [
        "Accuracy in percent (95 % interval), by what the model was trained on:",
        "",
        markdown(matrix.grid(cells, names=names, keys=keys)),
        "",
        "Macro-F1 in percent:",
        "",
        markdown(matrix.grid(cells, "macro_f1", names, keys)),
        "",
    ]
    for (model, key), reason in undefined_cells.items():
        lines.append(f"- {names.get(model, model)} on {key}: not defined. {reason}")
    return "\n".join(lines)


def details(title: str, rows: pa.Table, examples: Examples, task: str) -> str:
    """Return tables of one cell: scores, and accuracy and the model's own answers by group."""
    names = ["answers", "rows", "accuracy", "low", "high", "macro_f1", "majority"]
    parts = [f"## {title}", markdown(matrix.matrix(rows).select(names), 4)]
    dataset = DATASETS.get(task)
    if dataset is None or dataset.labels is None:
        return "\n\n".join(parts) + "\n"
    group_column = None if dataset.prompts is None else dataset.prompts.group
    for name in dataset.training.groups:
        if name not in examples.groups or len(examples.group(name)) < 2:
            continue
        groups = _groups(examples, name)
        title = name.replace("_", " ")
        parts += [f"Accuracy by {title}:", _in_percent(matrix.accuracy_by_group(rows, groups))]
        if dataset.training.measure == "f1" and name == group_column:
            by_class = matrix.f1_by_group(rows, groups)
            parts += [
                "F1 by class (with a third label as separate, and as negative), in percent; "
                f"average {100 * matrix.average(by_class):.1f}:",
                _in_percent(by_class),
            ]
        if name == group_column and rows.column("text").null_count == 0:
            parts += [
                f"The model's own answers by {title} and gold label, share of these in percent:",
                _in_percent(matrix.answers_by_group(rows, groups)),
            ]
    return "\n\n".join(parts) + "\n"


def _groups(examples: Examples, name: str) -> dict[str, str]:
    """Return each item's group; ASP's variants and number ranges are combined with their test."""
    values = examples.groups[name].to_pylist()
    if name in ("variant", "numbers"):
        tests = examples.groups["test"].to_pylist()
        values = [
            None if value is None else f"{test} {value}"
            for value, test in zip(values, tests, strict=True)
        ]
    pairs = zip(examples.item_ids.to_pylist(), values, strict=True)
    return {item: value for item, value in pairs if value is not None}


def _in_percent(table: pa.Table) -> str:
    """Convert shares to percent."""
    columns = {
        name: [100 * v for v in column.to_pylist()] if pa.types.is_floating(column.type) else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    return markdown(pa.table(columns))
