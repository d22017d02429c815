"""What a process of a run imports: once, in the process that the others are forked from."""

import importlib

from training import launch

launch.environment()
with launch.silence():
    for module in ("deepspeed", "peft", "training.loop", "training.answering", "training.predict"):
        importlib.import_module(module)
