"""Entry point: ``deepspeed training/score.py conf/training/plane_score.yaml model=URI``."""

import sys
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from training import launch, tasks
from training.scoring.job import score
from training.scoring.settings import Settings

if __name__ == "__main__":
    code = launch.run(Settings, score)
    if "--help" in sys.argv:
        print(tasks.help_text())
    sys.exit(code)
