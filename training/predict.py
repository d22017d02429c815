"""Entry point: ``deepspeed training/predict.py model=URI table=TABLE`` (or plain python)."""

import sys
from collections.abc import Sequence
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from training import launch
from training.predicting.job import predict
from training.predicting.settings import Settings


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    return launch.run(Settings, predict, argv)


if __name__ == "__main__":
    sys.exit(main())
