"""Entry point: ``python etl/build_sygns.py preset=paper`` (``--help`` lists all settings)."""

import sys
from functools import partial
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import conf
from etl.sygns.job import build
from etl.sygns.settings import Settings

main = partial(
    conf.run, Settings, build, next_step="adnominal train conf/training/sygns.yaml lake={lake}"
)


if __name__ == "__main__":
    sys.exit(main())
