"""Entry point: ``python -m analysis.explore lake=…`` (``--help`` lists all)."""

import sys
from functools import partial

import conf
from analysis.exploring.job import Settings, explore

main = partial(conf.run, Settings, explore)

if __name__ == "__main__":
    sys.exit(main())
