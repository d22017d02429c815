"""Entry point: ``python training/prompt.py conf/training/plane_prompt.yaml`` (or deepspeed)."""

import sys
from collections.abc import Sequence
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from training import launch
from training.prompting.job import prompt
from training.prompting.settings import Settings


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    return launch.run(Settings, prompt, argv, "adnominal report lake={lake}")


if __name__ == "__main__":
    sys.exit(main())
