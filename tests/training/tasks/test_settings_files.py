"""The settings files under conf/training name a task and values that the task accepts."""

import pytest
import yaml

from adnominal import conf
from adnominal.training.grid import axes
from adnominal.training.settings import Settings
from adnominal.training.tasks import TASKS, task

# Settings files of other jobs name no task to train on.
FILES = [
    file
    for file in sorted((conf.ROOT / "conf" / "training").glob("*.yaml"))
    if "name" in (yaml.safe_load(file.read_text()).get("task") or {})
]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_task_accepts_the_values_of_a_file(file):
    settings = conf.load(Settings, [str(file)])
    file_task = task(settings.task)
    # Files for pairs of sentences are named after the dataset.
    edition = file_task.settings.edition.split("_")[0]
    assert file.stem.split("_")[0] in (file_task.name, edition)
    for axis, values in axes(settings).items():
        # The ends of each axis suffice; all combinations of a grid would take seconds.
        assert isinstance(values, list)
        for value in (values[0], values[-1]):
            task(conf.with_changes(settings, {axis: value}).task)


def test_there_is_a_file_for_every_task():
    assert {task(conf.load(Settings, [str(file)]).task).name for file in FILES} == set(TASKS)
