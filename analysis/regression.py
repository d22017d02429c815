"""Logistic regression of correct answers on a value of their items, with clustered errors."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from adnominal.analysis.estimates import Interval


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
    from statsmodels.formula.api import logit
    from statsmodels.tools.sm_exceptions import PerfectSeparationError

    if strata is None:
        strata = [""] * len(values)
    if not len(values) == len(is_right) == len(groups) == len(strata):
        raise ValueError(
            f"{len(values)} values, {len(is_right)} answers, {len(groups)} groups, "
            f"{len(strata)} strata"
        )
    items = pd.DataFrame({"value": values, "right": is_right, "group": groups, "stratum": strata})
    items = items.astype({"value": float, "right": float, "group": str, "stratum": str}).dropna()
    varied = items.groupby("stratum")["right"].transform("nunique") == 2
    items = items[varied]
    if items["group"].nunique() < 3 or items["value"].nunique() < 2:
        return None
    formula = "right ~ value"
    if items["stratum"].nunique() > 1:
        formula += " + C(stratum)"
    clusters, _ = pd.factorize(items["group"], sort=True)
    try:
        with warnings.catch_warnings():
            # Convergence is checked below; separation raises a warning or an error.
            warnings.simplefilter("ignore")
            fit = logit(formula, items).fit(
                disp=0, maxiter=100, cov_type="cluster", cov_kwds={"groups": clusters}
            )
    except (PerfectSeparationError, np.linalg.LinAlgError):
        return None
    estimate, error = float(fit.params["value"]), float(fit.bse["value"])
    # Where the value separates right from wrong, the estimate diverges.
    diverges = abs(estimate) * items["value"].std(ddof=0) >= 15
    if diverges or not fit.mle_retvals["converged"] or not 0 < error < math.inf:
        return None
    low, high = map(float, fit.conf_int().loc["value"])
    return Slope(estimate, low, high, float(fit.pvalues["value"]), len(items))
