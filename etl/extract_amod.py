"""Entry point: ``python etl/extract_amod.py source=… input=…`` (``--help`` lists all)."""

import sys
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import conf
from etl.amod.job import extract
from etl.amod.settings import Settings

if __name__ == "__main__":
    sys.exit(conf.run(Settings, extract))
