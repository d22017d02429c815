"""Entry point: ``python -m analysis.explore lake=…`` (``--help`` lists all)."""

import sys
from functools import partial

from adnominal import conf
from adnominal.analysis.exploring.job import Settings, explore

main = partial(conf.run, Settings, explore)

if __name__ == "__main__":
    sys.exit(main())
