"""The first page of a report: what was run, what came of it, what is missing and how to get it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from analysis.rendering.blocks import Block, NotRun, Part, Table, Text, cells

# Cells of a paper that stand on the first page: those of its first table with ours, with intervals.
_MOST = 4


def summary(parts: Sequence[Part]) -> list[Block]:
    """The opening blocks that follow from the pages of the papers."""
    results = [row for part in parts for row in _headlines(part)]
    missing = [row for part in parts for row in _missing(part)]
    states = pa.Table.from_pylist([_state(part) for part in parts])
    blocks: list[Block] = [Table("What was run", states)]
    if results:
        rows = pa.Table.from_pylist(results)
        blocks.append(Table("Results: published, and ours with its 95 % interval", rows))
    else:
        blocks.append(Text("No number of a paper has one of ours beside it yet."))
    if missing:
        commands = pa.Table.from_pylist(missing)
        blocks.append(Table("What is missing, and the command for each", commands, folded=True))
    return blocks


def _title(part: Part) -> str:
    return part.title.partition(":")[0]


def _state(part: Part) -> dict[str, str | int]:
    blocks = [section.blocks for section in part.sections]
    ours = sum(any(_has_ours(block) for block in sections) for sections in blocks)
    missing = sum(any(isinstance(block, NotRun) for block in sections) for sections in blocks)
    return {
        "": _title(part),
        "sections": len(blocks),
        "with_numbers_of_ours_beside": ours,
        "with_something_not_run": missing,
    }


def _has_ours(block: Block) -> bool:
    return isinstance(block, Table) and any(
        line.startswith("ours ")
        for row in cells(block)[2]
        for cell in row
        for line in cell.split("\n")
    )


def _headlines(part: Part) -> Iterator[dict[str, str]]:
    """The first cells of the first table that has ours with intervals."""
    for section in part.sections:
        for block in section.blocks:
            if not isinstance(block, Table):
                continue
            names, _, rows = cells(block)
            cells_with_ours = [
                {
                    "paper": _title(part),
                    "table": section.title,
                    "row": row[0],
                    "column": name,
                    "published": cell.split("\n")[0],
                    "ours": _ours(cell),
                }
                for row in rows
                for name, cell in zip(names[1:], row[1:], strict=True)
                if "[" in _ours(cell)
            ]
            if cells_with_ours:
                yield from cells_with_ours[:_MOST]
                return


def _ours(cell: str) -> str:
    """``70.6 [68.4, 72.8]`` of a cell that has ours; intervals may stand in a line of their own."""
    lines = cell.split("\n")[1:]
    if not lines or not lines[0].startswith("ours "):
        return ""
    interval = lines[1:2] if lines[1:2] and lines[1].startswith("[") else []
    return " ".join([lines[0].removeprefix("ours "), *interval])


def _missing(part: Part) -> Iterator[dict[str, str]]:
    for section in part.sections:
        for block in section.blocks:
            if isinstance(block, NotRun):
                yield {
                    "paper": _title(part),
                    "section": section.title,
                    "command": block.command,
                }
