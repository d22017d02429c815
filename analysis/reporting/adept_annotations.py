"""The parts of ADEPT's page that are about annotators: one's own beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.annotations import Annotations, editions
from analysis.interval import Interval
from analysis.reporting.lake import Lake
from analysis.reporting.numbers import comparison
from analysis.reporting.page import Block, Table, Text

Cells = Mapping[tuple[str, str], float | Interval]
_EXPERTS = "python etl/annotate_adept.py export batch=expert.csv round=expert edition=EDITION"


def _annotated(lake: Lake, rounds: Sequence[str]) -> Annotations | None:
    """The answers of these rounds to the edition that the report shows, else to the first edition
    that has some; None where there are none."""
    names = editions(lake.root)
    shown = lake.editions.get("adept", ())[:1]
    if lake.wanted is not None:
        names = [name for name in names if name == lake.wanted]
    for name in sorted(names, key=lambda name: (name not in shown, name)):
        found = Annotations(lake.root, name)
        if found.of(*rounds):
            return found
    return None


def agreement(lake: Lake) -> list[Block]:
    """Table 4 counted of the answers of the rounds pilot and main; nothing without answers."""
    found = _annotated(lake, ("pilot", "main"))
    cells, sizes = found.agreement() if found else ({}, {})
    if found is None or not cells:
        return []
    who = found.annotators("pilot", "main")
    return [
        *comparison(
            "adept",
            "table 4",
            cells,
            caption=f"Agreement and labels of {who}",
            edition=found.edition,
        ),
        *comparison(
            "adept",
            "table 4, sizes",
            sizes,
            caption=f"Items that {who} labelled",
            edition=found.edition,
        ),
        Text("Counted of the answers in adept_annotations by the paper's quality rules."),
    ]


def kappas(lake: Lake) -> list[Block]:
    """Section 4.2: experts with each other and with the labels, and the audit of both ends."""
    found = _annotated(lake, ("expert", "audit"))
    cells: Cells = found.kappas() if found else {}
    who = f", ours of {found.annotators('expert')}" if found and cells else ""
    blocks = comparison(
        "adept",
        "section 4.2",
        cells,
        caption=f"Agreement of experts and crowd{who}",
        edition=found.edition if found else "",
    )
    if not cells:
        blocks.append(Text(f"Two experts of one's own fill it: {_EXPERTS}"))
    audit = found.audit() if found else None
    if found is not None and audit is not None:
        caption = f"What {found.annotators('audit')} found behind the labels at both ends"
        blocks.append(Table(f"{caption}, edition {found.edition}", audit))
    return blocks


def human(lake: Lake) -> tuple[Cells, str]:
    """The human rows of table 5, and who gave them; both empty without answers."""
    found = _annotated(lake, ("human",))
    cells: Cells = found.human() if found else {}
    if found is None or not cells:
        return {}, ""
    sizes = "; ".join(
        f"{row}: {own.n} items"
        for (row, column), own in cells.items()
        if column == "5-class" and isinstance(own, Interval)
    )
    return cells, (
        f"Human rows: {found.annotators('human')} on items of edition {found.edition} ({sizes})."
    )
