"""The curves of people's answers in ASP's release: shares of yes at the numbers of a scale."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from adnominal.conf import UserError
from adnominal.conf.delimited import SURPLUS, Row
from adnominal.conf.numbers import finite_number
from adnominal.etl.published import pickles


def shares_of_rows(
    rows: Iterable[Row], curves: Sequence[str], file: Path
) -> Iterator[tuple[float, dict[str, float]]]:
    """The number of the scale of each row of a file, and the shares of those curves that it has.

    Raises:
        UserError: a row has surplus fields, no number or that of an earlier row, or a share that is
            not from 0 to 1.
    """
    known: set[float] = set()
    for row in rows:
        where = f"{file}: line {row.line}"
        if row.is_surplus:
            raise UserError(f"{where}: {SURPLUS}")
        scale_value = _number_of(row.fields, "scale_value", where)
        shares = {}
        for name in curves:
            if row.fields.get(name):
                shares[name] = _number_of(row.fields, name, where)
        for name, share in shares.items():
            if not 0 <= share <= 1:
                raise UserError(
                    f"{where}: {name} is {share:g}; expected shares from 0 to 1 (divide "
                    "percentages by 100)"
                )
        if scale_value in known:
            raise UserError(f"{where}: scale_value {scale_value:g} is in an earlier line; keep one")
        known.add(scale_value)
        yield scale_value, shares


def _number_of(fields: Mapping[str, str], column: str, where: str) -> float:
    """The finite number in a column; `UserError` if it has none."""
    number = finite_number(fields[column])
    if number is None:
        raise UserError(f"{where}: {column} is {fields[column]!r}; expected a number")
    return number


def shares_of_pickle(file: Path) -> list[float]:
    """The shares of yes in a pickle of the release, one for each number of the scale."""
    values = pickles.array(file)
    if values.ndim == 2 and 1 in values.shape:
        values = values.reshape(-1)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise UserError(
            f"{file}: an array of shape {values.shape} with values from {values.min():g} to "
            f"{values.max():g}; expected shares from 0 to 1, one for each number of the scale"
        )
    return [float(value) for value in values]
