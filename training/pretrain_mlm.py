"""Entry point: ``deepspeed training/pretrain_mlm.py conf/training/mlm.yaml`` (or plain python)."""

import sys
from collections.abc import Sequence
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from training import launch
from training.pretraining import Settings, pretrain


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    return launch.run(
        Settings,
        pretrain,
        argv,
        "adnominal prompt conf/training/plane_prompt.yaml lake={lake} model=…",
    )


if __name__ == "__main__":
    sys.exit(main())
