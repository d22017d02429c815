"""What a process of a run imports: once, in the process that the others are forked from."""

import importlib
import os

from training import launch

launch.environment()
# No pool of compilers: its threads would not be in the forked processes.
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
MODULES = (
    "deepspeed",
    # DeepSpeed imports this on first use, which takes two seconds of CPU time.
    "deepspeed.runtime.zero.muon.muon_optimizer",
    "peft",
    "training.loop",
    "training.answering",
    "training.finetune",
    "training.predict",
    "training.prompt",
)
with launch.silence():
    for module in MODULES:
        importlib.import_module(module)
