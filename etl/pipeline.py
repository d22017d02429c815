"""Entry point: ``python etl/pipeline.py steps.yaml lake=DIR`` (``--help`` lists all)."""

import sys
from functools import partial
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from adnominal import conf
from adnominal.etl.jobs import Settings, run_steps

main = partial(conf.run, Settings, run_steps, next_step="adnominal explore lake={lake}")


if __name__ == "__main__":
    sys.exit(main())
