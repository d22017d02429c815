"""Tasks of lm-evaluation-harness: one YAML file per task, over Parquet files in the same folder.

``lm_eval --include_path FOLDER --tasks adept_clean`` runs a group of them. All are multiple choice:
the answer is the label whose words are most likely after the prompt. ``utils.py`` opens the files
relative to itself, so that the folder can be moved. The dataset's declaration has the questions and
the rows they apply to (`etl.declaration.Question`); unanswerable rows are dropped.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml

from adnominal.analysis.export.content import WHOLE, Config, Content
from adnominal.analysis.export.sources import About
from adnominal.conf import UserError
from adnominal.etl.declaration import Labels, Question
from adnominal.etl.registry import DATASETS

# Version of the tasks: increase it whenever a prompt or label word changes.
VERSION = 1
_METRICS = [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}]

_UTILS = '''"""Opens the Parquet files next to this file, wherever the folder is."""

from pathlib import Path

import datasets


def load(file, **_):
    """The rows of data/FILE.parquet, as the split ``test``."""
    path = Path(__file__).parent / "data" / f"{file}.parquet"
    return datasets.load_dataset("parquet", data_files={"test": str(path)})
'''


def write(out: Path, exported: Content, about: About) -> dict[str, int]:
    """Write tasks, a group, ``utils.py`` and the rows; return the number of rows by file.

    Raises:
        UserError: there are no rows to test on.
    """
    (out / "data").mkdir()
    rows: dict[str, int] = {}
    tasks: dict[str, dict[str, Any]] = {}
    for file, table, of_file in _files(exported):
        pq.write_table(table, out / "data" / f"{file}.parquet", compression="zstd")
        rows[f"data/{file}.parquet"] = table.num_rows
        tasks |= of_file
    if not tasks:
        raise UserError(
            f"dataset={exported.dataset} edition={exported.edition}: no rows to test on"
        )
    metadata = {"version": VERSION, "licence": about.licence, "citation": about.citation}
    for name, task in tasks.items():
        document = {**task, "metric_list": _METRICS, "metadata": metadata}
        text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=1000)
        # A tag that lm-evaluation-harness resolves next to the file; PyYAML does not know it.
        text += "custom_dataset: !function utils.load\n"
        (out / f"{name}.yaml").write_text(text, encoding="utf-8")
    group = {
        "group": f"{exported.dataset}_{exported.edition}",
        "task": list(tasks),
        # Tasks differ in size and question, so each has the same weight.
        "aggregate_metric_list": [{"metric": "acc", "weight_by_size": False}],
        "metadata": {"version": VERSION},
    }
    (out / f"_{group['group']}.yaml").write_text(
        yaml.safe_dump(group, sort_keys=False), encoding="utf-8"
    )
    (out / "utils.py").write_text(_UTILS, encoding="utf-8")
    return rows


def _test_rows(config: Config, *, whole: bool) -> pa.Table | None:
    """The rows to test on: all rows for a question on the whole edition, otherwise the test part,
    or the validation part of a release that withholds its test part."""
    parts = {part.name: part for part in config.parts}
    for name in (WHOLE,) if whole else ("test", "validation"):
        if name in parts:
            table = pa.Table.from_batches(parts[name].batches(), parts[name].schema)
            if table.num_rows:
                return table
    return None


def _files(exported: Content) -> Iterator[tuple[str, pa.Table, dict[str, dict[str, Any]]]]:
    """The name of each file of rows, its rows, and its tasks by name."""
    declaration = DATASETS[exported.dataset]
    wholes = {table.whole.name for table in declaration.tables if table.whole is not None}
    for config in exported.configs:
        questions = [
            question
            for question in declaration.questions
            if not question.whole or config.name in wholes
        ]
        if not questions or declaration.labels is None:
            continue
        rows = _test_rows(config, whole=questions[0].whole)
        if rows is None:
            continue
        name = f"{exported.dataset}_{exported.edition}_{config.name}"
        # A dataset's questions differ only in wording: they are about the same rows.
        rows = _answerable_rows(rows, questions[0], declaration.labels)
        for suffix, members in _by_value(rows, questions[0]):
            file = f"{name}{suffix}"
            names = {"_".join(filter(None, (file, asked.name))): asked for asked in questions}
            tasks = {task: _document(task, file, asked) for task, asked in names.items()}
            yield file, _written_rows(members, questions[0], declaration.labels), tasks


def _by_value(rows: pa.Table, question: Question) -> Iterator[tuple[str, pa.Table]]:
    """The rows of each separate task, with the suffix of their file."""
    if question.by is None:
        yield "", rows
        return
    for value in question.values:
        members = rows.filter(pc.equal(rows.column(question.by), value))
        if members.num_rows:
            yield f"_{value}", members.sort_by("item_id")


def _answerable_rows(rows: pa.Table, question: Question, labels: Labels) -> pa.Table:
    """The rows that a question applies to."""
    for column, value in question.where.items():
        if column in rows.column_names:
            rows = rows.filter(pc.equal(rows.column(column), value))
    if labels.unanswerable:
        unanswerable = pa.array(labels.unanswerable, pa.string())
        rows = rows.filter(pc.invert(pc.is_in(rows.column(labels.column), value_set=unanswerable)))
    return rows


def _written_rows(rows: pa.Table, question: Question, labels: Labels) -> pa.Table:
    """The columns that a question needs, with the number of the correct choice as ``label``."""
    prepared_rows = rows if question.prepare is None else question.prepare(rows)
    numbers = rows.column(labels.column)
    if not labels.numbered:
        order = list(question.choices if isinstance(question.choices, Mapping) else labels.names)
        numbers = pc.index_in(numbers, value_set=pa.array(order, pa.string())).cast(pa.int64())
    columns = [name for name in question.columns if name != "label"]
    place = question.columns.index("label") if "label" in question.columns else len(columns)
    label = pa.field("label", numbers.type) if not labels.numbered else rows.field(labels.column)
    return prepared_rows.select(columns).add_column(place, label, numbers)


def _document(task: str, file: str, question: Question) -> dict[str, Any]:
    """The YAML document of a task: its own settings and those that all tasks share."""
    choices = question.choices
    return {
        "task": task,
        "dataset_kwargs": {"file": file},
        "test_split": "test",
        "output_type": "multiple_choice",
        "doc_to_text": question.text,
        "doc_to_choice": choices if isinstance(choices, str) else list(choices.values()),
        "doc_to_target": "{{label}}",
    }
