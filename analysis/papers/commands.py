"""Complete the report's commands for results that are not run, with its lake and editions."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import yaml

from adnominal import conf
from adnominal.analysis.editions import Lake
from adnominal.analysis.papers.exhibits import Missing, Section
from adnominal.analysis.rows import distinct_values
from adnominal.etl.declaration import Dataset
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table as declaration
from adnominal.etl.registry import DATASETS


@dataclass(frozen=True)
class Commands:
    """Completes commands for a lake.

    The settings file of a paper's experiment has the paper's edition. If the report shows another
    one, the command names it; if no edition has the rows, the command first makes those of the
    file.
    """

    lake: Lake
    _parts: dict[tuple[str, str, str], set[str]] = field(default_factory=dict)

    def completed(self, section: Section) -> Section:
        """The section with its commands for this lake."""
        # The cells of an exhibit share a few commands.
        commands = {row["command"] for row in section.rows if row.get("command")}
        completed = {command: self.of_lake(command) for command in commands}
        rows = [
            {**row, "command": completed[row["command"]]} if row.get("command") else row
            for row in section.rows
        ]
        findings = [
            self._completed(finding) if isinstance(finding, Missing) else finding
            for finding in section.findings
        ]
        return replace(section, rows=rows, findings=findings)

    def _completed(self, missing: Missing) -> Missing:
        """The command for this lake, and a remark if the requested edition cannot have results."""
        if not missing.command:
            return missing
        requested, reason = self.lake.requested_edition, missing.reason
        editions = {
            edition or settings["edition"]
            for command in missing.command.split(" && ")
            for _, settings, edition in self._tasks_of(command.split(" "))
            if f"edition={settings['edition']}" not in command  # of any edition requested
        }
        if requested is not None and editions - {requested}:
            remark = (
                f"Edition {requested} lacks the rows for it; without edition= the report shows the "
                "results."
            )
            sentence = f"{reason.removesuffix('.')}. " if reason else ""
            reason = sentence + remark
        return replace(missing, command=self.of_lake(missing.command), reason=reason)

    def of_lake(self, text: str) -> str:
        """Commands joined by ``&&``, with the lake in the place of ``LAKE``."""
        commands = [step for command in text.split(" && ") for step in self._steps(command)]
        return " && ".join(dict.fromkeys(commands)).replace(
            "lake=LAKE", f"lake={shlex.quote(self.lake.root)}"
        )

    def _steps(self, command: str) -> list[str]:
        """The command with the editions shown, after the commands that make missing rows."""
        words, steps = command.split(" "), []
        for key, settings, edition in self._tasks_of(words):
            if edition is None:
                steps.append(_build_command(settings["name"], settings["edition"]))
            elif edition != settings["edition"]:
                words += [f"{key}edition={edition}", *self._train_size(settings, edition)]
        return [*steps, " ".join(map(self._settings_file, words))]

    def _train_size(self, settings: Mapping[str, Any], edition: str) -> list[str]:
        """Equal steps up to the edition's training rows, if the file has a size above them."""
        sizes, table = settings.get("train_size", []), str(DATASETS[settings["name"]].splits.table)
        if not sizes:
            return []
        values, columns = {**settings, "edition": edition}, declaration(table).schema.names
        where = [(name, "=", value) for name, value in values.items() if name in columns]
        rows = arrow.read(self.lake.root, table, where=where, columns=["part"]).num_rows
        steps = [str(rows * step // len(sizes)) for step in range(1, len(sizes) + 1)]
        return [f"train_size={','.join(steps)}"] if rows < max(sizes) else []

    def _tasks_of(self, words: list[str]) -> list[tuple[str, Mapping[str, Any], str | None]]:
        """The tasks of a command as in `_tasks`, with its changes, and the edition of each."""
        path = next((word for word in words if word.startswith("conf/training/")), None)
        tasks: list[tuple[str, Mapping[str, Any], str | None]] = []
        for key, settings in _tasks(self._settings_file(path)) if path else ():
            changes = dict(
                word.removeprefix(key).split("=", 1)
                for word in words
                if word.startswith((f"{key}edition=", f"{key}scheme="))
            )
            settings = {**settings, **changes}
            tasks.append((key, settings, self._edition(settings, fixed="edition" in changes)))
        return tasks

    def _settings_file(self, path: str) -> str:
        """The settings file for the release (its splits may differ) if the report shows it; other
        words of a command are unchanged."""
        released = f"{path.removesuffix('.yaml')}_published.yaml"
        if not (conf.ROOT / released).exists():
            return path
        ((_, settings),) = _tasks(released)
        return released if self._editions(settings)[:1] == ["published"] else path

    def _editions(self, settings: Mapping[str, Any]) -> list[str]:
        """The editions of the items without a release that is a sample, the one shown first."""
        dataset = DATASETS[settings["name"]]
        editions = self.lake.editions.get(dataset.tables[0].name, ())
        if dataset.release is not None and dataset.release.sample:
            editions = tuple(edition for edition in editions if edition != "published")
        return sorted(editions, key=lambda edition: edition != self.lake.requested_edition)

    def _edition(self, settings: Mapping[str, Any], fixed: bool) -> str | None:
        """The first edition with the rows to train on or to ask; None if there is none.

        If the items lack the requested edition, it is that of the settings file.
        """
        editions, requested = self._editions(settings), self.lake.requested_edition
        is_absent = requested is not None and requested not in editions
        # The rounds of a train_edition are those of one edition alone.
        if fixed or is_absent or "train_edition" in settings:
            editions = [edition for edition in editions if edition == settings["edition"]]
        return next((edition for edition in editions if self._has_rows(settings, edition)), None)

    def _has_rows(self, settings: Mapping[str, Any], edition: str) -> bool:
        dataset, scheme = DATASETS[settings["name"]], settings.get("scheme", "")
        if dataset.splits.table is None or scheme == "all":
            return True
        if settings["part"] == "train":
            edition = settings.get("train_edition", edition)
        return settings["part"] in self._parts_of(dataset, edition, scheme)

    def _parts_of(self, dataset: Dataset, edition: str, scheme: str) -> set[str]:
        """The parts of a scheme (of any, if it is none of the dataset's)."""
        table, key = str(dataset.splits.table), (dataset.name, edition, scheme)
        if key not in self._parts:
            where = [("edition", "=", edition)]
            if scheme in dataset.splits.names:
                where.append(("scheme", "=", scheme))
            self._parts[key] = set()
            if self.lake.has(table):
                rows = arrow.read(self.lake.root, table, where=where, columns=["part"])
                self._parts[key].update(distinct_values(rows, "part"))
        return self._parts[key]


@cache
def _tasks(path: str) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """The tasks on our datasets in a settings file, with the part that must have rows.

    They are the prefix of each task's settings on a command line, and these settings.
    """
    values = yaml.safe_load((conf.ROOT / path).read_text(encoding="utf-8"))
    if "task" not in values:
        # A file about a table names the edition in its condition.
        return []
    if "tasks" in values:
        tasks = [(f"task.{key}.", {"name": key, **values["task"][key]}) for key in values["tasks"]]
    elif isinstance(values["task"], str):
        tasks = [("", {"scheme": "all", **values, "name": values["task"]})]
    else:
        sizes = values.get("train_size", [])
        tasks = [("task.", {**values["task"], "part": "train", "train_size": sizes})]
    return [
        (key, {"part": "test", **settings})
        for key, settings in tasks
        if settings["name"] in DATASETS
    ]


def _build_command(dataset: str, edition: str) -> str:
    """The command that makes an edition of a dataset."""
    if edition == "published":
        return f"python etl/import_published.py {dataset}=DIR lake=LAKE"
    return f"python etl/build_{dataset}.py preset={edition} lake=LAKE"
