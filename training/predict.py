"""Entry point: ``deepspeed training/predict.py model=URI table=TABLE`` (or plain python)."""

import sys
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from training import launch
from training.predicting.job import predict
from training.predicting.settings import Settings

if __name__ == "__main__":
    sys.exit(launch.run(Settings, predict))
