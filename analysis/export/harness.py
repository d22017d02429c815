"""Tasks of lm-evaluation-harness: one YAML file per task, over Parquet files in the same folder.

``lm_eval --include_path FOLDER --tasks adept_clean`` runs a group of them. They are multiple
choice: the answer is the label whose words are most likely after the prompt. The tasks of the group
``adept_clean_generate`` are about the same rows, but the model writes its answer after an
instruction, as a chat server needs, and a pattern finds the label's word in it.

``utils.py`` opens the files relative to itself, so that the folder can be moved. The dataset's
declaration has the questions and the rows they apply to (`etl.declaration.Question`), and
conf/prompts the instructions; unanswerable rows are dropped.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml

from adnominal.analysis.export.content import WHOLE, Config, Content
from adnominal.analysis.export.provenance import About
from adnominal.conf import UserError
from adnominal.etl.declaration import Labels, Question
from adnominal.etl.prompts import files as prompts
from adnominal.etl.prompts.replies import pattern_of
from adnominal.etl.registry import DATASETS

# Version of the tasks: increase it whenever a prompt or label word changes.
VERSION = 1
_METRICS = [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}]
# Written answers, without regard to case; those without a match are wrong.
_WRITTEN_METRICS = [
    {
        "metric": "exact_match",
        "aggregation": "mean",
        "higher_is_better": True,
        "ignore_case": True,
    }
]
_GENERATE = "generate"
_MAX_GEN_TOKS = 256

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
        document = {**task, "metadata": metadata}
        text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=1000)
        # A tag that lm-evaluation-harness resolves next to the file; PyYAML does not know it.
        text += "custom_dataset: !function utils.load\n"
        (out / f"{name}.yaml").write_text(text, encoding="utf-8")
    name = f"{exported.dataset}_{exported.edition}"
    written = [task for task in tasks if task.endswith(f"_{_GENERATE}")]
    chosen = [task for task in tasks if task not in written]
    _write_group(out, name, chosen, {"metric": "acc"})
    if written:
        measure = {"metric": "exact_match", "filter_list": [_GENERATE]}
        _write_group(out, f"{name}_{_GENERATE}", written, measure)
    (out / "utils.py").write_text(_UTILS, encoding="utf-8")
    return rows


def _write_group(out: Path, name: str, tasks: list[str], measure: dict[str, Any]) -> None:
    """Write the YAML of a group, whose score is the mean of its tasks' scores."""
    group = {
        "group": name,
        "task": tasks,
        # Tasks differ in size and question, so each has the same weight.
        "aggregate_metric_list": [{**measure, "weight_by_size": False}],
        "metadata": {"version": VERSION},
    }
    text = yaml.safe_dump(group, sort_keys=False)
    (out / f"_{name}.yaml").write_text(text, encoding="utf-8")


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
    """The name of each file of rows, its rows, and its tasks by name.

    A configuration of the edition gives a file of its test rows or, if the question asks for the
    rows of each value of a column by themselves (`Question.by`), a file for each value. Every
    question gives a task on each file.
    """
    declaration = DATASETS[exported.dataset]
    # The configurations of all rows, without a split: some questions are only about these.
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
            tasks: dict[str, dict[str, Any]] = {}
            for question in questions:
                task = f"{file}_{question.name}" if question.name else file
                tasks[task] = _document(task, file, question)
            order = _label_order(questions[0], declaration.labels)
            tasks |= _generation_documents(exported.dataset, file, order)
            yield file, _written_rows(members, questions[0], exported.dataset), tasks


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


def _label_order(question: Question, labels: Labels) -> list[str]:
    """The labels in the order of their numbers in the file."""
    if labels.numbered or not isinstance(question.choices, Mapping):
        return list(labels.names)
    return list(question.choices)


def _written_rows(rows: pa.Table, question: Question, dataset: str) -> pa.Table:
    """The columns that the tasks need, with the number of the correct choice as ``label``."""
    labels = DATASETS[dataset].labels
    assert labels is not None
    prepared_rows = rows
    if question.prepare is not None:
        prepared_rows = question.prepare(rows)

    # The label is where the question names it, or at the end of its columns.
    columns = [name for name in question.columns if name != "label"]
    place = len(columns)
    if "label" in question.columns:
        place = question.columns.index("label")
    columns += [field for field in _fields(dataset) if field not in columns]
    texts = prepared_rows.select(columns)

    numbers = rows.column(labels.column)
    if labels.numbered:
        return texts.add_column(place, rows.field(labels.column), numbers)
    order = pa.array(_label_order(question, labels), pa.string())
    numbers = pc.index_in(numbers, value_set=order).cast(pa.int64())
    return texts.add_column(place, "label", numbers)


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
        "metric_list": _METRICS,
    }


def _fields(dataset: str) -> tuple[str, ...]:
    """The columns that the instructions of a dataset have."""
    return prompts.SUBJECTS[dataset].fields if dataset in prompts.SUBJECTS else ()


def _generation_documents(dataset: str, file: str, order: list[str]) -> dict[str, dict[str, Any]]:
    """The YAML documents, by task, of the instructions of a dataset; `order` numbers the labels."""
    if dataset not in prompts.SUBJECTS:
        return {}
    declared = prompts.SUBJECTS[dataset].declared
    documents = {}
    for template in prompts.read(declared.file, dataset, form=_GENERATE).prompts:
        (verbaliser,) = template.verbalisers
        words = [verbaliser.words[verbaliser.labels.index(label)][0] for label in order]
        # Braces are Jinja's.
        fields = {field: f"{{{{{field}}}}}" for field in _fields(dataset)}
        pattern = {"function": "regex", "regex_pattern": pattern_of(template, verbaliser)}
        take_first = {"function": "take_first"}
        name = template.name.rsplit("/", 1)[-1].partition("@")[0]
        task = f"{file}_{name}_{_GENERATE}"
        documents[task] = {
            "task": task,
            "dataset_kwargs": {"file": file},
            "test_split": "test",
            "output_type": "generate_until",
            "doc_to_text": template.text_around_gap(fields)[0],
            "doc_to_target": f"{{{{{words}[label]}}}}",
            # An empty `until`: the text that ends an answer by default may be in its reasoning.
            "generation_kwargs": {"until": [], "max_gen_toks": _MAX_GEN_TOKS, "do_sample": False},
            "filter_list": [{"name": _GENERATE, "filter": [pattern, take_first]}],
            "metric_list": _WRITTEN_METRICS,
        }
    return documents
