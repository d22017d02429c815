"""Grids and random searches: the runs of one command, and their combined figures."""

import dataclasses
import hashlib
import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pyarrow as pa

from adnominal import conf
from adnominal.conf import UserError
from adnominal.conf.markdown import markdown
from adnominal.training.batching import rng
from adnominal.training.models.tokens import chunks
from adnominal.training.settings import Settings
from adnominal.training.tasks import Dataset

# Settings that are already lists of values to try.
_LISTS = ("seeds", "train_size")
_RANGE = re.compile(r"(?P<kind>uniform|loguniform)\((?P<low>[^,()]+),(?P<high>[^,()]+)\)")
_DIGITS = 3


@dataclasses.dataclass(frozen=True)
class Point:
    """One run of a grid: the changed values, and its settings with one seed and no grid."""

    changes: Mapping[str, Any]
    settings: Settings

    @property
    def label(self) -> str:
        """``learning_rate=3e-05 num_train_epochs=3 seed=1``: what distinguishes it in a grid."""
        parts = [f"{key}={value}" for key, value in self.changes.items()]
        return " ".join([*parts, f"seed={self.settings.seed}"])


@dataclasses.dataclass(frozen=True)
class Range:
    """The values of an axis of a random search, from `low` to `high`.

    They are drawn uniformly or, for a `logarithmic` range, with a uniform logarithm, and rounded to
    three digits.
    """

    low: float
    high: float
    logarithmic: bool

    def draw(self, generator: np.random.Generator) -> float:
        """Draw a value."""
        if self.logarithmic:
            value = math.exp(generator.uniform(math.log(self.low), math.log(self.high)))
        else:
            value = generator.uniform(self.low, self.high)
        return float(f"{value:.{_DIGITS}g}")


def axes(settings: Settings) -> dict[str, list[Any] | Range]:
    """Return the grid's axes: dotted names of settings with the values to try.

    Raises:
        UserError: an axis is not a list of distinct values (or a range, in a random search), or is
            not allowed in a grid.
    """
    axes_by_name: dict[str, list[Any] | Range] = {}
    names = {field.name for field in dataclasses.fields(settings)}
    indecisive = names - conf.identity(settings).keys()

    def walk(values: Mapping[str, Any], inside: str) -> None:
        for key, value in values.items():
            name = f"{inside}{key}"
            if isinstance(value, Mapping):
                walk(value, f"{name}.")
                continue
            if name in _LISTS:
                raise UserError(f"grid.{name}: not an axis of a grid; write {name}={value} itself")
            if name.partition(".")[0] in indecisive:
                raise UserError(
                    f"grid.{name}: not an axis of a grid, since it does not affect results; "
                    "expected a setting such as learning_rate, batch_size or task.classes, and "
                    f"{name}= itself"
                )
            axes_by_name[name] = _axis(name, value, settings.search)

    walk(settings.grid, "")
    return axes_by_name


def _axis(name: str, value: Any, search: str) -> list[Any] | Range:
    """The values of an axis, or its range; `UserError` for any other text."""
    if isinstance(value, str) and (match := _RANGE.fullmatch(value.replace(" ", ""))):
        if search != "random":
            raise UserError(f"grid.{name}={value}: a range; expected search=random trials= with it")
        return _range(name, value, match)
    if not isinstance(value, list) or not value:
        raise UserError(f"grid.{name}={value}: expected a list, such as grid.{name}=[a,b]")
    values = _with_numbers(name, value)
    if any(_equal(*pair) for pair in itertools.combinations(values, 2)):
        raise UserError(f"grid.{name}={value}: the same value twice")
    return values


def _range(name: str, text: str, match: re.Match[str]) -> Range:
    """The range that ``uniform(A,B)`` or ``loguniform(A,B)`` stands for."""
    try:
        low, high = float(match["low"]), float(match["high"])
    except ValueError as error:
        raise UserError(f"grid.{name}={text}: expected two numbers in the range") from error
    logarithmic = match["kind"] == "loguniform"
    if not (low < high and math.isfinite(high - low)) or (logarithmic and low <= 0):
        expected = "0 < A < B" if logarithmic else "A < B"
        raise UserError(
            f"grid.{name}={text}: expected {match['kind']}(A,B) with finite numbers, {expected}"
        )
    return Range(low, high, logarithmic)


def _with_numbers(name: str, values: list[Any]) -> list[Any]:
    """Return the values of an axis, as numbers if the setting is one: a grid keeps 1e-5 as text."""
    try:
        is_number = conf.setting_type(Settings, name) is float
        return [float(v) if is_number and isinstance(v, str) else v for v in values]
    except (UserError, ValueError):  # reported with the settings of a run
        return values


def _equal(first: object, second: object) -> bool:
    """Whether two values of an axis give the same run: 1 and 1.0 do, 1 and true do not."""
    return first == second and isinstance(first, bool) == isinstance(second, bool)


def points(settings: Settings) -> list[Point]:
    """Return the runs of the settings: each combination of the grid or of the search, and seed.

    Raises:
        UserError: as `axes`; also if the settings refuse a combination.
    """
    grid_points = []
    for changes in _combinations(settings):
        for seed in settings.seeds:
            single = {key: [v] if key == "train_size" else v for key, v in changes.items()}
            try:
                single_run = conf.with_changes(settings, {**single, "seeds": [seed]})
                for name, value in (("grid", {}), ("search", "grid"), ("trials", None)):
                    object.__setattr__(single_run, name, value)
                # A run must specify what a grid may leave open.
                single_run.__post_init__()
            except UserError as error:
                raise UserError(f"grid: {error}") from error
            grid_points.append(Point(changes, single_run))
    return grid_points


def _combinations(settings: Settings) -> list[dict[str, Any]]:
    """Return the values of the axes in each combination, with train_size as one of them."""
    values_of_axes = axes(settings)
    if settings.search == "random":
        drawn = _random_combinations(values_of_axes, settings)
    else:
        lists = [values for values in values_of_axes.values() if isinstance(values, list)]
        products = itertools.product(*lists)
        drawn = [dict(zip(values_of_axes, values, strict=True)) for values in products]
    if not settings.train_size:
        return drawn
    return [{**changes, "train_size": size} for changes in drawn for size in settings.train_size]


def _random_combinations(
    values_of_axes: Mapping[str, list[Any] | Range], settings: Settings
) -> list[dict[str, Any]]:
    """Draw ``trials=`` distinct combinations; each follows from its number and the first seed.

    More trials thus add to the earlier ones.

    Raises:
        UserError: there are no axes, or fewer combinations than trials.
    """
    if not values_of_axes:
        raise UserError(
            "search=random: expected axes, as grid.learning_rate='loguniform(1e-5,1e-3)'"
        )
    combinations: list[dict[str, Any]] = []
    number = 0
    trials = settings.trials or 0
    while len(combinations) < trials:
        generator = rng("trial", settings.seeds[0], number)
        drawn = {name: _draw(values, generator) for name, values in values_of_axes.items()}
        if drawn not in combinations:
            combinations.append(drawn)
        number += 1
        if number > 100 * trials:
            raise UserError(
                f"trials={trials}: there are only {len(combinations)} different combinations"
            )
    return combinations


def _draw(values: list[Any] | Range, generator: np.random.Generator) -> Any:
    if isinstance(values, Range):
        return values.draw(generator)
    return values[int(generator.integers(len(values)))]


def content(dataset: Dataset) -> str:
    """Return a hash of all data that a run trains and evaluates on, groupings included.

    A run stays finished only while its data are the same. Writing another edition to the same table
    changes the table's version but not this hash.
    """
    digest = hashlib.blake2b(digest_size=16)
    digest.update(repr((dataset.task, dataset.labels, dataset.outcomes)).encode())
    for part, examples in sorted(dataset.parts.items()):
        digest.update(f"{part} {len(examples)}".encode())
        for column in (examples.item_ids, examples.first, examples.second, examples.targets):
            for texts in chunks(column) if column is not None else ():
                for text in texts:
                    digest.update(text.encode() + b"\0")
        for ids in (examples.labels, examples.gold):
            digest.update(b"none" if ids is None else ids.tobytes())
        if examples.soft_labels is not None:
            digest.update(examples.soft_labels.tobytes())
        # Groupings decide the figures by group.
        for name, values in sorted(examples.groups.items()):
            digest.update(name.encode())
            for texts in chunks(values):
                digest.update(json.dumps(texts).encode())
    return digest.hexdigest()


def summary(results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Summarise each combination over seeds: mean, deviation, 95 % interval, number.

    The interval is Student's t over runs; with one run there is neither deviation nor interval.
    """
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for result in results:
        groups.setdefault(json.dumps(result["changes"], default=str), []).append(result)
    rows = []
    for members in groups.values():
        figures: dict[str, dict[str, float]] = {}
        for key in members[0]["figures"]:
            values = [m["figures"][key] for m in members if key in m["figures"]]
            figures[key] = _spread(values)
        rows.append(
            {
                "changes": dict(members[0]["changes"]),
                "seeds": [m["seed"] for m in members],
                "figures": figures,
            }
        )
    return rows


def _spread(values: Sequence[float]) -> dict[str, float]:
    spread: dict[str, float] = {"mean": fmean(values), "n": len(values)}
    if len(values) > 1:
        from statsmodels.stats.weightstats import DescrStatsW

        low, high = DescrStatsW(values).tconfint_mean()
        spread |= {"deviation": stdev(values), "low": float(low), "high": float(high)}
    return spread


def missing_seeds(row: Mapping[str, Any], seeds: Sequence[int]) -> list[int]:
    """Return the seeds whose runs a combination lacks, because they failed."""
    return sorted(set(seeds) - set(row["seeds"]))


def best(
    rows: Sequence[Mapping[str, Any]], key: str, *, smallest: bool, seeds: Sequence[int] = ()
) -> Mapping[str, Any] | None:
    """Return the combination with the best mean of a figure (the first for a tie), or None.

    A combination that lacks some of the `seeds` is chosen only if every other lacks some too: its
    mean may be high because the seeds that failed are missing.
    """
    candidates = [
        row for row in rows if math.isfinite(row["figures"].get(key, {}).get("mean", math.nan))
    ]
    candidates = [row for row in candidates if not missing_seeds(row, seeds)] or candidates
    sign = 1 if smallest else -1
    return min(candidates, key=lambda row: sign * row["figures"][key]["mean"], default=None)


def summary_table(rows: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> str:
    """Format the combinations as a Markdown table: mean ± half of the interval, and runs."""
    axes_of_rows: dict[str, None] = {}  # a set that keeps the order
    for row in rows:
        axes_of_rows |= dict.fromkeys(row["changes"])
    lines = []
    for row in rows:
        line = {key: str(row["changes"].get(key, "")) for key in axes_of_rows}
        line["runs"] = str(len(row["seeds"]))
        for key in keys:
            line[key] = _figure_text(row["figures"].get(key))
        lines.append(line)
    return markdown(pa.Table.from_pylist(lines))


def _figure_text(figure: Mapping[str, float] | None) -> str:
    """The mean of a figure, with half of its interval if it has one."""
    if not figure:
        return ""
    mean = figure["mean"]
    if "high" not in figure:
        return f"{mean:.4f}"
    return f"{mean:.4f} ± {figure['high'] - mean:.4f}"
