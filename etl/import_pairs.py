"""Entry point: ``python etl/import_pairs.py file=… source=… premise=… hypothesis=… label=…``."""

import sys
from functools import partial
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from adnominal import conf
from adnominal.etl.published.pairs import Settings, import_pairs

main = partial(conf.run, Settings, import_pairs, next_step="adnominal lake list lake={lake}")


if __name__ == "__main__":
    sys.exit(main())
