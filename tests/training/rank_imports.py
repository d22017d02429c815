"""Imports the modules of a run in the process from which the processes of runs are forked."""

import importlib

from training import launch

launch.environment()
MODULES = (
    "training.loop",
    "training.answering",
    "training.finetune",
    "training.predict",
    "training.prompt",
)
for module in MODULES:
    importlib.import_module(module)
