"""Entry point: ``deepspeed training/pretrain_mlm.py conf/training/mlm.yaml`` (or plain python)."""

import sys
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from training import launch
from training.pretraining import Settings, pretrain

if __name__ == "__main__":
    sys.exit(launch.run(Settings, pretrain))
