"""Entry point: ``deepspeed training/score.py conf/training/plane_score.yaml model=URI``."""

import sys
from collections.abc import Sequence
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from training import launch, tasks
from training.scoring.job import score
from training.scoring.settings import Settings


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    code = launch.run(Settings, score, argv, "adnominal report lake={lake}")
    if "--help" in (sys.argv if argv is None else argv):
        print(tasks.help_text())
    return code


if __name__ == "__main__":
    sys.exit(main())
