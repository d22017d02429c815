"""Entry point: ``deepspeed training/pretrain_mlm.py conf/training/mlm.yaml`` (or plain python)."""

import sys
from functools import partial
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from adnominal.training import launch
from adnominal.training.pretraining import Settings, pretrain

# Runs the command line `argv` or this process's; returns the exit code.
main = partial(
    launch.run,
    Settings,
    pretrain,
    next_step="adnominal prompt conf/training/plane_prompt.yaml lake={lake} model=…",
)

if __name__ == "__main__":
    sys.exit(main())
