"""Tasks of lm-evaluation-harness: a YAML file a task, over Parquet files in the same folder.

``lm_eval --include_path FOLDER --tasks adept_clean`` runs a group of them. All are multiple choice:
the model's likelihood of each label's words after the prompt decides. ``utils.py`` opens the files
beside it, so that the folder can be moved.

ADEPT asks for the change of plausibility, as its annotators were (table 3 of the paper). PLANE has
the paper's two templates with its three pairs of verbalisers (tables 2 and 3, without examples; the
paper's masked models fill the blank, here the whole of both sentences is compared). ASP asks
whether the premise entails the hypothesis; rows that nobody can answer (discard) are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml

from analysis import labels
from analysis.export.content import Config, Content
from analysis.export.sources import About
from conf import UserError
from etl.asp import DISCARD, ENTAILMENT, TESTS
from etl.knowledge.english import article

# A task whose prompt or label words change is another: raise it with them.
VERSION = 1

# Good first (table 3).
VERBALISERS = {
    "good_poor": ("good", "poor"),
    "true_false": ("true", "false"),
    "positive_negative": ("positive", "negative"),
}
_TEMPLATES = {
    "internal": "{first} is a {verbaliser} example of {second}.",
    "external": "{first} is a type of {bare}: {verbaliser}.",
}

_UTILS = '''"""Opens the Parquet files beside this file, wherever the folder lies."""

from pathlib import Path

import datasets


def load(file, **_):
    """The rows of data/FILE.parquet, as the split ``test``."""
    path = Path(__file__).parent / "data" / f"{file}.parquet"
    return datasets.load_dataset("parquet", data_files={"test": str(path)})
'''


@dataclass(frozen=True)
class _Task:
    """A task's file: `doc` holds what differs between tasks."""

    name: str
    file: str
    doc: Mapping[str, Any]


def write(out: Path, exported: Content, of: About) -> dict[str, int]:
    """Write tasks, a group, ``utils.py`` and the rows; rows by file.

    Raises:
        UserError: a dataset without tasks (SyGNS's answers are formulas), or none to test on.
    """
    makers = {"adept": _adept, "plane": _plane, "asp": _asp}
    if exported.dataset not in makers:
        raise UserError(
            f"dataset={exported.dataset} format=lm_eval: expected one of {', '.join(makers)}; "
            "SyGNS's meanings are scored by python -m analysis.semantics"
        )
    (out / "data").mkdir()
    rows: dict[str, int] = {}
    tasks: list[_Task] = []
    for made, file, table in makers[exported.dataset](exported):
        pq.write_table(table, out / "data" / f"{file}.parquet", compression="zstd")
        rows[f"data/{file}.parquet"] = table.num_rows
        tasks += made
    if not tasks:
        raise UserError(
            f"dataset={exported.dataset} edition={exported.edition}: no rows to test on"
        )
    for task in tasks:
        text = yaml.safe_dump(_document(task, of), sort_keys=False, allow_unicode=True, width=1000)
        # A tag that lm-evaluation-harness resolves beside the file, and PyYAML does not know.
        text += "custom_dataset: !function utils.load\n"
        (out / f"{task.name}.yaml").write_text(text, encoding="utf-8")
    group = {
        "group": f"{exported.dataset}_{exported.edition}",
        "task": [task.name for task in tasks],
        # Tasks differ in size and in what they ask: every one counts as much.
        "aggregate_metric_list": [{"metric": "acc", "weight_by_size": False}],
        "metadata": {"version": VERSION},
    }
    (out / f"_{group['group']}.yaml").write_text(
        yaml.safe_dump(group, sort_keys=False), encoding="utf-8"
    )
    (out / "utils.py").write_text(_UTILS, encoding="utf-8")
    return rows


def _document(task: _Task, of: About) -> dict[str, Any]:
    return {
        "task": task.name,
        "dataset_kwargs": {"file": task.file},
        "test_split": "test",
        "output_type": "multiple_choice",
        **task.doc,
        "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
        "metadata": {"version": VERSION, "licence": of.licence, "citation": of.citation},
    }


_Made = Iterator[tuple[list[_Task], str, pa.Table]]


def _tested(config: Config) -> pa.Table | None:
    """The rows to test on; the validation part of a release that keeps its test part back."""
    parts = {part.name: part for part in config.parts}
    for name in ("test", "validation"):
        if name in parts:
            table = pa.Table.from_batches(parts[name].batches(), parts[name].schema)
            if table.num_rows:
                return table
    return None


def _adept(exported: Content) -> _Made:
    for config in exported.configs:
        rows = _tested(config)
        if rows is None:
            continue
        name = f"adept_{exported.edition}_{config.name}"
        doc = {
            "doc_to_text": "Original: {{sentence1}}\nModified: {{sentence2}}\n"
            "Compared with the original, the modified statement is",
            "doc_to_choice": list(labels.ADEPT),
            "doc_to_target": "{{label}}",
        }
        columns = ["item_id", "sentence1", "sentence2", "modifier", "noun", "label"]
        yield [_Task(name, name, doc)], name, rows.select(columns)


def _plane(exported: Content) -> _Made:
    for config in exported.configs:
        rows = _tested(config)
        if rows is None:
            continue
        name = f"plane_{exported.edition}_{config.name}"
        tasks = [
            _Task(f"{name}_{template}_{pair}", name, _plane_doc(text, good, poor))
            for template, text in _TEMPLATES.items()
            for pair, (good, poor) in VERBALISERS.items()
        ]
        yield tasks, name, _phrases(rows)


def _plane_doc(template: str, good: str, poor: str) -> dict[str, Any]:
    start, _, rest = template.partition("{verbaliser}")
    blank = {"first": "{{first}}", "second": "{{second}}", "bare": "{{bare}}"}
    # What follows the blank: words of the row between words of the template, joined by Jinja.
    after, _, end = rest.partition("{second}")
    said = [
        f"'{word}{after}' ~ second ~ '{end}'" if end else f"'{word}{rest}'" for word in (poor, good)
    ]
    return {
        "doc_to_text": start.format(**blank).rstrip(),
        # In the order of the labels: 0 not entailed, 1 entailed.
        "doc_to_choice": "{{[" + ", ".join(said) + "]}}",
        "doc_to_target": "{{label}}",
    }


def _phrases(rows: pa.Table) -> pa.Table:
    """Phrases with their articles: by sound, or ``a`` throughout where the edition writes that."""
    columns = [rows.column(name).to_pylist() for name in ("premise", "conclusion", "sentence")]
    first, second, bare = [], [], []
    for premise, conclusion, sentence in zip(*columns, strict=True):
        # The published items, and those after them, have no full stop and never "an".
        written = article if sentence.endswith(".") else lambda _: "a"
        first.append(f"{written(premise).capitalize()} {premise}")
        second.append(f"{written(conclusion)} {conclusion}")
        bare.append(conclusion)
    kept = rows.select(["item_id", "class", "inference_type", "label"])
    for name, values in (("first", first), ("second", second), ("bare", bare)):
        kept = kept.append_column(name, pa.array(values, pa.string()))
    return kept


def _asp(exported: Content) -> _Made:
    for config in exported.configs:
        rows = _tested(config)
        # Rounds of fine-tuning test on rows of the two whole configurations.
        if rows is None or config.name not in ("entailment", "degree"):
            continue
        if config.name == "degree":
            rows = rows.filter(pc.equal(rows.column("variant"), "base"))
        rows = rows.filter(pc.not_equal(rows.column("label"), DISCARD))
        for test in TESTS:
            own = rows.filter(pc.equal(rows.column("test"), test))
            if not own.num_rows:
                continue
            own = own.sort_by("item_id")
            name = f"asp_{exported.edition}_{config.name}_{test}"
            label = [int(value == ENTAILMENT) for value in own.column("label").to_pylist()]
            kept = own.select(["item_id", "premise", "hypothesis"])
            kept = kept.append_column("label", pa.array(label, pa.int64()))
            doc = {
                "doc_to_text": "{{premise}}\n"
                'Question: Does this entail that "{{hypothesis}}"? Yes or no?\nAnswer:',
                "doc_to_choice": ["No", "Yes"],
                "doc_to_target": "{{label}}",
            }
            yield [_Task(name, name, doc)], name, kept
