"""Accuracy against how often a corpus has the item's pair, and how closely its words go together.

None of the four papers asks whether a model answers rightly because it has met the phrase. The
tables amod_pairs and amod_association say how often a corpus has an adjective with its noun and
their pointwise mutual information (PMI, bits); `analysis.slices` looks them up. A corpus stands in
for what the model was pretrained on, which is not known.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy import stats

from analysis import figures
from analysis.figures import Plot
from analysis.unpaired import clustered

ABSENT = 0
"""The tenth of items whose pair the corpus does not have."""

_TENTHS = pa.schema(
    [
        ("tenth", pa.int32()),
        ("least", pa.float64()),
        ("median", pa.float64()),
        ("greatest", pa.float64()),
        ("items", pa.int64()),
        ("accuracy", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
    ]
)


def tenths(values: Sequence[float | None]) -> list[int]:
    """Which tenth of the items each is in by its value, 1 to 10; `ABSENT` without a value.

    Boundaries are taken among the items that have one, so that parts are of like size; equal values
    share a part, so a part may be empty.
    """
    present = np.array([value for value in values if value is not None], dtype=np.float64)
    if not present.size:
        return [ABSENT] * len(values)
    edges = np.quantile(present, np.arange(1, 10) / 10, method="inverted_cdf")
    return [
        ABSENT if value is None else 1 + int(np.searchsorted(edges, value, side="left"))
        for value in values
    ]


def by_tenth(
    values: Sequence[float | None], right: Sequence[float], groups: Sequence[object] | None = None
) -> pa.Table:
    """Accuracy by tenth of `values`, those without a value first (tenth 0).

    Columns tenth; least, median and greatest value; items; accuracy with its interval low to high
    (`clustered` by `groups`: name the pair, whose items share their value).

    Raises:
        ValueError: no items; lengths that differ.
    """
    if not len(values) == len(right) or not len(values):
        raise ValueError(f"{len(values)} values for {len(right)} items")
    members: dict[int, list[int]] = {}
    for at, tenth in enumerate(tenths(values)):
        members.setdefault(tenth, []).append(at)
    found = []
    for tenth, items in sorted(members.items()):
        own = [value for at in items if (value := values[at]) is not None]
        share = clustered(
            [right[at] for at in items], None if groups is None else [groups[at] for at in items]
        )
        found.append(
            {
                "tenth": tenth,
                "least": min(own, default=None),
                "median": float(np.median(own)) if own else None,
                "greatest": max(own, default=None),
                "items": len(items),
                "accuracy": share.estimate,
                "low": share.low,
                "high": share.high,
            }
        )
    return pa.Table.from_pylist(found, _TENTHS)


@dataclass(frozen=True)
class Slope:
    """How the log odds of a right answer change with a value: by `estimate` for each unit of it.

    `low` to `high` is the interval of `level`, `p` two-sided (Wald), `items` those with a value.
    `odds_ratio` is what a unit multiplies the odds by.
    """

    estimate: float
    low: float
    high: float
    p: float
    items: int
    level: float = 0.95

    @property
    def odds_ratio(self) -> float:
        return math.exp(self.estimate)

    def text(self) -> str:
        """The odds ratio with its interval: ``1.31 [1.10, 1.56]``."""
        ends = (math.exp(value) for value in (self.estimate, self.low, self.high))
        return "{:.2f} [{:.2f}, {:.2f}]".format(*ends)


def slope(
    values: Sequence[float | None],
    right: Sequence[bool],
    groups: Sequence[object],
    strata: Sequence[object] | None = None,
    level: float = 0.95,
) -> Slope | None:
    """The logistic regression of right answers on `values`; items without a value are left out.

    Standard errors are robust to clusters: `groups` names what is drawn together (the pair: its
    items have one value and like answers). With `strata` each of their values has an intercept of
    its own, so that the slope is one within strata: adjectives of a class are both more frequent
    and easier than those of another. Strata whose items are all right, or all wrong, say nothing
    of the slope and are left out.

    None where nothing can be estimated: values or answers that are all alike, fewer than three
    groups, or answers that the value parts completely.

    Raises:
        ValueError: lengths that differ.
    """
    of = [str(own) for own in strata] if strata is not None else [""] * len(values)
    if not len(values) == len(right) == len(groups) == len(of):
        raise ValueError(
            f"{len(values)} values, {len(right)} answers, {len(groups)} groups, {len(of)} strata"
        )
    kept = [at for at, value in enumerate(values) if value is not None]
    mixed = {
        name for name in set(of) if len({bool(right[at]) for at in kept if of[at] == name}) == 2
    }
    kept = [at for at in kept if of[at] in mixed]
    x = np.array([values[at] for at in kept], dtype=np.float64)
    y = np.array([bool(right[at]) for at in kept], dtype=np.float64)
    codes = np.unique([str(groups[at]) for at in kept], return_inverse=True)[1]
    if len(kept) < 3 or np.ptp(x) == 0 or len(set(codes.tolist())) < 3:
        return None
    names = sorted(mixed)
    intercepts = np.array([[of[at] == name for name in names] for at in kept], dtype=np.float64)
    # Centred and scaled for the solver's sake; the estimate is scaled back.
    scale = float(x.std())
    design = np.column_stack([(x - x.mean()) / scale, intercepts])
    estimate, error = _fitted(design, y, codes)
    if estimate is None or error is None:
        return None
    reach = float(stats.norm.ppf(0.5 + level / 2)) * error
    return Slope(
        estimate / scale,
        (estimate - reach) / scale,
        (estimate + reach) / scale,
        2 * float(stats.norm.sf(abs(estimate) / error)),
        len(kept),
        level,
    )


def _fitted(
    design: np.ndarray, y: np.ndarray, codes: np.ndarray
) -> tuple[float, float] | tuple[None, None]:
    """Coefficient of the first column with its cluster-robust standard error."""
    from statsmodels.discrete.discrete_model import Logit
    from statsmodels.tools.sm_exceptions import PerfectSeparationError

    try:
        with warnings.catch_warnings():
            # Not converging is asked for below; separation comes as a warning or an error.
            warnings.simplefilter("ignore")
            fitted = Logit(y, design).fit(
                disp=0, maxiter=100, cov_type="cluster", cov_kwds={"groups": codes}
            )
    except (PerfectSeparationError, np.linalg.LinAlgError):
        return None, None
    estimate, error = float(fitted.params[0]), float(fitted.bse[0])
    # Where the value parts right from wrong, the estimate runs away.
    found = fitted.mle_retvals["converged"] and math.isfinite(error) and abs(estimate) < 15
    return (estimate, error) if found and error > 0 else (None, None)


def tenths_figure(data: pa.Table, *, series: str, xlabel: str) -> Plot:
    """`by_tenth` as points with whiskers, one for each value of the column `series`.

    `xlabel` says what the tenths are of, with its unit.
    """
    rows = sorted(data.to_pylist(), key=lambda row: row["tenth"])
    places = ["none" if row["tenth"] == ABSENT else str(row["tenth"]) for row in rows]
    plotted = pa.Table.from_pylist(rows, data.schema).append_column("place", pa.array(places))
    return figures.intervals(
        plotted,
        x="place",
        y="accuracy",
        low="low",
        high="high",
        series=series,
        xlabel=xlabel,
        ylabel="accuracy (share of items)",
    )
