"""Entry point: ``python etl/import_predictions.py file=samples.jsonl run=NAME task=adept``."""

import sys
from functools import partial
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from adnominal import conf
from adnominal.etl.external.job import import_predictions
from adnominal.etl.external.settings import Settings

main = partial(conf.run, Settings, import_predictions, next_step="adnominal report lake={lake}")


if __name__ == "__main__":
    sys.exit(main())
