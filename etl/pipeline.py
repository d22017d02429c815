"""Entry point: ``python etl/pipeline.py steps.yaml lake=DIR`` (``--help`` lists all)."""

import sys
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import conf
from etl.jobs import Settings, run_steps

if __name__ == "__main__":
    sys.exit(conf.run(Settings, run_steps))
