"""Entry point: ``python etl/import_knowledge.py conceptnet=FILE`` (see ``--help``)."""

import sys
from functools import partial
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from adnominal import conf
from adnominal.etl.knowledge.job import Settings, import_knowledge

main = partial(conf.run, Settings, import_knowledge, next_step="adnominal build plane lake={lake}")


if __name__ == "__main__":
    sys.exit(main())
