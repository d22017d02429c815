"""Entry point: ``python -m analysis.report lake=…`` (``--help`` lists all)."""

import sys
from functools import partial

from adnominal import conf
from adnominal.analysis.reporting import Settings, report

main = partial(conf.run, Settings, report)

if __name__ == "__main__":
    sys.exit(main())
