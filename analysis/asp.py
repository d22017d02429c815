"""ASP's tables and figures (Liu, Xiang and Ding 2023) from the lake."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from scipy import stats

from analysis import figures
from analysis.figures import Plot
from analysis.published import agrees, value
from conf import UserError
from etl.asp import ENTAILMENT, TESTS
from etl.asp.baselines import baselines
from etl.asp.gold import HUMAN, JUDGED, POLARITIES, Fit, fit, rises
from etl.lake import arrow

# Which tests a figure of the paper shows.
FIGURES = {2: ("ordering", "comparative", "superlative"), 3: ("booster", "diminisher", "negation")}
TASKS = {"asp_entailment": "entailment inference", "asp_degree": "degree estimation"}

_PANELS = tuple((test, polarity) for test in HUMAN for polarity in POLARITIES)
_THRESHOLD = pa.schema(
    [
        ("test", pa.string()),
        ("polarity", pa.string()),
        ("answer", pa.string()),
        ("threshold", pa.float64()),
        ("standard_error", pa.float64()),
    ]
)
_CURVE = pa.schema(
    [
        ("test", pa.string()),
        ("polarity", pa.string()),
        ("answer", pa.string()),
        ("z", pa.float64()),
        ("share", pa.float64()),
        ("n", pa.int64()),
    ]
)


def baseline_table(lake: str, table: str, edition: str, paper_table: str = "table 3") -> pa.Table:
    """Chance and majority of each test beside what the paper prints (tables 3 and 4).

    Columns test, rows, baseline, percent, printed, agrees, deviation: why the paper's own number is
    another, where that is known. Degree estimation is counted on its base variant, and rows of
    `discard` not at all; its majority always says not_entailment, as the paper's does.

    Raises:
        UserError: no such rows.
    """
    of_task = f"{paper_table}, {TASKS[table]}"
    rows = arrow.read(
        lake,
        table,
        where=[("edition", "=", edition)],
        columns=["test", "label", *(["variant"] if table == "asp_degree" else [])],
    )
    if table == "asp_degree":
        rows = rows.filter(pc.equal(rows.column("variant"), "base"))
    found = []
    for test in TESTS:
        labels = rows.filter(pc.equal(rows.column("test"), test)).column("label").to_pylist()
        if not labels:
            continue
        own = baselines(labels)
        majority = own.not_entailment if table == "asp_degree" else own.majority
        for name, percent in (("chance", own.chance), ("majority", majority)):
            printed = value("asp", of_task, name, test)
            found.append(
                {
                    "test": test,
                    "rows": own.rows,
                    "baseline": name,
                    "percent": percent,
                    "printed": printed.printed,
                    "agrees": agrees(printed, percent),
                    "deviation": printed.deviation or None,
                }
            )
    if not found:
        raise UserError(f"edition={edition}: no rows of it in the table {table} of {lake}")
    return pa.Table.from_pylist(found)


def human_curves(lake: str, source: str) -> pa.Table:
    """What people said and the curve fitted to it: columns test, polarity, answer, z, share, n.

    `answer` is ``people`` or ``people, fitted``. Only the judged numbers, 60 to 138: beyond them
    the shares are not monotone and the fit says nothing. The fit runs from the least to the
    greatest share, as the shares were scaled for it (appendix B).

    Raises:
        UserError: no judgements of the source.
    """
    rows = _judgements(lake, source)
    found = []
    for test, polarity in _PANELS:
        own = [r for r in rows if (r["test"], r["polarity"]) == (test, polarity)]
        own = [r for r in own if JUDGED[0] <= r["z"] <= JUDGED[1]]
        shares = [r["share"] for r in own]
        for r in own:
            same = {"test": test, "polarity": polarity, "z": r["z"], "n": r["n"]}
            fitted = min(shares) + (max(shares) - min(shares)) * r["fit"]
            found.append({**same, "answer": "people", "share": r["share"]})
            found.append({**same, "answer": "people, fitted", "share": fitted})
    return pa.Table.from_pylist(found, _CURVE)


def human_thresholds(lake: str, source: str) -> pa.Table:
    """Where people change their mind: columns test, polarity, answer, threshold, standard_error.

    Raises:
        UserError: no judgements of the source.
    """
    rows = {(r["test"], r["polarity"]): r for r in _judgements(lake, source)}
    found = [
        {
            "test": test,
            "polarity": polarity,
            "answer": "people",
            "threshold": rows[test, polarity]["threshold"],
            "standard_error": rows[test, polarity]["standard_error"],
        }
        for test, polarity in _PANELS
        if (test, polarity) in rows
    ]
    return pa.Table.from_pylist(found, _THRESHOLD)


def _judgements(lake: str, source: str) -> list[dict[str, Any]]:
    rows = arrow.read(lake, "asp_human", where=[("source", "=", source)])
    if not rows.num_rows:
        raise UserError(
            f"source={source}: no judgements of it in the table asp_human of {lake}; "
            "etl/import_published.py asp=… or etl/judge_asp.py makes them"
        )
    return list(rows.sort_by("z").to_pylist())


@dataclass(frozen=True)
class Answers:
    """What a model says of numbers, one value an item of table ``asp_degree``, in one order."""

    model: str
    tests: Sequence[str]
    polarities: Sequence[str]
    z: Sequence[float]
    predicted: Sequence[str]

    def curves(self) -> dict[tuple[str, str], dict[float, tuple[float, int]]]:
        """Share of entailment and number of answers by test, polarity and z.

        Numbers are pooled at the nearest even z, the grid that people were asked on.
        """
        counts: dict[tuple[str, str], dict[float, list[int]]] = {}
        for test, polarity, z, guess in zip(
            self.tests, self.polarities, self.z, self.predicted, strict=True
        ):
            own = counts.setdefault((test, polarity), {}).setdefault(2.0 * round(z / 2), [0, 0])
            own[0] += guess == ENTAILMENT
            own[1] += 1
        return {
            key: {z: (yes / n, n) for z, (yes, n) in sorted(own.items())}
            for key, own in counts.items()
        }


def _fit(test: str, polarity: str, curve: Mapping[float, tuple[float, int]]) -> Fit | None:
    """The curve's sigmoid; None where answers are all alike, or fall where people's rise."""
    try:
        fitted = fit(test, polarity, {z: share for z, (share, _) in curve.items()})
    except UserError:
        return None
    return fitted if (fitted.slope > 0) == rises(test, polarity) else None


def model_curves(answers: Answers) -> pa.Table:
    """A model's answers and the psychometric curve fitted to them: rows as of `human_curves`.

    The fit is the one that people's judgements get. It is left out where none can be had: the
    model says the same to every number, or its answers fall where they should rise.
    """
    found = []
    curves = answers.curves()
    for key in _PANELS:
        curve = curves.get(key, {})
        same = {"test": key[0], "polarity": key[1]}
        inside = {z: own for z, own in curve.items() if JUDGED[0] <= z <= JUDGED[1]}
        found += [
            {**same, "answer": answers.model, "z": z, "share": share, "n": n}
            for z, (share, n) in inside.items()
        ]
        fitted = _fit(*key, curve)
        if fitted is None:
            continue
        low = min(share for share, _ in inside.values())
        high = max(share for share, _ in inside.values())
        name = f"{answers.model}, fitted"
        found += [
            {**same, "answer": name, "z": z, "share": low + (high - low) * fitted.share(z), "n": n}
            for z, (_, n) in inside.items()
        ]
    return pa.Table.from_pylist(found, _CURVE)


def model_thresholds(answers: Answers) -> pa.Table:
    """Where a model changes its mind: rows as of `human_thresholds`, null where no curve fits."""
    curves = answers.curves()
    found = []
    for test, polarity in _PANELS:
        if (test, polarity) not in curves:
            continue
        fitted = _fit(test, polarity, curves[test, polarity])
        found.append(
            {
                "test": test,
                "polarity": polarity,
                "answer": answers.model,
                "threshold": None if fitted is None else fitted.threshold,
                "standard_error": None if fitted is None else fitted.standard_error,
            }
        )
    return pa.Table.from_pylist(found, _THRESHOLD)


def curves_figure(data: pa.Table, number: int = 2) -> Plot:
    """Shares over z, a panel for each test and polarity (figures 2, 3 and 4).

    Raises:
        ValueError: none of the figure's tests is in `data`; a figure that is not in `FIGURES`.
    """
    if number not in FIGURES:
        raise ValueError(f"figure {number}; expected one of {', '.join(map(str, FIGURES))}")
    wanted: Mapping[tuple[str, str], str] = {
        (test, polarity): f"{test}, {polarity}"
        for polarity in POLARITIES
        for test in FIGURES[number]
    }
    rows = [
        {**row, "panel": wanted[row["test"], row["polarity"]]}
        for row in data.to_pylist()
        if (row["test"], row["polarity"]) in wanted
    ]
    order = list(wanted.values())
    rows.sort(key=lambda row: order.index(row["panel"]))
    schema = _CURVE.append(pa.field("panel", pa.string()))
    plotted = pa.Table.from_pylist(rows, schema)
    return figures.curves(
        plotted,
        x="z",
        y="share",
        series="answer",
        panel="panel",
        xlabel="number, with those of the premise at 120 and 80",
        ylabel="share of entailment",
        smooth=[name for name in {row["answer"] for row in rows} if name.endswith(", fitted")],
    )


def correlation(points: Sequence[tuple[float, float]], level: float = 0.95) -> dict[str, float]:
    """Pearson's correlation of pairs: R, low and high (Fisher's interval), p (two-sided).

    The paper gives R and p of degree estimation against numerical reasoning (section Result).

    Raises:
        ValueError: fewer than four pairs, or the same value throughout on one side.
    """
    if len(points) < 4 or any(len({own[side] for own in points}) < 2 for side in (0, 1)):
        raise ValueError(f"{len(points)} pairs; expected four or more, not all alike")
    found = stats.pearsonr([x for x, _ in points], [y for _, y in points])
    low, high = found.confidence_interval(level)
    return {
        "R": float(found.statistic),
        "low": float(low),
        "high": float(high),
        "p": float(found.pvalue),
    }
