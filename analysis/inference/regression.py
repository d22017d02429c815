"""Logistic regression of correct answers on a value of their items, with clustered errors."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from adnominal.analysis.inference.intervals import Interval


@dataclass(frozen=True)
class Slope:
    """The change in the log odds of a correct answer per unit of a value (`estimate`).

    `low` to `high` is the 95 % interval, `p` is two-sided (Wald), `items` have a value.
    """

    estimate: float
    low: float
    high: float
    p: float
    items: int

    @property
    def odds_ratio(self) -> Interval:
        """The odds ratio per unit, with its interval."""
        estimate, low, high = map(math.exp, (self.estimate, self.low, self.high))
        return Interval(estimate, low, high, self.items)

    def text(self) -> str:
        """The odds ratio per unit with its interval: ``1.31 [1.10, 1.56]``."""
        ends = (math.exp(value) for value in (self.estimate, self.low, self.high))
        return "{:.2f} [{:.2f}, {:.2f}]".format(*ends)


def slope(
    values: Sequence[float | None],
    is_right: Sequence[bool],
    groups: Sequence[object],
    strata: Sequence[object] | None = None,
) -> Slope | None:
    """Regress correct answers on `values`; items without a value are dropped.

    Standard errors are clustered by `groups` (usually the pair, whose items share their value and
    have similar answers). With `strata`, each stratum has its own intercept, so the slope is
    estimated within strata: adjectives of one class can be both more frequent and easier than those
    of another. Strata whose items are all right or all wrong do not affect the slope and are
    dropped.

    Returns None if nothing can be estimated: values or answers are all the same, there are fewer
    than three groups, or the value separates the answers completely.

    Raises:
        ValueError: lengths that differ.
    """
    stratum_of = [str(stratum) for stratum in strata] if strata is not None else [""] * len(values)
    if not len(values) == len(is_right) == len(groups) == len(stratum_of):
        raise ValueError(
            f"{len(values)} values, {len(is_right)} answers, {len(groups)} groups, "
            f"{len(stratum_of)} strata"
        )
    columns = {"value": values, "right": map(bool, is_right), "group": map(str, groups)}
    items = pd.DataFrame({name: list(column) for name, column in columns.items()})
    items = items.assign(stratum=stratum_of).dropna(subset=["value"])
    items = items[items.groupby("stratum")["right"].transform("nunique") == 2]
    x, y = items["value"].to_numpy(np.float64), items["right"].to_numpy(np.float64)
    codes, names = pd.factorize(items["group"], sort=True)
    if len(names) < 3 or np.ptp(x) == 0:
        return None
    intercepts = pd.get_dummies(items["stratum"], dtype=np.float64)
    # Centre and scale for the solver; the estimate is scaled back.
    scale = float(x.std())
    design = np.column_stack([(x - x.mean()) / scale, intercepts])
    estimate, error = _fit_logit(design, y, codes)
    if estimate is None or error is None:
        return None
    reach = float(stats.norm.ppf(0.975)) * error
    return Slope(
        estimate / scale,
        (estimate - reach) / scale,
        (estimate + reach) / scale,
        2 * float(stats.norm.sf(abs(estimate) / error)),
        len(items),
    )


def _fit_logit(
    design_matrix: np.ndarray, y: np.ndarray, codes: np.ndarray
) -> tuple[float, float] | tuple[None, None]:
    """The coefficient of the first column with its cluster-robust standard error."""
    from statsmodels.discrete.discrete_model import Logit
    from statsmodels.tools.sm_exceptions import PerfectSeparationError

    try:
        with warnings.catch_warnings():
            # Convergence is checked below; separation raises a warning or an error.
            warnings.simplefilter("ignore")
            fit = Logit(y, design_matrix).fit(
                disp=0, maxiter=100, cov_type="cluster", cov_kwds={"groups": codes}
            )
    except (PerfectSeparationError, np.linalg.LinAlgError):
        return None, None
    estimate, error = float(fit.params[0]), float(fit.bse[0])
    # Where the value separates right from wrong, the estimate diverges.
    estimable = fit.mle_retvals["converged"] and math.isfinite(error) and abs(estimate) < 15
    return (estimate, error) if estimable and error > 0 else (None, None)
