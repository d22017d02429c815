"""Checks of setting values that several jobs share."""

import math
from collections.abc import Sequence
from dataclasses import fields
from typing import Any
from urllib.parse import urlsplit

from adnominal.conf import UserError
from adnominal.conf.values import default_of


def check_minimum(settings: Any, minimum: int, *names: str, group: str = "") -> None:
    """Raise `UserError` if a named setting is below `minimum`, infinite or not a number.

    `group` precedes the names of nested settings, such as ``seq2seq.``.
    """
    for name in names:
        value = getattr(settings, name)
        if value is not None and not minimum <= value < math.inf:
            finite = "" if value < minimum else "a finite number, "
            raise UserError(f"{group}{name}={value}: expected {finite}{minimum} or more")


def check_distinct(settings: Any, *names: str) -> None:
    """Raise `UserError` if one of the named lists has a value twice."""
    for name in names:
        values = getattr(settings, name)
        if len(set(values)) < len(values):
            raise UserError(f"{name}={values}: the same value twice")


def check_default(settings: Any, names: Sequence[str], reason: str) -> None:
    """Raise `UserError` with `reason` if one of the named settings differs from its default."""
    for field in fields(settings):
        if field.name in names and getattr(settings, field.name) != default_of(field):
            raise UserError(f"{field.name}= {reason}")


def check_tracking(address: str | None) -> None:
    """Raise `UserError` if MLflow's address has a password, which stored settings would show."""
    if address and urlsplit(address).password is not None:
        raise UserError(
            "tracking=: expected an address without a password, which would be stored; PGPASSWORD "
            "and MLFLOW_TRACKING_PASSWORD are read from the environment"
        )
