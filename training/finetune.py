"""Entry point: ``deepspeed training/finetune.py conf/training/adept.yaml`` (or plain python)."""

import sys
from functools import partial
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from adnominal.training import launch, tasks
from adnominal.training.job import finetune
from adnominal.training.settings import Settings

# Runs the command line `argv` or this process's; returns the exit code.
main = partial(
    launch.run,
    Settings,
    finetune,
    next_step=Settings.next_step,
    more_help=lambda: f"{tasks.help_text()}\n",
)

if __name__ == "__main__":
    sys.exit(main())
