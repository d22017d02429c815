"""Entry point: ``deepspeed training/predict.py model=URI table=TABLE`` (or plain python)."""

import sys
from functools import partial
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from adnominal.training import launch
from adnominal.training.answering.predict import predict
from adnominal.training.answering.settings import PredictSettings as Settings

# Runs the command line `argv` or this process's; returns the exit code.
main = partial(launch.run, Settings, predict)

if __name__ == "__main__":
    sys.exit(main())
