"""The first page of a report: what was run, the results, what is missing and how to get it, and
the state of each table and figure that the papers print."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from adnominal.analysis.rendering.blocks import (
    Block,
    FigureBlock,
    NotRun,
    Part,
    RunsText,
    Section,
    Table,
    Text,
    Unavailable,
    cells,
)

_NAMED = re.compile(r"(Table|Figure|Section|section) ")
# Tables and figures of the papers that no section shows because they are not results.
_ELSEWHERE = {
    "plane": (
        ("Table 2: templates of two-shot prompts", "conf/prompts/plane.yaml"),
        ("Table 3: verbalisers of two-shot prompts", "conf/prompts/plane.yaml"),
        ("Table 7: verbalisers of zero-shot prompts", "conf/prompts/plane_zero_shot.yaml"),
    ),
    "asp": (("Figure 1: the eight tests, drawn", "an illustration; table 1 has rows"),),
    "sygns": (("Figure 1: the evaluation, drawn", "an illustration; docs/sygns.md"),),
}
_COUNTS = ("recomputed", "not run", "not recomputable")
_TEXT, _COUNT = pa.string(), pa.int64()
_SCHEMA = pa.schema(
    [("paper", _TEXT), ("table or figure", _TEXT), ("printed", _COUNT)]
    + [(name, _COUNT) for name in _COUNTS]
    + [("state", _TEXT), ("runs", _TEXT), ("missing", _TEXT)]
)


def overview(parts: Sequence[Part]) -> list[Block]:
    """A row for each printed table and figure of the papers: how many numbers it prints, how many
    of them are compared with ours, the runs these come from, and the commands for the rest.

    Only runs named in the section count; baselines do not.
    """
    rows = []
    for part in parts:
        paper = _paper(part)
        named = [section for section in part.sections if _NAMED.match(section.title)]
        rows += [{"paper": paper, **_row(section)} for section in named]
        rows += [
            {"paper": paper, "table or figure": title, "state": "no result", "missing": where}
            for title, where in _ELSEWHERE.get(part.anchor, ())
        ]
    if not rows:
        return []
    states = Counter(row["state"] for row in rows)
    states_text = ", ".join(f"{number} {state}" for state, number in sorted(states.items()))
    return [
        Table("Every printed table and figure", pa.Table.from_pylist(rows, _SCHEMA), folded=True),
        Text(
            f"Of {len(rows)} printed tables and figures: {states_text}. Recomputed: from the rows "
            "of the lake, without a model. Run: from answers of the named runs, whose models are "
            "not all the paper's. In part: something is missing; the last column has the command "
            "for it."
        ),
    ]


def _row(section: Section) -> dict[str, str | int | None]:
    counts: Counter[str] = Counter()
    runs: dict[str, list[str]] = {}
    missing: list[str] = []
    has_content = published = False
    for block in section.blocks:
        match block:
            case Table(printed=printed) if printed:
                counts.update(printed)
            case RunsText(runs=names):
                for model, run in names:
                    runs.setdefault(model, []).append(run)
            case NotRun(command=command):
                missing.append(command)
            case Unavailable():
                published = True
            case Table() | FigureBlock():
                has_content = True
            case _:
                pass
    state = "not run"
    if runs:
        state = "run"
    elif counts["recomputed"] or (has_content and not counts and not missing):
        state = "recomputed"
    elif not missing and (published or counts["not recomputable"]):
        state = "not recomputable"
    if missing and state != "not run":
        state += " in part"
    return {
        "table or figure": section.title,
        "printed": counts.total() or None,
        **{name: counts[name] if counts else None for name in _COUNTS},
        "state": state,
        "runs": "\n".join(f"{model}: {', '.join(names)}" for model, names in runs.items()) or None,
        "missing": "\n".join(dict.fromkeys(missing)) or None,
    }


# Maximum number of cells of a paper on the first page, from its first table with our intervals.
_MOST = 4


def summary(parts: Sequence[Part]) -> list[Block]:
    """The opening blocks, derived from the pages of the papers."""
    results = [row for part in parts for row in _headlines(part)]
    missing = [
        {"paper": _paper(part), "section": section.title, "command": block.command}
        for part in parts
        for section in part.sections
        for block in section.blocks
        if isinstance(block, NotRun)
    ]
    states = pa.Table.from_pylist([_state(part) for part in parts])
    blocks: list[Block] = [Table("What was run", states)]
    if results:
        rows = pa.Table.from_pylist(results)
        blocks.append(Table("Results: published, and ours with its 95 % interval", rows))
    else:
        blocks.append(Text("No published number has been compared with one of ours yet."))
    if missing:
        commands = pa.Table.from_pylist(missing)
        blocks.append(Table("What is missing, and the command for each", commands, folded=True))
    return blocks


def _paper(part: Part) -> str:
    return part.title.partition(":")[0]


def _state(part: Part) -> dict[str, str | int]:
    sections = [section.blocks for section in part.sections]
    ours = sum(any(cell.ours for block in blocks for cell in _cells(block)) for blocks in sections)
    missing = sum(any(isinstance(block, NotRun) for block in blocks) for blocks in sections)
    return {
        "": _paper(part),
        "sections": len(sections),
        "with_numbers_of_ours_beside": ours,
        "with_something_not_run": missing,
    }


class _Cell(NamedTuple):
    row: str
    column: str
    published: str
    ours: str


def _cells(block: Block) -> Iterator[_Cell]:
    """The cells of a table; none for other blocks."""
    if isinstance(block, Table):
        names, _, rows = cells(block)
        for first, *others in rows:
            for name, cell in zip(names[1:], others, strict=True):
                yield _Cell(first, name, cell.split("\n")[0], _ours(cell))


def _headlines(part: Part) -> Iterator[dict[str, str]]:
    """The first cells of the first table that has our numbers with intervals."""
    for section in part.sections:
        for block in section.blocks:
            with_ours = [cell for cell in _cells(block) if "[" in cell.ours]
            if with_ours:
                for cell in with_ours[:_MOST]:
                    yield {"paper": _paper(part), "table": section.title, **cell._asdict()}
                return


def _ours(cell: str) -> str:
    """Our number in a cell, as ``70.6 [68.4, 72.8]``; the interval may have a separate line."""
    lines = cell.split("\n")[1:]
    if not lines or not lines[0].startswith("ours "):
        return ""
    interval = lines[1:2] if lines[1:2] and lines[1].startswith("[") else []
    return " ".join([lines[0].removeprefix("ours "), *interval])
