"""Grids: the runs of one command and their combined figures."""

import dataclasses
import hashlib
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

import pyarrow as pa

from adnominal import conf
from adnominal.conf import UserError
from adnominal.conf.markdown import markdown
from adnominal.training.models.tokens import chunks
from adnominal.training.settings import Settings
from adnominal.training.tasks import Dataset

# Of each figure over seeds; the last three need two seeds.
STATISTICS = ("mean", "n", "deviation", "low", "high")
# Settings that are already lists of values to try.
_LISTS = ("seeds", "train_size")


@dataclasses.dataclass(frozen=True)
class Point:
    """One run of a grid: the changed values, and its settings with one seed and no grid."""

    changes: Mapping[str, Any]
    settings: Settings

    @property
    def label(self) -> str:
        """``learning_rate=3e-05 epochs=3 seed=1``."""
        parts = [f"{key}={value}" for key, value in self.changes.items()]
        return " ".join([*parts, f"seed={self.settings.seed}"])


def axes(settings: Settings) -> dict[str, list[Any]]:
    """Return the grid's axes: dotted names of settings with the values to try.

    Raises:
        UserError: an axis is not a list of distinct values, or is not allowed in a grid.
    """
    axes_by_name: dict[str, list[Any]] = {}
    names = {field.name for field in dataclasses.fields(settings)}
    indecisive = names - conf.identity(settings).keys()

    def walk(values: Mapping[str, Any], inside: str) -> None:
        for key, value in values.items():
            name = f"{inside}{key}"
            if isinstance(value, Mapping):
                walk(value, f"{name}.")
            elif not isinstance(value, list) or not value:
                raise UserError(f"grid.{name}={value}: expected a list, such as grid.{name}=[a,b]")
            elif name in _LISTS:
                raise UserError(f"grid.{name}: not an axis of a grid; write {name}={value} itself")
            elif name.partition(".")[0] in indecisive:
                raise UserError(
                    f"grid.{name}: not an axis of a grid, since it does not affect results; "
                    "expected a setting such as learning_rate, lora.rank or task.classes, and "
                    f"{name}= itself"
                )
            else:
                axes_by_name[name] = _with_numbers(name, value)
                if any(_equal(*pair) for pair in itertools.combinations(axes_by_name[name], 2)):
                    raise UserError(f"grid.{name}={value}: the same value twice")

    walk(settings.grid, "")
    return axes_by_name


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
    """Return the runs of the settings: each combination of axes, sizes and seeds.

    Raises:
        UserError: as `axes`; also if the settings refuse a combination.
    """
    values_of_axes = axes(settings)
    if settings.train_size:
        values_of_axes["train_size"] = list(settings.train_size)
    grid_points = []
    for values in itertools.product(*values_of_axes.values()):
        changes = dict(zip(values_of_axes, values, strict=True))
        for seed in settings.seeds:
            single = {key: [v] if key == "train_size" else v for key, v in changes.items()}
            try:
                single_run = conf.with_changes(settings, {**single, "seeds": [seed]})
                object.__setattr__(single_run, "grid", {})
                # A run must specify what a grid may leave open.
                single_run.__post_init__()
            except UserError as error:
                raise UserError(f"grid: {error}") from error
            grid_points.append(Point(changes, single_run))
    return grid_points


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


def lacking(row: Mapping[str, Any], seeds: Sequence[int]) -> list[int]:
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
    candidates = [row for row in candidates if not lacking(row, seeds)] or candidates
    sign = 1 if smallest else -1
    return min(candidates, key=lambda row: sign * row["figures"][key]["mean"], default=None)


def summary_table(rows: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> str:
    """Format the combinations as a Markdown table: mean ± half of the interval, and runs."""
    axes_of_rows = list(dict.fromkeys(key for row in rows for key in row["changes"]))
    lines = []
    for row in rows:
        line = {key: str(row["changes"].get(key, "")) for key in axes_of_rows}
        line["runs"] = str(len(row["seeds"]))
        for key in keys:
            figure = row["figures"].get(key, {})
            reach = f" ± {figure['high'] - figure['mean']:.4f}" if "high" in figure else ""
            line[key] = f"{figure['mean']:.4f}{reach}" if figure else ""
        lines.append(line)
    return markdown(pa.Table.from_pylist(lines))
