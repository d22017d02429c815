"""Entry point: ``python etl/check_splits.py train=FILE test=FILE`` (``--help`` lists settings)."""

import sys
from functools import partial
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from adnominal import conf
from adnominal.etl.checks.splits import Settings, run

main = partial(conf.run, Settings, run)


if __name__ == "__main__":
    sys.exit(main())
