"""Entry point: ``python etl/judge_asp.py sheet=FILE`` (``--help`` lists all settings)."""

import sys
from functools import partial
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from adnominal import conf
from adnominal.etl.asp.judge import Settings, judge

main = partial(conf.run, Settings, judge)


if __name__ == "__main__":
    sys.exit(main())
