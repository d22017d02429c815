"""Logistic regression of right answers on a value of their items, robust to clusters."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats


@dataclass(frozen=True)
class Slope:
    """How the log odds of a right answer change with a value: by `estimate` for each unit of it.

    `low` to `high` is the 95 % interval, `p` two-sided (Wald), `items` those with a value.
    """

    estimate: float
    low: float
    high: float
    p: float
    items: int

    def text(self) -> str:
        """What a unit multiplies the odds by, with its interval: ``1.31 [1.10, 1.56]``."""
        ends = (math.exp(value) for value in (self.estimate, self.low, self.high))
        return "{:.2f} [{:.2f}, {:.2f}]".format(*ends)


def slope(
    values: Sequence[float | None],
    is_right: Sequence[bool],
    groups: Sequence[object],
    strata: Sequence[object] | None = None,
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
    # Centred and scaled for the solver's sake; the estimate is scaled back.
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
    """Coefficient of the first column with its cluster-robust standard error."""
    from statsmodels.discrete.discrete_model import Logit
    from statsmodels.tools.sm_exceptions import PerfectSeparationError

    try:
        with warnings.catch_warnings():
            # Convergence is checked below; separation is a warning or an error.
            warnings.simplefilter("ignore")
            fit = Logit(y, design_matrix).fit(
                disp=0, maxiter=100, cov_type="cluster", cov_kwds={"groups": codes}
            )
    except (PerfectSeparationError, np.linalg.LinAlgError):
        return None, None
    estimate, error = float(fit.params[0]), float(fit.bse[0])
    # Where the value parts right from wrong, the estimate runs away.
    estimable = fit.mle_retvals["converged"] and math.isfinite(error) and abs(estimate) < 15
    return (estimate, error) if estimable and error > 0 else (None, None)
