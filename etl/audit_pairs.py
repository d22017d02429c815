"""Entry point: ``python etl/audit_pairs.py file=PAIRS.tsv`` (``--help`` lists all settings)."""

import sys
from functools import partial
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from adnominal import conf
from adnominal.etl.checks.artefacts import Settings, run

main = partial(conf.run, Settings, run)


if __name__ == "__main__":
    sys.exit(main())
