"""What a process of a run imports: once, in the process that the others are forked from."""

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
