"""The tables on ASP's dataset: tables 1 and 2, the baselines, and the appendix."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa

from adnominal.analysis.editions import Lake, read_edition
from adnominal.analysis.papers.asp.sources import TASKS, Asp
from adnominal.analysis.papers.exhibits import Examples, Finding, Missing, exhibit
from adnominal.analysis.papers.published import agrees, value
from adnominal.analysis.rows import seeded_order, where_equal
from adnominal.etl.asp import ENTAILMENT, TESTS
from adnominal.etl.asp.baselines import baselines
from adnominal.etl.asp.gold import POLARITIES, rises

_BUILD = "python etl/build_asp.py preset=clean lake=LAKE"


def _read(lake: Lake, table: str, *columns: str) -> tuple[str, pa.Table]:
    edition = lake.edition(table)
    return edition, read_edition(lake.root, table, edition, columns)


def _letter(label: str | None) -> str:
    return "–" if label is None else "E" if label == ENTAILMENT else "N"


@exhibit("Table 1", "entailment inference, examples", fills=_BUILD, reads=("asp_entailment",))
def entailment(page: Asp) -> Iterator[Finding]:
    """One row per test; for comparative and negation, one per type of adjective. E: entailment; N:
    not entailment; –: the table does not have the reversed pair."""
    names = ("item_id", "test", "premise", "hypothesis", "label", "adjective_type")
    edition, table = _read(page.lake, "asp_entailment", *names)
    rows = table.to_pylist()
    labels = {(row["test"], row["premise"], row["hypothesis"]): row["label"] for row in rows}
    examples = []
    for test in TESTS:
        of_test = [row for row in rows if row["test"] == test]
        first: dict[str | None, dict[str, Any]] = {}
        for row in seeded_order(of_test, page.lake.seed, lambda row: row["item_id"]):
            typed = test in ("comparative", "negation")
            first.setdefault(row["adjective_type"] if typed else None, row)
        examples += [
            {
                "test": test if kind is None else f"{test} ({kind})",
                "premise": first[kind]["premise"],
                "hypothesis": first[kind]["hypothesis"],
                "entailed": _letter(first[kind]["label"]),
                "the other way round": _letter(
                    labels.get((test, first[kind]["hypothesis"], first[kind]["premise"]))
                ),
            }
            for kind in sorted(first, key=str)
        ]
    yield Examples(f"Drawn from edition {edition}", pa.Table.from_pylist(examples))


@exhibit("Table 2", "degree estimation, examples", fills=_BUILD, reads=("asp_degree",))
def degree(page: Asp) -> Iterator[Finding]:
    """The numbers of one group for each test and polarity, and the range that is entailed."""
    names = ("item_id", "test", "variant", "group", "polarity", "alpha", "unit")
    edition, table = _read(page.lake, "asp_degree", *names, "premise", "hypothesis", "label")
    groups: dict[tuple[str, str], dict[int, list[dict[str, Any]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in where_equal(table, "variant", "base").to_pylist():
        groups[row["test"], row["polarity"]][row["group"]].append(row)
    examples = []
    for key in ((test, polarity) for test in TESTS for polarity in POLARITIES):
        if key not in groups:
            continue
        seed = page.lake.seed
        rows = seeded_order(groups[key].values(), seed, lambda rows: rows[0]["item_id"])[0]
        example = seeded_order(rows, seed, lambda row: row["item_id"])[0]
        alphas = [row["alpha"] for row in rows]
        entailed = _entailed_range({row["alpha"]: row["label"] for row in rows}, rises(*key))
        examples.append(
            {
                "test": key[0],
                "premise": example["premise"],
                "hypothesis": example["hypothesis"],
                "entailed for": f"α {entailed} {example['unit']}" if entailed else "no α",
                "numbers asked": f"{min(alphas):g} to {max(alphas):g}",
            }
        )
    caption = f"One group of numbers per test and polarity, drawn from edition {edition}"
    yield Examples(caption, pa.Table.from_pylist(examples))


def _entailed_range(labels: Mapping[float, str], rises: bool) -> str:
    """The entailed numbers: "≥ 295" if they reach the last, "≤ 65" from the first, or ranges."""
    in_order = sorted(labels.items())
    ranges: list[tuple[float, float]] = []
    for label, run in groupby(in_order, key=lambda item: item[1]):
        if label == ENTAILMENT:
            alphas = [alpha for alpha, _ in run]
            ranges.append((alphas[0], alphas[-1]))
    if len(ranges) == 1:
        first, last = ranges[0]
        if rises and last == max(labels):
            return f"≥ {first:g}"
        if not rises and first == min(labels):
            return f"≤ {last:g}"
    texts = []
    for first, last in ranges:
        is_single = first == last
        texts.append(f"{first:g}" if is_single else f"{first:g} to {last:g}")
    return ", ".join(texts)


def baseline_table(lake: str, table: str, edition: str, paper_table: str = "table 3") -> pa.Table:
    """Chance and majority of each test, and the numbers of the paper (tables 3 and 4).

    Columns test, rows, baseline, percent, printed, agrees, and deviation, the known reason why the
    paper's number differs. Degree estimation is counted on its base variant without the rows of
    `discard`; as in the paper, its majority is always not_entailment.

    Raises:
        UserError: no such rows.
    """
    task = TASKS[table.removeprefix("asp_")]
    names = ["test", "label", *(["variant"] if table == "asp_degree" else [])]
    rows = read_edition(lake, table, edition, names)
    if table == "asp_degree":
        rows = where_equal(rows, "variant", "base")
    cells = []
    for test in TESTS:
        labels: Sequence[str] = where_equal(rows, "test", test).column("label").to_pylist()
        if not labels:
            continue
        shares = baselines(labels)
        majority = shares.not_entailment if table == "asp_degree" else shares.majority
        for name, percent in (("chance", shares.chance), ("majority", majority)):
            printed = value("asp", f"{paper_table}, {task}", name, test)
            cells.append(
                {
                    "test": test,
                    "rows": shares.rows,
                    "baseline": name,
                    "percent": percent,
                    "printed": printed.printed,
                    "agrees": agrees(printed, percent),
                    "deviation": printed.deviation or None,
                }
            )
    return pa.Table.from_pylist(cells)


@exhibit("", "appendix", fills="")
def appendix(page: Asp) -> Iterator[Finding]:
    """The tables and figures of the appendix, which is not part of the published paper; no release
    has its numbers."""
    templates = "Our templates are in etl/asp/templates.py and docs/asp.md."
    yield Missing("Figures 2 to 4, 6 and 7: curves of the paper's models; ours are above")
    yield Missing("Figure 5: numerical reasoning of the paper's models")
    yield Missing("Tables 3 and 4: templates", reason=templates)
