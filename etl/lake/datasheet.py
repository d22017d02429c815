"""A datasheet (Gebru et al. 2021) of a built dataset: the facts from its tables, the rest to fill.

Every figure comes from a query over a table at a version, or from its log, and is stated with that
source. A template may be one's own; a number typed into it, or a name that no figure has, is
refused, so that a datasheet cannot say what nothing backs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from conf import ROOT, UserError
from etl.lake import arrow
from etl.lake.log import Record
from etl.lake.tables import table as declared_table

TEMPLATE = ROOT / "conf" / "datasheet" / "template.md"
_FIGURE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_NUMBER = re.compile(r"\d")
_SOURCED = re.compile(r"\(source: [^)]+\)")


@dataclass(frozen=True)
class Dataset:
    """What is worth counting of a table.

    counted   columns of few values, whose values are counted
    distinct  columns whose different values are counted
    texts     columns of sentences, whose words are counted
    splits    a table of splits with the columns that name scheme and part, if there is one
    """

    counted: tuple[str, ...]
    distinct: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    splits: tuple[str, tuple[str, ...]] | None = None


_ASP_SPLITS = ("asp_splits", ("scheme", "round", "part"))
_ADEPT_SPLITS = ("split_random", "split_noun_disjoint", "split_adjective_disjoint")
DATASETS: Mapping[str, Dataset] = {
    "adept": Dataset(
        ("label", "agreement", *_ADEPT_SPLITS), ("noun", "modifier"), ("sentence1", "sentence2")
    ),
    "adept_items": Dataset(
        ("relation", "path", "nonsubsective", "chosen"),
        ("noun", "adjective", "sentence"),
        ("sentence", "modified_sentence"),
    ),
    "plane_items": Dataset(
        ("class", "inference_type", "label", "distance"),
        ("adjective", "noun", "hypernym"),
        ("sentence",),
        ("plane_splits", ("scheme", "fold", "part")),
    ),
    "asp_entailment": Dataset(
        ("test", "label"), ("adjective", "noun"), ("premise", "hypothesis"), _ASP_SPLITS
    ),
    "asp_degree": Dataset(
        ("test", "variant", "label", "gold"),
        ("adjective", "noun"),
        ("premise", "hypothesis"),
        _ASP_SPLITS,
    ),
    "sygns": Dataset(
        ("depth",), ("sentence",), ("sentence",), ("sygns_splits", ("scheme", "primitive", "part"))
    ),
}


@dataclass
class _Sources:
    """The sources of figures, numbered in the order in which they are first named."""

    lines: list[str]

    def note(self, text: str) -> str:
        """A reference to a source, as [2]."""
        if text not in self.lines:
            self.lines.append(text)
        return f"[{self.lines.index(text) + 1}]"


def datasheet(lake: str, table: str, edition: str, template: Path = TEMPLATE) -> str:
    """The datasheet, in Markdown, of one edition of a table.

    Raises:
        UserError: a table without datasheet, no rows of the edition, a template that is not there,
            with a figure that is not known, or with a number that has no source.
        LakeError: no such table in the lake.
    """
    if table not in DATASETS:
        raise UserError(f"table={table}: expected one of {', '.join(DATASETS)}")
    text = _template(template)
    sources = _Sources([])
    figures = _figures(lake, table, edition, sources)
    unknown = sorted({name for name in _FIGURE.findall(text) if name not in (*figures, "sources")})
    if unknown:
        raise UserError(
            f"{template}: no figure {', '.join(unknown)}; known: {', '.join([*figures, 'sources'])}"
        )
    text = _FIGURE.sub(lambda found: figures.get(found[1], found[0]), text)
    numbered = [f"{at}. {line}" for at, line in enumerate(sources.lines, 1)]
    return re.sub(r"\{\{\s*sources\s*\}\}", "\n".join(numbered).replace("\\", r"\\"), text)


def _template(path: Path) -> str:
    """The template's text, once it is seen to hold no number without a source."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"template={path}: {error.strerror or error}") from error
    for number, line in enumerate(text.splitlines(), 1):
        if _NUMBER.search(_FIGURE.sub("", line)) and not _SOURCED.search(line):
            raise UserError(
                f"{path}:{number}: a number without source: {line.strip()!r}; use a figure "
                "({{rows}}, …) or add (source: …) on the same line"
            )
    return text


def _figures(lake: str, table: str, edition: str, sources: _Sources) -> dict[str, str]:
    version = arrow.version(lake, table)
    dataset = DATASETS[table]
    where = f"edition = '{_quoted(edition)}'"

    def ask(name: str, select: str, tail: str = "") -> tuple[list[dict[str, Any]], str]:
        at = version if name == table else arrow.version(lake, name)
        sql = f"SELECT {select} FROM {name} WHERE {where} {tail}".strip()
        rows = [row for batch in arrow.query(lake, name, sql, version=at) for row in
                batch.to_pylist()]  # fmt: skip
        return rows, sources.note(f"`{sql}`, version {at}")

    rows, source = ask(table, "count(*) AS rows")
    if not rows or not rows[0]["rows"]:
        there = [row["edition"] for batch in
                 arrow.query(lake, table, f"SELECT DISTINCT edition FROM {table}")
                 for row in batch.to_pylist()]  # fmt: skip
        raise UserError(
            f"edition={edition}: no rows in {table}, which has {', '.join(sorted(map(str, there)))}"
        )
    figures = {
        "name": f"{table}, edition {edition}",
        "meaning": declared_table(table).meaning,
        "rows": f"{rows[0]['rows']:,} {source}",
        "columns": "\n".join(
            f"- `{field.name}`: {(field.metadata or {}).get(b'comment', b'').decode()}"
            for field in declared_table(table).schema
        ),
    }
    blocks = []
    for name in dataset.counted:
        found, source = ask(table, f'"{name}", count(*) AS rows', f'GROUP BY "{name}"')
        blocks.append(f"By `{name}` {source}:\n\n{_table((name,), found)}")
    figures["counts"] = "\n\n".join(blocks)
    lines = []
    for name in dataset.distinct:
        found, source = ask(table, f'count(DISTINCT "{name}") AS n')
        lines.append(f"- different values of `{name}`: {found[0]['n']:,} {source}")
    for name in dataset.texts:
        words = f"array_length(string_to_array(\"{name}\", ' '))"
        found, source = ask(table, f"avg({words}) AS mean, max({words}) AS most")
        mean, most = found[0]["mean"], found[0]["most"]
        lines.append(f"- words of `{name}`: {mean:.2f} on average, at most {most} {source}")
    figures["texts"] = "\n".join(lines)
    figures["splits"] = "The columns named split_… above say who trains and who tests."
    if dataset.splits is not None:
        name, keys = dataset.splits
        figures["splits"] = f"No split is in the lake (table {name})."
        if arrow.version(lake, name) is not None:
            listed = ", ".join(f'"{key}"' for key in keys)
            found, source = ask(name, f"{listed}, count(*) AS rows", f"GROUP BY {listed}")
            if found:
                figures["splits"] = f"Table `{name}` {source}:\n\n{_table(keys, found)}"
    elif not any(column.startswith("split_") for column in dataset.counted):
        figures["splits"] = "None: the rows are split after they have been labelled."
    figures["commits"] = _commits(lake, table, edition, sources)
    figures["drops"] = _drops(lake, table, edition, sources)
    return figures


def _quoted(text: str) -> str:
    return text.replace("'", "''")


def _table(keys: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Counts as a Markdown table, sorted by the values of the keys."""
    ordered = sorted(rows, key=lambda row: [(row[k] is None, str(row[k])) for k in keys])
    lines = [f"| {' | '.join([*keys, 'rows'])} |", f"|{' --- |' * len(keys)} ---: |"]
    for row in ordered:
        values = ["(none)" if row[key] is None else str(row[key]) for key in keys]
        lines.append(f"| {' | '.join(values)} | {row['rows']:,} |")
    return "\n".join(lines)


def _commits(lake: str, table: str, edition: str, sources: _Sources) -> str:
    """The commits that made the edition: the newest that replaced it, and what was added since."""
    own: list[Record] = []
    for record in arrow.history(lake, table):
        if record.partition.get("edition", edition) != edition or record.job is None:
            continue
        own.append(record)
        if record.mode == "replace":
            break
    if not own:
        raise UserError(
            f"no commit in the log of {table} made edition={edition}: its figures have no source; "
            f"build it again: spark-submit {declared_table(table).built_by} lake={lake}"
        )
    source = sources.note(f"log of the table {table}, version {arrow.version(lake, table)}")
    lines = []
    for record in reversed(own):
        stated = ", ".join(f"{name} {value}" for name, value in sorted(record.metadata.items()))
        lines.append(
            f"- {record.when:%Y-%m-%d %H:%M} UTC, job {record.job}, code {record.code_version}"
            f"{', ' + stated if stated else ''}: {record.rows or 0:,} rows, version "
            f"{record.version} {source}"
        )
    return "\n".join(lines)


def _drops(lake: str, table: str, edition: str, sources: _Sources) -> str:
    """What the jobs of the edition left out of the table, or of those that it is built with."""
    version = arrow.version(lake, "dropped")
    if version is None:
        return "Nothing is noted (no table dropped)."
    dropped: pa.Table = arrow.read(lake, "dropped", version=version)
    family = table.split("_")[0]
    found = [
        row
        for row in dropped.to_pylist()
        if str(row["table"]).split("_")[0] == family
        and (row["job"].endswith(f"/{edition}")
             or (edition == "published" and row["job"].startswith("import_published/")))
    ]  # fmt: skip
    if not found:
        return "Nothing."
    source = sources.note(f"table dropped, version {version}")
    lines = [f"Counts and samples {source}:", "", "| table | reason | count | sample |",
             "| --- | --- | ---: | --- |"]  # fmt: skip
    for row in sorted(found, key=lambda row: (row["table"], -row["count"], row["reason"])):
        sample = str(row["sample"]).replace("|", "\\|")
        lines.append(f"| {row['table']} | {row['reason']} | {row['count']:,} | {sample} |")
    return "\n".join(lines)
