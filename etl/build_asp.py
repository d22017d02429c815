"""Entry point: ``python etl/build_asp.py preset=paper`` (``--help`` lists all settings)."""

import sys
from functools import partial
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import conf
from etl.asp.job import build
from etl.asp.settings import Settings

main = partial(
    conf.run, Settings, build, next_step="adnominal train conf/training/asp.yaml lake={lake}"
)


if __name__ == "__main__":
    sys.exit(main())
