"""Datasets for the library `datasets`: the card of a Hugging Face folder, and rows in memory.

The card is README.md with the YAML header that ``datasets.load_dataset`` reads.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from adnominal.analysis.export.content import Config, Content, File
from adnominal.analysis.export.facts import EditionFacts
from adnominal.analysis.export.provenance import About
from adnominal.conf import UserError, missing_package
from adnominal.conf.help import spelling_hint
from adnominal.conf.markdown import table_text

if TYPE_CHECKING:
    import datasets

_DTYPES = {
    pa.string(): "string",
    pa.int32(): "int32",
    pa.int64(): "int64",
    pa.float64(): "float64",
    pa.bool_(): "bool",
}

_OTHER_LICENCE = {"license_name": "see-license", "license_link": "LICENSE.md"}

# The questions of Gebru et al. (2021, Datasheets for Datasets) that no table answers.
_MOTIVATION = (
    "*To be written: for what purpose, by whom and with whose funding was this edition made?*"
)
_CONTENT = (
    "*To be written: is the edition a sample of a larger set? Does it relate to people, and could "
    "it be offensive or reveal who they are?*"
)
_COLLECTION = (
    "*To be written: who was involved (annotators, their pay, instructions and consent), and over "
    "what time?*"
)
_USES = (
    "*To be written: what has it been used for, and what should it not be used for? Who "
    "distributes it, answers questions and corrects errors?*"
)


def write(
    out: Path,
    exported: Content,
    files: Sequence[File],
    about: About,
    facts: EditionFacts,
) -> None:
    """Write README.md: the header, and a card with the facts of the edition and their sources.

    What only the people who made the edition know has a heading and a sentence that asks for it.
    """
    first_file = files[0]
    sample = pq.read_table(out / first_file.path).slice(0, 3).to_pylist()
    lines = ["---", _yaml(_header(exported, files, about), width=1000), "---", ""]
    lines += [f"# {about.title}", "", about.summary, ""]
    lines += ["## Motivation", "", _MOTIVATION, ""]
    lines += ["## Configurations", "", *_configuration_lines(exported, files), ""]
    lines += ["The rows are counted in the Parquet files of this folder.", ""]
    lines += _column_lines(exported, files)
    lines += [f"Rows of {first_file.config}, {first_file.part}:", ""]
    lines += ["```yaml", *(_yaml([row]) for row in sample), "```", ""]
    lines += ["## Counts", "", *facts.counts(), _CONTENT, ""]
    lines += ["## Collection", "", _COLLECTION, "", *facts.drops(), ""]
    lines += ["## Provenance", "", *facts.commits(), ""]
    lines += ["## Licence", "", f"`{about.licence}`. {' '.join(about.terms)}", ""]
    lines += [*_made_of(about), ""]
    lines += ["## Uses and maintenance", "", _USES, ""]
    lines += ["## Citation", "", about.citation, ""]
    lines += ["## Sources of the figures", "", *facts.source_list(), ""]
    (out / "README.md").write_text("\n".join(lines), encoding="utf-8")


def _configuration_lines(exported: Content, files: Sequence[File]) -> list[str]:
    """The rows of each part of each configuration."""
    meanings = {config.name: config.meaning for config in exported.configs}
    cells = [(file.config, meanings[file.config], file.part, f"{file.rows:,}") for file in files]
    names = ("name", "what", "part", "rows")
    rules = ("---", "---", "---", "---:")
    return [table_text(names, rules, cells)]


def dataset_dict(exported: Content, config: str | None) -> datasets.DatasetDict:
    """A configuration in memory, equal to what ``datasets.load_dataset`` reads from the folder.

    `config` is the name of a configuration; None for the default, which is the first.

    Raises:
        UserError: no such configuration, or the library `datasets` is not installed.
    """
    try:
        import datasets
    except ModuleNotFoundError as error:
        raise UserError(missing_package(error)) from error
    parts = {}
    for part in _config_named(exported, config).parts:
        rows = pa.Table.from_batches(part.batches(), part.schema)
        if rows.num_rows:
            parts[part.name] = _with_features(rows, exported.classes)
    return datasets.DatasetDict(parts)


def _config_named(exported: Content, name: str | None) -> Config:
    """The configuration of a name, or the first one if none is named."""
    by_name = {config.name: config for config in exported.configs}
    if name is None:
        return exported.configs[0]
    if name not in by_name:
        raise UserError(
            f"config={name}: {exported.dataset}, edition {exported.edition}, has "
            f"{', '.join(by_name)}{spelling_hint(name, by_name)}"
        )
    return by_name[name]


def _with_features(rows: pa.Table, classes: Mapping[str, Sequence[str]]) -> datasets.Dataset:
    """The rows with the types of `datasets`, which has the names of numbered classes."""
    import datasets

    features = datasets.Features.from_arrow_schema(rows.schema)
    for column, names in classes.items():
        if column in features:
            features[column] = datasets.ClassLabel(names=list(names))
    info = datasets.DatasetInfo(features=features)
    return datasets.Dataset(rows.cast(features.arrow_schema), info=info)


def _yaml(value: Any, **options: int) -> str:
    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, **options)).rstrip()


def licence_text(about: About) -> str:
    """The terms of redistribution, for LICENSE.md."""
    name = f"{about.licence} ({about.licence_url})" if about.licence_url else about.licence
    lines = [f"# {about.title}: licence", "", f"Licence: {name}", "", *about.terms, ""]
    return "\n".join([*lines, *_made_of(about)]) + "\n"


def _made_of(about: About) -> list[str]:
    """The sources of the rows, as a Markdown list."""
    return ["Made of:", "", *(f"- {source}" for source in about.made_of)]


def _feature(column: pa.Field, classes: Sequence[str] | None) -> dict[str, Any]:
    if classes:
        names = {str(place): name for place, name in enumerate(classes)}
        return {"name": column.name, "dtype": {"class_label": {"names": names}}}
    if pa.types.is_list(column.type):
        return {"name": column.name, "list": _DTYPES[column.type.value_type]}
    return {"name": column.name, "dtype": _DTYPES[column.type]}


def _size(rows: int) -> str:
    """The hub's size category for this number of rows."""
    names = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M")
    return names[bisect.bisect([10**digits for digits in range(3, 8)], rows)]


def _header(exported: Content, files: Sequence[File], about: About) -> dict[str, Any]:
    """The YAML header of the dataset card: licence, configurations, features and sizes."""
    names = list(dict.fromkeys(file.config for file in files))
    configs, infos = [], []
    for name in names:
        members = [file for file in files if file.config == name]
        size = sum(file.bytes for file in members)
        configs.append(
            {
                "config_name": name,
                **({"default": True} if name == names[0] else {}),
                "data_files": [{"split": file.part, "path": file.path} for file in members],
            }
        )
        infos.append(
            {
                "config_name": name,
                "features": [_feature(f, exported.classes.get(f.name)) for f in members[0].schema],
                "splits": [
                    {"name": file.part, "num_bytes": file.bytes, "num_examples": file.rows}
                    for file in members
                ],
                "download_size": size,
                "dataset_size": size,
            }
        )
    return {
        "pretty_name": about.title,
        "language": ["en"],
        "license": about.licence,
        **(_OTHER_LICENCE if about.licence == "other" else {}),
        "task_categories": [about.task],
        "size_categories": [_size(max(file.rows for file in files))],
        "configs": configs,
        "dataset_info": infos,
    }


def _column_lines(exported: Content, files: Sequence[File]) -> list[str]:
    """A table of columns for each distinct schema of the files."""
    lines: list[str] = []
    schemas: set[pa.Schema] = set()
    for file in files:
        if file.schema.remove_metadata() in schemas:
            continue
        schemas.add(file.schema.remove_metadata())
        lines += [f"## Columns of {file.config}", "", "| column | type | meaning |"]
        lines += ["| --- | --- | --- |"]
        for column in file.schema:
            comment = (column.metadata or {}).get(b"comment", b"").decode()
            names = exported.classes.get(column.name)
            if names:
                comment += " (" + ", ".join(f"{i} {name}" for i, name in enumerate(names)) + ")"
            lines.append(f"| {column.name} | {column.type} | {comment} |")
        lines.append("")
    return lines
