"""The table of tables: what each table and figure that the papers print is here, and from what."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import pyarrow as pa

from analysis.rendering.blocks import (
    Block,
    FigureBlock,
    NotRun,
    Part,
    RunsText,
    Section,
    Table,
    Text,
    Unavailable,
)

_NAMED = re.compile(r"(Table|Figure|Section|section) ")
# What the papers print and no section of a page shows, since it is no result.
_ELSEWHERE = {
    "plane": (
        ("Table 2: templates of two-shot prompts", "conf/prompts/plane.yaml"),
        ("Table 3: verbalisers of two-shot prompts", "conf/prompts/plane.yaml"),
        ("Table 7: verbalisers of zero-shot prompts", "conf/prompts/plane_zero_shot.yaml"),
    ),
    "asp": (("Figure 1: the eight tests, drawn", "an illustration; table 1 has rows"),),
    "sygns": (("Figure 1: the evaluation, drawn", "an illustration; docs/sygns.md"),),
}
_SCHEMA = pa.schema(
    [
        ("paper", pa.string()),
        ("table or figure", pa.string()),
        ("printed", pa.int64()),
        ("recomputed", pa.int64()),
        ("not run", pa.int64()),
        ("not recomputable", pa.int64()),
        ("state", pa.string()),
        ("runs", pa.string()),
        ("missing", pa.string()),
    ]
)


def overview(parts: Sequence[Part]) -> list[Block]:
    """A row for each printed table and figure of the papers: how many numbers it prints, how many
    of them stand beside one of ours, whose runs these are of, and the command of what is missing.

    A run counts where the section of its experiment names it; a baseline is none.
    """
    rows = []
    for part in parts:
        paper = part.title.partition(":")[0]
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
            "of the lake, without a model. Run: from answers of the runs named, whose models are "
            "not all the paper's; in part: something of it is missing, with its command in the "
            "last column."
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
        "recomputed": counts["recomputed"] if counts else None,
        "not run": counts["not run"] if counts else None,
        "not recomputable": counts["not recomputable"] if counts else None,
        "state": state,
        "runs": "\n".join(f"{model}: {', '.join(names)}" for model, names in runs.items()) or None,
        "missing": "\n".join(dict.fromkeys(missing)) or None,
    }
