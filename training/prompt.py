"""Entry point: ``python training/prompt.py conf/training/plane_prompt.yaml`` (or deepspeed)."""

import sys
from functools import partial
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from adnominal.training import launch
from adnominal.training.asking.job import prompt
from adnominal.training.asking.settings import Settings

# Runs the command line `argv` or this process's; returns the exit code.
main = partial(launch.run, Settings, prompt, next_step=Settings.next_step)

if __name__ == "__main__":
    sys.exit(main())
