"""The tasks: one module per dataset, from the lake's tables to examples, labels and scores.

``task({"name": "adept", "classes": 3})`` is the task of ``task.name=adept task.classes=3``. Each
module has a frozen dataclass of settings and a `Task`, which reads its tables.
"""

import json
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from adnominal import conf
from adnominal.conf import UserError
from adnominal.etl.registry import DATASETS
from adnominal.training.tasks.dataset import Dataset, Examples, Form, Source, Task, nested_subset
from adnominal.training.tasks.pairs import Pairs

__all__ = ["Dataset", "Examples", "Form", "Source", "Task", "nested_subset"]


def _task_of(name: str) -> type[Task]:
    """Return the task of a dataset: the class in its module with the dataset's name."""
    cls: type[Task] = getattr(import_module(f"adnominal.training.tasks.{name}"), name.capitalize())
    return cls


TASKS: dict[str, type[Task]] = {**{name: _task_of(name) for name in DATASETS}, "pairs": Pairs}
"""The task of each declared dataset, and that of any table of pairs."""


def task(settings: Any) -> Task:
    """Return the task for the settings ``task.*``.

    `settings` is an instance of a task's dataclass, or a mapping of strings or parsed YAML values.

    Raises:
        UserError: ``name`` is missing or unknown, or the task refuses a setting.
    """
    if not isinstance(settings, Mapping):
        return TASKS[settings.name](settings)
    name = settings.get("name")
    if str(name) not in TASKS:
        got = "no task.name" if name is None else f"task.name={name}"
        raise UserError(f"{got}: expected one of {', '.join(TASKS)}")
    cls = TASKS[str(name)]
    try:
        return cls(conf.load(cls.Settings, [f"{k}={_text(v)}" for k, v in settings.items()]))
    except UserError as error:
        raise UserError(f"task {name} (task.KEY=VALUE): {error}") from error


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return json.dumps([_text(member) for member in value], ensure_ascii=False)
    if value is None:  # YAML's value of `task.primitive=`
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def help_text() -> str:
    """Return the part of ``--help`` on the settings of every task."""
    parts = []
    for name, cls in TASKS.items():
        doc = (cls.__doc__ or "").strip().splitlines()[0]
        settings = conf.help_text(cls.Settings).partition(":\n\n")[2]
        parts.append(f"task.name={name}: {doc}\n\n{settings}")
    return "\n".join(parts)
