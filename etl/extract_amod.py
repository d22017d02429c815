"""Entry point: ``python etl/extract_amod.py source=… input=…`` (``--help`` lists all)."""

import sys
from functools import partial
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from adnominal import conf
from adnominal.etl.amod.job import extract
from adnominal.etl.amod.settings import Settings

main = partial(conf.run, Settings, extract, next_step="adnominal explore lake={lake}")


if __name__ == "__main__":
    sys.exit(main())
