"""Rows of people's judgements of degree: the shares of yes with their fitted curves."""

from collections.abc import Mapping
from typing import Any

from adnominal.conf import UserError
from adnominal.etl.asp.gold import Curve, fit

Panel = tuple[str, str]
"""A test and a polarity."""


def human_rows(
    curves: Mapping[Panel, Curve],
    counts: Mapping[tuple[str, str, float], int],
    source: str,
) -> list[dict[str, Any]]:
    """Rows of the table ``asp_human``: the curves with their fits.

    Raises:
        UserError: as `etl.asp.gold.fit` raises it.
    """
    rows = []
    for (test, polarity), curve in sorted(curves.items()):
        try:
            sigmoid = fit(test, polarity, curve)
        except UserError as error:
            raise UserError(f"source={source}, {test}, {polarity}: {error}") from error
        for z, share in sorted(curve.items()):
            rows.append(
                {
                    "test": test,
                    "polarity": polarity,
                    "z": z,
                    "share": share,
                    "n": counts.get((test, polarity, z)),
                    "fit": sigmoid.share(z),
                    "threshold": sigmoid.threshold,
                    "standard_error": sigmoid.standard_error,
                    "source": source,
                }
            )
    return rows
