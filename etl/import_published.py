"""Entry point: ``python etl/import_published.py asp=DIR sygns=DIR`` (see ``--help``)."""

import sys
from functools import partial
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from adnominal import conf
from adnominal.etl.published.job import Settings, import_published

main = partial(conf.run, Settings, import_published, next_step="adnominal report lake={lake}")


if __name__ == "__main__":
    sys.exit(main())
