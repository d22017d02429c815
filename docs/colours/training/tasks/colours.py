"""Colours as a classification of phrases."""

from dataclasses import dataclass

from adnominal.conf import setting
from adnominal.etl.colours.declaration import DATASET
from adnominal.training.tasks.labelled import LabelledTask


@dataclass(frozen=True)
class Settings:
    """Settings ``task.*`` of colours."""

    name: str = setting("colours", help="the task", choices=("colours",))
    edition: str = setting("clean", help="edition of the table colours")
    split: str = setting("noun_disjoint", help="which split", choices=DATASET.splits.names)


class Colours(LabelledTask):
    """Does a phrase say what colour a thing is?"""

    Settings = Settings
    dataset_spec = DATASET
    needed_parts = ("train", "val", "test")
