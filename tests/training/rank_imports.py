"""Imports the modules of a run in the process from which the processes of runs are forked."""

import importlib

from adnominal.training import launch

launch.environment()
MODULES = (
    "adnominal.training.fitting",
    "adnominal.training.trainer",
    "adnominal.training.answering.job",
    "adnominal.training.finetune",
    "adnominal.training.predict",
    "adnominal.training.prompt",
)
for module in MODULES:
    importlib.import_module(module)
