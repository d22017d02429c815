"""Entry point: ``python training/convert.py model=FOLDER out=FOLDER``."""

import sys
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import conf
from training.conversion import Settings, convert

if __name__ == "__main__":
    sys.exit(conf.run(Settings, convert))
