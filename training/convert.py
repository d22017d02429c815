"""Entry point: ``python training/convert.py model=NAME out=FOLDER``."""

import sys
from functools import partial
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from adnominal import conf
from adnominal.training.models.packaged import Settings, convert

# Runs the command line `argv` or this process's; returns the exit code.
main = partial(conf.run, Settings, convert)

if __name__ == "__main__":
    sys.exit(main())
